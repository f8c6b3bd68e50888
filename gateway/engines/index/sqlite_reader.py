"""Reads candidates and passages for a search from the index's file."""

import sqlite3
import zlib
from collections.abc import Sequence

from gateway.engines.index.candidates import Candidate, PageRow
from gateway.engines.index.query import IndexQuery, QueryTerms, conditions, match_expression, quoted
from gateway.engines.index.signals import WEIGHTS
from gateway.engines.words.sections import Passage

LARGE_INDEX = 40_000
"""Passages from which not all with a word are ranked."""
_FTS5_WEIGHTS = ", ".join(map(str, WEIGHTS.values()))
_DAY = "coalesce(published, date(fetched_at, 'unixepoch'))"


class SqliteReader:
    """Implements `candidates.IndexReader` on a connection. Every method raises sqlite3.Error."""

    large = LARGE_INDEX
    row_budget = 4_000

    def __init__(self, connection: sqlite3.Connection, owners: Sequence[str]) -> None:
        self._connection = connection
        self._owners = owners
        self._has_others = self._is_one_of_others()

    def passage_total(self, limit: int) -> int:
        """See IndexReader."""
        return self._bounded_count("SELECT 1 FROM passages", (), limit)

    def counts(self, words: Sequence[str], limit: int) -> dict[str, int]:
        """See IndexReader."""
        return {word: self._matching(quoted(word), limit) for word in words}

    def count_visible(self, query: IndexQuery, terms: QueryTerms, limit: int) -> int:
        """See IndexReader."""
        return self._matching(self._match(query, terms), limit)

    def newest_after(self, query: IndexQuery, terms: QueryTerms, skipped: int) -> int:
        """See IndexReader."""
        sql = "SELECT rowid FROM passage_search WHERE passage_search MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"
        row = self._connection.execute(sql, (self._match(query, terms), skipped)).fetchone()
        return int(row[0]) if row else 0

    def ranked(self, query: IndexQuery, terms: QueryTerms, after_row: int, limit: int) -> list[Candidate]:
        """See IndexReader."""
        clauses, values = conditions(query, _DAY)
        pages = " JOIN pages ON pages.id = passages.page" if clauses else ""
        sql = (
            f"SELECT passage_search.rowid, passages.page, -bm25(passage_search, {_FTS5_WEIGHTS}) AS s"  # noqa: S608
            f" FROM passage_search JOIN passages ON passages.id = passage_search.rowid{pages}"
            f" WHERE passage_search MATCH ? AND passage_search.rowid > ? AND passages.page > 0{clauses}"
            " ORDER BY s DESC LIMIT ?"
        )
        rows = self._connection.execute(sql, [self._match(query, terms), after_row, *values, limit])
        return [Candidate(int(row), int(page), float(score)) for row, page, score in rows]

    def visible_near(self, query: IndexQuery) -> dict[int, int]:
        """See IndexReader."""
        clauses, values = conditions(query, _DAY)
        near, owners = _marks(query.near), _marks(query.owners)
        sql = (
            "SELECT passages.id, passages.page FROM passages JOIN pages ON pages.id = passages.page"  # noqa: S608
            f" WHERE passages.id IN ({near}) AND pages.owner IN ({owners}){clauses}"
        )
        rows = self._connection.execute(sql, [*(row for row, _ in query.near), *query.owners, *values])
        return {int(row): int(page) for row, page in rows}

    def without_vector(self, rows: Sequence[int]) -> set[int]:
        """See IndexReader."""
        sql = f"SELECT id FROM passages WHERE is_embedded = 0 AND id IN ({_marks(rows)})"  # noqa: S608 - question marks
        return {int(row) for (row,) in self._connection.execute(sql, list(rows))}

    def names(self, pages: Sequence[int]) -> list[tuple[int, str, str]]:
        """See IndexReader."""
        sql = f"SELECT id, url, title FROM pages WHERE id IN ({_marks(pages)})"  # noqa: S608 - question marks only
        return self._connection.execute(sql, list(pages)).fetchall()

    def page(self, row: int, not_before: float) -> PageRow | None:
        """See IndexReader."""
        sql = (
            "SELECT url, title, content, published, favicon FROM pages"  # noqa: S608 - question marks only
            f" WHERE id = ? AND fetched_at >= ? AND owner IN ({_marks(self._owners)})"
        )
        found = self._connection.execute(sql, (row, not_before, *self._owners)).fetchone()
        if found is None:
            return None
        try:
            content = zlib.decompress(found[2]).decode()
        except (zlib.error, UnicodeDecodeError):
            return None  # one damaged page hides no other
        return PageRow(found[0], found[1], content, found[3], found[4])

    def _is_one_of_others(self) -> bool:
        """Whether there is a page that the owners may not find: one before, between or behind theirs in the index."""
        names = sorted(self._owners)
        between = ["owner > ? AND owner < ?"] * (len(names) - 1)
        sql = f"SELECT 1 FROM pages WHERE {' OR '.join(['owner < ?', *between, 'owner > ?'])} LIMIT 1"  # noqa: S608
        return self._connection.execute(sql, [name for name in names for _ in range(2)]).fetchone() is not None

    def _match(self, query: IndexQuery, terms: QueryTerms) -> str:
        """See `match_expression`. Where all pages are the owners', FTS5 need not read that of each passage again: in
        four fifths of the time. `page` shows theirs alone in any case."""
        return match_expression(query, terms, with_owners=self._has_others)

    def passages(self, rows: Sequence[int]) -> list[Passage]:
        """See IndexReader."""
        sql = "SELECT first, last, headings FROM passages WHERE id = ?"
        found = [self._connection.execute(sql, (row,)).fetchone() for row in rows]
        return [
            Passage(start, end, tuple(headings.split("\n")) if headings else ())
            for start, end, headings in filter(None, found)
        ]

    def passage_counts(self, pages: Sequence[int]) -> dict[int, int]:
        """See IndexReader."""
        sql = f"SELECT page, count(*) FROM passages WHERE page IN ({_marks(pages)}) GROUP BY page"  # noqa: S608
        return dict(self._connection.execute(sql, list(pages)).fetchall())

    def passage_words(self, rows: Sequence[int]) -> list[tuple[int, str, str, str]]:
        """See IndexReader."""
        sql = "SELECT rowid, title, path, body FROM passage_search WHERE rowid = ?"
        return list(filter(None, (self._connection.execute(sql, (row,)).fetchone() for row in rows)))

    def _matching(self, match: str, limit: int) -> int:
        return self._bounded_count("SELECT 1 FROM passage_search WHERE passage_search MATCH ?", (match,), limit)

    def _bounded_count(self, rows: str, values: Sequence[str | int], limit: int) -> int:
        sql = f"SELECT count(*) FROM ({rows} LIMIT ?)"  # noqa: S608 - constants only
        return int(self._connection.execute(sql, (*values, limit)).fetchone()[0])


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))
