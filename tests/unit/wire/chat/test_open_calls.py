"""Open calls are found as a search of a list finds them, but for what it costs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.chat.request import OpenCalls

NAMES = st.sampled_from(["", "a", "b", "c"])


def taken_from(calls: list[tuple[str, str]], call_id: str, name: str) -> str | None:
    if call_id:
        found = [call for call in calls if call[0] == call_id]
    else:
        found = [call for call in calls if name and call[1] == name] or calls
    if not found:
        return None
    first = found[0]
    calls.remove(first)
    return first[0]


@pytest.mark.slow
@given(steps=st.lists(st.tuples(st.booleans(), NAMES, NAMES), max_size=40))
def test_it_takes_the_call_that_a_search_would_find(steps: list[tuple[bool, str, str]]) -> None:
    calls, naive = OpenCalls(), list[tuple[str, str]]()
    for opens, call_id, name in steps:
        if opens:
            calls.add(call_id, name)
            naive.append((call_id, name))
        else:
            assert calls.take(call_id, name) == taken_from(naive, call_id, name)


def test_an_id_of_another_type_is_never_found() -> None:
    calls = OpenCalls()
    calls.add(["a"], {"b": 1})
    assert calls.take("a", "b") is None
    assert calls.take("", "b") == ["a"]  # as the oldest
