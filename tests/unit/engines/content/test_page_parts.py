"""Parts of a page that are no content of it, found by their names and headings."""

from typing import Any

import pytest

from gateway.engines.content import blocks
from gateway.engines.content.models import TYPES
from gateway.engines.content.parts import ACTIONS, CONSENT, FACETS, RELATED, SIGNATURE, parts_of
from gateway.engines.content.selection import PageEvidence, select_blocks
from gateway.engines.html.head import declares_product, read_head
from gateway.engines.html.tree import parse

_TEXT = "<p>The lamp has a brass foot and a shade of linen that was woven in the valley by hand.</p>" * 3


def _blocks(body: str) -> list[blocks.TextBlock]:
    return blocks.collect(parse(f"<body>{body}</body>").find("body"))


def _parts(body: str, word: str) -> int:
    """The parts of the first block with this word."""
    found = _blocks(body)
    return next(part for block, part in zip(found, parts_of(found), strict=True) if word in block.text)


@pytest.mark.parametrize(("links", "is_read"), [(60, True), (12, False)])
def test_a_long_list_of_links_is_read_though_the_page_has_scripts(links: int, is_read: bool) -> None:
    items = "".join(f"<div><a href='/{at}'>Item {at}</a></div>" for at in range(links))
    found = _blocks(f"{items}<script>draw()</script>")
    types = dict.fromkeys(TYPES, 0.1)
    evidence = PageEvidence(found, [False] * len(found), parts_of(found), 0, types, scripted=True)
    assert any(select_blocks(evidence, [0.01] * len(found))) is is_read


def _kept(body: str, page_type: str, *, is_product: bool = False, likely: float = 0.9) -> str:
    """What is kept on a page of this type when the model takes everything for content."""
    found = _blocks(body)
    types = dict.fromkeys(TYPES, 0.02) | {page_type: 0.88}
    evidence = PageEvidence(found, [False] * len(found), parts_of(found), 900, types, is_product=is_product)
    keep = select_blocks(evidence, [likely] * len(found))
    return " ".join(block.text for block, is_kept in zip(found, keep, strict=True) if is_kept)


@pytest.mark.parametrize(
    ("markup", "part"),
    [
        ("<div id='onetrust-consent-sdk'><div><p>target</p></div></div>", CONSENT),
        ("<div class='x cookie-law-info-bar'><p>target</p></div>", CONSENT),
        ("<div class='post'><div class='post-signature'>target</div></div>", SIGNATURE),
        (f"{_TEXT}<div id='tab-related'><p>target</p></div>", RELATED),
        (f"{_TEXT}<div class='block upsell'><p>target</p></div>", RELATED),
        (f"{_TEXT}<ul class='facets__list'><li>target</li></ul>", FACETS),
    ],
)
def test_a_part_is_known_by_its_name_or_its_heading(markup: str, part: int) -> None:
    assert _parts(markup, "target") == part


@pytest.mark.parametrize(
    "markup",
    [
        "<div class='cookie-recipe'><p>target</p></div>",
        "<div class='similar'><p>target, and there is more of it</p><p>than elsewhere</p></div>",
        "<div class='sig sig-object'>target</div>",
        "<h2>About the author</h2><p>target</p>",
        "<div class='filters'><p>target and all that there is on this page</p></div>",
    ],
)
def test_what_only_looks_like_a_part_is_none(markup: str) -> None:
    assert _parts(markup, "target") == 0


def test_questions_about_cookies_are_kept_on_no_type_of_page() -> None:
    body = f"{_TEXT}<div class='cookie-banner'><p>We value your privacy and our partners.</p></div>"
    assert all("privacy" not in _kept(body, page_type) for page_type in TYPES)


@pytest.mark.parametrize("box", ["<form>{}</form>", "<div class='with-sidebar'>{}</div>"])
def test_a_form_or_a_name_around_the_whole_page_hides_nothing(box: str) -> None:
    body = box.format("<p>Closed on Mondays.</p><table><tr><td>Tuesday</td><td>nine to five</td></tr></table>")
    assert "five" in _kept(body, "service", likely=0.01)


def test_labels_of_a_footer_alone_are_no_page() -> None:
    links = "".join(f"<dd><a href='/{at}'>Help {at}</a></dd>" for at in range(9))
    assert _kept(f"<footer><dl>{links}</dl></footer>", "listing") == ""


def test_a_forum_loses_signatures() -> None:
    post = "<div><p>Post {0} says that the lamp is fine.</p><div class='signature'>Woof</div></div>"
    kept = _kept("".join(post.format(at) for at in range(6)), "forum")
    assert all(f"Post {at} says" in kept for at in range(6)) and "Woof" not in kept


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("Add Brass Lamp to Compare", ACTIONS),
        ("Quick shop", ACTIONS),
        ("Sold out", ACTIONS),
        ("Unit price / per", ACTIONS),
        ("View", ACTIONS),
        ("Please select a size", ACTIONS),
        ("Quantity 1", ACTIONS),
        ("Email agent", ACTIONS),
        ("\ue8b6 Quick view", ACTIONS),
        ("Skip to the end of the images gallery", ACTIONS),
        ("Print Recipe", ACTIONS),
        ("Report this item", ACTIONS),
        ("Skip the oil if the lamp is full.", 0),
        ("Call of the harbour pilots", 0),
        ("Add the oil to the lamp, then light it.", 0),
        ("View from the harbour", 0),
    ],
)
def test_labels_of_buttons_and_of_posters_are_known_by_their_words(text: str, part: int) -> None:
    assert _parts(f"<div>{text}</div>", text.split(maxsplit=1)[0]) == part


def test_goods_lose_the_labels_of_their_buttons_and_articles_keep_them() -> None:
    body = "".join(f"<li><h3>Brass lamp {at}</h3><div>Add to cart</div></li>" for at in range(12))
    assert "Add to cart" not in _kept(body, "collection")
    assert "Brass lamp 11" in _kept(body, "collection")
    assert "Add to cart" in _kept(f"{_TEXT}<p>Add to cart</p>{_TEXT}", "article")


def test_of_a_long_list_without_a_likely_block_the_likeliest_ones_are_kept() -> None:
    body = "".join(
        f"<div class='card'><h3>Talk {at} about brass lamps and oil</h3><div>Promoted talk</div></div>"
        for at in range(60)
    )
    found = _blocks(body)
    types = dict.fromkeys(TYPES, 0.02) | {"listing": 0.88}
    evidence = PageEvidence(found, [False] * len(found), parts_of(found), 0, types)
    keep = select_blocks(evidence, [0.2 if block.element.tag == "h3" else 0.02 for block in found])
    assert {block.element.tag for block, is_kept in zip(found, keep, strict=True) if is_kept} == {"h3"}


def test_a_long_list_of_links_of_which_only_the_heading_is_likelier_is_read_whole() -> None:
    body = "<h2>Constants</h2>" + "".join(f"<ul class='c{at}'><li><a>LAMP_{at}</a></li></ul>" for at in range(400))
    found = _blocks(body)
    types = dict.fromkeys(TYPES, 0.14)
    evidence = PageEvidence(found, [False] * len(found), parts_of(found), 0, types)
    assert all(select_blocks(evidence, [0.2 if block.element.tag == "h2" else 0.02 for block in found]))


def test_filters_go_from_a_list() -> None:
    body = f"{_TEXT}<ul class='facets'><li>Brass (4)</li></ul>"
    assert "(4)" not in _kept(body, "collection")
    assert "(4)" not in _kept(body, "listing")
    assert "(4)" in _kept(body, "service")
    brands = "".join(f"<li>Brass number {at} ({at})</li>" for at in range(8))
    assert "(4)" not in _kept(f"{_TEXT}<ul class='facets'>{brands}</ul>", "collection"), "a third of the page"


@pytest.mark.parametrize(
    ("head", "is_product"),
    [
        ("<meta property='og:type' content='product'>", True),
        ('<script type="application/ld+json">{"@type": "Product"}</script>', True),
        ('<script type="application/ld+json">{"@type": "ItemList", "x": {"@type": "Product"}}</script>', False),
        ("<meta property='og:type' content='article'>", False),
    ],
)
def test_a_page_declares_one_product_or_a_list(head: str, is_product: bool) -> None:
    root: Any = parse(f"<html><head>{head}</head><body><p>A lamp.</p></body></html>")
    assert declares_product(read_head(root, "http://shop.test/lamp")) is is_product
