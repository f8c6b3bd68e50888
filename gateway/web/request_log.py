"""The recorder of finished requests: it writes their log lines and counts them, in metrics and for the console.

Log lines are written in groups, a moment after the requests. A group of dozens costs a fraction of what they would cost
one by one between requests (a third of a small request's time, measured 2026-11-21), and no client waits for them. A
line holds names, figures and ids of the gateway; never a key, a query string, a prompt or an answer.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway import logs
from gateway.access.usage import UsageBook, UsageKey, Used
from gateway.calls.call import Finished
from gateway.domain import RequestStats
from gateway.metrics import Metrics
from gateway.web.history import History

ADMIN = "admin"
"""The endpoint of what the console asks for by itself: counted by metrics alone, and logged where it changes something
or is refused."""

_GATHER_S = 0.05
_MAX_GATHERED = 256
"""A group is written after this time or at this size. At a thousand requests a second a group holds 50 lines."""


class Recorder:
    """Gathers the records of one server and writes them in groups."""

    def __init__(self, metrics: Metrics, usage: UsageBook | None = None, history: History | None = None) -> None:
        """`usage`: where what keys have used is counted; `history`: where the console looks; None: nowhere."""
        self._metrics = metrics
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
        foreign = [each for each in gathered if each.endpoint != ADMIN]
        self._count_models(foreign)
        self._count_people([finished.stats for finished in gathered if finished.stats.who])
        self._count_tools([finished for finished in gathered if finished.stats.tools])
        for kind, group in groups.items():
            metrics = self._metrics.of_requests(*kind)
            metrics.requests.inc(len(group))
            metrics.duration.observe_many([each.total_s for each in group])
            metrics.overhead.observe_many([max(0.0, each.total_s - each.stats.upstream_s) for each in group])
        lines = [_line(each) for each in foreign]
        changes = [each for each in gathered if each.endpoint == ADMIN and (each.method != "GET" or each.status >= 400)]
        logs.events("request", [*lines, *map(_line, changes)])
        if self._history is not None:
            counts = (
                (each.status, each.stats.outcome, each.total_s, each.stats.input_tokens, each.stats.output_tokens)
                for each in foreign
            )
            self._history.add(counts, lines)
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
                if found.retries:
                    metrics.retries.labels(model).inc(found.retries)

    def _count_people(self, gathered: Sequence[RequestStats]) -> None:
        """Count what users and sessions have used."""
        if (usage := self._usage) is None:
            return
        for stats in gathered:
            own = _Sum()
            own.add(stats)
            usage.add(UsageKey(stats.key_id, stats.model), own.used, who=stats.who)
            for tool, number in stats.tools.items():
                usage.add(UsageKey(stats.key_id, stats.model, tool), Used(tool_calls=number), 0, stats.who)

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
    retries: int = 0

    def add(self, stats: RequestStats) -> None:
        self.requests += 1
        if stats.model:
            self.used.input_tokens += stats.input_tokens
            self.used.cached_tokens += stats.cached_tokens
            self.used.output_tokens += stats.output_tokens
            self.retries += max(0, stats.attempts - 1)


def _line(finished: Finished) -> dict[str, object]:
    stats, status = finished.stats, finished.status
    outcome = stats.outcome or ("ok" if status < 400 else "refused" if status < 500 else "failed")
    line: dict[str, object] = {
        "request_id": finished.request_id,
        "key": stats.key_id,
        "client": finished.client,
        "endpoint": finished.endpoint,
        "method": finished.method,
        "status": status,
        "outcome": outcome,
        "total_ms": int(finished.total_s * 100_000 + 0.5) / 100,  # `round` takes ten times as long
        "upstream_ms": int(stats.upstream_s * 100_000 + 0.5) / 100,
        "events": finished.events,
    }
    if outcome != "ok":
        line["code"] = stats.code or outcome
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
    if stats.steps:
        line["steps"] = stats.steps
    return line
