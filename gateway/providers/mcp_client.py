"""A client of MCP servers over streamable HTTP: lists tools and calls them.

Knows the five published revisions: those that begin with `initialize`, and 2026-07-28, which does not. Addresses and
headers come from the configuration; redirects are not followed. Requests of a server to its client (sampling, input)
are not answered, as no such capability is declared. Source: modelcontextprotocol.io, "Transports", "Lifecycle" and
"Tools" of all revisions, read 2026-11-22.

Theory of operation. One `McpSession` serves one answer of a model, so that what a server keeps in a session is never
shared by two callers. `_open` runs once, before the first request: the server agrees on a revision, or says that it
knows no `initialize`, and then the newest revision is used without one. `close` ends the session. `_time_limit` bounds
what a caller waits for, however many requests that takes; a request that it ends is cancelled at the server too.
"""

import asyncio
import base64
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import aiohttp
import orjson

from gateway import __version__
from gateway.domain import Json
from gateway.errors import UpstreamError, UpstreamTimeout
from gateway.mcp.versions import HANDSHAKE, META_CAPABILITIES, META_CLIENT, META_VERSION, MODERN, UNSUPPORTED_VERSION
from gateway.providers.egress import DIRECT, Egress
from gateway.providers.http import Answer, HttpClient, Timeouts, decoded_answer
from gateway.wire import sse
from gateway.wire.openai_error import scrubbed, upstream_error
from gateway.wire.untrusted_json import table_in, tables_in, words_of

_CLIENT: Json = {"name": "gateway", "version": __version__}
_METHOD_NOT_FOUND = -32601
_MAX_LIST_PAGES = 10
_MAX_TOOLS = 256
"""Most pages, and most tools, of one list; a chat request may have 256 tools."""
_MAX_VALUES = 100_000
"""Most JSON values in one answer; 256 tools of 100 properties each, with a type and a description, have 80,000."""
_SESSION_ID_CHARS = 512
"""Most characters of a session id that is sent back."""
_LAST_WORDS_S = 2.0
"""Seconds for telling a server that a call was cancelled or a session ended; no caller waits for it."""


@dataclass(frozen=True, slots=True)
class McpServerSettings:
    """`headers` are secrets. `timeout_s` for a whole list of tools or one call, the opening of the session included;
    `max_answer_bytes` for one answer."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float = 30
    max_answer_bytes: int = 1 << 20
    egress: Egress = DIRECT


class McpClient:
    """One configured server, for all callers. Close it once."""

    def __init__(self, settings: McpServerSettings) -> None:
        seconds = settings.timeout_s
        self.settings = settings
        self.http = HttpClient(Timeouts(min(3.0, seconds), seconds, seconds, seconds), settings.egress)
        self._last_words: set[asyncio.Task[None]] = set()

    def session(self) -> "McpSession":
        """A session for one answer of a model."""
        return McpSession(self)

    def tell_later(self, task: asyncio.Task[None]) -> None:
        """Keeps a task that ends within _LAST_WORDS_S."""
        self._last_words.add(task)
        task.add_done_callback(self._last_words.discard)

    async def close(self) -> None:
        """Waits for the last words, and closes the connections."""
        if self._last_words:
            await asyncio.wait(self._last_words, timeout=_LAST_WORDS_S)
        await self.http.close()


T = TypeVar("T")


class _SessionGone(UpstreamError):
    """The server does not know the session any more: it was restarted, or has let it go."""

    def __init__(self) -> None:
        super().__init__("the MCP server does not know its session any more")


class _RpcError(UpstreamError):
    """The server answered with a JSON-RPC error."""

    def __init__(self, number: Any, message: Any, sent: Iterable[str]) -> None:
        super().__init__(f"the MCP server refused the request: {scrubbed(message or 'no reason given', sent)}")
        self.number = number


class McpSession:
    """Implements ports.ToolServer."""

    def __init__(self, client: McpClient) -> None:
        self._client = client
        self._settings = client.settings
        self._numbers = itertools.count(1)
        self._revision = ""
        self._session_id = ""
        self._opening = asyncio.Lock()

    async def tools(self) -> list[Json]:
        """See ports.ToolServer; at most _MAX_TOOLS. All pages together take `timeout_s` at most, opening included."""
        async with self._time_limit():
            return await self._in_session(self._all_tools)

    async def _all_tools(self) -> list[Json]:
        found: list[Json] = []
        params: Json = {}
        for _ in range(_MAX_LIST_PAGES):
            result = await self._request("tools/list", params)
            found += [tool for tool in tables_in(result, "tools") if isinstance(tool.get("name"), str) and tool["name"]]
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str) or len(found) >= _MAX_TOOLS:
                break
            params = {"cursor": cursor}
        return found[:_MAX_TOOLS]

    async def call(self, name: str, arguments: Json) -> tuple[str, bool]:
        """See ports.ToolServer. A JSON-RPC error is a result that is an error: the model may correct its call. It takes
        `timeout_s` at most, opening included."""
        async with self._time_limit():
            try:
                result = await self._in_session(
                    lambda: self._request("tools/call", {"name": name, "arguments": arguments})
                )
            except _RpcError as error:
                return error.message, True
        if result.get("resultType") == "input_required":
            return "this tool wants to ask its user something, which is not possible here", True
        return _result_text(result), result.get("isError") is True

    async def close(self) -> None:
        """See ports.ToolServer."""
        if self._session_id:
            self._client.tell_later(asyncio.create_task(self._end_session()))

    async def _open(self) -> None:
        async with self._opening:
            if self._revision:
                return
            params = {"protocolVersion": HANDSHAKE[-1], "capabilities": {}, "clientInfo": _CLIENT}
            try:
                result = await self._request("initialize", params)
            except _RpcError as error:
                if error.number not in (UNSUPPORTED_VERSION, _METHOD_NOT_FOUND):
                    raise
                self._revision = MODERN[-1]
                return
            if result.get("protocolVersion") not in HANDSHAKE:
                raise UpstreamError("the MCP server speaks a revision that is not known here")
            self._revision = result["protocolVersion"]
            await self._notify("notifications/initialized", {})

    @contextlib.asynccontextmanager
    async def _time_limit(self) -> AsyncIterator[None]:
        """Raises UpstreamTimeout when the block takes more than `timeout_s` seconds."""
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                yield
        except TimeoutError:
            raise UpstreamTimeout(f"the MCP server did not answer within {self._settings.timeout_s:g} s") from None

    async def _in_session(self, ask: Callable[[], Awaitable[T]]) -> T:
        """What `ask` gives, in the session; in a new one, once, where the server does not know it any more (404:
        MCP 2025-11-25, transports, session management)."""
        await self._open()
        session_id = self._session_id
        try:
            return await ask()
        except _SessionGone:
            if self._session_id == session_id:
                self._revision = self._session_id = ""
            await self._open()
            return await ask()

    async def _request(self, method: str, params: Json) -> Json:
        """The `result` of a request, within `_time_limit`. Raises UpstreamError; _RpcError for the server's refusal."""
        number = next(self._numbers)
        try:
            return await self._answered(number, method, params)
        except (asyncio.CancelledError, UpstreamTimeout):
            self._cancelled(number)
            raise

    async def _answered(self, number: int, method: str, params: Json) -> Json:
        message = self._message(method, params, number)
        answer = await self._client.http.post(self._settings.url, message, self._headers(method, params))
        is_complete = False
        try:
            response = await self._response(answer, number)
            is_complete = True
        finally:
            answer.close(is_complete=is_complete)
        if "error" in response:
            error = table_in(response, "error")
            raise _RpcError(error.get("code"), error.get("message"), self._settings.headers.values())
        if method == "initialize":
            session_id = answer.headers.get("Mcp-Session-Id", "")
            self._session_id = session_id if session_id.isascii() and len(session_id) <= _SESSION_ID_CHARS else ""
        return table_in(response, "result")

    async def _response(self, answer: Answer, number: int) -> Json:
        """The JSON-RPC response with this id, from JSON or from events."""
        most = self._settings.max_answer_bytes
        if answer.status == 404 and self._session_id:
            raise _SessionGone
        if answer.status == 200 and answer.content_type == "text/event-stream":
            return await self._response_event(answer, number, most)
        raw = await answer.read(most)
        decoded = decoded_answer(raw, max_values=_MAX_VALUES, sender="the MCP server")
        response: Json = decoded if isinstance(decoded, dict) else {}
        if response.get("jsonrpc") == "2.0" and ("error" in response or answer.status == 200):
            if not _is_answer(response, number):
                raise UpstreamError("the MCP server answered another request than was sent")
            return response
        if answer.status != 200:
            raise upstream_error(answer.status, None, None)
        raise UpstreamError("the MCP server's answer is not a JSON-RPC response")

    async def _response_event(self, answer: Answer, number: int, most: int) -> Json:
        parser, size = sse.Parser(most), 0
        async for chunk in answer.chunks():
            size += len(chunk)
            if size > most:
                raise UpstreamError("the MCP server's answer is too large")
            for data in parser.feed(chunk):
                message = decoded_answer(data, max_values=_MAX_VALUES, sender="the MCP server")
                if message is None:
                    raise UpstreamError("the MCP server sent an event that is not JSON")
                if isinstance(message, dict) and "method" not in message and _is_answer(message, number):
                    return message
        raise UpstreamError("the MCP server ended its stream without an answer")

    def _message(self, method: str, params: Json, number: int | None = None) -> bytes:
        if self._revision in MODERN:
            meta = {META_VERSION: self._revision, META_CLIENT: _CLIENT, META_CAPABILITIES: {}}
            params = {**params, "_meta": meta}
        message: Json = {"jsonrpc": "2.0", "method": method, "params": params}
        return orjson.dumps(message if number is None else {**message, "id": number})

    def _headers(self, method: str, params: Json) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self._revision:
            headers["MCP-Protocol-Version"] = self._revision
        if self._session_id:
            headers["Mcp-Session-Id"] = self._session_id
        if self._revision in MODERN:
            headers["Mcp-Method"] = method
            if name := params.get("name"):
                headers["Mcp-Name"] = header_value(str(name))
        return {**headers, **self._settings.headers}

    async def _notify(self, method: str, params: Json) -> None:
        message = self._message(method, params)
        answer = await self._client.http.post(self._settings.url, message, self._headers(method, params))
        answer.close()
        if answer.status >= 400:
            raise upstream_error(answer.status, None, None)

    def _cancelled(self, number: int) -> None:
        """Tells the server in the background that nobody waits for a request; `initialize` may not be cancelled."""
        if self._revision:
            self._client.tell_later(asyncio.create_task(self._tell_cancelled(number)))

    async def _tell_cancelled(self, number: int) -> None:
        with contextlib.suppress(UpstreamError, TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_S):
                await self._notify("notifications/cancelled", {"requestId": number})

    async def _end_session(self) -> None:
        with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_S):
                await self._client.http.delete(self._settings.url, self._headers("", {}))


def _is_answer(message: Json, number: int) -> bool:
    """Whether a message answers the request with this id. An error without an id is about a request that the server
    could not read, which is the only one on its way (JSON-RPC 2.0, section 5)."""
    given = message.get("id")
    return (given == number and not isinstance(given, bool)) or (given is None and "error" in message)


def header_value(name: str) -> str:
    """A name as a header holds it: itself, or base64 where it has characters that headers have not."""
    if name.isascii() and name.isprintable() and name == name.strip() and not name.startswith("=?"):
        return name
    return f"=?base64?{base64.b64encode(name.encode()).decode()}?="


def _result_text(result: Json) -> str:
    """The text of a tool's result; content that is no text is named; without any, its structured content."""
    texts = []
    for part in tables_in(result, "content"):
        if isinstance(text := part.get("text", table_in(part, "resource").get("text")), str):
            texts.append(text)
        elif part.get("type") == "resource_link":
            texts.append(f"[resource {part.get('uri')}]")
        else:
            texts.append(f"[{words_of(part.get('type'))[:40]} left out]")
    if not texts and result.get("structuredContent") is not None:
        return orjson.dumps(result["structuredContent"]).decode()
    return "\n".join(texts)
