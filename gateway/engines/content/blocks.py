"""Cuts a page into its smallest blocks of text: the text directly inside one block-level element.

Runs in the parsing processes. Records for each block the kinds of elements around it, by tag, class and role, as bits.
Decides nothing: see `block_features` and `selection`.
"""

import functools
import re
from dataclasses import dataclass, field
from typing import Any

from gateway.engines.html.dom import FURNITURE_ROLES
from gateway.engines.markdown.writer import BLOCKS

_NAMES_REMEMBERED = 16_384
"""Classes and ids whose categories a process remembers, a few MB. Chosen: a site repeats some thousand names. At half,
pages of a crawl over several sites push each other out; double only costs memory."""
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
MASKS = tuple((1 << at, re.compile(pattern)) for at, (_, pattern) in enumerate(CATEGORIES))
_ANY_CATEGORY = re.compile("|".join(pattern for _, pattern in CATEGORIES))
TAGS = (
    "main", "article", "nav", "header", "footer", "aside", "form", "table", "ul", "ol", "figure", "section", "button",
    "blockquote", "details", "dl", "label", "tr",
)  # fmt: skip
TAG_BITS = {tag: 1 << at for at, tag in enumerate(TAGS)}
HIDDEN = 1 << len(TAGS)
ROLE = HIDDEN << 1
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
WORD = re.compile(r"\w+")


@dataclass(slots=True)
class TextBlock:
    """One block. Category bits (MASKS): `own` of its element, `near` also of the parent, `far` also of all ancestors;
    `tags`: bits of the tags around it (TAG_BITS, HIDDEN, ROLE). `depth`: nesting in blocks. `text` has its blanks
    collapsed; `words` are in lower case; `link_words` counts those inside links. The pieces are as found, None
    while there is none."""

    element: Any
    depth: int
    tags: int
    near: int
    far: int
    own: int = 0
    pieces: list[str] | None = None
    link_pieces: list[str] | None = None
    text: str = ""
    words: list[str] = field(default_factory=list)
    link_words: int = 0


class _Collector:
    """Walks the tree once, without recursion, and adds every text to its block."""

    def __init__(self) -> None:
        self.blocks: list[TextBlock] = []
        self._masks: dict[str, int] = {}

    def collect(self, root: Any) -> list[TextBlock]:
        top = TextBlock(root, 0, 0, 0, 0)
        self.blocks.append(top)
        stack: list[tuple[Any, TextBlock, bool]] = [(root, top, False)]  # elements and texts with their block
        while stack:
            node, block, in_link = stack.pop()
            if isinstance(node, str):
                _add_piece(block, node, in_link)
                continue
            tag = node.tag
            in_link = in_link or tag in ("a", "button")
            if tag in BLOCKS and node is not block.element:
                block = self._open_block(node, block)
            for child in reversed(node):
                if child.tail:
                    stack.append((child.tail, block, in_link))
                if isinstance(child.tag, str):
                    stack.append((child, block, in_link))
            if node.text:
                stack.append((node.text, block, in_link))
        return [block for block in self.blocks if block.pieces is not None and self._finish(block, block.pieces)]

    def _open_block(self, element: Any, outer: TextBlock) -> TextBlock:
        mask = self._mask(element)
        parent = element.getparent()
        above = outer.own if parent is outer.element else self._mask(parent)
        tags = outer.tags | TAG_BITS.get(element.tag, 0) | _attribute_bits(element)
        block = TextBlock(element, outer.depth + 1, tags, mask | above, outer.far | mask, mask)
        self.blocks.append(block)
        return block

    def _mask(self, element: Any) -> int:
        if element is None or element.tag in ("body", "html"):
            return 0
        key = f"{element.get('class') or ''} {element.get('id') or ''}"
        mask = self._masks.get(key)
        if mask is None:
            mask = 0
            for name in key.lower().split():  # no pattern spans two names, and names repeat more often than keys
                mask |= category_bits(name)
            self._masks[key] = mask
        return mask

    def _finish(self, block: TextBlock, pieces: list[str]) -> bool:
        """Sets the block's text and words; False for a block without words."""
        block.text = " ".join("".join(pieces).split())
        block.words = WORD.findall(block.text.lower()) if block.text else []
        if block.link_pieces and block.words:
            block.link_words = len(WORD.findall(" ".join(block.link_pieces)))
        return bool(block.words)


def _add_piece(block: TextBlock, text: str, in_link: bool) -> None:
    if block.pieces is None:
        block.pieces = []
    block.pieces.append(text)
    if in_link:
        if block.link_pieces is None:
            block.link_pieces = []
        block.link_pieces.append(text)


@functools.lru_cache(maxsize=_NAMES_REMEMBERED)
def category_bits(name: str) -> int:
    """The bits of the categories whose words one lower-case class or id contains."""
    if not _ANY_CATEGORY.search(name):
        return 0
    return sum(bit for bit, pattern in MASKS if pattern.search(name))


def collect(root: Any) -> list[TextBlock]:
    """The blocks that have words, in document order. `root`: an lxml element."""
    return _Collector().collect(root)


def _attribute_bits(element: Any) -> int:
    """HIDDEN for hidden elements, ROLE for elements whose ARIA role is not that of content."""
    attributes = element.attrib
    bits = 0
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        bits |= HIDDEN
    style = attributes.get("style")
    if style and _HIDING.search(style):
        bits |= HIDDEN
    if attributes.get("role", "").lower() in FURNITURE_ROLES:
        bits |= ROLE
    return bits
