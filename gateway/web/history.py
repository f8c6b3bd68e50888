"""What the gateway did lately, for the console: the last requests, counts by time, and failures, in the shared state
file.

Each process gathers in memory and writes every _WRITE_S, so one that is killed loses no more than that; any process
reads what all have written. Counts are sums in buckets of five seconds, kept for ten minutes, and of a minute, kept for
seven days: no key, no model, no address. Failures are counted by the minute, endpoint, status and code. The record of a
request is what its log line holds: names, figures and ids, never a key, a query string, a prompt or an answer. Where
the file cannot be written, what this process has gathered is all there is to see.
"""

import asyncio
import contextlib
import sqlite3
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson

from gateway.domain import Json
from gateway.shared_state.port import StateDown
from gateway.shared_state.sqlite_state import StateFile

CAUSES: Final = ("ok", "invalid", "refused", "limited", "upstream", "failed", "left")
"""How a request ended: `invalid` 400, 404, 413 and the like; `refused` 401 and 403; `limited` 429; `upstream` 502 to
504; `failed` any other 5xx or a stream that broke off; `left`: the client did not wait."""
_SUMS: Final = ("input_tokens", "output_tokens", "cpu_ms", "memory_kb_s", "in_flight_s")
_TIMES: Final = 20
"""Buckets of answer times: up to 1 ms, 2 ms, 4 ms … 524 s."""
_FIELDS: Final = len(CAUSES) + len(_SUMS) + _TIMES

_FINE_S, _COARSE_S = 5, 60
_KEPT_S: Final = {_FINE_S: 600, _COARSE_S: 7 * 86_400}
"""How long buckets are kept, by their length."""
RANGES: Final = {
    "5m": (_FINE_S, 60, 1),
    "1h": (_COARSE_S, 60, 1),
    "24h": (_COARSE_S, 1440, 15),
    "7d": (_COARSE_S, 10_080, 120),
}
"""{name: (seconds of a bucket, how many buckets, how many of them make one point)}."""

FAULT_RANGES: Final = {"15m": 900, "1h": 3600, "24h": 86_400, "7d": 7 * 86_400}
"""{name: seconds} for failures."""

MAX_RECORDS = 200
"""Requests that are kept, of all processes together. What a person reads through."""
MAX_OF_A_KIND = 50
"""Failures of one endpoint and code whose records are kept beside those: one kind does not drive another out."""
_WRITE_S = 5.0
"""Time between two writes, which is what a crash may lose."""
_MAX_GATHERED = 1000
"""Most buckets in memory while the file cannot be written; the oldest give way."""
_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS history (seconds INTEGER, start INTEGER, sums TEXT NOT NULL, "
    "PRIMARY KEY (seconds, start)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY, ts REAL NOT NULL, key TEXT NOT NULL, "
    "line TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS faults (start INTEGER, endpoint TEXT, status INTEGER, code TEXT, "
    "count INTEGER NOT NULL, PRIMARY KEY (start, endpoint, status, code)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS failed (id INTEGER PRIMARY KEY, endpoint TEXT, code TEXT, ts REAL NOT NULL, "
    "key TEXT NOT NULL, line TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS failed_kinds ON failed (endpoint, code)",
)
"""Tables of their own, so that a version which does not know them reads the file."""

_FORGET: Final = """DELETE FROM failed WHERE endpoint = ? AND code = ? AND id NOT IN
(SELECT id FROM failed WHERE endpoint = ? AND code = ? ORDER BY id DESC LIMIT ?)"""
_LAST: Final = "SELECT line FROM requests ORDER BY id DESC LIMIT ?"
_LAST_FAILED: Final = "SELECT line FROM failed WHERE endpoint = ? AND code = ? AND ts >= ? ORDER BY id DESC LIMIT ?"

K = TypeVar("K")
_Buckets = dict[tuple[int, int], list[int]]
"""Sums by (seconds, unix time of the beginning)."""
_Kind = tuple[str, str]
"""Endpoint and code of failures."""
_Faults = Counter[tuple[int, str, int, str]]
"""Failures by (minute's unix time, endpoint, status, code)."""


def cause_of(status: int, outcome: str) -> str:
    """One of CAUSES. `outcome` as in the log line: `client_gone` and `truncated` tell more than the status."""
    if outcome == "client_gone" or status == 499:
        return "left"
    if outcome == "truncated" or status == 500 or status > 504:
        return "failed"
    if status < 400:
        return "ok"
    return {401: "refused", 403: "refused", 429: "limited"}.get(status, "upstream" if status > 500 else "invalid")


class History:
    """One for a process. `path`: that of `file`. Until `start` nothing is kept. `now`: unix seconds; `write_s`: between
    two writes."""

    def __init__(
        self, file: StateFile, path: Path, now: Callable[[], float] = time.time, write_s: float = _WRITE_S
    ) -> None:
        self._file, self._path, self._now, self._write_s = file, path, now, write_s
        self._buckets: _Buckets = {}
        self._records: deque[Json] = deque(maxlen=MAX_RECORDS)
        self._failed: dict[_Kind, deque[Json]] = {}
        self._faults: _Faults = Counter()
        self._writing: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Keep from now on what is added, and write it in groups."""
        self._writing = asyncio.create_task(self._write_often())

    async def close(self) -> None:
        """Write what is left."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.wait({self._writing})
            self._writing = None
            await self.write()

    async def _write_often(self) -> None:
        while True:
            await asyncio.sleep(self._write_s)
            await self.write()

    def add(self, requests: Iterable[tuple[int, str, float, int, int]], records: Sequence[Mapping[str, Any]]) -> None:
        """Count requests, `(status, outcome, seconds, input tokens, output tokens)` each, and keep their records."""
        changes = [0] * _FIELDS
        for status, outcome, seconds, tokens_in, tokens_out in requests:
            changes[CAUSES.index(cause_of(status, outcome))] += 1
            changes[len(CAUSES)] += tokens_in
            changes[len(CAUSES) + 1] += tokens_out
            changes[len(CAUSES) + len(_SUMS) + _time_bucket(seconds)] += 1
        self._add(changes)
        if self._writing is not None:
            ts = int(self._now() * 1000) / 1000
            self._records.extend({"ts": ts, **record} for record in records[-MAX_RECORDS:])
            for each in (record for record in records if "code" in record):
                self._faults[_minute(ts), each["endpoint"], each["status"], each["code"]] += 1
                kept = self._failed.setdefault((each["endpoint"], each["code"]), deque(maxlen=MAX_OF_A_KIND))
                kept.append({"ts": ts, **each})

    def add_gauges(self, *, cpu_ms: int, memory_kb: int, in_flight: int, seconds: float) -> None:
        """What one process has used in the last `seconds`: CPU time, and memory and open requests as they are now."""
        changes = [0] * _FIELDS
        start = len(CAUSES) + 2
        changes[start : start + 3] = [max(0, cpu_ms), int(memory_kb * seconds), round(in_flight * seconds)]
        self._add(changes)

    def _add(self, changes: list[int]) -> None:
        if self._writing is None or not any(changes):
            return
        now = int(self._now())
        for seconds in _KEPT_S:
            _merge(self._buckets, {(seconds, now - now % seconds): changes})

    async def write(self) -> None:
        """Write what was gathered; where the file cannot be used, it is kept for the next time."""
        buckets, self._buckets = self._buckets, {}
        records, self._records = self._records, deque(maxlen=MAX_RECORDS)
        failed, self._failed, faults, self._faults = self._failed, {}, self._faults, Counter()
        if not buckets and not records:
            return
        now = self._now()
        try:
            await self._file.run(lambda connection: _write(connection, buckets, records, (faults, failed), now))
        except (StateDown, asyncio.CancelledError) as error:
            _merge(buckets, self._buckets)
            self._buckets = dict(sorted(buckets.items())[-_MAX_GATHERED:])
            self._records = deque([*records, *self._records], maxlen=MAX_RECORDS)
            for kind, own in failed.items():
                self._failed[kind] = deque([*own, *self._failed.get(kind, ())], MAX_OF_A_KIND)
            self._faults = Counter(dict((faults + self._faults).most_common(_MAX_GATHERED)))
            if not isinstance(error, StateDown):
                raise

    async def read(self, name: str) -> Json:
        """`{step_s, points: [{t, requests, ok, invalid, …, input_tokens, output_tokens, p50_ms, p95_ms, cpu_percent,
        memory_mb, in_flight}]}` for a name of RANGES, oldest first; `t` is where a point begins, in unix seconds."""
        length, count, joined = RANGES[name]
        step_s = length * joined
        last = int(self._now()) // step_s * step_s
        first = last - (count // joined - 1) * step_s
        gathered = {start: sums for (own, start), sums in self._buckets.items() if own == length}
        sums = await asyncio.to_thread(_sums_by_step, self._path, length, step_s, first, gathered)
        now, empty = self._now(), [0] * _FIELDS
        steps = range(first, last + step_s, step_s)
        points = [_point(t, sums.get(t, empty), min(step_s, max(1.0, now - t))) for t in steps]
        return {"step_s": step_s, "points": points}

    async def faults(self, name: str) -> list[Json]:
        """`[{endpoint, status, code, count}]` of a name of FAULT_RANGES, the most frequent first."""
        query, since = "SELECT endpoint, status, code, count FROM faults WHERE start >= ?", self._since(name)
        found: Counter[tuple[str, int, str]] = Counter()
        own = [(*kind, count) for (start, *kind), count in self._faults.items() if start >= since]
        for endpoint, status, code, count in [*await asyncio.to_thread(_rows, self._path, query, (since,)), *own]:
            found[endpoint, status, code] += count
        names = ("endpoint", "status", "code", "count")
        return [dict(zip(names, (*kind, count), strict=True)) for kind, count in found.most_common()]

    async def last(self, name: str = "", endpoint: str = "", code: str = "") -> list[Json]:
        """Records, the newest first: `{ts, request_id, endpoint, status, …}`, as in the line `request` of the log.
        Those of MAX_RECORDS requests; with a `name` of FAULT_RANGES the MAX_OF_A_KIND of one kind."""
        if not name:
            own, rows = self._records, await asyncio.to_thread(_rows, self._path, _LAST, (MAX_RECORDS,))
        else:
            asked = (endpoint, code, since := self._since(name), MAX_OF_A_KIND)
            rows = await asyncio.to_thread(_rows, self._path, _LAST_FAILED, asked)
            own = deque(each for each in self._failed.get((endpoint, code), ()) if each["ts"] >= since)
        found = [*reversed(own), *(orjson.loads(line) for (line,) in rows)]
        return sorted(found, key=lambda record: -float(record["ts"]))[: MAX_OF_A_KIND if name else MAX_RECORDS]

    def _since(self, name: str) -> int:
        return _minute(self._now() - FAULT_RANGES[name])


def erase_records(connection: sqlite3.Connection, key: str) -> int:
    """Remove the records of a key. Returns how many there were."""
    _make_tables(connection)
    connection.execute("DELETE FROM failed WHERE key = ?", (key,))
    return connection.execute("DELETE FROM requests WHERE key = ?", (key,)).rowcount


def remove_former_files(state_dir: Path) -> None:
    """Remove what 0.4 kept in files of their own: `history.bin`, and `requests/PID-RANDOM.jsonl`."""
    with contextlib.suppress(OSError):
        (state_dir / "history.bin").unlink(missing_ok=True)
        for path in (state_dir / "requests").glob("*.jsonl"):
            path.unlink(missing_ok=True)
        (state_dir / "requests").rmdir()


def _merge(buckets: dict[K, list[int]], more: Mapping[K, list[int]]) -> None:
    for key, sums in more.items():
        present = buckets.get(key)
        buckets[key] = sums if present is None else [value + each for value, each in zip(present, sums, strict=True)]


def _make_tables(connection: sqlite3.Connection) -> None:
    for statement in _TABLES:
        connection.execute(statement)


def _minute(seconds: float) -> int:
    return int(seconds) // _COARSE_S * _COARSE_S


def _write(
    connection: sqlite3.Connection,
    buckets: _Buckets,
    records: Iterable[Json],
    failures: tuple[_Faults, Mapping[_Kind, Iterable[Json]]],
    now: float,
) -> None:
    _make_tables(connection)
    for key, sums in buckets.items():
        row = connection.execute("SELECT sums FROM history WHERE seconds = ? AND start = ?", key).fetchone()
        whole = {key: orjson.loads(row[0])} if row else {}
        _merge(whole, {key: sums})
        connection.execute("INSERT OR REPLACE INTO history VALUES (?, ?, ?)", (*key, orjson.dumps(whole[key]).decode()))
    for seconds, kept_s in _KEPT_S.items():
        connection.execute("DELETE FROM history WHERE seconds = ? AND start < ?", (seconds, now - kept_s))
    connection.executemany("INSERT INTO requests (ts, key, line) VALUES (?, ?, ?)", map(_row, records))
    connection.execute("DELETE FROM requests WHERE id <= (SELECT max(id) FROM requests) - ?", (MAX_RECORDS,))
    faults, failed = failures
    for kind, own in failed.items():
        rows = [(*kind, *_row(each)) for each in own]
        connection.executemany("INSERT INTO failed (endpoint, code, ts, key, line) VALUES (?, ?, ?, ?, ?)", rows)
        connection.execute(_FORGET, (*kind, *kind, MAX_OF_A_KIND))
    add = "INSERT INTO faults VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count"
    connection.executemany(add, [(*kind, count) for kind, count in faults.items()])
    for table, time_of in (("faults", "start"), ("failed", "ts"), ("requests", "ts")):
        connection.execute(f"DELETE FROM {table} WHERE {time_of} < ?", (now - _KEPT_S[_COARSE_S],))  # noqa: S608


def _row(record: Json) -> tuple[float, str, str]:
    return record["ts"], str(record.get("key", "")), orjson.dumps(record, default=str).decode()


def _sums_by_step(
    path: Path, length: int, step_s: int, first: int, gathered: Mapping[int, list[int]]
) -> dict[int, list[int]]:
    """The sums of the buckets of `length` seconds, those of the file and the `gathered`, by the step they are in."""
    rows = _rows(path, "SELECT start, sums FROM history WHERE seconds = ? AND start >= ?", (length, first))
    found: dict[int, list[int]] = {}
    for start, sums in [*((start, orjson.loads(sums)) for start, sums in rows), *gathered.items()]:
        _merge(found, {start // step_s * step_s: sums})
    return found


def _rows(path: Path, query: str, parameters: Sequence[Any]) -> list[Any]:
    """What the file has; nothing where it cannot be read, or has no such table yet."""
    with contextlib.suppress(sqlite3.Error):
        url = f"file:{path}?mode=ro"
        with contextlib.closing(sqlite3.connect(url, uri=True, timeout=_WRITE_S)) as connection:
            return connection.execute(query, parameters).fetchall()
    return []


def _point(begins: int, sums: list[int], seconds: float) -> Json:
    causes = dict(zip(CAUSES, sums, strict=False))
    used = dict(zip(_SUMS, sums[len(CAUSES) :], strict=False))
    times = sums[len(CAUSES) + len(_SUMS) :]
    return {
        "t": begins,
        "requests": sum(causes.values()),
        **causes,
        "input_tokens": used["input_tokens"],
        "output_tokens": used["output_tokens"],
        "p50_ms": _quantile(times, 0.5),
        "p95_ms": _quantile(times, 0.95),
        "cpu_percent": round(used["cpu_ms"] / seconds / 10, 1),
        "memory_mb": round(used["memory_kb_s"] / seconds / 1024, 1),
        "in_flight": round(used["in_flight_s"] / seconds, 1),
    }


def _time_bucket(seconds: float) -> int:
    return min(_TIMES - 1, max(0, (int(seconds * 1000 - 1e-9)).bit_length()))


def _quantile(times: list[int], share: float) -> float | None:
    """Milliseconds below which this share of the answers came, within the bucket by proportion; None without any."""
    wanted = share * sum(times)
    if not wanted:
        return None
    for number, count in enumerate(times):
        if count and wanted <= count:
            low = 0 if number == 0 else 1 << number - 1
            return round(low + ((1 << number) - low) * wanted / count, 1)
        wanted -= count
    return None
