"""Finds parts of a page that are no content of it, by the name or the heading of their section: questions about cookies
everywhere, signatures in forums, newsletters, and beside goods the buyers' reviews and the terms of delivery.

Runs in the parsing processes. A part is a bit; whether it is dropped is decided by `selection`, by the page's type. Pages
of a few labels learn nothing sure about such parts, as each shop and forum writes them differently; their names and
headings are alike.
"""

import re
from collections.abc import Sequence
from typing import Any

from gateway.engines.content.blocks import CATEGORIES, MASKS, TextBlock
from gateway.engines.html.metadata import Head

CONSENT, SIGNATURE, NEWSLETTER, REVIEWS, DELIVERY = (1 << at for at in range(5))
_NAMED = (
    (
        CONSENT,
        re.compile(
            r"onetrust|(?:cookie|consent|gdpr)s?[\w-]{0,20}?(?:banner|notice|bar|popup|modal|dialog|overlay|sdk|prefer|"
            r"setting|prompt|manager|container|law|bot|wrapper|layer)"
        ),
    ),
    (SIGNATURE, re.compile(r"(?:^|[\s_-])(?:post|user)?signature|(?:^|[\s_-])sig[_-]?text")),
    (REVIEWS, re.compile(r"(?:^|[\s_-])(?:\w{0,20}reviews?|testimonials?|bv-content)(?:$|[\s_-])")),
)  # (part, names of an element around it)
_HEADED = (
    (
        NEWSLETTER,
        re.compile(
            r"^(?:subscribe|sign up (?:for|to)|join (?:our|the) (?:newsletter|mailing|list|community)|(?:our |the |we do )?"
            r"newsletters?\b|stay (?:in touch|in the loop|up to date|informed)|get (?:the latest|our|updates))",
            re.IGNORECASE,
        ),
    ),
    (
        REVIEWS,
        re.compile(
            r"^(?:(?:customer|user|product|buyer|verified|our|all|top|latest|recent|\d[\d,]*)\s+)*(?:reviews?|ratings?|"
            r"testimonials?)\b|^what (?:our |other )?(?:people|customers|others|users|buyers).{0,20} say",
            re.IGNORECASE,
        ),
    ),
    (DELIVERY, re.compile(r"^(?:free |fast )?(?:shipping|delivery|returns?|payment|refunds?)\b", re.IGNORECASE)),
)
_PRODUCTS = frozenset({"Product", "ProductGroup"})
_LISTS = frozenset({"ItemList", "CollectionPage", "OfferCatalog", "SearchResultsPage"})
_HEADING_WORDS = 8
"""A longer heading is a sentence of the text. At half "What our customers say about it" is missed; at double headlines of
single reviews open a part."""
_MAX_NEWSLETTER_WORDS = 80
"""Words of a newsletter's box. Chosen: its invitation and terms. At half the terms stay; at double short pages about a
newsletter are one."""
_MAX_HEADINGS = 12
"""Headings of parts that are followed. Chosen: shops have some. It bounds the search over the blocks after each."""
_BITS = {name: bit for (name, _), (bit, _) in zip(CATEGORIES, MASKS, strict=True)}
_ANY_NAMED = _BITS["modal"] | _BITS["meta"] | _BITS["review"]
"""Categories of names of which every name in _NAMED is one: other blocks need no search."""


def parts_of(blocks: Sequence[TextBlock]) -> list[int]:
    """For each block the bits of the parts that it is in; 0 for none."""
    known: dict[Any, int] = {}
    parts = [_named_parts(block.element, known) if block.far & _ANY_NAMED else 0 for block in blocks]
    headings = 0
    for at, block in enumerate(blocks):
        part = _headed_part(block)
        if not part or parts[at] & part:
            continue
        end = _section_end(blocks, at)
        if part == NEWSLETTER and sum(len(each.words) for each in blocks[at:end]) > _MAX_NEWSLETTER_WORDS:
            continue
        for later in range(at, end):
            parts[later] |= part
        headings += 1
        if headings == _MAX_HEADINGS:
            break
    return parts


def declares_product(head: Head) -> bool:
    """True for a page that says in its head or structured data that it is about one product, not a list of them."""
    is_named = head.meta.get("og:type", "").lower() in ("product", "og:product", "product.item")
    return (is_named or bool(head.kinds & _PRODUCTS)) and head.kinds.isdisjoint(_LISTS)


def _headed_part(block: TextBlock) -> int:
    tag = block.element.tag
    if tag not in ("h2", "h3", "h4", "h5", "h6") or len(block.words) > _HEADING_WORDS:
        return 0
    return next((part for part, pattern in _HEADED if pattern.search(block.text)), 0)


def _section_end(blocks: Sequence[TextBlock], at: int) -> int:
    """The number behind the last block of the section that a heading opens: up to the next heading of its rank."""
    rank = blocks[at].element.tag
    for later in range(at + 1, len(blocks)):
        tag = blocks[later].element.tag
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdecimal() and tag <= rank:
            return later
    return len(blocks)


def _named_parts(element: Any, known: dict[Any, int]) -> int:
    """The parts that the element and those around it are named; `known` caches the result for every element."""
    path = []
    box = element
    parts = 0
    while box is not None and box.tag not in ("body", "html", "main"):
        if box in known:
            parts = known[box]
            break
        path.append(box)
        box = box.getparent()
    for box in reversed(path):
        name = f"{box.get('class') or ''} {box.get('id') or ''}".lower()
        for part, pattern in _NAMED:
            if not parts & part and pattern.search(name):
                parts |= part
        known[box] = parts
    return parts
