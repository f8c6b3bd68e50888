"""The candidate passages of a query, by BM25, and how the work of finding them is bounded in a large index.

Runs in a reader thread.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import NamedTuple, Protocol

from gateway.engines.index.query import IndexQuery, QueryTerms
from gateway.engines.words.sections import Passage
from gateway.engines.words.text import MARK


class Candidate(NamedTuple):
    """A passage's row, its page's row, and its score: positive, more is better."""

    row: int
    page: int
    score: float


class PageRow(NamedTuple):
    """A page as it is stored, its content unpacked. `published`: YYYY-MM-DD, if known."""

    url: str
    title: str
    content: str
    published: str | None
    favicon: str | None


class IndexReader(Protocol):
    """Reads of one search. Every method raises what the store's driver raises. `large`: passages from which not all
    with a word can be ranked in time (`affordable_terms`), but as many as `row_budget`."""

    large: int
    row_budget: int

    def passage_total(self, limit: int) -> int:
        """How many passages there are, not counted past `limit`."""
        ...

    def counts(self, words: Sequence[str], limit: int) -> dict[str, int]:
        """In how many passages of all owners each word is, not counted past `limit`."""
        ...

    def count_visible(self, query: IndexQuery, terms: QueryTerms, limit: int) -> int:
        """How many passages of the query's owners have any of the terms, not counted past `limit`."""
        ...

    def newest_after(self, query: IndexQuery, terms: QueryTerms, skipped: int) -> int:
        """The row behind the `skipped` newest passages that `count_visible` counts; 0 when there are not so many."""
        ...

    def ranked(self, query: IndexQuery, terms: QueryTerms, after_row: int, limit: int) -> list[Candidate]:
        """The best passages by BM25 (`bm25`) with any of the terms, or of the query's phrases, that the query's owners
        and conditions allow and whose rows are above `after_row`; best first."""
        ...

    def visible_near(self, query: IndexQuery) -> dict[int, int]:
        """Of the query's near passages those that its owners and conditions allow: row to row of the page."""
        ...

    def without_vector(self, rows: Sequence[int]) -> set[int]:
        """Those of the passages that wait for their vector."""
        ...

    def names(self, pages: Sequence[int]) -> list[tuple[int, str, str]]:
        """Row, address and title of the pages."""
        ...

    def page(self, row: int, not_before: float) -> PageRow | None:
        """A page; None for one that is gone, older than `not_before` (Unix time) or damaged."""
        ...

    def passages(self, rows: Sequence[int]) -> list[Passage]:
        """The passages, in the order of their rows; those that are gone are left out."""
        ...

    def passage_counts(self, pages: Sequence[int]) -> dict[int, int]:
        """How many passages each of the pages has."""
        ...

    def passage_words(self, rows: Sequence[int]) -> list[tuple[int, str, str, str]]:
        """Row, title, headings and text of the passages as they are searched; those that are gone are left out."""
        ...


class StoredPages:
    """The pages of a reader that were fetched at or after `not_before` (Unix time), kept as they are read."""

    def __init__(self, reader: IndexReader, not_before: float) -> None:
        self._reader = reader
        self._not_before = not_before
        self._read: dict[int, PageRow | None] = {}

    def read(self, row: int) -> PageRow | None:
        """A page; None for one that is gone, has expired or is damaged."""
        if row not in self._read:
            self._read[row] = self._reader.page(row, self._not_before)
        return self._read[row]


_MAX_CANDIDATES = 300
"""Passages that are ranked."""

_MAX_RECOUNTED = _MAX_GROUPED = 4
"""Words counted once more within the caller's pages, and words that groups
are made of. Chosen for 60 ms of CPU at the 95th percentile over 100,000 pages (`bench.index`); double misses that.
Measured with every index taken for a large one, 125 questions over two sets of documentation: MRR@10 .702 without a
budget, .697 with this one, .683 with 3,000 rows, .625 with 6,000 rows of the rarest words alone, as before."""


_NEXT_SHARE = 0.3
_NEXT_PASSAGES = 2
"""Share and number of the further passages in a page's rank, by words and by vectors. Measured as above, by words: the
best passage alone gives MRR@10 .70 and .67 (80 and 60 questions), these .74 and .78; a share of .5 is .01 below on
both. By vectors alone: .680, .784 and .813 without (sets as in _NEAR_FLOOR), .734, .802 and .811 with them."""

COUNTED_PASSAGES = 1 + _NEXT_PASSAGES
_LACKING_SHARE = 0.5
"""Share of the best passage's score that a page of one or two passages has for each that it lacks: at 0 longer pages
gain up to .6 of that score before it. Chosen on 192 questions and 67 further messages over 23 sites
(`bench.search_quality`): MRR@10 of the questions .772 instead of .770, how-to .836 instead of .824, of messages .839
instead of .836, and no kind is below; at .9 .764."""


@dataclass(slots=True)
class RankedPage:
    """`passages` best first. `cosine`: of its nearest passage, 0 when it was found by words alone."""

    row: int
    passages: list[Candidate] = field(default_factory=list)
    rank: float = 0.0
    cosine: float = 0.0

    def order(self) -> tuple[float, float, int]:
        """A sort key, best first; pages of one rank by their best passages."""
        return -self.rank, -max((each.score for each in self.passages), default=0.0), self.row

    def strength(self, size: int = COUNTED_PASSAGES) -> float:
        """The score of the best passage and a share of the next ones. `size`: the number of the page's passages; a page
        that has no next ones is taken to have such of half the score."""
        scores = [each.score for each in self.passages[:COUNTED_PASSAGES]]
        lacking = max(COUNTED_PASSAGES - size, 0)
        return scores[0] + _NEXT_SHARE * (sum(scores[1:]) + _LACKING_SHARE * lacking * scores[0])

    def near_strength(self, furthest: float) -> float:
        """As `strength`, of cosines: a passage that is not among the near ones counts as the furthest of these, but at
        least half of the best. Counted as nothing, pages of one near passage are behind long ones: MRR@10 by vectors
        alone .723, .772 and .793 instead of .734, .802 and .811 (sets as in _NEAR_FLOOR)."""
        best, *others = [each.score for each in self.passages[:COUNTED_PASSAGES]]
        lacking = _NEXT_PASSAGES - len(others)
        return best + _NEXT_SHARE * (sum(others) + lacking * max(furthest, _LACKING_SHARE * best))


class PassageCounts:
    """How many passages have a word, not counted past the row budget. Each word is counted once in a search."""

    def __init__(self, reader: IndexReader) -> None:
        self._reader = reader
        self._counts: dict[str, int] = {}

    def of(self, words: Iterable[str]) -> dict[str, int]:
        """Word to the number of passages with it, at most the row budget and one."""
        wanted = list(words)
        if missing := [word for word in wanted if word not in self._counts]:
            self._counts.update(self._reader.counts(missing, self._reader.row_budget + 1))
        return {word: self._counts[word] for word in wanted}


def present_stems(counter: PassageCounts, asked: QueryTerms) -> QueryTerms:
    """The terms without the stems that no passage has: they are looked up in case pages in that language are there."""
    stems = [pair for pair in asked.pairs if pair.endswith(MARK)]
    if not stems:
        return asked
    absent = {stem for stem, count in counter.of(stems).items() if not count}
    return replace(asked, pairs=tuple(pair for pair in asked.pairs if pair not in absent))


def affordable_terms(
    reader: IndexReader, query: IndexQuery, asked: QueryTerms, counter: PassageCounts
) -> tuple[QueryTerms, int]:
    """In a large index: the terms with groups of words that a passage needs, whose passages can all be ranked within
    the row budget, and the row to begin after.

    A rare word is a group; common words are groups of two, or of more where passages with two are too many. When there
    are no such groups, the newest passages that have any word are ranked: only then the second value is above 0. A word
    that is common in all may be rare among the pages that may be found, so a few such words are counted there.
    """
    asked, left = _with_affordable_stems(asked, counter, reader.row_budget)
    counts = counter.of(asked.words)
    for word in [word for word in asked.words if counts[word] > reader.row_budget][:_MAX_RECOUNTED]:
        counts[word] = reader.count_visible(query, QueryTerms((word,), ()), reader.row_budget + 1)
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
    return common, reader.newest_after(query, common, reader.row_budget)


def _with_affordable_stems(asked: QueryTerms, counter: PassageCounts, budget: int) -> tuple[QueryTerms, int]:
    """The terms with the rarest of their stems, those in at most half of the row budget's passages, and what is left of
    the budget."""
    counts = counter.of([pair for pair in asked.pairs if pair.endswith(MARK)])
    left, dear = budget, set[str]()
    for stem in sorted(counts, key=counts.__getitem__):
        if left - counts[stem] < budget // 2:
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
