"""What a model reads of results and pages: numbers, places of a text, whatever letters stand before them."""

import pytest

from gateway.services.hosted_tools.page_text import find_in, open_text, search_text
from gateway.services.hosted_tools.sources import Sources
from gateway.wire.hosted_answer import Source

PAGE = Source(3, "https://a.example/", "A")


def test_results_have_the_numbers_of_their_sources() -> None:
    sources = Sources()
    sources.add("https://a.example/", "A")
    result = {"title": "A", "url": "https://a.example/", "content": "text", "published_date": "2026-01-02"}
    assert search_text([result], sources) == "[1] A\nhttps://a.example/\nPublished: 2026-01-02\ntext"
    unknown = {"title": "", "url": "https://b.example/", "content": ""}
    assert search_text([unknown], sources, "a note") == "https://b.example/\nhttps://b.example/\n\na note"
    assert search_text([], sources) == "Nothing was found."
    assert open_text("", "https://a.example/", "text", PAGE) == "[3] https://a.example/\nhttps://a.example/\n\ntext"


@pytest.mark.parametrize("before", ["", "x" * 1_000, "İ" * 1_000])
def test_the_text_around_a_match_is_shown_whatever_letters_come_before_it(before: str) -> None:
    shown = find_in(f"{before} the Needle is here {'y' * 1_000}", "  nEEDLE ", PAGE)
    assert shown.startswith("[3] 1 places with this text") and "the Needle is here" in shown


def test_matches_close_together_are_shown_once_and_many_are_bounded() -> None:
    assert find_in("needle " * 40, "needle", None).startswith("1 places")
    assert find_in(("needle" + "x" * 400) * 20, "needle", None).startswith("8 places")
    assert find_in("hay", "needle", PAGE) == "The page has no such text."
