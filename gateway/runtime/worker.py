"""One of the worker processes: serves on inherited sockets until SIGTERM, SIGINT, or the end of its supervisor.

`fork_server` starts it; `service` says what the two tell each other.

`SingleProcess` serves in the supervisor's own process. An `AppInstance` serves one configuration:

| state    | invariant                                        | leaves it when                                      |
|----------|--------------------------------------------------|-----------------------------------------------------|
| new      | nothing listens                                  | `start`: serving; `start` raised: closed            |
| serving  | listens on duplicates of the product and ops     | `finish`: draining                                  |
|          | sockets, so closing them leaves the sockets open |                                                     |
| draining | product: running requests go on, new connections  | all requests ended, or `server.drain_s` is over and |
|          | see `runner`; ops: answers still, unless replaced| those that still run are cancelled: closed          |
| closed   | nothing listens, all clients are closed          | never                                               |

`start` and `finish` are called once each. Two instances overlap while a new configuration takes over: both listen, and
the old one drains.
"""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
from collections.abc import Callable, Collection
from dataclasses import dataclass

import uvloop

from gateway import logs
from gateway.app.application import RUNS, build_app, build_ops_app
from gateway.config.loader import loaded
from gateway.config.settings import Config
from gateway.embedded.servers import Embedded, EmbeddedServers
from gateway.errors import GatewayError
from gateway.runtime.fork_server import receive
from gateway.runtime.service import BEAT, BEAT_S, END, MAX_OLD, READY, REPLACED, Assignment, ServiceContext, Sockets
from gateway.web.server.runner import Listener


def settle_memory(is_frozen: bool = False) -> None:
    """Make garbage collections rare: exempt the objects that exist now, which live as long as the process, and raise
    the thresholds, since the objects of a request are freed by reference counts.

    `is_frozen`: what was imported is exempt already and stays so: looking at it takes 30 ms, and writes to it, which
    copies memory that is shared with the fork server.

    Measured: the default thresholds cost a tenth of the CPU of a small chat.
    """
    if not is_frozen:
        gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@dataclass(frozen=True, slots=True)
class ProcessResources:
    """What all configurations of this process share: the embedded servers, a function that gives the names of those not
    ready yet, and the folder of shared metrics (empty unless several workers serve)."""

    embedded: Embedded
    waiting: Callable[[], list[str]]
    metrics_folder: str = ""


class AppInstance:
    """One configuration being served; the module docstring has its states."""

    def __init__(self, config: Config, shared: ProcessResources, docs_address: str) -> None:
        self._config = config
        self._app = build_app(config, shared.embedded, docs_address)
        hosts = (config.ops.host, *config.ops.allowed_hosts)
        self._ops_app = build_ops_app(self._app, shared.waiting, hosts, shared.metrics_folder)
        self._listeners: list[Listener] = []
        self._runs_end = asyncio.Event()

    def end_runs(self) -> None:
        """Let background runs go on no longer; they fail when all is closed."""
        self._runs_end.set()

    async def start(self, sockets: Sockets) -> None:
        """Listen. Raises OSError; then nothing listens."""
        server = self._config.server
        try:
            certificate = loaded(server.tls)
            for app, sock, tls in ((self._app, sockets.product, certificate), (self._ops_app, sockets.ops, None)):
                if sock is not None:
                    listener = Listener(app, server.header_timeout_s, server.keep_alive_s, server.backlog)
                    self._listeners.append(listener)
                    await listener.start([sock.dup()], tls)
        except BaseException:
            await self._close()
            raise

    async def finish(
        self, replaced: bool, keep_accepting: bool = False, older: Collection["asyncio.Task[None]"] = ()
    ) -> None:
        """Drain, then close everything; returns when all is closed.

        `replaced`: another instance serves already and answers on the ops socket, so this one's ops listener accepts no
        more and lets its connections end, and background runs go on. Otherwise the ops listener stays open to the end,
        to report that the process drains, and with `keep_accepting` (see `Sockets.outlives_us`) new connections are
        served meanwhile, and while `older` instances finish.
        """
        drain_s = self._config.server.drain_s
        replaced_ops = self._listeners[1:] if replaced else []
        cancelled, *_ = await asyncio.gather(
            self._listeners[0].drain(drain_s, keep_accepting and not replaced, older),
            *(listener.let_go(drain_s) for listener in replaced_ops),
        )
        if cancelled:
            logs.event("requests_ended", level=logging.WARNING, count=cancelled)
        if replaced:
            await self._finish_runs()
        await self._close()

    async def _finish_runs(self) -> None:
        """Let background runs go on, for as long as one may take, or until `end_runs`."""
        limit_s = self._config.responses.background.max_s
        waiting = [asyncio.create_task(each) for each in (self._app[RUNS].wait(limit_s), self._runs_end.wait())]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()

    async def _close(self) -> None:
        for listener in reversed(self._listeners):
            await listener.close()


class SingleProcess:
    """The service of a gateway that serves in the process of its supervisor. A `supervisor.Service`."""

    def __init__(self, config: Config, context: ServiceContext) -> None:
        self._sockets = context.sockets
        self._shared = ProcessResources(context.servers.upstreams, context.servers.waiting)
        self._instance = AppInstance(config, self._shared, self._sockets.docs_address)
        self._finishing: dict[AppInstance, asyncio.Task[None]] = {}

    async def start(self) -> None:
        """Listen. Raises OSError or GatewayError."""
        await self._instance.start(self._sockets)
        settle_memory(is_frozen=True)

    async def replace(self, config: Config) -> None:
        """Serve another configuration, then drain the old one without waiting for it. Raises OSError or GatewayError;
        then the old one stays."""
        fresh = AppInstance(config, self._shared, self._sockets.docs_address)
        await fresh.start(self._sockets)
        settle_memory()
        old = self._instance
        self._finishing[old] = task = asyncio.create_task(old.finish(replaced=True))
        task.add_done_callback(lambda _: self._finishing.pop(old))
        for older in list(self._finishing)[:-MAX_OLD]:
            older.end_runs()
        self._instance = fresh

    def is_fresh(self) -> bool:
        """Always: the caller's event loop is the one that serves."""
        return True

    async def finish(self, replaced: bool) -> None:
        """Let running requests end, close. `replaced`: another supervisor serves."""
        self._sockets.product.close()  # else connections would wait in its queue for ever; the instance has a copy
        for instance in (self._instance, *self._finishing):
            instance.end_runs()
        older = list(self._finishing.values())
        await asyncio.gather(self._instance.finish(replaced, self._sockets.outlives_us, older), *older)


def work(channel: socket.socket) -> int:
    """Serve what the supervisor assigns over the channel. Returns the exit code."""
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
    shared = ProcessResources(servers.upstreams, lambda: channel.waiting, assignment.metrics_folder)
    instance = AppInstance(assignment.config, shared, sockets.docs_address)
    await instance.start(sockets)
    settle_memory(is_frozen=True)
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
