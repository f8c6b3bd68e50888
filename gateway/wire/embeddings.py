"""Embeddings requests towards an upstream, its answers in the one form that clients are promised, and the dialect.

Source: OpenAI API reference (Embeddings), read 2026-11-22. An embedding is a list of numbers, or base64 of
little-endian 32-bit floats: whichever the caller has asked for, whatever the upstream sends.
"""

import base64
import re
import sys
from array import array
from collections.abc import Iterable
from typing import Any

from gateway.domain import Json
from gateway.errors import GatewayError, UpstreamError
from gateway.texts import TextSlot, TextUnit
from gateway.wire.chat.request import UpstreamOptions, without_hosts
from gateway.wire.dialect import OneQuestion
from gateway.wire.text_walk import answer_slots, request_steps
from gateway.wire.token_estimate import tokens_in
from gateway.wire.untrusted_json import count_in, list_in, table_in

_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_FLOAT_BYTES = 4
_SAMPLE_CHARS = 4_096
"""Characters that an estimate of tokens looks at, for where an upstream sends no counts."""


def to_upstream(body: Json, options: UpstreamOptions, *, user: str | None) -> Json:
    """The body to send for a checked one, `{model, input, encoding_format?, dimensions?, …}`, without fields that name
    a host. `user` is the hash to send instead of the caller's."""
    sent = {name: value for name, value in without_hosts(body).items() if value is not None and name != "user"}
    sent["model"] = options.name_of(body)
    if user is not None:
        sent["user"] = user
    return {**sent, **options.extra_body}


def has_token_ids(body: Json) -> bool:
    """Whether an input of a request is a list of token ids."""
    value = body["input"]
    return not isinstance(value, str) and any(not isinstance(item, str) for item in value)


def input_count(body: Json) -> int:
    """How many embeddings a checked request asks for: a string or a list of token ids is one."""
    value = body["input"]
    return 1 if isinstance(value, str) or isinstance(value[0], int | float) else len(value)


def token_estimate(body: Json) -> int:
    """About how many tokens the inputs have, at least 1; token ids are counted."""
    value = body["input"]
    items = [value] if isinstance(value, str) or isinstance(value[0], int | float) else value
    tokens = tokens_in((item for item in items if isinstance(item, str)), _SAMPLE_CHARS)
    return max(1, round(tokens) + sum(len(item) for item in items if not isinstance(item, str)))


def checked_data(answer: Json, body: Json) -> list[Json]:
    """The items of an upstream's answer to a request, `{object: "embedding", index, embedding}` in order of their
    indexes, in the form that was asked for.

    Raises UpstreamError unless there is one for each input, each once, all of one length, which is `dimensions` where
    the request has it.
    """
    count, in_base64, size = input_count(body), body.get("encoding_format") == "base64", body.get("dimensions")
    data = answer.get("data")
    if not isinstance(data, list) or len(data) != count:
        found = len(data) if isinstance(data, list) else 0
        raise UpstreamError(f"the upstream's answer has {found} embeddings for {count} inputs")
    items: list[Json | None] = [None] * count
    for place, item in enumerate(data):
        index = item.get("index", place) if isinstance(item, dict) else None
        if type(index) is not int or not 0 <= index < count or items[index] is not None:
            raise UpstreamError("the upstream's answer has an embedding without its place")
        embedding = item.get("embedding") if isinstance(item, dict) else None
        found = _dimensions(embedding)
        size = found if size is None else size
        if not found or found != size:
            raise UpstreamError("the upstream's answer has an embedding that is not valid, or of another length")
        items[index] = {"object": "embedding", "index": index, "embedding": _in_form(embedding, in_base64=in_base64)}
    return [item for item in items if item is not None]


def told_usage(answer: Json) -> Json:
    """`{prompt_tokens}` of an upstream's answer, 0 where it has told nothing."""
    usage = table_in(answer, "usage")
    return {"prompt_tokens": count_in(usage, "prompt_tokens") or count_in(usage, "total_tokens")}


def embeddings_object(data: list[Json], model: str, answer: Json, estimate: int) -> Json:
    """`{object: "list", data, model, usage: {prompt_tokens, total_tokens}, provider_specific_fields}`.

    Without a count in the upstream's `answer` the usage is `estimate`, and `provider_specific_fields.usage_estimated`
    says so; `.truncated` lists the inputs that the embedded model has read in part.
    """
    tokens = told_usage(answer)["prompt_tokens"]
    fields: Json = {} if tokens else {"usage_estimated": True}
    if cut := [index for index in list_in(answer, "truncated") if isinstance(index, int)]:
        fields["truncated"] = cut
    counts = {"prompt_tokens": tokens or estimate, "total_tokens": tokens or estimate}
    return {"object": "list", "data": data, "model": model, "usage": counts, "provider_specific_fields": fields}


def _dimensions(embedding: Any) -> int:
    """How many numbers an embedding has; 0 if it is no embedding."""
    if isinstance(embedding, list):
        return len(embedding) if set(map(type, embedding)) <= {float, int} else 0
    if not isinstance(embedding, str) or len(embedding) % 4 or _BASE64.fullmatch(embedding) is None:
        return 0
    size = len(embedding) // 4 * 3 - embedding.count("=")
    return size // _FLOAT_BYTES if size % _FLOAT_BYTES == 0 else 0


def _in_form(embedding: Any, *, in_base64: bool) -> Any:
    """A valid embedding as base64 or as numbers."""
    if isinstance(embedding, str) == in_base64:
        return embedding
    numbers = array("f", base64.b64decode(embedding) if isinstance(embedding, str) else embedding)
    if sys.byteorder == "big":
        numbers.byteswap()
    return base64.b64encode(numbers.tobytes()).decode() if in_base64 else numbers.tolist()


_OWN_IN_REQUESTS = frozenset(("model", "user"))
"""Members of a request that never leave as they are: a name of ours and a keyed hash go instead."""


class EmbeddingsDialect(OneQuestion):
    """Implements `wire.dialect.Dialect`, which documents the methods; stateless. A request has texts; an answer holds
    numbers and what the gateway writes itself. There are no streams."""

    name = "embeddings"

    def request_units(self, body: Any) -> Iterable[TextUnit]:
        """One unit: every string of the request."""
        return [TextUnit(lambda: request_steps(body, skip=_OWN_IN_REQUESTS), owner=body)]

    def reply_units(self, data: Any) -> list[TextUnit]:
        """One unit without texts, to which findings in the request are noted: `wire.embeddings` makes the answer
        of numbers, base64 and values of its own, so that no word of an upstream is in it."""
        return [TextUnit([], owner=data)]

    def refuse_reply(self, data: Any, unit: TextUnit, error: GatewayError) -> None:
        """Raises `error`: half an answer would have embeddings without their inputs."""
        raise error

    def note_findings(self, unit: TextUnit, report: Json) -> None:
        """Sets the answer's `provider_specific_fields.sanitization`."""
        unit.owner["provider_specific_fields"]["sanitization"] = report

    def event_slots(self, data: Json) -> Iterable[TextSlot]:
        """Every string of an event, each a whole text."""
        return answer_slots(data)
