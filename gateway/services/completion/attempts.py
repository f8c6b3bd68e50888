"""The attempts of one request: which upstream is next, and whether an error leads to another attempt.

Knows no HTTP and no wire format.

Theory of operation. `Plan` holds one request's candidates: the model's own upstreams in weighted random order, then
those of its fallback models. The service loops over `async with plan.attempt(stats)`: the block returns to end the
loop; an error that may be retried is swallowed, so the loop goes on; any other error leaves the block.

| attempt | entered when                    | what follows                                                         |
|---------|---------------------------------|----------------------------------------------------------------------|
| waiting | the plan is made                | its health allows a call: calling; it does not: dropped              |
| calling | `attempt()` takes it            | `begin()`: begun; an error: failed; the block returns: succeeded     |
| begun   | the first event was passed on   | never retried, since the caller has seen a part of the answer        |
| failed  | UpstreamError before `begin()`  | the next waiting attempt; else one repeat of the same; else raised   |

What is reported to the health of the attempt's upstream (`upstream_health` has the rules of its breakers). An attempt
that fails after `begin()` reports both:

| outcome                                                       | health           |
|---------------------------------------------------------------|------------------|
| answer begun, or whole                                        | `succeeded`      |
| UpstreamRefused other than 429: healthy, the request is wrong | `succeeded`      |
| UpstreamRefused 429, cancelled, or an error of our own        | `release`        |
| `invalid_json_answer`: the model's fault, not the upstream's  | `release`        |
| UpstreamTimeout or `upstream_unreachable` before `begin()`    | `was_silent`     |
| any other UpstreamError                                       | `answered_badly` |

Invariants: at most _MAX_ATTEMPTS calls; no call to an upstream whose health forbids it, but when it forbids all of them
the first one that answers at all, if badly, is called; the same upstream is called again at most once, only when no
other is left, the error came before any byte of an answer (_REPLAYABLE), and its retry budget has a token; a refusal of
the request itself (4xx other than 429) is never retried.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.domain import RequestStats
from gateway.errors import UpstreamError, UpstreamRefused, UpstreamTimeout, UpstreamUnavailable
from gateway.ports import CompletionUpstream
from gateway.services.completion.retries import RetryBudget, backoff_s, weighted_order
from gateway.services.completion.upstream_health import UpstreamHealth
from gateway.wire.chat.request import UpstreamOptions

_MAX_ATTEMPTS = 3
"""Upstream calls for one request. Chosen: at two, one dead upstream and one busy one fail a request that a third could
answer; at six, an outage multiplies the load on what is left and the caller's wait by up to six."""
_MAX_RETRY_AFTER_S = 2.0
"""Seconds that a request waits before its one repeat; an upstream that asks for more gets no repeat. Chosen: at double,
callers wait longer than most of them pause themselves; at half, ordinary pauses of 1 to 2 s would not be used."""
_UNREACHABLE = "upstream_unreachable"
_REPLAYABLE = (_UNREACHABLE, "upstream_disconnected", "upstream_unavailable", "rate_limit_exceeded")
"""Error codes of failures before any byte of an answer: no answer is paid for twice."""


@dataclass(slots=True)
class Target:
    """One upstream of a model, and the state of its health, shared by all requests.

    `weight` orders the upstreams of a model; 0 is tried last. `native`: it speaks /responses itself.
    `first_event_wait_s`: seconds until the answer's status is sent even though the upstream has sent nothing.
    """

    upstream: CompletionUpstream
    options: UpstreamOptions
    weight: int = 1
    native: bool = False
    first_event_wait_s: float = 8
    health: UpstreamHealth = field(default_factory=UpstreamHealth)
    budget: RetryBudget = field(default_factory=RetryBudget)

    @property
    def has_tools(self) -> bool:
        """Whether its model makes tool calls itself."""
        return self.options.has_tools


@dataclass(slots=True)
class ModelEntry:
    """One model that callers may name. `kind` is `text`, `ocr` or `embedding`; `fallback` names other models.

    `created` is Unix time in seconds, shown by GET /v1/models; `context_length` is in tokens, 0 for unknown.
    """

    name: str
    kind: str
    targets: tuple[Target, ...]
    aliases: tuple[str, ...] = ()
    fallback: tuple[str, ...] = ()
    created: int = 0
    context_length: int = 0

    @property
    def first_event_wait_s(self) -> float:
        """The shortest wait among the upstreams, in seconds."""
        return min((target.first_event_wait_s for target in self.targets), default=8)

    @property
    def has_tools(self) -> bool:
        """Whether the model makes tool calls itself, on whichever of its upstreams."""
        return all(target.has_tools for target in self.targets)


@dataclass(slots=True)
class Attempt:
    """One call to one upstream, under the public model name of `entry`, for the caller with the id `caller`."""

    entry: ModelEntry
    target: Target
    begun: bool = False
    caller: str = ""

    @property
    def maker(self) -> str:
        """The name of its upstream in the states of messages (`wire.chat.kept`)."""
        return f"{self.entry.name}/{self.target.upstream.name}"

    def begin(self) -> None:
        """Call when the first event is passed on: from here on no error is retried. The upstream counts as healthy."""
        self.begun = True
        self.target.health.succeeded(self.caller)


class Plan:
    """The attempts of one request. `entries`: the requested model, then its fallbacks. `maker`: the upstream among
    those of the first entry that is asked first. See the module's tables."""

    def __init__(self, entries: Sequence[ModelEntry], maker: str = "") -> None:
        self._waiting = [Attempt(entry, target) for entry in entries for target in _in_order(entry.targets)]
        if maker:
            own = len(entries[0].targets)
            self._waiting[:own] = sorted(self._waiting[:own], key=lambda attempt: attempt.maker != maker)
        self._made = 0
        self._retried = False

    def attempt(self, stats: RequestStats) -> "_Calling":
        """The next attempt, counted in `stats`. A retryable UpstreamError inside the block is swallowed: loop again.

        Raises UpstreamUnavailable when no upstream is configured or all breakers are open, and what the block raises.
        """
        return _Calling(self, stats)

    def enter(self, stats: RequestStats) -> Attempt:
        """For `attempt`: the next one, counted."""
        attempt = self._next_attempt(stats.key_id)
        target = attempt.target
        target.budget.request()
        self._made += 1
        stats.attempts += 1
        stats.model, stats.upstream = attempt.entry.name, target.upstream.name
        return attempt

    async def leave(self, attempt: Attempt, error: BaseException | None) -> bool:
        """For `attempt`: its block has ended. Returns whether the error is swallowed."""
        health = attempt.target.health
        if error is None:
            if not attempt.begun:
                health.succeeded(attempt.caller)
            return False
        if isinstance(error, UpstreamError):
            _report(attempt, error)
            return not attempt.begun and await self._may_retry(attempt, error)
        health.release(attempt.caller)
        return False

    def _next_attempt(self, caller: str) -> Attempt:
        if not self._waiting:
            raise UpstreamUnavailable("no upstream is configured for this model", code="no_upstream")
        attempt = self._waiting.pop(0) if self._waiting[0].target.health.take(caller) else self._first_allowed(caller)
        attempt.caller = caller
        return attempt

    def _first_allowed(self, caller: str) -> Attempt:
        """As `_next_attempt`, when the first one is not to be called: it drops those that are not to be called now."""
        waits = [attempt.target.health.wait_s(caller, is_last=True) for attempt in self._waiting]
        answering = [attempt for attempt, wait_s in zip(self._waiting, waits, strict=True) if wait_s <= 0]
        self._waiting = [attempt for attempt in answering if attempt.target.health.wait_s(caller) <= 0]
        is_last = not self._waiting
        candidates = self._waiting or answering[:1]
        if not candidates or not candidates[0].target.health.take(caller, is_last=is_last):
            raise UpstreamUnavailable(
                "the upstream keeps failing and is not called for a while; try again later",
                retry_after_s=max(min(waits), 1.0),
            )
        return candidates.pop(0)

    async def _may_retry(self, attempt: Attempt, error: UpstreamError) -> bool:
        """Whether another attempt is to be made. Sleeps for the pause before a repeat; see the module's invariants."""
        if self._made >= _MAX_ATTEMPTS or (isinstance(error, UpstreamRefused) and error.status != 429):
            return False
        if any(other.target.health.wait_s(attempt.caller) <= 0 for other in self._waiting):
            return True
        is_short = error.retry_after_s is None or error.retry_after_s <= _MAX_RETRY_AFTER_S
        if error.status == 429 and error.retry_after_s is None:
            is_short = False
        if self._retried or error.code not in _REPLAYABLE or not is_short:
            return False
        if attempt.target.health.wait_s(attempt.caller) > 0 or not attempt.target.budget.take():
            return False
        self._retried = True
        await asyncio.sleep(max(error.retry_after_s or 0.0, backoff_s(self._made)))
        self._waiting = [Attempt(attempt.entry, attempt.target)]
        return True


class _Calling:
    """The context manager of `Plan.attempt`. A class, because every request passes it: a generator would cost three
    times as much."""

    __slots__ = ("_attempt", "_plan", "_stats")

    def __init__(self, plan: Plan, stats: RequestStats) -> None:
        self._plan = plan
        self._stats = stats

    async def __aenter__(self) -> Attempt:
        self._attempt = attempt = self._plan.enter(self._stats)
        return attempt

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        return await self._plan.leave(self._attempt, error)


def _in_order(targets: Sequence[Target]) -> Sequence[Target]:
    """The upstreams of a model, by weight and chance."""
    return targets if len(targets) < 2 else weighted_order((target, target.weight) for target in targets)


def _report(attempt: Attempt, error: UpstreamError) -> None:
    """Tell the upstream's health what the error says of it; see the module's table."""
    health, caller = attempt.target.health, attempt.caller
    if isinstance(error, UpstreamRefused):
        health.release(caller) if error.status == 429 else health.succeeded(caller)
    elif error.code == "invalid_json_answer":
        health.release(caller)
    elif not attempt.begun and (isinstance(error, UpstreamTimeout) or error.code == _UNREACHABLE):
        health.was_silent(caller)
    else:
        health.answered_badly(caller)
