"""Results are cut fairly, where paragraphs end, never inside code, and it is said."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.services.websearch_budget import fair_share, fit, shorten


def test_short_pages_stay_whole_and_long_ones_share_the_rest() -> None:
    results = [{"raw_content": "a" * 100}, {"raw_content": "word " * 2000}, {"raw_content": "word " * 4000}]
    note = fit(results, 8_100)
    assert len(results[0]["raw_content"]) == 100
    assert all(3_000 < len(result["raw_content"]) <= 4_000 for result in results[1:])
    assert note is not None and "2 of 3 pages" in note and "websearch-extract" in note


def test_what_fits_is_left_alone() -> None:
    results = [{"raw_content": "a"}, {"raw_content": None}, {}]
    assert fit(results, 10) is None and fit(results, 0) is None


def test_a_cut_falls_at_a_paragraph_and_outside_code() -> None:
    text = "First paragraph.\n\n" + "Second one is here. " * 5 + "\n\n```python\n" + "x = 1\n\n" * 100 + "```\n\nEnd."
    short = shorten(text, 300)
    assert short.endswith("[…]") and short.count("```") in (0, 2) and "Second one" in short


@given(st.lists(st.integers(0, 5000), max_size=30), st.integers(20_000, 60_000))
def test_a_fair_share_never_exceeds_the_budget(sizes: list[int], budget: int) -> None:
    share = fair_share(sizes, budget)
    assert sum(min(size, share) for size in sizes) <= budget


@given(st.text(alphabet="ab \n`#|", max_size=400), st.integers(10, 200))
def test_a_shortened_text_fits_and_is_a_beginning(text: str, room: int) -> None:
    short = shorten(text, room)
    assert len(short) <= max(room, len("\n\n[…]"))
    assert text.startswith(short.removesuffix("[…]").rstrip()) or len(text) <= room
