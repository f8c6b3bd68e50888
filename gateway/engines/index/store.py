"""The local search index: stores fetched pages and finds them for the key that fetched them, or for every key.

One thread writes and two read, each with its own connection; the event loop never waits for the disk. When the disk is
full pages are not stored and `problem` says so; a damaged file is moved aside and an empty one takes its place. Knows
no ranking (engines.index.query) and no schema (engines.index.schema).
"""

import asyncio
import contextlib
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from gateway.domain import Json
from gateway.engines.index.page_rows import IndexedPage, drop_pages, page_counts, remove_pages, store_page
from gateway.engines.index.passage_rows import cut_next
from gateway.engines.index.query import IndexHit, IndexQuery
from gateway.engines.index.ranking import run
from gateway.engines.index.schema import DamagedIndex, is_damage, open_database, set_aside, transaction

T = TypeVar("T")
_SWEEP_EVERY = 500
"""Pages added between two sweeps. Chosen: a sweep counts all pages; at double the index is longer above its limit."""
_SWEPT_SHARE = 20
"""A sweep of too many pages goes 1/20 below the limit, so that the next batch does not need another one."""
_OLD_PAGES_WAIT_S = 2.0
"""How long the first search waits for pages of an older version of the file. Chosen: a thousand pages are cut
meanwhile; at double a caller takes the pause for a fault."""
_FULL_BYTES = 1_000_000
"""Free bytes of a disk that counts as full when SQLite's error is unclear: less than one batch needs."""
_TRANSACTION_CHARS = 2_000_000
"""Size of one write transaction in characters. Chosen: the log of a transaction that fails stays on a nearly full disk,
so it must be small (`reserve_bytes` is 20 MB); half makes more transactions of the same work."""
_DATABASE_PAGE_BYTES = 4096
"""SQLite's default page size."""


class PageIndex:
    """One database file, opened at first use.

    `max_pages` and `ttl_days` bound number and age of its pages, `reserve_bytes` of the disk are left free (chosen:
    room for the log of a few transactions). `problem` is what last went wrong, as the end of a sentence, or None.
    `now` gives Unix time. `on_stored` is called after pages were stored.
    """

    on_stored: Callable[[], None] | None = None

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
        self._is_catching_up = self._has_waited = False
        self._cutting: Future[None] | None = None
        self.problem: str | None = None

    @property
    def path(self) -> Path:
        """The database file."""
        return self._path

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
        if self.on_stored is not None:
            self.on_stored()
        return None

    async def remove(self, url: str, owner: str | None = None) -> int:
        """Removes the page, and all pages below it when `url` ends with `/`, of `owner` or of every owner.

        Returns the number of pages removed. Raises sqlite3.Error, OSError.
        """
        return await self._on(self._writer, lambda connection: remove_pages(connection, url, owner))

    async def search(self, query: IndexQuery) -> list[IndexHit]:
        """The pages found, best first; expired ones are left out. Raises sqlite3.Error, OSError."""
        if not self._has_waited:
            self._has_waited = True
            await self._wait_for_old_pages()
        query = replace(query, not_before=max(query.not_before, self._now() - self._ttl_s))
        return await self._on(self._readers, lambda connection: run(connection, query))

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Runs `work` in a reader thread. Raises sqlite3.Error, OSError."""
        return await self._on(self._readers, work)

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Runs `work`, which makes its own transaction, in the writer's thread. Raises sqlite3.Error, OSError."""

        def write(connection: sqlite3.Connection) -> T:
            self._need_room(connection)
            return work(connection)

        return await self._on(self._writer, write)

    async def stats(self) -> Json:
        """`{pages, bytes, oldest, newest, error, vectors?}`: fetch dates as Unix times, None in an empty index.

        `vectors`: once there are any, as `vector_counts` says.
        """
        try:
            counts = await self._on(self._readers, page_counts)
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
        if not self._is_catching_up:
            self._is_catching_up = True
            self._catch_up()
        return connection

    def _catch_up(self) -> None:
        """Cut the pages that an older version left, a few at a time, so that other writes come between."""

        def cut() -> None:
            with contextlib.suppress(DamagedIndex, sqlite3.Error, OSError):  # the next start tries again
                connection = self._connection()
                self._need_room(connection)
                with transaction(connection):
                    is_left = cut_next(connection)
                if is_left:
                    self._catch_up()

        with contextlib.suppress(RuntimeError):  # closing: the rest is cut at the next start
            self._cutting = self._writer.submit(cut)

    async def _wait_for_old_pages(self) -> None:
        """At the first search: give the pages of an older version a moment to be cut."""
        await self._on(self._readers, lambda _: None)
        if self._cutting is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._cutting)), _OLD_PAGES_WAIT_S)

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
                        store_page(connection, page)
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
        drop_pages(connection, [row[0] for row in doomed])


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


def _truncate_log(connection: sqlite3.Connection) -> None:
    """Truncates the log after a failed write; on a full disk a large log would make every later write fail."""
    with contextlib.suppress(sqlite3.Error):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
