"""What decoding in pieces may take, whatever the document is made of."""

import tracemalloc
from collections import deque

import orjson
import pytest

from gateway.wire.json_pieces import decode_in_pieces, decode_in_steps
from gateway.wire.large_json import DecodedBody, decode, decode_steps

_MIB = 1 << 20


def test_commas_in_a_string_below_nested_lists_take_no_memory() -> None:
    raw = b"[" * 60 + b'"' + b"," * _MIB + b'"' + b"]" * 60
    expected = orjson.loads(raw)
    tracemalloc.start()
    decoded = decode_in_pieces(bytearray(raw))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert decoded == expected
    assert peak < 20 * _MIB  # with a place for each comma in each list: 500 MiB


def test_a_document_of_members_longer_than_a_window_is_decoded_member_by_member() -> None:
    member = b'"%d":["' + b"\\u00e4" * 12_000 + b'",["\xc3\xa4\n"]]'
    raw = b"{" + b",\n".join(member.replace(b"%d", b"%d" % number) for number in range(8)) + b"}"
    raw = raw.replace(b"\xa4\n", b"\xa4")
    steps = decode_in_steps(bytearray(raw))
    assert len(deque(steps)) > 8
    assert decode_in_pieces(bytearray(raw)) == orjson.loads(raw)


def _finished(raw: bytes) -> DecodedBody:
    steps = decode_steps(bytearray(raw))
    while True:
        try:
            next(steps)
        except StopIteration as end:
            assert isinstance(end.value, DecodedBody)
            return end.value


def test_a_body_that_was_decoded_in_steps_stands_for_its_bytes() -> None:
    raw = orjson.dumps({"numbers": list(range(100_000))})
    decoded = _finished(raw)
    assert len(decoded) == len(raw)
    assert decode(decoded) == orjson.loads(raw)


def test_what_is_wrong_with_a_body_decoded_in_steps_is_told_when_it_is_used() -> None:
    raw = orjson.dumps([1] * 200_000)[:-1] + b",}"
    decoded = _finished(raw)
    with pytest.raises(orjson.JSONDecodeError) as told:
        decode(decoded)
    with pytest.raises(orjson.JSONDecodeError) as expected:
        orjson.loads(raw)
    assert (told.value.lineno, told.value.colno) == (expected.value.lineno, expected.value.colno)
