"""One of several worker processes: serves on inherited sockets until SIGTERM, SIGINT, or the end of its parent.

`worker_process` starts it, writes its `Assignment` to standard input and holds the other end of a channel, a socket
pair. Format of the channel, ours, one line each: the worker sends `ready` when it listens, and `beat` every second from
its event loop; it receives the names of the embedded servers that are not ready, separated by spaces, whenever they
change, and `-replaced` when other workers have taken over. The end of the channel means that the parent has ended.
Knows no configuration file and no systemd.
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

_BEAT_S = 1.0
"""Chosen: a twentieth of the silence after which a worker is killed (`WatchdogSettings`). At half, an idle machine
wakes up twice as often; at double, ten missed beats decide instead of twenty."""

READY, BEAT, REPLACED = b"ready\n", b"beat\n", b"-replaced\n"
"""Lines of the channel. No embedded server has a name that begins with `-`."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker serves: file descriptors of its sockets and its channel (`ops` is None when that listener is off),
    and the ports of the embedded servers by name, which the parent runs."""

    config: Config
    product: int
    ops: int | None
    channel: int
    ports: dict[str, int]
    metrics_folder: str


def work() -> int:
    """Serve the pickled `Assignment` on standard input. Returns the exit code."""
    # Pickle is safe here: our own parent wrote it, through a pipe that it made.
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
    loop.add_signal_handler(signal.SIGHUP, lambda: None)  # reloading is the parent's task
    channel = _Channel(*await asyncio.open_connection(sock=socket.socket(fileno=assignment.channel)))
    ops = socket.socket(fileno=assignment.ops) if assignment.ops is not None else None
    sockets = Sockets(socket.socket(fileno=assignment.product), ops)
    servers = EmbeddedServers(assignment.config, ports=assignment.ports)
    shared = Shared(servers.upstreams, lambda: channel.waiting, assignment.metrics_folder)
    instance = AppInstance(assignment.config, shared, sockets.docs_address)
    await instance.start(sockets)
    tasks = [asyncio.create_task(channel.listen(stop)), asyncio.create_task(channel.beat())]
    await stop.wait()
    sockets.product.close()
    await instance.finish(channel.is_replaced)
    sockets.close()
    for task in tasks:
        task.cancel()
    await channel.close()


class _Channel:
    """The worker's end of the channel."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.waiting = ["supervisor"]  # not ready until its first line
        self.is_replaced = False

    async def beat(self) -> None:
        self._writer.write(READY)
        while not self._writer.is_closing():
            self._writer.write(BEAT)
            await asyncio.sleep(_BEAT_S)

    async def listen(self, stop: asyncio.Event) -> None:
        """Read lines until another worker has replaced this one or the parent has ended; then set `stop`."""
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
