"""What a message of a whole answer, or a delta of a stream, says, in whatever form its upstream writes it.

Texts may be strings, parts, lists of both, or one part alone; calls a list, or one alone. Sources: the public reports
in docs/backends.md (DeepSeek, Kimi, Mistral, OpenRouter, Ollama, vLLM, SGLang, gateways), read 2026-11-29.

    said({"content": {"type": "text", "text": "Yes."}, "reasoning": "Hm."})
    # Said(text="Yes.", thoughts="Hm.", name="reasoning", …)
"""

import contextlib
import re
from typing import Any, NamedTuple

import orjson

from gateway.domain import Json
from gateway.wire.chat.kept import THOUGHTS, call_extras, extras, texts_of, thoughts_of
from gateway.wire.openai_error import error_in_stream
from gateway.wire.untrusted_json import table_in, words_of

_DETAILS = (*THOUGHTS, "reasoning_details", "thinking_blocks")
"""Members with thoughts that may be parts (OpenRouter, LiteLLM): they are shown where there is no text of thoughts."""
_OF_FLAT_CALL = ("name", "arguments", "input")
_EMPTY_FIRST = re.compile(r"\A\s*\{\s*\}\s*(?=\{)")
"""An empty object before the true arguments, which some servers begin with."""


class Said(NamedTuple):
    """`name`: the upstream's member for the thoughts; empty where they came as parts. `parts`: thinking parts of the
    content. `kept`: members that go on as they came."""

    text: str
    thoughts: str
    name: str
    refusal: str
    parts: list[Json]
    calls: list[Json]
    kept: Json


class Called(NamedTuple):
    """What a call, or a piece of one, says. `kind`: `function` or `custom`. `identity`: empty where it has none.
    `text`: of the arguments or the input; None where it has none."""

    kind: str
    identity: str
    name: str
    text: str | None
    kept: Json


def said(message: Any) -> Said:
    """Raises UpstreamError for a message that is an error."""
    if not isinstance(message, dict):
        return Said(words_of(message), "", "", "", [], [], {})
    kept = extras(message)
    if kept.get("error"):
        raise error_in_stream(kept)
    content = message.get("content")
    if content is None and "text" in kept:
        content = kept.pop("text")
    calls = message.get("tool_calls")
    if not calls and isinstance(kept.get("tool_call"), dict | list):
        calls = kept.pop("tool_call")
    text, inner, parts = split_parts(content)
    name, thoughts = thoughts_of(message)
    thoughts = thoughts or inner or _details(kept)
    refusal = message.get("refusal")
    return Said(text, thoughts, name, refusal if isinstance(refusal, str) else "", parts, _calls(message, calls), kept)


def split_parts(content: Any) -> tuple[str, str, list[Json]]:
    """`(text, thoughts, thinking parts)` of a content: a text, a part, or a list of both (Mistral).

    split_parts([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, "Yes."])
    # ("Yes.", "Hm.", [{"type": "thinking", …}])
    """
    if not isinstance(content, dict | list):
        return words_of(content), "", []
    texts, parts = list[Any](), list[Json]()
    for part in content if isinstance(content, list) else [content]:
        is_thought = isinstance(part, dict) and part.get("type") in ("thinking", "reasoning")
        (parts if is_thought else texts).append(part)
    inner = (part.get("thinking", part.get("text")) for part in parts)
    thoughts = (text for each in inner for text in texts_of(each if isinstance(each, list) else [each]))
    return "".join(texts_of(texts)), "".join(thoughts), parts


def _details(kept: Json) -> str:
    """The thoughts among the kept members; where several have them those of the first."""
    for details in (kept[name] for name in _DETAILS if kept.get(name)):
        parts = details if isinstance(details, list) else [details]
        if texts := texts_of(parts, "text", "summary", "thinking", "content"):
            return "".join(texts)
    return ""


def _calls(message: Json, calls: Any) -> list[Json]:
    if isinstance(calls, dict):
        calls = [calls] if calls.keys() & {"function", "custom", "name"} else list(calls.values())
    if not calls and isinstance(message.get("function_call"), dict):
        calls = [{"index": 0, "function": message["function_call"]}]
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def called(call: Json) -> Called:
    """What a call says, nested or flat, with its arguments as text or as an object."""
    identity = call["id"] if isinstance(call.get("id"), str) else ""
    if isinstance(custom := call.get("custom"), dict):
        given = custom.get("input")
        text = None if given is None else words_of(given)
        return Called("custom", identity, words_of(custom.get("name")), text, call_extras(call))
    function = table_in(call, "function")
    named = {"name": None if function else call.get("function"), **call, **function}
    given = named.get("arguments", named.get("input"))
    text = None if given is None else arguments_text(given)
    kept = {n: v for n, v in call_extras(call).items() if function or n not in _OF_FLAT_CALL}
    return Called("function", identity, words_of(named["name"]), text, kept)


def plain_arguments(arguments: str) -> str:
    """Arguments as one JSON object, where servers write it with an empty one before it, or encoded twice.

    plain_arguments('{}{"a": 1}')  # '{"a": 1}'
    plain_arguments('"{\\"a\\": 1}"')  # '{"a": 1}'
    """
    if arguments[:1] == arguments[-1:] == '"':
        with contextlib.suppress(orjson.JSONDecodeError):
            inner = orjson.loads(arguments)
            return inner if isinstance(inner, str) and inner[:1] == "{" else arguments
    return _EMPTY_FIRST.sub("", arguments, count=1) if arguments[:1] in "{ " else arguments


def arguments_text(arguments: Any) -> str:
    """Call arguments as JSON text, as OpenAI sends them; some upstreams send the object itself, or nothing."""
    if isinstance(arguments, str):
        return arguments
    return "{}" if arguments is None else orjson.dumps(arguments).decode()


def place_of(holder: Json, default: int) -> int:
    """The `index` of a choice or call, which may be a text; the default where there is none."""
    index = holder.get("index")
    if isinstance(index, str) and index.isascii() and index.isdigit():
        index = int(index[:4])
    return index if isinstance(index, int) else default
