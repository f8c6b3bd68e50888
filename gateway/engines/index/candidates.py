"""The candidate passages of a query, by BM25, and how the work of finding them is bounded in a large index.

Runs in a reader thread. Knows no pages beyond their rows, no absolute scores and no database (`reader`).
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

from gateway.engines.answer.foreign_stems import MARK
from gateway.engines.index.query import IndexQuery, QueryTerms
from gateway.engines.index.reader import Candidate, IndexReader

_MAX_CANDIDATES = 300
"""Passages that are ranked. Chosen: a page of a manual has up to 100 passages with a common word, and ten pages are
wanted; at half, long pages push others out; at double, finding their pages costs as much as the search."""

ROW_BUDGET = 4_000
_MAX_RECOUNTED = _MAX_GROUPED = 4
"""Rows that BM25 may rank in a large index, words counted once more within the caller's pages, and words that groups
are made of. Chosen for 60 ms of CPU at the 95th percentile over 100,000 pages (`bench.index`); double misses that.
Measured with every index taken for a large one, 125 questions over two sets of documentation: MRR@10 .702 without a
budget, .697 with this one, .683 with 3,000 rows, .625 with 6,000 rows of the rarest words alone, as before."""


class PassageCounts:
    """How many passages have a word, not counted past the row budget. Each word is counted once in a search."""

    def __init__(self, reader: IndexReader) -> None:
        self._reader = reader
        self._counts: dict[str, int] = {}

    def of(self, words: Iterable[str]) -> dict[str, int]:
        """Word to the number of passages with it, at most the row budget and one."""
        wanted = list(words)
        if missing := [word for word in wanted if word not in self._counts]:
            self._counts.update(self._reader.counts(missing, ROW_BUDGET + 1))
        return {word: self._counts[word] for word in wanted}


def present_stems(counter: PassageCounts, asked: QueryTerms) -> QueryTerms:
    """The terms without the stems that no passage has: they are looked up in case pages in that language are there."""
    stems = [pair for pair in asked.pairs if pair.endswith(MARK)]
    if not stems:
        return asked
    absent = {stem for stem, count in counter.of(stems).items() if not count}
    return replace(asked, pairs=tuple(pair for pair in asked.pairs if pair not in absent))


def whole_names(reader: IndexReader, query: IndexQuery, asked: QueryTerms) -> QueryTerms:
    """The terms without the parts of names in camel case that are in a page as they stand.

    The parts are for pages that write the name otherwise; where it is found whole, its parts (`get`, `by`, `name`) only
    bring pages about other things. Measured on 41 questions with such names over six sets of documentation
    (`bench.search_quality`): MRR@10 .948 instead of .911.
    """
    parts: frozenset[str] = frozenset()
    for name, only_parts in asked.names:
        if only_parts and reader.count_visible(query, QueryTerms((name,), ()), 1):
            parts |= only_parts
    return replace(asked, words=tuple(word for word in asked.words if word not in parts)) if parts else asked


def affordable_terms(
    reader: IndexReader, query: IndexQuery, asked: QueryTerms, counter: PassageCounts
) -> tuple[QueryTerms, int]:
    """In a large index: the terms with groups of words that a passage needs, whose passages can all be ranked within
    the row budget, and the row to begin after.

    A rare word is a group; common words are groups of two, or of more where passages with two are too many. When there
    are no such groups, the newest passages that have any word are ranked: only then the second value is above 0. A word
    that is common in all may be rare among the pages that may be found, so a few such words are counted there.
    """
    asked, left = _with_affordable_stems(asked, counter)
    counts = counter.of(asked.words)
    for word in [word for word in asked.words if counts[word] > ROW_BUDGET][:_MAX_RECOUNTED]:
        counts[word] = reader.count_visible(query, QueryTerms((word,), ()), ROW_BUDGET + 1)
    rarest = sorted(asked.words, key=lambda word: counts[word])
    groups: list[tuple[str, ...]] = []
    while rarest and counts[rarest[0]] <= left:
        left -= counts[rarest[0]]
        groups.append((rarest.pop(0),))
    if not rarest:
        return asked, 0
    for size in range(2, _MAX_GROUPED + 1):
        for group in _groups(rarest[:_MAX_GROUPED], size):
            found = reader.count_visible(query, QueryTerms(group, (), needed=(group,)), left + 1)
            if found > left:
                break  # more common words together are in more passages still
            groups.append(group)
            left -= found
        else:
            break
    if groups:
        return replace(asked, needed=tuple(groups)), 0
    common = QueryTerms(tuple(rarest[:_MAX_RECOUNTED]), asked.pairs)
    return common, reader.newest_after(query, common, ROW_BUDGET)


def _with_affordable_stems(asked: QueryTerms, counter: PassageCounts) -> tuple[QueryTerms, int]:
    """The terms with the rarest of their stems, those in at most half of the row budget's passages, and what is left of
    the budget."""
    counts = counter.of([pair for pair in asked.pairs if pair.endswith(MARK)])
    left, dear = ROW_BUDGET, set[str]()
    for stem in sorted(counts, key=counts.__getitem__):
        if left - counts[stem] < ROW_BUDGET // 2:
            dear.add(stem)
        else:
            left -= counts[stem]
    return replace(asked, pairs=tuple(pair for pair in asked.pairs if pair not in dear)), left


def _groups(words: list[str], size: int) -> list[tuple[str, ...]]:
    """The groups of so many of the words, which come rarest first: those of rare words first."""
    return sorted(combinations(words, size), key=lambda group: sum(map(words.index, group)))


def ranked_passages(reader: IndexReader, query: IndexQuery, terms: QueryTerms, after_row: int = 0) -> list[Candidate]:
    """The candidates with any of the terms (or of the query's phrases), best first."""
    return reader.ranked(query, terms, after_row, _MAX_CANDIDATES)
