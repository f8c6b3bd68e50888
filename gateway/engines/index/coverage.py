"""How much of a query's weight a text holds, and what that counts for in a page's rank.

BM25 adds up words, so a passage that has one rare word often beats one that has them all. For a name, a message or a
list of words the whole is meant; in a question half of the words only carry the sentence. Runs in a reader thread.
"""

import math
from collections.abc import Sequence

from gateway.engines.answer.foreign_stems import MARK, has_stem, stem_of
from gateway.engines.answer.stop_words import foreign_stop_words
from gateway.engines.answer.tokens import STOP_WORDS, WORD, fold, stem, terms, terms_among
from gateway.engines.index.candidates import PassageCounts
from gateway.engines.index.fusion import RankedPage
from gateway.engines.index.query import QueryTerms, comparable
from gateway.engines.index.reader import IndexReader

_SHARE = 1.0
_SENTENCE_SHARE = 0.5
"""By how much a passage gains that holds the whole query, as a share of its score, when no word of the query is a stop
word; and the share of stop words from which it gains nothing. Chosen on 239 questions over four sets of documentation
(`bench.search_quality`): MRR@10 .700 instead of .689, over messages of errors .883 instead of .853, on no kind below;
with a gain for questions as well, messages have .907 but questions .748 instead of .761. A share of 2 is .003 below.
Gains by pairs of words that stand together, instead or besides, are below on most sets."""

_RUN_SHARE = 0.5
_LEAST_RUN = 4
"""By how much more a passage gains in which words of the query stand together as they were asked, as a share of their
weight, and how many at least: what a program says is pasted, and who documents it quotes it. Chosen on two thirds of 80
and 106 questions over two sets of documentation (`bench.search_quality`): MRR@10 of the second set .656 instead of
.629, of its 12 messages .872 instead of .712 (three rank higher, none lower), of the first set the same; of the other
thirds as well. With a share of 1 messages of the first set are second, as a quotation is not always the answer; with
three words lists of names gain by chance. Pairs of words were not found to help (see above)."""
_MOST_RUN_WORDS = 32
"""Words of a query that are looked for together, as many as are looked up at all (`query`)."""

_PAGES = 20
"""Pages whose best passages are read for it. Measured as above: with 10 .695; with 40 as with 20, at twice the work,
which is .15 ms for each."""


def word_weights(counter: PassageCounts, asked: QueryTerms, total: int) -> dict[str, float]:
    """Stem -> weight of a word of the query: the logarithm of how rare it is among the `total` passages. A word whose
    foreign stem is looked up has that stem alone."""
    weights: dict[str, float] = {}
    words = [word for word in asked.words if stem_of(word) not in asked.pairs]
    for word, count in counter.of((*words, *asked.pairs)).items():
        for term in [word] if word.endswith(MARK) else terms(word):
            weights[term] = max(weights.get(term, 0.0), math.log((max(total, count) + 1) / (count + 0.5)))
    return weights


def coverage(text: str, weights: dict[str, float]) -> float:
    """The share of the weights, 0 to 1, whose words are in the text; 1 without weights."""
    whole = sum(weights.values())
    stems = [term for term in weights if term.endswith(MARK)]
    present = terms_among(text, weights.keys() - stems if stems else weights)
    if stems:
        words = set(WORD.findall(fold(text)))
        present |= {each for each in stems if has_stem(words, each)}
    return sum(weight for term, weight in weights.items() if term in present) / whole if whole > 0 else 1.0


def by_coverage(reader: IndexReader, pages: list[RankedPage], text: str, weights: dict[str, float]) -> list[RankedPage]:
    """The pages, best first, where those gain whose best passages hold most of the query `text`."""
    share = _SHARE * (1 - sentence_degree(text))
    first = {page.passages[0].row: page for page in pages[:_PAGES]}
    if not share or len(weights) < 2 or not first:
        return pages
    words = comparable(text).split()[:_MOST_RUN_WORDS]
    whole = sum(weights.values()) or 1.0
    of_words = [weights.get(stem_of(word), weights.get(stem(word), 0.0)) / whole for word in words]
    for row, title, headings, body in reader.passage_words(list(first)):
        held = f"{title} {headings} {body}"
        first[row].rank *= 1 + share * coverage(held, weights)
        first[row].rank *= 1 + share * _RUN_SHARE * heaviest_run(words, of_words, comparable(held))
    return sorted(pages[:_PAGES], key=lambda page: -page.rank) + pages[_PAGES:]


def heaviest_run(words: Sequence[str], weights: Sequence[float], text: str) -> float:
    """The share of a query's weight, 0 to 1, whose words stand together in a `comparable` text in their order: of the
    heaviest run of at least _LEAST_RUN words; 0 where there is none."""
    padded = f" {text} "
    heaviest, end = 0.0, 0
    for start in range(len(words) - _LEAST_RUN + 1):
        end = max(start, end)  # what stands together from one word on does so from the next one on
        while end < len(words) and f" {' '.join(words[start : end + 1])} " in padded:
            end += 1
        if end - start >= _LEAST_RUN:
            heaviest = max(heaviest, sum(weights[start:end]))
    return min(heaviest, 1.0)


def sentence_degree(text: str) -> float:
    """How far a query is a sentence: 0 without stop words, 1 from a share of _SENTENCE_SHARE of them on."""
    words = WORD.findall(fold(text))
    stop_words = STOP_WORDS | foreign_stop_words(words)
    stops = sum(word in stop_words for word in words)
    return min(stops / (_SENTENCE_SHARE * len(words)), 1.0) if words else 1.0
