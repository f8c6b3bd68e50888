"""Depth and wrong items are found by shortcuts: they find what a plain walk finds."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.schemas import Checker
from gateway.wire.json_body import MAX_DEPTH, is_too_deep


def naive_depth(value: Any) -> int:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if children is None else 1 + max(map(naive_depth, children), default=0)


@pytest.mark.parametrize("depth", [1, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, MAX_DEPTH + 20])
@pytest.mark.parametrize("width", [0, 50, 6000])
@pytest.mark.parametrize("kind", ["[", "{"])
def test_a_value_is_too_deep_where_a_walk_says_so(depth: int, width: int, kind: str) -> None:
    value: Any = []
    for _ in range(depth - 1):
        value = [value] if kind == "[" else {"a": value}
    value = value if depth == 1 else ([value, *[[]] * width] if kind == "[" else {"a": value, "b": [[]] * width})
    assert is_too_deep(value) is (naive_depth(value) > MAX_DEPTH)


@pytest.mark.slow
@given(st.lists(st.booleans(), max_size=400))
def test_the_first_wrong_items_are_those_of_a_plain_loop(items: list[bool]) -> None:
    """True stands for a wrong item."""
    value = ["x" if wrong else 1 for wrong in items]
    naive = [f"[{index}]" for index, wrong in enumerate(items) if wrong][:3]
    found = Checker({"type": "array", "items": {"type": "integer"}}).check(value)
    assert [problem.path for problem in found] == naive
