"""Asking a running gateway, whole and streamed, and configuring it for scripted upstreams."""

import asyncio
from typing import Any

import aiohttp
import openai
import orjson

from tests.support.gateways import InProcessGateway
from tests.support.upstream import Upstream

OFF = "\n[local_llm]\nenabled = false\n[local_ocr]\nenabled = false\n[local_embedding]\nenabled = false\n"
"""No embedded engine."""
ASK = {"model": "SvcLLM", "messages": [{"role": "user", "content": "hello"}]}
LIMIT_S = 30
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


async def ask(server: InProcessGateway, path: str = "/v1/chat/completions", **body: Any) -> tuple[int, Any, Any]:
    async with asyncio.timeout(LIMIT_S), aiohttp.ClientSession() as session:
        url = server.url + path
        async with session.post(url, json={**ASK, **body}, headers=server.headers) as answer:
            return answer.status, orjson.loads(await answer.read()), answer.headers


async def ask_stream(server: InProcessGateway, **body: Any) -> tuple[int, list[Any]]:
    """Status and decoded events; None stands for `[DONE]`. An error answer is its one event."""
    async with asyncio.timeout(LIMIT_S), aiohttp.ClientSession() as session:
        url = server.url + "/v1/chat/completions"
        async with session.post(url, json={**ASK, "stream": True, **body}, headers=server.headers) as answer:
            raw = await answer.read()
            if answer.status != 200:
                return answer.status, [orjson.loads(raw)]
            assert answer.content_type == "text/event-stream"
            frames = [frame for frame in raw.split(b"\n\n") if frame and not frame.startswith(b":")]
            assert all(frame.startswith(b"data: ") and b"\n" not in frame for frame in frames)
            return 200, [None if frame == b"data: [DONE]" else orjson.loads(frame[6:]) for frame in frames]


def official(server: InProcessGateway, key: str = "") -> Any:
    """openai-python for a gateway. Any: the types of its answers are unions of dozens."""
    return openai.AsyncOpenAI(base_url=server.url + "/v1", api_key=key or server.key, max_retries=0)


def said(events: list[Any]) -> str:
    deltas = [c["delta"] for e in events if e and "choices" in e for c in e["choices"]]
    return "".join(delta.get("content") or "" for delta in deltas)
