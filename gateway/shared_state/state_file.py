"""The SQLite file that the workers of one machine share: its tables, and the one thread of a process that uses it.

The event loop never waits for the disk. Work that arrives while a transaction runs is done in the next one together,
so a burst costs one transaction; each piece of work has a savepoint and fails alone. Transactions of other workers are
waited for. Not a word is lost when a process dies; a machine that dies may lose its last seconds (WAL with
synchronous = NORMAL), never the file. A damaged file is moved aside and an empty one takes its place. Knows no table's
meaning. Source: sqlite.org, "Write-Ahead Logging", read 2026-11-22.
"""

import asyncio
import contextlib
import logging
import os
import queue
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from gateway import logs
from gateway.shared_state.one_at_a_time import alone, own_file
from gateway.shared_state.port import StateDown

STATE_FILE = "state.sqlite3"
"""The file in the state directory."""

_PROBLEM = "the shared state file cannot be used; look at the disk and the rights of the state directory"

T = TypeVar("T")

_BUSY_S = 2.0
"""How long a transaction of another worker is waited for. Chosen: they take well under a millisecond; at half, a disk
that stalls for a second refuses work, at double its callers wait that long."""

_WAIT_S = 5.0
"""How long a caller waits for its work. Chosen: twice the longest wait for a lock; at half, work is given up that is
about to be done, at double requests hang for as long on a dead disk."""

_MAX_BATCH = 128
"""Pieces of work in one transaction. Chosen: a few milliseconds; at half, bursts make more transactions, at double
other workers wait longer for theirs."""

_SWEEP_S = 30.0
"""Time between two removals of what has expired. Chosen: expired rows are never seen, so half only costs work and
double only some kilobytes."""

_AFTER_END_S = 86_400.0
"""How long counters stay after the end of their period, unseen. A clock that jumps ahead and is set back finds what was
counted. Chosen: such clocks are mostly wrong by hours, a time zone for example. At half, a budget may be given twice on
a day on which the clock was wrong by more than that; double keeps some rows a key for nothing."""

_MAX_WINDOW_ROWS = 500_000
"""Members of all windows. Chosen: a thousand keys of 500 calls a minute. An attacker with more addresses than that is
forgotten early; at double, wrong keys may take twice the disk (60 MB)."""

_CACHE_KIB = 512
"""Pages of the file that are kept in memory. Chosen: a quarter of what SQLite takes by itself, which the first long
value would fill with pages that nobody asks for again. At half the tables of a busy gateway no longer fit, at double a
long value takes so much more."""
_STEPS = (
    """CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE windows (name TEXT, member TEXT, ends REAL NOT NULL, PRIMARY KEY (name, member)) WITHOUT ROWID;
    CREATE INDEX windows_by_end ON windows (name, ends);
    CREATE TABLE counters (name TEXT PRIMARY KEY, total INTEGER NOT NULL, unsent INTEGER NOT NULL,
        ends_at REAL NOT NULL) WITHOUT ROWID;
    CREATE TABLE entries (id INTEGER PRIMARY KEY, space TEXT NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL,
        size INTEGER NOT NULL, expires REAL NOT NULL, value BLOB NOT NULL, UNIQUE (space, owner, name));
    CREATE INDEX entries_by_size ON entries (space, owner, size);
    CREATE INDEX entries_by_expiry ON entries (expires);
    CREATE TABLE parts (space TEXT, owner TEXT, name TEXT, entry INTEGER NOT NULL REFERENCES entries (id)
        ON DELETE CASCADE, first INTEGER NOT NULL, length INTEGER NOT NULL,
        PRIMARY KEY (space, owner, name)) WITHOUT ROWID;
    CREATE INDEX parts_by_entry ON parts (entry);
    CREATE TABLE usage (day TEXT, key TEXT, model TEXT, tool TEXT, requests INTEGER NOT NULL, input INTEGER NOT NULL,
        cached INTEGER NOT NULL, output INTEGER NOT NULL, tool_calls INTEGER NOT NULL, spend INTEGER NOT NULL,
        PRIMARY KEY (day, key, model, tool)) WITHOUT ROWID""",
)
"""The statements that bring a file from each version to the next; a file's `user_version` counts them."""


@dataclass(slots=True)
class _Work:
    run: Callable[[sqlite3.Connection], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"


class StateFile:
    """One file, opened by the first work. `failures` counts transactions that failed. `problem` is the last failure for
    the operator; empty once work is done again, on a disk that was full a write."""

    def __init__(self, path: Path, wait_s: float = _WAIT_S) -> None:
        self._path = path
        self._wait_s = wait_s
        self._busy_since_s: float | None = None
        self._queue: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._connection: sqlite3.Connection | None = None
        self._sweep_at_s = 0.0
        self._is_full = False
        self.problem = ""
        self.failures = 0

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """The result of `work`, called in the file's thread within a write transaction. Raises StateDown where the
        file cannot be used, and what `work` raises otherwise (then none of its changes are kept). While a transaction
        hangs for longer than a caller waits, nobody else does."""
        busy_since_s = self._busy_since_s
        if busy_since_s is not None and time.monotonic() - busy_since_s > self._wait_s:
            raise StateDown
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="state-file", daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._queue.put(_Work(work, loop, future))
        try:
            async with asyncio.timeout(self._wait_s):
                return await future
        except TimeoutError:
            self.problem = _PROBLEM
            raise StateDown from None

    async def close(self) -> None:
        """Finish the work that waits, then close the file. A later `run` opens it again."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            await asyncio.to_thread(thread.join)

    def _serve(self) -> None:
        """The thread: one batch after another until None comes. Between two, nothing of a batch is kept: its work
        holds what it has written, which may be megabytes."""
        while batch := self._next_batch():
            self._busy_since_s = time.monotonic()
            self._do(batch)
            self._busy_since_s = None
            batch.clear()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _next_batch(self) -> list[_Work]:
        """The work that waits, or that comes next; none of it at the end, which is found again."""
        batch: list[_Work] = []
        with contextlib.suppress(queue.Empty):
            while len(batch) < _MAX_BATCH and (work := self._queue.get(block=not batch)) is not None:
                batch.append(work)
            if batch and work is None:
                self._queue.put(None)
        return batch

    def _do(self, batch: list[_Work]) -> None:
        try:
            try:
                outcomes = self._transact(batch)
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                self._set_aside()
                outcomes = self._transact(batch)
            self.problem = self.problem if self._is_full else ""
        except (sqlite3.Error, OSError) as error:
            self._fail(error)
            outcomes = [(None, StateDown())] * len(batch)
        for work, (result, failure) in zip(batch, outcomes, strict=True):
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                work.loop.call_soon_threadsafe(_settle, work.future, result, failure)

    def _transact(self, batch: list[_Work]) -> list[tuple[Any, BaseException | None]]:
        if self._connection is None:
            with alone(self._path):
                self._connection = _opened(self._path)
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        changes = connection.total_changes
        try:
            outcomes = [_guarded(connection, work.run) for work in batch]
            if time.monotonic() >= self._sweep_at_s:
                self._sweep_at_s = time.monotonic() + _SWEEP_S
                _sweep(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        self._is_full = self._is_full and connection.total_changes == changes
        return outcomes

    def _fail(self, error: Exception) -> None:
        self.failures += 1
        if not self.problem:
            logs.event("state_file_failed", level=logging.ERROR, error=type(error).__name__)
        self.problem = _PROBLEM
        self._is_full = self._is_full or getattr(error, "sqlite_errorname", "") == "SQLITE_FULL"
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _set_aside(self) -> None:
        """Rename a damaged file, once for all workers that find it damaged."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        with alone(self._path):
            try:
                _opened(self._path).close()
                return  # another worker has replaced it
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
            target = self._path.with_name(f"{self._path.name}.damaged")
            if self._path.exists():
                self._path.replace(target)
            for suffix in ("-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        logs.event("state_file_damaged", level=logging.ERROR, moved_to=target.name)


def _settle(future: "asyncio.Future[Any]", result: Any, failure: BaseException | None) -> None:
    if future.done():
        return
    if failure is not None:
        future.set_exception(failure)
    else:
        future.set_result(result)


def _guarded(
    connection: sqlite3.Connection, run: Callable[[sqlite3.Connection], Any]
) -> tuple[Any, BaseException | None]:
    """The result of one piece of work, or its error. Raises the file's own errors, which end the transaction."""
    connection.execute("SAVEPOINT work")
    try:
        result = run(connection)
    except sqlite3.Error:
        raise
    except Exception as error:
        connection.execute("ROLLBACK TO work")
        connection.execute("RELEASE work")
        return None, error
    connection.execute("RELEASE work")
    return result, None


def _opened(path: Path) -> sqlite3.Connection:
    """A connection to the file, which is made and brought to the newest version. Raises sqlite3.Error, OSError. Call it
    within `alone`."""
    os.close(own_file(path))
    connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", f"cache_size=-{_CACHE_KIB}"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN IMMEDIATE")
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        for step in _STEPS[version:]:
            for statement in step.split(";"):
                connection.execute(statement)
        if version < len(_STEPS):
            connection.execute(f"PRAGMA user_version={len(_STEPS)}")
        _forget_former_boot(connection)
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def _forget_former_boot(connection: sqlite3.Connection) -> None:
    """Windows are on the monotonic clock, which begins anew with each boot of the machine."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    boot_id = boot.read_text().strip() if boot.exists() else ""
    connection.execute("INSERT OR IGNORE INTO meta VALUES ('boot', ?), ('machine', ?)", (boot_id, secrets.token_hex(8)))
    if connection.execute("SELECT value FROM meta WHERE name = 'boot'").fetchone()[0] != boot_id:
        connection.execute("DELETE FROM windows")
        connection.execute("UPDATE meta SET value = ? WHERE name = 'boot'", (boot_id,))


def _sweep(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM windows WHERE ends <= ?", (time.monotonic(),))
    rows = connection.execute("SELECT count(*) FROM windows").fetchone()[0]
    if rows > _MAX_WINDOW_ROWS:
        connection.execute(
            "DELETE FROM windows WHERE (name, member) IN (SELECT name, member FROM windows ORDER BY ends LIMIT ?)",
            (rows - _MAX_WINDOW_ROWS,),
        )
    connection.execute("DELETE FROM counters WHERE ends_at <= ?", (time.time() - _AFTER_END_S,))
    connection.execute("DELETE FROM entries WHERE expires <= ?", (time.time(),))


def _is_damage(error: sqlite3.Error) -> bool:
    """True for errors that only a new file cures."""
    return (getattr(error, "sqlite_errorname", "") or "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))
