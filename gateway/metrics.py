"""Counters and histograms for Prometheus, on a registry of their own.

Labels: the interface's name or "unmatched", the status class (`2xx`), a configured model's name, the kind of token, an
entity of the sanitizer, an error code (that of the upstream where it refused a request). Never a key, an address, or a
name that a caller chose. With several workers, prometheus-client shares values through the folder that
`config.environment.worker_environment` names. Knows no request; the only module that uses private parts of
prometheus-client 0.26 (`Histogram._upper_bounds`, `._sum`, `._buckets`).
"""

from bisect import bisect_left
from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900)
"""Upper bounds of the buckets, in seconds. Chosen: from a cached search (about 1 ms) to `total_timeout_s` (900 s), most
of them a factor of 2 to 2.5 apart. With half as many, a p99 read from them is off by a factor of 4 or more; with twice
as many, every endpoint has twice the series."""


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

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        counter, histogram = self._counter, self._histogram
        self.requests = counter("gateway_requests", "Requests answered", "endpoint", "status")
        self.rejected = counter("gateway_rejected", "Requests refused, by error code", "code")
        self.abandoned = counter("gateway_abandoned", "Clients that left before the end", "endpoint")
        self.truncated = counter("gateway_truncated_streams", "Streams that failed after they began", "endpoint")
        self.tokens = counter("gateway_tokens", "Tokens by model and kind", "model", "kind")
        self.attempts = counter("gateway_upstream_attempts", "Calls to upstreams", "model")
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
        self.in_flight = Gauge(
            "gateway_in_flight", "Requests being served", registry=self.registry, multiprocess_mode="livesum"
        )
        self.tasks = Gauge(
            "gateway_tasks", "Tasks of the event loop", registry=self.registry, multiprocess_mode="livesum"
        )

        self._requests: dict[tuple[str, int], RequestMetrics] = {}

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

    def _histogram(self, name: str, help_text: str, *labels: str) -> BulkHistogram:
        return BulkHistogram(name, help_text, labels, buckets=_SECONDS, registry=self.registry)
