"""What an upstream says of a failure, for the operator's log: without what it quotes of the request."""

from typing import Any

import orjson

from gateway.key_scrubber import HIDDEN
from gateway.wire.text_walk import text_slots

_RUN_CHARS = 12
"""So many characters in a row that the request has too are a quotation."""
_MAX_REQUEST_BYTES = 1 << 18
"""A longer request is not searched (15 ms for this one): the log then has none of the upstream's words."""


def without_quotations(words: str, request: Any) -> str:
    """The words, with each run of _RUN_CHARS or more that the request has too replaced.

    without_quotations("bad input: my secret letter", {"content": "my secret letter"})  # "bad input: [hidden]"
    """
    raw = orjson.dumps(request, default=str)
    if not words or len(raw) > _MAX_REQUEST_BYTES:
        return ""
    texts = (raw.decode(), *(slot.text for slot in text_slots({"request": request})))
    asked = _folded("\n".join(" ".join(text.split()) for text in texts))
    told, quoted = _folded(words), bytearray(len(words))
    for start in range(len(words) - _RUN_CHARS + 1):
        if told[start : start + _RUN_CHARS] in asked:
            quoted[start : start + _RUN_CHARS] = b"\x01" * _RUN_CHARS
    parts, at = list[str](), 0
    while (start := quoted.find(1, at)) >= 0:
        end = quoted.find(0, start)
        parts += (words[at:start], HIDDEN)
        at = end if end >= 0 else len(words)
    return "".join((*parts, words[at:]))


def _folded(text: str) -> str:
    """The text in lower case, with as many characters."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text
