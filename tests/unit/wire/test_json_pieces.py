"""A document that is decoded in pieces, or encoded and emptied, is what the naive form makes of it."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.schemas import json_size
from gateway.wire import json_pieces
from gateway.wire.json_drain import EncodedJson
from gateway.wire.json_pieces import decode_in_pieces
from gateway.wire.large_json import DENSE_BYTES, decode

TEXTS = st.text(st.sampled_from('a\\"[{,:]}\u0000é😀\n'), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=40,
)
DOCUMENTS = st.lists(VALUES, max_size=8) | st.dictionaries(TEXTS, VALUES, max_size=8)


def outcome(read: Any, raw: Any) -> tuple[Any, bool]:
    try:
        return orjson.dumps(read(raw)), True
    except ValueError:
        return None, False


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(value=DOCUMENTS, ascii_only=st.booleans(), spaces=st.booleans(), window_bytes=st.integers(2, 60))
def test_every_window_gives_the_same_value_and_leaves_nothing(
    value: Any, ascii_only: bool, spaces: bool, window_bytes: int
) -> None:
    raw = bytearray(json.dumps(value, ensure_ascii=ascii_only, indent=1 if spaces else None).encode())
    naive = orjson.loads(raw)
    decoded = decode_in_pieces(raw, window_bytes)
    assert orjson.dumps(decoded) == orjson.dumps(naive) and not raw


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(value=DOCUMENTS, window_bytes=st.integers(2, 60), data=st.data())
def test_whatever_is_no_json_is_refused_as_by_the_naive_form(
    value: Any, window_bytes: int, data: st.DataObject
) -> None:
    raw = bytearray(orjson.dumps(value))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(raw)))
        raw[place : place + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from([b"", b",", b"]", b"{", b'"', b"1"])
        )
    naive = outcome(orjson.loads, bytes(raw))
    if naive[1] and bytes(raw[:1]) not in (b"[", b"{"):
        return  # a document that is one string or number, which nobody decodes in pieces
    assert outcome(lambda each: decode_in_pieces(each, window_bytes), raw) == naive


@pytest.mark.parametrize("window_bytes", [4, 9, 1 << 16])
def test_the_place_of_an_error_is_that_of_the_whole_document(window_bytes: int) -> None:
    lines = ["[", '  {"é": 1, "b": [1, 2, 3]},', '  ["c", "😀", nul]', "]"]
    raw = bytearray("\n".join(lines).encode())
    with pytest.raises(orjson.JSONDecodeError) as naive:
        orjson.loads(raw)
    with pytest.raises(orjson.JSONDecodeError) as found:
        decode_in_pieces(raw, window_bytes)
    assert (found.value.lineno, found.value.colno, found.value.msg) == (3, naive.value.colno, naive.value.msg)


def test_a_document_of_brackets_is_refused_after_so_many_levels() -> None:
    with pytest.raises(ValueError, match=r"too many levels|depth limit"):
        decode_in_pieces(bytearray(b"[" * 100_000 + b"]" * 100_000), 64)


def test_equal_short_strings_are_one_and_others_are_not_remembered() -> None:
    long = "x" * (json_pieces.SHARED_CHARS + 1)
    raw = bytearray(orjson.dumps([{"type": "text", "text": long}] * 5_000))
    decoded = decode_in_pieces(raw)
    assert len({id(each["type"]) for each in decoded}) == 1
    assert len({id(each["text"]) for each in decoded}) == 5_000


def test_the_size_of_a_body_is_counted_by_what_is_shared() -> None:
    assert (json_size.SHARED_CHARS, json_size.MAX_WORDS) == (json_pieces.SHARED_CHARS, json_pieces.MAX_WORDS)


def test_a_large_body_is_empty_once_it_is_decoded() -> None:
    for value in ([[1, 2]] * DENSE_BYTES, ["x" * DENSE_BYTES]):
        raw = bytearray(orjson.dumps(value))
        assert decode(raw) == value and not raw


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(value=DOCUMENTS, many=st.lists(st.integers(0, 300), max_size=3))
def test_what_is_encoded_and_emptied_is_the_same_json(value: Any, many: list[int]) -> None:
    wide = [[*range(count), {f"k{n}": [n] for n in range(count)}] for count in many]
    whole: Any = {"value": value, "wide": wide}
    whole = orjson.loads(json.dumps(whole))
    naive = orjson.dumps(whole)
    for is_owned in (False, True):
        encoded = EncodedJson.of(whole, is_owned=is_owned)
        assert b"".join(encoded.parts) == naive and encoded.decoded() == orjson.loads(naive)
        assert is_owned or whole == orjson.loads(naive)


@pytest.mark.slow
@pytest.mark.parametrize("letter", ["a", "\u00e4", "\U0001f600", '"'])
def test_long_texts_and_long_lists_are_encoded_in_parts_and_taken_out_of_their_holders(letter: str) -> None:
    text = "x" + letter * 400_000
    for value in (
        [[1, 2]] * 200_000,
        {f"k{n}": text[:9] for n in range(40_000)},
        {"a": [{"b": text}, *range(70)]},
        [text],
    ):
        naive = orjson.dumps(value)
        encoded = EncodedJson.of(value, is_owned=True)
        assert b"".join(encoded.parts) == naive and not value
        assert max(map(len, encoded.parts)) < 1 << 20
