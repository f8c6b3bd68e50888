"""Decodes the chunks of a streamed chat answer. Knows the shape of a chunk, not what it means."""

import orjson

from gateway.domain import Json
from gateway.errors import UpstreamError
from gateway.wire import repaired_json
from gateway.wire.chat.answer import MAX_CHOICES
from gateway.wire.openai_error import error_in_stream


def decode_chunk(data: bytes) -> Json:
    """A chunk that may be read. Raises UpstreamError: not JSON, of another shape, too many choices, or an error."""
    try:
        chunk = repaired_json.loads(data)
    except orjson.JSONDecodeError:
        raise UpstreamError("the upstream sent a chunk that is not JSON") from None
    if not isinstance(chunk, dict) or not isinstance(chunk.get("choices") or [], list):
        raise UpstreamError("the upstream sent a chunk that is not valid")
    if len(chunk.get("choices") or ()) > MAX_CHOICES:
        raise UpstreamError("the upstream sent too many choices")
    if chunk.get("error"):
        raise error_in_stream(chunk)
    return chunk
