"""What the gateway did in the last minutes and hours, for the console: counts by time, in one small file.

The file holds two rings of buckets, five seconds for the last ten minutes and a minute for the last day. Every
process that serves adds to the same buckets, under a lock, when it writes its log lines; so any of them can answer
for all, and a reload loses nothing. A bucket holds sums alone: no key, no model, no address.
"""

import contextlib
import fcntl
import mmap
import os
import struct
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway.domain import Json

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
