"""JSON of servers that cut characters in two."""

import orjson
import pytest

from gateway.wire.chat.stream import decode_chunk
from gateway.wire.mended_json import mended_json

HALF_CHARACTERS = [
    (rb'"a\ud83d"', "a\ufffd"), (rb'"\ude00b"', "\ufffdb"),
    (rb'"\ud83d\ude00 \uDE00\ud83d"', "\U0001f600 \ufffd\ufffd"), (rb'"\\ud83d \ud83d"', "\\ud83d \ufffd"),
    (rb'"\ud83d\ud83d\ude00"', "\ufffd\U0001f600"), (b'"a\xffb"', "a\ufffdb"), (b'\xef\xbb\xbf{"a":1}', {"a": 1}),
    (rb'{"\ud83d":"\u00e9"}', {"\ufffd": "é"}),
]  # fmt: skip


@pytest.mark.parametrize(("data", "value"), HALF_CHARACTERS)
def test_half_a_character_costs_nothing_else(data: bytes, value: object) -> None:
    assert mended_json(data) == value


@pytest.mark.parametrize("data", [b"", b"{", b'"a', rb'"\ud83"', rb'"\u"', b"NaN", b"\xef\xbb\xbf", b'"\x01"'])
def test_what_is_no_json_stays_an_error(data: bytes) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        mended_json(data)


def test_a_chunk_with_half_an_emoji_does_not_end_the_stream() -> None:
    chunk = decode_chunk(rb'{"choices":[{"index":0,"delta":{"content":"Hi \ud83d"}}]}')
    assert chunk["choices"][0]["delta"]["content"] == "Hi \ufffd"
