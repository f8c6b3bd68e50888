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


def _chosen(found: list[blocks.TextBlock], likely: list[float], types: dict[str, float], **more: Any) -> list[bool]:
    """Which blocks are kept when the model takes each for content with this probability."""
    evidence = PageEvidence(found, [False] * len(found), parts_of(found), more.pop("chars", 0), types, **more)
    return select_blocks(evidence, likely)


@pytest.mark.parametrize(("links", "is_read"), [(60, True), (12, False)])
def test_a_long_list_of_links_is_read_though_the_page_has_scripts(links: int, is_read: bool) -> None:
    items = "".join(f"<div><a href='/{at}'>Item {at}</a></div>" for at in range(links))
    found = _blocks(f"{items}<script>draw()</script>")
    assert any(_chosen(found, [0.01] * len(found), dict.fromkeys(TYPES, 0.1), scripted=True)) is is_read


def _kept(body: str, page_type: str, *, is_product: bool = False, likely: float = 0.9) -> str:
    """What is kept on a page of this type when the model takes everything for content."""
    found = _blocks(body)
    types = dict.fromkeys(TYPES, 0.02) | {page_type: 0.88}
    keep = _chosen(found, [likely] * len(found), types, chars=900, is_product=is_product)
    return " ".join(block.text for block, is_kept in zip(found, keep, strict=True) if is_kept)


@pytest.mark.parametrize(
    ("markup", "part"),
    [
        # A part is known by its name or its heading.
        ("<div id='onetrust-consent-sdk'><div><p>target</p></div></div>", CONSENT),
        ("<div class='x cookie-law-info-bar'><p>target</p></div>", CONSENT),
        ("<div class='post'><div class='post-signature'>target</div></div>", SIGNATURE),
        (f"{_TEXT}<div id='tab-related'><p>target</p></div>", RELATED),
        (f"{_TEXT}<div class='block upsell'><p>target</p></div>", RELATED),
        (f"{_TEXT}<ul class='facets__list'><li>target</li></ul>", FACETS),
        # What only looks like a part is none.
        ("<div class='cookie-recipe'><p>target</p></div>", 0),
        ("<div class='similar'><p>target, and there is more of it</p><p>than elsewhere</p></div>", 0),
        ("<div class='sig sig-object'>target</div>", 0),
        ("<h2>About the author</h2><p>target</p>", 0),
        ("<div class='filters'><p>target and all that there is on this page</p></div>", 0),
    ],
)
def test_a_part_is_known_by_its_name_or_its_heading(markup: str, part: int) -> None:
    assert _parts(markup, "target") == part


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


LABELS = (
    "Add Brass Lamp to Compare", "Quick shop", "Sold out", "Unit price / per", "View", "Please select a size",
    "Quantity 1", "Email agent", "\ue8b6 Quick view", "Skip to the end of the images gallery", "Print Recipe",
    "Report this item",
)  # fmt: skip
WORDS = (
    "Skip the oil if the lamp is full.", "Call of the harbour pilots", "Add the oil to the lamp, then light it.",
    "View from the harbour",
)  # fmt: skip


@pytest.mark.parametrize("text", LABELS + WORDS)
def test_labels_of_buttons_and_of_posters_are_known_by_their_words(text: str) -> None:
    assert _parts(f"<div>{text}</div>", text.split(maxsplit=1)[0]) == (ACTIONS if text in LABELS else 0)


def test_goods_lose_the_labels_of_their_buttons_and_articles_keep_them() -> None:
    body = "".join(f"<li><h3>Brass lamp {at}</h3><div>Add to cart</div></li>" for at in range(12))
    assert "Add to cart" not in _kept(body, "collection")
    assert "Brass lamp 11" in _kept(body, "collection")
    assert "Add to cart" in _kept(f"{_TEXT}<p>Add to cart</p>{_TEXT}", "article")


def test_of_a_long_list_without_a_likely_block_the_likeliest_ones_are_kept() -> None:
    card = "<div class='card'><h3>Talk {} about brass lamps and oil</h3><div>Promoted talk</div></div>"
    found = _blocks("".join(card.format(at) for at in range(60)))
    likely = [0.2 if block.element.tag == "h3" else 0.02 for block in found]
    keep = _chosen(found, likely, dict.fromkeys(TYPES, 0.02) | {"listing": 0.88})
    assert {block.element.tag for block, is_kept in zip(found, keep, strict=True) if is_kept} == {"h3"}


def test_a_long_list_of_links_of_which_only_the_heading_is_likelier_is_read_whole() -> None:
    items = "".join(f"<ul class='c{at}'><li><a>LAMP_{at}</a></li></ul>" for at in range(400))
    found = _blocks(f"<h2>Constants</h2>{items}")
    likely = [0.2 if block.element.tag == "h2" else 0.02 for block in found]
    assert all(_chosen(found, likely, dict.fromkeys(TYPES, 0.14)))


def test_filters_go_from_a_list() -> None:
    body = f"{_TEXT}<ul class='facets'><li>Brass (4)</li></ul>"
    kept = ["(4)" in _kept(body, page_type) for page_type in ("collection", "listing", "service")]
    assert kept == [False, False, True]
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
