"""The local search index: stores fetched pages and finds them for the key that fetched them, or for every key.

One thread writes and two read, each with its own connection; the event loop never waits for the disk. When the disk is
full pages are not stored and `problem` says so; a damaged file is moved aside and an empty one takes its place. Knows
no ranking (engines.index.query) and no schema (engines.index.schema).
"""

import asyncio
import contextlib
import re
import shutil
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from gateway.domain import Json
from gateway.engines.index.query import IndexHit, IndexQuery, owner_token, run
from gateway.engines.index.schema import SHARED, DamagedIndex, is_damage, open_database, set_aside, transaction
from gateway.engines.text.tokens import bigrams, fold

T = TypeVar("T")
_MAX_BODY_CHARS = 200_000
"""Beginning of a page whose words are searched. Chosen: longer than nearly every page; double lets one huge page (2 MB
at most) take the writer's thread for twice as long, half hides the ends of long manuals. The content itself is stored
in full."""
_ZLIB_LEVEL = 6
"""zlib's own default."""
_MARKS = re.compile(r"!?\[([^\]\n]*)\]\([^)\s]*\)|[*_`#|>~\\]+|-{3,}")
_SWEEP_EVERY = 500
"""Pages added between two sweeps. Chosen: a sweep counts all pages; at double the index is longer above its limit."""
_SWEPT_SHARE = 20
"""A sweep of too many pages goes 1/20 below the limit, so that the next batch does not need another one."""
_FULL_BYTES = 1_000_000
"""Free bytes of a disk that counts as full when SQLite's error is unclear: less than one batch needs."""
_TRANSACTION_CHARS = 4_000_000
_DROPPED_AT_ONCE = 10
"""Size of one write transaction in characters, and in pages dropped. Chosen: the log of a transaction that fails stays
on a nearly full disk, so it must be small (store.reserve_bytes is 20 MB); half makes more transactions of the same
work."""
_DATABASE_PAGE_BYTES = 4096
"""SQLite's default page size."""


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


class PageIndex:
    """One database file, opened at first use.

    `max_pages` and `ttl_days` bound number and age of its pages, `reserve_bytes` of the disk are left free (chosen:
    room for the log of a few transactions). `problem` is what last went wrong, as the end of a sentence, or None.
    `now` gives Unix time.
    """

    def __init__(
        self,
        path: Path,
        *,
        max_pages: int = 200_000,
        ttl_days: int = 90,
        reserve_bytes: int = 20_000_000,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._now = now
        self._path = path
        self._reserve_bytes = reserve_bytes
        self._max_pages = max_pages
        self._ttl_s = ttl_days * 86_400.0
        self._writer = ThreadPoolExecutor(1, "index-write")
        self._readers = ThreadPoolExecutor(2, "index-read")
        self._connections: list[sqlite3.Connection] = []
        self._local = threading.local()
        self._lock = threading.Lock()
        self._generation = 0
        self._until_sweep = 0
        self.problem: str | None = None

    async def close(self) -> None:
        """Finishes the running writes and closes the file."""
        await asyncio.to_thread(self._shut)

    def _shut(self) -> None:
        self._writer.shutdown(wait=True)
        self._readers.shutdown(wait=True)
        for connection in self._connections:
            connection.close()
        self._connections.clear()

    async def add(self, pages: Sequence[IndexedPage]) -> str | None:
        """Stores or replaces pages, which can be found on return. Returns a sentence when they could not be stored."""
        if not pages:
            return None
        rows = list(pages)
        try:
            await self._on(self._writer, lambda connection: self._add(connection, rows))
        except (sqlite3.Error, OSError) as error:
            self.problem = self._describe(error)
            return f"the pages were not added to the search index: {self.problem}"
        if self.problem is not None and "set aside" not in self.problem:
            self.problem = None
        return None

    async def remove(self, url: str, owner: str | None = None) -> int:
        """Removes the page, and all pages below it when `url` ends with `/`, of `owner` or of every owner.

        Returns the number of pages removed. Raises sqlite3.Error, OSError.
        """
        return await self._on(self._writer, lambda connection: _remove(connection, url, owner))

    async def search(self, query: IndexQuery) -> list[IndexHit]:
        """The pages found, best first; expired ones are left out. Raises sqlite3.Error, OSError."""
        query = replace(query, not_before=max(query.not_before, self._now() - self._ttl_s))
        return await self._on(self._readers, lambda connection: run(connection, query))

    async def stats(self) -> Json:
        """`{pages, bytes, oldest, newest, error}`: fetch dates as Unix times, None in an empty index."""
        try:
            counts = await self._on(self._readers, _counts)
        except (sqlite3.Error, OSError) as error:
            self.problem = self._describe(error)
            counts = {"pages": 0, "oldest": None, "newest": None}
        size = self._path.stat().st_size if self._path.exists() else 0
        return {**counts, "bytes": size, "error": self.problem}

    async def _on(self, pool: ThreadPoolExecutor, work: Callable[[sqlite3.Connection], T]) -> T:
        """Runs `work` with its thread's connection, and once more on a new file when the old one is damaged."""
        loop = asyncio.get_running_loop()

        def guarded() -> T:
            try:
                return work(self._connection())
            except (DamagedIndex, sqlite3.DatabaseError) as error:
                if isinstance(error, sqlite3.DatabaseError) and not is_damage(error):
                    raise
                self._replace_file(str(error) if isinstance(error, DamagedIndex) else "was damaged")
                return work(self._connection())

        return await loop.run_in_executor(pool, guarded)

    def _connection(self) -> sqlite3.Connection:
        entry: tuple[int, sqlite3.Connection] | None = getattr(self._local, "entry", None)
        if entry is not None and entry[0] == self._generation:
            return entry[1]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._lock:
            generation = self._generation
            connection = open_database(self._path)
            self._connections.append(connection)
        self._local.entry = (generation, connection)
        return connection

    def _replace_file(self, why: str) -> None:
        with self._lock:
            moved = set_aside(self._path)
            self._generation += 1
            if moved is not None:
                self.problem = f"the index {why}; it was set aside as {moved.name} and begun anew"

    def _add(self, connection: sqlite3.Connection, pages: list[IndexedPage]) -> None:
        for batch in _batches(pages):
            self._need_room(connection)
            try:
                with transaction(connection):
                    for page in batch:
                        _store(connection, page)
            except sqlite3.OperationalError:
                _truncate_log(connection)
                raise
        self._until_sweep -= len(pages)
        if self._until_sweep <= 0:
            self._until_sweep = _SWEEP_EVERY
            self._sweep(connection)

    def _need_room(self, connection: sqlite3.Connection) -> None:
        """Raises OSError when less than `reserve_bytes` of the disk are free, counting the file's own free pages."""
        unused = connection.execute("PRAGMA freelist_count").fetchone()[0] * _DATABASE_PAGE_BYTES
        if shutil.disk_usage(self._path.parent).free + unused < self._reserve_bytes:
            _truncate_log(connection)
            raise OSError("disk full")

    def _describe(self, error: Exception) -> str:
        text = str(error)
        if "full" in text:
            return "the disk is full"
        if "readonly" in text or isinstance(error, PermissionError):
            return "the index file cannot be written"
        with contextlib.suppress(OSError):  # SQLite reports a full disk with several errors
            if shutil.disk_usage(self._path.parent).free < _FULL_BYTES:
                return "the disk is full"
        return "the index file cannot be used"

    def _sweep(self, connection: sqlite3.Connection) -> None:
        """Drops expired pages and, above `max_pages`, the oldest ones."""
        oldest = self._now() - self._ttl_s
        doomed = connection.execute("SELECT id FROM pages WHERE fetched_at < ?", (oldest,)).fetchall()
        total = connection.execute("SELECT count(*) FROM pages").fetchone()[0] - len(doomed)
        if total > self._max_pages:
            spare = total - self._max_pages + self._max_pages // _SWEPT_SHARE
            query = "SELECT id FROM pages WHERE fetched_at >= ? ORDER BY fetched_at LIMIT ?"
            doomed += connection.execute(query, (oldest, spare)).fetchall()
        _drop(connection, [row[0] for row in doomed])


def _batches(pages: list[IndexedPage]) -> Iterator[list[IndexedPage]]:
    """The pages in batches of about `_TRANSACTION_CHARS`."""
    batch: list[IndexedPage] = []
    chars = 0
    for page in pages:
        batch.append(page)
        chars += len(page.content)
        if chars > _TRANSACTION_CHARS:
            yield batch
            batch, chars = [], 0
    if batch:
        yield batch


def _delete(connection: sqlite3.Connection, ids: list[int]) -> None:
    connection.executemany("DELETE FROM search WHERE rowid = ?", [(at,) for at in ids])
    connection.executemany("DELETE FROM pages WHERE id = ?", [(at,) for at in ids])


def _drop(connection: sqlite3.Connection, ids: list[int]) -> None:
    """Deletes pages in small transactions, which fit on a nearly full disk, and returns the space to the disk."""
    for at in range(0, len(ids), _DROPPED_AT_ONCE):
        with transaction(connection):
            _delete(connection, ids[at : at + _DROPPED_AT_ONCE])
    connection.execute("PRAGMA incremental_vacuum").fetchall()


def _truncate_log(connection: sqlite3.Connection) -> None:
    """Truncates the log after a failed write; on a full disk a large log would make every later write fail."""
    with contextlib.suppress(sqlite3.Error):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _store(connection: sqlite3.Connection, page: IndexedPage) -> None:
    key = (page.url, page.owner)
    old = connection.execute("SELECT id, hash FROM pages WHERE url = ? AND owner = ?", key).fetchone()
    if old is not None and page.hash and old[1] == page.hash:
        connection.execute("UPDATE pages SET fetched_at = ? WHERE id = ?", (page.fetched_at, old[0]))
        return
    if old is not None:
        _delete(connection, [old[0]])
    host = urlsplit(page.url).hostname or ""
    content = zlib.compress(page.content.encode("utf-8", "replace"), _ZLIB_LEVEL)
    values = (*key, host, page.title, page.published, page.fetched_at, page.favicon, page.hash, content)
    columns = "url, owner, host, title, published, fetched_at, favicon, hash, content"
    cursor = connection.execute(f"INSERT INTO pages ({columns}) VALUES (?,?,?,?,?,?,?,?,?)", values)  # noqa: S608
    body = page.content[:_MAX_BODY_CHARS]
    headings = " ".join(line.lstrip("# ") for line in body.split("\n") if line.startswith("#"))
    prose = _MARKS.sub(r" \1 ", body)
    words = (page.title, headings, prose, page.url, " ".join(bigrams(fold(f"{page.title} {body}"))))
    connection.execute(
        "INSERT INTO search (rowid, title, headings, body, url, cjk, owner) VALUES (?,?,?,?,?,?,?)",
        (cursor.lastrowid, *words, owner_token(page.owner)),
    )


def _remove(connection: sqlite3.Connection, url: str, owner: str | None) -> int:
    query, values = "SELECT id FROM pages WHERE url = ?", [url]
    if url.endswith("/"):
        query, values = "SELECT id FROM pages WHERE (url = ? OR substr(url, 1, ?) = ?)", [url, str(len(url)), url]
    if owner is not None:
        query, values = f"{query} AND owner = ?", [*values, owner]
    doomed = connection.execute(query, values).fetchall()
    _drop(connection, [row[0] for row in doomed])
    return len(doomed)


def _counts(connection: sqlite3.Connection) -> Json:
    pages, oldest, newest = connection.execute(
        "SELECT count(*), min(fetched_at), max(fetched_at) FROM pages"
    ).fetchone()
    return {"pages": pages, "oldest": oldest, "newest": newest}
