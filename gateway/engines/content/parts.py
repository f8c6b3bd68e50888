"""Finds parts of a page by their tags, names, headings and first words: furniture, comments, related lists, buttons.

A part is a bit: questions about cookies everywhere; signatures, other threads and what is told of each poster in
forums; newsletters and lists of references; beside goods the reviews, the terms of delivery, frequent questions,
filters, labels of buttons, what the shop says of itself. `selection` decides by the page's type what is dropped. Runs
in the parsing processes.
"""

import functools
import itertools
import re
from collections.abc import Sequence
from typing import Any

from gateway.engines.content.blocks import CATEGORIES, HIDDEN, MASKS, ROLE, TAG_BITS, TextBlock, is_running_text

(
    CONSENT, SIGNATURE, NEWSLETTER, REVIEWS, DELIVERY, REFERENCES, FACETS, QUESTIONS, ACTIONS, POSTER, THREADS, RELATED,
    TERMS, SHOP, PROMISES, NAVIGATION,
) = (1 << at for at in range(16))  # fmt: skip
NEVER = CONSENT | NAVIGATION
"""Parts that are no content on any page."""
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
_TERM = re.compile(
    r"(?:(?:free|fast|standard|express|next[- ]day|same[- ]day|worldwide|international|home|easy) ){0,3}"
    r"(?:shipping|delivery|postage|returns)\b(?! (?:scope|includes|contents))|"
    r"(?:usually )?(?:ships?|dispatched|delivered) (?:in|within|from|by)\b|"
    r"orders? (?:placed )?(?:before|over|above)\b|"
    r"\d{1,3}[- ]days? (?:\w{1,20} ){0,2}(?:returns?|money|refund)|pay (?:in|over|later)\b|"
    r"tax(?:es)? (?:included|excluded)|(?:secure|safe) (?:payments?|checkout)|payments?:|money[- ]back",
    re.IGNORECASE,
)
_ABOUT_POSTER = re.compile(
    r"(?:posts|threads|messages|joined|reputation|location|topics|registered|member since|reaction score|"
    r"points|likes received) ?(?:: ?\d|[\d,]{1,12}$)|joined:|(?:location|join date|rank|country): .{1,40}$|"
    r"you (?:may not|cannot) (?:post|edit|reply|vote|attach|delete|create) (?:new|to|your|in|attach|repl)|"
    r"(?:you (?:must|need to|have to)|please) (?:be logged in|be registered|log ?in|sign ?in|register)\b|"
    r"(?:last )?edited(?: by\b|:|.{0,20}\d)|\d{1,9} likes?$",
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
_SHOP_HEADING = re.compile(
    r"^(?:(?:about|meet|contact|visit|ask) (?:the|this|your|our) (?:seller|shop|store|vendor|company|maker)\b|"
    r"(?:about|contact) us$|why (?:buy|shop|choose|order|trust)\b.{0,30}\b(?:us|with|from|at)\b|"
    r"what makes (?:us|our)\b|our (?:promise|guarantee|commitment|values|mission|story)\b|"
    r"(?:(?:choose|pick|select|add|shop|browse|explore) (?:(?:your|our|an?|some|the) )?)?"
    r"(?:(?:optional|popular|recommended|matching|compatible|must-have) )?(?:add-?ons?|extras|accessories)$|"
    r"(?:buy|shop|build|get) (?:a|the|this|our|your(?: own)?) bundles?\b|bundles? (?:and|&) save\b|"
    r"compare (?:with |to )?(?:similar|other|our|all|models)\b|which .{1,30} is right for you)",
    re.IGNORECASE,
)
_FIRST_WORD = re.compile(
    r"\d|(?:add|quick|buy|shop|view|read|learn|show|see|load|select|choose|sold|out|in|unit|save|share|notify|compare|"
    r"copy|place|tweet|pin|expand|posts|threads|messages|joined|reputation|location|topics|registered|member|reaction|"
    r"points|likes|last|edited|join|rank|country|you|please|enter|also|size|stock|write|current|qty|quantity|email|call|contact|message|"
    r"skip|jump|print|rate|report|have|increase|decrease|prev|previous|up|home|contents|index|top|"
    r"free|fast|standard|express|next|same|worldwide|international|home|easy|shipping|delivery|postage|returns|"
    r"usually|ships?|dispatched|delivered|orders?|pay|tax|taxes|secure|safe|payments?|money)\b",
    re.IGNORECASE,
)
"""The first words of the texts above: a block that begins with none of them needs no further search."""
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
    (RELATED, _RELATED_HEADING),
    (SHOP, _SHOP_HEADING),
    (DELIVERY, re.compile(r"^(?:free |fast )?(?:shipping|delivery|returns?|payment|refunds?)\b", re.IGNORECASE)),
)
_WORDED = ((ACTIONS, 14, _ACTION), (TERMS, 24, _TERM), (POSTER, 40, _ABOUT_POSTER))
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
    if _FIRST_WORD.match(text):
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
    return _ACTION.match(text) is not None


def _headed_part(block: TextBlock) -> int:
    if len(block.words) > _HEADING_WORDS:
        return 0
    if block.element.tag in _SECTION_HEADINGS:
        return next((part for part, pattern in _HEADED if pattern.search(block.text)), 0)
    return RELATED if not block.link_words and _RELATED_HEADING.match(block.text) else 0


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
_COMMENT_HEADING_WORDS = 8
"""A longer heading that begins like "Comments" is a sentence of the text. At half, "What do you think about this?" is
missed; at double, headlines such as "Comments on the draft law by ..." open a comment section."""
_MAX_COMMENT_HEADINGS = 3
"""Headings that open a comment section. Chosen: a page has one, or one for each list of replies. It bounds the search,
which goes over all later blocks for each heading."""


def in_comments(blocks: Sequence[TextBlock]) -> list[bool]:
    """For each block, whether it is inside a comment section."""
    known: dict[Any, bool] = {}
    inside = [_in_named(block.element, known) for block in blocks]
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


def _in_named(element: Any, known: dict[Any, bool]) -> bool:
    """True when the element or an ancestor is named a comment section; `known` caches the result for every ancestor."""
    path = []
    named = False
    box = element
    while box is not None and box.tag not in ("body", "html", "main", "article"):
        if box in known:
            named = known[box]
            break
        path.append(box)
        name, identity = box.get("class"), box.get("id")
        label = f"{name or ''} {identity or ''}".lower() if name or identity else ""
        if ("comment" in label or "disqus" in label) and _COMMENTS_NAMED.search(label) and not _OPINIONS.search(label):
            named = True
            break
        box = box.getparent()
    known.update(dict.fromkeys(path, named))
    return named


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
_BY = re.compile(
    r"(?:(?:prev|next|previous) (?:by |in )?(?:date|thread|message|topic)|messages sorted by)\b[^:]{0,20}:",
    re.IGNORECASE,
)
_BY_WORDS = 8
"""Words outside the links of a line that leads to the next message of an archive. Chosen: "Previous message (by
thread):" and the name of the sender. At half, lines with long names stay; at double, sentences with a link count."""


def is_manual_navigation(block: TextBlock) -> bool:
    """True for a line of such links, with or without the titles of the pages."""
    words = block.words
    if block.text[0] in "[<" and block.link_words == len(words):
        return _ARROWED.match(block.text) is not None or all(word in _NAMES for word in words)
    if _BY.match(block.text) and block.link_words:
        return len(words) - block.link_words <= _BY_WORDS
    named = sum(word in _NAMES for word in words)
    if named == len(words) == block.link_words:
        return True
    loose = len(words) - block.link_words
    return words[0] in _NAMES and 1 < named >= loose and len(list(itertools.islice(block.element.iter("a"), 2))) > 1


def is_manual_link(text: str) -> bool:
    """Whether the description of a picture is the name of such a link."""
    return text.strip("[]() ").lower() in _NAMES


_BITS = {name: bit for (name, _), (bit, _) in zip(CATEGORIES, MASKS, strict=True)}
SHARE = _BITS["share"]
FURNITURE_TAGS = TAG_BITS["nav"] | TAG_BITS["footer"] | TAG_BITS["aside"] | TAG_BITS["form"] | HIDDEN | ROLE
_AROUND_NAMES = (_BITS["foot"], _BITS["side"], _BITS["modal"], _BITS["share"], _BITS["advert"])
_FURNITURE_NAMES = _BITS["foot"] | _BITS["side"] | _BITS["modal"] | _BITS["share"] | _BITS["advert"]
_AROUND_SHARE = 0.8
"""Share of a page's words from which a form or a name around them is the page's own box. Chosen: all but a header and a
footer. At half, a long sidebar is content; at most 1 can be asked for."""


def furniture_of(blocks: Sequence[TextBlock]) -> list[bool]:
    """For each block, whether a tag, role or name around it says that it is no content. A form or a name around most of
    the page says nothing: some programs put every page into one form, some stylesheets name every box."""
    total = sum(len(block.words) for block in blocks)
    tags, names = FURNITURE_TAGS, _FURNITURE_NAMES
    if sum(len(block.words) for block in blocks if block.tags & TAG_BITS["form"]) >= _AROUND_SHARE * total:
        tags &= ~TAG_BITS["form"]
    for name in _AROUND_NAMES:
        if sum(len(block.words) for block in blocks if block.far & name) >= _AROUND_SHARE * total:
            names &= ~name
    return [bool(block.tags & tags or block.far & names) for block in blocks]
