"""The loop of hosted tools without sockets: a model that plays its rounds, a web of two pages, a server of one tool."""

import json
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Literal, cast

from gateway.domain import Event, EventBatch, Json, Relay, RequestStats
from gateway.errors import GatewayError
from gateway.services.completion.service import CompletionService
from gateway.services.hosted_tools.loop import HostedLoop, HostedTool, LoopLimits, LoopRequest
from gateway.services.hosted_tools.search_options import SearchOptions
from gateway.services.hosted_tools.sources import Sources
from gateway.services.hosted_tools.web_calls import WebCalls
from gateway.services.hosted_tools.web_search import WebSearchTool
from gateway.services.websearch.tool_runner import ToolCaller
from gateway.services.websearch.tools import tool_table
from gateway.texts import TextUnit
from gateway.wire.chat.kept import NO_CARRIER, Carrier
from gateway.wire.hosted_answer import CallPhase, HostedCall, HostedEvent, TextPiece

PARIS, LYON = "https://a.example.com/paris", "https://b.example.org/lyon"
RESULTS = [
    {"title": "Paris", "url": PARIS, "content": "Paris is the capital."},
    {"title": "Lyon", "url": LYON, "content": "Lyon is a city."},
]
Part = str | Json | GatewayError


def call(name: str, call_id: str = "c1", **arguments: Any) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


class ScriptedModel:
    """Stands for the completion service. A round is a list of texts and calls, or an error that it raises."""

    def __init__(self, *rounds: Sequence[Part], tokens: int = 2, finish: str = "") -> None:
        self._rounds = deque(rounds)
        self._finish = finish
        self._usage = {"prompt_tokens": 3, "completion_tokens": tokens, "total_tokens": 3 + tokens}
        self.asked: list[Json] = []

    @property
    def service(self) -> CompletionService:
        return cast(CompletionService, self)

    def carrier(self, owner: str, stats: RequestStats) -> Carrier:
        return NO_CARRIER

    def _next(self, body: Json) -> tuple[str, list[Json], str]:
        self.asked.append(body)
        parts = self._rounds.popleft()
        for part in parts:
            if isinstance(part, GatewayError):
                raise part
        calls = [part for part in parts if isinstance(part, dict)]
        text = "".join(part for part in parts if isinstance(part, str))
        return text, calls, self._finish or ("tool_calls" if calls else "stop")

    async def complete(self, body: Json, stats: RequestStats) -> Json:
        text, calls, finish = self._next(body)
        message = {"role": "assistant", "content": text or None, "tool_calls": calls}
        choice = {"index": 0, "message": message, "finish_reason": finish, "provider_specific_fields": {"attempts": 1}}
        return {"id": "c", "created": 1, "model": "SvcLLM", "choices": [choice], "usage": self._usage}

    async def stream(
        self, body: Json, stats: RequestStats, *, relay: Relay | None = None
    ) -> AsyncGenerator[EventBatch, None]:
        text, calls, finish = self._next(body)
        deltas: list[Json] = [{"content": letter} for letter in text]
        for index, each in enumerate(calls):
            head = {**each, "index": index, "function": {**each["function"], "arguments": ""}}
            rest = {"index": index, "function": {"arguments": each["function"]["arguments"]}}
            deltas += [{"tool_calls": [head]}, {"tool_calls": [rest]}]
        for delta in deltas:
            yield [chunk({"index": 0, "delta": delta, "finish_reason": None})]
        yield [chunk({"index": 0, "delta": {}, "finish_reason": finish, "provider_specific_fields": {"attempts": 1}})]
        yield [Event.from_data({"model": "SvcLLM", "choices": [], "usage": self._usage})]


def chunk(choice: Json) -> Event:
    return Event.from_data({"id": "c", "model": "SvcLLM", "choices": [choice]})


class ScriptedWeb:
    """The service behind the web tools. `fails`: raised by the next calls. `asked`: requests, in order."""

    def __init__(self) -> None:
        self.results: list[Json] = [dict(each) for each in RESULTS]
        self.page = "Paris has two million inhabitants.\n\nIt lies on the Seine."
        self.final_url = ""
        self.fails: GatewayError | None = None
        self.asked: list[Any] = []
        self.charged: list[str] = []
        self.secret = ""

    async def search(self, request: Any, call: Any) -> Json:
        return self._answer(request, {"query": request.query, "results": self.results, "images": []})

    async def extract(self, request: Any, call: Any) -> Json:
        page = {"url": request.urls[0], "title": "Paris", "raw_content": self.page}
        return self._answer(
            request, {"results": [{**page, "final_url": self.final_url or page["url"]}], "failed_results": []}
        )

    async def crawl(self, request: Any, call: Any) -> Json:
        raise AssertionError("nobody crawls")

    map = status = crawl

    def _answer(self, request: Any, data: Json) -> Json:
        self.asked.append(request)
        if self.fails is not None:
            raise self.fails
        return data

    async def charge(self, tool: str) -> None:
        self.charged.append(tool)

    async def clean(self, unit: TextUnit, direction: Literal["requests", "responses"]) -> None:
        for slot in unit.slots:
            if self.secret and self.secret in slot.text:
                slot.text = slot.text.replace(self.secret, "[MASKED]")

    @property
    def caller(self) -> ToolCaller:
        return ToolCaller("key1", "req_1", self.charge, self.clean)

    def calls(self) -> WebCalls:
        return WebCalls(tool_table(cast(Any, self)), self.caller)

    def tool(self, sources: Sources, options: SearchOptions | None = None, texts: Sequence[str] = ()) -> WebSearchTool:
        settings = {"low": 3, "medium": 5, "high": 10}
        return WebSearchTool(self.calls(), options or SearchOptions(), settings, sources, texts)


async def play(
    model: ScriptedModel,
    tools: Sequence[HostedTool],
    sources: Sources,
    request: LoopRequest | None = None,
    limits: LoopLimits | None = None,
) -> list[HostedEvent]:
    """All events of an answer."""
    body = {"model": "SvcLLM", "messages": [{"role": "user", "content": "capital of France?"}]}
    loop = HostedLoop(model.service, tools, sources, limits or LoopLimits())
    async with aclosing(loop.run(request or LoopRequest(body), RequestStats())) as batches:
        return [event async for batch in batches for event in batch]


def text_of(events: Sequence[HostedEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextPiece))


def calls_of(events: Sequence[HostedEvent]) -> list[HostedCall]:
    """The calls that have ended, in their order."""
    return [e.call for e in events if isinstance(e, CallPhase) and e.phase in ("completed", "failed")]
