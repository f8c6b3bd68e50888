"""The matcher used directly gives the places that the package's own search gives."""

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from gateway.sanitize.re2_search import searcher, searcher_within, spans

PATTERN = re2.compile(rb"a+b|c\d{2}")
TEXTS = st.text("abc12 ", max_size=40).map(str.encode)


def naive(text: bytes, start: int, end: int) -> tuple[int, int]:
    match = PATTERN.search(text, start, end)
    return match.span() if match else (-1, -1)


@pytest.mark.slow
@given(TEXTS, st.integers(0, 40), st.integers(0, 40))
def test_places_are_those_of_the_naive_search(text: bytes, start: int, end: int) -> None:
    start, end = min(start, len(text)), min(max(start, end), len(text))
    start = min(start, end)
    assert searcher(PATTERN)(text, start) == naive(text, start, len(text))
    assert searcher_within(PATTERN)(text, start, end) == naive(text, start, end)
    assert list(spans(searcher(PATTERN), text)) == [match.span() for match in PATTERN.finditer(text)]
