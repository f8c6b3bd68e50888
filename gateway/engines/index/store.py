"""The local search index in SQLite: stores fetched pages and finds them for their key, or for every key.

One thread writes and two read, each with its own connection; the event loop never waits for the disk. When the disk is
full pages are not stored and `problem` says so; a damaged file is moved aside and an empty one takes its place.

The writer works in turns of a few milliseconds, so that a long page or a long batch keeps nobody waiting: each turn
takes steps of one call's work (`engines.index.page_rows`), then the call queues for its next one. Upkeep (deleting,
cutting pages of an older version) takes its turns between.
"""

import asyncio
import contextlib
import errno
import fcntl
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import IO, TypeAlias, TypeVar

from gateway.domain import Json
from gateway.engines.index.database import DamagedIndex, is_damage, open_database, set_aside
from gateway.engines.index.page_rows import (
    IndexedPage,
    cut_steps,
    drop_steps,
    old_pages,
    page_counts,
    pages_at,
    some_pages,
    store_steps,
)
from gateway.engines.index.passage_rows import delete_steps
from gateway.engines.index.port import Turn
from gateway.engines.index.query import IndexHit, IndexQuery
from gateway.engines.index.ranking import run
from gateway.engines.index.sqlite_reader import SqliteReader
from gateway.engines.index.vector_rows import PassageText, adopt_model, store_vectors, unembedded
from gateway.shared_state.sqlite_state import file_problem, own_file

Steps: TypeAlias = Callable[[sqlite3.Connection], Iterator[None]]
"""Work of the writer in steps of a millisecond or two, between which it may do other work."""
_TURN_S = 0.002
"""How long one turn of the writer takes steps."""


def take_turn(steps: Iterator[None]) -> bool:
    """Takes steps for about _TURN_S; whether any are left."""
    end_s = time.perf_counter() + _TURN_S
    while time.perf_counter() < end_s:
        try:
            next(steps)
        except StopIteration:
            return False
    return True


_FULL_BYTES = 1_000_000
"""Free bytes of a disk that counts as full when SQLite's error is unclear: less than one long page needs."""
_DATABASE_PAGE_BYTES = 4096
"""SQLite's default page size."""


def need_room(connection: sqlite3.Connection, folder: Path, reserve_bytes: int) -> None:
    """Raises OSError when less than `reserve_bytes` of the disk are free, counting the file's own free pages."""
    if not _has_room(connection, folder, reserve_bytes):
        truncate_log(connection)
        if not _has_room(connection, folder, reserve_bytes):
            raise OSError(errno.ENOSPC, "the reserve of free room is reached")


def _has_room(connection: sqlite3.Connection, folder: Path, reserve_bytes: int) -> bool:
    unused: int = connection.execute("PRAGMA freelist_count").fetchone()[0] * _DATABASE_PAGE_BYTES
    return shutil.disk_usage(folder).free + unused >= reserve_bytes


def truncate_log(connection: sqlite3.Connection) -> None:
    """Copies the log into the file and truncates it; on a full disk a large log would make every later write fail."""
    with contextlib.suppress(sqlite3.Error):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def bytes_on_disk(path: Path) -> int:
    """Size of a database: its file, and the log of what was written and is not yet in it. 0 where there is none."""
    size = 0
    for file in (path, path.with_name(f"{path.name}-wal")):
        with contextlib.suppress(OSError):
            size += file.stat().st_size
    return size


_VACUUMED_PAGES = 64
"""Free pages of the file returned to the disk in one step."""


def upkeep_steps(connection: sqlite3.Connection) -> Iterator[None]:
    """Delete what is gone and return its room to the disk, in steps of a millisecond or two. Raises sqlite3.Error."""
    gone = False
    for _ in delete_steps(connection):
        gone = True
        yield
    if gone:
        yield from _vacuum_steps(connection)


def _vacuum_steps(connection: sqlite3.Connection) -> Iterator[None]:
    """Return free pages of the file to the disk; a file of an old version keeps them."""
    free = connection.execute("PRAGMA freelist_count").fetchone()[0]
    while free:
        connection.execute(f"PRAGMA incremental_vacuum({_VACUUMED_PAGES})").fetchall()
        yield
        now_free = connection.execute("PRAGMA freelist_count").fetchone()[0]
        if now_free >= free:
            return
        free = now_free


T = TypeVar("T")
_SWEEP_EVERY = 500
"""Pages added between two sweeps."""
_OLD_PAGES_WAIT_S = 2.0
"""How long the first search waits for pages of an older version of the file."""


class PageIndex:
    """Implements `port.Index` in one database file, opened at first use.

    `max_pages` and `ttl_days` bound number and age of its pages, `reserve_bytes` of the disk are left free (chosen:
    room for the log of a few transactions). `problem` is what last went wrong, as the end of a sentence, or None.
    `now` gives Unix time. `on_stored` is called after pages were stored.
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
        self._is_catching_up = self._has_waited = False
        self._caught_up: Future[None] = Future()
        self._upkeep: Future[None] = Future()
        self._upkeep.set_result(None)
        self.problem: str | None = None
        self.on_stored: Callable[[], None] | None = None
        self._vectors_lock: IO[str] | None = None

    @property
    def path(self) -> Path:
        """The database file."""
        return self._path

    async def close(self) -> None:
        """See Index."""
        await asyncio.to_thread(self._shut)

    def _shut(self) -> None:
        self._writer.shutdown(wait=True, cancel_futures=True)
        self._readers.shutdown(wait=True)
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        if self._vectors_lock is not None:
            self._vectors_lock.close()

    async def add(self, pages: Sequence[IndexedPage], turn: Turn = nullcontext) -> str | None:
        """See Index; the turns are dealt out by `engines.index.port`."""
        if not pages:
            return None
        rows = list(pages)
        try:
            await self._in_turns(lambda connection: self._add_steps(connection, rows), turn)
        except (sqlite3.Error, OSError) as error:
            self.problem = file_problem(error, self._path, "the index file")
            return f"the pages were not added to the search index: {self.problem}"
        if self.problem is not None and "set aside" not in self.problem:
            self.problem = None
        if self.on_stored is not None:
            self.on_stored()
        return None

    async def remove(self, url: str, owner: str | None = None) -> int:
        """See Index. Raises sqlite3.Error, OSError."""
        removed: list[tuple[int]] = []

        def steps(connection: sqlite3.Connection) -> Iterator[None]:
            removed[:] = pages_at(connection, url, owner)
            yield from drop_steps(connection, removed)

        await self._in_turns(steps)
        return len(removed)

    async def search(self, query: IndexQuery) -> list[IndexHit]:
        """See Index. Raises sqlite3.Error, OSError."""
        if not self._has_waited:
            self._has_waited = True
            await self._wait_for_old_pages()
        query = replace(query, not_before=max(query.not_before, self._now() - self._ttl_s))
        return await self._on(self._readers, lambda connection: run(SqliteReader(connection, query.owners), query))

    async def pages(self, after: int, count: int) -> list[tuple[int, IndexedPage]]:
        """See Index. Raises sqlite3.Error, OSError."""
        return await self.read(lambda connection: some_pages(connection, after, count))

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Runs `work` in a reader thread. Raises sqlite3.Error, OSError."""
        return await self._on(self._readers, work)

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Runs `work`, which makes its own transaction, in the writer's thread. Raises sqlite3.Error, OSError."""
        await self._on(self._writer, self._need_room)
        return await self._on(self._writer, work)

    @property
    def vectors_file(self) -> Path | None:
        """See VectorStore."""
        return self._path

    def may_hold_pages(self) -> bool:
        """See VectorStore."""
        with contextlib.suppress(OSError):
            return self._path.stat().st_size > 0
        return False

    async def claim_vectors(self) -> bool:
        """See VectorStore. A lock file beside the index is held until it is closed."""
        if self._vectors_lock is None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.fdopen(own_file(self._path.with_name(self._path.name + ".vectors-lock")), "w")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.close()
                return False
            self._vectors_lock = lock
        return True

    async def adopt_vectors(self, version: str) -> bool:
        """See VectorStore."""
        return await self.write(lambda connection: adopt_model(connection, version))

    async def unembedded(self, count: int) -> list[PassageText]:
        """See VectorStore."""
        return await self.read(lambda connection: unembedded(connection, count))

    async def store_vectors(self, rows: Sequence[tuple[PassageText, bytes | None]]) -> None:
        """See VectorStore."""
        await self.write(lambda connection: store_vectors(connection, rows))

    async def nearest(self, vector: Sequence[float], owners: Sequence[str], count: int) -> list[tuple[int, float]]:
        """See VectorStore. The embedding process finds them in the file."""
        raise NotImplementedError

    async def stats(self) -> Json:
        """See Index; `vectors` as `vector_counts` says, once there are any."""
        try:
            counts = await self._on(self._readers, page_counts)
        except (sqlite3.Error, OSError) as error:
            self.problem = file_problem(error, self._path, "the index file")
            counts = {"pages": 0, "oldest": None, "newest": None}
        return {**counts, "bytes": bytes_on_disk(self._path), "error": self.problem}

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

    async def _in_turns(self, steps: Steps, turn: Turn = nullcontext) -> None:
        """Takes all steps in the writer's thread, some in each turn; from the first one on a new file after damage."""
        taken: list[Iterator[None]] = []

        def take(connection: sqlite3.Connection) -> bool:
            if not taken:
                taken.append(steps(connection))
            try:
                return take_turn(taken[0])
            except BaseException:
                taken.clear()
                raise

        is_left = True
        while is_left:
            async with turn():
                is_left = await self._on(self._writer, take)

    def _connection(self) -> sqlite3.Connection:
        entry: tuple[int, sqlite3.Connection] | None = getattr(self._local, "entry", None)
        if entry is not None and entry[0] == self._generation:
            return entry[1]
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._lock:
            generation = self._generation
            connection = open_database(self._path)
            self._connections.append(connection)
        self._local.entry = (generation, connection)
        if not self._is_catching_up:
            self._is_catching_up = True
            self._between_turns(cut_steps, self._caught_up)
        return connection

    def _between_turns(self, steps: Steps, done: Future[None]) -> None:
        """Take steps in the writer's thread, a turn at a time, so that other writes come between; then set `done`.

        What fails is left to the next start or the next call.
        """
        taken: list[Iterator[None]] = []

        def take() -> None:
            is_left = False
            with contextlib.suppress(DamagedIndex, sqlite3.Error, OSError):
                connection = self._connection()
                self._need_room(connection)
                taken[:] = taken or [steps(connection)]
                is_left = take_turn(taken[0])
            if is_left:
                submit()
            else:
                done.set_result(None)

        def submit() -> None:
            try:
                self._writer.submit(take)
            except RuntimeError:  # closing
                done.set_result(None)

        submit()

    async def _wait_for_old_pages(self) -> None:
        """At the first search: give the pages of an older version a moment to be cut."""
        await self._on(self._readers, lambda _: None)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._caught_up)), _OLD_PAGES_WAIT_S)

    def _replace_file(self, why: str) -> None:
        with self._lock:
            moved = set_aside(self._path)
            self._generation += 1
            if moved is not None:
                self.problem = f"the index {why}; it was set aside as {moved.name} and begun anew"

    def _add_steps(self, connection: sqlite3.Connection, pages: list[IndexedPage]) -> Iterator[None]:
        try:
            for page in pages:
                self._need_room(connection)
                yield from store_steps(connection, page)
                yield
        except sqlite3.OperationalError:
            truncate_log(connection)
            raise
        self._until_sweep -= len(pages)
        if self._until_sweep <= 0:
            self._until_sweep = _SWEEP_EVERY
            yield from drop_steps(connection, old_pages(connection, self._now() - self._ttl_s, self._max_pages))
        self._keep_up()

    def _need_room(self, connection: sqlite3.Connection) -> None:
        need_room(connection, self._path.parent, self._reserve_bytes)

    def _keep_up(self) -> None:
        """Has the upkeep done, unless it is under way. In the writer's thread."""
        if self._upkeep.done():
            self._upkeep = Future()
            self._between_turns(upkeep_steps, self._upkeep)
