"""Finds parts of a page by their tags, names, headings and first words: furniture, comments, buttons.

A part is a bit: questions about cookies everywhere; signatures in forums; beside goods the related ones, filters and
labels of buttons. `selection` decides by the page's type what is dropped. Runs in the parsing processes.
"""

import functools
import itertools
import re
from collections.abc import Sequence
from typing import Any

from gateway.engines.content.blocks import (
    CATEGORY_BITS,
    HIDDEN,
    ROLE,
    TAG_BITS,
    Surroundings,
    TextBlock,
    is_running_text,
    pattern_set,
)

CONSENT, SIGNATURE, FACETS, ACTIONS, RELATED, NAVIGATION = (1 << at for at in range(6))
NEVER = CONSENT | NAVIGATION  # parts that are no content on any page
_ACTION = re.compile(
    r"(?:add\b.{0,80}\bto (?:cart|bag|basket|compare|wish ?list|favou?rites)|quick (?:shop|view|add|look|buy)|"
    r"(?:buy|shop) now|view (?:details|product|all|more)|(?:read|learn|show|see|load) more|read less|"
    r"(?:select|choose) options|sold out|out of stock|in stock|unit price|(?:save|share) this|notify me|"
    r"see (?:all|details)|share on|copy link|save job|place hold|add to calendar|enter your e-?mail|"
    r"(?:please )?(?:select|choose) (?:a|an|your) \w{1,20}$|also available at checkout|size guide|"
    r"stock alerts?$|write a review|current stock|(?:qty|quantity)\b.{0,12}$|"
    r"(?:email|call|contact|message) (?:the )?(?:agent|seller|owner|dealer)|skip to|jump to recipe|"
    r"(?:print|pin|save|rate) (?:this )?recipe|report (?:this (?:item|listing|ad)|an? (?:issue|problem|error))|"
    r"have one to sell|(?:in|de)crease quantity)\b|(?:view|compare|expand|tweet|pin it)$",
    re.IGNORECASE,
)
_RELATED_HEADING = re.compile(
    r"^(?:(?:related|similar|recommended|suggested|sponsored) (?:sponsored )?(?:products?|items?|pages?|goods|"
    r"articles?|posts?|stories|properties|listings|reading|content|software|apps?|games|books|courses|jobs|events|recipes)\b|"
    r"(?:more|other) (?:products|items|stories|articles|posts)\b|(?:recommended|picked|more) for you\b|"
    r"(?:you|we think you).{0,5} (?:may|might|will) (?:also )?(?:like|love|need|enjoy|be interested)\b|"
    r"(?:customers|people|others|shoppers|students) (?:who|also) (?:bought|viewed|like|enrol)|"
    r"(?:your )?recently viewed\b|frequently bought\b|complete (?:the|your) (?:look|set|outfit)\b|"
    r"(?:goes|pairs) (?:well|great|perfectly) with\b|\d{1,3} other products in\b|"
    r"(?:we found )?other products you (?:might|may)\b|(?:read|up) next\b|keep reading\b|"
    r"most (?:read|popular|viewed)(?: (?:articles|posts|stories|news|products|today|now))?$)",
    re.IGNORECASE,
)
_NAMED = (
    (
        CONSENT,
        r"onetrust|(?:cookie|consent|gdpr)s?[\w-]{0,20}?(?:banner|notice|bar|popup|modal|dialog|overlay|sdk|prefer|setting|"
        r"prompt|manager|container|law|bot|wrapper|layer)",
    ),
    (SIGNATURE, r"(?:^|[\s_-])(?:post|user)?signature|(?:^|[\s_-])sig[_-]?text"),
    (FACETS, r"(?:^|[\s_-])(?:facets?|filters?|refine(?:ments?)?|sort(?:ing|er|by)?|layered)(?:$|[\s_-])"),
    (
        RELATED,
        r"(?:^|[\s_-])(?:related|up-?sells?|cross-?sells?|recommend(?:ed|ations?)|similar|recently-?viewed|"
        r"also-?(?:bought|viewed|like))(?:$|[\s_-])",
    ),
)
"""Parts, and the names of an element around them."""
_NAME_PATTERNS = pattern_set(pattern for _, pattern in _NAMED)
_NAMES_REMEMBERED = 4_096  # values of `class` and `id` whose parts a process remembers
_OUTERMOST = frozenset({"body", "html", "main"})  # elements whose names tell nothing of what is in them
_ACTION_WORDS = 14  # a button has up to four and the name of the article, which has up to ten
_SECTION_HEADINGS = frozenset({"h2", "h3", "h4", "h5", "h6"})
_HEADING_WORDS = 8  # a longer heading is a sentence of the text
_MAX_SHARE = 0.5  # of a page's words up to which the section below a heading, or boxes of a name, are such a part
_MAX_HEADINGS = 12  # of parts that are followed


def parts_of(blocks: Sequence[TextBlock], around: Surroundings | None = None) -> list[int]:
    """For each block the bits of the parts that it is in; 0 for none. `around`: the surroundings of the blocks."""
    around = around or Surroundings(blocks)
    named: list[int] = []
    for tag, names, outer in zip(around.tags, around.names, around.outer, strict=True):
        part = 0 if outer < 0 or tag in _OUTERMOST else named[outer]
        for name in names if tag not in _OUTERMOST else ():
            part |= _parts_named(name)
        named.append(part)
    parts = [named[place] | _worded_part(block) for place, block in zip(around.places, blocks, strict=True)]
    sizes = [len(block.words) for block in blocks]
    total = sum(sizes)
    for part in (FACETS, RELATED):
        if sum(size for size, own in zip(sizes, parts, strict=True) if own & part) > _MAX_SHARE * total:
            parts = [own & ~part for own in parts]  # the boxes that are called so hold the main list
    headings = 0
    for at, block in enumerate(blocks):
        is_heading = block.element.tag in _SECTION_HEADINGS and len(block.words) <= _HEADING_WORDS
        if not is_heading or parts[at] & RELATED or not _RELATED_HEADING.search(block.text):
            continue
        end = _section_end(blocks, at)
        if sum(sizes[at:end]) <= _MAX_SHARE * total:
            for later in range(at, end):
                parts[later] |= RELATED
        headings += 1
        if headings == _MAX_HEADINGS:
            break
    return parts


def _worded_part(block: TextBlock) -> int:
    """ACTIONS for the label of a button ("Add to cart"), NAVIGATION for a line of links to the pages around one."""
    if len(block.words) > _MOST_NAVIGATION_WORDS or block.element.tag == "pre":
        return 0
    if block.link_words and is_manual_navigation(block):
        return NAVIGATION
    text = block.text
    if "\ue000" <= text[:1] <= "\uf8ff":  # the letter of an icon font
        text = text[1:].lstrip()
    return ACTIONS if len(block.words) <= _ACTION_WORDS and _ACTION.match(text) else 0


def _section_end(blocks: Sequence[TextBlock], at: int) -> int:
    """The number behind the last block of the section that a heading opens: up to the next heading of its rank."""
    rank = blocks[at].element.tag
    for later in range(at + 1, len(blocks)):
        tag = blocks[later].element.tag
        if _is_heading(tag) and tag <= rank:
            return later
    return len(blocks)


@functools.lru_cache(maxsize=_NAMES_REMEMBERED)
def _parts_named(name: str) -> int:
    return sum(_NAMED[at][0] for at in _NAME_PATTERNS.Match(name.lower()) or ())


_COMMENTS_NAMED = re.compile(
    r"(?:^|[\s_-])(?:comments?|commentlist|commentwrap|disqus|disqus_thread)(?:$|[\s_-])", re.IGNORECASE
)
_OPINIONS = re.compile(r"review|testimonial|rating", re.IGNORECASE)
_COMMENT_HEADING = re.compile(
    r"^(?:\(?\d+\)?\s+)?(?:comments?\b|responses?\b|replies\b|thoughts on\b|discussion about this|"
    r"leave an? (?:comment|reply)|join the (?:discussion|conversation)|reader comments|what do you think|"
    r"(?:post|add|write) a comment)",
    re.IGNORECASE,
)
_COMMENT_HEADING_WORDS = 8  # a longer heading that begins like "Comments" is a sentence of the text
_MAX_COMMENT_HEADINGS = 3  # headings that open a comment section


def in_comments(blocks: Sequence[TextBlock], around: Surroundings | None = None) -> list[bool]:
    """For each block, whether it is inside a comment section. `around`: the surroundings of the blocks."""
    around = around or Surroundings(blocks)
    named: list[bool] = []
    for tag, names, outer in zip(around.tags, around.names, around.outer, strict=True):
        is_outermost = tag in _OUTERMOST or tag == "article"
        named.append(not is_outermost and ((outer >= 0 and named[outer]) or _names_comments(" ".join(names).lower())))
    inside = [named[place] for place in around.places]
    for at in _comment_headings(blocks, inside):
        section = _common_ancestor(blocks[at].element, blocks[at + 1].element)
        for later in range(at, len(blocks)):
            if section is None or not _is_within(blocks[later].element, section):
                break
            inside[later] = True
    return inside


def _comment_headings(blocks: Sequence[TextBlock], inside: Sequence[bool]) -> list[int]:
    found = [
        at
        for at, block in enumerate(blocks[:-1])
        if not inside[at]
        and len(block.words) <= _COMMENT_HEADING_WORDS
        and _is_heading(block.element.tag)
        and _COMMENT_HEADING.search(block.text)
    ]
    return found[:_MAX_COMMENT_HEADINGS]


def own_text(blocks: Sequence[TextBlock], inside: Sequence[bool]) -> int:
    """Words of the page's running text outside its comments. `inside`: the result of `in_comments`."""
    return sum(
        len(block.words)
        for block, comment in zip(blocks, inside, strict=True)
        if not comment and is_running_text(block)
    )


def _is_heading(tag: str) -> bool:
    return len(tag) == 2 and tag[0] == "h" and tag[1].isdecimal()


def _names_comments(label: str) -> bool:
    """Whether a class and id, in lower case, are those of a comment section."""
    if "comment" not in label and "disqus" not in label:
        return False
    return _COMMENTS_NAMED.search(label) is not None and not _OPINIONS.search(label)


def _is_within(element: Any, section: Any) -> bool:
    return element is section or any(box is section for box in element.iterancestors())


def _common_ancestor(heading: Any, after: Any) -> Any:
    """The nearest ancestor of the heading that also contains `after`."""
    ancestors = {after, *after.iterancestors()}
    return next((box for box in heading.iterancestors() if box in ancestors), None)


_NAMES = frozenset({"next", "prev", "previous", "up", "home", "contents", "index", "top"})
"""What manuals call these links, as Texinfo, LaTeX2HTML and DocBook write them."""
_ARROWED = re.compile(r"\[? ?(?:<<? |up ?: )|\[ ?[^\[\]]{1,200} >>? ?\]$", re.IGNORECASE)
"""Arrows to the pages around one, or the way up, with the title of the page: "[ << Music ]", "[ Notes > ]"."""
_MOST_NAVIGATION_WORDS = 40  # three links with the titles of their pages


def is_manual_navigation(block: TextBlock) -> bool:
    """True for a line of such links, with or without the titles of the pages."""
    words = block.words
    if block.text[0] in "[<" and block.link_words == len(words):
        return _ARROWED.match(block.text) is not None or all(word in _NAMES for word in words)
    named = sum(word in _NAMES for word in words)
    if named == len(words) == block.link_words:
        return named > 1 or is_manual_link(block.text)  # "HOME:" is an entry of an index
    loose = len(words) - block.link_words
    return words[0] in _NAMES and 1 < named >= loose and len(list(itertools.islice(block.element.iter("a"), 2))) > 1


def is_manual_link(text: str) -> bool:
    """Whether the description of a picture is the name of such a link."""
    return text.strip("[]() ").lower() in _NAMES


FURNITURE_TAGS = TAG_BITS["nav"] | TAG_BITS["footer"] | TAG_BITS["aside"] | TAG_BITS["form"] | HIDDEN | ROLE
_AROUND_NAMES = [CATEGORY_BITS[name] for name in ("foot", "side", "modal", "share", "advert")]
_AROUND_SHARE = 0.8
"""Share of a page's words from which a form or a name around them is the page's own box: all but a header and a
footer."""


def furniture_of(blocks: Sequence[TextBlock]) -> list[bool]:
    """For each block, whether a tag, role or name around it says that it is no content. A form or a name around most of
    the page says nothing: some programs put every page into one form, some stylesheets name every box."""
    total = sum(len(block.words) for block in blocks)
    tags, names = FURNITURE_TAGS, sum(_AROUND_NAMES)
    if sum(len(block.words) for block in blocks if block.tags & TAG_BITS["form"]) >= _AROUND_SHARE * total:
        tags &= ~TAG_BITS["form"]
    for name in _AROUND_NAMES:
        if sum(len(block.words) for block in blocks if block.far & name) >= _AROUND_SHARE * total:
            names &= ~name
    return [bool(block.tags & tags or block.far & names) for block in blocks]
