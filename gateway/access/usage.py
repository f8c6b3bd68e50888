"""Usage by day (UTC), key, model and tool, in the shared state file. For bills and for `gateway usage`.

Rows are gathered in memory and written together every _WRITE_S: a process that is killed loses what it gathered since,
and no more; one that ends writes the rest. The file is bounded in days and in rows. Knows no HTTP.
"""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

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

_COLUMNS = ("requests", "input", "cached", "output", "tool_calls", "spend")
GROUPS = ("day", "key", "model", "tool")
"""What usage can be summed by."""


class UsageKey(NamedTuple):
    """One row: a key, and the model that answered or the tool that ran; both for a tool that the gateway ran for a
    model, whose tokens are in the row of the model alone."""

    key: str
    model: str = ""
    tool: str = ""


class UsageBook:
    """Gathers and writes usage. `now` gives unix time. `start` begins to write, `close` writes the rest."""

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
            counts = self._rows[self._day, row] = [0] * len(_COLUMNS)
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
        """Write what was gathered. Raises StateDown; then it is kept for the next time."""
        rows, self._rows = self._rows, {}
        if not rows:
            return
        values = [(day, row.key, row.model, row.tool, *counts) for (day, row), counts in rows.items()]
        oldest = time.strftime("%Y-%m-%d", time.gmtime(self._now() - self._keep_days * 86_400))
        purge, self._purged_day = self._purged_day != self._day, self._day
        try:
            await self._file.run(lambda connection: _write(connection, values, oldest if purge else None))
        except StateDown:
            for key, counts in rows.items():
                present = self._rows.setdefault(key, [0] * len(_COLUMNS))
                for index, amount in enumerate(counts):
                    present[index] += amount
            raise

    async def _write_often(self) -> None:
        while True:
            await asyncio.sleep(_WRITE_S)
            with contextlib.suppress(StateDown):
                await self.write()


def _write(connection: sqlite3.Connection, values: Iterable[tuple[Any, ...]], oldest: str | None) -> None:
    """Add rows. `oldest`: days before it are removed, and more while there are too many rows; None: none is."""
    sums = ", ".join(f"{column} = {column} + excluded.{column}" for column in _COLUMNS)
    connection.executemany(
        f"INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "  # noqa: S608 - names of our own
        f"ON CONFLICT (day, key, model, tool) DO UPDATE SET {sums}",
        values,
    )
    if oldest is None:
        return
    connection.execute("DELETE FROM usage WHERE day < ?", (oldest,))
    while connection.execute("SELECT count(*) FROM usage").fetchone()[0] > _MAX_ROWS:
        connection.execute("DELETE FROM usage WHERE day = (SELECT min(day) FROM usage)")


def read_usage(path: Path, since: str, by: Iterable[str]) -> list[Json]:
    """Sums from the day `since` (YYYY-MM-DD) on, one for each combination of the GROUPS in `by`, in their order.

    Each is `{day?, key?, model?, tool?, requests, input_tokens, cached_tokens, output_tokens, tool_calls, spend}`,
    `spend` in the currency of the prices. None where there is no file. Raises sqlite3.Error.
    """
    if not path.exists():
        return []
    groups = [name for name in GROUPS if name in set(by)]
    named = "".join(f"{name}, " for name in groups)
    sums = ", ".join(f"sum({column})" for column in _COLUMNS)
    grouped = f"GROUP BY {', '.join(groups)} ORDER BY {', '.join(groups)}" if groups else ""
    query = f"SELECT {named}{sums} FROM usage WHERE day >= ? {grouped}"  # noqa: S608 - names of our own
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as connection:
        rows = connection.execute(query, (since,)).fetchall()
    return [_sums(groups, row) for row in rows if row[-1] is not None]


def _sums(groups: list[str], row: tuple[Any, ...]) -> Json:
    names = (*groups, "requests", "input_tokens", "cached_tokens", "output_tokens", "tool_calls", "spend")
    found: Json = dict(zip(names, row, strict=True))
    found["spend"] = found["spend"] / NANO
    return found


def totals(rows: Iterable[Mapping[str, Any]]) -> Json:
    """The sums of the figures of several rows."""
    found: Json = {}
    for row in rows:
        for name, value in row.items():
            if name not in GROUPS:
                found[name] = found.get(name, 0) + value
    return found
