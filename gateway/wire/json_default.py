"""How values that are kept in another form than Python's are written as JSON: log probabilities, long texts."""

from collections.abc import Iterator
from typing import Any

import orjson

from gateway.long_texts import Utf8Text
from gateway.wire.logprobs import PackedLogprobs


def as_json(value: Any) -> orjson.Fragment:
    """For orjson, as `default`: a PackedLogprobs or a Utf8Text as what it is. Raises TypeError for anything else."""
    if type(value) is Utf8Text:
        return orjson.Fragment(b"".join(string_parts(value.pieces())))
    if not isinstance(value, PackedLogprobs):
        raise TypeError(type(value).__name__)
    return orjson.Fragment(b"".join(value.parts))


def string_parts(pieces: Iterator[str]) -> Iterator[bytes]:
    """The JSON of a string that is made of pieces. Raises TypeError when it is not valid Unicode."""
    yield b'"'
    for piece in pieces:
        yield orjson.dumps(piece)[1:-1]
    yield b'"'
