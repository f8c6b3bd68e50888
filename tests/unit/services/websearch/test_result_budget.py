"""A result's text never exceeds its budget; it is shared fairly, and what was cut is said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain import Json
from gateway.engines.words.excerpt import shorten
from gateway.services.websearch.results import MIN_SHARE_CHARS, ResultCutter, fair_share, fit


def pages(sizes: list[int]) -> list[dict[str, str]]:
    return [{"raw_content": ("word " * (size // 5 + 1))[:size]} for size in sizes]


def lengths(results: list[dict[str, str]]) -> list[int]:
    return [len(result["raw_content"]) for result in results]


def test_short_pages_stay_whole_and_long_ones_share_the_rest() -> None:
    results = pages([100, 10_000, 20_000])
    note = fit(results, 8_100)
    assert lengths(results)[0] == 100 and all(3_900 < size <= 4_000 for size in lengths(results)[1:])
    assert note is not None and "2 of 3 pages" in note and "websearch-extract" in note and "without text" not in note


def test_what_fits_is_left_alone() -> None:
    results: list[Json] = [{"raw_content": "a"}, {"raw_content": None}, {}]
    assert fit(results, 10) is None and fit(results, 0) is None
    assert results == [{"raw_content": "a"}, {"raw_content": None}, {}]


def test_pages_too_many_for_a_useful_share_are_listed_without_text() -> None:
    results = pages([3_000] * 301)
    note = fit(results, 20_000)
    assert sum(lengths(results)) <= 20_000
    assert all(MIN_SHARE_CHARS // 2 < size <= MIN_SHARE_CHARS for size in lengths(results)[:100])
    assert lengths(results)[100:] == [0] * 201
    assert note is not None and "100 of 301 pages were shortened" in note and "201 further pages are listed" in note


def test_small_pages_may_be_more_than_useful_shares() -> None:
    results = pages([50] * 401)
    note = fit(results, 20_000)
    assert lengths(results) == [50] * 400 + [0]
    assert note is not None and "shortened" not in note and "1 further page is listed without text" in note


@pytest.mark.parametrize("spent", [1_000, 5_000])
def test_what_is_spent_already_leaves_nothing(spent: int) -> None:
    results: list[dict[str, str | None]] = [{"raw_content": "text"}, {"raw_content": None}, {"raw_content": "more"}]
    note = fit(results, 1_000, spent=spent)
    assert [result["raw_content"] for result in results] == ["", None, ""]
    assert note is not None and "2 pages are listed without text" in note


async def cut_whole_first(results: list[Json], budget: int) -> str | None:
    async def shorten_here(texts: list[str], most_chars: int, owner: str) -> list[str]:
        return [shorten(text, most_chars) for text in texts]

    return await ResultCutter(budget, shorten_here).cut(results, "key1", "raw_content", 0, whole_first=True)


async def test_as_many_pages_of_a_crawl_as_can_stay_whole_and_the_others_keep_a_beginning() -> None:
    results: list[Json] = [*pages([5_000, 900, 4_000, 1_000, 60_000])]
    note = await cut_whole_first(results, 7_000)
    assert lengths(results)[1:4] == [900, 4_000, 1_000]
    assert all(MIN_SHARE_CHARS // 2 < size <= 550 for size in (lengths(results)[0], lengths(results)[4]))
    assert note is not None and "2 of 5 pages were shortened" in note
    few: list[Json] = [*pages([300] * 10)]
    assert await cut_whole_first(few, 2_050) is not None
    assert sum(lengths(few)) <= 2_050 and min(lengths(few)) > MIN_SHARE_CHARS // 2


@pytest.mark.slow
@given(
    st.lists(st.one_of(st.integers(0, 60), st.integers(0, 5_000)), max_size=60),
    st.integers(500, 30_000),
    st.integers(0, 3_000),
)
def test_the_sum_never_exceeds_the_budget_and_small_pages_stay_whole(sizes: list[int], budget: int, spent: int) -> None:
    results = pages(sizes)
    note = fit(results, budget, spent=spent)
    left = max(0, budget - spent)
    after = lengths(results)
    assert sum(after) <= left and (note is None) is (sum(sizes) <= left)
    emptied = [number for number, size in enumerate(after) if not size and sizes[number]]
    served = emptied[0] if emptied else len(sizes)
    assert emptied == [number for number in range(served, len(sizes)) if sizes[number]]
    share = fair_share(sizes[:served], left)
    for size, kept in zip(sizes[:served], after, strict=False):
        assert kept == size if size <= share else MIN_SHARE_CHARS // 2 < kept <= share
    assert served == len(sizes) or fair_share(sizes[: served + 1], left) < MIN_SHARE_CHARS


@pytest.mark.slow
@given(st.lists(st.integers(0, 40), max_size=8), st.integers(0, 120))
def test_the_fair_share_is_the_largest_cap_that_fits(sizes: list[int], budget: int) -> None:
    caps = (cap for cap in range(budget + 1) if sum(min(size, cap) for size in sizes) <= budget)
    assert fair_share(sizes, budget) == max(caps)
