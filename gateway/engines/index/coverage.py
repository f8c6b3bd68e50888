"""How much of a query's weight a text holds, and what that counts for in a page's rank.

BM25 adds up words, so a passage that has one rare word often beats one that has them all. For a name, a message or a
list of words the whole is meant; in a question half of the words only carry the sentence. Runs in a reader thread.
"""

import math

from gateway.engines.index.candidates import PassageCounts
from gateway.engines.index.fusion import RankedPage
from gateway.engines.index.query import QueryTerms
from gateway.engines.index.reader import IndexReader
from gateway.engines.text.stop_words import foreign_stop_words
from gateway.engines.text.tokens import STOP_WORDS, WORD, fold, terms

_SHARE = 1.0
_SENTENCE_SHARE = 0.5
"""By how much a passage gains that holds the whole query, as a share of its score, when no word of the query is a stop
word; and the share of stop words from which it gains nothing. Chosen on 239 questions over four sets of documentation
(`bench.search_quality`): MRR@10 .700 instead of .689, over messages of errors .883 instead of .853, on no kind below;
with a gain for questions as well, messages have .907 but questions .748 instead of .761. A share of 2 is .003 below.
Gains by pairs of words that stand together, instead or besides, are below on most sets."""

_PAGES = 20
"""Pages whose best passages are read for it. Measured as above: with 10 .695; with 40 as with 20, at twice the work,
which is .15 ms for each."""


def word_weights(counter: PassageCounts, asked: QueryTerms, total: int) -> dict[str, float]:
    """Stem -> weight of a word of the query: the logarithm of how rare it is among the `total` passages."""
    weights: dict[str, float] = {}
    for word, count in counter.of((*asked.words, *asked.pairs)).items():
        for stem in terms(word):
            weights[stem] = max(weights.get(stem, 0.0), math.log((max(total, count) + 1) / (count + 0.5)))
    return weights


def coverage(text: str, weights: dict[str, float]) -> float:
    """The share of the weights, 0 to 1, whose words are in the text; 1 without weights."""
    whole = sum(weights.values())
    present = set(terms(text))
    return sum(weight for stem, weight in weights.items() if stem in present) / whole if whole > 0 else 1.0


def by_coverage(reader: IndexReader, pages: list[RankedPage], text: str, weights: dict[str, float]) -> list[RankedPage]:
    """The pages, best first, where those gain whose best passages hold most of the query `text`."""
    share = _share(text)
    first = {page.passages[0].row: page for page in pages[:_PAGES]}
    if not share or len(weights) < 2 or not first:
        return pages
    for row, title, headings, body in reader.passage_words(list(first)):
        first[row].rank *= 1 + share * coverage(f"{title} {headings} {body}", weights)
    return sorted(pages[:_PAGES], key=lambda page: -page.rank) + pages[_PAGES:]


def _share(text: str) -> float:
    words = WORD.findall(fold(text))
    stop_words = STOP_WORDS | foreign_stop_words(words)
    stops = sum(word in stop_words for word in words)
    return _SHARE * max(0.0, 1 - stops / (_SENTENCE_SHARE * len(words))) if words else 0.0
