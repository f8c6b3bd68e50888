"""One piece of work that a caller asks for, and the promises that hold for it.

A door is a way in which work is asked for: a request of HTTP, whole or streamed, a message on a socket, a run in the
background, a tool that a model calls. Each door makes a `Call` for each piece of work and is no more than an adapter:
the rules stand here, once, so that they hold at every door.

| promise          | kept by                                                                              |
|------------------|--------------------------------------------------------------------------------------|
| who may          | `admit`, `renew`, `require`, `require_live`                                           |
| how much         | `served`, `charge`; tokens and money: `access.budgets`, by `RequestStats.spend`       |
| how large        | `take`                                                                               |
| what leaves      | `answered`, which masks what goes out and comes back (`calls.masking`)                |
| what is stored   | `values`: the masked values, which are stored beside the texts with their placeholders |
| how it ends      | `calls.delivery.deliver`, `as_error`                                                  |
| what is recorded | `refused`, `record`: log lines, metrics and usage                                     |

The order at every door: `admit` (or `renew`), `served`, `take`, `answered`, `deliver`, `record`.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from multidict import MultiMapping

from gateway import logs
from gateway.access.budgets import Budgets
from gateway.access.keys import Keys
from gateway.access.rate_limits import Limiter, LimitState
from gateway.calls.in_flight import InFlight
from gateway.calls.masking import Earlier, Masked, Masking, Memory, clean_tool_texts
from gateway.domain import WEB_SEARCH_SCOPE, WEB_TOOLS, Caller, Json, RequestStats
from gateway.errors import (
    BudgetSpent,
    Forbidden,
    GatewayError,
    InternalError,
    RateLimited,
    Unauthenticated,
    UpstreamError,
    error_label,
)
from gateway.metrics import Metrics
from gateway.sanitize.pipeline import RequestWork, Sanitizer
from gateway.sanitize.policy import Direction
from gateway.texts import TextUnit
from gateway.wire.dialect import Dialect
from gateway.wire.json_body import JsonBody

CLIENT_GONE = 499
"""The status recorded when the client left before its answer: nginx's number; it is never sent."""

_SLOT_POLL_S = 0.25
"""Pause between two tries to get one of the key's slots, where a call waits for one."""

T = TypeVar("T")


@dataclass(slots=True)
class Finished:
    """The record of a call that was answered, or whose client left.

    `endpoint`: the row's name, `unmatched`, or `background`. `method`: of HTTP, or `WS`. `total_s`: seconds from the
    call's beginning to the end of the answer. `events`: events of a stream that were sent. `client`: its address.
    """

    stats: RequestStats
    request_id: str
    endpoint: str
    method: str
    status: int
    total_s: float
    events: int
    client: str = ""


class CallLog(Protocol):
    """Writes the log line, the metrics and the usage of each finished call."""

    def add(self, finished: Finished) -> None:
        """Record one call. Must be called inside the event loop."""
        ...

    def flush(self) -> None:
        """Write what was recorded so far."""
        ...


class Interface(Protocol):
    """What a call must know of the interface that it came by (`web.endpoints.Endpoint`)."""

    @property
    def name(self) -> str: ...

    @property
    def dialect(self) -> Dialect: ...

    @property
    def scopes(self) -> frozenset[str]: ...

    @property
    def check(self) -> Callable[[JsonBody, MultiMapping[str]], Any] | None: ...

    @property
    def charged(self) -> bool: ...

    @property
    def is_light(self) -> bool: ...

    @property
    def sanitized_as(self) -> str: ...

    @property
    def reads(self) -> "Callable[[Call], Awaitable[Earlier | None]] | None": ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRules:
    """What all calls of a server share. `budgets` None: keys have none. `carried_names(identity, body)`: what the
    placeholders stand for in the states of upstreams that a client carries. `people`: see `access.people`."""

    in_flight: InFlight
    keys: Keys
    limiter: Limiter
    sanitizer: Sanitizer
    metrics: Metrics
    recorder: CallLog
    budgets: Budgets | None = None
    carried_names: Callable[[str, Json], Iterable[Mapping[str, str]]] = lambda identity, body: ()
    people: Callable[[Any, Mapping[str, str]], tuple[str, ...]] = lambda body, headers: ()


@dataclass(slots=True)
class Call:
    """One call. `admit` sets `caller`, `take` sets `body`.

    `path`: the variable parts of the path that it came by. `body`: the result of `Interface.check`, None where no body
    was read; `body_is_plain`: see `JsonBody.is_plain`. `earlier`: the stored items that it goes on with; `memory`: what
    its connection remembers beside the store. `masking`: None where the interface is not sanitized. `limits`: the state
    of the key's limits after this call was counted, by name. `fault_status`: of the error that its stream ended with, 0
    for none.
    """

    rules: CallRules
    interface: Interface
    request_id: str
    stats: RequestStats
    caller: Caller = field(init=False)
    path: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    body_is_plain: bool = False
    earlier: Earlier | None = None
    memory: Memory | None = None
    masking: Masking | None = None
    limits: dict[str, LimitState] = field(default_factory=dict)
    fault_status: int = 0
    _work: RequestWork | None = None
    _slot: str = ""

    # --- who may ---

    def admit(self, caller: Caller) -> None:
        """Let the holder of a key in, from whose budgets the call pays. Raises Forbidden without a scope of the
        interface."""
        self.caller = caller
        stats, scopes, budgets = self.stats, self.interface.scopes, self.rules.budgets
        stats.key_id, stats.spend = caller.key_id, None
        if budgets is not None and (budgets.bind_all or caller.has_budgets):
            stats.spend = budgets.of(caller, self.limits)
        if scopes and caller.scopes.isdisjoint(scopes):
            self.require(scopes)

    def renew(self, key_id: str) -> None:
        """As `admit`, with the rights and limits that a key has now. Raises Unauthenticated where it is not valid."""
        caller = self.rules.keys.caller_of(key_id) if self.rules.keys.is_live(key_id) else None
        if caller is None:
            raise Unauthenticated("this API key is no longer valid")
        self.admit(caller)

    def require(self, scopes: Collection[str]) -> None:
        """Raises Forbidden unless the key has one of these scopes; none are needed where there are none."""
        if scopes and self.caller.scopes.isdisjoint(scopes):
            raise Forbidden(
                f"this key lacks the scope {' or '.join(sorted(scopes))}; the operator can make one that has it"
            )

    def require_live(self) -> None:
        """Raises Unauthenticated once the key was revoked or has expired."""
        if not self.rules.keys.is_live(self.caller.key_id):
            raise Unauthenticated("this API key was revoked or has expired")

    # --- how much ---

    async def served(self, work: Callable[[], Awaitable[T]], wait_s: float = 0.0) -> T:
        """Do the work while the call has a place in the gateway and one of its key's slots, and has taken one call of
        the key's minute. `wait_s`: how long it waits for its key. Raises Overloaded, RateLimited."""
        in_flight, key_id, limiter = self.rules.in_flight, self.caller.key_id, self.rules.limiter
        in_flight.take_place(key_id)
        try:
            if limiter.binds(self.caller):
                await self._let_begin(wait_s)
            return await work()
        finally:
            if self._slot or (self.earlier is not None and self.earlier.lock is not None):
                await self._let_go()
            in_flight.give_back(key_id)

    async def held(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work with what the call holds already; then give that back."""
        try:
            return await work()
        finally:
            await self._let_go()

    async def _let_go(self) -> None:
        await self._give_slot()
        if self.earlier is not None:
            await self.earlier.release()

    async def charge(self, tool: str = "") -> None:
        """Take one call from the key's calls a minute, and of a tool (a web tool, or `mcp:LABEL`) from its budgets,
        with the rights and limits of now. Raises RateLimited; for a tool Unauthenticated and Forbidden."""
        if tool:
            self._look_again(tool)
        try:
            state = await self.rules.limiter.charge(self.caller)
        except RateLimited as error:
            self.limits["requests"] = LimitState(error.limit, 0, error.retry_after_s or 0.0)
            raise
        if state is not None:
            self.limits["requests"] = state
        if tool:
            budgets = self.rules.budgets
            if budgets is not None and (budgets.bind_all or self.caller.has_budgets):
                asked = self.body.get("model") if isinstance(self.body, dict) else None
                await budgets.charge_tool(self.caller, tool, self.limits, self.stats.model or str(asked or ""))
            tools = self.stats.tools
            tools[tool] = tools.get(tool, 0) + 1

    def _look_again(self, tool: str) -> None:
        """A call may last for minutes: what it may do is looked up again for each tool."""
        self.require_live()
        self.caller = self.rules.keys.caller_of(self.caller.key_id) or self.caller
        self.require((WEB_SEARCH_SCOPE,) if tool in WEB_TOOLS else (tool,))

    def detached(self) -> "Call":
        """A call that goes on where this one ends: it has this one's slot, and what it uses is counted for itself."""
        own = copy(self)
        own.stats = RequestStats(started_s=time.perf_counter(), who=self.stats.who)
        own.limits = {}
        if own.masking is not None:
            own.masking = own.stats.names = own.masking.counted_in(own.stats)
        own.admit(own.caller)
        self._slot, self.earlier = "", None
        return own

    def take_back(self, own: "Call") -> None:
        """Undo `detached`, where the other call could not begin."""
        self._slot, self.earlier = own._slot, own.earlier

    async def _let_begin(self, wait_s: float) -> None:
        """Take the slot, then the call of the minute. Raises RateLimited when the time to wait is over."""
        end_s = 0.0
        try:
            while True:
                try:
                    if not self._slot and not self.interface.is_light:
                        self._slot = await self.rules.limiter.take(self.caller)
                    if self.interface.charged:
                        await self.charge()
                    return
                except RateLimited as error:
                    end_s = end_s or time.monotonic() + wait_s
                    if isinstance(error, BudgetSpent) or time.monotonic() >= end_s:
                        raise
                    await asyncio.sleep(_SLOT_POLL_S)
                    self.require_live()
        except BaseException:
            await self._give_slot()
            raise

    async def _give_slot(self) -> None:
        slot, self._slot = self._slot, ""
        if slot:
            await self.rules.limiter.give(self.caller.key_id, slot)

    # --- how large ---

    @property
    def work(self) -> RequestWork:
        """What decoding, checking and sanitizing the call has cost."""
        if self._work is None:
            self._work = RequestWork(self.stats.key_id)
        return self._work

    async def take(self, body: JsonBody, headers: MultiMapping[str]) -> None:
        """Check a decoded body. Raises InvalidRequest and the check's other errors."""
        assert self.interface.check is not None
        self.body = self.interface.check(body, headers)
        self.body_is_plain = body.is_plain
        if who := self.rules.people(self.body, headers):
            named = (*self.stats.who, *who)
            self.stats.who = tuple({each.partition("_")[0]: each for each in named}.values())
        if body.is_large:
            await asyncio.sleep(0)  # checking took milliseconds, and so will what follows

    # --- what leaves ---

    @property
    def is_plain(self) -> bool:
        """Whether no text of the call is masked and nothing stored is read: `answered` has nothing to do."""
        interface = self.interface
        return interface.reads is None and interface.sanitized_as not in self.rules.sanitizer.routes

    async def answered(self, make: Callable[[], Awaitable[Masked]]) -> Masked:
        """The answer of `make`. Before it the stored items are read that the call goes on with; they, the body and the
        answer are masked where the interface is sanitized.

        Raises what `make` and `Interface.reads` raise, ContentBlocked, SanitizerFailed.
        """
        interface, sanitizer = self.interface, self.rules.sanitizer
        if interface.sanitized_as in sanitizer.routes:
            self.masking = self.stats.names = Masking(sanitizer, interface.dialect, self.stats, self.work)
        elif interface.reads is None:
            return await make()
        if interface.reads is not None:
            try:
                self.earlier = await interface.reads(self)
            except GatewayError as error:
                if self.masking is not None:
                    await self.masking.clean_refusal(error)  # it may name an id that nothing has masked yet
                raise
        if self.masking is None:
            return await make()
        if interface.check is not None:
            self.masking.go_on_with(self.rules.carried_names, self.caller.identity, self.body)
            await self.masking.clean_request(self.body, self.earlier)
        try:
            reply = await make()
        except UpstreamError as error:
            await self.masking.clean_refusal(error)  # it may quote the request
            raise
        await self.masking.clean_reply(reply)
        return reply

    @property
    def values(self) -> dict[str, str]:
        """What the placeholders in the call's texts stand for, `{EMAIL_1: value}`; empty where there are none."""
        return self.masking.values if self.masking is not None else {}

    def values_in(self, texts: object) -> dict[str, str]:
        """Those of `values` whose names stand in these texts."""
        return self.masking.values_in(texts) if self.masking is not None else {}

    async def clean_answer_text(self, text: str) -> str:
        """A text that a model wrote, masked as an answer of the call. Raises ContentBlocked, SanitizerFailed."""
        return await self.masking.clean_answer_text(text) if self.masking is not None else text

    async def hide_known(self, reply: Json) -> None:
        """Put placeholders over the call's values in an answer that is stored. Raises SanitizerFailed."""
        if self.masking is not None:
            await self.masking.hide_known(reply)

    async def clean_tool_texts(self, unit: TextUnit, direction: Direction) -> None:
        """Mask texts of a tool that the gateway calls for a model, in place. Raises ContentBlocked, SanitizerFailed."""
        await clean_tool_texts(self.rules.sanitizer, self.stats, self.work, unit, direction)

    # --- how it ends, what is recorded ---

    def as_error(self, error: Exception) -> GatewayError:
        """The error to answer any exception with. Unexpected ones become InternalError; their place is logged."""
        if isinstance(error, GatewayError):
            return error
        logs.event("unexpected", level=logging.ERROR, request_id=self.request_id, error=logs.failure(error))
        return InternalError("the gateway failed on this request; its log has the details under this request id")

    def refused(self, error: GatewayError) -> None:
        """Count and note an error that the client gets, and give it the call's id."""
        self.stats.code = label = error_label(error)
        self.rules.metrics.rejected.labels(label).inc()
        error.request_id = self.request_id

    def record(self, method: str, status: int, *, name: str = "", events: int = 0, client: str = "") -> None:
        """Record the end of the call. `name`: of the endpoint, where it is not the interface's."""
        total_s = time.perf_counter() - self.stats.started_s
        name = name or self.interface.name
        self.rules.recorder.add(Finished(self.stats, self.request_id, name, method, status, total_s, events, client))
