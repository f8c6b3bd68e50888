"""Counters and histograms for Prometheus, on a registry of their own.

Labels are few and bounded: endpoint names, configured model names, status classes, error codes, entities; never a key,
an address, or a caller's text. Knows no request. A worker process finds the multi-process folder's name in its
environment when prometheus_client is imported.
The only module that uses private names of prometheus_client (read in 0.26; setup.cfg pins the minor version).
"""

from bisect import bisect_left
from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900)
"""Bounds of all histograms in seconds: from a cached search (1 ms) to the longest stream (`total_timeout_s`, 900)."""


class BulkHistogram(Histogram):
    """A histogram that counts many amounts in one call."""

    def observe_many(self, amounts: Sequence[float]) -> None:
        """The same as the naive form, `observe` with each amount; a bucket that several fall into is updated once."""
        bounds = self._upper_bounds
        self._sum.inc(sum(amounts))
        for place, number in Tally([bisect_left(bounds, amount) for amount in amounts]).items():
            self._buckets[place].inc(number)


@dataclass(frozen=True, slots=True)
class RequestMetrics:
    """Children of `requests`, `duration` and `overhead`."""

    requests: Counter
    duration: BulkHistogram
    overhead: BulkHistogram


class Metrics:
    """Every metric of the gateway. `registry` is the one that `/metrics` shows for a single process."""

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

        self._requests: dict[tuple[str, int], RequestMetrics] = {}

    def of_requests(self, endpoint: str, status_class: int) -> "RequestMetrics":
        """The metrics of one endpoint and status class (2 for 2xx), cached: finding a labelled child costs more than
        counting."""
        place = (endpoint, status_class)
        found = self._requests.get(place)
        if found is None:
            found = self._requests[place] = RequestMetrics(
                self.requests.labels(endpoint, f"{status_class}xx"),
                self.duration.labels(endpoint),
                self.overhead.labels(endpoint),
            )
        return found

    def _counter(self, name: str, help_text: str, *labels: str) -> Counter:
        return Counter(name, help_text, labels, registry=self.registry)

    def _histogram(self, name: str, help_text: str, *labels: str) -> BulkHistogram:
        return BulkHistogram(name, help_text, labels, buckets=_SECONDS, registry=self.registry)
