"""Load on a gateway from inside the machine of `booted_systemd`, and its upstream. Runs as a program:

service_load.py upstream PORT
service_load.py load SECONDS STREAMS PIECES KEY      prints one line of JSON, see `Load.result`
service_load.py burst CONNECTIONS KEY                the same; all at once
"""

import asyncio
import json
import sys
import time
from typing import Any

import aiohttp
from aiohttp import web

URL = "http://127.0.0.1:8080/v1"
CLIENTS = 4
PIECE_S = 0.2


def _chunk(content: str | None) -> bytes:
    delta = {"content": content} if content is not None else {}
    choice = {"index": 0, "delta": delta, "finish_reason": None if content is not None else "stop"}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


async def answer(request: web.Request) -> web.StreamResponse:
    """A stream with as many pieces as `max_tokens` says, one every `PIECE_S`."""
    body = await request.json()
    reply = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await reply.prepare(request)
    for number in range(body.get("max_tokens", 1)):
        await reply.write(_chunk(f"word{number} "))
        await asyncio.sleep(PIECE_S)
    await reply.write(_chunk(None) + b"data: [DONE]\n\n")
    return reply


class Load:
    """Calls on new connections, and streams. A call that fails is counted by the name of its error."""

    def __init__(self, key: str) -> None:
        self._headers = {"Authorization": f"Bearer {key}"}
        self._times: list[float] = []
        self._errors: dict[str, int] = {}
        self._streams: list[str] = []

    def result(self) -> dict[str, Any]:
        """`times`: the ten longest, in seconds; `streams`: how each ended."""
        times = sorted(self._times, reverse=True)
        return {"calls": len(times), "errors": self._errors, "times": times[:10], "streams": self._streams}

    async def call(self) -> None:
        started = time.monotonic()
        try:
            timeout = aiohttp.ClientTimeout(total=60)
            async with (
                aiohttp.ClientSession(headers=self._headers, timeout=timeout) as session,
                session.get(f"{URL}/models") as reply,
            ):
                await reply.read()
                outcome = str(reply.status)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            outcome = type(error).__name__
        self._times.append(time.monotonic() - started)
        if outcome != "200":
            self._errors[outcome] = self._errors.get(outcome, 0) + 1

    async def call_on_and_on(self, end: float) -> None:
        while time.monotonic() < end:
            await self.call()
            await asyncio.sleep(0.02)

    async def stream(self, pieces: int) -> None:
        message = {"role": "user", "content": "hi"}
        body = {"model": "SvcLLM", "stream": True, "max_tokens": pieces, "messages": [message]}
        try:
            timeout = aiohttp.ClientTimeout(total=200)
            async with (
                aiohttp.ClientSession(headers=self._headers, timeout=timeout) as session,
                session.post(f"{URL}/chat/completions", json=body) as reply,
            ):
                text = await reply.text()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            self._streams.append(type(error).__name__)
            return
        ends = (("[DONE]", "done"), ("shutting_down", "shutting_down"))
        self._streams.append(next((name for mark, name in ends if mark in text), text[-200:]))


async def load(seconds: float, streams: int, pieces: int, key: str) -> dict[str, Any]:
    one = Load(key)
    running = [asyncio.create_task(one.stream(pieces)) for _ in range(streams)]
    end = time.monotonic() + seconds
    await asyncio.gather(*(one.call_on_and_on(end) for _ in range(CLIENTS)), *running)
    return one.result()


async def burst(connections: int, key: str) -> dict[str, Any]:
    one = Load(key)
    await asyncio.gather(*(one.call() for _ in range(connections)))
    return one.result()


def main(command: str, *arguments: str) -> None:
    if command == "upstream":
        application = web.Application()
        application.router.add_post("/v1/chat/completions", answer)
        web.run_app(application, host="127.0.0.1", port=int(arguments[0]), print=None)
    elif command == "load":
        seconds, streams, pieces, key = arguments
        print(json.dumps(asyncio.run(load(float(seconds), int(streams), int(pieces), key))))
    else:
        print(json.dumps(asyncio.run(burst(int(arguments[0]), arguments[1]))))


if __name__ == "__main__":
    main(*sys.argv[1:])
