"""The tree that a browser builds: cases of every kind of the HTML standard's tree construction, section 13.2.6.

html5lib's own cases are in no package of the registry, so these were written from the standard.
"""

import random
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from gateway.engines.html.head import links_of, read_head
from gateway.engines.html.tree import parse, raw_text, remove_all, text_of, text_size
from tests.support.read_pages import content_of

_CASES = Path(__file__).with_name("trees.txt").read_text("utf-8").removeprefix("#data\n").removesuffix("\n")
TREES = dict(case.split("\n#body\n") for case in _CASES.split("\n\n#data\n"))
"""As in html5lib's files: markup, and the tree inside `body`: tag(children), text in quotes."""


def _shape(element: Any) -> str:
    pieces = [repr(element.text)] if element.text else []
    for child in element:
        if isinstance(child.tag, str):
            pieces.append(f"{child.tag}({_shape(child)})")
        if child.tail:
            pieces.append(repr(child.tail))
    return " ".join(pieces)


@pytest.mark.parametrize("markup", TREES)
def test_the_body_is_the_one_a_browser_builds(markup: str) -> None:
    assert _shape(parse(markup).find("body")) == TREES[markup]


def test_a_frameset_keeps_its_text_for_browsers_without_frames() -> None:
    assert text_of(parse("<frameset><frame src=a><noframes>plain text</noframes></frameset>")) == "plain text"


@pytest.mark.slow
@pytest.mark.parametrize(
    "markup",
    ["<div>" * 50_000 + "deep", "<ul><li>" * 50_000 + "deep", f"<p {' '.join(f'a{n}' for n in range(60_000))}>deep"],
)
def test_pages_that_would_take_quadratic_time_are_read_in_another_way(markup: str) -> None:
    assert "deep" in text_of(parse(markup))


@pytest.mark.slow
def test_formatting_that_multiplies_is_bounded_by_the_page() -> None:
    markup = "<p>" + "".join(f"<font size={n}>" for n in range(300)) + "</p>" + "<p>x" * 300
    assert text_of(parse(markup)) == "x" * 300


@pytest.mark.parametrize("box", ["main", "div", "nav", "section"])
def test_a_page_that_is_a_list_of_links_is_read_as_that_list(box: str) -> None:
    items = "".join(f'<li><a href="/{number}">Part {number}</a></li>' for number in range(60))
    content = content_of(f"<title>Contents</title><{box}><ul>{items}</ul></{box}>", "http://x.test/")
    assert "[Part 0](http://x.test/0)" in content and "[Part 59](http://x.test/59)" in content


@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_value_of_any_number_of_words_takes_nothing_of_the_page_along(quote: str) -> None:
    data = "posts, \\&quot;title\\&quot;: \\&lt;b\\&gt;, " * 20_000
    root = parse(f"<body><div id=store data-x={quote}{data}{quote} hidden></div><p>The text of the page.</p></body>")
    store = root.find(".//div")
    assert len(store.get("data-x")) > 400_000 and store.get("hidden") is not None
    assert root.find("body/p").text == "The text of the page."


def test_of_a_tag_with_too_many_attributes_the_first_are_kept() -> None:
    names = " ".join(f"a{number}='x y'" for number in range(6_000))
    root = parse(f"<body><div {names}>one</div><p>two</p></body>")
    assert 3_900 < len(root.find(".//div").keys()) <= 4_000
    assert root.find("body/p").text == "two"


def test_a_script_that_names_an_element_without_an_end_is_left_alone() -> None:
    page = "<script id=s>draw('<plaintext> & </plaintext>')</script><p>The harbour opens at six.</p>"
    assert parse(page).find(".//script").text == "draw('<plaintext> & </plaintext>')"


@pytest.mark.parametrize(
    "text", ["", " ", "one", " a \t b\n\nc ", "caf\u00e9\u00a0 \u3000x", "\u00a0", "a\u2003\u2003b "]
)
def test_a_leaf_has_the_text_and_the_size_that_it_has_beside_an_empty_child(text: str) -> None:
    leaf, with_child = (parse(f"<body><p>{text}{child}</p></body>").find("body/p") for child in ("", "<b></b>"))
    assert (len(leaf), len(with_child)) == (0, 1)
    assert (raw_text(leaf), text_size(leaf)) == (raw_text(with_child), text_size(with_child))


def _remove(element: Any) -> None:
    """The naive form: one element, whose following text stays."""
    parent, before, tail = element.getparent(), element.getprevious(), element.tail or ""
    if before is not None and tail:
        before.tail = (before.tail or "") + tail
    elif tail:
        parent.text = (parent.text or "") + tail
    parent.remove(element)


def _markup(source: random.Random, depth: int = 0) -> str:
    pieces = []
    for _ in range(source.randint(0, 4)):
        tag = source.choice("pbn")
        inside = _markup(source, depth + 1) if depth < 4 else ""
        pieces.append(f"{source.choice(['', 'text '])}<{tag}>{inside}</{tag}>{source.choice(['', 'tail '])}")
    return "".join(pieces)


def test_elements_removed_together_leave_what_they_leave_one_by_one() -> None:
    for seed in range(300):
        markup = f"<r>{_markup(random.Random(seed))}</r>"
        together, one_by_one = etree.fromstring(markup), etree.fromstring(markup)
        remove_all(list(together.iter("n")))
        for element in list(one_by_one.iter("n")):
            _remove(element)
        assert etree.tostring(together) == etree.tostring(one_by_one)


def test_the_texts_of_several_links_to_one_page_are_joined_up_to_a_bound() -> None:
    sections = "".join(f"<li><a href='/a#s{at}'>Section {at}</a></li>" for at in range(2000))
    body = f"<a href='/a'>A</a><a href='/b'><img></a><a href='/b'>B</a><a href='/b#x'>B</a><ul>{sections}</ul>"
    root = parse(f"<title>t</title><body>{body}</body>")
    (first, text, _), second = links_of(root, None, read_head(root, "https://x.test/"))
    assert first == "https://x.test/a" and text.startswith("A; Section 0; Section 1; ") and len(text) < 1_300
    assert second == ["https://x.test/b", "B", False]
