"""Two trained models: how likely each block of a page is content, and which type the page is of.

The block model is boosted decision trees over features of each block (blocks.json); the type is a softmax regression
over signals of the page (page_types.json). Both are trained by bench/train_blocks.py, which must run again after any
change to a feature, a signal, a window or a scale here: their files list the names of the features. The trees see all
blocks of a page at once. A set of blocks is one integer with a byte for each block, 1 for a member, so that a split is
one bitwise `and`; the sum of `set x leaf number` holds each block's leaf in its byte, and two translations make of it
the leaf's margin. Runs in the parsing processes.
"""

import functools
import itertools
import math
import re
import struct
from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from importlib import resources
from itertools import repeat
from typing import Any
from urllib.parse import urlsplit

import orjson

from gateway.domain import Json
from gateway.engines.content.blocks import CATEGORY_BITS, HIDDEN, ROLE, TAG_BITS, WORD, Surroundings, TextBlock
from gateway.engines.html.head import Head
from gateway.engines.words.text import STOP_WORDS

_OWN_TAGS = ("p", "li", "td", "div", "pre", "dd", "dt", "blockquote", "figcaption", "section", "span")
_FURNITURE_HEADING = re.compile(
    r"related|comment|review|share|follow|newsletter|you may|also like|more from|recommend|subscribe|sign up|contact|"
    r"popular|recent|latest|categor|archive|tags|navigation|menu|search|connect|similar|customers|footer|login|cart",
    re.IGNORECASE,
)
_WINDOW = 3  # blocks before and after one whose sizes it is compared with
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
    *(f"in_{tag}" for tag in TAG_BITS),
    *(f"near_{name}" for name in CATEGORY_BITS),
    *(f"far_{name}" for name in CATEGORY_BITS),
    *_PAGE_FEATURES,
)
Column = Sequence[float]  # the values of one feature for all blocks of a page


class BlockFeatures:
    """The features of all blocks of one page. `signatures`: for each block, tag and class of its parent and itself,
    equal for blocks of one kind; `prices`: 1 for each block that names a price.

    `around`: the surroundings of the blocks; `region`: the content region, an element or None; `url`: the page's
    address.
    """

    def __init__(self, blocks: list[TextBlock], around: Surroundings, region: Any, head: Head, url: str) -> None:
        self.blocks = blocks
        self._around_blocks = around
        self._head = head
        self._sizes = [len(block.words) for block in blocks]
        self._total = max(sum(self._sizes), 1)
        inside: list[bool] = []  # for elements around texts, whether they are in the region
        for box, outer in zip(around.boxes, around.outer, strict=True):
            inside.append(box is region or (outer >= 0 and inside[outer]))
        self._inside = bytes(inside[place] for place in around.places)
        self._box_words, self._box_links = self._container_sizes()
        shapes = [*around.shapes, ""]  # that of nothing, at -1
        self.signatures = [f"{shapes[around.outer[place]]}>{shapes[place]}" for place in around.places]
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
        outer = self._around_blocks.outer
        boxes = [outer[place] if outer[place] >= 0 else place for place in self._around_blocks.places]
        known = {box: self._around_box(box) for box in dict.fromkeys(boxes)}
        return zip(*map(known.__getitem__, boxes), strict=True)

    def _around_box(self, box: int) -> tuple[float, ...]:
        measures: list[float] = []
        share = 0.0
        for step in range(3):
            words, links = self._box_words[box], self._box_links[box]
            measures += [words, links / words if words else 0.0]
            if step == 1:
                share = words / self._total
            box = max(self._around_blocks.outer[box], 0)  # the outermost is the first
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
            self._inside,
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

    def _container_sizes(self) -> tuple[list[int], list[int]]:
        """Words, and words of links, in each element around a text: each is added to the one around it, the innermost
        first. Adding each block to all its ancestors would cost the square of the depth in a nested page."""
        words, links = [0] * len(self._around_blocks.boxes), [0] * len(self._around_blocks.boxes)
        for place, block, size in zip(self._around_blocks.places, self.blocks, self._sizes, strict=True):
            words[place] += size
            links[place] += block.link_words
        for place, outer in reversed(list(enumerate(self._around_blocks.outer))):
            if outer >= 0:
                words[outer] += words[place]
                links[outer] += links[place]
        return words, links

    def _group_sizes(self) -> dict[str, tuple[int, int, int]]:
        groups: dict[str, tuple[int, int, int]] = {}
        for block, size, signature in zip(self.blocks, self._sizes, self.signatures, strict=True):
            count, words, links = groups.get(signature, (0, 0, 0))
            groups[signature] = (count + 1, words + size, links + block.link_words)
        return groups

    def _page_features(self, url: str) -> list[float]:
        blocks, meta = self.blocks, self._head.meta
        kinds = self._head.kinds
        inside = sum(itertools.compress(self._sizes, self._inside))
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
            *(near & bit != 0 for bit in CATEGORY_BITS.values()),
            *(far & bit != 0 for bit in CATEGORY_BITS.values()),
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


_MAX_EDGES = 255
"""Edges of one feature and leaves of one tree: their numbers must fit a byte. Training makes 31 edges and 32 leaves."""
_UNITS = 10_000  # units of a margin: training writes four decimals
_MAX_UNITS = 0xFFFF  # units by which the leaves of one tree may differ: two bytes
_LANE = 4  # bytes of a block's sum: 65,536 trees of the greatest leaves fit
_AT_MOST = tuple(bytes(number <= edge for number in range(256)) for edge in range(_MAX_EDGES))
"""For each edge number, a translation table: edge numbers up to it become 1, those above it 0."""
LOWEST_LIMIT, _HIGHEST_LIMIT = 0.3, 0.5  # bounds of the probability from which a block is kept

_Node = tuple[int, Any, Any] | int
"""A split (number of its feature and edge, subtree at most the edge, subtree above it) or the number of a leaf."""


class BlockModel:
    """`data` has `features` (their names), `start` (the margin before the first tree) and `trees`: nested lists
    `[feature, edge, at_most, above]` with margins of at most four decimals as leaves. Raises ValueError when `features`
    are not FEATURES, and for a model that does not fit its bytes."""

    def __init__(self, data: Json) -> None:
        if tuple(data["features"]) != FEATURES:
            raise ValueError("the block model was trained on other features: train it again")
        self._start = float(data["start"])
        edges: dict[int, set[float]] = {}
        for tree in data["trees"]:
            _collect_edges(tree, edges)
        self._edges = {feature: sorted(edges[feature]) for feature in sorted(edges)}
        splits = [(feature, edge) for feature, ordered in self._edges.items() for edge in ordered]
        numbers = {split: number for number, split in enumerate(splits)}
        self._trees: list[tuple[_Node, bytes, bytes]] = []
        self._lowest = 0
        most = max(map(len, self._edges.values()), default=0)
        for tree in data["trees"]:
            leaves: list[float] = []
            numbered = _numbered(tree, numbers, leaves)
            most = max(most, len(leaves))
            if most > _MAX_EDGES:
                message = f"the block model has more than {_MAX_EDGES} edges of one feature or leaves of one tree"
                raise ValueError(message)
            units = [round(leaf * _UNITS) for leaf in leaves]
            lowest = min(units)
            self._lowest += lowest
            self._trees.append((numbered, *_bytes_of([unit - lowest for unit in units])))

    def probabilities(self, columns: Sequence[Column]) -> list[float]:
        """For each block, 0 to 1. `columns`: for each of FEATURES its values, one for each block."""
        exp = math.exp
        return [1 / (1 + exp(-margin)) for margin in self.margins(columns)]

    def margins(self, columns: Sequence[Column]) -> list[float]:
        """For each block the start plus its leaf of every tree, the logarithm of its odds. See the module's text."""
        count = len(columns[0])
        everyone = int.from_bytes(b"\x01" * count, "little")
        sets = self._split_sets(columns, everyone)
        lanes, total = bytearray(_LANE * count), 0
        for tree, low, high in self._trees:
            leaves = _leaf_numbers(tree, everyone, sets).to_bytes(count, "little")
            lanes[::_LANE] = leaves.translate(low)
            lanes[1::_LANE] = leaves.translate(high)
            total += int.from_bytes(lanes, "little")
        sums = struct.unpack(f"<{count}I", total.to_bytes(len(lanes), "little"))
        return [self._start + (self._lowest + units) / _UNITS for units in sums]

    def _split_sets(self, columns: Sequence[Column], everyone: int) -> list[int]:
        """For each split the set of blocks whose feature is at most the edge."""
        sets: list[int] = []
        for feature, edges in self._edges.items():
            column = columns[feature]
            if isinstance(column, bytes):
                passed = column.translate(bytes([bisect_left(edges, 0), bisect_left(edges, 1)]).ljust(256))
            elif column and column.count(column[0]) == len(column):  # the page's features are the same for all blocks
                sets += [everyone if column[0] <= edge else 0 for edge in edges]
                continue
            else:
                passed = bytes(map(bisect_left, repeat(edges), column))  # for each block, how many edges lie below
            sets += [int.from_bytes(passed.translate(table), "little") for table in _AT_MOST[: len(edges)]]
        return sets


def _bytes_of(units: list[int]) -> tuple[bytes, bytes]:
    """The low and the high byte of each leaf, as tables of translation. Raises ValueError above _MAX_UNITS."""
    if max(units) > _MAX_UNITS:
        raise ValueError(f"leaves of one tree of the block model differ by more than {_MAX_UNITS / _UNITS}")
    return bytes(unit & 0xFF for unit in units).ljust(256), bytes(unit >> 8 for unit in units).ljust(256)


def _collect_edges(tree: Any, edges: dict[int, set[float]]) -> None:
    if isinstance(tree, list):
        edges.setdefault(int(tree[0]), set()).add(float(tree[1]))
        _collect_edges(tree[2], edges)
        _collect_edges(tree[3], edges)


def _numbered(tree: Any, numbers: dict[tuple[int, float], int], leaves: list[float]) -> _Node:
    """The tree with its splits and leaves replaced by their numbers; appends its leaves."""
    if isinstance(tree, list):
        split = numbers[int(tree[0]), float(tree[1])]
        return split, _numbered(tree[2], numbers, leaves), _numbered(tree[3], numbers, leaves)
    leaves.append(float(tree))
    return len(leaves) - 1


def _leaf_numbers(node: _Node, members: int, sets: list[int]) -> int:
    """The number of each member's leaf, a byte for each block, 0 for blocks that are no members."""
    if isinstance(node, int):
        return members * node
    split, at_most, above = node
    low = members & sets[split]
    if low == members:
        return _leaf_numbers(at_most, members, sets)
    if not low:
        return _leaf_numbers(above, members, sets)
    return _leaf_numbers(at_most, low, sets) + _leaf_numbers(above, members ^ low, sets)


def keep_likely(probabilities: Sequence[float], sizes: Sequence[int], lowest: float = LOWEST_LIMIT) -> list[bool]:
    """Which blocks to keep: those from the probability up at which the expected F1 of their words is greatest.

    `sizes`: words of each block. The limit lies between `lowest` and _HIGHEST_LIMIT.
    """
    order = sorted(range(len(probabilities)), key=lambda at: -probabilities[at])
    expected = sum(probability * size for probability, size in zip(probabilities, sizes, strict=True))
    best, limit = 0.0, _HIGHEST_LIMIT
    right = total = 0.0
    for at in order:
        right += probabilities[at] * sizes[at]
        total += sizes[at]
        score = right / (total + expected)
        if score >= best:
            best, limit = score, probabilities[at]
    limit = min(max(limit, lowest), _HIGHEST_LIMIT)
    return [probability >= limit for probability in probabilities]


@functools.cache
def load_model() -> BlockModel | None:
    """The shipped model, read once; None when its file is missing."""
    path = resources.files("gateway.engines.content").joinpath("blocks.json")
    return BlockModel(orjson.loads(path.read_bytes())) if path.is_file() else None


_SCHEMAS: tuple[tuple[str, frozenset[str]], ...] = (
    ("article", frozenset({"Article", "NewsArticle", "BlogPosting", "Report", "ReportageNewsArticle"})),
    ("product", frozenset({"Product", "ProductGroup", "Offer", "AggregateOffer"})),
    ("forum", frozenset({"DiscussionForumPosting", "QAPage", "Comment"})),
    ("list", frozenset({"ItemList", "CollectionPage", "OfferCatalog", "SearchResultsPage"})),
    ("faq", frozenset({"FAQPage"})),
    ("documentation", frozenset({"TechArticle", "APIReference", "HowTo", "SoftwareSourceCode"})),
    ("service", frozenset({"Service", "LocalBusiness", "ProfessionalService", "SoftwareApplication", "LegalService"})),
    ("crumbs", frozenset({"BreadcrumbList"})),
)
_ADDRESS: dict[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "docs": "doc docs documentation reference api manual guide guides tutorial tutorials handbook latest stable "
        "wiki",
        "forum": "forum forums thread threads topic topics board boards discussion discussions comments question "
        "questions community t r viewtopic showthread",
        "product": "product products item itm dp p pd listing detail sku buy",
        "list": "collection collections category categories c shop browse search catalog catalogs tag tags list "
        "directory d s all",
        "article": "blog blogs news article articles post posts story stories review reviews feature features insight "
        "insights learn magazine",
        "service": "service services solution solutions pricing platform packages cases industries features software",
    }.items()
}
_ADDRESS_DATE = re.compile(r"/(?:19|20)?\d\d/\d\d?/")
_WORDING = {
    name: frozenset(words.split())
    for name, words in {
        "cart": "cart bag basket checkout stock quantity wishlist",
        "reply": "reply replies quote joined posts permalink upvote reputation",
        "more": "more view shop learn read see",
        "date": "ago jan feb mar apr may jun jul aug sep oct nov dec january february march april june july august "
        "september october november december",
        "sort": "sort filter filters refine showing results",
        "offer": "started trial demo contact quote book schedule consultation",
        "byline": "by author written min minutes",
        "ship": "shipping delivery returns warranty",
    }.items()
}
_WORDING_BITS = {
    word: sum(1 << at for at, words in enumerate(_WORDING.values()) if word in words)
    for word in frozenset().union(*_WORDING.values())
}
_WORDING_WORDS = frozenset(_WORDING_BITS)
_TITLES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("docs", re.compile(r"\b(?:documentation|docs|reference|manual|guide|tutorial|api|getting started)\b", re.I)),
    ("forum", re.compile(r"\b(?:forums?|thread|discussion|community|page \d+)\b", re.I)),
    ("article", re.compile(r"\b(?:how|why|what|best|tips|vs|guide|\d+)\b", re.I)),
    ("service", re.compile(r"\b(?:services?|solutions?|software|agency|consult\w*|platform|company)\b", re.I)),
)
_SHARES = ("comment", "review", "shop", "list", "message", "content", "detail", "gallery", "meta", "related")
_SHARE_BITS = {name: bit for name, bit in CATEGORY_BITS.items() if name in _SHARES}
SIGNALS = (
    *(f"schema_{name}" for name, _ in _SCHEMAS),
    "og_article", "og_product", "og_website", "published", "author", "semantic",
    *(f"address_{name}" for name in _ADDRESS),
    "address_date", "address_root", "address_depth", "address_slug", "address_number", "address_query",
    *(f"title_{name}" for name, _ in _TITLES),
    *(f"wording_{name}" for name in _WORDING), "wording_price",
    *(f"share_{name}" for name in _SHARE_BITS),
    "words", "long_share", "paragraphs", "longest", "link_share", "block_words", "code", "headings", "linked_headings",
    "cards", "card_share", "card_links", "card_words", "priced_cards", "first_person", "second_person", "before_long",
)  # fmt: skip
_SIGNAL_WORDS = 20  # words from which a block is running text: about one sentence
_LOG_SCALE = 5  # the logarithm of 150 words or blocks is about 5, so that usual counts come out near 1
_MAX_SEGMENTS, _MAX_HYPHENS = 6, 8
"""Path segments, and hyphens of the last one, that count as 1: more of them say nothing further."""
_VOICE_SCALE = 30
"""One word of thirty in the first or second person counts as 1: text that addresses somebody throughout."""
_QUERY_CHARS = 100  # start of the query that is searched for words: the rest of a long query is tracking
_FIRST_PERSON = frozenset({"i", "my", "me"})
_SECOND_PERSON = frozenset({"you", "your"})


def signals(marked: Sequence[tuple[TextBlock, str, float]], head: Head, url: str) -> list[float]:
    """One number for each name in SIGNALS, each about 0 to 1. `marked`: for each block (block, signature, 1 if it names
    a price, else 0)."""
    blocks = [block for block, _, _ in marked]
    prices = [price for _, _, price in marked]
    total = max(sum(len(block.words) for block in blocks), 1)
    row = [float(bool(head.kinds & names)) for _, names in _SCHEMAS]
    row += _declared(head)
    row += _address(url)
    row += [float(bool(pattern.search(head.title))) for _, pattern in _TITLES]
    row += _wording(blocks, prices)
    for bit in _SHARE_BITS.values():
        row.append(sum(len(block.words) for block in blocks if block.far & bit) / total)
    return row + _text(blocks, total) + _cards(marked, total) + _voice(blocks, total)


def _wording(blocks: Sequence[TextBlock], prices: Sequence[float]) -> list[float]:
    """Logarithms of how many short blocks have words of each kind, and how many name a price."""
    counts = [0] * len(_WORDING)
    known = _WORDING_WORDS
    for block in blocks:
        if len(block.words) <= _SIGNAL_WORDS:
            bits = 0
            for word in known.intersection(block.words):
                bits |= _WORDING_BITS[word]
            if bits:
                counts = [count + (bits >> at & 1) for at, count in enumerate(counts)]
    return [_log(count) for count in [*counts, sum(prices)]]


def _log(count: float) -> float:
    return math.log1p(count) / _LOG_SCALE


def _declared(head: Head) -> list[float]:
    kind = head.meta.get("og:type", "").lower()
    return [
        float("article" in kind or "blog" in kind),
        float("product" in kind or "product:price:amount" in head.meta),
        float("website" in kind),
        float("article:published_time" in head.meta or head.published is not None),
        float("author" in head.meta or "article:author" in head.meta),
        float(head.semantic),
    ]


def _address(url: str) -> list[float]:
    parts = urlsplit(url.lower())
    label = parts.netloc.partition(".")[0]
    words = {label, *re.split(r"[^a-z0-9]+", parts.path), *re.split(r"[^a-z0-9]+", parts.query[:_QUERY_CHARS])}
    pieces = [piece for piece in parts.path.split("/") if piece]
    last = pieces[-1] if pieces else ""
    return [
        *(float(not words.isdisjoint(known)) for known in _ADDRESS.values()),
        float(bool(_ADDRESS_DATE.search(parts.path))),
        float(not pieces),
        min(len(pieces), _MAX_SEGMENTS) / _MAX_SEGMENTS,
        min(len(re.findall(r"[-_+]", last)), _MAX_HYPHENS) / _MAX_HYPHENS,
        float(bool(re.search(r"\d{4,}", parts.path))),
        float(bool(parts.query)),
    ]


def _text(blocks: Sequence[TextBlock], total: int) -> list[float]:
    long = [block for block in blocks if len(block.words) > _SIGNAL_WORDS and block.link_words * 3 < len(block.words)]
    heads = [block for block in blocks if len(block.element.tag) == 2 and block.element.tag[0] == "h"]
    return [
        _log(total) / 2,
        sum(len(block.words) for block in long) / total,
        _log(len(long)),
        _log(max((len(block.words) for block in long), default=0)),
        sum(block.link_words for block in blocks) / total,
        _log(total / max(len(blocks), 1)),
        _log(sum(block.element.tag == "pre" for block in blocks)),
        _log(len(heads)),
        sum(block.link_words > 0 for block in heads) / max(len(heads), 1),
    ]


def _cards(marked: Sequence[tuple[TextBlock, str, float]], total: int) -> list[float]:
    """About the largest group of equal blocks: their count, share of the text, link density and length; priced ones."""
    groups: dict[str, list[int]] = {}
    priced: dict[str, int] = {}
    for block, signature, price in marked:
        group = groups.setdefault(signature, [0, 0, 0])
        size = len(block.words)
        group[0] += 1
        group[1] += size
        group[2] += block.link_words
        if price and size < _SIGNAL_WORDS:
            priced[signature] = priced.get(signature, 0) + 1
    count, words, links = max(groups.values(), key=lambda group: group[1], default=[0, 0, 0])
    return [
        _log(count),
        words / total,
        links / max(words, 1),
        _log(words / max(count, 1)),
        _log(max(priced.values(), default=0)),
    ]


def _voice(blocks: Sequence[TextBlock], total: int) -> list[float]:
    counts = Counter(itertools.chain.from_iterable([block.words for block in blocks]))
    first = sum(counts[word] for word in _FIRST_PERSON)
    second = sum(counts[word] for word in _SECOND_PERSON)
    before = 0
    for block in blocks:
        if len(block.words) > 2 * _SIGNAL_WORDS:
            break
        before += len(block.words)
    return [min(first * _VOICE_SCALE / total, 1.0), min(second * _VOICE_SCALE / total, 1.0), before / total]


TYPES = ("article", "collection", "documentation", "forum", "listing", "product", "service")
_SURE = 0.95  # probability of the type that a generator implies
_GENERATOR_CHARS = 200  # start of the generator's text that is searched: names come first
_GENERATORS = (
    (
        "documentation",
        re.compile(
            r"sphinx|docutils|docbook|asciidoc|doxygen|javadoc|rustdoc|mkdocs|docusaurus|vitepress|gitbook|antora|"
            r"texinfo|makeinfo|texi2|latex2html|jsdoc|typedoc|pdoc|yard|hevea|mandoc|man2html|docsify|rdoc|epydoc|"
            r"groff|haddock|gi-docgen|gtk-doc|exdoc|odoc|vuepress|starlight|docfx|dita|publican|latexml",
            re.IGNORECASE,
        ),
    ),
    (
        "forum",
        re.compile(
            r"discourse|vbulletin|phpbb|xenforo|mybb|simple machines|flarum|nodebb|vanilla|bbpress", re.IGNORECASE
        ),
    ),
)


_CREDIT = ("generated", "by")
_CREDIT_WORDS = 12  # longest line that names the program of a page that has no `generator` in its head


def read_credit(blocks: Sequence[TextBlock], head: Head) -> None:
    """Sets `generator` from a line such as "Generated by gi-docgen 2023.1", where the head does not name it."""
    if "generator" not in head.meta:
        for block in blocks:
            if block.words[0] == _CREDIT[0] and _CREDIT[1] in block.words and len(block.words) <= _CREDIT_WORDS:
                head.meta["generator"] = block.text[:_GENERATOR_CHARS]
                return


class PageTypes:
    """Softmax regression. `data`: `signals` (their names), `mean` and `scale` of each, and `weights`: for each type one
    for each signal, the bias last. Raises ValueError when signals or types are others than SIGNALS and TYPES."""

    def __init__(self, data: Json) -> None:
        if tuple(data["signals"]) != SIGNALS or tuple(data["weights"]) != TYPES:
            raise ValueError("the page types were trained on other signals: train them again")
        self._scaled = list(zip(data["mean"], data["scale"], strict=True))
        self._weights: dict[str, list[float]] = data["weights"]

    def probabilities(self, signals: list[float], head: Head) -> dict[str, float]:
        """The probability of each type in TYPES; they sum to 1. `signals`: in the order of SIGNALS."""
        row = [(value - mean) / scale for value, (mean, scale) in zip(signals, self._scaled, strict=True)] + [1.0]
        margins = {kind: sum(map(float.__mul__, row, weights)) for kind, weights in self._weights.items()}
        top = max(margins.values())
        powers = {kind: math.exp(margin - top) for kind, margin in margins.items()}
        total = sum(powers.values())
        return _believe_generator({kind: power / total for kind, power in powers.items()}, head)


def _believe_generator(probabilities: dict[str, float], head: Head) -> dict[str, float]:
    generator = head.meta.get("generator", "")[:_GENERATOR_CHARS]
    for kind, pattern in _GENERATORS:
        if generator and pattern.search(generator):
            rest = 1 - probabilities[kind] or 1.0
            return {
                name: max(probability, _SURE) if name == kind else min(1.0, (1 - _SURE) / rest) * probability
                for name, probability in probabilities.items()
            }
    return probabilities


def likeliest(probabilities: dict[str, float]) -> str:
    """The type of the greatest probability."""
    return max(probabilities, key=lambda kind: probabilities[kind])


@functools.cache
def load_types() -> PageTypes | None:
    """The shipped classifier, read once; None when its file is missing."""
    path = resources.files("gateway.engines.content").joinpath("page_types.json")
    return PageTypes(orjson.loads(path.read_bytes())) if path.is_file() else None
