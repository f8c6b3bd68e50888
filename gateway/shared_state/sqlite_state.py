"""Shared state of the workers of one machine, in its SQLite file (`state_file`). As `memory`, which is its naive form.

Windows are on the machine's monotonic clock, which its processes share; counters and entries on unix time.
"""

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence

from gateway.resilience.shared_cache import whose_entries_leave
from gateway.shared_state.memory import is_too_much
from gateway.shared_state.port import Amount, Entry, Reserved, Taken
from gateway.shared_state.state_file import StateFile


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

    async def reserve(self, amounts: Sequence[Amount], *, unsent: bool = False) -> Reserved:
        """As in the port. `unsent`: the amounts must be told to the other store later."""
        return await self._file.run(lambda connection: _reserve(connection, amounts, unsent))

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
        """The random name of this machine, as old as its file."""

        def work(connection: sqlite3.Connection) -> str:
            return str(connection.execute("SELECT value FROM meta WHERE name = 'machine'").fetchone()[0])

        return await self._file.run(work)


def _reserve(connection: sqlite3.Connection, amounts: Sequence[Amount], unsent: bool) -> Reserved:
    now_s = time.time()
    totals = []
    for each in amounts:
        row = connection.execute(
            "SELECT total FROM counters WHERE name = ? AND ends_at > ?", (each.name, now_s)
        ).fetchone()
        totals.append(row[0] if row is not None else 0)
    for index, (total, each) in enumerate(zip(totals, amounts, strict=True)):
        if is_too_much(total, each):
            return Reserved(index, tuple(totals), tuple(totals))
    for each in amounts:
        more = each.amount if unsent else 0
        connection.execute(
            "INSERT INTO counters VALUES (?1, ?2, ?3, ?4) ON CONFLICT (name) DO UPDATE SET "
            "total = iif(ends_at > ?5, total, 0) + ?2, unsent = iif(ends_at > ?5, unsent, 0) + ?3, ends_at = ?4",
            (each.name, each.amount, more, each.ends_at, now_s),
        )
    after = tuple(total + each.amount for total, each in zip(totals, amounts, strict=True))
    return Reserved(None, after, after)


_PUT = "INSERT INTO entries (space, owner, name, size, expires, value) VALUES (?, ?, ?, ?, ?, ?)"
_PUT_LONG = "INSERT INTO entries (space, owner, name, size, expires, value) VALUES (?, ?, ?, ?, ?, zeroblob(?))"
_PIECE_BYTES = 1 << 18
"""Longer values are written in pieces of so many bytes. Chosen: given whole, SQLite copies a value twice before it
writes it; at half twice as many calls, at double pieces of twice the length are copied."""


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
        query = "SELECT count(*) FROM entries WHERE space = ? AND owner = ? AND expires > ?"
        return await self._file.run(
            lambda connection: int(connection.execute(query, (self._space, owner, self._now())).fetchone()[0])
        )

    async def erase(self, owner: str) -> None:
        query = "DELETE FROM entries WHERE space = ? AND owner = ?"
        await self._file.run(lambda connection: connection.execute(query, (self._space, owner)))

    async def _one(self, query: str, owner: str, name: str) -> bytes | None:
        row = await self._file.run(
            lambda connection: connection.execute(query, (self._space, owner, name, self._now())).fetchone()
        )
        return bytes(row[0]) if row is not None else None

    def _put(self, connection: sqlite3.Connection, entry: Entry) -> bool:
        self._delete(connection, entry.owner, entry.name)
        size = max(len(entry.value), self._least_size)
        if size > self._max_bytes or not self._make_room(connection, entry.owner, size):
            return False
        row = (self._space, entry.owner, entry.name, size, self._now() + entry.ttl_s)
        is_long = len(entry.value) > _PIECE_BYTES
        cursor = connection.execute(
            _PUT_LONG if is_long else _PUT, (*row, len(entry.value) if is_long else entry.value)
        )
        if is_long:
            _write_pieces(connection, cursor.lastrowid, entry.value)
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
        """Drop entries as `resilience.shared_cache` says until `size` more fits. Returns whether it does."""
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


def _write_pieces(connection: sqlite3.Connection, row_id: int | None, value: bytes) -> None:
    """Write a value into its row, which has room for it already."""
    assert row_id is not None
    view = memoryview(value)
    with connection.blobopen("entries", "value", row_id) as blob:
        for start in range(0, len(view), _PIECE_BYTES):
            blob.write(view[start : start + _PIECE_BYTES])
