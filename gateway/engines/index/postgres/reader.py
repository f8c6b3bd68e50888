"""The reads of a search in PostgreSQL, for ranking (`engines.index.candidates`). Runs in a thread, in one transaction.

Passages are found by a GIN index over their words; BM25 (`engines.index.signals`) is computed over their frequencies.
Two things differ from SQLite: the occurrences of a common phrase (`terms`), and in a large index words that more than
`ROW_BUDGET` passages have count as rare as if so many had them.
"""

import zlib
from collections.abc import Sequence
from typing import Any

from gateway.engines.answer.foreign_stems import MARK
from gateway.engines.answer.passages import Passage
from gateway.engines.answer.tokens import CJK, WORD, bigrams, fold, joined_name_parts
from gateway.engines.index.candidates import ROW_BUDGET, Candidate, PageRow
from gateway.engines.index.postgres.connections import Database
from gateway.engines.index.postgres.statistics import Statistics
from gateway.engines.index.postgres.terms import PHRASE_LABELS, Term, frequency_sql
from gateway.engines.index.postgres.tokens import Tokenizer, cjk_word, storable
from gateway.engines.index.query import IndexQuery, QueryTerms, conditions
from gateway.engines.index.rows import PageText, search_row, unpacked
from gateway.engines.index.signals import idf, norm_sql, term_sql

_DAY = "coalesce(published, to_char(to_timestamp(fetched_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD'))"


class PostgresReader:
    """Implements `reader.IndexReader`. Every method raises psycopg.Error."""

    def __init__(self, connection: Database, tokenizer: Tokenizer, statistics: Statistics) -> None:
        self._connection = connection
        self._tokenizer = tokenizer
        self._statistics = statistics

    def passage_total(self, limit: int) -> int:
        """See IndexReader."""
        return min(self._statistics.totals(self._connection).passages, limit)

    def counts(self, words: Sequence[str], limit: int) -> dict[str, int]:
        """See IndexReader."""
        terms = dict(zip(words, self._terms(words), strict=True))
        queries = {word: term.query for word, term in terms.items() if term.words}
        counts = self._statistics.counts(self._connection, list(dict.fromkeys(queries.values())), limit)
        return {word: min(counts[queries[word]], limit) if word in queries else 0 for word in words}

    def count_visible(self, query: IndexQuery, terms: QueryTerms, limit: int) -> int:
        """See IndexReader."""
        sql = (
            "SELECT count(*) FROM (SELECT FROM gateway_passages WHERE words @@ %s::tsquery AND owner = ANY(%s)"
            " LIMIT %s) AS bounded"
        )
        row = self._connection.execute(sql, (self._wanted(query, terms)[1], [*query.owners], limit))
        return int((row.fetchone() or (0,))[0])

    def newest_after(self, query: IndexQuery, terms: QueryTerms, skipped: int) -> int:
        """See IndexReader."""
        sql = (
            "SELECT id FROM gateway_passages WHERE words @@ %s::tsquery AND owner = ANY(%s)"
            " ORDER BY id DESC LIMIT 1 OFFSET %s"
        )
        match = self._wanted(query, terms)[1]
        row = self._connection.execute(sql, (match, [*query.owners], skipped)).fetchone()
        return int(row[0]) if row else 0

    def ranked(self, query: IndexQuery, terms: QueryTerms, after_row: int, limit: int) -> list[Candidate]:
        """See IndexReader."""
        wanted, match = self._wanted(query, terms)
        if not match:
            return []
        score, weights = self._score(wanted)
        clauses, values = conditions(query, _DAY)
        pages = " JOIN gateway_pages AS pages ON pages.id = passages.page" if clauses else ""
        totals = self._statistics.totals(self._connection)
        sql = (
            f"WITH found AS MATERIALIZED (SELECT passages.id, passages.page, words, frequencies,"  # noqa: S608
            f" {norm_sql('passages.length', '%s')} AS norm FROM gateway_passages AS passages{pages}"
            f" WHERE words @@ %s::tsquery AND passages.owner = ANY(%s) AND passages.id > %s"
            f"{clauses.replace('?', '%s')})"
            f" SELECT id, page, {score} AS score FROM found ORDER BY score DESC, id LIMIT %s"
        )
        bound = [totals.mean_length, match, [*query.owners], after_row, *map(storable, values), *weights, limit]
        rows = self._connection.execute(sql.encode(), bound)
        return [Candidate(int(row), int(page), float(value)) for row, page, value in rows]

    def visible_near(self, query: IndexQuery) -> dict[int, int]:
        """See IndexReader. There are no vectors here."""
        return {}

    def without_vector(self, rows: Sequence[int]) -> set[int]:
        """See IndexReader. None of them waits for one."""
        return set()

    def names(self, pages: Sequence[int]) -> list[tuple[int, str, str]]:
        """See IndexReader."""
        sql = "SELECT id, url, title FROM gateway_pages WHERE id = ANY(%s)"
        return [(row, url, title) for row, url, title in self._connection.execute(sql, ([*pages],))]

    def page(self, row: int, not_before: float) -> PageRow | None:
        """See IndexReader."""
        sql = "SELECT url, title, content, published, favicon FROM gateway_pages WHERE id = %s AND fetched_at >= %s"
        found = self._connection.execute(sql, (row, not_before)).fetchone()
        if found is None:
            return None
        try:
            return PageRow(found[0], found[1], zlib.decompress(found[2]).decode(), found[3], found[4])
        except (zlib.error, UnicodeDecodeError):
            return None  # one damaged page hides no other

    def passages(self, rows: Sequence[int]) -> list[Passage]:
        """See IndexReader."""
        sql = "SELECT id, first, last, headings FROM gateway_passages WHERE id = ANY(%s)"
        found = {row: more for row, *more in self._connection.execute(sql, ([*rows],))}
        return [
            Passage(found[row][0], found[row][1], tuple(found[row][2].split("\n")) if found[row][2] else ())
            for row in rows
            if row in found
        ]

    def passage_counts(self, pages: Sequence[int]) -> dict[int, int]:
        """See IndexReader."""
        sql = "SELECT id, passages FROM gateway_pages WHERE id = ANY(%s)"
        return dict(self._connection.execute(sql, ([*pages],)).fetchall())

    def passage_words(self, rows: Sequence[int]) -> list[tuple[int, str, str, str]]:
        """See IndexReader. They are not stored, but made again from the page."""
        sql = (
            "SELECT passages.id, first, last, headings, title, content FROM gateway_passages AS passages"
            " JOIN gateway_pages AS pages ON pages.id = passages.page WHERE passages.id = ANY(%s)"
        )
        found: dict[int, tuple[int, str, str, str]] = {}
        for row, first, last, headings, title, packed in self._connection.execute(sql, ([*rows],)):
            content = unpacked(packed)
            passage = Passage(first, last, tuple(headings.split("\n")))
            words = search_row(passage, content, PageText("", "", title, ""), f"{title} {joined_name_parts(title)}")
            found[row] = (row, *words[:3])
        return [found[row] for row in rows if row in found]

    def _terms(self, words: Sequence[str]) -> list[Term]:
        """Each word, CJK pair or foreign stem as a term; one without a letter has no words."""
        plain = [word for word in words if not CJK.search(word) and not word.endswith(MARK)]
        cut = dict(zip(plain, self._tokenizer.phrases(plain), strict=True))
        return [Term(cut[word] if word in cut else (cjk_word(word),)) for word in words]

    def _query_terms(self, terms: QueryTerms) -> list[Term]:
        return list(dict.fromkeys(term for term in self._terms([*terms.words, *terms.pairs]) if term.words))

    def _wanted(self, query: IndexQuery, terms: QueryTerms) -> tuple[list[Term], str]:
        """What is counted, and the text of a tsquery that finds it: passages with any of the terms, or with any of the
        query's phrases. Of a CJK phrase all pairs and words must be there: `ranking` looks for the phrase itself."""
        if not query.phrases:
            wanted = self._query_terms(terms)
            if not terms.needed:
                return wanted, " | ".join(term.query for term in wanted)
            groups = [self._terms(group) for group in (*terms.needed, *((pair,) for pair in terms.pairs))]
            either = [" & ".join(term.query for term in group if term.words) for group in groups]
            return wanted, " | ".join(f"({group})" for group in either if group)
        wanted, either = [], []
        for phrase in query.phrases:
            pairs = bigrams(fold(phrase))
            parts = [Term(words, PHRASE_LABELS) for words in self._tokenizer.phrases([phrase])]
            if pairs:
                rest = [word for word in WORD.findall(fold(phrase)) if not CJK.search(word)]
                parts = [Term((cjk_word(pair),)) for pair in pairs] + self._terms(rest)
            if parts := [part for part in parts if part.words]:
                wanted += parts
                either.append("(" + " & ".join(part.query for part in parts) + ")")
        return list(dict.fromkeys(wanted)), " | ".join(either)

    def _score(self, terms: Sequence[Term]) -> tuple[str, list[Any]]:
        """SQL for the BM25 score of a row of `found`, and its values."""
        totals = self._statistics.totals(self._connection)
        counts = self._statistics.counts(self._connection, [term.query for term in terms], ROW_BUDGET + 1)
        parts: list[str] = []
        values: list[Any] = []
        for term in terms:
            frequency, bound = frequency_sql(term, counts[term.query])
            parts.append(term_sql("%s", frequency, "norm"))
            values += [idf(totals.passages, counts[term.query]), *bound]
        return " + ".join(parts), values
