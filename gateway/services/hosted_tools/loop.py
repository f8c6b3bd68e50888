"""The loop of an answer with hosted tools: ask the model, run what it calls of ours, ask again, until it has answered.

What happens is yielded as the events of `wire.hosted_answer`.

Theory of operation:

| the model's round ends with            | what follows                                                              |
|----------------------------------------|---------------------------------------------------------------------------|
| no call of ours                        | the answer ends; calls of the caller's own tools are in it                |
| calls of ours alone                    | they are run, and the model is asked again with their output              |
| calls of ours and of the caller's      | ours are run, then the answer ends: the caller goes on with its results   |
| `length`, `content_filter`             | the answer ends; calls are not run, as their arguments may be cut         |
| a refusal: the key's budget is spent   | the answer ends as by `length`, but for the first round, which fails       |

Calls of one round run at the same time, and are reported one after the other. When the calls, the time or the tokens
are used up, the model is asked a last time without our tools (`tool_choice: "none"` where it has no others); what it
calls of ours then is ignored. Closing the generator cancels what runs.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from gateway.domain import Json, Relay, RequestStats
from gateway.errors import BudgetSpent
from gateway.services.completion.service import CompletionService
from gateway.services.hosted_tools.model_round import AskedCall, Round, RoundReader, ask
from gateway.services.hosted_tools.sources import Sources
from gateway.wire.chat.answer import summed_usage
from gateway.wire.hosted_answer import AnswerEnd, CallPhase, HostedCall, HostedEvent

_CALLS_AT_ONCE = 4
"""Calls of one round that run beside each other."""


class HostedTool:
    """One kind of hosted tool in one request. `phases`: those that are reported before a call runs. `loaded`: functions
    that are offered from the next round on."""

    kind: str = ""
    phases: tuple[str, ...] = ()
    loaded: Sequence[Json] = ()

    @property
    def guidance(self) -> str:
        """What the prompt says about its functions, beside their descriptions; read after `functions`."""
        return ""

    def opening(self, limit_s: float) -> AsyncGenerator[list[HostedEvent], None] | None:
        """What happens before the first round, such as listing a server's tools, within `limit_s` seconds; None for
        nothing. What takes longer fails as a call does. Raises GatewayError."""
        return None

    def functions(self, taken: Collection[str]) -> list[Json]:
        """The chat function tools that the model is offered, after `opening`; no name is among `taken`."""
        raise NotImplementedError

    def serves(self, name: str) -> bool:
        """Whether a function of this name is one of `functions`."""
        raise NotImplementedError

    def start(self, name: str, arguments: str) -> HostedCall:
        """A call as the model made it; `arguments` is what it wrote, which may be no JSON."""
        raise NotImplementedError

    async def run(self, call: HostedCall) -> None:
        """Run a call: sets `status` (`completed` or `failed`) and `output`. Raises no GatewayError."""
        raise NotImplementedError

    async def close(self) -> None:
        """The answer has ended, or nobody wants it any more. Never raises."""


Running: TypeAlias = tuple[HostedTool, HostedCall]


async def run_all(calls: Sequence[Running], limit_s: float) -> AsyncGenerator[list[HostedEvent], None]:
    """Run the calls at the same time, `limit_s` seconds at most; their phases are yielded in the order of the calls.

    Closing the generator cancels those that still run.
    """
    turns = asyncio.Semaphore(_CALLS_AT_ONCE)
    tasks = [asyncio.create_task(_run(tool, call, turns, limit_s)) for tool, call in calls]
    try:
        for (tool, call), task in zip(calls, tasks, strict=True):
            yield [CallPhase(call, phase) for phase in tool.phases]
            await task
            yield [CallPhase(call, call.status)]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


OUT_OF_TIME = "the time for tools in one answer is used up"
"""The error of a call, or of a list of tools, that was ended by the limit of the answer."""


async def _run(tool: HostedTool, call: HostedCall, turns: asyncio.Semaphore, limit_s: float) -> None:
    started_s = time.monotonic()
    try:
        async with asyncio.timeout(limit_s), turns:
            await tool.run(call)
    except TimeoutError:
        call.status, call.error = "failed", OUT_OF_TIME
        call.output = f"This call failed: {call.error}. Answer with what you know."
    call.ms = round((time.monotonic() - started_s) * 1000, 2)


_SHOWN_OF_ACTION = {"web_search": "type", "mcp_call": "server_label", "mcp_list_tools": "server_label"}
"""What of a call's action is the operator's or our own word, by kind; the rest is the model's."""


def note_calls(stats: RequestStats, batch: Sequence[HostedEvent]) -> None:
    """Add the calls that have ended to the steps of the request."""
    for call in (each.call for each in batch if isinstance(each, CallPhase) and each.phase in ("completed", "failed")):
        what = call.action.get(_SHOWN_OF_ACTION.get(call.kind, ""), "")
        stats.note(tool=f"{call.kind} {what}".rstrip(), ms=call.ms, status=call.status)


_NOT_RUN = "This call was not run: no more calls are possible in this answer. Answer with what you know."
_CUT = ("length", "content_filter")


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """Limits of one answer: `max_calls` of hosted tools, and `total_s` seconds that they may take together,
    with what they do before the first round."""

    max_calls: int = 10
    total_s: float = 60


@dataclass(frozen=True, slots=True)
class LoopRequest:
    """`body`: a checked chat body with the caller's own function tools. `forced`: the kind of hosted tool whose first
    function the model must call first, empty for none. `max_calls`: the caller's `max_tool_calls`. `relay`: the short
    way of its plain chunks (`wire.hosted_answer.translated`)."""

    body: Json
    forced: str = ""
    max_calls: int | None = None
    relay: Relay | None = None


class _CallBudget:
    """What the hosted calls of one answer may still take."""

    def __init__(self, limits: LoopLimits, max_calls: int | None) -> None:
        self.calls = limits.max_calls if max_calls is None else min(max_calls, limits.max_calls)
        self.seconds = limits.total_s

    @property
    def is_used_up(self) -> bool:
        return self.calls <= 0 or self.seconds <= 0

    @contextmanager
    def timing(self) -> Iterator[None]:
        """Takes the time of the block from `seconds`."""
        started_s = time.monotonic()
        try:
            yield
        finally:
            self.seconds -= time.monotonic() - started_s


class HostedLoop:
    """Runs one answer. `sources`: the pages that the tools show to the model."""

    def __init__(
        self, completions: CompletionService, tools: Sequence[HostedTool], sources: Sources, limits: LoopLimits
    ) -> None:
        self._completions = completions
        self._tools = tuple(tools)
        self._sources = sources
        self._limits = limits

    async def run(self, request: LoopRequest, stats: RequestStats) -> AsyncGenerator[list[HostedEvent], None]:
        """The events of the answer, the last one an `AnswerEnd`. Raises GatewayError, also after the first events."""
        try:
            async with aclosing(self._events(request, stats)) as events:
                async for batch in events:
                    yield batch
        finally:
            for tool in self._tools:
                await tool.close()

    async def _events(self, request: LoopRequest, stats: RequestStats) -> AsyncGenerator[list[HostedEvent], None]:
        budget = _CallBudget(self._limits, request.max_calls)
        for tool in self._tools:
            with budget.timing():
                if (opening := tool.opening(max(0.0, budget.seconds))) is not None:
                    async with aclosing(opening):
                        async for batch in opening:
                            note_calls(stats, batch)
                            yield batch
        talk = _Conversation(request, self._tools)
        sources = self._sources if is_prose(request.body) else None
        usage: Json = {}
        client_calls = rounds = 0
        while True:
            stats.note(round=rounds + 1)
            made = Round(lambda name: self._tool_of(name) is not None, client_calls)
            body = talk.next_body(usage, may_call=not budget.is_used_up)
            asked = ask(self._completions, body, stats, RoundReader(made, sources), request.relay)
            async with aclosing(asked) as round_events:
                try:
                    async for batch in round_events:
                        yield batch
                except BudgetSpent:
                    if not rounds:
                        raise
                    made.finish_reason = "length"  # what the rounds before have told stays, and was paid for
            usage, client_calls, rounds = summed_usage(usage, made.usage), made.client_calls, rounds + 1
            is_over = made.finish_reason in _CUT or not made.calls or budget.is_used_up
            if not is_over:
                running = self._started(made.calls, budget)
                with budget.timing():
                    async with aclosing(run_all(running, budget.seconds)) as phases:
                        async for batch in phases:
                            note_calls(stats, batch)
                            yield batch
                calls = [call for _, call in running]
                talk.add(made, calls)
                is_over = client_calls > 0 or any(call.ends_turn for call in calls)
                if not is_over and not talk.has_room(usage):
                    made.finish_reason, is_over = "length", True
            if is_over:
                yield [AnswerEnd(_reason(made, client_calls), usage, made.backend, made.identity)]
                return

    def _tool_of(self, name: str) -> HostedTool | None:
        return next((tool for tool in self._tools if tool.serves(name)), None)

    def _started(self, asked: Sequence[AskedCall], budget: _CallBudget) -> list[Running]:
        """The calls that the budget allows, in the model's order."""
        allowed = asked[: budget.calls]
        budget.calls -= len(allowed)
        tools = [(self._tool_of(each.name), each) for each in allowed]
        return [(tool, tool.start(each.name, each.arguments)) for tool, each in tools if tool is not None]


class _Conversation:
    """The chat bodies of the rounds."""

    def __init__(self, request: LoopRequest, tools: Sequence[HostedTool]) -> None:
        body, self._tools = request.body, tools
        self._theirs: list[Json] = list(body.get("tools") or ())
        taken = {str((tool.get("function") or tool).get("name")) for tool in self._theirs}
        self._ours: list[Json] = []
        forced: Json | None = None
        for tool in tools:
            functions = tool.functions(taken)
            taken |= {each["function"]["name"] for each in functions}
            self._ours += functions
            if tool.kind == request.forced and functions:
                forced = {"type": "function", "function": {"name": functions[0]["function"]["name"]}}
        dropped = ("tools", "tool_choice", "max_tokens", "max_completion_tokens")
        self._body = {name: value for name, value in body.items() if name not in dropped}
        self._forced = forced
        self._choice: Any = body.get("tool_choice")
        limits = [body[name] for name in dropped[2:] if body.get(name) is not None]
        self._max_tokens: int | None = min(limits) if limits else None
        self._messages = with_guidance(body["messages"], "\n\n".join(filter(None, (tool.guidance for tool in tools))))

    def next_body(self, usage: Json, *, may_call: bool) -> Json:
        """The body of the next round, after rounds with this usage. `may_call`: whether our tools may be called."""
        body = {**self._body, "messages": self._messages}
        theirs = [*self._theirs, *(function for tool in self._tools for function in tool.loaded)]
        if self._max_tokens is not None:
            body["max_tokens"] = max(1, self._max_tokens - int(usage.get("completion_tokens") or 0))
        if may_call:
            body["tools"] = [*theirs, *self._ours]
            body["tool_choice"] = self._forced or self._choice
        elif theirs:
            body["tools"], body["tool_choice"] = theirs, self._choice
        else:
            body["tools"], body["tool_choice"] = self._ours, "none"
        self._forced = self._choice = None  # a forced call was made: a second round must be free to answer
        return {name: value for name, value in body.items() if value is not None}

    def has_room(self, usage: Json) -> bool:
        """Whether the caller's limit of tokens allows a further round."""
        return self._max_tokens is None or int(usage.get("completion_tokens") or 0) < self._max_tokens

    def add(self, made: Round, calls: Sequence[HostedCall]) -> None:
        """A round that was read, and its hosted calls, of which only the first were run."""
        asked = [
            {"id": each.call_id, "type": "function", "function": {"name": each.name, "arguments": each.arguments}}
            for each in made.calls
        ]
        outputs = [call.output for call in calls] + [_NOT_RUN] * (len(made.calls) - len(calls))
        self._messages = [
            *self._messages,
            {"role": "assistant", "content": "".join(made.text) or None, "tool_calls": asked},
            *(
                {"role": "tool", "tool_call_id": each.call_id, "content": output}
                for each, output in zip(made.calls, outputs, strict=True)
            ),
        ]


def with_guidance(messages: Sequence[Json], text: str) -> list[Json]:
    """The messages with a text before the first system message's own, which is added where there is none."""
    if not text:
        return list(messages)
    first = messages[0] if messages else {}
    if first.get("role") not in ("system", "developer"):
        return [{"role": "system", "content": text}, *messages]
    content = first.get("content")
    joined = [{"type": "text", "text": text}, *content] if isinstance(content, list) else f"{text}\n\n{content or ''}"
    return [{**first, "content": joined}, *messages[1:]]


def is_prose(body: Json) -> bool:
    """Whether the answer is text that may cite, and no JSON."""
    return (body.get("response_format") or {}).get("type") in (None, "text")


def _reason(made: Round, client_calls: int) -> str | None:
    """Chat's finish reason of the answer; hosted calls do not count as the caller's calls."""
    return "stop" if made.finish_reason == "tool_calls" and not client_calls else made.finish_reason
