"""Embeddings requests towards an upstream, and its answers in the one form that clients are promised.

Source: OpenAI API reference (Embeddings), read 2026-11-22. Knows no HTTP. Embeddings are handed on as they came: a list
of numbers, or base64 of little-endian 32-bit floats, which is not decoded.
"""

import re
from typing import Any

from gateway.domain import Json
from gateway.errors import UpstreamError
from gateway.wire.chat.request import UpstreamOptions, without_hosts
from gateway.wire.untrusted_json import count_in, list_in, table_in, utf8_size

_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_BYTES_PER_TOKEN = 4
"""For estimates where an upstream sends no counts: OpenAI's rule of thumb for English text, on UTF-8 bytes. At half or
double, the estimate is off by that factor; it is marked as such."""


def to_upstream(body: Json, options: UpstreamOptions, *, user: str | None) -> Json:
    """The body to send for a checked one, `{model, input, encoding_format?, dimensions?, …}`, without fields that name
    a host. `user` is the hash to send instead of the caller's."""
    sent = {name: value for name, value in without_hosts(body).items() if value is not None and name != "user"}
    sent["model"] = options.model
    if user is not None:
        sent["user"] = user
    return {**sent, **options.extra_body}


def input_count(body: Json) -> int:
    """How many embeddings a checked request asks for: a string or a list of token ids is one."""
    value = body["input"]
    return 1 if isinstance(value, str) or isinstance(value[0], int) else len(value)


def token_estimate(body: Json) -> int:
    """About how many tokens the inputs have, at least 1; token ids are counted."""
    value = body["input"]
    items = [value] if isinstance(value, str) or isinstance(value[0], int) else value
    size = sum(utf8_size(item) for item in items if isinstance(item, str))
    return max(1, round(size / _BYTES_PER_TOKEN) + sum(len(item) for item in items if not isinstance(item, str)))


def checked_data(answer: Json, count: int) -> list[Json]:
    """The items of an upstream's answer, `{object: "embedding", index, embedding}` in order of their indexes.
    Raises UpstreamError unless there are `count`, each once, all of one length and one form.
    """
    data = answer.get("data")
    if not isinstance(data, list) or len(data) != count:
        found = len(data) if isinstance(data, list) else 0
        raise UpstreamError(f"the upstream's answer has {found} embeddings for {count} inputs")
    items: list[Json | None] = [None] * count
    form: Any = None
    for place, item in enumerate(data):
        index = item.get("index", place) if isinstance(item, dict) else None
        if type(index) is not int or not 0 <= index < count or items[index] is not None:
            raise UpstreamError("the upstream's answer has an embedding without its place")
        embedding: Any = item["embedding"] if isinstance(item.get("embedding"), list | str) else ""
        if not _is_embedding(embedding) or (form is not None and form != (type(embedding), len(embedding))):
            raise UpstreamError("the upstream's answer has an embedding that is not valid")
        form = (type(embedding), len(embedding))
        items[index] = {"object": "embedding", "index": index, "embedding": embedding}
    return [item for item in items if item is not None]


def embeddings_object(data: list[Json], model: str, answer: Json, estimate: int) -> Json:
    """`{object: "list", data, model, usage: {prompt_tokens, total_tokens}, provider_specific_fields}`.

    Without a count in the upstream's `answer` the usage is `estimate`, and `provider_specific_fields.usage_estimated`
    says so; `.truncated` lists the inputs that the embedded model has read in part.
    """
    usage = table_in(answer, "usage")
    tokens = count_in(usage, "prompt_tokens") or count_in(usage, "total_tokens")
    fields: Json = {} if tokens else {"usage_estimated": True}
    if cut := [index for index in list_in(answer, "truncated") if isinstance(index, int)]:
        fields["truncated"] = cut
    counts = {"prompt_tokens": tokens or estimate, "total_tokens": tokens or estimate}
    return {"object": "list", "data": data, "model": model, "usage": counts, "provider_specific_fields": fields}


def _is_embedding(embedding: Any) -> bool:
    if isinstance(embedding, str):
        return len(embedding) % 4 == 0 and _BASE64.fullmatch(embedding) is not None
    return bool(embedding) and set(map(type, embedding)) <= {float, int}
