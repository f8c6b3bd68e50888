"""What a document holds is counted as a walk over the decoded one counts it, wherever it is cut into slices."""

from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.wire import json_counts
from gateway.wire.json_counts import Counts


def walked(value: Any) -> Counts:
    """Naive form: decode and walk."""
    if type(value) is dict or type(value) is list:
        below = [walked(each) for each in (value.values() if type(value) is dict else value)]
        names = len(value) if type(value) is dict else 0
        values, numbers, more = (sum(each) for each in zip(*below, strict=True)) if below else (0, 0, 0)
        return Counts(values + 1, numbers, names + more)
    return Counts(type(value) is str, type(value) in (int, float), 0)


_TEXTS = st.text(st.sampled_from('\\"{}[],:-17 a\n\u2028я')) | st.sampled_from(["\\", '"', '\\"', '":', '",', "1,2"])
_NUMBERS = st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
_PLAIN = st.none() | st.booleans() | _NUMBERS | _TEXTS
_VALUES = st.recursive(_PLAIN, lambda inner: st.lists(inner) | st.dictionaries(_TEXTS, inner), max_leaves=40)


@given(_VALUES, st.integers(1, 9), st.booleans())
@example("\\" * 9, 3, False)
@example({'":': [-1, "", {"": {}}]}, 1, True)
def test_slices_of_any_length_are_counted_as_a_walk_counts(value: Any, slice_bytes: int, is_spaced: bool) -> None:
    raw = orjson.dumps(value, option=orjson.OPT_INDENT_2 if is_spaced else None)
    counted = list(json_counts.so_far(raw, slice_bytes))
    assert counted[-1] == walked(value)
    assert all(each <= most for row in counted for each, most in zip(row, walked(value), strict=True))
    assert all(each <= most for each, most in zip(walked(value), json_counts.most(raw), strict=True))


@pytest.mark.parametrize("slice_bytes", [1, 2, 3, 5, 1 << 17])
def test_blanks_escapes_and_a_bytearray_change_no_count(slice_bytes: int) -> None:
    raw = bytearray(b' { "a\\\\\\"" \t:\r\n[ "b" , -1 ,2.5e-3\n, null,true ] , "c":"\\\\" }\n')
    assert list(json_counts.so_far(raw, slice_bytes))[-1] == Counts(values=4, numbers=2, names=2)
    assert orjson.loads(raw) == {'a\\"': ["b", -1, 0.0025, None, True], "c": "\\"}


def test_what_is_no_json_is_counted_up_to_its_first_fault() -> None:
    for raw in (b'["a","b"::::::', b'["a" "b"', b'[[]"a":"b', b'[{"a":"b":"c":'):
        assert list(json_counts.so_far(raw))[-1].values >= 2
    assert list(json_counts.so_far(b"")) == []
