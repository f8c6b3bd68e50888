"""`gateway serve`: sockets, embedded servers, one serving generation after another, and an orderly end.

One worker needs no process of its own: this process serves, and keeps the embedded servers as children. SIGHUP reads
the configuration again and, if it is valid, starts a new generation on the same sockets while the old one finishes
what it runs; an invalid file changes nothing. SIGTERM and SIGINT drain. Knows no interface and no service.
"""

import asyncio
import contextlib
import logging
import signal
import socket
import sys
import time
from collections.abc import Callable

import uvloop

from gateway import logs
from gateway.access.keys import KeyFile, ensure_dev_key
from gateway.app import build_app, build_ops_app
from gateway.config import Config, Environment
from gateway.config_file import ConfigError
from gateway.local.embedded import EmbeddedServers, dev_key_path
from gateway.local.notify import Notifier
from gateway.web.runner import Listener, bind

EX_FAILED = 1
_BEAT_S = 0.5


class Generation:
    """One configuration in force, and what listens for it."""

    def __init__(self, config: Config, servers: EmbeddedServers, docs_address: str) -> None:
        self._config = config
        self._app = build_app(config, servers.upstreams, docs_address)
        self._ops_app = build_ops_app(self._app, servers.waiting)
        self._listeners: list[Listener] = []

    async def start(self, product: socket.socket, ops: socket.socket | None) -> None:
        timeout_s = self._config.server.header_timeout_s
        for app, sock, tls in ((self._app, product, self._config.server.tls), (self._ops_app, ops, None)):
            if sock is not None:
                listener = Listener(app, timeout_s)
                self._listeners.append(listener)
                await listener.start([sock.dup()], tls)

    async def finish(self) -> None:
        """Drain the product listener while the ops listener still tells that it drains; then close everything."""
        stopped = await self._listeners[0].drain(self._config.server.drain_s)
        if stopped:
            logs.event("requests_ended", level=logging.WARNING, count=stopped)
        for listener in reversed(self._listeners):
            await listener.close()


class Serving:
    """The life of a serving process. `reload` reads the configuration anew; it raises ConfigError."""

    def __init__(self, config: Config, environment: Environment, reload: Callable[[], Config]) -> None:
        self._config = config
        self._reload = reload
        self._notifier = Notifier(environment.notify_socket)
        self._beat_s = min(_BEAT_S, environment.watchdog_s / 3 or _BEAT_S)
        self._inherited = environment.listen_fds
        self._stop = asyncio.Event()
        self._reread = asyncio.Event()
        self._finishing: set[asyncio.Task[None]] = set()

    async def run(self) -> int:
        """Serve until told to stop. Returns the exit code."""
        started = time.monotonic()
        self._listen_to_signals()
        try:
            product, ops = self._sockets()
        except OSError as error:
            sys.stderr.write(f"gateway: {error.strerror}: {_addresses(self._config)}; see server.port and ops.port\n")
            return EX_FAILED
        servers = EmbeddedServers(self._config)
        beat = asyncio.create_task(self._beat())
        try:
            docs_address = "{}:{}".format(*ops.getsockname()[:2]) if ops is not None else ""
            generation = Generation(self._config, servers, docs_address)
            servers.start()
            await generation.start(product, ops)
            announcing = asyncio.create_task(self._announce(servers, product, docs_address, started))
            generation = await self._until_stopped(generation, servers, (product, ops))
            announcing.cancel()
            self._notifier.stopping()
            await asyncio.gather(generation.finish(), *self._finishing)
        finally:
            beat.cancel()
            await servers.close()
            for sock in (product, ops):
                if sock is not None:
                    sock.close()
        logs.event("stopped")
        return 0

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._reread.set)

    def _sockets(self) -> tuple[socket.socket, socket.socket | None]:
        """The product socket (systemd's, when it hands one over) and the ops socket. Raises OSError."""
        server, ops = self._config.server, self._config.ops
        if self._inherited:
            product = socket.socket(fileno=self._inherited[0])
            product.setblocking(False)
        else:
            product = bind(server.host, server.port)
        try:
            return product, bind(ops.host, ops.port) if ops.port else None
        except OSError:
            product.close()
            raise

    async def _until_stopped(
        self, generation: Generation, servers: EmbeddedServers, sockets: tuple[socket.socket, socket.socket | None]
    ) -> Generation:
        """Replace the generation at every valid reload. Returns the last one."""
        docs_address = "{}:{}".format(*sockets[1].getsockname()[:2]) if sockets[1] is not None else ""
        while True:
            waits = [asyncio.create_task(event.wait()) for event in (self._stop, self._reread)]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for task in waits:
                task.cancel()
            if self._stop.is_set():
                return generation
            self._reread.clear()
            try:
                config = self._reload()
            except ConfigError as error:
                logs.event("reload_refused", level=logging.ERROR, error=str(error))
                continue
            fresh = Generation(config, servers, docs_address)
            await fresh.start(*sockets)
            finishing = asyncio.create_task(generation.finish())
            self._finishing.add(finishing)
            finishing.add_done_callback(self._finishing.discard)
            generation = fresh
            logs.event("reloaded")

    async def _beat(self) -> None:
        """Signs of life for systemd, sent from the loop: a loop that is stuck is restarted."""
        while True:
            self._notifier.alive()
            await asyncio.sleep(self._beat_s)

    async def _announce(
        self, servers: EmbeddedServers, product: socket.socket, docs_address: str, started: float
    ) -> None:
        host, port = product.getsockname()[:2]
        scheme = "https" if self._config.server.tls else "http"
        url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{self._config.server.base_path}"
        for name in servers.waiting():
            sys.stderr.write(f"loading the embedded {name} model …\n")
        await servers.wait_ready()
        seconds = time.monotonic() - started
        logs.event("ready", url=url, seconds=round(seconds, 2))
        self._notifier.ready(f"serving on {url}")
        sys.stdout.write(_welcome(url, docs_address, dev_key_path(self._config.state_dir), seconds))
        sys.stdout.flush()


def _addresses(config: Config) -> str:
    return f"{config.server.host}:{config.server.port} or {config.ops.host}:{config.ops.port}"


def _welcome(url: str, docs_address: str, key_file: object, seconds: float) -> str:
    headers = f'-H "Authorization: Bearer $(cat {key_file})" -H "Content-Type: application/json"'
    call = f"curl -s {url}/tools/websearch/mcp {headers}"
    rpc = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"websearch-%s","arguments":%s}}'
    chat = '{"model":"SvcLLM","messages":[{"role":"user","content":"What is an HTTP gateway?"}],"max_tokens":60}'
    lines = [
        f"\nThe gateway answers on {url} after {seconds:.1f} s. Its key is in {key_file}. Try:\n",
        f'curl -s {url}/v1/chat/completions -H "Authorization: Bearer $(cat {key_file})" '
        f"-H \"Content-Type: application/json\" -d '{chat}'\n",
    ]
    if docs_address:
        crawl = rpc % ("crawl", f'{{"url":"http://{docs_address}/docs/","limit":20}}')
        search = rpc % ("search", '{"query":"how long until a revoked key is refused","max_results":3}')
        lines.append(f"{call} -d '{crawl}' | head -c 2000; echo; {call} -d '{search}'\n")
    lines.append(f"{call} -d '{rpc % ('search_status', '{}')}'\n\n")
    return "\n".join(lines)


def serve(config: Config, environment: Environment, reload: Callable[[], Config]) -> int:
    """Run the gateway until it is told to stop. Returns the exit code."""
    logs.set_up(config.log.level, config.log.format)
    config.state_dir.mkdir(parents=True, exist_ok=True)
    keys = KeyFile(config.state_dir / config.access.keys_file)
    ensure_dev_key(keys, dev_key_path(config.state_dir))
    with contextlib.suppress(KeyboardInterrupt):
        return uvloop.run(Serving(config, environment, reload).run())
    return 130
