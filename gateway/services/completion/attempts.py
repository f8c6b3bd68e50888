"""The attempts of one request: which upstream is next, and whether an error leads to another attempt.

Theory of operation. `Plan` holds one request's candidates: the model's own upstreams in weighted random order, then
those of its fallback models. The service loops over `async with plan.attempt(stats)`: the block returns to end the
loop; an error that may be retried is swallowed, so the loop goes on; any other error leaves the block.

| attempt | entered when                    | what follows                                                         |
|---------|---------------------------------|----------------------------------------------------------------------|
| waiting | the plan is made                | its health allows a call: calling; it does not: dropped              |
| calling | `attempt()` takes it            | `begin()`: begun; an error: failed; the block returns: succeeded     |
| begun   | the first event was passed on   | never retried, since the caller has seen a part of the answer        |
| failed  | UpstreamError before `begin()`  | the next waiting attempt; else one repeat of the same; else raised   |

Each outcome is reported to the health of the attempt's upstream (`UpstreamHealth` has the rules of its breakers). An
attempt that fails after `begin()` reports two:

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
import logging
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gateway import logs
from gateway.domain import Json, RequestStats
from gateway.errors import (
    GatewayError,
    UpstreamError,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
    error_label,
)
from gateway.ports import CompletionUpstream
from gateway.resilience.bounded_cache import BoundedCache
from gateway.resilience.circuit_breaker import BreakerPolicy, CircuitBreaker
from gateway.services.completion.quotations import without_quotations
from gateway.wire.chat.request import UpstreamOptions

# When an upstream may be called again: the figures of its circuit breaker, the retry budget, the order of upstreams.
#
# Figures follow the practice of Envoy (outlier detection, retry budgets) and Google SRE ("Addressing Cascading
# Failures"), read 2026-11-21. Time is monotonic seconds.

UPSTREAM_BREAKER = BreakerPolicy(
    failures_in_a_row=5, share_min_calls=20, window_s=10.0, first_rest_s=5.0, longest_rest_s=30.0, probe_limit_s=30.0
)
"""Five failures in a row (`consecutive_5xx`) and the longest rest of 30 s are Envoy's defaults for ejection."""

_RETRY_SHARE = 0.1
_RETRIES_PER_S = 3.0
"""Retries stay below a tenth of the requests (Google SRE): an overloaded upstream gets at most 1.1 times its load.
Envoy's `min_retry_concurrency` is 3; here it is a rate in a second, so that a quiet gateway may retry at all."""

_MAX_SAVED_S = 10
"""Seconds of `_RETRIES_PER_S` that a busy time may save up (30 retries)."""

_FIRST_BACKOFF_S = 0.1
_MAX_BACKOFF_S = 2.0
"""Seconds of the first and the longest pause before a retry; the caller waits while it runs."""

T = TypeVar("T")


def upstream_breaker(clock: Callable[[], float] = time.monotonic) -> CircuitBreaker:
    """A closed breaker for one upstream."""
    return CircuitBreaker(UPSTREAM_BREAKER, clock)


class RetryBudget:
    """A token bucket for one upstream: _RETRY_SHARE of a token for each request, and _RETRIES_PER_S tokens a second.

    Time fills the bucket up to _RETRIES_PER_S tokens, requests up to `_MAX_SAVED_S` times as many. A retry costs one.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tokens = _RETRIES_PER_S
        self._filled_s = clock()

    def request(self) -> None:
        """Count a request, retries included."""
        self._tokens = min(self._tokens + _RETRY_SHARE, _MAX_SAVED_S * _RETRIES_PER_S)

    def take(self) -> bool:
        """Whether a retry may be made now; if so, it is paid for."""
        now_s = self._clock()
        if self._tokens < _RETRIES_PER_S:
            self._tokens = min(_RETRIES_PER_S, self._tokens + (now_s - self._filled_s) * _RETRIES_PER_S)
        self._filled_s = now_s
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


def weighted_order(items: Iterable[tuple[T, int]]) -> list[T]:
    """The items of (item, weight) in a random order; the share of first places is proportional to weight, 0 comes last.

    Equals drawing without replacement, each time with probability weight / sum of the weights left (Efraimidis and
    Spirakis 2006: sort by random ** (1 / weight)).
    """
    keyed = [(random.random() ** (1 / weight) if weight > 0 else -1.0, item) for item, weight in items]  # noqa: S311
    return [item for _, item in sorted(keyed, key=lambda pair: pair[0], reverse=True)]


def backoff_s(attempt: int) -> float:
    """Seconds to wait before attempt `attempt` + 1: between 0 and 0.1 s doubled `attempt` times (full jitter)."""
    return random.random() * min(_FIRST_BACKOFF_S * float(2**attempt), _MAX_BACKOFF_S)  # noqa: S311


MOST_OF_ONE = 4
"""Silent calls of one caller that count within the breaker's window: one less than the row that opens it."""

_MAX_CALLERS = 1000
_CALLER_TTL_S = 120.0
"""Most callers whose own breakers are remembered, and for how many seconds after the breaker was made."""


_MAX_COUNTED = 1000
"""Most silent calls that are remembered with their callers, as many as the breaker remembers."""


class UpstreamHealth:
    """Whether an upstream may be called for a caller: a breaker for all, which silence opens, and one of each caller,
    which bad answers to that caller open. A prompt that makes a sound upstream answer 500 so shuts it for nobody else.

    Callers are ids of keys; "" is the gateway itself.

    | fault                          | who counts                             | while its breaker is open          |
    |--------------------------------|----------------------------------------|------------------------------------|
    | no answer: refused,            | all callers; one of them at most       | nobody calls the upstream          |
    | unreachable, timed out         | MOST_OF_ONE times in the window,       |                                    |
    |                                | unless nobody else calls               |                                    |
    | a bad answer: 5xx, cut,        | the caller alone                       | its calls go to other upstreams;   |
    | not in the API's form          |                                        | with nowhere else to go they are   |
    |                                |                                        | made                               |

    A model's last upstream is closed off only when it never answers: a refusal would help nobody there. A bad answer is
    an answer: it ends a row of silent calls.

    A caller for whom `take` was called reports exactly one outcome. Time is monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._silence = _Silence(clock)
        self._own: BoundedCache[str, CircuitBreaker] = BoundedCache(_MAX_CALLERS, ttl_s=_CALLER_TTL_S, clock=clock)

    @property
    def is_open(self) -> bool:
        """Whether the breaker that holds for all callers is open or half-open."""
        return self._silence.breaker.is_open

    @property
    def closure(self) -> float:
        """Of that breaker: 0 closed, 0.5 half-open: the next call is a probe, 1 open."""
        return (0.5 if self._silence.breaker.wait_s <= 0 else 1.0) if self.is_open else 0.0

    def wait_s(self, caller: str, *, is_last: bool = False) -> float:
        """Seconds until `take` may answer True; 0 when it would now. `is_last`: there is no other upstream to call."""
        own = None if is_last else self._own.get(caller)
        return max(self._silence.breaker.wait_s, own.wait_s if own is not None else 0.0)

    def take(self, caller: str, *, is_last: bool = False) -> bool:
        """Whether a call may be made now. Hands out the probe of each breaker that is half-open."""
        if not (self._own or self.is_open):
            return True  # nearly always: every breaker is closed
        if self.wait_s(caller, is_last=is_last) > 0:
            return False
        self._silence.breaker.take()
        if not is_last and (own := self._own.get(caller)) is not None:
            own.take()
        return True

    def release(self, caller: str) -> None:
        """The call ended without an outcome (its client left, for example)."""
        self._silence.breaker.release()
        if (own := self._own.get(caller)) is not None:
            own.release()

    def succeeded(self, caller: str) -> None:
        """The upstream answered as it should."""
        self._silence.broken_by(caller)
        if (own := self._own.get(caller)) is not None:
            own.succeeded()

    def was_silent(self, caller: str) -> None:
        """The upstream did not answer: refused, unreachable, timed out."""
        if (own := self._own.get(caller)) is not None:
            own.release()
        self._silence.met_by(caller)

    def answered_badly(self, caller: str) -> None:
        """The upstream answered with a fault of its own."""
        self._silence.broken_by(caller)
        own = self._own.get(caller)
        if own is None:
            own = upstream_breaker(self._clock)
            self._own.put(caller, own)
        own.failed()


class _Silence:
    """The breaker for all callers, in which one caller's silent calls count at most MOST_OF_ONE times within the
    window; those of a caller who is alone in the window all count."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.breaker = upstream_breaker(clock)
        self._clock = clock
        self._counted: deque[tuple[float, str]] = deque(maxlen=_MAX_COUNTED)
        self._last_two: dict[str, float] = {}

    def broken_by(self, caller: str) -> None:
        """A call was answered."""
        self._note(caller)
        self.breaker.succeeded()

    def met_by(self, caller: str) -> None:
        """A call was not answered."""
        now_s = self._note(caller)
        since_s = now_s - UPSTREAM_BREAKER.window_s
        while self._counted and self._counted[0][0] < since_s:
            self._counted.popleft()
        is_alone = not any(at_s >= since_s for other, at_s in self._last_two.items() if other != caller)
        counts = self.breaker.is_open or is_alone  # an open breaker asks for the outcome of its probe
        if not counts and sum(each == caller for _, each in self._counted) >= MOST_OF_ONE:
            return
        self._counted.append((now_s, caller))
        self.breaker.failed()

    def _note(self, caller: str) -> float:
        """Remember when the last two callers had an outcome: enough to tell whether there is another one."""
        now_s = self._clock()
        self._last_two.pop(caller, None)
        if len(self._last_two) > 1:
            del self._last_two[next(iter(self._last_two))]
        self._last_two[caller] = now_s
        return now_s


_TELL_EVERY_S, _MOST_CAUSES = 10.0, 32
_MAX_ATTEMPTS = 3
"""Most upstream calls for one request."""
_MAX_RETRY_AFTER_S = 2.0
"""Longest wait of a request before its one repeat, in seconds; an upstream that asks for more gets no repeat."""
_UNREACHABLE, _CERTIFICATE = "upstream_unreachable", "upstream_certificate"
_REPLAYABLE = (_UNREACHABLE, "upstream_disconnected", "upstream_unavailable", "rate_limit_exceeded")
"""Error codes of failures before any byte of an answer: no answer is paid for twice."""


@dataclass(slots=True)
class Target:
    """One upstream of a model, and the state of its health, shared by all requests.

    `weight` orders the upstreams of a model; 0 is tried last. `speaks`: the routes beside chat that it has itself, of
    `responses` and `messages`. `first_event_wait_s`: seconds until the answer's status is sent even though the upstream
    has sent nothing. `listing`: asks it which models it has. `told_s`: when each cause of a failure was logged.

    What this process has seen of it: `calls` and `failures` are counted, `times` are the seconds that its answers took
    to begin, or to be whole, since somebody has taken them; `answered_at` and `failed_at` are unix seconds, 0 for
    never; `fault` is the cause of its last failure, with the upstream's words, none of them of a request.
    """

    upstream: CompletionUpstream
    options: UpstreamOptions
    weight: int = 1
    speaks: frozenset[str] = frozenset()
    first_event_wait_s: float = 8
    listing: Callable[[], Awaitable[list[str]]] | None = None
    health: UpstreamHealth = field(default_factory=UpstreamHealth)
    fault: str = ""
    told_s: dict[str, float] = field(default_factory=dict)
    budget: RetryBudget = field(default_factory=RetryBudget)
    calls: int = 0
    failures: int = 0
    times: list[float] = field(default_factory=list)
    answered_at: float = 0.0
    failed_at: float = 0.0

    @property
    def has_tools(self) -> bool:
        """Whether its model makes tool calls itself."""
        return self.options.has_tools


@dataclass(slots=True)
class ModelEntry:
    """One model that callers may name. `kind` is `text`, `ocr` or `embedding`; `fallback` names other models.

    `created` is Unix time in seconds, shown by GET /v1/models; `context_length` is in tokens, 0 for unknown. `called`:
    the name by which a caller meant an entry with a wildcard. `lists`: the models are those that its upstream lists.
    """

    name: str
    kind: str
    targets: tuple[Target, ...]
    aliases: tuple[str, ...] = ()
    fallback: tuple[str, ...] = ()
    created: int = 0
    context_length: int = 0
    called: str = ""
    lists: bool = False

    @property
    def shown(self) -> str:
        """The name that an answer tells."""
        return self.called or self.name

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
    since_s: float = 0.0

    @property
    def maker(self) -> str:
        """The name of its upstream in the states of messages (`wire.chat.kept`)."""
        return f"{self.entry.name}/{self.target.upstream.name}"

    def begin(self) -> None:
        """Call when the first event is passed on: from here on no error is retried. The upstream counts as healthy."""
        if not self.begun:
            self.begun = True
            self.answered()
        self.target.health.succeeded(self.caller)

    def answered(self) -> None:
        """Note that the upstream has answered, and how long it took."""
        target = self.target
        target.times.append(time.perf_counter() - self.since_s)
        target.answered_at = time.time()


class Plan:
    """The attempts of one request. `entries`: the requested model, then its fallbacks. `maker`: the upstream among
    those of the first entry that is asked first. `asked`: what is sent, of which nothing may come into the log. See the
    module's tables."""

    asked: Any = None

    def __init__(self, entries: Sequence[ModelEntry], maker: str = "") -> None:
        self._waiting = [Attempt(entry, target) for entry in entries for target in _in_order(entry.targets)]
        if maker:
            own = len(entries[0].targets)
            self._waiting[:own] = sorted(self._waiting[:own], key=lambda attempt: attempt.maker != maker)
        self._made = 0
        self._retried = False

    @property
    def fixed(self) -> list[Json]:
        """The fields that the operator sets in the requests to each upstream that may be asked."""
        options = [attempt.target.options for attempt in self._waiting]
        return [{**each.rules.set, **each.extra_body} for each in options]

    def attempt(self, stats: RequestStats) -> "_Calling":
        """The next attempt, counted in `stats`. A retryable UpstreamError inside the block is swallowed: loop again.

        Raises UpstreamUnavailable when no upstream is configured or all breakers are open, and what the block raises.
        """
        return _Calling(self, stats)

    def enter(self, stats: RequestStats) -> Attempt:
        """Begin and count the next attempt; called by `attempt`."""
        attempt = self._next_attempt(stats.key_id)
        target = attempt.target
        target.budget.request()
        target.calls += 1
        attempt.since_s = time.perf_counter()
        self._made += 1
        stats.attempts += 1
        stats.model, stats.upstream = attempt.entry.name, target.upstream.name
        return attempt

    async def leave(self, attempt: Attempt, error: BaseException | None) -> bool:
        """End an attempt whose block has ended; called by `attempt`. Returns whether the error is swallowed."""
        health = attempt.target.health
        was_open = health.is_open
        if error is None:
            if not attempt.begun:
                attempt.answered()
                health.succeeded(attempt.caller)
                _tell_breaker(attempt, was_open=was_open)
            return False
        if isinstance(error, UpstreamError):
            _report(attempt, error)
            _tell(attempt, error, self.asked)
            _tell_breaker(attempt, was_open=was_open)
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
        if error is not None or self._stats.steps is not None:
            self._stats.note_attempt(_code_of(error))
        return await self._plan.leave(self._attempt, error)


def _code_of(error: BaseException | None) -> str:
    if error is None:
        return ""
    return error_label(error) if isinstance(error, GatewayError) else "ended"


def _in_order(targets: Sequence[Target]) -> Sequence[Target]:
    """The upstreams of a model, by weight and chance."""
    return targets if len(targets) < 2 else weighted_order((target, target.weight) for target in targets)


def _tell(attempt: Attempt, error: UpstreamError, asked: Any) -> None:
    """An event in the log for a fault of an upstream or a refusal, at most one of a kind in _TELL_EVERY_S. One that a
    caller can correct is an answer; 429 is none."""
    cause, target, now_s = error.cause or error.code, attempt.target, time.monotonic()
    is_refusal, is_due = isinstance(error, UpstreamRefused), now_s - target.told_s.get(cause, -1e9) >= _TELL_EVERY_S
    said = without_quotations(error.said, asked) if is_due else ""
    if not is_refusal or error.status == 429:
        target.failures, target.failed_at = target.failures + 1, time.time()
        if said or not target.fault.startswith(cause):  # words that were told a moment ago stay
            target.fault = f"{cause}: {said}" if said else cause
    elif not attempt.begun:
        attempt.answered()
    if not is_due:
        return
    if len(target.told_s) >= _MOST_CAUSES:
        target.told_s.clear()
    target.told_s[cause] = now_s
    told = {"model": attempt.entry.name, "upstream": target.upstream.name, "cause": cause}
    if said:
        told["said"] = said
    if is_refusal:
        logs.event("upstream_refused", told)
    else:
        logs.event("upstream_failed", told, level=logging.WARNING)


def _tell_breaker(attempt: Attempt, *, was_open: bool) -> None:
    """An event for a breaker that this outcome has opened or closed."""
    is_open = attempt.target.health.is_open
    if is_open != was_open:
        names = {"model": attempt.entry.name, "upstream": attempt.target.upstream.name}
        if is_open:
            logs.event("upstream_rests", names, level=logging.WARNING)
        else:
            logs.event("upstream_is_back", names)


def _report(attempt: Attempt, error: UpstreamError) -> None:
    """Tell the upstream's health what the error says of it; see the module's table."""
    health, caller = attempt.target.health, attempt.caller
    if isinstance(error, UpstreamRefused):
        health.release(caller) if error.status == 429 else health.succeeded(caller)
    elif error.code == "invalid_json_answer":
        health.release(caller)
    elif not attempt.begun and (isinstance(error, UpstreamTimeout) or error.code in (_UNREACHABLE, _CERTIFICATE)):
        health.was_silent(caller)
    else:
        health.answered_badly(caller)
