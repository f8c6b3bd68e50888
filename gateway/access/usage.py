"""Usage by day (UTC), key, model and tool, in the shared state file. For bills and for `gateway usage`.

With Redis, `shared_usage` tells the other machines of it. Rows are gathered in memory and written together every
_WRITE_S: a process that is killed loses what it gathered since, and no more; one that ends writes the rest. The file is
bounded in days and in rows. Knows no HTTP.
"""

import asyncio
import contextlib
import datetime
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from gateway.access.prices import NANO, PriceList, Used
from gateway.domain import Json
from gateway.shared_state.port import StateDown
from gateway.shared_state.state_file import StateFile

_WRITE_S = 5.0
"""Time between two writes, which is what a crash may lose. Chosen: at half, a busy gateway writes twice as often; at
double, a crash loses twice as much of a bill."""

_MAX_GATHERED = 10_000
"""Rows gathered while the file cannot be written; the rest is lost, and counted in `lost`. Chosen: hundreds of keys
with dozens of models and tools, 5 MB."""

_MAX_ROWS = 2_000_000
"""Rows of the file (about 200 MB). Chosen: 400 days of 5,000 rows. Beyond it the oldest days go first."""

COLUMNS = ("requests", "input", "cached", "output", "tool_calls", "spend")
"""The figures of a row in the file; `spend` in units of NANO of the currency."""

GROUPS = ("day", "key", "model", "tool")
"""What usage can be summed by."""


class UsageKey(NamedTuple):
    """One row: a key, and the model that answered or the tool that ran; both for a tool that the gateway ran for a
    model, whose tokens are in the row of the model alone."""

    key: str
    model: str = ""
    tool: str = ""


class UsageRow(NamedTuple):
    """A row of the file with its present values: `figures` are its sums, in the order of COLUMNS."""

    day: str
    key: str
    model: str
    tool: str
    figures: tuple[int, ...]


class Sharing(Protocol):
    """Tells other machines; see `shared_usage.UsageSharing`."""

    async def share(self, machine: str, rows: Sequence[UsageRow]) -> None:
        """`rows` of `machine` were written a moment ago. Called about every _WRITE_S, also without rows."""
        ...


class UsageBook:
    """Gathers and writes usage. `now` gives unix time. `start` begins to write, `close` writes the rest. `sharing`
    comes before `start`; None where this machine is alone."""

    sharing: Sharing | None = None

    def __init__(
        self, file: StateFile, prices: PriceList, keep_days: int, now: Callable[[], float] = time.time
    ) -> None:
        self._file = file
        self._prices = prices
        self._keep_days = keep_days
        self._now = now
        self._rows: dict[tuple[str, UsageKey], list[int]] = {}
        self._day, self._day_ends_at = "", 0.0
        self._purged_day = ""
        self._writing: asyncio.Task[None] | None = None
        self.lost = 0

    def add(self, row: UsageKey, used: Used, requests: int = 1) -> None:
        """Count what requests of a key have used. Costs microseconds and never waits."""
        now_s = self._now()
        if now_s >= self._day_ends_at:
            self._day, self._day_ends_at = time.strftime("%Y-%m-%d", time.gmtime(now_s)), (now_s // 86_400 + 1) * 86_400
        counts = self._rows.get((self._day, row))
        if counts is None:
            if len(self._rows) >= _MAX_GATHERED:
                self.lost += requests
                return
            counts = self._rows[self._day, row] = [0] * len(COLUMNS)
        if row.tool:
            spend = self._prices.tool_cost(row.tool, row.model, used.tool_calls)
        else:
            spend = self._prices.cost(row.model, used)
        amounts = (requests, used.input_tokens, used.cached_tokens, used.output_tokens, used.tool_calls, spend)
        for index, amount in enumerate(amounts):
            counts[index] += amount

    async def start(self) -> None:
        """Write every _WRITE_S from now on."""
        self._writing = asyncio.create_task(self._write_often())

    async def close(self) -> None:
        """Write what is left."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.wait({self._writing})
        with contextlib.suppress(StateDown):
            await self.write()

    async def write(self) -> None:
        """Write what was gathered, then share it. Raises StateDown; then it is kept for the next time."""
        machine, written = await self._write()
        if self.sharing is not None:
            await self.sharing.share(machine, written)

    async def _write(self) -> tuple[str, list[UsageRow]]:
        """The machine's name and the rows as they stand after it; nothing where nothing was gathered."""
        rows, self._rows = self._rows, {}
        if not rows:
            return "", []
        values = [(day, row.key, row.model, row.tool, *counts) for (day, row), counts in rows.items()]
        oldest = time.strftime("%Y-%m-%d", time.gmtime(self._now() - self._keep_days * 86_400))
        purge, self._purged_day = self._purged_day != self._day, self._day
        try:
            return await self._file.run(lambda connection: _write(connection, values, oldest if purge else None))
        except StateDown:
            for key, counts in rows.items():
                present = self._rows.setdefault(key, [0] * len(COLUMNS))
                for index, amount in enumerate(counts):
                    present[index] += amount
            raise

    async def _write_often(self) -> None:
        while True:
            await asyncio.sleep(_WRITE_S)
            with contextlib.suppress(StateDown):
                await self.write()


def _write(
    connection: sqlite3.Connection, values: Iterable[tuple[Any, ...]], oldest: str | None
) -> tuple[str, list[UsageRow]]:
    """Add rows. `oldest`: days before it are removed, and more while there are too many rows; None: none is. Returns
    the machine's name and the rows as they stand now."""
    sums = ", ".join(f"{column} = {column} + excluded.{column}" for column in COLUMNS)
    statement = (
        f"INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "  # noqa: S608 - names of our own
        f"ON CONFLICT (day, key, model, tool) DO UPDATE SET {sums} RETURNING *"
    )
    written = [_row(row) for value in values for row in connection.execute(statement, value).fetchall()]
    machine = str(connection.execute("SELECT value FROM meta WHERE name = 'machine'").fetchone()[0])
    if oldest is not None:
        connection.execute("DELETE FROM usage WHERE day < ?", (oldest,))
        while connection.execute("SELECT count(*) FROM usage").fetchone()[0] > _MAX_ROWS:
            connection.execute("DELETE FROM usage WHERE day = (SELECT min(day) FROM usage)")
    return machine, written


def _row(row: Sequence[Any]) -> UsageRow:
    day, key, model, tool, *figures = row
    return UsageRow(day, key, model, tool, tuple(figures))


def read_day(path: Path, day: str) -> list[UsageRow]:
    """The rows of one day. Raises sqlite3.Error."""
    with _reading(path) as connection:
        return [_row(row) for row in connection.execute("SELECT * FROM usage WHERE day = ?", (day,)).fetchall()]


def read_machine(path: Path) -> str:
    """The random name of this machine, as old as its file. Raises sqlite3.Error."""
    with _reading(path) as connection:
        return str(connection.execute("SELECT value FROM meta WHERE name = 'machine'").fetchone()[0])


def _reading(path: Path) -> "contextlib.closing[sqlite3.Connection]":
    return contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5))


def read_usage(path: Path, since: str, by: Iterable[str]) -> list[Json]:
    """Sums from the day `since` (YYYY-MM-DD) on, one for each combination of the GROUPS in `by`, in their order.

    Each is `{day?, key?, model?, tool?, requests, input_tokens, cached_tokens, output_tokens, tool_calls, spend}`,
    `spend` in the currency of the prices. None where there is no file. Raises sqlite3.Error.
    """
    if not path.exists():
        return []
    groups = [name for name in GROUPS if name in set(by)]
    named = "".join(f"{name}, " for name in groups)
    sums = ", ".join(f"sum({column})" for column in COLUMNS)
    grouped = f"GROUP BY {', '.join(groups)} ORDER BY {', '.join(groups)}" if groups else ""
    query = f"SELECT {named}{sums} FROM usage WHERE day >= ? {grouped}"  # noqa: S608 - names of our own
    with _reading(path) as connection:
        rows = connection.execute(query, (since,)).fetchall()
    return [summed(groups, row) for row in rows if row[-1] is not None]


def summed(groups: Sequence[str], row: tuple[Any, ...]) -> Json:
    """One row of `read_usage`: the values of its groups, then its figures in the order of COLUMNS."""
    names = (*groups, "requests", "input_tokens", "cached_tokens", "output_tokens", "tool_calls", "spend")
    found: Json = dict(zip(names, row, strict=True))
    found["spend"] = found["spend"] / NANO
    return found


def is_day(text: str) -> bool:
    """Whether it is a day of the calendar, as YYYY-MM-DD."""
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def totals(rows: Iterable[Mapping[str, Any]]) -> Json:
    """The sums of the figures of several rows."""
    found: Json = {}
    for row in rows:
        for name, value in row.items():
            if name not in GROUPS:
                found[name] = found.get(name, 0) + value
    return found
