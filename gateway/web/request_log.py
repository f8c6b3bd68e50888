"""Finished requests: their log lines and metrics, the last of them for the console, and counts by time.

Log lines are written in groups, a moment after the requests. A group of dozens costs a fraction of what they would cost
one by one between requests (a third of a small request's time, measured 2026-11-21), and no client waits for them. A
line holds names, figures and ids of the gateway; never a key, a query string, a prompt or an answer.
"""

import asyncio
import contextlib
import fcntl
import mmap
import os
import secrets
import struct
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from gateway import logs
from gateway.access.usage import UsageBook, UsageKey, Used
from gateway.domain import Json, RequestStats
from gateway.metrics import Metrics

# The last requests of every process that serves, for the console: one file of fixed slots a process, in one folder.
#
# A process writes into its own file and reads those of all, so that any of them can answer for all, and the records of
# a process that was killed can still be read until another one starts. A record is what the log line of the request
# holds: names, figures and ids, never a key, a query string, a prompt or an answer. The naive form, a list in memory,
# shows the requests of whichever worker happens to answer.

MAX_RECORDS = 200
"""Requests stored by each process, and returned of all processes together. What a person reads through."""

_SLOT_BYTES = 1024
"""A record with all of its fields has 300 to 500 bytes."""

_ALWAYS = ("request_id", "key", "endpoint", "method", "status", "outcome", "total_ms")
"""The fields stored of a record that is too long for its slot."""


class RequestRecords:
    """The records below `folder`. Until `open`, and where the folder cannot be written, nothing is stored."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path: Path | None = None
        self._slots: mmap.mmap | None = None
        self._next = 0

    def open(self) -> None:
        """Make this process's file, and remove those of processes that have ended."""
        with contextlib.suppress(OSError, ValueError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for path in self._folder.glob("*.jsonl"):
                if not _is_running(path.stem.partition("-")[0]):
                    path.unlink(missing_ok=True)
            path = self._folder / f"{os.getpid()}-{secrets.token_hex(4)}.jsonl"
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                os.posix_fallocate(descriptor, 0, MAX_RECORDS * _SLOT_BYTES)  # a full disk fails here, not in a write
                self._slots = mmap.mmap(descriptor, MAX_RECORDS * _SLOT_BYTES)
            finally:
                os.close(descriptor)
            self._path = path

    def close(self) -> None:
        """Remove this process's file."""
        if self._slots is not None:
            self._slots.close()
            self._slots = None
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep records; the oldest ones give way."""
        if self._slots is None:
            return
        now = int(time.time() * 1000) / 1000
        for row in rows[-MAX_RECORDS:]:
            line = orjson.dumps({"ts": now, **row}, default=str)
            if len(line) >= _SLOT_BYTES:
                line = orjson.dumps({"ts": now, **{name: row[name] for name in _ALWAYS if name in row}}, default=str)
            if len(line) < _SLOT_BYTES:
                start = self._next * _SLOT_BYTES
                self._slots[start : start + _SLOT_BYTES] = line.ljust(_SLOT_BYTES - 1) + b"\n"
                self._next = (self._next + 1) % MAX_RECORDS

    def last(self) -> list[Json]:
        """At most MAX_RECORDS records of all processes, the newest first: `{ts, request_id, endpoint, status, …}`, as
        in the line `request` of the log."""
        found: list[Json] = []
        with contextlib.suppress(OSError):
            for path in self._folder.glob("*.jsonl"):
                with contextlib.suppress(OSError):
                    found.extend(_records(path.read_bytes()[: MAX_RECORDS * _SLOT_BYTES]))
        return sorted(found, key=lambda record: -float(record["ts"]))[:MAX_RECORDS]


def _records(content: bytes) -> list[Json]:
    """The slots of one file; one that is empty, or that is being written, has no record."""
    records = []
    for line in content.splitlines():
        with contextlib.suppress(orjson.JSONDecodeError):
            record = orjson.loads(line)
            if isinstance(record, dict) and isinstance(record.get("ts"), float | int):
                records.append(record)
    return records


def _is_running(pid: str) -> bool:
    return pid.isdigit() and Path("/proc", pid).exists()


# What the gateway did in the last minutes and hours, for the console: counts by time, in one small file.
#
# The file holds two rings of buckets, five seconds for the last ten minutes and a minute for the last day. Every
# process that serves adds to the same buckets, under a lock, when it writes its log lines; so any of them can answer
# for all, and a reload loses nothing. A bucket holds sums alone: no key, no model, no address.

CAUSES: Final = ("ok", "invalid", "refused", "limited", "upstream", "failed", "left")
"""How a request ended: `invalid` 400, 404, 413 and the like; `refused` 401 and 403; `limited` 429; `upstream` 502 to
504; `failed` any other 5xx or a stream that broke off; `left`: the client did not wait."""
_SUMS: Final = ("input_tokens", "output_tokens", "cpu_ms", "memory_kb_s", "in_flight_s")
_TIMES: Final = 20
"""Buckets of answer times: up to 1 ms, 2 ms, 4 ms … 524 s."""
_FIELDS: Final = 1 + len(CAUSES) + len(_SUMS) + _TIMES
_BUCKET: Final = struct.Struct(f"<{_FIELDS}Q")


@dataclass(frozen=True, slots=True)
class _Ring:
    seconds: int
    count: int
    first: int
    """Number of its first bucket in the file."""


_FINE, _COARSE = _Ring(5, 120, 0), _Ring(60, 1440, 120)
_SIZE: Final = (_FINE.count + _COARSE.count) * _BUCKET.size
RANGES: Final = {"5m": (_FINE, 60, 1), "1h": (_COARSE, 60, 1), "24h": (_COARSE, 1440, 15)}
"""{name: (the ring, how many of its buckets, how many of them make one point)}."""


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
    """The file at `path`. Until `open`, and where it cannot be written, nothing is kept. `now`: unix seconds."""

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        self._path, self._now = path, now
        self._map: mmap.mmap | None = None
        self._descriptor = -1

    def open(self) -> None:
        """Take the file, or make it."""
        with contextlib.suppress(OSError, ValueError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.posix_fallocate(self._descriptor, 0, _SIZE)  # a full disk fails here, not in a write to the map
            self._map = mmap.mmap(self._descriptor, _SIZE)

    def close(self) -> None:
        """Let the file go; it stays on disk."""
        if self._map is not None:
            self._map.close()
            self._map = None
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def add(self, requests: Iterable[tuple[int, str, float, int, int]]) -> None:
        """Count requests: `(status, outcome, seconds, input tokens, output tokens)` each."""
        changes = [0] * (_FIELDS - 1)
        for status, outcome, seconds, tokens_in, tokens_out in requests:
            changes[CAUSES.index(cause_of(status, outcome))] += 1
            changes[len(CAUSES)] += tokens_in
            changes[len(CAUSES) + 1] += tokens_out
            changes[len(CAUSES) + len(_SUMS) + _time_bucket(seconds)] += 1
        self._add(changes)

    def add_gauges(self, *, cpu_ms: int, memory_kb: int, in_flight: int, seconds: float) -> None:
        """What one process has used in the last `seconds`: CPU time, and memory and open requests as they are now."""
        changes = [0] * (_FIELDS - 1)
        start = len(CAUSES) + 2
        changes[start : start + 3] = [max(0, cpu_ms), int(memory_kb * seconds), round(in_flight * seconds)]
        self._add(changes)

    def _add(self, changes: list[int]) -> None:
        if self._map is None or not any(changes):
            return
        now = int(self._now())
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)  # held for microseconds
        try:
            for ring in (_FINE, _COARSE):
                start = now - now % ring.seconds
                place = (ring.first + start // ring.seconds % ring.count) * _BUCKET.size
                began, *sums = _BUCKET.unpack_from(self._map, place)
                if began != start:
                    sums = [0] * len(changes)
                added = (value + more & 0xFFFFFFFFFFFFFFFF for value, more in zip(sums, changes, strict=True))
                _BUCKET.pack_into(self._map, place, start, *added)
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def read(self, name: str) -> Json:
        """`{step_s, points: [{t, requests, ok, invalid, …, input_tokens, output_tokens, p50_ms, p95_ms, cpu_percent,
        memory_mb, in_flight}]}` for a name of RANGES, oldest first; `t` is where a point begins, in unix seconds."""
        ring, count, joined = RANGES[name]
        step_s = ring.seconds * joined
        last = int(self._now()) // step_s * step_s
        points = []
        for number in range(count // joined):
            begins = last - (count // joined - 1 - number) * step_s
            sums = [0] * (_FIELDS - 1)
            for start in range(begins, begins + step_s, ring.seconds):
                sums = [value + more for value, more in zip(sums, self._bucket(ring, start), strict=True)]
            points.append(_point(begins, sums, min(step_s, max(1.0, self._now() - begins))))
        return {"step_s": step_s, "points": points}

    def _bucket(self, ring: _Ring, start: int) -> list[int]:
        if self._map is not None:
            place = (ring.first + start // ring.seconds % ring.count) * _BUCKET.size
            began, *sums = _BUCKET.unpack_from(self._map, place)
            if began == start:
                return sums
        return [0] * (_FIELDS - 1)


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


_GATHER_S = 0.05
_MAX_GATHERED = 256
"""A group is written after this time or at this size. At a thousand requests a second a group holds 50 lines."""


@dataclass(slots=True)
class Finished:
    """The record of a request that was answered, or whose client left.

    `endpoint`: the row's name or `unmatched`. `total_s`: seconds from the first middleware to the end of the answer.
    `events`: events of a stream that were written. `client`: its address (`client_address`).
    """

    stats: RequestStats
    request_id: str
    endpoint: str
    method: str
    status: int
    total_s: float
    events: int
    client: str = ""


class Recorder:
    """Gathers the records of one server and writes them in groups."""

    def __init__(
        self,
        metrics: Metrics,
        usage: UsageBook | None = None,
        records: RequestRecords | None = None,
        history: History | None = None,
    ) -> None:
        """`usage`: where what keys have used is counted; `records`: where the last requests are kept; None: nowhere."""
        self._metrics = metrics
        self._records = records
        self._history = history
        self._usage = usage
        self._gathered: list[Finished] = []

    def add(self, finished: Finished) -> None:
        """Record one request. Must be called inside the event loop."""
        gathered = self._gathered
        gathered.append(finished)
        count = len(gathered)
        if count == 1:
            asyncio.get_running_loop().call_later(_GATHER_S, self.flush)
        elif count >= _MAX_GATHERED:
            self.flush()

    def flush(self) -> None:
        """Write all records gathered so far; nothing when there are none."""
        gathered, self._gathered = self._gathered, []
        groups: dict[tuple[str, int], list[Finished]] = {}
        for finished in gathered:
            groups.setdefault((finished.endpoint, finished.status // 100), []).append(finished)
            stats = finished.stats
            if stats.outcome or stats.findings or stats.unguarded:
                self._count_rare(finished)
        self._count_models(gathered)
        self._count_tools([finished for finished in gathered if finished.stats.tools])
        for kind, group in groups.items():
            metrics = self._metrics.of_requests(*kind)
            metrics.requests.inc(len(group))
            metrics.duration.observe_many([each.total_s for each in group])
            metrics.overhead.observe_many([max(0.0, each.total_s - each.stats.upstream_s) for each in group])
        lines = [_line(finished) for finished in gathered]
        logs.events("request", lines)
        if self._records is not None:  # not the console's own: it asks every few seconds
            self._records.add([line for line in lines if line["endpoint"] != "admin"])
        if self._history is not None:
            self._history.add(
                (each.status, each.stats.outcome, each.total_s, each.stats.input_tokens, each.stats.output_tokens)
                for each in gathered
                if each.endpoint != "admin"
            )
        logs.flush()

    def _count_rare(self, finished: Finished) -> None:
        """Count what only some requests have: findings, an early end."""
        metrics, stats, endpoint = self._metrics, finished.stats, finished.endpoint
        if stats.outcome == "client_gone":
            metrics.abandoned.labels(endpoint).inc()
        elif stats.outcome == "truncated":
            metrics.truncated.labels(endpoint).inc()
        for entity, count in stats.findings.items():
            metrics.findings.labels(entity).inc(count)
        if stats.unguarded:
            metrics.unguarded.labels(endpoint).inc(stats.unguarded)

    def _count_models(self, gathered: Sequence[Finished]) -> None:
        """Count what keys have used of models; a request without a model is one of its key alone, unless it called
        tools (`_count_tools`).

        The naive form counts each request by itself: a group has few different keys and models.
        """
        metrics = self._metrics
        sums: dict[tuple[str, str], _Sum] = {}
        for finished in gathered:
            stats = finished.stats
            if stats.tools and not stats.model:
                continue
            found = sums.get((stats.key_id, stats.model))
            if found is None:
                found = sums[stats.key_id, stats.model] = _Sum()
            found.add(stats)
        for (key_id, model), found in sums.items():
            if self._usage is not None and key_id:
                self._usage.add(UsageKey(key_id, model), found.used, found.requests)
            if model:
                metrics.tokens.labels(model, "input").inc(found.used.input_tokens)
                metrics.tokens.labels(model, "output").inc(found.used.output_tokens)
                metrics.attempts.labels(model).inc(found.attempts)
                if found.retries:
                    metrics.retries.labels(model).inc(found.retries)

    def _count_tools(self, gathered: Sequence[Finished]) -> None:
        """Count calls of tools, those for a model under both. `gathered`: requests that called some."""
        durations: dict[str, list[float]] = {}
        calls: dict[tuple[str, str, str, str], int] = {}
        for finished in gathered:
            stats = finished.stats
            outcome, key_id, model = stats.outcome, stats.key_id, stats.model
            for tool, number in stats.tools.items():
                kind: tuple[str, str, str, str] = tool, outcome, key_id, model
                calls[kind] = calls.get(kind, 0) + number
            if stats.tool in stats.tools:
                durations.setdefault(stats.tool, []).append(finished.total_s)
        for kind, number in calls.items():
            tool, result, key_id, model = kind
            self._metrics.tool_calls.labels(tool, result or "ok").inc(number)
            if self._usage is not None:
                self._usage.add(UsageKey(key_id, model, tool), Used(tool_calls=number), 0 if model else number)
        for tool, times in durations.items():
            self._metrics.tool_duration.labels(tool).observe_many(times)


@dataclass(slots=True)
class _Sum:
    """What several requests have used together."""

    used: Used = field(default_factory=Used)
    requests: int = 0
    attempts: int = 0
    retries: int = 0

    def add(self, stats: RequestStats) -> None:
        self.requests += 1
        if stats.model:
            self.used.input_tokens += stats.input_tokens
            self.used.cached_tokens += stats.cached_tokens
            self.used.output_tokens += stats.output_tokens
            self.attempts += stats.attempts
            self.retries += max(0, stats.attempts - 1)


def _line(finished: Finished) -> dict[str, object]:
    stats, status = finished.stats, finished.status
    line: dict[str, object] = {
        "request_id": finished.request_id,
        "key": stats.key_id,
        "client": finished.client,
        "endpoint": finished.endpoint,
        "method": finished.method,
        "status": status,
        "outcome": stats.outcome or ("ok" if status < 400 else "refused" if status < 500 else "failed"),
        "total_ms": int(finished.total_s * 100_000 + 0.5) / 100,  # `round` takes ten times as long
        "upstream_ms": int(stats.upstream_s * 100_000 + 0.5) / 100,
        "events": finished.events,
    }
    if stats.trace_id:
        line["trace_id"] = stats.trace_id
    if stats.tool:
        line["tool"] = stats.tool
    if stats.model:
        line["model"], line["upstream"], line["attempts"] = stats.model, stats.upstream, stats.attempts
        if stats.input_tokens:
            line["input_tokens"] = stats.input_tokens
        if stats.output_tokens:
            line["output_tokens"] = stats.output_tokens
        if stats.user_hash:
            line["user"] = stats.user_hash
    if stats.findings:
        line["findings"] = stats.findings
    if stats.unguarded:
        line["unguarded"] = stats.unguarded
    return line
