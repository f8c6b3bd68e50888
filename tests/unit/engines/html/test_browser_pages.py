"""Pages whose HTML is odd, careless or old: every word that a browser shows is in the answer.

The expected words are those that Chromium showed of each page (`innerText`), apart from controls; `details` are read
closed or open. `engines.html.tree` says why libxml2 alone does not do.
"""

import json
import re
from pathlib import Path

import pytest

from gateway.engines.documents.page import extract
from gateway.engines.documents.parse_pool import ExtractOptions
from gateway.engines.html.tree import parse

PAGES: dict[str, tuple[str, str]] = json.loads(Path(__file__).with_name("browser_pages.json").read_text("utf-8"))
"""By kind: the page and its words."""


@pytest.mark.parametrize("name", PAGES)
def test_every_word_that_a_browser_shows_is_read(name: str) -> None:
    markup, shown = PAGES[name]
    text = extract(markup.encode(), ExtractOptions("http://harbour.test/a/b"))["content"]
    assert set(shown.split()) <= set(re.findall(r"\w+", text.lower()))


def test_words_around_a_removed_box_are_not_joined() -> None:
    text = extract(b"<center>Old home page<hr>Welcome to my site</center>", ExtractOptions("http://h.test/"))["content"]
    assert text == "Old home page\n\n---\n\nWelcome to my site"


@pytest.mark.parametrize(
    "unseen",
    [
        "<template><p>secret</p></template>",
        "<svg><defs><text>secret</text></defs></svg>",
        "<noscript>secret</noscript>",
        "<dialog>secret</dialog>",
    ],
)
def test_what_a_browser_does_not_show_is_not_read(unseen: str) -> None:
    text = extract(f"<p>Words of the page.</p>{unseen}".encode(), ExtractOptions("http://h.test/"))["content"]
    assert text == "Words of the page."


def test_a_script_that_names_an_element_without_an_end_is_left_alone() -> None:
    page = b"<script id=s>draw('<plaintext> & </plaintext>')</script><p>The harbour opens at six.</p>"
    assert parse(page.decode()).find(".//script").text == "draw('<plaintext> & </plaintext>')"
