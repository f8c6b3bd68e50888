"""The doors: each way in which work is asked for, behind one interface, so that a promise is written once for all.

    async with door.opened(stage, key) as way:
        told = await way.ask("write to jane@posthaus.org")      # one request, turn, run or call
        told.status, told.text, told.arguments, told.error
        told = await way.again(told)                            # the next one on the same connection, or the next poll

`Stage` is a gateway between a scripted model, a scripted search provider and whoever asks; `Play` says what the two do.
"""

import asyncio
import contextlib
import io
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import aiohttp
import orjson
from aiohttp import web

from gateway.access.keys import KeyFile
from gateway.access.usage import read_usage
from gateway.shared_state.sqlite_state import STATE_FILE
from tests.support import upstream as up
from tests.support.asking import CHAT, MCP, MESSAGES, RESPONSES, events_of, send, toml
from tests.support.gateways import Gateway, Serve
from tests.support.hosted_search import SEARCH, Provider, search
from tests.support.pieces import pieces_of
from tests.support.sockets import ENDS, Socket, opened
from tests.support.upstream import Exchange, Upstream, scripted_upstream
from tests.support.waiting import until
from tests.support.web_tools import tool_call
from tests.support.websites import Site, serving

LIMIT_S = 10
SCOPES = ("chat", "responses", "web-search")
NOBODY = "gw_nobody99_0123456789012345678901234567890123456789012"
LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""The fields that bound an answer, on whatever route."""
_UNFINISHED = ("queued", "in_progress")


# --- the stage -------------------------------------------------------------------------------------------------------


@dataclass(repr=False)
class Play:
    """What the model and the search provider do.

    `says`: the text of an answer, made of the texts that came, a line each. `fills`: it says as many tokens as the
    request allows instead. `searches`: the query of its hosted search, made of the last text. `calls`: the arguments of
    a call of the tool `send` instead of an answer. `fails`: an answer of this status instead. `counts`: the usage of an
    answer, made of the request's body; `spent`: the tokens of all answers. `holds`: nothing more is said before `go_on`
    is set, and where it `is_mute` nothing at all; `released`: the gateway has let go meanwhile.
    """

    says: Callable[[str], str] = lambda text: f"You said: {text}"
    fills: bool = False
    searches: Callable[[str], str] = str
    calls: Callable[[str], str] | None = None
    fails: int = 0
    holds: bool = False
    is_mute: bool = False
    counts: Callable[[Any], dict[str, int]] = lambda body: dict(up.USAGE)
    spent: int = 0
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def model(self, exchange: Exchange) -> None:
        """A scripted model that speaks chat, and responses and messages where it is asked so."""
        body = exchange.seen.body
        if exchange.seen.path.endswith("/responses"):
            await self._respond(exchange)
            return
        last = body["messages"][-1]
        is_hosted = any(tool.get("function", {}).get("name") == "web_search" for tool in body.get("tools") or ())
        if is_hosted and last["role"] != "tool":
            if self.fails:
                await up.answer({"error": {"message": "broken"}}, status=self.fails)(exchange)
            else:
                await self._answer(exchange, None, search(self.searches(_text_of(last))))
            return
        if not is_hosted:
            await self._wait(exchange)
        if self.fails:
            await up.answer({"error": {"message": "broken"}}, status=self.fails)(exchange)
            return
        text = "\n".join(_text_of(message) for message in body["messages"] if message["role"] in ("user", "assistant"))
        text = text.strip()
        if self.calls is not None:
            await self._answer(exchange, None, {"index": 0, **up.called("send", self.calls(text))})
        elif self.fills:
            await self._answer(exchange, "word" * max(body.get(name, 0) for name in LIMITS))
        else:
            await self._answer(exchange, self.says(text))

    async def _wait(self, exchange: Exchange) -> None:
        self.arrived.set()
        if not self.holds:
            return
        if exchange.seen.body.get("stream") and not self.is_mute:
            await exchange.stream_head()
            begin = up.chunk({"role": "assistant", "content": "begin "})
            await exchange.piece(up.message_stream(up.message())[0] if _is_messages(exchange) else begin)
        gone, going = asyncio.ensure_future(exchange.gone(30)), asyncio.ensure_future(self.go_on.wait())
        try:
            await asyncio.wait({gone, going}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if gone.done():
                self.released.set()
            gone.cancel()
            going.cancel()
            await asyncio.wait({gone, going})

    async def _answer(self, exchange: Exchange, text: str | None, call: dict[str, Any] | None = None) -> None:
        reason, usage = "tool_calls" if call else "stop", self.counts(exchange.seen.body)
        if self.fills:
            usage = used(1, len(text or "") // 4)
        self.spent += usage["total_tokens"]
        if _is_messages(exchange):
            await self._message(exchange, text, call, usage)
            return
        if not exchange.seen.body.get("stream"):
            whole = [{name: value for name, value in call.items() if name != "index"}] if call else None
            data = up.completion(text, reason, **({"tool_calls": whole} if whole else {}))
            await up.answer({**data, "usage": usage})(exchange)
            return
        pieces = [up.chunk({"role": "assistant", "content": ""})]
        pieces += [up.chunk({"content": piece}) for piece in _cut(text or "")]
        pieces += up.call_chunks(call, _size(call["function"]["arguments"])) if call else []
        counts = orjson.loads(up.usage_chunk()[6:]) | {"usage": usage}
        pieces += [up.chunk({}, reason), up.frame(counts), up.DONE]
        if exchange.sent_bytes == 0:
            await exchange.stream_head()
        for piece in pieces:
            await exchange.piece(piece)
        await exchange.finish()

    async def _message(
        self, exchange: Exchange, text: str | None, call: dict[str, Any] | None, usage: dict[str, int]
    ) -> None:
        """An answer in Anthropic's form."""
        block: Any = text or ""
        if call is not None:
            given = orjson.loads(call["function"]["arguments"])
            block = {"type": "tool_use", "id": "call_1", "name": "send", "input": given}
        counts = {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]}
        message = up.message(block, stop="end_turn" if call is None else "tool_use", usage=counts)
        if not exchange.seen.body.get("stream"):
            await up.answer(message)(exchange)
            return
        events = up.message_stream(message, _size(text or ""))
        if exchange.sent_bytes == 0:
            await exchange.stream_head()
        else:
            events.pop(0)
        for event in events:
            await exchange.piece(event)
        await exchange.finish()

    async def _respond(self, exchange: Exchange) -> None:
        body = exchange.seen.body
        whole = up.response(self.says("\n".join(_text_of(item) for item in body["input"] if "content" in item)))
        await (up.stream(*up.response_stream(whole)) if body.get("stream") else up.answer(whole))(exchange)

    async def provider(self, request: web.Request) -> web.StreamResponse:
        """A scripted search provider."""
        self.arrived.set()
        if self.holds:
            try:
                await self.go_on.wait()
            except asyncio.CancelledError:
                self.released.set()
                raise
        if self.fails:
            return web.Response(status=self.fails, text="broken")
        query = request.query.get("q", "")
        found = {"title": "Found", "url": "https://a.example.com/found", "content": self.says(query)}
        return web.json_response({"query": query, "results": [found]})


def _is_messages(exchange: Exchange) -> bool:
    return exchange.seen.path.endswith(MESSAGES)


def used(prompt: int, completion: int) -> dict[str, int]:
    """The usage of a chat answer."""
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _text_of(message: Any) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


def _size(text: str) -> int:
    """Pieces of four characters, or some dozens of larger ones: placeholders are cut within."""
    return max(4, len(text) // 40)


def _cut(text: str) -> list[str]:
    return pieces_of(text, _size(text))


@dataclass(repr=False)
class Stage:
    """A gateway between what is scripted and who asks."""

    server: Gateway
    model: Upstream
    search: Provider
    play: Play = field(default_factory=Play)

    def will(self, play: Play) -> Play:
        """From now on the model and the provider do this."""
        self.play = play
        self.model.will(play.model)
        self.search.answer = play.provider
        return play

    def left(self) -> str:
        """All that has left the gateway for a model or a provider."""
        return str([seen.body for seen in self.model.seen]) + str(self.search.asked)

    def asked(self) -> int:
        """How often a model or a provider was asked."""
        return len(self.model.seen) + len(self.search.asked)

    def make_key(self, *scopes: str, **limits: Any) -> str:
        """A new key, by default with the scopes that every door needs."""
        return self.server.make_key(*(scopes or SCOPES), **limits)

    async def change_key(self, key: str, **fields: Any) -> None:
        """Change properties of a key; the server has read them when this returns."""
        self._keys.edit(key.split("_")[1], fields)
        await self._is_read()

    async def rotate(self, key: str) -> str:
        """A second key with the rights of one; the server knows it when this returns."""
        made = self._keys.rotate(key.split("_")[1])[0]
        await self._is_read()
        return made

    async def revoke(self, key: str) -> None:
        """Take a key away; the server knows it when this returns."""
        self._keys.revoke(key.split("_")[1])
        await self._is_read()

    async def _is_read(self) -> None:
        """A key that nobody has makes the server read its file at once."""
        assert (await send(self.server, "/v1/models", method="GET", key=NOBODY))[0] == 401

    @property
    def _keys(self) -> KeyFile:
        return KeyFile(self.server.config.state_dir / self.server.config.access.keys_file)

    async def work(self, key: str) -> list[Any]:
        """The log lines of a key's calls that asked for work, once nothing runs; those of runs where there are any."""
        await until(lambda: not len(self.server.in_flight), LIMIT_S)
        return self.runs(key) or self._lines(key)

    def runs(self, key: str) -> list[Any]:
        """The log lines of a key's background runs."""
        return [line for line in self._lines(key) if line["endpoint"] == "background"]

    def _lines(self, key: str) -> list[Any]:
        told = [orjson.loads(line) for line in self.server.log_text().splitlines()]
        lines = [line for line in told if line["event"] == "request"]
        return [line for line in lines if line.get("key") == key.split("_")[1] and line["method"] != "GET"]

    async def ask(self, method: str, path: str, body: Any = None, key: str = "") -> tuple[int, Any]:
        """Status and answer of a request beside the doors."""
        status, answer, _ = await send(self.server, path, body, method=method, key=key)
        return status, answer

    def on_disk(self) -> bytes:
        """All that the gateway has written."""
        return b"".join(path.read_bytes() for path in self.server.config.state_dir.rglob("*") if path.is_file())

    def later(self, seconds: float) -> None:
        """Let so much time pass for all that is stored."""
        with self._state() as state:
            state.execute("UPDATE entries SET expires = expires - ?", (seconds,))

    @contextlib.contextmanager
    def full_disk(self) -> Iterator[None]:
        """Nothing more is written to the stores of responses and conversations in this block."""
        with self._state() as state:
            refusal = "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
            state.execute(f"CREATE TRIGGER full BEFORE INSERT ON entries {refusal}")
        try:
            yield
        finally:
            with self._state() as state:
                state.execute("DROP TRIGGER full")

    @contextlib.contextmanager
    def _state(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self.server.config.state_dir / STATE_FILE, timeout=LIMIT_S, isolation_level=None)
        try:
            yield connection
        finally:
            connection.close()

    async def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's series that have these labels."""
        _, text, _ = await send(self.server, self.server.ops_url + "/metrics", method="GET")
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        lines = [line for line in text.splitlines() if line.split("{")[0].split(" ")[0] == name]
        return sum(float(line.split(" ")[-1]) for line in lines if all(each in line for each in wanted))

    async def usage(self, key: str) -> list[Any]:
        """The rows of the usage book for a key; the gateway is closed then."""
        await self.server.listener.close()
        rows = read_usage(self.server.config.state_dir / STATE_FILE, "2000-01-01", ["key", "model", "tool"])
        return [row for row in rows if row["key"] == key.split("_")[1]]


@asynccontextmanager
async def staged(serve: Serve, more: str = "", server: str = "", **settings: Any) -> AsyncIterator[Stage]:
    """A stage whose gateway has `more` configuration, and these lines of the table `server`; `settings` are those of
    the model's upstream."""
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(scripted_upstream())
        provider, engine = Provider(), Site()
        engine.pages["/search"] = provider.handle
        await stack.enter_async_context(serving(engine))
        tables = (
            f"\n[search]\nprovider = 'searxng'\nbase_url = '{engine.url}'\nfallback = []\ntimeout_s = 8\n"
            f"cache_ttl_s = 0\n[web]\nallow_private = ['{engine.address}']\n[guardrail]\nenabled = 'off'\n"
        )
        own = toml(model, **settings).replace("[server]", f"[server]\n{server}", 1)
        tables += _native(model, settings)
        stage = Stage(await serve(own + tables + more), model, provider)
        stage.will(Play())
        yield stage


def _native(model: Upstream, settings: dict[str, Any]) -> str:
    """The table of the model `Native`, the same upstream in its own words."""
    text = toml(model, **{**settings, "messages": "'native'"})
    table = text[text.index("[[models]]") : text.index("[local_llm]")]
    return table.replace("name = 'SvcLLM'\naliases = ['assistant']", "name = 'Native'")


# --- what is told ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """What a client saw of one call. `status`: of the answer, or the one that a socket's error event names. `error`:
    the error object of the interface, None for a good end. `shown`: everything, as text. `answer`: the decoded answer,
    or the response that a stream's last event holds."""

    status: int
    shown: str
    text: str = ""
    arguments: tuple[str, ...] = ()
    error: Any = None
    answer: Any = None
    events: tuple[Any, ...] = ()

    @property
    def id(self) -> str:
        """Of the response."""
        return str(self.answer["id"])


_SEND = {"name": "send", "parameters": {"type": "object", "properties": {"to": {"type": "string"}}}}
TOOLS: dict[str, Any] = {
    CHAT: {"type": "function", "function": _SEND},
    RESPONSES: {"type": "function", **_SEND},
    MESSAGES: {"name": "send", "input_schema": _SEND["parameters"]},
}


def body_for(path: str, text: str = "hello", **more: Any) -> dict[str, Any]:
    """A body of one of the three routes of models that says a text, or a search for it."""
    if path == MCP:
        return tool_call("search", {"query": text, **more})
    if path == RESPONSES:
        return {"model": "SvcLLM", "input": text, **more}
    limit = {"max_tokens": 100} if path == MESSAGES else {}
    return {"model": "SvcLLM", "messages": [{"role": "user", "content": text}], **limit, **more}


async def told_by(server: Gateway, path: str, text: str = "hello", **more: Any) -> "Told":
    """What one of the routes answers, whole or streamed. `more`: fields of the body."""
    status, answer, _ = await send(server, path, body_for(path, text, **more))
    shown = orjson.dumps(answer).decode()
    return (told_of_events if isinstance(answer, list) else told_of_answer)(status, answer, shown)


class Way:
    """One connection with a key: requests of one route over one client session. `begun`: the ids of background runs."""

    def __init__(self, stage: Stage, session: aiohttp.ClientSession, path: str, fields: dict[str, Any]) -> None:
        self._session, self._path, self._fields = session, path, fields
        self._url = stage.server.url
        self.begun: list[str] = []

    async def ask(self, text: str = "hello", **more: Any) -> Told:
        """One call to its end. `more`: fields of the body."""
        return await self.request("POST", self._path, self.raw(text, **more))

    async def again(self, told: Told) -> Told:
        """What this door does next after `told`: another turn or call, or another look at the run."""
        return await self.ask("again")

    def raw(self, text: str = "hello", **more: Any) -> bytes:
        """The body or message of a call."""
        return orjson.dumps(body_for(self._path, text, **{**self._fields, **more}))

    async def send(self, raw: bytes) -> None:
        """Send a body or message; a socket does not wait for what comes back."""
        await self.refused(raw)

    async def refused(self, raw: bytes) -> int:
        """The status of a body or message that is refused, or the code with which the connection is closed instead."""
        async with asyncio.timeout(LIMIT_S), self._posted(raw) as answer:
            await answer.read()
            return answer.status

    def _posted(self, raw: bytes) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        headers = {"Content-Type": "application/json"}
        return self._session.post(self._url + self._path, data=io.BytesIO(raw), headers=headers)

    async def request(self, method: str, path: str, body: bytes | None = None) -> Told:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        asked = self._session.request(method, self._url + path, data=body, headers=headers)
        async with asyncio.timeout(LIMIT_S), asked as answer:
            raw = await answer.read()
            if answer.content_type == "text/event-stream":
                return told_of_events(answer.status, events_of(raw), raw.decode())
            return told_of_answer(answer.status, orjson.loads(raw), raw.decode())


class SocketWay(Way):
    """Turns on one socket."""

    def __init__(self, socket: Socket) -> None:
        self.socket = socket
        self.begun = []

    async def ask(self, text: str = "hello", **more: Any) -> Told:
        events: list[Any] = []
        async with asyncio.timeout(LIMIT_S):
            await self.socket.create(**{"input": text, **more})
            while not events or (events[-1] is not None and events[-1]["type"] not in ENDS):
                events.append(await self.socket.event())
        seen = [event for event in events if event is not None]
        status = 0 if not seen else seen[-1].get("status") or 200
        return told_of_events(status, seen, orjson.dumps(events).decode())

    def raw(self, text: str = "hello", **more: Any) -> bytes:
        return orjson.dumps({"type": "response.create", "model": "SvcLLM", "input": text, **more})

    async def send(self, raw: bytes) -> None:
        await self.socket.raw.send_str(raw.decode())

    async def refused(self, raw: bytes) -> int:
        await self.send(raw)
        event = await self.socket.event()
        return int(event["status"]) if event is not None else int(self.socket.raw.close_code or 0)


class RunWay(Way):
    """Background runs: `how` is `live`, `resumed` or `polled`."""

    def __init__(self, stage: Stage, session: aiohttp.ClientSession, how: str) -> None:
        super().__init__(stage, session, RESPONSES, {"background": True, "stream": how != "polled"})
        self._how = how

    async def ask(self, text: str = "hello", **more: Any) -> Told:
        begun = await self.begin(text, **more)
        if begun.answer and "id" in begun.answer:
            self.begun.append(begun.id)
        return begun if begun.status != 200 or self._how == "live" else await self.look(begun.id)

    async def again(self, told: Told) -> Told:
        return await self.ask("again") if self._how == "live" else await self.look(told.id)

    async def begin(self, text: str = "hello", **more: Any) -> Told:
        """The run to where its door leaves it: queued, its first event, or its end."""
        body = self.raw(text, **more)
        if self._how != "resumed":
            return await self.request("POST", RESPONSES, body)
        async with asyncio.timeout(LIMIT_S), self._posted(body) as answer:
            if answer.status != 200:
                raw = await answer.read()
                return told_of_answer(answer.status, orjson.loads(raw), raw.decode())
            async for line in answer.content:
                if line.startswith(b"data: {"):
                    event = orjson.loads(line[6:])
                    return Told(200, line.decode(), answer=event["response"], events=(event,))
        raise AssertionError("the stream had no event")

    async def look(self, response_id: str) -> Told:
        """The run, to its end."""
        path = f"{RESPONSES}/{response_id}"
        if self._how == "resumed":
            return await self.request("GET", f"{path}?stream=true&starting_after=0")
        async with asyncio.timeout(LIMIT_S):
            while True:
                told = await self.request("GET", path)
                if told.status != 200 or told.answer["status"] not in _UNFINISHED:
                    return told
                await asyncio.sleep(0.02)


@dataclass(frozen=True)
class Door:
    """A way in. `name`: of its column. `fields`: what each body has. `scope`: without which a key may not ask here.
    `fails_by`: where an early failure is told, `status`, `response` or `result`. `how`: of a background run."""

    name: str
    path: str = RESPONSES
    fields: dict[str, Any] = field(default_factory=dict)
    scope: str = "responses"
    fails_by: str = "status"
    how: str = ""

    @property
    def tool(self) -> Any:
        """The caller's own tool as this interface declares it."""
        return TOOLS.get(self.path)

    @property
    def limit(self) -> str:
        """The field that bounds an answer; empty where a call has no tokens."""
        return {RESPONSES: "max_output_tokens", MCP: ""}.get(self.path, "max_tokens")

    @asynccontextmanager
    async def opened(self, stage: Stage, key: str = "") -> AsyncIterator[Way]:
        """A connection."""
        if self is SOCKET:
            async with opened(stage.server, key) as socket:
                yield SocketWay(socket)
            return
        headers = {"Authorization": f"Bearer {key or stage.server.key}"}
        headers |= {"Accept": "application/json"} if self.path == MCP else {}
        async with aiohttp.ClientSession(headers=headers) as session:
            yield RunWay(stage, session, self.how) if self.how else Way(stage, session, self.path, self.fields)


def _run(how: str) -> Door:
    return Door(f"background {how}", fails_by="response", how=how)


WHOLE, STREAMED, SOCKET = Door("whole"), Door("streamed", fields={"stream": True}), Door("socket")
HOSTED = Door("hosted", fields={"stream": True, "tools": [SEARCH]}, scope="web-search")
TOOL = Door("mcp", MCP, scope="web-search", fails_by="result")
LIVE, RESUMED, POLLED = map(_run, ("live", "resumed", "polled"))
DOORS = (WHOLE, STREAMED, SOCKET, LIVE, RESUMED, POLLED, HOSTED, TOOL)
"""The columns of the table."""
ROUTES = (
    Door("chat whole", CHAT, {}, "chat"), Door("chat streamed", CHAT, {"stream": True}, "chat"),
    Door("messages whole", MESSAGES, {}, "chat"), Door("messages streamed", MESSAGES, {"stream": True}, "chat"),
    Door("native messages whole", MESSAGES, {"model": "Native"}, "chat"),
    Door("native messages streamed", MESSAGES, {"model": "Native", "stream": True}, "chat"),
)  # fmt: skip
"""Further columns where a route matters."""


async def unfinished(stage: Stage, door: Door, key: str, more: bytes = b"") -> bytes:
    """What is answered to a body or message whose end never comes, to the end of the connection. `more`: frames that
    follow its first on a socket."""
    reader, writer = await asyncio.open_connection("127.0.0.1", stage.server.port)
    lines = [f"{'GET' if door is SOCKET else 'POST'} {door.path} HTTP/1.1", "Host: x", f"Authorization: Bearer {key}"]
    if door is SOCKET:
        lines += ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
        lines += ["Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="]
    else:
        lines += ["Content-Type: application/json", "Content-Length: 100"]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    try:
        if door is SOCKET:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"\x01\x81\0\0\0\0{" + more)  # a masked frame of text, after which more is to come
        else:
            writer.write(b"{")
        return await reader.read()
    finally:
        writer.close()


def told_of_answer(status: int, data: Any, shown: str) -> Told:
    """A whole answer of any route, or of a call of a tool."""
    if "result" in data:
        found = orjson.loads(data["result"]["content"][0]["text"])["data"]
        said = "".join(each["content"] for each in found.get("results", ()))
        return Told(status, shown, said, error=found.get("error"), answer=data)
    error = data.get("error")
    if status != 200 or error:
        return Told(status, shown, error=error, answer=data)
    if "choices" in data:
        message = data["choices"][0]["message"]
        calls = tuple(call["function"]["arguments"] for call in message.get("tool_calls") or ())
        return Told(status, shown, message["content"] or "", calls, answer=data)
    if data.get("type") == "message":
        calls = tuple(orjson.dumps(part["input"]).decode() for part in data["content"] if part["type"] == "tool_use")
        return Told(status, shown, "".join(part.get("text", "") for part in data["content"]), calls, answer=data)
    return Told(status, shown, *_said_in(data.get("output", ())), answer=data)


def _said_in(output: Any) -> tuple[str, tuple[str, ...]]:
    """The text and the arguments of the caller's calls of a response's items."""
    texts = [part["text"] for item in output if item["type"] == "message" for part in item["content"]]
    return "".join(texts), tuple(item["arguments"] for item in output if item["type"] == "function_call")


def told_of_events(status: int, events: list[Any], shown: str) -> Told:
    """A stream of any route: its text and arguments are those of its deltas."""
    texts, arguments = [], dict[int, str]()
    told = Told(status, shown, events=tuple(events))
    for event in events:
        kind = event.get("type", "chat")
        if event.get("error") or kind in ("error", "response.failed"):
            told = replace(told, error=event.get("error") or event["response"]["error"], answer=event.get("response"))
        elif kind == "chat":
            for choice in event["choices"]:
                texts.append(choice["delta"].get("content") or "")
                for call in choice["delta"].get("tool_calls") or ():
                    at = call["index"]
                    arguments[at] = arguments.get(at, "") + (call["function"].get("arguments") or "")
        elif kind == "response.output_text.delta":
            texts.append(event["delta"])
        elif kind == "content_block_delta":
            texts.append(event["delta"].get("text", ""))
            at, piece = event["index"], event["delta"].get("partial_json")
            if piece is not None:
                arguments[at] = arguments.get(at, "") + piece
        elif kind == "response.function_call_arguments.delta":
            at = event["output_index"]
            arguments[at] = arguments.get(at, "") + event["delta"]
        if "response" in event and told.error is None:
            told = replace(told, answer=event["response"])
    return replace(told, text="".join(texts), arguments=tuple(arguments.values()))


@contextlib.asynccontextmanager
async def asking(way: Way, play: Play, text: str = "hello", **more: Any) -> AsyncIterator[asyncio.Task[Told]]:
    """A call that has reached what is scripted, for what happens meanwhile; it is left where it still runs."""
    task = asyncio.create_task(way.ask(text, **more))
    try:
        arrived = asyncio.create_task(play.arrived.wait())
        await asyncio.wait({arrived, task}, timeout=LIMIT_S, return_when=asyncio.FIRST_COMPLETED)
        arrived.cancel()
        assert play.arrived.is_set(), task.result() if task.done() else "nothing has arrived"
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})
