"""One of several worker processes: serves on sockets it was handed, until it is told to stop or its parent is gone.

`worker_pool` starts it, writes its `Assignment` to standard input and keeps the other end of a channel. The worker
sends the lines `ready` and `beat` from its event loop. It receives a line with the names of the embedded servers that
are not ready yet, whenever they change, and `REPLACED` when other workers have taken over. Knows no configuration
file and no systemd.
"""

import asyncio
import contextlib
import pickle
import signal
import socket
import sys
from dataclasses import dataclass

import uvloop

from gateway import logs
from gateway.config.settings import Config
from gateway.embedded.servers import EmbeddedServers
from gateway.runtime.generation import AppInstance, Shared, Sockets

BEAT_S = 1.0
REPLACED = b"-replaced\n"


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker serves: file descriptors of the sockets (`ops` is None when that listener is off), and the ports
    of the embedded servers, which the parent keeps."""

    config: Config
    product: int
    ops: int | None
    channel: int
    ports: dict[str, int]
    metrics_folder: str


def work() -> int:
    """Serve as standard input says. Returns the exit code."""
    # From our own parent over a pipe of its making, never from outside.
    assignment: Assignment = pickle.loads(sys.stdin.buffer.read())  # noqa: S301
    logs.set_up(assignment.config.log.level, assignment.config.log.format)
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(_work(assignment))
    return 0


async def _work(assignment: Assignment) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, lambda: None)  # the parent's matter
    channel = _Channel(*await asyncio.open_connection(sock=socket.socket(fileno=assignment.channel)))
    ops = socket.socket(fileno=assignment.ops) if assignment.ops is not None else None
    sockets = Sockets(socket.socket(fileno=assignment.product), ops)
    servers = EmbeddedServers(assignment.config, ports=assignment.ports)
    shared = Shared(servers.upstreams, lambda: channel.waiting, assignment.metrics_folder)
    generation = AppInstance(assignment.config, shared, sockets.docs_address)
    await generation.start(sockets)
    tasks = [asyncio.create_task(channel.listen(stop)), asyncio.create_task(channel.beat())]
    await stop.wait()
    sockets.product.close()
    await generation.finish(channel.is_replaced)
    sockets.close()
    for task in tasks:
        task.cancel()
    await channel.close()


class _Channel:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.waiting = ["supervisor"]  # until it has said what is missing
        self.is_replaced = False

    async def beat(self) -> None:
        self._writer.write(b"ready\n")
        while not self._writer.is_closing():
            self._writer.write(b"beat\n")
            await asyncio.sleep(BEAT_S)

    async def listen(self, stop: asyncio.Event) -> None:
        """Until there are replacements, or the parent is gone: both are orders to stop."""
        with contextlib.suppress(ConnectionError):
            while line := await self._reader.readline():
                if line == REPLACED:
                    self.is_replaced = True
                    break
                self.waiting = line.decode().split()
        stop.set()

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()
