"""The search index's file: its tables, upgrades from older versions, and the recovery of a damaged file.

One SQLite database in WAL mode. `pages` has one row per page and owner, its content compressed with zlib; `passages`
has a row for each passage of a page: where it begins and ends and its headings, one a line; `passage_search` is the
FTS5 table over the passages' words, with the same rowid; `vectors` has a row for each passage with `is_embedded` 1
(see `unembedded`), and loses it with the passage. Pages with `is_cut` 0 come from an older version and are not
found until the writer has cut them (see `store`). `PRAGMA user_version` is the number of STEPS the file has been
through; the missing ones run in order in one transaction, so that a crash leaves either the old schema or the new one.
A damaged file, or one that a newer gateway wrote, is moved aside and an empty one takes its place. Knows neither
ranking nor threads."""

import fcntl
import os
import sqlite3
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from gateway.domain import Json
from gateway.engines.answer.sections import Passage, passage_steps, plain_text
from gateway.engines.answer.text import bigrams, fold, joined_name_parts, text_stems
from gateway.engines.index.candidates import Candidate, PageRow
from gateway.engines.index.query import IndexQuery, QueryTerms, conditions, match_expression, owner_token, quoted
from gateway.engines.index.signals import WEIGHTS
from gateway.shared_state.sqlite_state import own_file

SHARED = ""
"""The owner of pages that every key may find."""
MAX_DAMAGED_FILES = 3
"""Damaged files that are kept for the operator."""
_BUSY_TIMEOUT_S = 10
"""Wait for another process's write."""
SEARCH_COLUMNS = "title, path, body, url, cjk, owner, tokenize = 'porter unicode61 remove_diacritics 2'"
"""Columns and tokenizer of `passage_search`; what is cut otherwise needs a new step."""
STEPS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE pages (
          id INTEGER PRIMARY KEY, url TEXT NOT NULL, owner TEXT NOT NULL, host TEXT NOT NULL, title TEXT NOT NULL,
          published TEXT, fetched_at REAL NOT NULL, favicon TEXT, hash TEXT NOT NULL, content BLOB NOT NULL,
          UNIQUE (url, owner)
        )""",
        "CREATE INDEX pages_by_age ON pages (fetched_at)",
        """CREATE VIRTUAL TABLE search USING fts5(
          title, headings, body, url, cjk, owner, tokenize = 'porter unicode61 remove_diacritics 2'
        )""",
        "CREATE VIRTUAL TABLE vocabulary USING fts5vocab(search, row)",
    ),
    # 2: a word's frequency is counted with a query of `search`, which applies the stemmer
    ("DROP TABLE vocabulary",),
    # 3: passages are ranked instead of pages
    (
        "DROP TABLE search",
        "ALTER TABLE pages ADD COLUMN is_cut INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX pages_to_cut ON pages (id) WHERE is_cut = 0",
        """CREATE TABLE passages (
          id INTEGER PRIMARY KEY, page INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
          headings TEXT NOT NULL
        )""",
        "CREATE INDEX passages_by_page ON passages (page)",
        f"CREATE VIRTUAL TABLE passage_search USING fts5({SEARCH_COLUMNS})",
    ),
    # 4: passages have vectors, made after them; AUTOINCREMENT: a number is used once, so readers can ask for newer ones
    (
        "ALTER TABLE passages ADD COLUMN is_embedded INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX passages_to_embed ON passages (id) WHERE is_embedded = 0",
        """CREATE TABLE vectors (
          id INTEGER PRIMARY KEY AUTOINCREMENT, passage INTEGER NOT NULL UNIQUE, vector BLOB NOT NULL
        )""",
        """CREATE TRIGGER vectors_go_with_passages AFTER DELETE ON passages
          BEGIN DELETE FROM vectors WHERE passage = old.id; END""",
        "CREATE TABLE vector_model (version TEXT NOT NULL)",
    ),
)
VERSION = len(STEPS)
_INCREMENTAL = 2
"""Value of `PRAGMA auto_vacuum` for a file whose free pages can be returned to the disk."""
_LOG_BYTES = 16_777_216
_CACHE_KIB = 8_000
"""Size to which the write-ahead log is cut after a checkpoint, and page cache of one connection, of which there are
three."""


class DamagedIndex(Exception):
    """The file is not a database, or an inconsistent one. The message continues "the index …"."""


class NewerIndex(DamagedIndex):
    """A later version of the gateway wrote the file, with a schema that this one does not know."""


def open_database(path: Path) -> sqlite3.Connection:
    """A connection to the index at `path`, which is created or upgraded if needed. Raises DamagedIndex,
    sqlite3.Error."""
    connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    try:
        if connection.execute("PRAGMA auto_vacuum").fetchone()[0] != _INCREMENTAL:
            # Only a new file takes the setting. On an old one it would be a write, which a full disk refuses.
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(f"PRAGMA journal_size_limit={_LOG_BYTES}")
        connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        connection.execute("PRAGMA mmap_size=0")
        upgrade(connection)
        _merge_by_itself(connection)
    except DamagedIndex:
        connection.close()
        raise
    except sqlite3.DatabaseError as error:
        connection.close()
        if is_damage(error):
            raise DamagedIndex("was damaged") from error
        raise
    return connection


def _merge_by_itself(connection: sqlite3.Connection) -> None:
    """FTS5 merges its segments by its own defaults, which version 0.3 switched off in its files. This is no step: 0.3
    still opens the file. A full disk keeps the setting."""
    if connection.execute("SELECT v FROM passage_search_config WHERE k = 'automerge'").fetchone() == (0,):
        with suppress(sqlite3.OperationalError), transaction(connection):
            for name, value in (("automerge", 4), ("crisismerge", 16)):
                connection.execute("INSERT INTO passage_search (passage_search, rank) VALUES (?, ?)", (name, value))


def upgrade(connection: sqlite3.Connection, steps: Sequence[Sequence[str]] = STEPS) -> None:
    """Runs the steps that the file has not been through; version 0 is an empty file.

    Raises NewerIndex, sqlite3.Error.
    """
    if _version(connection) == len(steps):
        return
    with transaction(connection):
        version = _version(connection)  # another process may have upgraded it meanwhile
        if version > len(steps):
            raise NewerIndex(f"was written by a newer gateway (schema {version}, this one knows {len(steps)})")
        for step in steps[version:]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version={len(steps)}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """A write transaction: committed at the end of the block, rolled back when the block raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def is_damage(error: sqlite3.Error) -> bool:
    """True for errors that only a new file cures."""
    name = getattr(error, "sqlite_errorname", "") or ""
    text = str(error)
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "malformed" in text or "not a database" in text


def set_aside(path: Path) -> Path | None:
    """Renames an unusable file and returns its new path; None when the file is usable.

    A lock file makes several processes that find it damaged rename it once. Raises sqlite3.Error when it is unknown
    whether the file is damaged, for instance because it is locked.
    """
    with os.fdopen(own_file(path.parent / (path.name + ".lock")), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kind = "damaged"
        try:
            open_database(path).close()
            if _is_intact(path):
                return None
        except NewerIndex:
            kind = "newer"
        except DamagedIndex:
            pass
        except sqlite3.DatabaseError as error:
            if not is_damage(error):  # for instance locked, or no file descriptors left: the file itself may be intact
                raise
        target = path.with_name(f"{path.name}.{kind}-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}")
        if path.exists():
            path.rename(target)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        for old in sorted(path.parent.glob(f"{path.name}.damaged-*"), key=lambda file: file.name)[:-MAX_DAMAGED_FILES]:
            old.unlink(missing_ok=True)
        return target


def _is_intact(path: Path) -> bool:
    connection = sqlite3.connect(path)
    try:
        return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    finally:
        connection.close()


MOST_PAGE_CHARS = 1_000_000
"""How much of a page is searchable."""

_PASSAGES_A_STEP = 4
"""Passages written or deleted in one transaction. Measured: 0.4 ms each with their words, and 0.2 ms the
transaction."""

GONE = -1
_ABANDONED_S = 600.0
"""Age of passages without a page whose writer is taken for dead."""


@dataclass(frozen=True, slots=True)
class PageText:
    """What of a page is searchable."""

    url: str
    owner: str
    title: str
    content: str


def new_mark() -> int:
    """A number for the passages of a page that has no row yet."""
    return -time.time_ns()


def write_steps(connection: sqlite3.Connection, text: PageText, mark: int) -> Iterator[None]:
    """Cut a page and write its passages under `mark`, in steps that are a transaction each."""
    content = text.content[:MOST_PAGE_CHARS]
    title_words = f"{text.title} {joined_name_parts(text.title)}"
    some: list[Passage] = []
    for passage in passage_steps(content):
        if passage is not None:
            some.append(passage)
            if len(some) < _PASSAGES_A_STEP:
                continue
            _write(connection, [(each, search_row(each, content, text, title_words)) for each in some], mark)
            some.clear()
        yield
    if some:
        _write(connection, [(each, search_row(each, content, text, title_words)) for each in some], mark)
        yield


def _write(connection: sqlite3.Connection, rows: list[tuple[Passage, tuple[str, ...]]], mark: int) -> None:
    with transaction(connection):
        for each, words in rows:
            row = connection.execute(
                "INSERT INTO passages (page, first, last, headings) VALUES (?,?,?,?)",
                (mark, each.start, each.end, "\n".join(each.headings)),
            ).lastrowid
            connection.execute(
                "INSERT INTO passage_search (rowid, title, path, body, url, cjk, owner) VALUES (?,?,?,?,?,?,?)",
                (row, *words),
            )


def search_row(each: Passage, content: str, text: PageText, title_words: str) -> tuple[str, ...]:
    """What of a passage is searched: title, headings, text, address, CJK pairs and foreign stems, and owner, as
    `passage_search` has."""
    path = " ".join(each.headings)
    body = plain_text(content[each.start : each.end])
    folded = fold(f"{text.title} {path} {body}")
    pairs = " ".join(bigrams(folded) + text_stems(folded))
    return (title_words, path, f"{body} {joined_name_parts(body)}", text.url, pairs, owner_token(text.owner))


def link(connection: sqlite3.Connection, mark: int, page: int) -> None:
    """Give the passages written under `mark` to the page of this row. Within a transaction."""
    connection.execute("UPDATE passages SET page = ? WHERE page = ?", (page, mark))


def unlink(connection: sqlite3.Connection, page: int) -> None:
    """Take a page's passages out of the search. Within a transaction."""
    connection.execute("UPDATE passages SET page = ? WHERE page = ?", (GONE, page))


def delete_steps(connection: sqlite3.Connection) -> Iterator[None]:
    """Delete the passages that belong to no page, in steps that are a transaction each."""
    while True:
        oldest = -int((time.time() - _ABANDONED_S) * 1e9)
        sql = "SELECT id FROM passages WHERE page < 0 AND page > ? LIMIT ?"
        ids = connection.execute(sql, (oldest, _PASSAGES_A_STEP)).fetchall()
        if not ids:
            return
        with transaction(connection):
            connection.executemany("DELETE FROM passage_search WHERE rowid = ?", ids)
            connection.executemany("DELETE FROM passages WHERE id = ?", ids)
        yield


MAX_TOKENS = 256
"""Tokens of a passage that its vector stands for. Measured: with 256, the model's most, Cranfield's nDCG@10 is .384
instead of .377 by vectors alone, at 1.6 times the CPU, which is what an index of vectors costs."""
_TITLE_CHARS = 120
_BODY_CHARS = 1_200
"""Beginnings of the title and of the passage that are read: more than MAX_TOKENS words of any language hold."""
_CLEARED_AT_ONCE = 2_000
"""Vectors of another model deleted in one transaction: some 20 ms, between which pages are stored."""


class PassageText(NamedTuple):
    """A passage without a vector, and the text that its vector will stand for."""

    passage: int
    text: str


def unembedded(connection: sqlite3.Connection, count: int) -> list[PassageText]:
    """The newest passages that have no vector yet, without those that belong to no page."""
    sql = (
        "SELECT passages.id FROM passages CROSS JOIN pages ON pages.id = passages.page WHERE is_embedded = 0"
        " ORDER BY passages.id DESC LIMIT ?"
    )
    return _texts(connection, [row[0] for row in connection.execute(sql, (count,))])


def store_vectors(connection: sqlite3.Connection, rows: Sequence[tuple[PassageText, bytes | None]]) -> None:
    """Stores vectors; None for a text that cannot be embedded. A passage whose text has changed since still waits."""
    with transaction(connection):
        current = {each.passage: each.text for each in _texts(connection, [each.passage for each, _ in rows])}
        for each, vector in rows:
            if current.get(each.passage) != each.text:
                continue
            connection.execute("UPDATE passages SET is_embedded = 1 WHERE id = ?", (each.passage,))
            if vector is not None:
                connection.execute(
                    "INSERT OR REPLACE INTO vectors (passage, vector) VALUES (?, ?)", (each.passage, vector)
                )


def adopt_model(connection: sqlite3.Connection, version: str) -> bool:
    """Removes some vectors of other models; whether there are none left, so that vectors of `version` may be stored."""
    row = connection.execute("SELECT version FROM vector_model").fetchone()
    if row is not None and row[0] == version:
        return True
    with transaction(connection):
        connection.execute("DELETE FROM vector_model")
        ids = connection.execute("SELECT passage FROM vectors LIMIT ?", (_CLEARED_AT_ONCE,)).fetchall()
        connection.executemany("UPDATE passages SET is_embedded = 0 WHERE id = ?", ids)
        connection.executemany("DELETE FROM vectors WHERE passage = ?", ids)
        if len(ids) < _CLEARED_AT_ONCE:
            connection.execute("UPDATE passages SET is_embedded = 0 WHERE is_embedded = 1")
            connection.execute("INSERT INTO vector_model (version) VALUES (?)", (version,))
    return len(ids) < _CLEARED_AT_ONCE


def vector_counts(connection: sqlite3.Connection) -> Json:
    """`{model, count, pending}`: the vectors' model (None before the first), how many there are, how many passages
    wait for one."""
    row = connection.execute("SELECT version FROM vector_model").fetchone()
    count = connection.execute("SELECT count(*) FROM vectors").fetchone()[0]
    pending = connection.execute("SELECT count(*) FROM passages WHERE is_embedded = 0 AND page > 0").fetchone()[0]
    return {"model": row[0] if row else None, "count": count, "pending": pending}


def passage_text(title: str, headings: str, body: str) -> str:
    """What the model reads of a passage: the page's title, the headings that it does not name, and the passage."""
    named = title.lower()
    parts = [title[:_TITLE_CHARS], *(line for line in headings.split("\n") if line and line.lower() not in named)]
    return " ".join(f"{'. '.join(parts)}. {plain_text(body)}".split())


def _texts(connection: sqlite3.Connection, passages: Sequence[int]) -> list[PassageText]:
    """The texts of those of the passages that exist. Passages of one page are read together."""
    found: list[PassageText] = []
    content, content_of = "", -1
    sql = (
        "SELECT passages.page, first, last, headings, title FROM passages JOIN pages ON pages.id = passages.page"
        " WHERE passages.id = ?"
    )
    for passage in passages:
        row = connection.execute(sql, (passage,)).fetchone()
        if row is None:
            continue
        page, first, last, headings, title = row
        if page != content_of:
            content, content_of = _content(connection, page), page
        body = content[first : min(last, first + _BODY_CHARS)]
        found.append(PassageText(passage, passage_text(title, headings, body)))
    return found


def _content(connection: sqlite3.Connection, page: int) -> str:
    packed = connection.execute("SELECT content FROM pages WHERE id = ?", (page,)).fetchone()[0]
    try:
        return zlib.decompress(packed).decode("utf-8", "replace")
    except zlib.error:
        return ""  # one damaged page holds up no other


_ZLIB_LEVEL = 6
"""zlib's own default."""
_PACKED_CHARS = 32_768
"""Characters compressed in one step: 3.6 ms (measured)."""
_SWEPT_AT_ONCE = 1_000
"""Most pages deleted by one sweep: twice as many as come between two sweeps (`store`), so that an index above its limit
shrinks, in a tenth of a second of short turns."""
_DROPPED_AT_ONCE = 10
"""Pages deleted in one transaction."""


@dataclass(frozen=True, slots=True)
class IndexedPage:
    """A page to store. `owner` is a key id, or SHARED for everybody; `fetched_at` is Unix time."""

    url: str
    title: str
    content: str
    owner: str = SHARED
    hash: str = ""
    published: str | None = None
    favicon: str | None = None
    fetched_at: float = field(default_factory=time.time)


def store_steps(connection: sqlite3.Connection, page: IndexedPage) -> Iterator[None]:
    """Write a page and its passages in place of the owner's older copy; an unchanged one only becomes younger.

    In steps of a few milliseconds, between which other pages may be written, also this one. The older copy is found
    until the last step. Raises sqlite3.Error.
    """
    key = (page.url, page.owner)
    old = connection.execute("SELECT id, hash FROM pages WHERE url = ? AND owner = ?", key).fetchone()
    if old is not None and page.hash and old[1] == page.hash:
        connection.execute("UPDATE pages SET fetched_at = ? WHERE id = ?", (page.fetched_at, old[0]))
        return
    packed: list[bytes] = []
    for piece in _packed(page.content):
        packed.append(piece)
        yield
    mark = new_mark()
    yield from write_steps(connection, PageText(page.url, page.owner, page.title, page.content), mark)
    values = (*key, urlsplit(page.url).hostname or "", page.title, page.published, page.fetched_at)
    with transaction(connection):
        _delete(connection, connection.execute("SELECT id FROM pages WHERE url = ? AND owner = ?", key).fetchall())
        columns = "url, owner, host, title, published, fetched_at, favicon, hash, content, is_cut"
        row = connection.execute(
            f"INSERT INTO pages ({columns}) VALUES (?,?,?,?,?,?,?,?,?,1)",  # noqa: S608 - constants only
            (*values, page.favicon, page.hash, b"".join(packed)),
        ).lastrowid
        link(connection, mark, row or 0)


def _packed(content: str) -> Iterator[bytes]:
    """The content, compressed piece by piece; together what `zlib.compress` of all of it is read back as."""
    packer = zlib.compressobj(_ZLIB_LEVEL)
    for start in range(0, len(content), _PACKED_CHARS):
        yield packer.compress(content[start : start + _PACKED_CHARS].encode("utf-8", "replace"))
    yield packer.flush()


def _delete(connection: sqlite3.Connection, ids: list[tuple[int]]) -> None:
    """Delete pages; their passages are no longer found, and deleted later (`delete_steps`). Within a transaction."""
    for (page,) in ids:
        unlink(connection, page)
        connection.execute("DELETE FROM pages WHERE id = ?", (page,))


def drop_steps(connection: sqlite3.Connection, ids: list[tuple[int]]) -> Iterator[None]:
    """Delete pages in small transactions, which fit on a nearly full disk."""
    for at in range(0, len(ids), _DROPPED_AT_ONCE):
        with transaction(connection):
            _delete(connection, ids[at : at + _DROPPED_AT_ONCE])
        yield


def cut_steps(connection: sqlite3.Connection) -> Iterator[None]:
    """Cut the pages that an older version stored uncut, in steps as those of `store_steps`."""
    after = 0
    while True:
        sql = "SELECT id, url, owner, title, content FROM pages WHERE is_cut = 0 AND id > ? ORDER BY id LIMIT 1"
        row = connection.execute(sql, (after,)).fetchone()
        if row is None:
            return
        after, url, owner, title, packed = row
        content = unpacked(packed)
        mark = new_mark()
        yield from write_steps(connection, PageText(url, owner, title, content), mark)
        with transaction(connection):
            done = connection.execute(
                "UPDATE pages SET is_cut = 1 WHERE id = ? AND url = ? AND is_cut = 0", (after, url)
            )
            if done.rowcount:
                link(connection, mark, after)
        yield


def pages_at(connection: sqlite3.Connection, url: str, owner: str | None) -> list[tuple[int]]:
    """The rows of the page, and of all below it where `url` ends in `/`; of every owner for None."""
    query, values = "SELECT id FROM pages WHERE url = ?", [url]
    if url.endswith("/"):
        query, values = "SELECT id FROM pages WHERE (url = ? OR substr(url, 1, ?) = ?)", [url, str(len(url)), url]
    if owner is not None:
        query, values = f"{query} AND owner = ?", [*values, owner]
    return connection.execute(query, values).fetchall()


def old_pages(connection: sqlite3.Connection, oldest: float, max_pages: int) -> list[tuple[int]]:
    """The rows of pages fetched before `oldest` and, above `max_pages`, of the oldest ones; at most _SWEPT_AT_ONCE."""
    total = connection.execute("SELECT count(*) FROM pages").fetchone()[0]
    expired = connection.execute("SELECT count(*) FROM pages WHERE fetched_at < ?", (oldest,)).fetchone()[0]
    surplus = min(max(expired, total - max_pages), _SWEPT_AT_ONCE)
    return connection.execute("SELECT id FROM pages ORDER BY fetched_at LIMIT ?", (surplus,)).fetchall()


def page_counts(connection: sqlite3.Connection) -> Json:
    """`{pages, oldest, newest, vectors?}`: ages as Unix times, None when empty; `vector_counts` once there are any."""
    pages, oldest, newest = connection.execute(
        "SELECT count(*), min(fetched_at), max(fetched_at) FROM pages"
    ).fetchone()
    counts = {"pages": pages, "oldest": oldest, "newest": newest}
    vectors = vector_counts(connection)
    return {**counts, "vectors": vectors} if vectors["model"] is not None else counts


def some_pages(connection: sqlite3.Connection, after: int, count: int) -> list[tuple[int, IndexedPage]]:
    """At most `count` pages with rows above `after`, in the order of their rows. A damaged page comes without text."""
    rows = connection.execute(
        "SELECT id, url, title, content, owner, hash, published, favicon, fetched_at FROM pages WHERE id > ?"
        " ORDER BY id LIMIT ?",
        (after, count),
    )
    return [(row, IndexedPage(url, title, unpacked(content), *more)) for row, url, title, content, *more in rows]


def unpacked(content: bytes) -> str:
    """A stored page's text; empty where it is damaged, so that one such page holds up no other."""
    try:
        return zlib.decompress(content).decode("utf-8", "replace")
    except zlib.error:
        return ""


LARGE_INDEX = 40_000
"""Passages from which not all with a word are ranked."""
_FTS5_WEIGHTS = ", ".join(map(str, WEIGHTS.values()))
_DAY = "coalesce(published, date(fetched_at, 'unixepoch'))"


class SqliteReader:
    """Implements `candidates.IndexReader` on a connection. Every method raises sqlite3.Error."""

    large = LARGE_INDEX
    row_budget = 4_000

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def passage_total(self, limit: int) -> int:
        """See IndexReader."""
        return self._bounded_count("SELECT 1 FROM passages", (), limit)

    def counts(self, words: Sequence[str], limit: int) -> dict[str, int]:
        """See IndexReader."""
        return {word: self._matching(quoted(word), limit) for word in words}

    def count_visible(self, query: IndexQuery, terms: QueryTerms, limit: int) -> int:
        """See IndexReader."""
        return self._matching(match_expression(query, terms), limit)

    def newest_after(self, query: IndexQuery, terms: QueryTerms, skipped: int) -> int:
        """See IndexReader."""
        sql = "SELECT rowid FROM passage_search WHERE passage_search MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"
        row = self._connection.execute(sql, (match_expression(query, terms), skipped)).fetchone()
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
        rows = self._connection.execute(sql, [match_expression(query, terms), after_row, *values, limit])
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
        sql = "SELECT url, title, content, published, favicon FROM pages WHERE id = ? AND fetched_at >= ?"
        found = self._connection.execute(sql, (row, not_before)).fetchone()
        if found is None:
            return None
        try:
            content = zlib.decompress(found[2]).decode()
        except (zlib.error, UnicodeDecodeError):
            return None  # one damaged page hides no other
        return PageRow(found[0], found[1], content, found[3], found[4])

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
