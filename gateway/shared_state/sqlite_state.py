"""Shared state of the workers of one machine, in a SQLite file. As `memory`, which is its naive form.

Windows are on the machine's monotonic clock, which its processes share; counters and entries on unix time.

`StateFile` is the file: its tables, and the one thread of a process that uses it. The event loop never waits for the
disk. Work that arrives while a transaction runs is done in the next one together, so a burst costs one transaction;
each piece of work has a savepoint and fails alone. Transactions of other workers are waited for. Not a word is lost
when a process dies; a machine that dies may lose its last seconds (WAL with synchronous = NORMAL), never the file. A
damaged file is moved aside and an empty one takes its place. Source: sqlite.org, "Write-Ahead Logging", read
2026-11-22.
"""

import asyncio
import contextlib
import errno
import fcntl
import logging
import os
import queue
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from gateway import logs
from gateway.resilience.bounded_cache import whose_entries_leave
from gateway.shared_state.memory import is_too_much
from gateway.shared_state.port import Amount, Entry, ReserveResult, StateDown, Taken


def own_file(path: Path) -> int:
    """A descriptor of a file that belongs to the owner of its folder and that nobody else may open, made where it is
    missing. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with contextlib.suppress(PermissionError):  # root has made it
        os.fchmod(descriptor, 0o600)
    if os.geteuid() == 0:
        owner = path.parent.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """One process at a time in here: a new file cannot be opened by several at once, since SQLite does not wait for
    another process when it turns a file to its write-ahead log."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = own_file(path.with_name(f".{path.name}.lock"))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)  # ends the lock


STATE_FILE = "state.sqlite3"
"""The file in the state directory."""

_FULL_BYTES = 1_000_000
"""Free bytes below which a failure is the disk's."""


def file_problem(error: Exception, path: Path, name: str = "") -> str:
    """What an error of SQLite or of the system says of a file, as the end of a sentence: `the disk is full`, `the index
    file cannot be written`. `name`: how people call the file; empty for its own name."""
    of_sqlite, of_system = getattr(error, "sqlite_errorname", None) or "", getattr(error, "errno", None)
    is_full = of_sqlite == "SQLITE_FULL" or of_system in (errno.ENOSPC, errno.EDQUOT)
    cannot_write = of_sqlite.startswith("SQLITE_READONLY") or of_system in (errno.EACCES, errno.EPERM, errno.EROFS)
    with contextlib.suppress(OSError):  # SQLite reports a full disk with several errors
        is_full = is_full or (not cannot_write and shutil.disk_usage(path.parent).free < _FULL_BYTES)
    if is_full:
        return "the disk is full"
    if of_sqlite in ("SQLITE_BUSY", "SQLITE_LOCKED"):
        return f"another process holds {name or path.name}"
    return f"{name or path.name} cannot be {'written' if cannot_write else 'used'}"


T = TypeVar("T")

_BUSY_S = 2.0
"""How long a transaction of another worker is waited for."""

_WAIT_S = 5.0
"""How long a caller waits for its work."""

_MAX_BATCH = 128
"""Pieces of work in one transaction."""

_SWEEP_S = 30.0
"""Time between two removals of what has expired."""

_AFTER_END_S = 86_400.0
"""How long counters stay after the end of their period, unseen. A clock that jumps ahead and is set back finds what was
counted."""

_MAX_WINDOW_ROWS = 500_000
"""Members of all windows. An attacker with more addresses than that is forgotten early. They take 60 MB."""

_CACHE_KIB = 512
"""Pages of the file that are kept in memory."""
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
    """CREATE TABLE usage_people (day TEXT, key TEXT, who TEXT, requests INTEGER NOT NULL, input INTEGER NOT NULL,
        cached INTEGER NOT NULL, output INTEGER NOT NULL, tool_calls INTEGER NOT NULL, spend INTEGER NOT NULL,
        PRIMARY KEY (day, key, who)) WITHOUT ROWID""",
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
        self._aside = path.with_name(f"{path.name}.damaged")
        self._wait_s = wait_s
        self._busy_since_s: float | None = None
        self._queue: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._connection: sqlite3.Connection | None = None
        self._sweep_at_s = 0.0
        self._is_full = False
        self.problem = ""
        self.failures = 0

    def notes(self) -> list[str]:
        """What the operator must mend: the last failure, and a damaged file until it is removed."""
        lost = "the shared state file was damaged and begun anew; stored responses, conversations and usage were lost"
        aside = [f"{lost}; look at {self._aside}, then remove it"] if self._aside.exists() else []
        return [*([self.problem] if self.problem else []), *aside]

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
            self.problem = self._told("the disk does not answer")
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
            if self.problem and not self._is_full:
                logs.event("state_file_back")
                self.problem = ""
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
        reason = file_problem(error, self._path)
        if not self.problem:
            logs.event("state_file_failed", level=logging.ERROR, error=reason)
        self.problem = self._told(reason)
        self._is_full = self._is_full or reason == "the disk is full"
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _told(self, reason: str) -> str:
        remedy = f"look at the disk and the rights of {self._path.parent}; it is used again by itself"
        return f"the shared state file cannot be used: {reason}; {remedy}"

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
            if self._path.exists():
                self._path.replace(self._aside)
            for suffix in ("-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        logs.event("state_file_damaged", level=logging.ERROR, moved_to=self._aside.name)


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


def machine_name(connection: sqlite3.Connection) -> str:
    """The random name of this machine, as old as its file."""
    return str(connection.execute("SELECT value FROM meta WHERE name = 'machine'").fetchone()[0])


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


class SqliteWindows:
    """As `port.Windows`."""

    def __init__(self, file: StateFile, clock: Callable[[], float] = time.monotonic) -> None:
        self._file = file
        self._clock = clock

    async def take(self, name: str, limit: int, hold_s: float, member: str) -> Taken:
        def work(connection: sqlite3.Connection) -> Taken:
            now_s = self._clock()
            connection.execute("DELETE FROM windows WHERE name = ? AND ends <= ?", (name, now_s))
            count, first_s = connection.execute(
                "SELECT count(*), min(ends) FROM windows WHERE name = ?", (name,)
            ).fetchone()
            reset_s = max((first_s if first_s is not None else now_s + hold_s) - now_s, 0.001)
            if count >= limit:
                return Taken(reset_s, 0, reset_s)
            connection.execute("INSERT OR REPLACE INTO windows VALUES (?, ?, ?)", (name, member, now_s + hold_s))
            return Taken(0.0, limit - count - 1, reset_s)

        return await self._file.run(work)

    async def hold(self, name: str, members: Mapping[str, float]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            now_s = self._clock()
            rows = [(name, member, now_s + left_s) for member, left_s in members.items()]
            connection.executemany("INSERT OR REPLACE INTO windows VALUES (?, ?, ?)", rows)

        await self._file.run(work)

    async def release(self, name: str, members: Sequence[str]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            rows = [(name, member) for member in members]
            connection.executemany("DELETE FROM windows WHERE name = ? AND member = ?", rows)

        await self._file.run(work)


class SqliteCounters:
    """As `port.Counters`, and what of this machine's amounts another store has not been told yet (`unsent`)."""

    def __init__(self, file: StateFile) -> None:
        self._file = file

    async def reserve(self, amounts: Sequence[Amount], *, unsent: bool = False) -> ReserveResult:
        """As in the port. `unsent`: the amounts must be told to the other store later."""
        return await self._file.run(lambda connection: _reserve(connection, amounts, unsent))

    async def erase(self, prefix: str) -> int:
        """As in the port."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        return await self._file.run(
            lambda connection: (
                connection.execute("DELETE FROM counters WHERE name >= ? AND name < ?", (prefix, end)).rowcount
            )
        )

    async def take_unsent(self) -> list[Amount]:
        """The amounts that the other store has not been told, which count as told from now on."""

        def work(connection: sqlite3.Connection) -> list[Amount]:
            rows = connection.execute(
                "SELECT name, unsent, ends_at FROM counters WHERE unsent != 0 AND ends_at > ?", (time.time(),)
            ).fetchall()
            connection.execute("UPDATE counters SET unsent = 0 WHERE unsent != 0")
            return [Amount(name, amount, None, ends_at) for name, amount, ends_at in rows]

        return await self._file.run(work)

    async def put_back(self, amounts: Sequence[Amount]) -> None:
        """Undo `take_unsent`: the other store was not told after all."""

        def work(connection: sqlite3.Connection) -> None:
            rows = [(each.amount, each.name) for each in amounts]
            connection.executemany("UPDATE counters SET unsent = unsent + ? WHERE name = ?", rows)

        await self._file.run(work)

    async def note_epoch(self, epoch: str) -> None:
        """The other store's mark. A new one means that it has lost its data: then it must be told everything again,
        which one worker of the machine does."""

        def work(connection: sqlite3.Connection) -> None:
            row = connection.execute("SELECT value FROM meta WHERE name = 'epoch'").fetchone()
            if row is not None and row[0] != epoch:
                connection.execute("UPDATE counters SET unsent = total")
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('epoch', ?)", (epoch,))

        await self._file.run(work)

    async def machine(self) -> str:
        """As `machine_name`."""
        return await self._file.run(machine_name)


def _reserve(connection: sqlite3.Connection, amounts: Sequence[Amount], unsent: bool) -> ReserveResult:
    now_s = time.time()
    totals = []
    for each in amounts:
        row = connection.execute(
            "SELECT total FROM counters WHERE name = ? AND ends_at > ?", (each.name, now_s)
        ).fetchone()
        totals.append(row[0] if row is not None else 0)
    for index, (total, each) in enumerate(zip(totals, amounts, strict=True)):
        if is_too_much(total, each):
            return ReserveResult(index, tuple(totals), tuple(totals))
    for each in amounts:
        if not each.amount:
            continue
        more = each.amount if unsent else 0
        connection.execute(
            "INSERT INTO counters VALUES (?1, ?2, ?3, ?4) ON CONFLICT (name) DO UPDATE SET "
            "total = iif(ends_at > ?5, total, 0) + ?2, unsent = iif(ends_at > ?5, unsent, 0) + ?3, ends_at = ?4",
            (each.name, each.amount, more, each.ends_at, now_s),
        )
    after = tuple(total + each.amount for total, each in zip(totals, amounts, strict=True))
    return ReserveResult(None, after, after)


_PUT = "INSERT INTO entries (space, owner, name, size, expires, value) VALUES (?, ?, ?, ?, ?, ?)"


class SqliteEntries:
    """As `port.Entries`, in the part `space` of the file: at most `max_bytes` together, and `bytes_per_owner` is what
    an owner keeps whatever others store. `now` gives unix seconds."""

    def __init__(
        self,
        file: StateFile,
        space: str,
        max_bytes: int,
        bytes_per_owner: int,
        *,
        max_entries: int = 10_000,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._file, self._space = file, space
        self._max_bytes, self._budget = max_bytes, bytes_per_owner
        self._least_size = max_bytes // max_entries
        self._now = now

    async def put(self, entry: Entry) -> bool:
        return await self._file.run(lambda connection: self._put(connection, entry))

    async def get(self, owner: str, name: str) -> bytes | None:
        return await self._one(
            "SELECT value FROM entries WHERE space = ? AND owner = ? AND name = ? AND expires > ?", owner, name
        )

    async def get_part(self, owner: str, name: str) -> bytes | None:
        return await self._one(
            "SELECT substr(entries.value, first, length) FROM parts JOIN entries ON entries.id = parts.entry "
            "WHERE parts.space = ? AND parts.owner = ? AND parts.name = ? AND expires > ?",
            owner,
            name,
        )

    async def delete(self, owner: str, name: str) -> None:
        await self._file.run(lambda connection: self._delete(connection, owner, name))

    async def count(self, owner: str) -> int:
        return await self._file.run(lambda connection: self._count(connection, owner))

    async def erase(self, owner: str) -> None:
        query = "DELETE FROM entries WHERE space = ? AND owner = ?"
        await self._file.run(lambda connection: connection.execute(query, (self._space, owner)))

    def _count(self, connection: sqlite3.Connection, owner: str) -> int:
        query = "SELECT count(*) FROM entries WHERE space = ? AND owner = ? AND expires > ?"
        return int(connection.execute(query, (self._space, owner, self._now())).fetchone()[0])

    async def _one(self, query: str, owner: str, name: str) -> bytes | None:
        row = await self._file.run(
            lambda connection: connection.execute(query, (self._space, owner, name, self._now())).fetchone()
        )
        return bytes(row[0]) if row is not None else None

    def _put(self, connection: sqlite3.Connection, entry: Entry) -> bool:
        if entry.most is not None and self._count(connection, entry.owner) >= entry.most:
            return False
        self._delete(connection, entry.owner, entry.name)
        size = max(len(entry.value), self._least_size)
        if size > self._max_bytes or not self._make_room(connection, entry.owner, size):
            return False
        row = (self._space, entry.owner, entry.name, size, self._now() + entry.ttl_s)
        cursor = connection.execute(_PUT, (*row, entry.value))
        parts = [
            (self._space, entry.owner, name, cursor.lastrowid, start + 1, end - start)
            for name, (start, end) in entry.parts.items()
        ]
        connection.executemany("INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?, ?)", parts)
        return True

    def _delete(self, connection: sqlite3.Connection, owner: str, name: str) -> None:
        row = (self._space, owner, name)
        connection.execute("DELETE FROM entries WHERE space = ? AND owner = ? AND name = ?", row)

    def _make_room(self, connection: sqlite3.Connection, storing: str, size: int) -> bool:
        """Drop entries as `bounded_cache.SharedCache` says until `size` more fits. Returns whether it does."""
        sizes = self._sizes(connection)
        if sum(sizes.values()) + size <= self._max_bytes:
            return True
        connection.execute("DELETE FROM entries WHERE space = ? AND expires <= ?", (self._space, self._now()))
        sizes = self._sizes(connection)
        while sum(sizes.values()) + size > self._max_bytes:
            victim = whose_entries_leave(sizes, storing, size, self._budget)
            if victim is None:
                return False
            oldest = connection.execute(
                "SELECT id, size FROM entries WHERE space = ? AND owner = ? ORDER BY id LIMIT 1", (self._space, victim)
            ).fetchone()
            connection.execute("DELETE FROM entries WHERE id = ?", (oldest[0],))
            sizes[victim] -= oldest[1]
            if sizes[victim] <= 0:
                del sizes[victim]
        return True

    def _sizes(self, connection: sqlite3.Connection) -> dict[str, float]:
        query = "SELECT owner, sum(size) FROM entries WHERE space = ? GROUP BY owner"
        return dict(connection.execute(query, (self._space,)).fetchall())
