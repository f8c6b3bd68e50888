"""Usage by day (UTC), key, model and tool, in the shared state file, and what it costs. For bills and `gateway usage`.
In a table beside it: usage by key and who asked, a user or session by its hash (`access.people`).

Rows are gathered in memory and written together every _WRITE_S: a process that is killed loses what it gathered since,
and no more; one that ends writes the rest. The file is bounded in days and in rows. Costs are in billionths of the
currency: whole numbers, so that sums are exact.

With Redis each machine tells its own sums, and a reader adds them up. A machine's file stays the truth about it. It
tells Redis the sums of its rows, never what was added to them, and a sum in Redis only grows: telling a row twice,
late, or in another order changes nothing. `gateway:usage:DAY` is the set of the machines of a day; the hash
`gateway:usage:DAY:MACHINE` has a field for each row, `["key", "model", "tool"]`, with the figures of COLUMNS; the hash
`gateway:usage_people:DAY:MACHINE` one for each `["key", "who"]`. They end `keep_days` after their day.

| `UsageSharing` | a round of `share`                               | leaves it when                             |
|----------------|--------------------------------------------------|--------------------------------------------|
| behind         | tells the days whose sums differ from the file's | all were told: level                       |
| level          | tells the rows that were just written            | one was not told, Redis was away, or after |
|                |                                                  | an hour: behind                            |

Source: redis.io/docs (EVAL, HSCAN, EXPIREAT), read 2026-11-22.
"""

import asyncio
import calendar
import contextlib
import datetime
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from gateway.access.people import KINDS
from gateway.config.settings import Price
from gateway.domain import Json
from gateway.shared_state.port import StateDown
from gateway.shared_state.redis_state import RedisConnection
from gateway.shared_state.sqlite_state import StateFile, machine_name

NANO = 1_000_000_000
"""Parts of a unit of the currency. A token of a cheap model costs tens of them; sums below 9 million units are exact in
every store (2**53)."""

_MILLION = 1_000_000


@dataclass(slots=True)
class Used:
    """What a request used. `input_tokens` include those that a cache had, and those that were `written` to one."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    tool_calls: int = 0
    written_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens


class PriceList:
    """The configured prices by name of a model or tool."""

    def __init__(self, prices: Sequence[Price]) -> None:
        self._prices = {price.model: price for price in prices}
        self.currency = prices[0].currency if prices else "USD"

    def has(self, name: str) -> bool:
        """Whether a model or tool has a price."""
        return name in self._prices

    def tool_cost(self, tool: str, model: str, calls: int = 1) -> int:
        """What calls of a tool cost: its own price, else that of the model for which the gateway called it (empty: a
        caller called it); 0 where neither has one."""
        return self.cost(tool if self.has(tool) else model, Used(tool_calls=calls))

    def cost(self, name: str, used: Used) -> int:
        """What was used of a model or tool costs; 0 where it has no price."""
        price = self._prices.get(name)
        if price is None:
            return 0
        tokens, plain = 0.0, used.input_tokens
        for count, own in (
            (used.cached_tokens, price.cached_input_per_million),
            (used.written_tokens, price.cache_write_per_million),
        ):
            taken = min(count, plain)
            tokens, plain = tokens + taken * (price.input_per_million if own is None else own), plain - taken
        tokens += plain * price.input_per_million
        tokens += used.output_tokens * price.output_per_million
        return round(tokens * (NANO // _MILLION) + used.tool_calls * price.tool_call * NANO)

    def most_input_cost(self, name: str, tokens: int) -> int:
        """What so much input of a model costs at most: none of it, or all, is written to its cache."""
        return max(self.cost(name, Used(tokens)), self.cost(name, Used(tokens, written_tokens=tokens)))

    def output_cost(self, name: str) -> float:
        """What a token of output costs."""
        return self._prices[name].output_per_million * (NANO // _MILLION) if name in self._prices else 0.0


_WRITE_S = 5.0
"""Time between two writes, which is what a crash may lose."""

_MAX_GATHERED = 10_000
"""Rows gathered while the file cannot be written; the rest is lost, and counted in `lost`."""

_MAX_ROWS = 2_000_000
"""Rows of the file (about 200 MB). Beyond it the oldest days go first."""

COLUMNS = ("requests", "input", "cached", "output", "tool_calls", "spend")
"""The figures of a row in the file; `spend` in units of NANO of the currency."""

GROUPS = ("day", "key", "model", "tool", *KINDS)
"""What usage can be summed by."""
_TABLES: Mapping[str, Sequence[str]] = {"usage": ("day", "key", "model", "tool"), "usage_people": ("day", "key", "who")}
"""The tables of the file, and what the figures of each are summed by."""
_MOST_PEOPLE = 1_000
"""Users of a key on one day that have rows of their own, and sessions; the rest share one. So much each worker counts,
and no more all of them write."""
_REST = "others"


class UsageKey(NamedTuple):
    """One row: a key, and the model that answered or the tool that ran; both for a tool that the gateway ran for a
    model, whose tokens are in the row of the model alone."""

    key: str
    model: str = ""
    tool: str = ""


class UsageRow(NamedTuple):
    """A row of a table of the file with its present values. `names`: key, model and tool, or key and who asked;
    `figures`: its sums, in the order of COLUMNS."""

    table: str
    day: str
    names: tuple[str, ...]
    figures: tuple[int, ...]


class UsageBook:
    """Gathers and writes usage. `now` gives unix time. `start` begins to write, `close` writes the rest. `sharing`
    comes before `start`; None where this machine is alone."""

    sharing: "UsageSharing | None" = None

    def __init__(
        self, file: StateFile, prices: PriceList, keep_days: int, now: Callable[[], float] = time.time
    ) -> None:
        self._file = file
        self._prices = prices
        self._keep_days = keep_days
        self._now = now
        self._rows: dict[tuple[str, tuple[str, ...]], list[int]] = {}
        self._people: dict[tuple[str, str], set[str]] = {}
        self._day, self._day_ends_at = "", 0.0
        self._purged_day = ""
        self._writing: asyncio.Task[None] | None = None
        self.lost = 0

    def add(self, row: UsageKey, used: Used, requests: int = 1, who: Sequence[str] = ()) -> None:
        """Count what requests of a key have used; `who`: under these names alone. Costs microseconds, never waits."""
        now_s = self._now()
        if now_s >= self._day_ends_at:
            self._day, self._day_ends_at = time.strftime("%Y-%m-%d", time.gmtime(now_s)), (now_s // 86_400 + 1) * 86_400
            self._people = {}
        if row.tool:
            spend = self._prices.tool_cost(row.tool, row.model, used.tool_calls)
        else:
            spend = self._prices.cost(row.model, used)
        amounts = (requests, used.input_tokens, used.cached_tokens, used.output_tokens, used.tool_calls, spend)
        rows: list[tuple[str, ...]] = [(row.key, self._known(row.key, name)) for name in who]
        for each in rows or [row]:
            counts = self._rows.get((self._day, each))
            if counts is None:
                if len(self._rows) >= _MAX_GATHERED:
                    self.lost += requests
                    return
                counts = self._rows[self._day, each] = [0] * len(COLUMNS)
            for index, amount in enumerate(amounts):
                counts[index] += amount

    def _known(self, key: str, name: str) -> str:
        """The name of somebody's row: that of all others where the key has too many."""
        known = self._people.setdefault((key, name.partition("_")[0]), set())
        if name not in known and len(known) >= _MOST_PEOPLE:
            return _others(name)
        known.add(name)
        return name

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
        values = [(day, *row, *counts) for (day, row), counts in rows.items()]
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
    written = []
    for value in values:
        table = next(name for name, names in _TABLES.items() if len(value) == len(names) + len(COLUMNS))
        if table == "usage_people":
            value = (*value[:2], _with_room(connection, *value[:3]), *value[3:])
        written += [_row(table, row) for row in connection.execute(_ADDITIONS[table], value).fetchall()]
    machine = machine_name(connection)
    for table in _TABLES if oldest is not None else ():
        connection.execute(f"DELETE FROM {table} WHERE day < ?", (oldest,))  # noqa: S608 - names of our own
        while connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] > _MAX_ROWS:  # noqa: S608
            connection.execute(f"DELETE FROM {table} WHERE day = (SELECT min(day) FROM {table})")  # noqa: S608
    return machine, written


def _addition(table: str) -> str:
    names, sums = _TABLES[table], ", ".join(f"{column} = {column} + excluded.{column}" for column in COLUMNS)
    places = ", ".join("?" * (len(names) + len(COLUMNS)))
    return (
        f"INSERT INTO {table} VALUES ({places}) "  # noqa: S608 - names of our own
        f"ON CONFLICT ({', '.join(names)}) DO UPDATE SET {sums} RETURNING *"
    )


_ADDITIONS = {table: _addition(table) for table in _TABLES}


def _with_room(connection: sqlite3.Connection, day: str, key: str, who: str) -> str:
    """The name of somebody's row, or that of all others where all workers together have written too many."""
    kind = who.partition("_")[0]
    here = connection.execute("SELECT 1 FROM usage_people WHERE day = ? AND key = ? AND who = ?", (day, key, who))
    if here.fetchone() is not None:
        return who
    count = "SELECT count(*) FROM usage_people WHERE day = ? AND key = ? AND who GLOB ?"
    return who if connection.execute(count, (day, key, f"{kind}_*")).fetchone()[0] < _MOST_PEOPLE else _others(who)


def _others(who: str) -> str:
    return f"{who.partition('_')[0]}_{_REST}"


def _row(table: str, row: Sequence[Any]) -> UsageRow:
    names = len(_TABLES[table])
    return UsageRow(table, row[0], tuple(row[1:names]), tuple(row[names:]))


def read_day(path: Path, table: str, day: str) -> list[UsageRow]:
    """The rows of a table of one day. Raises sqlite3.Error."""
    with _reading(path) as connection:
        found = connection.execute(f"SELECT * FROM {table} WHERE day = ?", (day,)).fetchall()  # noqa: S608
        return [_row(table, row) for row in found]


def read_machine(path: Path) -> str:
    """As `machine_name`. Raises sqlite3.Error."""
    with _reading(path) as connection:
        return machine_name(connection)


def _reading(path: Path) -> "contextlib.closing[sqlite3.Connection]":
    return contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5))


def read_usage(path: Path, since: str, by: Iterable[str]) -> list[Json]:
    """Sums from the day `since` (YYYY-MM-DD) on, one for each combination of the GROUPS in `by`, in their order.

    Each is `{day?, key?, model?, tool?, user?, session?, requests, input_tokens, cached_tokens, output_tokens,
    tool_calls, spend}`, `spend` in the currency of the prices. None where there is no file. `by` is one that
    `together` allows. Raises sqlite3.Error.
    """
    if not path.exists():
        return []
    groups, kind = [name for name in GROUPS if name in set(by)], _kind_in(by)
    columns = ["who" if name == kind else name for name in groups]
    named = "".join(f"{name}, " for name in columns)
    sums = ", ".join(f"sum({column})" for column in COLUMNS)
    grouped = f"GROUP BY {', '.join(columns)} ORDER BY {', '.join(columns)}" if groups else ""
    table, wanted = ("usage_people", f"AND who GLOB '{kind}_*'") if kind else ("usage", "")
    query = f"SELECT {named}{sums} FROM {table} WHERE day >= ? {wanted} {grouped}"  # noqa: S608 - names of our own
    with _reading(path) as connection:
        rows = connection.execute(query, (since,)).fetchall()
    return [summed(groups, row) for row in rows if row[-1] is not None]


def together(by: Iterable[str]) -> str:
    """Why usage cannot be summed by these GROUPS together; empty where it can."""
    people = [name for name in by if name in KINDS]
    others = [name for name in by if name in ("model", "tool")]
    if len(people) > 1 or (people and others):
        return f"{people[0]} goes with day and key alone"
    return ""


def _kind_in(by: Iterable[str]) -> str:
    return next((name for name in by if name in KINDS), "")


def summed(groups: Sequence[str], row: tuple[Any, ...]) -> Json:
    """One row of `read_usage`: the values of its groups, then its figures in the order of COLUMNS."""
    names = (*groups, "requests", "input_tokens", "cached_tokens", "output_tokens", "tool_calls", "spend")
    found: Json = dict(zip(names, row, strict=True))
    found["spend"] = found["spend"] / NANO
    return found


def named(rows: Iterable[Json], names: Mapping[str, str]) -> list[Json]:
    """The same, with the `name` of each row's `key` where `names` has it."""
    return [{**row, "name": names[row["key"]]} if row.get("key") in names else row for row in rows]


def sum_text(amount: float) -> str:
    """A sum of money to the billionth, without a power of ten: `12.5`, `0.00000042`."""
    return f"{amount:.9f}".rstrip("0").rstrip(".")


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


_ROWS_PER_CALL = 40
"""Rows that one script tells. Measured (5,000 rows, November 2026): a call takes 0.6 ms of Redis' one core."""

_SCANNED = 200
"""Rows that are read at once."""

_COMPARE_S = 3600.0
"""Time between two comparisons without an outage, for a Redis whose rows somebody has removed."""

_DAY_S = 86_400

Sums = dict[tuple[str, ...], list[int]]
"""Figures in the order of COLUMNS, by the values of some of GROUPS."""

# KEYS: the rows of a machine's day, the machines of the day. ARGV: the machine, when both end (unix s), then name and
# figures of each row. A figure that is there already and is larger stays.
_TELL = """
for i = 3, #ARGV, 2 do
  local present, figures, n = {}, {}, 0
  for figure in string.gmatch(redis.call('HGET', KEYS[1], ARGV[i]) or '', '%d+') do present[#present + 1] = figure end
  for figure in string.gmatch(ARGV[i + 1], '%d+') do
    n = n + 1
    figures[n] = string.format('%.0f', math.max(tonumber(figure), tonumber(present[n] or 0)))
  end
  redis.call('HSET', KEYS[1], ARGV[i], table.concat(figures, ' '))
end
redis.call('SADD', KEYS[2], ARGV[1])
for i = 1, 2 do redis.call('EXPIREAT', KEYS[i], ARGV[2]) end
return 0
"""


def erase_usage(connection: sqlite3.Connection, key: str) -> int:
    """Remove the rows of a key. Returns how many there were."""
    return sum(
        connection.execute(f"DELETE FROM {table} WHERE key = ?", (key,)).rowcount  # noqa: S608 - names of our own
        for table in _TABLES
    )


class SharedUsage:
    """The rows in Redis. Every method raises StateDown."""

    def __init__(self, connection: RedisConnection, keep_days: int) -> None:
        self._connection = connection
        self._keep_days = keep_days

    async def tell(self, machine: str, rows: Iterable[UsageRow]) -> None:
        """Tell the present sums of rows of this machine."""
        by_day: dict[tuple[str, str], list[UsageRow]] = {}
        for row in rows:
            by_day.setdefault((row.table, row.day), []).append(row)
        for (table, day), of_day in by_day.items():
            ends_at = calendar.timegm(time.strptime(day, "%Y-%m-%d")) + (self._keep_days + 1) * _DAY_S
            for first in range(0, len(of_day), _ROWS_PER_CALL):
                keys = (_rows_of(table, day, machine), _machines_of(day))
                await self._tell(keys, machine, ends_at, of_day[first : first + _ROWS_PER_CALL])

    async def _tell(self, keys: tuple[str, str], machine: str, ends_at: int, rows: Sequence[UsageRow]) -> None:
        pairs: list[bytes | str] = []
        for row in rows:
            pairs += [orjson.dumps(row.names), " ".join(map(str, row.figures))]
        await self._connection.ask_patiently(lambda redis: redis.eval(_TELL, 2, *keys, machine, ends_at, *pairs))

    async def sums(self, table: str, machine: str, day: str) -> list[int]:
        """What Redis has of one day of this machine, all rows of a table together; zeros where it has none."""
        sums: Sums = {}
        await asyncio.to_thread(_add_up, sums, (), table, day, await self._rows(_rows_of(table, day, machine)))
        return sums.get((), [0] * len(COLUMNS))

    async def read(self, since: str, by: Iterable[str], now_s: float) -> list[Json]:
        """As `read_usage`, of all machines together."""
        names = [name for name in GROUPS if name in set(by)]
        sums, table = Sums(), "usage_people" if _kind_in(by) else "usage"
        for day in _days(since, now_s, self._keep_days):
            for machine in await self._machines(day):
                rows = await self._rows(_rows_of(table, day, machine))
                await asyncio.to_thread(_add_up, sums, names, table, day, rows)
        return [summed(names, (*groups, *sums[groups])) for groups in sorted(sums)]

    async def erase(self, key: str, now_s: float) -> None:
        """Remove the rows of a key, of all machines."""
        for day in _days("1970-01-01", now_s, self._keep_days):
            for name in [_rows_of(table, day, each) for each in await self._machines(day) for table in _TABLES]:
                if gone := [field for field in await self._rows(name) if orjson.loads(field)[0] == key]:
                    await self._connection.ask_patiently(partial(_drop_fields, name, gone))

    async def _machines(self, day: str) -> list[str]:
        found = await self._connection.ask_patiently(lambda redis: redis.smembers(_machines_of(day)))
        return [machine.decode() for machine in found]

    async def _rows(self, key: str) -> dict[bytes, bytes]:
        """The fields of a hash, read in pieces; a piece may repeat fields of another."""
        rows: dict[bytes, bytes] = {}
        cursor = 0
        while True:
            cursor, page = await self._page(key, cursor)
            rows.update(page)
            if not cursor:
                return rows

    async def _page(self, key: str, cursor: int) -> tuple[int, dict[bytes, bytes]]:
        found: tuple[int, dict[bytes, bytes]] = await self._connection.ask_patiently(
            lambda redis: redis.hscan(key, cursor, count=_SCANNED)
        )
        return found


def _add_up(sums: Sums, names: Sequence[str], table: str, day: str, rows: Mapping[bytes, bytes]) -> None:
    """Add rows of a day to the sums of the groups `names`."""
    kind = _kind_in(names)
    for name, figures in rows.items():
        groups = dict(zip(_TABLES[table], (day, *orjson.loads(name)), strict=True))
        if kind:
            groups[kind] = groups["who"]
            if not groups["who"].startswith(f"{kind}_"):
                continue
        group = sums.setdefault(tuple(groups[each] for each in names), [0] * len(COLUMNS))
        for index, figure in enumerate(figures.split()):
            group[index] += int(figure)


class UsageSharing:
    """Tells Redis what this machine has used, as the module's table says. `path`: the machine's file. `share` never
    raises and is called by one task at a time."""

    def __init__(
        self, path: Path, connection: RedisConnection, shared: SharedUsage, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._path = path
        self._connection = connection
        self._shared = shared
        self._clock = clock
        self._is_behind = True
        self._compare_at_s = 0.0
        connection.on_back.append(self._note_back)

    async def share(self, machine: str, rows: Sequence[UsageRow]) -> None:
        """Tell the `rows` of `machine` that the file has just been given, or, where Redis has missed some, everything
        that it lacks. Called about every _WRITE_S, also without rows."""
        self._is_behind = self._is_behind or self._clock() >= self._compare_at_s
        if not self._connection.is_up:
            self._is_behind = True
            self._connection.check_if_due()
            return
        try:
            if self._is_behind:
                await self._tell_what_differs()
            elif rows:
                await self._shared.tell(machine, rows)
        except (StateDown, sqlite3.Error):
            self._is_behind = True
        except BaseException:  # cancelled while it was telling
            self._is_behind = True
            raise

    async def _tell_what_differs(self) -> None:
        self._is_behind, self._compare_at_s = False, self._clock() + _COMPARE_S
        machine = await asyncio.to_thread(read_machine, self._path)
        for found in await asyncio.to_thread(read_usage, self._path, "", ["day"]):
            for table in _TABLES:
                rows = await asyncio.to_thread(read_day, self._path, table, found["day"])
                own = [sum(figures) for figures in zip(*(row.figures for row in rows), strict=True)]
                if rows and await self._shared.sums(table, machine, found["day"]) != own:
                    await self._shared.tell(machine, rows)

    async def _note_back(self, connection: RedisConnection) -> None:
        """A `redis_state.OnBack`: Redis may have lost its data, or missed something."""
        self._is_behind = True


class UsageReader:
    """Reads usage for people. `path`: this machine's file; `shared`: None where this machine is alone."""

    def __init__(self, path: Path, shared: SharedUsage | None, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._shared = shared
        self._now = now

    async def read(self, since: str, by: Sequence[str], *, only_here: bool = False) -> tuple[list[Json], bool]:
        """Rows as `read_usage` gives them, of all machines or of this one, and whether of all. `only_here`: of
        this one. Raises StateDown where Redis cannot be read, sqlite3.Error."""
        if self._shared is None or only_here:
            return await asyncio.to_thread(read_usage, self._path, since, by), False
        return await self._shared.read(since, by, self._now()), True


def _drop_fields(name: str, fields: Sequence[bytes], redis: Any) -> Any:
    return redis.hdel(name, *fields)


def _machines_of(day: str) -> str:
    return f"gateway:usage:{day}"


def _rows_of(table: str, day: str, machine: str) -> str:
    return f"gateway:{table}:{day}:{machine}"


def _days(since: str, now_s: float, keep_days: int) -> list[str]:
    """Every day from `since` to the day after `now_s`, since machines' clocks differ; none that is no longer kept."""
    first_s = max(calendar.timegm(time.strptime(since, "%Y-%m-%d")), (now_s // _DAY_S - keep_days) * _DAY_S)
    count = max(0, int((now_s - first_s) // _DAY_S) + 2)
    return [time.strftime("%Y-%m-%d", time.gmtime(first_s + day * _DAY_S)) for day in range(count)]
