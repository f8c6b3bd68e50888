"""Computes the signals of a page's type: schema.org types, words of its address, repeated blocks, prices, long text.

Runs in the parsing processes. Signals are plain numbers in a fixed order (SIGNALS); none names a site. Which type they
indicate is learnt (bench/train_blocks.py) and decided by `page_types`. The scales below bring each signal to about 0 to
1; after a change the classifier must be trained again.
"""

import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from urllib.parse import urlsplit

from gateway.engines.content.blocks import CATEGORIES, MASKS, TextBlock
from gateway.engines.html.metadata import Head

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
_SHARE_BITS = {name: bit for (name, _), (bit, _) in zip(CATEGORIES, MASKS, strict=True) if name in _SHARES}
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
_LONG_WORDS = 20
"""Words from which a block is running text: about one sentence. Chosen; see the module's text."""
_LOG_SCALE = 5
"""The logarithm of 150 words or blocks is about 5, so that usual counts come out near 1."""
_MAX_SEGMENTS, _MAX_HYPHENS = 6, 8
"""Path segments, and hyphens of the last one, that count as 1: more of them say nothing further."""
_VOICE_SCALE = 30
"""One word of thirty in the first or second person counts as 1: text that addresses somebody throughout."""
_QUERY_CHARS = 100
"""Start of the query that is searched for words: the rest of a long query is tracking."""
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
        if len(block.words) <= _LONG_WORDS:
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
    long = [block for block in blocks if len(block.words) > _LONG_WORDS and block.link_words * 3 < len(block.words)]
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
        if price and size < _LONG_WORDS:
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
        if len(block.words) > 2 * _LONG_WORDS:
            break
        before += len(block.words)
    return [min(first * _VOICE_SCALE / total, 1.0), min(second * _VOICE_SCALE / total, 1.0), before / total]
