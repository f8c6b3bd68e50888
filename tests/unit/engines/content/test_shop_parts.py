"""What a shop says of itself beside its goods, and what it sells with them."""

import pytest

from gateway.engines.content import blocks
from gateway.engines.content.models import TYPES
from gateway.engines.content.parts import PROMISES, SHOP, parts_of
from gateway.engines.content.selection import PageEvidence, select_blocks
from gateway.engines.html.tree import parse

_TEXT = "<p>The lamp has a brass foot and a shade of linen that was woven in the valley by hand.</p>" * 3


def _kept(body: str, page_type: str, *, is_product: bool = False) -> str:
    """What is kept on a page of this type when the model takes everything for content."""
    found = blocks.collect(parse(f"<body>{body}</body>").find("body"))
    types = dict.fromkeys(TYPES, 0.02) | {page_type: 0.88}
    evidence = PageEvidence(found, [False] * len(found), parts_of(found), 900, types, is_product=is_product)
    keep = select_blocks(evidence, [0.9] * len(found))
    return " ".join(block.text for block, is_kept in zip(found, keep, strict=True) if is_kept)


@pytest.mark.parametrize(
    ("markup", "part"),
    [
        ("<h2>Why buy from us?</h2><p>target</p>", SHOP),
        ("<h2>What makes our advisers great</h2><p>target</p>", SHOP),
        ("<h3>Meet your seller</h3><p>target</p>", SHOP),
        ("<h2>Choose your add-ons</h2><p>target</p>", SHOP),
        ("<h2>Buy a bundle and save!</h2><p>target</p>", SHOP),
        ("<div class='usp-bar'><p>target</p></div>", PROMISES),
        ("<div id='block-reassurance'><p>target</p></div>", PROMISES),
        ("<h2>About the author</h2><p>target</p>", 0),
        ("<h2>Accessories that come with it</h2><p>target</p>", 0),
        (f"<h2>Our story</h2>{_TEXT * 2}<p>target</p>", 0),
        ("<div class='suspended'><p>target</p></div>", 0),
    ],
)
def test_it_is_known_by_the_name_or_the_heading_of_its_section(markup: str, part: int) -> None:
    found = blocks.collect(parse(f"<body>{_TEXT}{markup}</body>").find("body"))
    assert parts_of(found)[-1] == part


def test_what_a_shop_says_of_itself_goes_from_products_and_stays_on_other_pages() -> None:
    body = f"{_TEXT}<div class='usp-list'><p>Trusted for decades.</p></div><h2>Why buy from us</h2><p>Kind staff.</p>"
    for kept in (_kept(body, "product"), _kept(body, "service", is_product=True)):
        assert "Kind staff" not in kept
        assert "Trusted" not in kept
        assert "brass" in kept
    assert "Kind staff" in _kept(body, "service")
    assert "Trusted" in _kept(body, "service")
    assert "Trusted" not in _kept(body, "collection")


def test_labels_of_choices_that_say_one_word_go_from_goods() -> None:
    body = f"{_TEXT}<div><span>Swatch</span> <span>Swatch</span> <span>Swatch</span></div><p>Ten ten ten, the clock</p>"
    assert "Swatch" not in _kept(body, "product")
    assert "Ten ten" in _kept(body, "product")
    assert "Swatch" in _kept(body, "article")
