"""Finds parts of a page that are no content of it, by the name or the heading of their section.

They are questions about cookies everywhere; signatures, other threads and what is told of each poster in forums;
newsletters and lists of references; beside goods the buyers' reviews, the terms of delivery, the questions asked often,
the filters of a list and the labels of buttons ("add to cart"), which stand beside each article of a list, what the
shop says of itself, its promises, add-ons and bundles; lists of what is related, beside articles too. Runs in the
parsing processes. A part is a bit; `selection` decides by the page's type whether it is dropped. A model learns little
about such parts from few pages, as each shop and forum marks them up in its own way; their names and headings are
alike.
"""

import functools
import re
from collections.abc import Sequence
from typing import Any

from gateway.engines.content.blocks import TextBlock, is_running_text
from gateway.engines.content.manual_links import is_manual_navigation
from gateway.engines.content.part_words import ABOUT_POSTER, ACTION, FIRST_WORD, RELATED_HEADING, SHOP_HEADING, TERM

(
    CONSENT, SIGNATURE, NEWSLETTER, REVIEWS, DELIVERY, REFERENCES, FACETS, QUESTIONS, ACTIONS, POSTER, THREADS, RELATED,
    TERMS, SHOP, PROMISES, NAVIGATION,
) = (1 << at for at in range(16))  # fmt: skip
NEVER = CONSENT | NAVIGATION
"""Parts that are no content on any page."""
_NAMED = (
    (
        CONSENT,
        re.compile(
            r"onetrust|(?:cookie|consent|gdpr)s?[\w-]{0,20}?(?:banner|notice|bar|popup|modal|dialog|overlay|sdk|prefer|"
            r"setting|prompt|manager|container|law|bot|wrapper|layer)"
        ),
    ),
    (SIGNATURE, re.compile(r"(?:^|[\s_-])(?:post|user)?signature|(?:^|[\s_-])sig[_-]?text")),
    (REVIEWS, re.compile(r"(?:^|[\s_-])(?:(?:product|customer|user)?reviews?|testimonials?|bv-content)(?:$|[\s_-])")),
    (REFERENCES, re.compile(r"(?:^|[\s_-])(?:references|citations|footnotes|reflist)(?:$|[\s_-])")),
    (FACETS, re.compile(r"(?:^|[\s_-])(?:facets?|filters?|refine(?:ments?)?|sort(?:ing|er|by)?|layered)(?:$|[\s_-])")),
    (
        RELATED,
        re.compile(
            r"(?:^|[\s_-])(?:related|up-?sells?|cross-?sells?|recommend(?:ed|ations?)|similar|recently-?viewed|"
            r"also-?(?:bought|viewed|like))(?:$|[\s_-])"
        ),
    ),
    (
        PROMISES,
        re.compile(
            r"(?:^|[\s_-])(?:usps?|(?:block)?reassurance|trust-?(?:badges?|bar|box|signals?)|selling-?points?|"
            r"value-?props?)(?:$|[\s_-])"
        ),
    ),
)  # (part, names of an element around it)
_ANY_NAMED = re.compile(
    "onetrust|cookie|consent|gdpr|sig|review|testimonial|bv-|ref|citation|foot|facet|filter|refine|sort|layer|"
    "related|sell|recommend|similar|viewed|bought|like|usp|reassurance|trust|value"
)
"""What every name of a part contains: most names need no further search."""
_NAMES_REMEMBERED = 4_096
"""Values of `class` and `id` of which a process remembers the parts. Chosen: those of some pages; at half they are
searched again for each page, double only costs memory."""
_HEADED = (
    (
        NEWSLETTER,
        re.compile(
            r"^(?:subscribe|sign up (?:for|to)|join (?:our|the) (?:newsletter|mailing|list|community)|"
            r"(?:our |the |we do )?newsletters?\b|"
            r"stay (?:in touch|in the loop|up to date|informed)|get (?:the latest|our|updates)|"
            r"(?:write|leave|post|add) (?:a|your) (?:review|reply|comment)\b)",
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
    (
        THREADS,
        re.compile(
            r"^(?:who is online|(?:similar|related|suggested|recommended|recently active) "
            r"(?:threads|topics|discussions)|(?:more|other) (?:threads|topics|discussions) (?:from|in)|"
            r"(?:topic|forum) permissions|jump to)\b",
            re.IGNORECASE,
        ),
    ),
    (REFERENCES, re.compile(r"^(?:references|citations|bibliography|footnotes)$", re.IGNORECASE)),
    (
        QUESTIONS,
        re.compile(r"\bfaqs?\b|^(?:frequently asked|common) questions|\bpeople (?:are|also) ask", re.IGNORECASE),
    ),
    (RELATED, RELATED_HEADING),
    (SHOP, SHOP_HEADING),
    (DELIVERY, re.compile(r"^(?:free |fast )?(?:shipping|delivery|returns?|payment|refunds?)\b", re.IGNORECASE)),
)
_WORDED = ((ACTIONS, 14, ACTION), (TERMS, 24, TERM), (POSTER, 40, ABOUT_POSTER))
"""(part, most words of it, how its text begins). Words chosen: a button has up to four and the name of the article,
which has up to ten; terms of delivery are a sentence; what is told of a poster has six fields. At half long names are
missed; at double sentences of the description count."""
_MOST_WORDED = max(most_words for _, most_words, _ in _WORDED)
_SAME_WORDS = 3
"""Times that a text must say one word, and nothing else, to be the labels of choices that differ in their picture
("Swatch Swatch Swatch"). At half, names of two equal words count; at double, short rows of choices stay."""
_SECTION_HEADINGS = frozenset({"h2", "h3", "h4", "h5", "h6"})
_HEADING_WORDS = 8
"""A longer heading is a sentence of the text. At half "What our customers say about it" is missed; at double headlines
of single reviews open a part."""
_MAX_NEWSLETTER_WORDS = 80
"""Words of a newsletter's box. Chosen: its invitation and terms. At half the terms stay; at double short pages about a
newsletter are one."""
_MAX_QUESTIONS_SHARE = 0.3
"""Share of a page's words that a shop's answers to questions may hold beside a product. Chosen: the description, the
data and the reviews are more. At half, most stay; at double, a page that is mainly questions loses its text."""
_MAX_RELATED_SHARE = 0.5
"""The same for what is related and for what the shop says of itself. Chosen: beside a short text it is nearly as long.
At half, such lists stay; at double, a page that is called "Recommended for you" throughout loses everything."""
_MAX_HEADINGS = 12
"""Headings of parts that are followed. Chosen: shops have some. It bounds the search over the blocks after each."""
_MAX_FACETS_SHARE = 0.5
"""Share of a page's words that its filters may hold. Chosen: long lists of brands and flavours beside cards of few
words are a third. At half these stay; at double a list of goods inside a box that is called a filter goes."""


def parts_of(blocks: Sequence[TextBlock]) -> list[int]:
    """For each block the bits of the parts that it is in; 0 for none."""
    known: dict[Any, int] = {}
    parts = [_named_parts(block.element, known) | _worded_part(block) for block in blocks]
    sizes = [len(block.words) for block in blocks]
    total = sum(sizes)
    _clear_lists(blocks, parts)
    _clear_related(sizes, parts)
    headings = 0
    for at, block in enumerate(blocks):
        part = _headed_part(block)
        if not part or parts[at] & part:
            continue
        end = _section_end(blocks, at)
        if sum(sizes[at:end]) <= _most_words(part, total):
            for later in range(at, end):
                parts[later] |= part
        headings += 1
        if headings == _MAX_HEADINGS:
            break
    return parts


def _most_words(part: int, page_words: int) -> float:
    """Words up to which the section below a heading is this part of the page."""
    bounds = {
        NEWSLETTER: _MAX_NEWSLETTER_WORDS,
        QUESTIONS: _MAX_QUESTIONS_SHARE * page_words,
        RELATED: _MAX_RELATED_SHARE * page_words,
        SHOP: _MAX_RELATED_SHARE * page_words,
    }
    return bounds.get(part, page_words)


def _clear_related(sizes: Sequence[int], parts: list[int]) -> None:
    """Removes RELATED from all blocks if boxes with such names hold much of the page: then they hold its main list."""
    if sum(size for size, part in zip(sizes, parts, strict=True) if part & RELATED) > _MAX_RELATED_SHARE * sum(sizes):
        parts[:] = [part & ~RELATED for part in parts]


def _clear_lists(blocks: Sequence[TextBlock], parts: list[int]) -> None:
    """Takes FACETS from the blocks of a box with running text, and from all if they are much of the page: the box that
    is called a filter then holds the list itself."""
    boxes: dict[Any, list[int]] = {}
    known: dict[Any, Any] = {}
    for at, part in enumerate(parts):
        if part & FACETS:
            boxes.setdefault(_outermost_facets(blocks[at].element, known), []).append(at)
    total = sum(len(block.words) for block in blocks)
    facets = sum(len(blocks[at].words) for members in boxes.values() for at in members)
    for members in boxes.values():
        if facets > _MAX_FACETS_SHARE * total or any(is_running_text(blocks[at]) for at in members):
            for at in members:
                parts[at] &= ~FACETS


def _outermost_facets(element: Any, known: dict[Any, Any]) -> Any:
    """The outermost box around the element that is named a filter, or None; `known` caches it for every element."""
    path: list[Any] = []
    box = element
    while box is not None and box.tag not in ("body", "html", "main") and box not in known:
        path.append(box)
        box = box.getparent()
    named = known.get(box)
    for box in reversed(path):
        names = (box.get("class") or "", box.get("id") or "")
        if named is None and any(_parts_named(name) & FACETS for name in names):
            named = box
        known[box] = named
    return named


def _worded_part(block: TextBlock) -> int:
    if len(block.words) > _MOST_WORDED or block.element.tag == "pre":
        return 0
    text = block.text
    words = block.words
    if len(words) >= _SAME_WORDS and words[0] == words[1] and len(set(words)) == 1 and words[0].isalpha():
        return ACTIONS
    if "\ue000" <= text[:1] <= "\uf8ff":  # the letter of an icon font
        text = text[1:].lstrip()
    if text[:1] in ("[", "<"):
        return NAVIGATION if block.link_words and is_manual_navigation(block) else 0
    if FIRST_WORD.match(text):
        if is_manual_navigation(block) if block.link_words else _is_opened(block):
            return NAVIGATION
        for part, most_words, pattern in _WORDED:
            if len(block.words) <= most_words and pattern.match(text):
                return part
    return 0


def _is_opened(block: TextBlock) -> bool:
    """True for rustdoc's label of a part ("Expand description") that it shows where the part is folded."""
    return bool(block.element.tag == "summary" and block.element.get("class") == "hideme")


def is_action(text: str) -> bool:
    """Whether a short text is the label of a button beside goods."""
    return ACTION.match(text) is not None


def _headed_part(block: TextBlock) -> int:
    if len(block.words) > _HEADING_WORDS:
        return 0
    if block.element.tag in _SECTION_HEADINGS:
        return next((part for part, pattern in _HEADED if pattern.search(block.text)), 0)
    return RELATED if not block.link_words and RELATED_HEADING.match(block.text) else 0


def _section_end(blocks: Sequence[TextBlock], at: int) -> int:
    """The number behind the last block of the section that a heading opens: up to the next heading of its rank, and of
    a text that is a heading without its tag, up to the end of the box around both."""
    rank = blocks[at].element.tag
    if rank not in _SECTION_HEADINGS:
        return _box_end(blocks, at)
    for later in range(at + 1, len(blocks)):
        tag = blocks[later].element.tag
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdecimal() and tag <= rank:
            return later
    return len(blocks)


def _box_end(blocks: Sequence[TextBlock], at: int) -> int:
    """The number behind the last block of the innermost box around this block that holds blocks behind it."""
    if at + 1 == len(blocks):
        return at + 1
    following = {blocks[at + 1].element, *blocks[at + 1].element.iterancestors()}
    box = next((each for each in blocks[at].element.iterancestors() if each in following), None)
    for later in range(at + 1, len(blocks)):
        if box is None or not any(each is box for each in blocks[later].element.iterancestors()):
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
        for name in ((box.get("class") or ""), (box.get("id") or "")):
            if name:
                parts |= _parts_named(name)
        known[box] = parts
    return parts


@functools.lru_cache(maxsize=_NAMES_REMEMBERED)
def _parts_named(name: str) -> int:
    name = name.lower()
    return sum(part for part, pattern in _NAMED if pattern.search(name)) if _ANY_NAMED.search(name) else 0
