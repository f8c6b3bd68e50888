"""What `json_size` counts equals what a walk over the decoded body counts, wherever a slice ends."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.schemas.json_size import SLICE_BYTES, TooDeep, TooDense, TooManyValues, measure

TEXTS = st.text(st.sampled_from('a\\"[{,:]}\u0000é😀'), max_size=12)
VALUES = st.recursive(
    st.none() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=30,
)


def counted(value: Any) -> tuple[int, int]:
    """Values as `measure` counts them, and the depth of nesting."""
    if not isinstance(value, dict | list):
        return 1, 0
    parts = [counted(each) for each in (value.values() if isinstance(value, dict) else value)]
    return 1 + sum(part[0] for part in parts) + (not parts), 1 + max((part[1] for part in parts), default=0)


def fits(raw: bytes, max_values: int, max_depth: int, slice_bytes: int = SLICE_BYTES) -> bool:
    try:
        return list(measure(raw, max_values, max_depth, slice_bytes)) is not None
    except (TooManyValues, TooDeep):
        return False


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(value=VALUES, ascii_only=st.booleans(), spaces=st.booleans(), slice_bytes=st.integers(1, 40))
def test_it_counts_as_a_walk_over_the_decoded_value_does(
    value: Any, ascii_only: bool, spaces: bool, slice_bytes: int
) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only, indent=1 if spaces else None).encode("utf-8", "surrogatepass")
    values, depth = counted(value)
    assert fits(raw, values, depth, slice_bytes)
    assert not fits(raw, values - 1, depth, slice_bytes)
    assert depth == 0 or not fits(raw, values, depth - 1, slice_bytes)


@pytest.mark.parametrize("filler", [b"\\" * 2, b'\\"', b"\\u005c", b"[,", b"'"])
def test_a_string_over_many_slices_holds_no_values(filler: bytes) -> None:
    raw = b'["' + filler * SLICE_BYTES + b'",[],[]]'
    assert fits(raw, 6, 2) and not fits(raw, 5, 2) and not fits(raw, 6, 1)


def test_the_error_says_how_many_values_there_are_at_least() -> None:
    with pytest.raises(TooManyValues) as raised:
        list(measure(b"[" + b"1," * 999 + b"1]", 500, 100))
    assert raised.value.values == 1001


@pytest.mark.parametrize("raw", [b"", b'"', b'"\\', b"\\" * 7, b"]]]]", b'{"a":[', b'[["]]]]'])
def test_what_is_no_json_is_left_to_the_decoder(raw: bytes) -> None:
    assert fits(raw, 10, 0 if b"[" not in raw else 3)


MIB = 1 << 20


@pytest.mark.slow
@pytest.mark.parametrize("item", [b"[]", b'{"a":1}', b'{"k":[]}', b'"x":{}', b"[[[]]]"])
def test_tiny_values_whose_objects_would_take_many_times_the_body_are_refused_with_both_numbers(item: bytes) -> None:
    opening, end = (b"{", b"}") if b":" in item and item[:1] == b'"' else (b"[", b"]")
    raw = opening + b",".join([item] * (2 * MIB // len(item))) + end
    with pytest.raises(TooDense) as raised:
        list(measure(raw, 10_000_000, 100))
    assert raised.value.limit_bytes == int(6.9 * len(raw)) < raised.value.need_bytes


ORDINARY: dict[str, Any] = {
    "a long chat of short turns": [{"role": "user", "content": "go on"} for _ in range(20_000)],
    "20,000 values of any kind": [[] for _ in range(10_000)],
    "a table of numbers": [[n, n * 7, n / 3, None, True] for n in range(60_000)],
    "rows of a database": [{"id": n, "name": f"customer {n}", "city": "Trier", "sum": n / 7} for n in range(60_000)],
    "token ids": list(range(400_000)),
    "an embedding": [n / 7 for n in range(200_000)],
    "text parts": [{"type": "text", "text": f"part {n}"} for n in range(15_000)],
    "token ids for embeddings": [[100_000 + n * 7 % 90_000 for n in range(500)] for _ in range(300)],
    "5,000 short messages": [{"role": "user", "content": f"no {n}"} for n in range(5_000)],
    "a schema of 20,000 values": {f"field_{n}": {"type": "string"} for n in range(10_000)},
    "2,000 properties of tools": [
        {
            "type": "function",
            "function": {
                "name": f"f{n}",
                "parameters": {"properties": {f"p{i}": {"type": "string"} for i in range(20)}},
            },
        }
        for n in range(100)
    ],
    "a schema": {f"field_{n}": {"type": "string", "description": f"the field {n}"} for n in range(40_000)},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_bodies_of_many_values_pass(name: str) -> None:
    raw = json.dumps(ORDINARY[name], separators=(",", ":")).encode()
    assert list(measure(raw, 500_000, 100))


def test_what_stands_in_strings_takes_no_memory_of_its_own() -> None:
    raw = json.dumps({"arguments": json.dumps([{"a": []}] * 200_000, separators=(",", ":"))}).encode()
    assert list(measure(raw, 500_000, 100))
