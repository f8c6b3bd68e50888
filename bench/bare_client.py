"""What aiohttp's ClientSession costs by itself: `python -m bench.bare_client URL CONNECTIONS`.

Prints the µs of CPU of one small chat, sent by nothing but a session on uvloop.
"""

import asyncio
import sys
import time

import aiohttp
import uvloop

_REQUESTS = 4_000
_BODY = b'{"model":"SvcLLM","messages":[{"role":"user","content":"Say it in few words, please."}]}'


async def measure(url: str, connections: int) -> float:
    headers = {"Content-Type": "application/json", "Authorization": "Bearer upstream"}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as session:

        async def ask(count: int) -> None:
            for _ in range(count):
                async with session.post(url, data=_BODY, headers=headers) as answer:
                    await answer.read()

        await asyncio.gather(*(ask(20) for _ in range(connections)))
        began_s = time.process_time()
        await asyncio.gather(*(ask(_REQUESTS // connections) for _ in range(connections)))
        return (time.process_time() - began_s) / (_REQUESTS // connections * connections) * 1e6


if __name__ == "__main__":
    print(uvloop.run(measure(sys.argv[1], int(sys.argv[2]))))
