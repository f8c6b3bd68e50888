"""Scores the best pages of a sentence by their whole texts, beside their best passages.

A passage that repeats two words of a question beats a page that treats all of them, each in its own section. So the
best pages are compared by BM25 of their whole texts as well. Runs in a reader thread.
"""

from collections.abc import Mapping
from heapq import nlargest

from gateway.engines.answer.foreign_stems import MARK
from gateway.engines.index.bm25 import K1, B
from gateway.engines.index.coverage import sentence_degree
from gateway.engines.index.fusion import RankedPage
from gateway.engines.index.messages import is_message
from gateway.engines.index.stored_pages import StoredPages

_SHARE = 1.5
"""Largest gain of a page, for a query of which half the words are stop words. Chosen on 192 questions over 23 sites of
documentation (`bench.search_quality`): how-to questions have an MRR@10 of .821 with 1 instead of .776, other questions
.764 instead of .763, other kinds as before but for two messages; .5 gives .800, 1.5 .843. On 264 questions over three
sets 1.5 instead of 1 gives .637, .776 and .776 instead of .635, .771 and .775, no kind below; with 2, messages are."""
_PAGES = 10
"""The best pages that are compared, all read for the answer anyway. With 20 the result is the same."""

_MEAN_CHARS = 20_000
"""Length of a page that neither gains nor loses by it, as pages of manuals have. Chosen: the mean of the compared pages
instead gives .01 less."""
_MOST_CHARS, _MOST_TERMS, _LEAST_TERM_CHARS = 100_000, 8, 3
"""Beginning of a page that is counted, the heaviest words of the query, and their least length, since stems are counted
wherever they stand. Chosen: together at most 8 ms of CPU, 1 ms for ordinary pages."""


def by_page_words(
    stored: StoredPages, pages: list[RankedPage], text: str, weights: Mapping[str, float]
) -> list[RankedPage]:
    """The pages, best first. For a sentence, the rank of the best _PAGES is raised by the BM25 score of their texts for
    the words of `weights`."""
    share = _SHARE * sentence_degree(text)
    best = pages[:_PAGES]
    terms = nlargest(_MOST_TERMS, (term for term in weights if len(term) >= _LEAST_TERM_CHARS), key=weights.__getitem__)
    if not share or len(best) < 2 or len(terms) < 2 or is_message(text):
        return pages
    held = [_held(stored, page.row, {term: weights[term] for term in terms}) for page in best]
    most = max(held)
    for page, each in zip(best, held, strict=True):
        page.rank *= 1 + share * each / most if most else 1
    return sorted(best, key=lambda page: -page.rank) + pages[_PAGES:]


def _held(stored: StoredPages, row: int, weights: Mapping[str, float]) -> float:
    """The BM25 score of a page's text for the weighted stems; 0 for a page that is gone."""
    page = stored.read(row)
    if page is None:
        return 0.0
    text = page.content[:_MOST_CHARS].lower()
    norm = K1 * (1 - B + B * len(text) / _MEAN_CHARS)
    counts = ((weight, text.count(term.removesuffix(MARK))) for term, weight in weights.items())
    return sum(weight * (K1 + 1) * count / (count + norm) for weight, count in counts)
