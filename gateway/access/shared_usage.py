"""Usage of all machines, in Redis: each machine writes its own sums, and a reader adds them up.

A machine's file stays the truth about the machine. It tells Redis the sums of its rows, never what was added to them,
and a sum in Redis only grows: telling a row twice, late, or in another order changes nothing, so nothing is counted
twice. `gateway:usage:DAY` is the set of the machines of a day; the hash `gateway:usage:DAY:MACHINE` has a field for
each row, `["key", "model", "tool"]`, with the figures of `usage.COLUMNS`. Both end `keep_days` after their day.

| `UsageSharing` | a round of `share`                               | leaves it when                             |
|----------------|--------------------------------------------------|--------------------------------------------|
| behind         | tells the days whose sums differ from the file's | all were told: level                       |
| level          | tells the rows that were just written            | one was not told, Redis was away, or after |
|                |                                                  | an hour: behind                            |

Knows no HTTP. Source: redis.io/docs (EVAL, HSCAN, EXPIREAT), read 2026-11-22.
"""

import asyncio
import calendar
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import orjson

from gateway.access.usage import COLUMNS, GROUPS, UsageRow, read_day, read_machine, read_usage, summed
from gateway.domain import Json
from gateway.shared_state.port import StateDown
from gateway.shared_state.redis_connection import RedisConnection

_ROWS_PER_CALL = 40
"""Rows that one script tells. Measured (5,000 rows, November 2026): a call takes 0.6 ms of Redis' one core. At half,
twice as many calls; at double, commands of requests wait for as much longer."""

_SCANNED = 200
"""Rows that are read at once. Chosen: under a millisecond of Redis; half and double as for _ROWS_PER_CALL."""

_COMPARE_S = 3600.0
"""Time between two comparisons without an outage, for a Redis whose rows somebody has removed. Chosen: one costs about
a call for each kept day; half costs twice that, and double leaves the sums wrong for two hours."""

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


class SharedUsage:
    """The rows in Redis. Every method raises StateDown."""

    def __init__(self, connection: RedisConnection, keep_days: int) -> None:
        self._connection = connection
        self._keep_days = keep_days

    async def tell(self, machine: str, rows: Iterable[UsageRow]) -> None:
        """Tell the present sums of rows of this machine."""
        by_day: dict[str, list[UsageRow]] = {}
        for row in rows:
            by_day.setdefault(row.day, []).append(row)
        for day, of_day in by_day.items():
            ends_at = calendar.timegm(time.strptime(day, "%Y-%m-%d")) + (self._keep_days + 1) * _DAY_S
            for first in range(0, len(of_day), _ROWS_PER_CALL):
                await self._tell(day, machine, ends_at, of_day[first : first + _ROWS_PER_CALL])

    async def _tell(self, day: str, machine: str, ends_at: int, rows: Sequence[UsageRow]) -> None:
        pairs: list[bytes | str] = []
        for row in rows:
            pairs += [orjson.dumps([row.key, row.model, row.tool]), " ".join(map(str, row.figures))]
        keys = (_rows_of(day, machine), _machines_of(day))
        await self._connection.ask_patiently(lambda redis: redis.eval(_TELL, 2, *keys, machine, ends_at, *pairs))

    async def sums(self, machine: str, day: str) -> list[int]:
        """What Redis has of one day of this machine, all rows together; zeros where it has none."""
        sums: Sums = {}
        await asyncio.to_thread(_add_up, sums, [], day, await self._rows(_rows_of(day, machine)))
        return sums.get((), [0] * len(COLUMNS))

    async def read(self, since: str, by: Iterable[str], now_s: float) -> list[Json]:
        """As `usage.read_usage`, of all machines together."""
        names = [name for name in GROUPS if name in set(by)]
        sums: Sums = {}
        for day in _days(since, now_s, self._keep_days):
            for machine in await self._machines(day):
                rows = await self._rows(_rows_of(day, machine))
                await asyncio.to_thread(_add_up, sums, names, day, rows)
        return [summed(names, (*groups, *sums[groups])) for groups in sorted(sums)]

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


def _add_up(sums: Sums, names: Sequence[str], day: str, rows: Mapping[bytes, bytes]) -> None:
    """Add rows of a day to the sums of the groups `names`."""
    for name, figures in rows.items():
        groups = dict(zip(GROUPS, (day, *orjson.loads(name)), strict=True))
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
        """Tell rows that the file has just been given, or, where Redis has missed some, everything that it lacks."""
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
            rows: list[UsageRow] = await asyncio.to_thread(read_day, self._path, found["day"])
            own = [sum(figures) for figures in zip(*(row.figures for row in rows), strict=True)]
            if await self._shared.sums(machine, found["day"]) != own:
                await self._shared.tell(machine, rows)

    async def _note_back(self, connection: RedisConnection) -> None:
        """A `redis_connection.OnBack`: Redis may have lost its data, or missed something."""
        self._is_behind = True


class UsageReader:
    """Reads usage for people. `path`: this machine's file; `shared`: None where this machine is alone."""

    def __init__(self, path: Path, shared: SharedUsage | None, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._shared = shared
        self._now = now

    async def read(self, since: str, by: Sequence[str], *, only_here: bool = False) -> tuple[list[Json], bool]:
        """Rows as `usage.read_usage` gives them, of all machines or of this one, and whether of all. `only_here`: of
        this one. Raises StateDown where Redis cannot be read, sqlite3.Error."""
        if self._shared is None or only_here:
            return await asyncio.to_thread(read_usage, self._path, since, by), False
        return await self._shared.read(since, by, self._now()), True


def _machines_of(day: str) -> str:
    return f"gateway:usage:{day}"


def _rows_of(day: str, machine: str) -> str:
    return f"gateway:usage:{day}:{machine}"


def _days(since: str, now_s: float, keep_days: int) -> list[str]:
    """Every day from `since` to the day after `now_s`, since machines' clocks differ; none that is no longer kept."""
    first_s = max(calendar.timegm(time.strptime(since, "%Y-%m-%d")), (now_s // _DAY_S - keep_days) * _DAY_S)
    count = max(0, int((now_s - first_s) // _DAY_S) + 2)
    return [time.strftime("%Y-%m-%d", time.gmtime(first_s + day * _DAY_S)) for day in range(count)]
