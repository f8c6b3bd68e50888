"""Hosted web search over real sockets: a scripted model, a scripted search provider, and a web site to open.

`Scene` is a gateway between them. The model is the scripted upstream, whose rounds are written with `text` and `call`;
the provider speaks SearXNG's format.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from gateway.embedded.servers import Embedded
from tests.support import upstream as up
from tests.support.asking import OFF, send, toml
from tests.support.gateways import Gateway, engine_at
from tests.support.talks import whole_chat
from tests.support.upstream import Script, Upstream, scripted_upstream
from tests.support.websites import Site, serving

RESULTS = [
    {"title": "Paris", "url": "https://a.example.com/paris", "content": "Paris is the capital of France."},
    {"title": "Lyon 里昂", "url": "https://b.example.org/lyon", "content": "Lyon is a city."},
    {"title": "Nice", "url": "https://a.example.com/nice", "content": "Nice is a city by the sea."},
]
SEARCH = {"type": "web_search"}

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Provider:
    """The search provider. `asked` holds the queries; `answer`, when set, answers instead of `results`."""

    def __init__(self) -> None:
        self.results: list[dict[str, Any]] = RESULTS
        self.asked: list[str] = []
        self.answer: Answer | None = None
        self.waiting = asyncio.Event()
        self.released = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("pageno", "1") != "1":
            return web.json_response({"query": "q", "results": []})
        self.asked.append(request.query.get("q", ""))
        if self.answer is not None:
            return await self.answer(request)
        return web.json_response({"query": "q", "results": self.results})

    async def silent(self, request: web.Request) -> web.StreamResponse:
        """Never answers; sets `released` when the gateway has let go."""
        self.waiting.set()
        try:
            await asyncio.sleep(30)
        finally:
            self.released.set()
        raise AssertionError("nobody cancelled the search")

    async def broken(self, request: web.Request) -> web.StreamResponse:
        return web.Response(status=500, text="broken")


@dataclass
class Scene:
    server: Gateway
    model: Upstream
    provider: Provider
    site: Site
    extra: list[Any] = field(default_factory=list)

    @property
    def sent(self) -> list[dict[str, Any]]:
        """The bodies that the model got."""
        return [seen.body for seen in self.model.seen]


@asynccontextmanager
async def scene(
    serve: Callable[..., Awaitable[Gateway]],
    more: str = "",
    fallback: Sequence[str] = (),
    embedded: bool = False,
    before: Sequence[Upstream] = (),
    **settings: Any,
) -> AsyncIterator[Scene]:
    """`embedded`: the model is the server of the embedded one. `before`: upstreams that are asked first."""
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(scripted_upstream())
        provider, site, engine = Provider(), Site(), Site()
        engine.pages["/search"] = provider.handle
        await stack.enter_async_context(serving(engine))
        await stack.enter_async_context(serving(site))
        tables = (
            f"\n[search]\nprovider = 'searxng'\nbase_url = '{engine.url}'\nfallback = {list(fallback)}\n"
            "timeout_s = 2\ncache_ttl_s = 0\n"
            f"[web]\nallow_private = ['{site.address}', '{engine.address}']\nrespect_robots = false\n"
            "[guardrail]\nenabled = 'off'\n"
        )
        llm = engine_at(model.url, "embedded-llm") if embedded else None
        weighed = toml(*before, model, **settings).replace(OFF, f"\n  weight = {int(not before)}{OFF}")
        server = await serve((toml() if embedded else weighed) + tables + more, Embedded(llm=llm))
        yield Scene(server, model, provider, site)


# --- rounds of the model ---------------------------------------------------------------------------------------------


def call(name: str, call_id: str = "c1", index: int = 0, **arguments: Any) -> dict[str, Any]:
    """One whole tool call."""
    return {"index": index, **up.called(name, json.dumps(arguments), call_id)}


def search(query: str = "capital of France", call_id: str = "c1", index: int = 0) -> dict[str, Any]:
    return call("web_search", call_id, index, query=query)


def round_of(
    *parts: str | dict[str, Any], finish: str | None = None, usage: dict[str, int] | None = None, is_stream: bool = True
) -> Script:
    """A round: texts and calls in order, streamed (each part a write of its own) or whole."""
    calls = [part for part in parts if isinstance(part, dict)]
    reason = finish or ("tool_calls" if calls else "stop")
    counts = usage or dict(up.USAGE)
    if not is_stream:
        text = "".join(part for part in parts if isinstance(part, str))
        whole = [{name: value for name, value in each.items() if name != "index"} for each in calls]
        answer = up.completion(text or None, reason, **({"tool_calls": whole} if whole else {}))
        return up.answer({**answer, "usage": counts})
    pieces = [up.chunk({"role": "assistant", "content": ""})]
    for part in parts:
        pieces += cut_in_two(part) if isinstance(part, dict) else [up.chunk({"content": part})]
    last = up.frame({**orjson.loads(up.usage_chunk()[6:]), "usage": counts})
    return up.stream(*pieces, up.chunk({}, reason), last, up.DONE)


def cut_in_two(call: dict[str, Any]) -> list[bytes]:
    return up.call_chunks(call, len(call["function"]["arguments"]) // 2 + 1, call["index"])


# --- asking ----------------------------------------------------------------------------------------------------------


async def post(scene: Scene, path: str, body: dict[str, Any], key: str = "") -> tuple[int, Any]:
    status, answer, _ = await send(scene.server, path, body, key=key)
    return status, answer


async def respond(scene: Scene, *, stream: bool = True, **body: Any) -> Any:
    """The final response object of a request with web search; its events in `scene.extra` where it was streamed."""
    asked = {"model": "SvcLLM", "input": "What is the capital of France?", "tools": [SEARCH], "stream": stream, **body}
    status, answer = await post(scene, "/v1/responses", asked)
    assert status == 200, answer
    if not stream:
        return answer
    scene.extra = answer
    return answer[-1]["response"]


async def chat(scene: Scene, *, stream: bool = True, **body: Any) -> Any:
    """The message of a chat answer with web search: `{content, annotations, tool_calls, finish_reason, usage}`."""
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    asked = {"model": "SvcLLM", "messages": messages, "web_search_options": {}, "stream": stream, **body}
    if stream:
        asked["stream_options"] = {"include_usage": True}
    status, answer = await post(scene, "/v1/chat/completions", asked)
    assert status == 200, answer
    if stream:
        scene.extra = answer
        answer = whole_chat(answer)
    choice = answer["choices"][0]
    return {**choice["message"], "finish_reason": choice["finish_reason"], "usage": answer["usage"]}


def message_of(response: Any) -> Any:
    """The text part of a response's last message."""
    return [item for item in response["output"] if item["type"] == "message"][-1]["content"][0]


def visible(part: Any) -> list[tuple[str, str]]:
    """`(visible link, url)` of every citation of a text part."""
    return [(part["text"][each["start_index"] : each["end_index"]], each["url"]) for each in part["annotations"]]
