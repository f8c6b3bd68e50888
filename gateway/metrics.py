"""Counters and histograms for Prometheus, on a registry of their own.

Labels: the interface's name or "unmatched", the status class (`2xx`), a configured model's name, the kind of token, an
entity of the sanitizer, an error code (that of the upstream where it refused a request). Never a key, an address, or a
name that a caller chose; a web tool, an upstream's configured name, a store (`redis`, `file`). With several workers,
prometheus-client shares values through the folder that `config.environment.worker_environment` names. The only module
that uses private parts of prometheus-client 0.26 (`Histogram._upper_bounds`, `._sum`, `._buckets`)."""

from bisect import bisect_left
from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, multiprocess

_Mode = Literal["livesum", "livemax", "livemin", "max"]
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900)
"""Upper bounds of the buckets, in seconds: from a cached search (about 1 ms) to `total_timeout_s` (900 s), most of them
a factor of 2 to 2.5 apart."""


class BulkHistogram(Histogram):
    """A histogram that can record many amounts at once."""

    def observe_many(self, amounts: Sequence[float]) -> None:
        """Equals `for amount in amounts: self.observe(amount)`, with one increment for each bucket that is hit."""
        bounds = self._upper_bounds
        self._sum.inc(sum(amounts))
        for bucket, count in Tally([bisect_left(bounds, amount) for amount in amounts]).items():
            self._buckets[bucket].inc(count)


@dataclass(frozen=True, slots=True)
class RequestMetrics:
    """The series of `requests`, `duration` and `overhead` for one endpoint and status class."""

    requests: Counter
    duration: BulkHistogram
    overhead: BulkHistogram


class Metrics:
    """Every metric of the gateway. `/metrics` shows `registry`, or the sum over all workers where there are several."""

    TIMES = "gauge_max_*.db"

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        counter, histogram = self._counter, self._histogram
        self.requests = counter("gateway_requests", "Requests answered", "endpoint", "status")
        self.rejected = counter("gateway_rejected", "Requests refused, by error code", "code")
        self.abandoned = counter("gateway_abandoned", "Clients that left before the end", "endpoint")
        self.truncated = counter("gateway_truncated_streams", "Streams that failed after they began", "endpoint")
        self.tokens = counter("gateway_tokens", "Tokens by model and kind", "model", "kind")
        whose, until = ("model", "upstream"), "Until an answer began, or was whole"
        self.attempts = counter("gateway_upstream_attempts", "Calls to upstreams", *whose)
        self.failures = counter("gateway_upstream_failures", "Of them, those that failed", *whose)
        self.upstream_duration = histogram("gateway_upstream_duration_seconds", until, *whose)
        self.overrun = counter("gateway_budget_overrun_tokens", "Tokens beyond what calls had reserved", "model")
        self.findings = counter("gateway_sanitizer_findings", "Sensitive values found", "entity")
        self.unguarded = counter(
            "gateway_unguarded_texts", "Texts that went on though the guardrail failed", "endpoint"
        )
        self.duration = histogram("gateway_request_duration_seconds", "Whole requests", "endpoint")
        self.overhead = histogram("gateway_overhead_seconds", "Time not spent waiting for an upstream", "endpoint")
        self.first_event = histogram(
            "gateway_first_event_seconds", "Until a stream's headers, with its first event", "endpoint"
        )
        self.loop_lag = histogram("gateway_loop_lag_seconds", "How late the event loop runs its timers")
        self.retries = counter("gateway_upstream_retries", "Calls to upstreams beyond a request's first", "model")
        self.tool_calls = counter("gateway_tool_calls", "Calls of web tools and MCP servers", "tool", "outcome")
        self.tool_duration = histogram("gateway_tool_duration_seconds", "Requests of one web tool call", "tool")
        self.worker_starts = counter("gateway_worker_starts", "Starts of processes that serve, the first ones included")
        self.store_failures = counter("gateway_store_failures", "Shared state that was not read or written", "store")
        self.usage_lost = counter("gateway_usage_lost", "Requests whose usage could not be kept")
        sums, most, least = (partial(self._gauge, mode) for mode in ("livesum", "livemax", "livemin"))
        latest = partial(self._gauge, "max")
        self.in_flight = sums("gateway_in_flight", "Requests being served")
        self.tasks = sums("gateway_tasks", "Tasks of the event loop")
        self.workers = sums("gateway_workers", "Processes that serve")
        self.cpu = sums("gateway_process_cpu_seconds", "CPU time of the processes that serve now")
        self.resident = sums("gateway_process_resident_bytes", "Memory of the processes that serve")
        self.open_files = most("gateway_process_open_files", "File descriptors of the process with the most")
        self.max_files = least("gateway_process_max_files", "File descriptors that a process may have")
        self.start_time = least("gateway_process_start_time_seconds", "Unix time at which the oldest process started")
        self.build = most("gateway_build_info", "Always 1", "version", "python")
        self.upstream_open = most("gateway_upstream_open", "1: nobody calls it; 0.5: the next call is a probe", *whose)
        self.answered_at = latest("gateway_upstream_last_success_time_seconds", "Unix time of the last answer", *whose)
        self.failed_at = latest("gateway_upstream_last_failure_time_seconds", "Unix time of the last failure", *whose)
        self.store_up = least("gateway_store_up", "1: shared state can be used", "store")
        self.notes = most("gateway_operator_notes", "What the operator must mend: notes of /readyz")
        self.index_pages = most("gateway_index_pages", "Pages in the search index")
        self.index_bytes = most("gateway_index_bytes", "Size of the search index's file")
        self._requests: dict[tuple[str, int], RequestMetrics] = {}
        self.folder = ""
        """Where several workers write their metrics; empty for a single process."""

    def of_all(self) -> CollectorRegistry:
        """The metrics of all workers together."""
        if not self.folder:
            return self.registry
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry, path=self.folder)  # type: ignore[no-untyped-call]
        return registry

    def of_upstreams(self, files: str = "*.db") -> dict[tuple[str, str], dict[str, float]]:
        """What all workers have seen of each upstream: `{(model, upstream): {"attempts_total": 3.0, …, "p50": 0.8}}`;
        the names are those of the metrics behind `gateway_upstream_`, `p50` the median of their durations. `files`:
        those of workers that are read; `TIMES` hold the times of upstreams alone, and are small."""
        found: dict[tuple[str, str], dict[str, float]] = {}
        merge, folder = multiprocess.MultiProcessCollector.merge, self.folder
        families = merge(Path(folder).glob(files)) if folder else self.registry.collect()  # type: ignore[no-untyped-call]
        for sample in (sample for family in families for sample in family.samples):
            if "upstream" in (labels := sample.labels):
                figures = found.setdefault((labels["model"], labels["upstream"]), {})
                figures[labels.get("le") or sample.name.removeprefix("gateway_upstream_")] = sample.value
        bounds = (0.0, *_SECONDS, _SECONDS[-1])
        for figures in found.values():
            if total := figures.get("duration_seconds_count", 0.0):
                counts = [0.0, *(figures[str(float(bound))] for bound in _SECONDS), total]
                number = bisect_left(counts, total / 2, 1)
                (low, before), (high, count) = ((bounds[each], counts[each]) for each in (number - 1, number))
                figures["p50"] = low + (high - low) * (total / 2 - before) / (count - before)
        return found

    def of_requests(self, endpoint: str, status_class: int) -> "RequestMetrics":
        """The series for one endpoint and status class (the first digit of the status: 2 for 200).

        Kept after the first call, because `labels` costs more than counting.
        """
        key = (endpoint, status_class)
        series = self._requests.get(key)
        if series is None:
            series = self._requests[key] = RequestMetrics(
                self.requests.labels(endpoint, f"{status_class}xx"),
                self.duration.labels(endpoint),
                self.overhead.labels(endpoint),
            )
        return series

    def _counter(self, name: str, help_text: str, *labels: str) -> Counter:
        return Counter(name, help_text, labels, registry=self.registry)

    def _gauge(self, mode: _Mode, name: str, help_text: str, *labels: str) -> Gauge:
        """`mode`: how the values of several workers become one."""
        return Gauge(name, help_text, labels, registry=self.registry, multiprocess_mode=mode)

    def _histogram(self, name: str, help_text: str, *labels: str) -> BulkHistogram:
        return BulkHistogram(name, help_text, labels, buckets=_SECONDS, registry=self.registry)
