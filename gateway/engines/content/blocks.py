"""Cuts a page into its smallest blocks of text: a block-level element without others in it, or text between others.

Text between others becomes a `p` of the document. Records for each block the kinds of elements around it, by tag, class
and role, as bits. Decides nothing: see `models` and `selection`. Runs in the parsing processes.
"""

import functools
import itertools
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import re2

from gateway.engines.html.tree import BLOCKS, FURNITURE_ROLES, PREFORMATTED, raw_text

_REMEMBERED = 8_192  # classes and ids whose categories a process remembers
CATEGORIES = (
    ("nav", r"nav|menu|crumb|pagin|pager|toc\b|tabs"), ("foot", r"foot|bottom|copyright|legal|colophon"),
    ("head", r"header|masthead|banner|topbar|hero"), ("side", r"side|aside|rail\b|widget|secondary"),
    ("share", r"share|social|follow|like|bookmark"),
    ("related", r"relat|recommend|similar|also|upsell|cross|trend|popular|latest|recent|prev|next|suggest"),
    ("comment", r"comment|discuss|respond|reply|replies"), ("review", r"review|rating|star|testimonial|vote"),
    ("form", r"form|search|login|signup|subscri|newsletter|input|filter|sort|facet|select|option"),
    ("advert", r"\bad\b|\bads|advert|promo|sponsor|cta|offer|upgrade"),
    ("modal", r"modal|popup|dialog|overlay|cookie|consent|gdpr|tooltip|dropdown|drawer|toast|lightbox|alert|notice"),
    ("meta", r"meta|byline|author|date|time|tag|categor|label|badge|user|avatar|profile|signature"),
    ("gallery", r"galler|carousel|slide|slick|swiper|thumb|image|media|video|player|caption"),
    ("shop", r"cart|price|buy|shipping|delivery|quantity|swatch|variant|wishlist|stock|purchase"),
    ("content", r"content|article|body|text|entry|post|story|main|prose|markdown|rich|rte|wysiwyg|copy"),
    ("detail", r"desc|detail|spec|feature|overview|about|info|summary|benefit"),
    ("message", r"message|thread|topic|question|answer|bbp|forum"),
    ("list", r"list|grid|item|card|result|product|tile|row|collection"),
    ("hidden", r"hidden|sr-only|visually|screen-reader|offscreen|collapsed|noscript|mobile|desktop"),
    ("faq", r"faq|accordion|toggle|expand"), ("title", r"title|headline|heading"),
)  # fmt: skip
CATEGORY_BITS = {name: 1 << at for at, (name, _) in enumerate(CATEGORIES)}
_AGAINST = sum(
    CATEGORY_BITS[name]
    for name in (
        "nav", "foot", "head", "side", "share", "related", "comment", "review", "form", "advert", "modal", "meta",
        "hidden",
    )
)  # fmt: skip
"""Categories that speak against what is inside an element."""


def pattern_set(patterns: Iterable[str]) -> Any:
    """Patterns that are searched in one pass: `Match(text)` gives the numbers of those that are found, or None."""
    made = re2.Set.SearchSet()
    for pattern in patterns:
        made.Add(pattern)
    made.Compile()
    return made


_PATTERNS = pattern_set(pattern for _, pattern in CATEGORIES)
TAGS = (
    "main", "article", "nav", "header", "footer", "aside", "form", "table", "ul", "ol", "figure", "section", "button",
    "blockquote", "details", "dl", "label", "tr",
)  # fmt: skip
TAG_BITS = {tag: 1 << at for at, tag in enumerate(TAGS)}
_PARTS = TAG_BITS["article"] | TAG_BITS["section"] | TAG_BITS["ul"] | TAG_BITS["ol"]
"""What has a `footer` of its own, which is not that of the page (HTML Standard, 4.3.8)."""
HIDDEN = 1 << len(TAGS)
ROLE = HIDDEN << 1
_IN_TEXT = ROLE << 1  # inside the innermost element around the page's text
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
MESSAGES = frozenset({"alert", "status", "note"})  # roles of messages: inside the page's text they are a part of it
_MARKING = frozenset({"hidden", "aria-hidden", "style", "role"})
WORD = re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d_]+")
_RUNNING_WORDS = 15
_FIRST_TEXTS = 8  # of these, the first that is no message is the beginning of the page's text
_WRAPPED_SHARE = 0.34  # share of a page's running text from which an element around it is its wrapper
_RUNNING_LINK_SHARE = 3  # running text is a block of so many words, of which less than a third are in links


@dataclass(slots=True)
class TextBlock:
    """One block. `paragraph` holds its text and nothing else; `element` is the page's own block around that text: the
    same, unless `set_paragraphs` made the paragraph. Bits of CATEGORY_BITS: `own` of the element, `near` also of the
    parent, `far` also of all ancestors; `tags`: bits of the tags around it (TAG_BITS, HIDDEN, ROLE). `depth`: nesting
    in blocks. `text` has its blanks collapsed; `words` are in lower case; `link_words` counts those inside links."""

    element: Any
    paragraph: Any
    depth: int
    tags: int
    near: int
    far: int
    own: int
    text: str
    words: list[str]
    link_words: int


class _Box:
    """A block-level element and the texts directly inside it; its bits are None until a text needs them. That of a
    paragraph that was made is the element around it."""

    __slots__ = ("depth", "element", "far", "link_pieces", "near", "outer", "own", "paragraph", "pieces", "tags")

    def __init__(self, element: Any, outer: "_Box | None", depth: int, paragraph: Any = None) -> None:
        self.element, self.outer, self.depth = element, outer, depth
        self.paragraph = element if paragraph is None else paragraph
        self.tags: int | None = None
        self.near = self.far = self.own = 0
        self.pieces: list[str] | None = None
        self.link_pieces: list[str] | None = None


class _Collector:
    """Walks the tree once, without recursion, and adds every text to its box. Most boxes hold no text of their own."""

    def __init__(self) -> None:
        self._masks: dict[str, int] = {}
        self._unnamed: set[Any] = set()
        """Wrappers, and messages inside the text: their names do not count against what is in them."""
        self._innermost: set[Any] = set()

    def collect(self, root: Any) -> list[TextBlock]:
        made = set_paragraphs(root)
        top = _Box(root, None, 0)
        top.tags = 0
        boxes = [top]
        stack: list[tuple[Any, _Box, bool]] = [(root, top, False)]  # elements and texts with their box
        pop, push = stack.pop, stack.append
        while stack:
            node, box, in_link = pop()
            if isinstance(node, str):
                _add_piece(box, node, in_link)
                continue
            tag = node.tag
            in_link = in_link or tag in ("a", "button")
            if tag in BLOCKS and node is not root and box.element.tag not in PREFORMATTED:
                is_made = node in made
                box = _Box(box.element, box.outer, box.depth, node) if is_made else _Box(node, box, box.depth + 1)
                boxes.append(box)
            if text := node.text:
                _add_piece(box, text, in_link)
            if not len(node):
                continue
            for child in reversed(node):
                if text := child.tail:
                    push((text, box, in_link))
                if isinstance(child.tag, str):
                    push((child, box, in_link))
        found = [(box, _block_of(box, box.pieces)) for box in boxes if box.pieces is not None]
        measured = [(box, block) for box, block in found if block is not None]
        blocks = [block for _, block in measured]
        self._unnamed = wrappers_of(blocks)
        self._innermost = set(self._unnamed)
        self._innermost -= {box.outer.element for box in boxes if box.outer and box.element in self._unnamed}
        for box, block in measured:
            block.tags = self._measure(box)
            block.near, block.far, block.own = box.near, box.far, box.own
        return blocks

    def _measure(self, box: _Box) -> int:
        """Sets the bits of the box and of all around it, and returns its tags."""
        path: list[_Box] = []
        at: _Box | None = box
        while at is not None and at.tags is None:
            path.append(at)
            at = at.outer
        for each in reversed(path):
            element, outer = each.element, each.outer
            if outer is None:
                continue
            parent = element.getparent()
            above = outer.own if parent is outer.element else self._mask(parent)
            around = outer.tags or 0
            is_message = (element.get("role") or "").lower() in MESSAGES
            if is_message and around & _IN_TEXT:
                self._unnamed.add(element)
                tags = around
            elif element.tag == "footer" and around & _PARTS:
                tags = around
            else:
                tags = around | TAG_BITS.get(element.tag, 0) | ROLE * is_message
            if element in self._innermost:
                tags |= _IN_TEXT
            if names := element.keys():  # paragraphs and cells mostly have no attributes
                each.own = self._mask(element)
                if not _MARKING.isdisjoint(names):
                    tags |= _attribute_bits(element)
            each.near, each.far, each.tags = each.own | above, outer.far | each.own, tags
        return box.tags or 0

    def _mask(self, element: Any) -> int:
        if element is None or element.tag in ("body", "html"):
            return 0
        key = f"{element.get('class') or ''} {element.get('id') or ''}"
        mask = self._masks.get(key)
        if mask is None:
            mask = 0
            for name in key.lower().split():  # no pattern spans two names, and names repeat more often than keys
                mask |= category_bits(name)
            if mask & _AGAINST and element.get("id") and _is_heading_name(element):
                mask = 0
            self._masks[key] = mask
        return mask & ~_AGAINST if element in self._unnamed else mask


def _is_heading_name(element: Any) -> bool:
    """Whether the id of a section is made of its heading: `copyright-notices` above "6.5 Copyright Notices"."""
    heading = next(element.iter("h1", "h2", "h3", "h4", "h5", "h6"), None)
    words = [] if heading is None else _LETTERS.findall(raw_text(heading).lower())
    named = set(_LETTERS.findall(element.get("id").lower()))
    return 0 < len(words) <= 2 * sum(word in named for word in words)


_NO_RUNS = frozenset(
    {"h1", "h2", "h3", "h4", "h5", "h6", "dt", "caption", "summary", "legend", "table", "thead", "tbody",
     "tfoot", "tr", "colgroup"}
)  # fmt: skip
"""Elements whose text stays as it is: those of one line, and parts of tables, which hold none."""


def set_paragraphs(root: Any) -> set[Any]:
    """Makes a `p` of each run of text between blocks, in place, and returns them (HTML Standard, 3.2.5.4).

    `<div>Open: <b>daily</b><ul>…</ul>Closed in May</div>` becomes
    `<div><p>Open: <b>daily</b></p><ul>…</ul><p>Closed in May</p></div>`."""
    holders: dict[Any, None] = {}  # elements with blocks in them
    for block in root.iterdescendants(*BLOCKS):
        box = block.getparent()
        while box not in holders:
            holders[box] = None
            if box is root:
                break
            box = box.getparent()
    lines: set[Any] = set()
    for code in root.iter(*PREFORMATTED):
        if code not in lines:
            lines.update(code.iter())
    boxes = [box for box in holders if box.tag not in _NO_RUNS and box not in lines]
    return {made for box in boxes for made in _paragraphs(box, holders)}


def _paragraphs(box: Any, holders: Container[Any]) -> Iterator[Any]:
    """Makes a paragraph of each run of text directly inside a box, and yields it."""
    runs: list[tuple[Any, list[Any]]] = [(None, [])]  # the block before each run, and the elements of the run
    for child in box:
        if child.tag in BLOCKS or child in holders:
            runs.append((child, []))
        else:
            runs[-1][1].append(child)
    for before, members in runs:
        text = box.text if before is None else before.tail
        if not (text and not text.isspace()) and not any(map(_has_text, members)):
            continue
        made = box.makeelement("p")
        made.text = text
        if before is None:
            box.text = None
            box.insert(0, made)
        else:
            before.tail = None
            before.addnext(made)
        made.extend(members)
        yield made


def _has_text(element: Any) -> bool:
    """Whether an element, or what follows it, shows text."""
    return bool((element.tail or "").strip() or raw_text(element).strip())


def _add_piece(box: _Box, text: str, in_link: bool) -> None:
    if box.pieces is None:
        if text.isspace():
            return
        box.pieces = []
    box.pieces.append(text)
    if in_link:
        if box.link_pieces is None:
            box.link_pieces = []
        box.link_pieces.append(text)


def _block_of(box: _Box, pieces: list[str]) -> TextBlock | None:
    """The box as a block without its bits; None without words."""
    text = " ".join("".join(pieces).split())
    words = WORD.findall(text.lower())
    if not words:
        return None
    if box.link_pieces is None:
        link_words = 0
    elif len(pieces) == 1 and text.isascii():
        link_words = len(words)  # all of the text is in a link, and lower case parts none of its words
    else:
        link_words = len(WORD.findall(" ".join(box.link_pieces)))
    return TextBlock(box.element, box.paragraph, box.depth, 0, 0, 0, 0, text, words, link_words)


def wrappers_of(blocks: Sequence[TextBlock]) -> set[Any]:
    """The elements around the page's text: those in which its title or its first sentence stands and a third of its
    running text. What is around one of them is one too. Their names tell a state of the page, such as "comments-open"
    or "has-sidebar"."""
    running = [block for block in blocks if is_running_text(block)]
    titles = (block for block in blocks if block.element.tag == "h1")
    texts = running or blocks
    first = (block for block in running[:_FIRST_TEXTS] if not _is_message(block))
    held: dict[Any, int] = {}  # words of the texts in each element around the two
    for start in (*itertools.islice(first, 1), *itertools.islice(titles, 1)):
        held = {box: 0 for box in start.paragraph.iterancestors() if box not in held} | held
    nearest: dict[Any, Any] = {}  # the innermost of these around each element
    for block in texts:
        path = []
        box = block.paragraph
        while box is not None and box not in held and box not in nearest:
            path.append(box)
            box = box.getparent()
        box = nearest.get(box, box)
        nearest.update(dict.fromkeys(path, box))
        if box is not None:
            held[box] += len(block.words)
    for box in held:
        if (outer := box.getparent()) in held:
            held[outer] += held[box]
    least = _WRAPPED_SHARE * sum(len(block.words) for block in texts)
    return {box for box, words in held.items() if words >= least}


def _is_message(block: TextBlock) -> bool:
    return any((box.get("role") or "").lower() in MESSAGES for box in block.paragraph.iterancestors())


class Surroundings:
    """The elements of a page's blocks and all around them, each behind the one that it is in.

    `boxes`: the elements, with their `tags`; `outer`: the number of the element around each, -1 for the outermost;
    `names`: values of `class` and `id`, none for `wrappers`; `shapes`: tag and class, such as `div.note`; `places`: for
    each block the number of its element."""

    def __init__(self, blocks: Sequence[TextBlock], wrappers: Container[Any] = ()) -> None:
        self.boxes: list[Any] = []
        self.outer: list[int] = []
        self.places: list[int] = []
        numbers: dict[Any, int] = {}
        for block in blocks:
            path, box = [], block.element
            while box is not None and box not in numbers:
                path.append(box)
                box = box.getparent()
            number = -1 if box is None else numbers[box]
            for box in reversed(path):
                self.outer.append(number)
                number = numbers[box] = len(self.boxes)
                self.boxes.append(box)
            self.places.append(number)
        self.tags: list[str] = [box.tag for box in self.boxes]
        classes = [box.get("class") or "" for box in self.boxes]
        self.shapes = [f"{tag}.{name}" for tag, name in zip(self.tags, classes, strict=True)]
        self.names = [
            () if box in wrappers else tuple(filter(None, (name, box.get("id"))))
            for box, name in zip(self.boxes, classes, strict=True)
        ]


@functools.lru_cache(maxsize=_REMEMBERED)
def category_bits(name: str) -> int:
    """The bits of the categories whose words one lower-case class or id contains."""
    return sum(1 << at for at in _PATTERNS.Match(name) or ())


def is_running_text(block: TextBlock) -> bool:
    return len(block.words) >= _RUNNING_WORDS and block.link_words * _RUNNING_LINK_SHARE < len(block.words)


def collect(root: Any) -> list[TextBlock]:
    """The blocks that have words, in document order. `root`: an lxml element, which `set_paragraphs` changes."""
    return _Collector().collect(root)


def _attribute_bits(element: Any) -> int:
    """HIDDEN for hidden elements, ROLE for elements whose ARIA role is not that of content."""
    value = element.get
    bits = 0
    if value("hidden") is not None or value("aria-hidden") == "true":
        bits |= HIDDEN
    style = value("style")
    if style and _HIDING.search(style):
        bits |= HIDDEN
    role = value("role")
    if role and role.lower() in FURNITURE_ROLES:
        bits |= ROLE
    return bits
