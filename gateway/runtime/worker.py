"""One of the worker processes: serves on inherited sockets until SIGTERM, SIGINT, or the end of its supervisor.

`fork_loop` starts it; `channel` says what the two tell each other. Knows no configuration file and no systemd.
"""

import asyncio
import contextlib
import logging
import signal
import socket

import uvloop

from gateway import logs
from gateway.embedded.servers import EmbeddedServers
from gateway.errors import GatewayError
from gateway.runtime.channel import BEAT, BEAT_S, END, READY, REPLACED, Assignment
from gateway.runtime.generation import AppInstance, Shared
from gateway.runtime.memory import settle_memory
from gateway.runtime.sockets import Sockets
from gateway.runtime.worker_start import receive


def work(channel: socket.socket) -> int:
    """Serve what the supervisor assigns over `channel`. Returns the exit code."""
    received = receive(channel)
    if received is None:
        return 0  # the supervisor has ended, perhaps for a wrong configuration
    assignment, descriptors = received
    assert isinstance(assignment, Assignment)
    log = assignment.config.log
    logs.set_up(log.level, log.format, to_journal=assignment.logs_to_journal)
    code = 0
    try:
        uvloop.run(_work(assignment, [socket.socket(fileno=each) for each in descriptors], channel))
    except KeyboardInterrupt:
        pass
    except (OSError, GatewayError) as error:
        logs.event("worker_failed", level=logging.ERROR, error=str(error))
        code = 1
    logs.flush()
    return code


async def _work(assignment: Assignment, listening: list[socket.socket], ours: socket.socket) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, lambda: None)  # reloading is the parent's task
    channel = _Channel(*await asyncio.open_connection(sock=ours))
    product, ops = (*listening, None)[:2]
    assert product is not None
    sockets = Sockets(product, ops, assignment.socket_outlives_us)
    servers = EmbeddedServers(assignment.config, ports=assignment.ports)
    shared = Shared(servers.upstreams, lambda: channel.waiting, assignment.metrics_folder)
    instance = AppInstance(assignment.config, shared, sockets.docs_address)
    await instance.start(sockets)
    settle_memory(shares_memory=True)
    tasks = [asyncio.create_task(channel.listen(stop, instance)), asyncio.create_task(channel.beat())]
    await stop.wait()
    sockets.product.close()  # the instance has its own copy, which it closes when it stops accepting
    await instance.finish(replaced=channel.is_replaced, keep_accepting=sockets.outlives_us)
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
            await asyncio.sleep(BEAT_S)

    async def listen(self, stop: asyncio.Event, instance: AppInstance) -> None:
        """Read lines until the parent has ended. Set `stop` then, or once another worker has replaced this one."""
        with contextlib.suppress(ConnectionError):
            while line := await self._reader.readline():
                if line == REPLACED:
                    self.is_replaced = True
                    stop.set()
                elif line == END:
                    instance.end_runs()
                else:
                    self.waiting = line.decode().split()
        instance.end_runs()
        stop.set()

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()
