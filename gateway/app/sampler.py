"""Samples the metrics of the process, upstreams, stores and the index: no request pays for it. And what all workers
have seen of upstreams.
"""

import asyncio
import contextlib
import platform
import resource
import time
from pathlib import Path

import gateway
from gateway.app.shared import SharedParts
from gateway.domain import Json
from gateway.engines.index.port import Index
from gateway.services.completion.service import CompletionService
from gateway.shared_state.port import Entry
from gateway.web.state import ServerState

_PAUSE_S = 1.0
"""Time between samples."""

_FAULTS, _FAULT_TTL_S = "upstreams", 604_800.0
"""Owner of what upstreams said when they failed, and for how many seconds it is kept."""
_ANSWERED, _FAILED = "last_success_time_seconds", "last_failure_time_seconds"
_INDEX_EVERY = 60
"""Samples between two counts of the index, which take a reader thread."""


class Sampler:
    """For one application: `start` when it serves, `close` when it ends."""

    def __init__(self, server: ServerState, shared: SharedParts, completions: CompletionService, index: Index) -> None:
        self._server, self.shared, self._completions, self._index = server, shared, completions, index
        self._metrics = server.metrics
        self._told = {"redis": 0, "file": 0, "usage": 0}
        self._cpu_s = time.process_time()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Take the first sample and go on."""
        metrics = self._metrics
        metrics.worker_starts.inc()
        metrics.workers.set(1)
        metrics.build.labels(gateway.__version__, platform.python_version()).set(1)
        metrics.start_time.set(time.time())
        metrics.max_files.set(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        self.sample()
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Take no more samples."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            await self._sample_upstreams()

    def sample(self) -> None:
        """Take one sample of the process and the stores."""
        metrics = self._metrics
        usage = resource.getrusage(resource.RUSAGE_SELF)
        cpu_s, resident = usage.ru_utime + usage.ru_stime, _resident_bytes()
        metrics.cpu.set(cpu_s)
        metrics.resident.set(resident)
        self.shared.history.add_gauges(
            cpu_ms=round((cpu_s - self._cpu_s) * 1000),
            memory_kb=resident // 1024,
            in_flight=len(self._server.in_flight),
            seconds=_PAUSE_S,
        )
        self._cpu_s = cpu_s
        with contextlib.suppress(OSError):  # no file is left to read the folder with: the last figure stays
            metrics.open_files.set(len(list(Path("/proc/self/fd").iterdir())))
        metrics.notes.set(len([note for note in (self._server.keys.problem(), *self._server.notes()) if note]))
        redis, file = self.shared.redis, self.shared.file
        metrics.store_up.labels("file").set(not file.problem)
        self._count("file", file.failures)
        if redis is not None:
            metrics.store_up.labels("redis").set(redis.is_up)
            self._count("redis", redis.failures)
            redis.check_if_due()
        lost, self._told["usage"] = self.shared.usage.lost - self._told["usage"], self.shared.usage.lost
        metrics.usage_lost.inc(lost)

    async def _sample_upstreams(self) -> None:
        """Count what was seen of upstreams since the last time, and learn what other workers have seen."""
        metrics, faults = self._metrics, self.shared.faults
        seen = metrics.of_upstreams(metrics.TIMES) if metrics.folder else {}
        for model, target in self._completions.upstreams():
            figures, key = seen.get(names := (model, target.upstream.name), {}), "/".join(names)
            metrics.upstream_open.labels(*names).set(target.health.closure)
            metrics.attempts.labels(*names).inc(target.calls)
            metrics.failures.labels(*names).inc(has_failed := target.failures)
            metrics.upstream_duration.labels(*names).observe_many(target.times)
            target.calls, target.failures, target.times = 0, 0, []
            if has_failed:  # before the time by which others learn of it
                await faults.put(Entry(_FAULTS, key, target.fault.encode(), _FAULT_TTL_S))
            if figures.get(_FAILED, 0.0) > target.failed_at:
                said = await faults.get(_FAULTS, key)
                target.failed_at, target.fault = figures[_FAILED], said.decode() if said else "its cause is in the log"
            target.answered_at = max(target.answered_at, figures.get(_ANSWERED, 0.0))
            metrics.answered_at.labels(*names).set(target.answered_at)
            metrics.failed_at.labels(*names).set(target.failed_at)

    async def upstreams(self) -> list[Json]:
        """`{model, upstream, last_success, last_failure, said, requests, failures, p50_ms, weight, breaker}` of each
        upstream in the order of the configuration, of all workers since they were started: unix seconds, null for
        never; `said`: the cause of the last failure; `breaker`: closed, half-open, open."""
        await self._sample_upstreams()
        figures, rows = self._metrics.of_upstreams(), list[Json]()
        for model, target in self._completions.upstreams():
            seen = figures[model, target.upstream.name]
            rows.append({
                "model": model, "upstream": target.upstream.name, "weight": target.weight,
                "requests": int(seen["attempts_total"]), "failures": int(seen["failures_total"]),
                "last_success": target.answered_at or None, "last_failure": target.failed_at or None,
                "said": target.fault if target.failed_at else None,
                "p50_ms": round(seen["p50"] * 1000, 1) if "p50" in seen else None,
                "breaker": {0.0: "closed", 0.5: "half-open"}.get(seen["open"], "open"),
            })  # fmt: skip
        return rows

    def _count(self, store: str, failures: int) -> None:
        self._metrics.store_failures.labels(store).inc(failures - self._told[store])
        self._told[store] = failures

    async def _run(self) -> None:
        count = 0
        while True:
            if count % _INDEX_EVERY == 0:
                figures = await self._index.stats()
                self._metrics.index_pages.set(figures["pages"])
                self._metrics.index_bytes.set(figures["bytes"])
            count += 1
            await self._sample_upstreams()
            await asyncio.sleep(_PAUSE_S)
            self.sample()


def _resident_bytes() -> int:
    """Memory of this process that is in RAM; 0 where /proc does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError, ValueError):
        return 0
