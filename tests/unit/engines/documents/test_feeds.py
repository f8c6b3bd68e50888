"""Feeds are read as pages: title and description, then each item with its link, date, author and text."""

from typing import Any

import pytest

from gateway.domain import Json
from gateway.engines.documents.feeds import MAX_ITEMS
from tests.support.paths import GOLDEN
from tests.support.read_pages import page_of

FEEDS = GOLDEN / "feeds"
"""Feeds, and beside each the Markdown that it is read as."""
RSS = (FEEDS / "rss.xml").read_bytes()


def read(body: bytes, content_type: str = "application/rss+xml", **options: Any) -> Json:
    return page_of(body, "https://a.test/blog/feed.xml", content_type, **options)


@pytest.mark.parametrize(
    ("name", "content_type", "title", "encoding"),
    [
        ("rss.xml", "application/rss+xml", "Tools & more", "utf-8"),
        ("rss.xml", "text/html; charset=utf-8", "Tools & more", "utf-8"),
        ("rss.xml", "", "Tools & more", "utf-8"),
        ("rss.xml", "text/xml", "Tools & more", "utf-16"),
        ("atom.xml", "application/atom+xml", "A < B", "utf-8"),
        ("rdf.xml", "application/rdf+xml", "C", "utf-8"),
        ("feed.json", "application/feed+json", "J", "utf-8"),
        ("feed.json", "application/json", "J", "utf-8"),
    ],
)
def test_a_feed_is_a_readable_page(name: str, content_type: str, title: str, encoding: str) -> None:
    found = read((FEEDS / name).read_text("utf-8").replace("UTF-8", encoding).encode(encoding), content_type)
    page = (FEEDS / name).with_suffix(".md").read_text("utf-8")
    assert (found["kind"], found["title"], f"{found['content']}\n") == ("feed", title, page)


def test_a_feed_as_text_has_no_marks() -> None:
    told = "https://a.test/blog/1?a=1&b=2 · 2026-11-20 14:05+00:00 · Jane Doe"
    assert f"First step\n\n{told}\n\nWhy\n\nAT&T has a line." in read(RSS, format="text")["content"]


def test_the_links_of_a_feed_are_its_items_pages() -> None:
    first, second = ["https://a.test/blog/1?a=1&b=2", "First step", True], ["https://a.test/blog/2", "", True]
    assert read(RSS, links=True)["links"] == [first, second]


def test_a_fragment_selects_an_item_with_the_headings_in_it() -> None:
    part = read(RSS, fragment="first-step")["part"]
    assert part.startswith("Tools & more\n\n## [First step]") and "#### Why" in part and "Max" not in part


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<rss><channel><title>Empty</title></channel></rss>", "xml"),
        (b'<?xml version="1.0"?><feedback><item><title>x</title></item></feedback>', "xml"),
        (b"<!DOCTYPE html><html><body><rss>no feed, but a page that has the word</rss></body></html>", "html"),
    ],
)
def test_what_has_no_items_or_another_root_is_read_as_before(body: bytes, kind: str) -> None:
    assert read(body, "text/html" if kind == "html" else "application/xml")["kind"] == kind


@pytest.mark.parametrize(
    "body", [b'{"items": 5}', b'{"version": "https://jsonfeed.org/version/1"', b"[]", b"[" * 90_000]
)
def test_broken_json_feeds_are_shown_as_they_are(body: bytes) -> None:
    assert read(body, "application/feed+json")["kind"] == "json"


def test_entities_of_the_document_are_not_expanded_and_files_not_read() -> None:
    body = (
        b'<!DOCTYPE rss [<!ENTITY a "boom"><!ENTITY b "&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>'
        b"<rss><channel><item><title>x &b; &c; &nbsp;y</title><description>&c;</description></item></channel></rss>"
    )
    content = read(body)["content"]
    assert "&b;" in content and "boom" not in content and "root:" not in content


def test_broken_xml_gives_the_items_before_the_fault() -> None:
    content = read(RSS[: RSS.index(b"<item><title>Third")] + b"<<<\x01")["content"]
    assert "First step" in content and "plain" in content


def test_items_are_bounded() -> None:
    items = "<item><title>T</title><description>t</description></item>" * (MAX_ITEMS + 50)
    page = read(f"<rss><channel><title>x</title>{items}</channel></rss>".encode())
    assert page["content"].count("## T") == MAX_ITEMS
