"""Computes the features of a page's blocks: the input of the block model.

Runs in the parsing processes. Features are plain numbers in a fixed order (FEATURES). The model's file lists their
names, so that a model of other features is refused. The windows and lengths below are part of what a feature means:
after a change the models must be trained again (bench/train_blocks.py). Knows nothing of models.
"""

import itertools
import re
from collections.abc import Container, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from gateway.engines.answer.tokens import STOP_WORDS
from gateway.engines.content.blocks import CATEGORIES, HIDDEN, MASKS, ROLE, TAG_BITS, TAGS, WORD, TextBlock
from gateway.engines.html.metadata import Head

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
Column = Sequence[float]
"""The values of one feature for all blocks of a page."""


class BlockFeatures:
    """The features of all blocks of one page. `signatures`: for each block, tag and class of its parent and itself,
    equal for blocks of one kind; `prices`: 1 for each block that names a price.

    `region`: the content region, an element or None; `url`: the page's address.
    """

    def __init__(self, blocks: list[TextBlock], region: Any, head: Head, url: str) -> None:
        self.blocks = blocks
        self._inside: dict[Any, bool] = {}  # for elements around texts, whether they are in the region
        self._head = head
        self._sizes = [len(block.words) for block in blocks]
        self._total = max(sum(self._sizes), 1)
        self._boxes = self._container_sizes(region)
        self.signatures = [_signature(block.element) for block in blocks]
        self._groups = self._group_sizes()
        self.prices = bytes(PRICE.search(block.text) is not None for block in blocks)
        self._page = self._page_features(url)

    def columns(self) -> list[Column]:
        """For each of FEATURES its values, one for each block; those that are true or false as bytes 0 and 1."""
        return [
            *self._of_texts(),
            *self._around(),
            *self._same_kind(),
            *self._containers(),
            *self._sections(),
            *self._in_head(),
            *self._flags(),
            *([value] * len(self.blocks) for value in self._page),
        ]

    def _of_texts(self) -> list[Column]:
        """What each block is by itself, and its place on the page."""
        blocks, sizes, count = self.blocks, self._sizes, len(self.blocks)
        texts = [block.text for block in blocks]
        h1 = next((at for at, block in enumerate(blocks) if block.element.tag == "h1"), -1)
        before = itertools.accumulate(sizes, initial=0)
        return [
            sizes,
            [block.link_words / len(block.words) for block in blocks],
            [block.link_words for block in blocks],
            [sum(map(text.count, _PUNCTUATION)) / size for text, size in zip(texts, sizes, strict=True)],
            bytes(text[-1] in ".!?…:" for text in texts),
            self._shares(STOP_WORDS),
            [len(_DIGITS.findall(text)) / size for text, size in zip(texts, sizes, strict=True)],
            [len(_CAPITALS.findall(text)) / size for text, size in zip(texts, sizes, strict=True)],
            [len(text) / size for text, size in zip(texts, sizes, strict=True)],
            self.prices,
            [block.depth for block in blocks],
            [_heading_level(block.element.tag) for block in blocks],
            [at / count for at in range(count)],
            [words / self._total for words in itertools.islice(before, count)],
            bytes(at < h1 for at in range(count)),
            [at - h1 if h1 >= 0 else -1 for at in range(count)],
        ]

    def _shares(self, known: Container[str]) -> list[float]:
        """The share of each block's words that are known."""
        return [sum(map(known.__contains__, block.words)) / len(block.words) for block in self.blocks]

    def _around(self) -> list[Column]:
        """About the neighbours: words, link density, and means over the window."""
        blocks, sizes, count = self.blocks, self._sizes, len(self.blocks)
        density = [block.link_words / len(block.words) for block in blocks]
        words_to = list(itertools.accumulate(sizes, initial=0))
        links_to = list(itertools.accumulate((block.link_words for block in blocks), initial=0))
        windows = [(max(0, at - _WINDOW), min(count, at + _WINDOW + 1)) for at in range(count)]
        return [
            [0, *sizes[:-1]],
            [*sizes[1:], 0],
            [0, *density[:-1]],
            [*density[1:], 0],
            [(words_to[end] - words_to[first]) / (end - first) for first, end in windows],
            [(links_to[end] - links_to[first]) / (words_to[end] - words_to[first]) for first, end in windows],
        ]

    def _same_kind(self) -> Iterator[Column]:
        """About the blocks with the same signature: count, mean words, link density, share of the page."""
        groups = {
            signature: (count, words / count, links / words, words / self._total)
            for signature, (count, words, links) in self._groups.items()
        }
        return zip(*map(groups.__getitem__, self.signatures), strict=True)

    def _containers(self) -> Iterator[Column]:
        """Words and link density of the three nearest ancestors, and the second one's share of the page."""
        known: dict[Any, tuple[float, ...]] = {}
        found: list[tuple[float, ...]] = []
        for block in self.blocks:
            parent = block.element.getparent()
            key = block.element if parent is None else parent
            if key not in known:
                known[key] = self._around_box(key)
            found.append(known[key])
        return zip(*found, strict=True)

    def _around_box(self, box: Any) -> tuple[float, ...]:
        measures: list[float] = []
        share = 0.0
        for step in range(3):
            words, links = self._boxes.get(box, (0, 0))
            measures += [words, links / words if words else 0.0]
            if step == 1:
                share = words / self._total
            parent = box.getparent()
            box = box if parent is None else parent
        return (*measures, share)

    def _sections(self) -> Iterator[Column]:
        """Words since the last heading, its level, whether it opens no content, and whether a text is repeated."""
        found: list[tuple[float, ...]] = []
        seen: set[str] = set()
        since = level = furniture = 0
        for block in self.blocks:
            if own := _heading_level(block.element.tag):
                level, since, furniture = own, 0, int(_FURNITURE_HEADING.search(block.text) is not None)
            found.append((since, level, furniture, block.text in seen))
            seen.add(block.text)
            since += len(block.words)
        return zip(*found, strict=True)

    def _in_head(self) -> list[Column]:
        """Shares of the words that the head of the page says too; in between, whether a block is in the region."""
        title, description, described = (
            WORD.findall(text.lower()) for text in (self._head.title, self._head.description, self._head.described)
        )
        pairs = set(itertools.pairwise(described))
        return [
            self._shares(set(title)),
            self._shares(set(description)),
            bytes(self._inside[block.element] for block in self.blocks),
            [_share(block.words, pairs) for block in self.blocks],
        ]

    def _flags(self) -> list[Column]:
        """Attributes, tag, enclosing tags and categories, each a column of the table that has a row for each block."""
        rows: dict[tuple[str, int, int, int], bytes] = {}  # the blocks of a page repeat them
        table: list[bytes] = []
        for block in self.blocks:
            marks = (block.element.tag, block.tags, block.near, block.far)
            if marks not in rows:
                rows[marks] = _flags(*marks)
            table.append(rows[marks])
        joined = b"".join(table)
        return [joined[at::_FLAG_COUNT] for at in range(_FLAG_COUNT)]

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


def _flags(tag: str, tags: int, near: int, far: int) -> bytes:
    return bytes(
        [
            tags & HIDDEN != 0,
            tags & ROLE != 0,
            *(tag == own for own in _OWN_TAGS),
            *(tags & bit != 0 for bit in TAG_BITS.values()),
            *(near & bit != 0 for bit, _ in MASKS),
            *(far & bit != 0 for bit, _ in MASKS),
        ]
    )


_FLAG_COUNT = len(_flags("", 0, 0, 0))


def _heading_level(tag: str) -> int:
    """1 for `h1`; 0 for another element."""
    return int(tag[1]) if len(tag) == 2 and tag[0] == "h" and tag[1].isdecimal() else 0


def _share(words: list[str], known: set[tuple[str, str]]) -> float:
    """The share of the pairs of neighbouring words that are in `known`."""
    if not known or len(words) < 2:
        return 0.0
    return sum(pair in known for pair in itertools.pairwise(words)) / (len(words) - 1)


def _signature(element: Any) -> str:
    parent = element.getparent()
    above = "" if parent is None else f"{parent.tag}.{parent.get('class') or ''}"
    return f"{above}>{element.tag}.{element.get('class') or ''}"
