"""HTML becomes Markdown that means the same: structure, code, tables, lists, links, and text that stays text."""

from pathlib import Path

import pytest
from lxml import etree

from gateway.engines.documents.simhash import both, near
from gateway.engines.html.tree import BLOCKS, parse
from gateway.engines.markdown.writer import Writer, WriterOptions
from tests.support.paths import GOLDEN
from tests.support.read_pages import page_of


def written(html: str, *, plain: bool = False) -> str:
    root = parse(f"<html><body>{html}</body></html>")
    return Writer(WriterOptions("http://a.test/docs/page.html", plain)).write(root.find("body"))


_CASES = Path(__file__).with_name("markup.txt").read_text("utf-8").rstrip("\n").split("\n=====\n")
"""A sentence, markup and, behind an arrow, its Markdown."""
_MARKUP = dict(case.split("\n", 1) for case in _CASES)


@pytest.mark.parametrize("sentence", _MARKUP)
def test_html_becomes_markdown(sentence: str) -> None:
    html, markdown = _MARKUP[sentence].split("\n->\n")
    assert written(html) == markdown


@pytest.mark.parametrize("name", sorted(BLOCKS))
def test_a_block_inside_a_heading_is_set_apart(name: str) -> None:
    region, heading, block = (etree.Element(tag) for tag in ("div", "h3", name))
    region.append(heading)
    heading.append(block)
    block.text, block.tail = "Opinion", "The week in books"
    assert Writer(WriterOptions("http://a.test/")).write(region) == "### Opinion The week in books"


def test_plain_text_has_no_marks() -> None:
    html = "<h1>Head</h1><p>a <b>b</b> <a href=x>c</a> *d*</p><ul><li>e</li></ul><pre>  f</pre>"
    assert written(html, plain=True) == "Head\n\na b c *d*\n\n- e\n\n  f"


def test_near_duplicates_are_told_from_different_texts() -> None:
    base = " ".join(f"word{number} follows word{number * 7 % 91}" for number in range(150))
    assert both("A b,  C")[0] == both("a B c")[0]
    assert near(both(base)[1], both(base + " today")[1])
    assert not near(both(base)[1], both(" ".join(f"other{number} text{number % 13}" for number in range(400)))[1])


def test_a_page_tells_its_title_dates_icon_links_and_images() -> None:
    html = (GOLDEN / "page_with_a_full_head.html").read_text()
    page = page_of(html, "http://a.test/docs/page.html", links=True, images=True)
    assert (page["title"], page["published"], page["favicon"]) == ("T & t", "2026-03-04", "http://a.test/f.ico")
    assert page["canonical"] == "http://a.test/docs/page.html"
    assert [link[0] for link in page["links"]] == ["http://a.test/docs/deep/", "http://a.test/nav"]
    assert [image["url"] for image in page["images"]] == ["http://a.test/o.png", "http://a.test/docs/lazy.png"]
