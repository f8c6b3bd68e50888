"""The search index in PostgreSQL, for several gateways with one index: the same pages, words and ranking as in SQLite.

Candidates come from PostgreSQL, by its text search and, with the extension pgvector, by vectors; everything after them
is `engines.index.ranking`. While the database is away, searches fail at once, pages are not stored, and everything
else goes on (`postgres_connections`).
"""

import contextlib
import hashlib
import heapq
import json
import secrets
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from gateway.domain import Json
from gateway.engines.embedding.embedder import DIMENSIONS, VECTOR
from gateway.engines.index.candidates import Candidate, PageRow
from gateway.engines.index.database import SEARCH_COLUMNS
from gateway.engines.index.page_rows import IndexedPage, unpacked
from gateway.engines.index.passage_rows import MOST_PAGE_CHARS, PageText, search_row
from gateway.engines.index.port import Turn
from gateway.engines.index.postgres_connections import Connections, Database, IndexUnavailable, Times
from gateway.engines.index.query import IndexHit, IndexQuery, QueryTerms, conditions
from gateway.engines.index.ranking import run
from gateway.engines.index.signals import WEIGHTS, bm25, idf
from gateway.engines.index.vector_rows import PassageText, passage_text
from gateway.engines.words.sections import Passage, each_passage
from gateway.engines.words.text import CJK, MARK, WORD, bigrams, fold, joined_name_parts
from gateway.errors import EngineMissing
from gateway.resilience.bounded_cache import BoundedCache

LABELS = {"title": "A", "path": "B", "body": "D", "url": "C", "cjk": "D"}
"""The label (of PostgreSQL's four) that tells a column in a vector. CJK pairs are told apart by their prefix."""
_CJK = "cjk:"
_MOST_TOKEN_CHARS = 200
"""Beginning of a word that is kept."""
_COLUMN_GAP = 2
"""Between the last place of a column and the first of the next: no phrase reaches from one to the other."""


@dataclass(frozen=True, slots=True)
class PassageWords:
    """`vector`: text of a tsvector. `frequencies`: word to the weights of the columns it stands in, added up for each
    occurrence (see `bm25`). `length`: all tokens."""

    vector: str
    frequencies: dict[str, float]
    length: int


class Tokenizer:
    """Cuts texts as the SQLite index does. Its memory is freed with it."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._database.execute(f"CREATE VIRTUAL TABLE words USING fts5({SEARCH_COLUMNS}, content = '')")
        self._database.execute("CREATE VIRTUAL TABLE places USING fts5vocab(words, instance)")

    def passages(self, rows: Sequence[tuple[str, ...]]) -> list[PassageWords]:
        """The words of rows as `rows.search_row` makes them."""
        return [_passage_words(places) for places in self._places(rows)]

    def phrases(self, texts: Sequence[str]) -> list[tuple[str, ...]]:
        """The words of each text, in order: one, or several for a name such as `a_b`; none for punctuation alone."""
        rows = [("", "", text, "", "", "") for text in texts]
        return [tuple(word for _, word in places["body"]) for places in self._places(rows)]

    def _places(self, rows: Sequence[tuple[str, ...]]) -> list[dict[str, list[tuple[int, str]]]]:
        """For each row: column to the places in it and the words there, in order."""
        found: list[dict[str, list[tuple[int, str]]]] = [{column: [] for column in WEIGHTS} for _ in rows]
        self._database.execute("BEGIN")
        self._database.executemany(
            "INSERT INTO words (rowid, title, path, body, url, cjk, owner) VALUES (?,?,?,?,?,?,?)",
            [(number, *row) for number, row in enumerate(rows, 1)],
        )
        for word, row, column, place in self._database.execute('SELECT term, doc, col, "offset" FROM places'):
            found[row - 1][column].append((place, word[:_MOST_TOKEN_CHARS]))
        self._database.execute("INSERT INTO words (words) VALUES ('delete-all')")
        self._database.execute("COMMIT")
        for columns in found:
            for places in columns.values():
                places.sort()
        return found


def storable(text: str) -> str:
    """The text without what PostgreSQL's texts cannot hold: U+0000 and lone surrogates."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()


def cjk_word(pair: str) -> str:
    """The word under which the tsvector holds a CJK pair or a stem of another language."""
    return _CJK + pair


def lexeme(word: str) -> str:
    """A word in the text of a tsvector or tsquery."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def _passage_words(columns: dict[str, list[tuple[int, str]]]) -> PassageWords:
    frequencies: dict[str, float] = {}
    positions: dict[str, list[str]] = {}
    base = 1
    for column, label in LABELS.items():
        places = columns[column]
        for place, word in places:
            name = cjk_word(word) if column == "cjk" else word
            frequencies[name] = frequencies.get(name, 0.0) + WEIGHTS[column]
            positions.setdefault(name, []).append(f"{base + place}{label}")
        base += (places[-1][0] if places else 0) + _COLUMN_GAP
    vector = " ".join(f"{lexeme(word)}:{','.join(each)}" for word, each in positions.items())
    return PassageWords(vector, frequencies, sum(map(len, columns.values())))


UPGRADE_LOCK, UPKEEP_LOCK = 7_203_451_001, 7_203_451_002
"""Numbers of advisory locks: who upgrades, and who deletes old pages."""
STEPS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE gateway_pages (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, url text COLLATE "C" NOT NULL,
          url_digest bytea NOT NULL, owner text COLLATE "C" NOT NULL, host text COLLATE "C" NOT NULL,
          title text NOT NULL, published text COLLATE "C", fetched_at double precision NOT NULL, favicon text,
          hash text NOT NULL, content bytea NOT NULL, passages integer NOT NULL, tokens bigint NOT NULL
        )""",
        "ALTER TABLE gateway_pages ALTER content SET STORAGE EXTERNAL",  # it is compressed already
        "CREATE UNIQUE INDEX gateway_pages_by_url ON gateway_pages (url_digest, owner)",
        "CREATE INDEX gateway_pages_by_age ON gateway_pages (fetched_at)",
        "CREATE INDEX gateway_pages_sizes ON gateway_pages (passages, tokens)",
        """CREATE TABLE gateway_passages (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
          page bigint NOT NULL REFERENCES gateway_pages ON DELETE CASCADE, owner text COLLATE "C" NOT NULL,
          first integer NOT NULL, last integer NOT NULL, headings text NOT NULL,
          words tsvector NOT NULL, frequencies jsonb NOT NULL, length integer NOT NULL
        )""",
        "CREATE INDEX gateway_passages_by_page ON gateway_passages (page)",
        # fastupdate = off: a list of pending words would be read by every search until it is merged
        "CREATE INDEX gateway_passages_by_word ON gateway_passages USING gin (words) WITH (fastupdate = off)",
    ),
    # 2: what a passage is searched by, for ranking; passages of older versions have none
    (
        "ALTER TABLE gateway_passages ADD COLUMN body text",
        "ALTER TABLE gateway_passages ADD COLUMN is_embedded boolean NOT NULL DEFAULT false",
        "CREATE INDEX gateway_passages_to_embed ON gateway_passages (id) WHERE NOT is_embedded",
    ),
)


_VECTOR_TABLES = (
    "CREATE EXTENSION IF NOT EXISTS vector",
    f"""CREATE TABLE IF NOT EXISTS gateway_vectors (
      passage bigint PRIMARY KEY REFERENCES gateway_passages ON DELETE CASCADE, owner text COLLATE "C" NOT NULL,
      vector vector({DIMENSIONS}) NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS gateway_vectors_near ON gateway_vectors USING hnsw (vector vector_cosine_ops)",
    """CREATE TABLE IF NOT EXISTS gateway_vector_model (
      one boolean PRIMARY KEY DEFAULT true CHECK (one), version text, maker text, until double precision
    )""",
    "INSERT INTO gateway_vector_model DEFAULT VALUES ON CONFLICT DO NOTHING",
)
"""Of the extension pgvector, where the database has it and lets the gateway use it: version 0.8 or newer."""
_CLAIM_S = 60.0
"""How long a gateway that makes vectors may be silent until another one takes over."""


def prepare_vectors(connection: Database) -> bool:
    """Makes the tables of vectors; whether there are any. Raises psycopg.Error where the connection is lost."""
    import psycopg  # noqa: PLC0415 - optional extra

    sql = b"SELECT 1 FROM pg_available_extensions WHERE name = 'vector' AND default_version >= '0.8'"
    if connection.execute(sql).fetchone() is None:
        return False
    try:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (UPGRADE_LOCK,))
            for statement in _VECTOR_TABLES:
                connection.execute(statement.encode())
    except psycopg.errors.InsufficientPrivilege:
        return False
    return True


def upgrade(connection: Database) -> None:
    """Runs the steps that are missing. Raises psycopg.Error, IndexUnavailable."""
    connection.execute(b"SET client_min_messages = 'warning'")
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (UPGRADE_LOCK,))
        connection.execute(b"CREATE TABLE IF NOT EXISTS gateway_index (version integer NOT NULL)")
        row = connection.execute(b"SELECT version FROM gateway_index").fetchone()
        version = int(row[0]) if row else 0
        if version > len(STEPS):
            raise IndexUnavailable(f"was written by a newer gateway (schema {version}, this one knows {len(STEPS)})")
        for step in STEPS[version:]:
            for statement in step:
                connection.execute(statement.encode())
        if row is None:
            connection.execute("INSERT INTO gateway_index (version) VALUES (%s)", (len(STEPS),))
        elif version < len(STEPS):
            connection.execute("UPDATE gateway_index SET version = %s", (len(STEPS),))


_ROW_BUDGET = 2_000
"""Passages that are ranked of an index of more: PostgreSQL reads each from its table. Measured on 80 questions: MRR@10
.780, as by SQLite; with 1,500 .769."""
_KEPT_S = 30.0
_MOST_WORDS = 20_000
"""Words whose counts are kept, some 3 MB."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Number and mean length (in tokens) of all passages; the mean is above 0."""

    passages: int
    mean_length: float

    @property
    def is_large(self) -> bool:
        """Whether words are counted up to a limit only, see `ranking`."""
        return self.passages > _ROW_BUDGET


class Statistics:
    """Counts of one database."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._totals: BoundedCache[str, Totals] = BoundedCache(1, ttl_s=_KEPT_S)
        self._counts: BoundedCache[str, int] = BoundedCache(_MOST_WORDS, ttl_s=_KEPT_S)

    def changed(self) -> None:
        """This gateway has stored or deleted pages."""
        with self._lock:
            totals = self._totals.get("")
            if totals is None or not totals.is_large:
                self._forget()

    def totals(self, connection: Database) -> Totals:
        """Raises psycopg.Error."""
        with self._lock:
            known = self._totals.get("")
        if known is not None:
            return known
        row = connection.execute(
            "SELECT coalesce(sum(passages), 0)::float8, coalesce(sum(tokens), 0)::float8 FROM gateway_pages"
        ).fetchone()
        assert row is not None
        totals = Totals(int(row[0]), max(row[1], 1.0) / max(row[0], 1.0))
        with self._lock:
            self._totals.put("", totals)
        return totals

    def counts(self, connection: Database, queries: Sequence[str], limit: int) -> dict[str, int]:
        """Text of a tsquery to the number of passages that match it; in a large index not counted past `limit`.

        Raises psycopg.Error.
        """
        with self._lock:
            known = {query: self._counts.get(query) for query in queries}
        missing = [query for query, count in known.items() if count is None]
        found: dict[str, int] = {}
        if missing:
            bound = limit if self.totals(connection).is_large else _ROW_BUDGET + 1
            one = "(SELECT count(*) FROM (SELECT FROM gateway_passages WHERE words @@ %s::tsquery LIMIT %s) AS bounded)"
            sql = f"SELECT {', '.join([one] * len(missing))}"
            row = connection.execute(sql.encode(), [value for query in missing for value in (query, bound)]).fetchone()
            found = dict(zip(missing, row or (), strict=True))
        with self._lock:
            for query, count in found.items():
                self._counts.put(query, count)
        return {query: found[query] if count is None else count for query, count in known.items()}


PHRASE_LABELS = "ABD"
"""Title, headings and text: where an exact phrase may stand."""


@dataclass(frozen=True, slots=True)
class Term:
    """`words` one after another, as the vectors have them; `labels`: in columns with these labels only, empty for
    all."""

    words: tuple[str, ...]
    labels: str = ""

    @property
    def query(self) -> str:
        """The text of a tsquery."""
        suffix = f":{self.labels}" if self.labels else ""
        return "(" + " <-> ".join(f"{lexeme(word)}{suffix}" for word in self.words) + ")"


def _frequency_sql(term: Term) -> tuple[str, list[Any]]:
    """SQL for the weights of the columns of a row in which the term stands, added up for each occurrence, and its
    values. A term of several words counts as often as the rarest of them, where they stand together."""
    each = ", ".join(["coalesce((frequencies ->> %s::text)::float8, 0)"] * len(term.words))
    if len(term.words) == 1 and not term.labels:
        return each, [*term.words]
    return f"CASE WHEN words @@ %s::tsquery THEN least({each}) ELSE 0 END", [term.query, *term.words]


_SWEPT_AT_ONCE = 1_000
"""Most pages deleted by one sweep: twice as many as come between two sweeps (`store`), so that an index above its limit
shrinks."""
_DROPPED_AT_ONCE = 20
"""Pages deleted in one transaction."""
_CUT_AT_ONCE = 32
"""Passages whose words are cut together."""


def store_page(connection: Database, page: IndexedPage, tokenizer: Tokenizer) -> None:
    """Writes a page and its passages in place of the owner's older copy; an unchanged one only becomes younger.

    Raises psycopg.Error.
    """
    key = (_digest(page.url), page.owner)
    old = connection.execute("SELECT id, hash FROM gateway_pages WHERE url_digest = %s AND owner = %s", key).fetchone()
    if old is not None and page.hash and old[1] == page.hash:
        connection.execute("UPDATE gateway_pages SET fetched_at = %s WHERE id = %s", (page.fetched_at, old[0]))
        return
    packed = zlib.compress(page.content.encode("utf-8", "replace"))
    rows = list(_passage_rows(page, tokenizer))
    values = (
        storable(page.url), *key, urlsplit(page.url).hostname or "", storable(page.title), page.published,
        page.fetched_at, page.favicon and storable(page.favicon), page.hash, packed, len(rows),
        sum(words.length for _, words, _ in rows),
    )  # fmt: skip
    with connection.transaction(), connection.cursor() as cursor:
        stored = cursor.execute(
            "INSERT INTO gateway_pages (url, url_digest, owner, host, title, published, fetched_at, favicon, hash,"
            " content, passages, tokens) VALUES (%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s)"
            " ON CONFLICT (url_digest, owner) DO UPDATE SET title = excluded.title, published = excluded.published,"
            " fetched_at = excluded.fetched_at, favicon = excluded.favicon, hash = excluded.hash,"
            " content = excluded.content, passages = excluded.passages, tokens = excluded.tokens RETURNING id",
            values,
        ).fetchone()
        assert stored is not None
        cursor.execute("DELETE FROM gateway_passages WHERE page = %s", stored)
        columns = "page, owner, first, last, headings, words, frequencies, length, body"
        with cursor.copy(f"COPY gateway_passages ({columns}) FROM STDIN".encode()) as copy:
            for each, words, body in rows:
                headings = storable("\n".join(each.headings))
                copy.write_row(
                    (stored[0], page.owner, each.start, each.end, headings, words.vector, json.dumps(words.frequencies),
                     words.length, body)
                )  # fmt: skip


def _digest(url: str) -> bytes:
    return hashlib.sha256(storable(url).encode()).digest()


def _passage_rows(page: IndexedPage, tokenizer: Tokenizer) -> Iterator[tuple[Passage, PassageWords, str]]:
    """Each passage, its words, and its text as it is searched."""
    content = page.content[:MOST_PAGE_CHARS].encode("utf-8", "replace").decode()
    text = PageText(page.url, page.owner, storable(page.title), content)
    title_words = f"{text.title} {joined_name_parts(text.title)}"
    passages = list(each_passage(content))
    for at in range(0, len(passages), _CUT_AT_ONCE):
        some = passages[at : at + _CUT_AT_ONCE]
        rows = [tuple(map(storable, search_row(each, content, text, title_words))) for each in some]
        yield from zip(some, tokenizer.passages(rows), (row[2] for row in rows), strict=True)


def remove_pages(connection: Database, url: str, owner: str | None) -> int:
    """Deletes the page, and all below it where `url` ends in `/`; of every owner for None. Returns how many.

    Pages that another gateway is storing at this moment stay.
    """
    condition = "url_digest = %s"
    values: list[Any] = [_digest(url)]
    if url.endswith("/"):
        condition, values = "(url_digest = %s OR starts_with(url, %s))", [*values, storable(url)]
    if owner is not None:
        condition, values = f"{condition} AND owner = %s", [*values, owner]
    return _delete(connection, f"WHERE {condition}", values, None)


def sweep(connection: Database, oldest: float, max_pages: int) -> None:
    """Deletes pages fetched before `oldest` and, above `max_pages`, the oldest ones; one gateway at a time does."""
    locked = connection.execute("SELECT pg_try_advisory_lock(%s)", (UPKEEP_LOCK,)).fetchone()
    if locked is None or not locked[0]:
        return
    try:
        counts = connection.execute(
            "SELECT (SELECT count(*) FROM gateway_pages WHERE fetched_at < %s), count(*) FROM gateway_pages", (oldest,)
        ).fetchone()
        assert counts is not None
        surplus = min(max(counts[0], counts[1] - max_pages), _SWEPT_AT_ONCE)
        if surplus > 0:
            _delete(connection, "ORDER BY fetched_at", [], surplus)
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", (UPKEEP_LOCK,))


def _delete(connection: Database, which: str, values: list[Any], most: int | None) -> int:
    """Deletes pages in small transactions, at most `most`. `which`: condition or order of those."""
    chosen = f"SELECT id FROM gateway_pages {which} LIMIT %s FOR UPDATE SKIP LOCKED"  # noqa: S608 - constants only
    sql = f"DELETE FROM gateway_pages WHERE id IN ({chosen})"  # noqa: S608
    deleted = 0
    while most is None or deleted < most:
        count = _DROPPED_AT_ONCE if most is None else min(_DROPPED_AT_ONCE, most - deleted)
        found = connection.execute(sql.encode(), [*values, count]).rowcount
        deleted += found
        if found < count:
            break
    return deleted


def page_counts(connection: Database) -> Json:
    """`{pages, oldest, newest, bytes}`: ages as Unix times, None when empty."""
    row = connection.execute(
        "SELECT count(*), min(fetched_at), max(fetched_at), pg_total_relation_size('gateway_pages')"
        " + pg_total_relation_size('gateway_passages') FROM gateway_pages"
    ).fetchone()
    assert row is not None
    return {"pages": row[0], "oldest": row[1], "newest": row[2], "bytes": int(row[3])}


def some_pages(connection: Database, after: int, count: int) -> list[tuple[int, IndexedPage]]:
    """At most `count` pages with rows above `after`, in the order of their rows. A damaged page comes without text."""
    rows = connection.execute(
        "SELECT id, url, title, content, owner, hash, published, favicon, fetched_at FROM gateway_pages WHERE id > %s"
        " ORDER BY id LIMIT %s",
        (after, count),
    )
    return [(row, IndexedPage(url, title, unpacked(content), *more)) for row, url, title, content, *more in rows]


_MOST_FOUND = 2 * _ROW_BUDGET
"""Passages that are scored: more than the row budget lets a query have."""
_DAY = "coalesce(published, to_char(to_timestamp(fetched_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD'))"


class PostgresReader:
    """Implements `candidates.IndexReader`. Every method raises psycopg.Error."""

    large = row_budget = _ROW_BUDGET

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
        counted = [_frequency_sql(term) for term in wanted]
        clauses, values = conditions(query, _DAY)
        pages = " JOIN gateway_pages AS pages ON pages.id = passages.page" if clauses else ""
        sql = (
            f"SELECT passages.id, passages.page, length, ARRAY[{', '.join(each for each, _ in counted)}]"  # noqa: S608
            f" FROM gateway_passages AS passages{pages} WHERE words @@ %s::tsquery AND passages.owner = ANY(%s)"
            f" AND passages.id > %s{clauses.replace('?', '%s')} ORDER BY passages.id DESC LIMIT %s"
        )
        of_terms = [value for _, each in counted for value in each]
        bound = [*of_terms, match, [*query.owners], after_row, *map(storable, values), _MOST_FOUND]
        rows = self._connection.execute(sql.encode(), bound).fetchall()
        totals = self._statistics.totals(self._connection)
        counts = self._statistics.counts(self._connection, [term.query for term in wanted], _ROW_BUDGET + 1)
        weights = [idf(totals.passages, counts[term.query]) for term in wanted]
        scored = [
            Candidate(int(row), int(page), bm25(weights, frequencies, length / totals.mean_length))
            for row, page, length, frequencies in rows
        ]
        return heapq.nsmallest(limit, scored, key=lambda each: (-each.score, each.row))

    def visible_near(self, query: IndexQuery) -> dict[int, int]:
        """See IndexReader."""
        clauses, values = conditions(query, _DAY)
        sql = (
            "SELECT passages.id, passages.page FROM gateway_passages AS passages"  # noqa: S608 - constants only
            " JOIN gateway_pages AS pages ON pages.id = passages.page"
            f" WHERE passages.id = ANY(%s) AND passages.owner = ANY(%s){clauses.replace('?', '%s')}"
        )
        bound = [[row for row, _ in query.near], [*query.owners], *map(storable, values)]
        return {int(row): int(page) for row, page in self._connection.execute(sql.encode(), bound)}

    def without_vector(self, rows: Sequence[int]) -> set[int]:
        """See IndexReader."""
        sql = "SELECT id FROM gateway_passages WHERE NOT is_embedded AND id = ANY(%s)"
        return {int(row) for (row,) in self._connection.execute(sql, ([*rows],))}

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
        """See IndexReader. Those of passages that 0.3 stored are made again from the page."""
        sql = (
            "SELECT passages.id, first, last, headings, title, body, CASE WHEN body IS NULL THEN content END"
            " FROM gateway_passages AS passages JOIN gateway_pages AS pages ON pages.id = passages.page"
            " WHERE passages.id = ANY(%s)"
        )
        found: dict[int, tuple[int, str, str, str]] = {}
        for row, first, last, headings, title, body, packed in self._connection.execute(sql, ([*rows],)):
            if body is not None:
                found[row] = (row, f"{title} {joined_name_parts(title)}", headings.replace("\n", " "), body)
                continue
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


T = TypeVar("T")
_SWEEP_EVERY = 500
"""Pages added by this process between two sweeps, as in the SQLite index (`engines.index.store`)."""
_NO_VECTORS = "the database has no extension pgvector of version 0.8 or newer: searches go by words"


def _vector_counts(connection: Database) -> Json:
    row = connection.execute(
        "SELECT (SELECT version FROM gateway_vector_model), (SELECT count(*) FROM gateway_vectors),"
        " (SELECT count(*) FROM gateway_passages WHERE NOT is_embedded)"
    ).fetchone()
    assert row is not None
    return {"model": row[0], "count": row[1], "pending": row[2]}


def _adopt_model(connection: Database, version: str) -> bool:
    """Removes the vectors of another model."""
    with connection.transaction():
        sql = "UPDATE gateway_vector_model SET version = %s WHERE version IS DISTINCT FROM %s RETURNING 1"
        if connection.execute(sql, (version, version)).fetchone() is not None:
            connection.execute(b"TRUNCATE gateway_vectors")
            connection.execute(b"UPDATE gateway_passages SET is_embedded = false WHERE is_embedded")
    return True


def _unembedded(connection: Database, count: int) -> list[PassageText]:
    sql = (
        "SELECT passages.id, title, headings, first, last, content FROM gateway_passages AS passages"
        " JOIN gateway_pages AS pages ON pages.id = passages.page WHERE NOT is_embedded"
        " ORDER BY passages.id DESC LIMIT %s"
    )
    return [
        PassageText(row, passage_text(title, headings, unpacked(packed)[first:last]))
        for row, title, headings, first, last, packed in connection.execute(sql, (count,))
    ]


def _store_vectors(connection: Database, rows: Sequence[tuple[PassageText, bytes | None]]) -> None:
    """Stores vectors of the passages that are still there; a page stored anew has new passages."""
    with connection.transaction():
        sql = "UPDATE gateway_passages SET is_embedded = true WHERE id = ANY(%s) RETURNING id, owner"
        owners: dict[int, str] = dict(connection.execute(sql, ([each.passage for each, _ in rows],)).fetchall())
        for each, packed in rows:
            if packed is not None and each.passage in owners:
                scale, *values = VECTOR.unpack(packed)
                connection.execute(
                    "INSERT INTO gateway_vectors (passage, owner, vector) VALUES (%s, %s, %s::vector)"
                    " ON CONFLICT (passage) DO UPDATE SET vector = excluded.vector",
                    (each.passage, owners[each.passage], _literal([scale * value for value in values])),
                )


def _nearest(
    connection: Database, vector: Sequence[float], owners: Sequence[str], count: int
) -> list[tuple[int, float]]:
    literal = _literal(vector)
    with connection.transaction():
        connection.execute(f"SET LOCAL hnsw.ef_search = {int(count)}".encode())
        connection.execute(b"SET LOCAL hnsw.iterative_scan = strict_order")  # other owners' vectors do not use it up
        rows = connection.execute(
            "SELECT passage, 1 - (vector <=> %s::vector) FROM gateway_vectors WHERE owner = ANY(%s)"
            " ORDER BY vector <=> %s::vector LIMIT %s",
            (literal, [*owners], literal, count),
        ).fetchall()
    return [(int(row), float(cosine)) for row, cosine in rows]


def _literal(vector: Sequence[float]) -> str:
    """A vector as pgvector reads it: `[0.1,0.2]`."""
    return f"[{','.join(f'{value:.6g}' for value in vector)}]"


class PostgresIndex:
    """Implements `port.Index` in the database at `url`.

    `max_pages` and `ttl_days` bound number and age of its pages. `now` gives Unix time.
    """

    def __init__(
        self,
        url: str,
        *,
        max_pages: int = 200_000,
        ttl_days: int = 90,
        times: Times | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._max_pages = max_pages
        self._ttl_s = ttl_days * 86_400.0
        self._now = now
        self._connections = Connections(url, self._prepare, times)
        self._has_vectors = False
        self._maker = secrets.token_hex(8)
        self.on_stored: Callable[[], None] | None = None
        self._statistics = Statistics()
        self._local = threading.local()
        self._until_sweep = 0

    @property
    def problem(self) -> str | None:
        """See Index."""
        why = self._connections.problem
        return None if why is None else f"the index's database {why}"

    async def close(self) -> None:
        """See Index. Statements that run are ended."""
        await self._connections.close()

    async def add(self, pages: Sequence[IndexedPage], turn: Turn = nullcontext) -> str | None:
        """See Index. A turn is one page."""
        for page in pages:
            try:
                async with turn():
                    await self._run(lambda connection: store_page(connection, page, self._tokenizer()))  # noqa: B023
            except (IndexUnavailable, EngineMissing) as error:
                return f"the pages were not added to the search index: {error}"
            self._statistics.changed()
        if pages and self.on_stored is not None:
            self.on_stored()
        self._until_sweep -= len(pages)
        if pages and self._until_sweep <= 0:
            self._until_sweep = _SWEEP_EVERY
            with contextlib.suppress(IndexUnavailable):  # the next one does it
                oldest = self._now() - self._ttl_s
                await self._run(lambda connection: sweep(connection, oldest, self._max_pages))
        return None

    async def remove(self, url: str, owner: str | None = None) -> int:
        """See Index. Raises IndexUnavailable, EngineMissing."""
        count = await self._run(lambda connection: remove_pages(connection, url, owner))
        self._statistics.changed()
        return count

    async def search(self, query: IndexQuery) -> list[IndexHit]:
        """See Index. Raises IndexUnavailable, EngineMissing."""
        query = replace(query, not_before=max(query.not_before, self._now() - self._ttl_s))
        return await self._run(lambda connection: self._search(connection, query))

    async def stats(self) -> Json:
        """See Index."""
        counts: Json = {"pages": 0, "oldest": None, "newest": None, "bytes": 0}
        with contextlib.suppress(IndexUnavailable, EngineMissing):
            counts = await self._run(page_counts)
        vectors: Json = {"model": None, "count": 0, "pending": 0, "error": _NO_VECTORS}
        if self._has_vectors:
            with contextlib.suppress(IndexUnavailable, EngineMissing):
                vectors = await self._run(_vector_counts)
        return {**counts, "error": self.problem, "backend": "postgres", "vectors": vectors}

    @property
    def vectors_file(self) -> Path | None:
        """See VectorStore. The database finds the nearest passages itself."""
        return None

    def may_hold_pages(self) -> bool:
        """See VectorStore."""
        return True

    async def claim_vectors(self) -> bool:
        """See VectorStore. A claim lasts _CLAIM_S; without pgvector there is none."""

        def claim(connection: Database) -> bool:
            if not self._has_vectors:
                return False
            now = self._now()
            sql = (
                "UPDATE gateway_vector_model SET maker = %s, until = %s"
                " WHERE maker IS NULL OR maker = %s OR until < %s RETURNING 1"
            )
            return connection.execute(sql, (self._maker, now + _CLAIM_S, self._maker, now)).fetchone() is not None

        return await self._run(claim)

    async def adopt_vectors(self, version: str) -> bool:
        """See VectorStore."""
        return await self._run(lambda connection: _adopt_model(connection, version))

    async def unembedded(self, count: int) -> list[PassageText]:
        """See VectorStore."""
        return await self._run(lambda connection: _unembedded(connection, count))

    async def store_vectors(self, rows: Sequence[tuple[PassageText, bytes | None]]) -> None:
        """See VectorStore."""
        await self._run(lambda connection: _store_vectors(connection, rows))
        await self.claim_vectors()

    async def nearest(self, vector: Sequence[float], owners: Sequence[str], count: int) -> list[tuple[int, float]]:
        """See VectorStore."""
        return await self._run(lambda connection: _nearest(connection, vector, owners, count))

    def _prepare(self, connection: Database) -> None:
        upgrade(connection)
        self._has_vectors = prepare_vectors(connection)

    async def pages(self, after: int, count: int) -> list[tuple[int, IndexedPage]]:
        """See Index. Raises IndexUnavailable, EngineMissing."""
        return await self._run(lambda connection: some_pages(connection, after, count))

    async def _run(self, work: Callable[[Database], T]) -> T:
        return await self._connections.run(work)

    def _search(self, connection: Database, query: IndexQuery) -> list[IndexHit]:
        with connection.transaction():  # one state of the index for all reads
            connection.execute(b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return run(PostgresReader(connection, self._tokenizer(), self._statistics), query)

    def _tokenizer(self) -> Tokenizer:
        """This thread's."""
        known: Tokenizer | None = getattr(self._local, "tokenizer", None)
        if known is None:
            known = self._local.tokenizer = Tokenizer()
        return known
