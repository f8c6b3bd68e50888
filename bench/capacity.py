"""What one open stream costs a gateway: memory and CPU. `docs/capacity.md` calculates with it.

`python -m bench.capacity [--streams N] [--seconds S]`. Upstream and clients run in this process; the gateway has the
first core. CPU is the gateway's own and its children's (user and system), memory its proportional set size.
"""

import argparse
import asyncio
import contextlib
import tempfile
import time
from pathlib import Path

import aiohttp
from aiohttp import web

from bench.load import cpu_seconds, pss_mib
from bench.served import gateway_serving
from bench.upstream import PIECES

_CHUNKS_A_SECOND = 20
"""Chosen: a common rate of large models; the cost of a chunk does not depend on it."""


def _payload(piece: bytes) -> bytes:
    """A piece of the fast upstream without its HTTP chunk frame."""
    return piece.split(b"\r\n", 1)[1].removesuffix(b"\r\n")


async def _endless(request: web.Request) -> web.StreamResponse:
    await request.read()
    reply = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await reply.prepare(request)
    with contextlib.suppress(ConnectionError):
        while True:
            await reply.write(_payload(PIECES[2]))
            await asyncio.sleep(1 / _CHUNKS_A_SECOND)
    return reply


async def _read(session: aiohttp.ClientSession, url: str, counts: list[int], number: int) -> None:
    message = {"role": "user", "content": "Tell me something."}
    async with session.post(url, json={"model": "SvcLLM", "stream": True, "messages": [message]}) as reply:
        async for part in reply.content.iter_any():
            counts[number] += part.count(b"data: ")


async def _measure(streams: int, seconds: float) -> None:
    application = web.Application()
    application.router.add_post("/v1/chat/completions", _endless)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    upstream = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    model = f'[[models]]\nname = "SvcLLM"\n[[models.upstreams]]\nbase_url = "{upstream}"\nmodel = "m"\n'
    model += f"concurrent = {streams}\n[guardrail]\nenabled = 'off'\n[limits]\nin_flight_share = 1.0\n"
    with tempfile.TemporaryDirectory() as folder, gateway_serving(Path(folder), model, "chat") as (pid, port, key):
        await asyncio.sleep(2)
        idle_mib, counts = pss_mib(pid), [0] * streams
        headers, connector = {"Authorization": f"Bearer {key}"}, aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(
            headers=headers, connector=connector, timeout=aiohttp.ClientTimeout()
        ) as session:
            url = f"http://127.0.0.1:{port}/v1/chat/completions"
            readers = [asyncio.create_task(_read(session, url, counts, number)) for number in range(streams)]
            async with asyncio.timeout(60):
                while not all(counts):  # noqa: ASYNC110 - the streams count
                    await asyncio.sleep(0.1)
            chunks, cpu_s, started = sum(counts), cpu_seconds(pid), time.monotonic()
            await asyncio.sleep(seconds)
            chunks, cpu_s, took_s = sum(counts) - chunks, cpu_seconds(pid) - cpu_s, time.monotonic() - started
            busy_mib = pss_mib(pid)
            for task in readers:
                task.cancel()
            await asyncio.gather(*readers, return_exceptions=True)
    await runner.cleanup()
    each_kib = (busy_mib - idle_mib) * 1024 / streams
    print(f"idle {idle_mib:.0f} MiB; {streams} streams {busy_mib:.0f} MiB: {each_kib:.0f} KiB each")
    print(f"{chunks / took_s:.0f} chunks/s with {cpu_s / took_s:.2f} cores: {cpu_s / chunks * 1e6:.0f} µs a chunk")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10)
    chosen = parser.parse_args(arguments)
    asyncio.run(_measure(chosen.streams, chosen.seconds))


if __name__ == "__main__":
    main()
