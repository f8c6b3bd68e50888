"""The candidate passages of a query, by BM25, and how the work of finding them is bounded in a large index.

Runs in a reader thread on one connection. Knows no pages beyond their rows and no absolute scores.
"""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from gateway.engines.index.query import IndexQuery, QueryTerms, conditions, match_expression, quoted

_WEIGHTS = "4.0, 2.0, 1.0, 2.0, 1.0, 0.0"
"""BM25 weights of title, headings, body, address, CJK pairs, owner. Measured (`bench.search_quality`): 2, 2, 1, 1 and
6, 3,
1, 3 for the first four change MRR@10 by at most .02 on either of two sets of questions."""

_MAX_CANDIDATES = 300
"""Passages that are ranked. Chosen: a page of a manual has up to 100 passages with a common word, and ten pages are
wanted; at half, long pages push others out; at double, finding their pages costs as much as the search."""

_ROW_BUDGET = 7_000
_MAX_RECOUNTED = 4
"""Rows that BM25 may rank in a large index, and words counted once more within the caller's pages. Chosen for 60 ms of
CPU at the 95th percentile over 100,000 pages (`bench.index`): half ranks fewer common words, double misses the
limit."""


class Candidate(NamedTuple):
    """A passage's row, its page's row, and its score: positive, more is better."""

    row: int
    page: int
    score: float


def bounded_count(connection: sqlite3.Connection, rows: str, values: Sequence[str], limit: int) -> int:
    """How many rows the query has, not counted past `limit`."""
    sql = f"SELECT count(*) FROM ({rows} LIMIT ?)"  # noqa: S608 - constants only
    return int(connection.execute(sql, (*values, limit)).fetchone()[0])


class PassageCounts:
    """How many passages have a word, not counted past the row budget. Each word is counted once in a search."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._counts: dict[str, int] = {}

    def of(self, word: str) -> int:
        """The number of passages with the word, at most the row budget and one."""
        if word not in self._counts:
            self._counts[word] = self.matching(quoted(word))
        return self._counts[word]

    def matching(self, match: str) -> int:
        """The number of passages that an FTS5 expression finds, bounded likewise."""
        sql = "SELECT 1 FROM passage_search WHERE passage_search MATCH ?"
        return bounded_count(self._connection, sql, (match,), _ROW_BUDGET + 1)


def affordable_terms(
    connection: sqlite3.Connection, query: IndexQuery, asked: QueryTerms, counter: PassageCounts
) -> tuple[QueryTerms, int]:
    """In a large index: the rarest words, as many as can be ranked within the row budget, and the row to begin after.

    Words that nearly every passage has add little to a ranking and cost the most. When all words are common, the newest
    passages that have them are ranked: only then the second value is above 0. A word that is common in all may be rare
    among the pages that may be found, so a few such words are counted there.
    """
    counts = {word: counter.of(word) for word in asked.words}
    for word in [word for word in asked.words if counts[word] > _ROW_BUDGET][:_MAX_RECOUNTED]:
        counts[word] = counter.matching(match_expression(query, QueryTerms((word,), ())))
    rarest = sorted(asked.words, key=lambda word: counts[word])
    if counts[rarest[0]] > _ROW_BUDGET:
        common = QueryTerms(tuple(rarest[:_MAX_RECOUNTED]), asked.pairs)
        sql = "SELECT rowid FROM passage_search WHERE passage_search MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"
        row = connection.execute(sql, (match_expression(query, common), _ROW_BUDGET)).fetchone()
        return common, int(row[0]) if row else 0
    spent = 0
    words: list[str] = []
    for word in rarest:
        spent += counts[word]
        if words and spent > _ROW_BUDGET:
            break
        words.append(word)
    return QueryTerms(tuple(words), asked.pairs), 0


def ranked_passages(
    connection: sqlite3.Connection, query: IndexQuery, terms: QueryTerms, after_row: int = 0
) -> list[Candidate]:
    """The candidates with any of the terms (or of the query's phrases), best first."""
    clauses, values = conditions(query)
    if after_row:
        clauses = f" AND passage_search.rowid > ?{clauses}"
        values = [after_row, *values]
    pages = " JOIN pages ON pages.id = passages.page" if "host" in clauses or "coalesce" in clauses else ""
    sql = (
        f"SELECT passage_search.rowid, passages.page, -bm25(passage_search, {_WEIGHTS}) AS s"  # noqa: S608 - constants
        f" FROM passage_search JOIN passages ON passages.id = passage_search.rowid{pages}"
        f" WHERE passage_search MATCH ? AND passages.page > 0{clauses} ORDER BY s DESC LIMIT {_MAX_CANDIDATES}"
    )
    rows = connection.execute(sql, [match_expression(query, terms), *values])
    return [Candidate(int(row), int(page), float(score)) for row, page, score in rows]
