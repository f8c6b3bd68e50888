"""Answers that their caller wants as JSON (`response_format` of type `json_object` or `json_schema`): models put fences
and words around it, or write none, whatever their upstream promises.

    json_in('Here it is:\\n```json\\n{"a": 1}\\n```', "json_object")  # '{"a": 1}'
"""

import json
import re
from typing import Any

import orjson

from gateway.domain import Json
from gateway.texts import drop_logprobs
from gateway.wire.untrusted_json import table_in

_OPENING = re.compile(r"[{\[]")
_MOST_TRIES = 16
"""Places of a text at which its JSON may begin that are tried."""
AROUND = "the model wrote words around its JSON; they were left out"
STREAMED = "response_format: the streamed answer is no JSON, or has words around it"
_DECODER = json.JSONDecoder()


def wanted(body: Json) -> str:
    """The type of the JSON that a chat request wants; empty where it wants none."""
    kind = table_in(body, "response_format").get("type")
    return kind if kind in ("json_object", "json_schema") else ""


def json_in(text: str, kind: str) -> str | None:
    """The JSON of an answer, without what is around it; the same text where there is nothing, None where it has no
    JSON. `kind`: see `wanted`; of the first only an object will do."""
    if _is_json(text, kind):
        return text
    for fenced in text.split("```", 2 * _MOST_TRIES)[1::2]:
        inside = fenced.partition("\n")[2].strip()
        if _is_json(inside, kind):
            return inside
    for tries, opening in enumerate(_OPENING.finditer(text)):
        if tries == _MOST_TRIES:
            break
        try:
            _, end = _DECODER.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            continue
        if _is_json(found := text[opening.start() : end], kind):
            return found
    return None


def _is_json(text: str, kind: str) -> bool:
    try:
        value = orjson.loads(text)
        return kind != "json_object" or isinstance(value, dict)
    except orjson.JSONDecodeError:
        return False


def mend_answer(answer: Json, kind: str) -> bool:
    """Leaves out what a normal answer has around its JSON, in place, which a warning says. Returns whether each choice
    that ended by itself has JSON."""
    for choice in answer["choices"]:
        message = choice["message"]
        if choice["finish_reason"] != "stop" or message.get("refusal"):
            continue
        found = json_in(message["content"] or "", kind)
        if found is None:
            return False
        if found is not message["content"]:
            message["content"] = found
            drop_logprobs(choice)
            warn(choice["provider_specific_fields"], AROUND)
    return True


def mend_texts(parts: list[Json], kind: str, fields: Json) -> bool:
    """The same of an answer in another form: of its texts, which together are to be JSON. `fields`: its
    `provider_specific_fields`."""
    text = "".join(part["text"] for part in parts)
    found = json_in(text, kind)
    if found is None:
        return False
    if found is not text:
        for part, words in zip(parts, [found] + [""] * len(parts), strict=False):
            part.pop("logprobs", None)
            part |= {"text": words, **({"annotations": []} if "annotations" in part else {})}
        warn(fields, AROUND)
    return True


def warn_of_stream(text: str, kind: str, fields: Json) -> None:
    """Adds a warning where the whole text of a stream is not just JSON."""
    if json_in(text, kind) is not text:
        warn(fields, STREAMED)


def warn(fields: Json, warning: str) -> None:
    """Adds a warning to a choice's `provider_specific_fields`."""
    warnings: list[Any] = fields.get("warnings") or []
    fields["warnings"] = [*warnings, warning]
