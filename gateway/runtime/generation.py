"""Serving in this process: one configuration after another on the same sockets.

A new configuration starts beside the old one, which finishes what it runs and is then closed. Knows no signals, no
systemd and no processes: the supervisor does.
"""

import asyncio
import gc
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass

from gateway import logs
from gateway.app import build_app, build_ops_app
from gateway.config.settings import Config
from gateway.embedded.servers import Embedded
from gateway.web.server.runner import Listener


@dataclass(frozen=True, slots=True)
class Sockets:
    """Listening sockets: the product's, and the ops listener's unless it is turned off."""

    product: socket.socket
    ops: socket.socket | None

    @property
    def docs_address(self) -> str:
        return "{}:{}".format(*self.ops.getsockname()[:2]) if self.ops is not None else ""

    def close(self) -> None:
        self.product.close()
        if self.ops is not None:
            self.ops.close()


@dataclass(frozen=True, slots=True)
class Shared:
    """What every configuration is served with: the embedded servers, and the names of those not ready yet;
    `metrics_folder` is set where several workers serve."""

    embedded: Embedded
    waiting: Callable[[], list[str]]
    metrics_folder: str = ""


def settle_memory() -> None:
    """Keep the collector off what lives as long as the process, and off the young: a request's objects die by their
    counts. A tenth of the CPU of a small chat, measured."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


class AppInstance:
    """One configuration in force, and what listens for it."""

    def __init__(self, config: Config, shared: Shared, docs_address: str) -> None:
        self._config = config
        self._app = build_app(config, shared.embedded, docs_address)
        self._ops_app = build_ops_app(self._app, shared.waiting, shared.metrics_folder)
        self._listeners: list[Listener] = []

    async def start(self, sockets: Sockets) -> None:
        """Listen. Raises OSError, ssl.SSLError included; then nothing listens."""
        server = self._config.server
        try:
            for app, sock, tls in ((self._app, sockets.product, server.tls), (self._ops_app, sockets.ops, None)):
                if sock is not None:
                    listener = Listener(app, server.header_timeout_s, server.keep_alive_s)
                    self._listeners.append(listener)
                    await listener.start([sock.dup()], tls)
        except BaseException:
            await self._close()
            raise
        settle_memory()

    async def finish(self, replaced: bool) -> None:
        """Drain, then close everything. When the process ends, the ops listener tells that it drains; when another
        configuration has taken over, that one's answers, so this one's ops listener goes first."""
        if replaced:
            for listener in self._listeners[1:]:
                await listener.close()
        stopped = await self._listeners[0].drain(self._config.server.drain_s)
        if stopped:
            logs.event("requests_ended", level=logging.WARNING, count=stopped)
        await self._close()

    async def _close(self) -> None:
        for listener in reversed(self._listeners):
            await listener.close()


class SingleProcess:
    """This process serves: the one worker. `start` and `replace` raise OSError or GatewayError."""

    def __init__(self, config: Config, sockets: Sockets, shared: Shared) -> None:
        self._sockets = sockets
        self._shared = shared
        self._generation = AppInstance(config, shared, sockets.docs_address)
        self._finishing: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        await self._generation.start(self._sockets)

    async def replace(self, config: Config) -> None:
        """Put another configuration in force; if it cannot be, the old one stays."""
        fresh = AppInstance(config, self._shared, self._sockets.docs_address)
        await fresh.start(self._sockets)
        self._finishing.add(task := asyncio.create_task(self._generation.finish(replaced=True)))
        task.add_done_callback(self._finishing.discard)
        self._generation = fresh

    def is_fresh(self) -> bool:
        return True

    async def finish(self) -> None:
        """Accept nothing more, let what runs end, close."""
        self._sockets.product.close()  # else connections would wait in its queue for an answer that never comes
        await asyncio.gather(self._generation.finish(replaced=False), *self._finishing)
