"""Computes the features of a page's blocks: the input of the block model.

Runs in the parsing processes. Features are plain numbers in a fixed order (FEATURES). The model's file lists their
names, so that a model of other features is refused. The windows and lengths below are part of what a feature means:
after a change the models must be trained again (bench/train_blocks.py). Knows nothing of models.
"""

import itertools
import re
from typing import Any
from urllib.parse import urlsplit

from gateway.engines.content.blocks import CATEGORIES, HIDDEN, MASKS, ROLE, TAG_BITS, TAGS, WORD, TextBlock
from gateway.engines.html.metadata import Head
from gateway.engines.text.tokens import STOP_WORDS

_OWN_TAGS = ("p", "li", "td", "div", "pre", "dd", "dt", "blockquote", "figcaption", "section", "span")
_FURNITURE_HEADING = re.compile(
    r"related|comment|review|share|follow|newsletter|you may|also like|more from|recommend|subscribe|sign up|contact|"
    r"popular|recent|latest|categor|archive|tags|navigation|menu|search|connect|similar|customers|footer|login|cart",
    re.IGNORECASE,
)
_WINDOW = 3
"""Blocks before and after one whose sizes it is compared with. Chosen with the features; see the module's text."""
_LONG_WORDS = 20
"""Words from which a block counts as a paragraph of the page: about one sentence. See the module's text."""
_PUNCTUATION = ".,;:!?"
_DIGITS = re.compile(r"\d(?<!\w\d)")
_CAPITALS = re.compile(r"[A-Z](?<!\w[A-Z])")
"""A digit and a capital at the start of a word; as `\\b\\d`, but the search skips what is neither."""
PRICE = re.compile(r"[$€£¥]\s?\d|\d\s?(?:€|USD|EUR|GBP)")
_TEXT_FEATURES = (
    "words", "link_density", "links", "punctuation", "ends", "stops", "digits", "capitals", "word_length", "price",
    "depth", "heading", "place", "text_place", "before_h1", "after_h1", "words_before", "words_after", "links_before",
    "links_after", "window_words", "window_links", "same_count", "same_words", "same_links", "same_share",
    "parent_words", "parent_links", "grand_words", "grand_links", "great_words", "great_links", "grand_share",
    "since_heading", "heading_level", "furniture_heading", "repeated", "in_title", "in_description", "in_region",
    "in_json_ld", "in_hidden", "in_role",
)  # fmt: skip
_PAGE_FEATURES = (
    "page_words", "page_links", "page_blocks", "page_paragraphs", "page_h1", "page_region", "page_semantic", "page_og",
    "page_product", "page_article", "page_forum", "page_list", "page_faq", "page_path", "page_code", "page_prices",
    "page_same", "page_block_words",
)  # fmt: skip
FEATURES = (
    *_TEXT_FEATURES,
    *(f"own_{tag}" for tag in _OWN_TAGS),
    *(f"in_{tag}" for tag in TAGS),
    *(f"near_{name}" for name, _ in CATEGORIES),
    *(f"far_{name}" for name, _ in CATEGORIES),
    *_PAGE_FEATURES,
)


class BlockFeatures:
    """The features of all blocks of one page. `signatures`: for each block, tag and class of its parent and itself,
    equal for blocks of one kind; `prices`: 1 for each block that names a price. Used once.

    `region`: the content region, an element or None; `url`: the page's address.
    """

    def __init__(self, blocks: list[TextBlock], region: Any, head: Head, url: str) -> None:
        self.blocks = blocks
        self._inside: dict[Any, bool] = {}  # for elements around texts, whether they are in the region
        self._head = head
        self._sizes = [len(block.words) for block in blocks]
        self._total = max(sum(self._sizes), 1)
        self._boxes = self._container_sizes(region)
        self._containers_of: dict[Any, list[float]] = {}
        self._words_to = list(itertools.accumulate(self._sizes, initial=0))
        self._links_to = list(itertools.accumulate((block.link_words for block in blocks), initial=0))
        self.signatures = [_signature(block.element) for block in blocks]
        self._groups = self._group_sizes()
        self.prices = [float(bool(PRICE.search(block.text))) for block in blocks]
        self._title = set(WORD.findall(head.title.lower()))
        self._description = set(WORD.findall(head.description.lower()))
        self._json_ld = _pairs(WORD.findall(head.described.lower()))
        self._h1 = next((at for at, block in enumerate(blocks) if block.element.tag == "h1"), -1)
        self._known_flags: dict[tuple[str, int, int, int], list[float]] = {}
        self._page = self._page_features(url)

    def rows(self) -> list[list[float]]:
        """For each block its features in the order of FEATURES."""
        rows: list[list[float]] = []
        seen: set[str] = set()
        before = since = 0
        level, furniture = 0, 0.0
        for at, block in enumerate(self.blocks):
            tag = block.element.tag
            if len(tag) == 2 and tag[0] == "h" and tag[1].isdecimal():
                level, since = int(tag[1]), 0
                furniture = float(bool(_FURNITURE_HEADING.search(block.text)))
            context = (before / self._total, since, level, furniture, float(block.text in seen))
            rows.append(self._row(at, block, context))
            seen.add(block.text)
            before += self._sizes[at]
            since += self._sizes[at]
        return rows

    def _row(self, at: int, block: TextBlock, context: tuple[float, float, float, float, float]) -> list[float]:
        before, since, level, furniture, repeated = context
        size = self._sizes[at]
        text, words = block.text, block.words
        tag = block.element.tag
        heading = int(tag[1]) if len(tag) == 2 and tag[0] == "h" and tag[1].isdecimal() else 0
        row = [
            size,
            block.link_words / size,
            block.link_words,
            sum(map(text.count, _PUNCTUATION)) / size,
            float(text[-1] in ".!?…:"),
            sum(map(STOP_WORDS.__contains__, words)) / size,
            len(_DIGITS.findall(text)) / size,
            len(_CAPITALS.findall(text)) / size,
            len(text) / size,
            self.prices[at],
            block.depth,
            heading,
            at / len(self.blocks),
            before,
            float(at < self._h1),
            at - self._h1 if self._h1 >= 0 else -1,
        ]
        row += self._around(at)
        row += self._same_kind(at)
        row += self._containers(block)
        row += [since, level, furniture, repeated]
        row.append(sum(map(self._title.__contains__, words)) / size)
        row.append(sum(map(self._description.__contains__, words)) / size)
        row.append(float(self._inside[block.element]))
        row.append(_share(words, self._json_ld))
        row += [float(bool(block.tags & HIDDEN)), float(bool(block.tags & ROLE))]
        row += self._flags((tag, block.tags, block.near, block.far))
        return row + self._page

    def _flags(self, marks: tuple[str, int, int, int]) -> list[float]:
        """Tag, enclosing tags and categories as zeros and ones; cached, as the blocks of a page repeat them."""
        flags = self._known_flags.get(marks)
        if flags is None:
            tag, tags, near, far = marks
            flags = [float(tag == own) for own in _OWN_TAGS]
            flags += [float(bool(tags & bit)) for bit in TAG_BITS.values()]
            flags += [float(bool(near & bit)) for bit, _ in MASKS]
            flags += [float(bool(far & bit)) for bit, _ in MASKS]
            self._known_flags[marks] = flags
        return flags

    def _around(self, at: int) -> list[float]:
        """About the neighbours: words, link density, and means over the window."""
        blocks, sizes = self.blocks, self._sizes
        last = len(blocks) - 1
        first, end = max(0, at - _WINDOW), min(last, at + _WINDOW) + 1
        total = self._words_to[end] - self._words_to[first]
        links = self._links_to[end] - self._links_to[first]
        return [
            sizes[at - 1] if at else 0,
            sizes[at + 1] if at < last else 0,
            blocks[at - 1].link_words / sizes[at - 1] if at else 0,
            blocks[at + 1].link_words / sizes[at + 1] if at < last else 0,
            total / (end - first),
            links / total,
        ]

    def _same_kind(self, at: int) -> list[float]:
        """About the blocks with the same signature: count, mean words, link density, share of the page."""
        count, words, links = self._groups[self.signatures[at]]
        return [count, words / count, links / words, words / self._total]

    def _containers(self, block: TextBlock) -> list[float]:
        """Words and link density of the three nearest ancestors, and the second one's share of the page."""
        parent = block.element.getparent()
        key = block.element if parent is None else parent
        known = self._containers_of.get(key)
        if known is not None:
            return known
        measures: list[float] = []
        box, share = block.element, 0.0
        for step in range(3):
            parent = box.getparent()
            box = box if parent is None else parent
            words, links = self._boxes.get(box, (0, 0))
            measures += [words, links / words if words else 0.0]
            if step == 1:
                share = words / self._total
        measures.append(share)
        self._containers_of[key] = measures
        return measures

    def _container_sizes(self, region: Any) -> dict[Any, tuple[int, int]]:
        """Words and words of links in each element around a text; notes which of these are in the region. Naive form:
        add each block to all its ancestors, which costs the square of the depth in a nested page; here each element is
        added once, to its parent, the deepest first."""
        boxes: dict[Any, tuple[int, int]] = {}
        levels: dict[Any, int] = {}
        for block, size in zip(self.blocks, self._sizes, strict=True):
            path, box = [], block.element
            while box is not None and box not in levels:
                path.append(box)
                box = box.getparent()
            level, inside = (-1, False) if box is None else (levels[box], self._inside[box])
            for box in reversed(path):
                level, inside = level + 1, inside or box is region
                levels[box], self._inside[box] = level, inside
            words, links = boxes.get(block.element, (0, 0))
            boxes[block.element] = (words + size, links + block.link_words)
        for box in sorted(levels, key=levels.__getitem__, reverse=True):
            parent = box.getparent()
            if parent is not None:
                words, links = boxes.get(parent, (0, 0))
                boxes[parent] = (words + boxes[box][0], links + boxes[box][1])
        return boxes

    def _group_sizes(self) -> dict[str, tuple[int, int, int]]:
        groups: dict[str, tuple[int, int, int]] = {}
        for block, size, signature in zip(self.blocks, self._sizes, self.signatures, strict=True):
            count, words, links = groups.get(signature, (0, 0, 0))
            groups[signature] = (count + 1, words + size, links + block.link_words)
        return groups

    def _page_features(self, url: str) -> list[float]:
        blocks, meta = self.blocks, self._head.meta
        kinds = self._head.kinds
        inside = sum(size for block, size in zip(blocks, self._sizes, strict=True) if self._inside[block.element])
        tags = [block.element.tag for block in blocks]
        return [
            self._total,
            sum(block.link_words for block in blocks) / self._total,
            len(blocks),
            sum(size for block, size in zip(blocks, self._sizes, strict=True) if size > _LONG_WORDS) / self._total,
            tags.count("h1"),
            inside / self._total,
            float(self._head.semantic),
            {"article": 1.0, "product": 2.0, "website": 3.0}.get(meta.get("og:type", "").split(".")[-1], 0.0),
            float("Product" in kinds or "og:price:amount" in meta or "product:price:amount" in meta),
            float(any(kind.endswith(("Article", "BlogPosting")) for kind in kinds)),
            float(bool(kinds & {"DiscussionForumPosting", "QAPage", "Question"})),
            float(bool(kinds & {"ItemList", "CollectionPage", "OfferCatalog", "SearchResultsPage"})),
            float("FAQPage" in kinds),
            urlsplit(url).path.strip("/").count("/") + float(len(urlsplit(url).path) > 1),
            tags.count("pre"),
            sum(self.prices),
            max((words for _, words, _ in self._groups.values()), default=0) / self._total,
            self._total / max(len(blocks), 1),
        ]


def _pairs(words: list[str]) -> set[tuple[str, str]]:
    return set(itertools.pairwise(words))


def _share(words: list[str], known: set[tuple[str, str]]) -> float:
    """The share of the pairs of neighbouring words that are in `known`."""
    if not known or len(words) < 2:
        return 0.0
    return sum(pair in known for pair in itertools.pairwise(words)) / (len(words) - 1)


def _signature(element: Any) -> str:
    parent = element.getparent()
    above = "" if parent is None else f"{parent.tag}.{parent.get('class') or ''}"
    return f"{above}>{element.tag}.{element.get('class') or ''}"
