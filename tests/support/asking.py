"""Asking a running gateway, whole and streamed, and configuring it for scripted upstreams."""

import asyncio
import io
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import openai
import orjson

from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import Gateway
from tests.support.upstream import Upstream
from tests.support.web_tools import tool_call

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
MCP = "/tools/websearch/mcp"

OFF = "\n[local_llm]\nenabled = false\n[local_ocr]\nenabled = false\n[local_embedding]\nenabled = false\n"
"""No embedded engine."""
ASK = {"model": "SvcLLM", "messages": [{"role": "user", "content": "hello"}]}
LIMIT_S = 60
HASTY: dict[str, Any] = {"first_byte_timeout_s": 1, "idle_timeout_s": 1}
"""For a test in which an upstream falls silent. For all others a second is too short: on a busy machine, or while a
client builds its types, the scripted upstream, which shares the test's event loop, may be silent for longer."""


def toml(*upstreams: Upstream, more: str = "", **settings: Any) -> str:
    lines = ["[server]\nbase_path = ''\n[[models]]\nname = 'SvcLLM'\naliases = ['assistant']\n" + more]
    defaults = {"first_byte_timeout_s": 10, "idle_timeout_s": 10, "connect_timeout_s": 10, "total_timeout_s": 40}
    for each in upstreams:
        lines.append(f"  [[models.upstreams]]\n  base_url = '{each.url}'\n  model = 'up-model'")
        for name, value in {**defaults, **settings}.items():
            shown = value if isinstance(value, str) else orjson.dumps(value).decode()
            lines.append(f"  {name} = {shown}")
    return "\n".join(lines) + OFF


async def send(
    server: Gateway | GatewayProcess,
    path: str,
    body: Any = None,
    *,
    method: str = "POST",
    key: str = "",
    **headers: str | None,
) -> tuple[int, Any, Mapping[str, str]]:
    """Status, decoded answer and headers of one request. The answer of a stream are its events, without `[DONE]`.

    `path`: of the product listener, or a whole URL. `body`: bytes as they are, or a value sent as JSON. `key`: another
    key than the server's own. Header names take `-` for `_`; a header that is None is left out.
    """
    given: dict[str, str | None] = {"Authorization": f"Bearer {key or server.key}"}
    given["Content-Type"] = None if body is None else "application/json"
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    raw = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
    url = path if path.startswith("http") else server.url + path
    async with asyncio.timeout(LIMIT_S), aiohttp.ClientSession() as session:
        kept = {name: value for name, value in given.items() if value is not None}
        sent = io.BytesIO(raw) if raw is not None else None  # aiohttp warns of large bytes
        async with session.request(method, url, data=sent, headers=kept) as answer:
            raw = await answer.read()
            return answer.status, _decoded(answer.content_type, raw), answer.headers


def _decoded(kind: str, raw: bytes) -> Any:
    if kind == "text/event-stream":
        return events_of(raw)
    return orjson.loads(raw) if kind == "application/json" and raw else raw.decode()


def events_of(raw: bytes) -> list[Any]:
    """The decoded data of a stream's events, without `[DONE]`."""
    return [orjson.loads(line[6:]) for line in raw.split(b"\n") if line.startswith(b"data: {")]


@asynccontextmanager
async def posting(
    server: Gateway | GatewayProcess, path: str, body: Any, key: str = "", **headers: str
) -> AsyncIterator[aiohttp.ClientResponse]:
    """The answer to a body, for who reads it piece by piece, or leaves."""
    given = {"Authorization": f"Bearer {key or server.key}", **headers}
    async with (
        asyncio.timeout(LIMIT_S), aiohttp.ClientSession(headers=given) as session,
        session.post(server.url + path, json=body) as answer,
    ):  # fmt: skip
        yield answer


async def call_tool(
    server: Gateway | GatewayProcess,
    tool: str,
    arguments: Any = None,
    *,
    key: str = "",
    accept: str = "application/json",
) -> tuple[bool, Any]:
    """Whether the call of a web tool failed, and `data` of its outcome."""
    status, answer, _ = await send(server, MCP, tool_call(tool, arguments or {}), key=key, Accept=accept)
    assert status == 200, answer
    result = (answer[-1] if isinstance(answer, list) else answer)["result"]
    return result["isError"], orjson.loads(result["content"][0]["text"])["data"]


async def ask(server: Gateway, path: str = CHAT, **body: Any) -> tuple[int, Any, Any]:
    """`send` with what a body must have: chat's own and another's fields are left alone by the other routes."""
    return await send(server, path, {**ASK, **body})


async def ask_stream(server: Gateway, **body: Any) -> tuple[int, list[Any]]:
    """Status and decoded events; None stands for `[DONE]`. An error answer is its one event."""
    async with posting(server, CHAT, {**ASK, "stream": True, **body}) as answer:
        raw = await answer.read()
        if answer.status != 200:
            return answer.status, [orjson.loads(raw)]
        assert answer.content_type == "text/event-stream"
        frames = [frame for frame in raw.split(b"\n\n") if frame and not frame.startswith(b":")]
        assert all(frame.startswith(b"data: ") and b"\n" not in frame for frame in frames)
        return 200, [None if frame == b"data: [DONE]" else orjson.loads(frame[6:]) for frame in frames]


def official(server: Gateway, key: str = "") -> Any:
    """openai-python for a gateway. Any: the types of its answers are unions of dozens."""
    return openai.AsyncOpenAI(base_url=server.url + "/v1", api_key=key or server.key, max_retries=0)


def said(events: list[Any]) -> str:
    deltas = [c["delta"] for e in events if e and "choices" in e for c in e["choices"]]
    return "".join(delta.get("content") or "" for delta in deltas)
