"""What is read of texts for browsers without scripts: the answer where there is no other, and never a notice."""

import pytest

from gateway.domain import Json
from tests.support.read_pages import page_of

_APP = "<div id=root></div><script src=/a.js></script>"
_TIMES = "<h1>Ferry times</h1><ul><li>Monday 9:00</li><li>Tuesday 10:00</li></ul>"


def read(body: str) -> Json:
    return page_of(f"<!doctype html><title>Ferry</title><body>{body}</body>", "https://ferry.test/times")


def test_a_short_text_for_browsers_without_scripts_is_the_content_where_nothing_else_is() -> None:
    page = read(f"{_APP}<noscript>{_TIMES}</noscript>")
    assert page["content"] == "# Ferry times\n\n- Monday 9:00\n- Tuesday 10:00"
    assert page["needs_browser"]


def test_several_of_them_are_one_page() -> None:
    notes = "<noscript><p>The ferry sails daily.</p></noscript><noscript><p>Dogs sail for free.</p></noscript>"
    assert read(f"{_APP}{notes}")["content"] == "The ferry sails daily.\n\nDogs sail for free."


@pytest.mark.parametrize(
    "notice",
    [
        "This list needs JavaScript",
        "<p>We are sorry, but the <a href=/>app</a> does not work <b>without JavaScript</b>.</p>",
        "<div>Please <i>enable scripts</i></div>",
        "<strong>Your browser is too old.</strong>",
    ],
)
def test_a_notice_that_asks_for_scripts_is_no_answer(notice: str) -> None:
    page = read(f"{_APP}<noscript>{notice}</noscript>")
    assert page["content"] == "" and page["needs_browser"]


def test_a_page_with_text_of_its_own_is_read_without_them() -> None:
    shown = "<main><p>The ferry does not sail in winter, as the lake is frozen from shore to shore.</p></main>" * 2
    assert "Monday" not in str(read(f"{shown}{_APP}<noscript>{_TIMES}</noscript>")["content"])


def test_a_long_text_for_browsers_without_scripts_is_a_page_that_needs_none() -> None:
    text = "".join(f"<p>The ferry number {at} sails from the pier to the island and back again.</p>" for at in range(9))
    page = read(f"{_APP}<noscript>{text}</noscript>")
    assert "number 8" in str(page["content"]) and not page["needs_browser"]
