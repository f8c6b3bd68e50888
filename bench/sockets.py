"""What closed sockets leave: memory of the gateway after rounds of sockets that each had one turn.

`python -m bench.sockets [--tree NAME=FOLDER ...]`. A round: 300 sockets on `/v1/responses`, 20 at a time, each with one
message of 200 KB, whose answer is read to its end before the socket is closed.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

import aiohttp
import orjson

from bench.served import HERE, compared_trees, gateway_serving, one_model, running
from gateway.embedded.child_server import free_port

_SOCKETS, _AT_ONCE, _ROUNDS = 300, 20, 4
_CREATE = {"type": "response.create", "model": "SvcLLM", "input": "word " * 40_000, "store": False}


def resident_mb(pid: int) -> float:
    """Memory of a process, in MB of 2**20."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(each for each in lines if each.startswith("VmRSS")).split()[1]) / 1024


async def one_round(port: int, key: str) -> None:
    """Every socket asks once. Raises SystemExit where an answer is an error."""
    free = asyncio.Semaphore(_AT_ONCE)
    url, headers = f"http://127.0.0.1:{port}/v1/responses", {"Authorization": f"Bearer {key}"}

    async def turn(session: aiohttp.ClientSession) -> None:
        async with free, session.ws_connect(url, headers=headers, max_msg_size=0) as socket:
            await socket.send_str(orjson.dumps(_CREATE).decode())
            async for message in socket:
                kind = orjson.loads(message.data)["type"]
                if kind == "error":
                    raise SystemExit(f"a turn has failed: {message.data[:200]}")
                if kind == "response.completed":
                    return

    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(turn(session) for _ in range(_SOCKETS)))


def main() -> None:
    """Print a line for each tree: MB at the start and after each round."""
    trees, port = compared_trees(__doc__), free_port()
    settings = one_model(f"http://127.0.0.1:{port}/v1")
    with running([sys.executable, "-m", "bench.upstream", str(port)], port, cwd=HERE):
        for name, tree in trees.items():
            with (
                tempfile.TemporaryDirectory() as folder,
                gateway_serving(Path(folder), settings, "responses", tree=tree) as (pid, own_port, key),
            ):
                told = [resident_mb(pid)]
                for _ in range(_ROUNDS):
                    asyncio.run(one_round(own_port, key))
                    time.sleep(1)
                    told.append(resident_mb(pid))
                print(f"{name:12} MB at the start {told[0]:.0f}, after rounds", *(f"{each:.1f}" for each in told[1:]))


if __name__ == "__main__":
    main()
