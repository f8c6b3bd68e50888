"""The attempts of one request: which upstream next, whether a fault may be hidden by trying again.

Only before the first byte of an answer. An upstream that failed is not asked again while there is another; the last
one is asked once more, after faults that cost nothing, inside its retry budget. Knows no HTTP.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from gateway.domain import RequestStats
from gateway.errors import UpstreamError, UpstreamRefused, UpstreamUnavailable
from gateway.ports import CompletionUpstream
from gateway.resilience.circuit_breaker import CircuitBreaker
from gateway.services.completion.retries import RetryBudget, backoff_s, upstream_breaker, weighted_order
from gateway.wire.chat.request import UpstreamOptions

_MAX_ATTEMPTS = 3
_MAX_RETRY_AFTER_S = 2.0
_REPLAYABLE = ("upstream_unreachable", "upstream_disconnected", "upstream_unavailable", "rate_limit_exceeded")


@dataclass(slots=True)
class Target:
    """One upstream of a model, with what is known of its health. `native`: it speaks /responses itself."""

    upstream: CompletionUpstream
    options: UpstreamOptions
    weight: int = 1
    native: bool = False
    first_event_wait_s: float = 25
    breaker: CircuitBreaker = field(default_factory=upstream_breaker)
    budget: RetryBudget = field(default_factory=RetryBudget)


@dataclass(slots=True)
class ModelEntry:
    """One row of the model table. `created` is what GET /v1/models shows."""

    name: str
    kind: str
    targets: tuple[Target, ...]
    aliases: tuple[str, ...] = ()
    fallback: tuple[str, ...] = ()
    created: int = 0

    @property
    def first_event_wait_s(self) -> float:
        return min((target.first_event_wait_s for target in self.targets), default=25)


@dataclass(slots=True)
class Attempt:
    """A call being made: to which upstream, under which public model name. `begin` when its answer has begun."""

    entry: ModelEntry
    target: Target
    begun: bool = False

    def begin(self) -> None:
        self.begun = True
        self.target.breaker.succeeded()


class Plan:
    """`entries`: the model asked for, then its fallbacks."""

    def __init__(self, entries: Sequence[ModelEntry]) -> None:
        self._waiting = [
            Attempt(entry, target)
            for entry in entries
            for target in weighted_order((target, target.weight) for target in entry.targets)
        ]
        self._made = 0
        self._retried = False

    @asynccontextmanager
    async def attempt(self, stats: RequestStats) -> AsyncIterator[Attempt]:
        """The next attempt. A fault inside the block that may be hidden is: loop on. Any other is raised."""
        attempt = self._take()
        target = attempt.target
        target.budget.request()
        self._made += 1
        stats.attempts += 1
        stats.model, stats.upstream = attempt.entry.name, target.upstream.name
        try:
            yield attempt
        except UpstreamError as error:
            if isinstance(error, UpstreamRefused):
                target.breaker.release() if error.status == 429 else target.breaker.succeeded()
            elif error.code != "invalid_json_answer":
                target.breaker.failed()
            if attempt.begun or not await self._go_on(attempt, error):
                raise
        except BaseException:
            target.breaker.release()
            raise
        else:
            if not attempt.begun:
                target.breaker.succeeded()

    def _take(self) -> Attempt:
        if not self._waiting:
            raise UpstreamUnavailable("no upstream is configured for this model", code="no_upstream")
        waits = [attempt.target.breaker.wait_s for attempt in self._waiting]
        self._skip_resting()
        if not self._waiting or not self._waiting[0].target.breaker.take():
            raise UpstreamUnavailable(
                "the upstream keeps failing and is left alone for a while", retry_after_s=max(min(waits), 1.0)
            )
        return self._waiting.pop(0)

    def _skip_resting(self) -> None:
        self._waiting = [attempt for attempt in self._waiting if attempt.target.breaker.wait_s <= 0]

    async def _go_on(self, attempt: Attempt, error: UpstreamError) -> bool:
        """Whether another attempt is to be made; waits for it as long as is right."""
        if self._made >= _MAX_ATTEMPTS or (isinstance(error, UpstreamRefused) and error.status != 429):
            return False
        if any(other.target.breaker.wait_s <= 0 for other in self._waiting):
            return True
        short = error.retry_after_s is None or error.retry_after_s <= _MAX_RETRY_AFTER_S
        if error.status == 429 and error.retry_after_s is None:
            short = False
        if self._retried or error.code not in _REPLAYABLE or not short:
            return False
        if attempt.target.breaker.wait_s > 0 or not attempt.target.budget.take():
            return False
        self._retried = True
        await asyncio.sleep(max(error.retry_after_s or 0.0, backoff_s(self._made)))
        self._waiting = [Attempt(attempt.entry, attempt.target)]
        return True
