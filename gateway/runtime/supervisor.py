"""`gateway serve`: sockets, embedded servers, systemd, signals, and an orderly end.

With one worker this process serves; with more, workers serve and it only supervises them. In both cases the embedded
servers are its children. Theory of operation:

| state    | what happens                                              | leaves it when                             |
|----------|-----------------------------------------------------------|--------------------------------------------|
| starting | sockets are bound, embedded servers and service start     | the service listens: serving; SIGTERM or   |
|          |                                                           | SIGINT: draining; it cannot start: exit 1  |
| serving  | `READY` goes to systemd when the embedded servers answer; | SIGTERM or SIGINT: draining                |
|          | SIGHUP reads the configuration and `replace`s it; a       |                                            |
|          | configuration that is invalid or fails changes nothing    |                                            |
| draining | `Service.finish`: no new connections, running requests    | the service has finished: embedded servers |
|          | end or are cancelled after `server.drain_s`               | are stopped, sockets closed, exit 0        |

Knows no interface and no provider.
"""

import asyncio
import contextlib
import logging
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Protocol

import uvloop

from gateway import logs
from gateway.access.api_keys import KeyFile, ensure_dev_key
from gateway.access.private_files import USER_HASH_KEY
from gateway.config.environment import Environment
from gateway.config.loader import ConfigError
from gateway.config.server_settings import Access
from gateway.config.settings import Config
from gateway.domain import TEXT_MODEL
from gateway.embedded.servers import EmbeddedServers, dev_key_path
from gateway.errors import EngineMissing, GatewayError, UpstreamUnavailable
from gateway.runtime.generation import Shared, SingleProcess, Sockets
from gateway.runtime.listen_sockets import ListenSockets, bind_first
from gateway.runtime.systemd import Notifier
from gateway.runtime.worker_pool import WorkerPool
from gateway.runtime.worker_process import WorkerContext
from gateway.web.server.runner import bind

EX_FAILED = 1
"""Exit code when the gateway cannot serve."""

_BEAT_S = 0.5
"""Longest time between two watchdog messages; a third of systemd's WatchdogSec if that is shorter. Chosen: at half, an
idle process wakes up twice as often; double would do for every WatchdogSec from 3 s."""

_NEEDS_RESTART = ("server.host", "server.port", "server.tls", "ops", "local_llm", "local_ocr", "log")
"""Settings that a reload cannot apply, since sockets, embedded servers and the log outlive configurations."""


class Service(Protocol):
    """What answers requests: this process (`SingleProcess`) or several workers (`WorkerPool`)."""

    async def start(self) -> None:
        """Listen. Raises OSError, GatewayError."""
        ...

    async def replace(self, config: Config) -> None:
        """Serve another configuration. Raises OSError, GatewayError; then the old one stays."""
        ...

    def is_fresh(self) -> bool:
        """Whether no event loop that serves has been silent for too long."""
        ...

    async def finish(self) -> None:
        """Accept no more connections, let running requests end, close."""
        ...


class Supervisor:
    """One run of `gateway serve`. `reload` reads the configuration anew; it raises ConfigError."""

    def __init__(self, config: Config, environment: Environment, reload: Callable[[], Config]) -> None:
        self._config = config
        self._environment = environment
        self._reload = reload
        self._notifier = Notifier(environment.notify_socket)
        self._beat_s = min(_BEAT_S, environment.watchdog_s / 3 or _BEAT_S)
        self._stop_requested = asyncio.Event()
        self._reload_requested = asyncio.Event()

    async def run(self) -> int:
        """Serve until SIGTERM or SIGINT. Returns the exit code. Raises EngineMissing."""
        started = time.monotonic()
        self._listen_to_signals()
        try:
            sockets = self._sockets()
        except OSError as error:
            return _complain(f"{error.strerror}: {_addresses(self._config)}; see server.port and ops.port")
        servers = EmbeddedServers(self._config)
        tasks: list[asyncio.Task[None]] = []
        try:
            servers.start(everything=self._config.server.workers > 1)
            service = self._service(sockets, servers)
            tasks.append(asyncio.create_task(self._beat(service)))
            if await self._start(service):
                tasks.append(asyncio.create_task(self._announce(servers, sockets, started)))
                await self._until_stopped(service)
            self._notifier.stopping()
            await service.finish()
        except (OSError, GatewayError) as error:
            if isinstance(error, EngineMissing):
                raise
            return _complain(error.message if isinstance(error, GatewayError) else str(error))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await servers.close()
            sockets.close()
        logs.event("stopped")
        return 0

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop_requested.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload_requested.set)

    def _sockets(self) -> Sockets:
        """The product socket (systemd's, if it passed one) and the ops socket. Raises OSError."""
        server, ops = self._config.server, self._config.ops
        if inherited := self._environment.listen_fds:
            product = socket.socket(fileno=inherited[0])
            product.setblocking(False)
        else:
            product = (bind if self._config.server.workers == 1 else bind_first)(server.host, server.port)
        try:
            return Sockets(product, bind(ops.host, ops.port) if ops.port else None)
        except OSError:
            product.close()
            raise

    def _service(self, sockets: Sockets, servers: EmbeddedServers) -> Service:
        if self._config.server.workers == 1:
            return SingleProcess(self._config, sockets, Shared(servers.upstreams, servers.waiting))
        folder, listening = self._config.state_dir / "metrics", ListenSockets(sockets.product)
        context = WorkerContext(listening, sockets.ops, self._environment, folder, servers.ports, servers.waiting)
        return WorkerPool(self._config, context)

    async def _start(self, service: Service) -> bool:
        """Start the service. Returns False when a signal to stop came first; then it is only partly started."""
        starting = asyncio.create_task(service.start())
        stopping = asyncio.create_task(_wait(self._stop_requested))
        await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if starting.done():
            await starting
            return True
        starting.cancel()
        await asyncio.wait({starting})
        return False

    async def _until_stopped(self, service: Service) -> None:
        """Apply a new configuration at every SIGHUP; return when a signal to stop comes."""
        while not self._stop_requested.is_set():
            waits = [asyncio.create_task(_wait(event)) for event in (self._stop_requested, self._reload_requested)]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for task in waits:
                task.cancel()
            if self._reload_requested.is_set() and not self._stop_requested.is_set():
                self._reload_requested.clear()
                await self._replace(service)

    async def _replace(self, service: Service) -> None:
        try:
            config = self._reload()
            _key_file(config)
            await service.replace(config)
        except (ConfigError, GatewayError, OSError) as error:
            logs.event("reload_refused", level=logging.ERROR, error=str(error))
            return
        needs_restart = [path for path in _NEEDS_RESTART if _setting(config, path) != _setting(self._config, path)]
        if (config.server.workers == 1) != (self._config.server.workers == 1):
            needs_restart.append("server.workers")
        logs.event("reloaded", {"needs_restart": needs_restart} if needs_restart else None)

    async def _beat(self, service: Service) -> None:
        """Feed systemd's watchdog from the event loop, so that a blocked loop, here or in a worker, gets a restart."""
        while True:
            if service.is_fresh():
                self._notifier.alive()
            await asyncio.sleep(self._beat_s)

    async def _announce(self, servers: EmbeddedServers, sockets: Sockets, started: float) -> None:
        host, port = sockets.product.getsockname()[:2]
        scheme = "https" if self._config.server.tls else "http"
        url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{self._config.server.base_path}"
        for name in servers.waiting():
            sys.stderr.write(f"loading the embedded {name} model …\n")
        try:
            await servers.wait_ready()
        except UpstreamUnavailable as error:  # the rest of the gateway serves, and the engine is restarted
            logs.event("ready_without_engine", level=logging.ERROR, error=error.message)
        seconds = time.monotonic() - started
        logs.event("ready", url=url, seconds=round(seconds, 2))
        self._notifier.ready(f"serving on {url}")
        docs_address = sockets.docs_address if self._config.reads_own_docs else ""
        sys.stdout.write(_welcome(url, docs_address, dev_key_path(self._config.state_dir), seconds))
        sys.stdout.flush()


async def _wait(event: asyncio.Event) -> None:
    await event.wait()


def _setting(config: Config, path: str) -> object:
    value: object = config
    for name in path.split("."):
        value = getattr(value, name)
    return value


def _complain(message: str) -> int:
    sys.stderr.write(f"gateway: {message}\n")
    return EX_FAILED


def _addresses(config: Config) -> str:
    return f"{config.server.host}:{config.server.port} or {config.ops.host}:{config.ops.port}"


def _welcome(url: str, docs_address: str, key_file: object, seconds: float) -> str:
    """The text printed when the gateway is ready: its address and three commands to try. `docs_address` is empty where
    callers may not read the documentation."""
    crawled, wanted = "https://example.com/", "example domain"
    if docs_address:
        crawled, wanted = f"http://{docs_address}/docs/", "how long until a revoked key is refused"
    headers = f'-H "Authorization: Bearer $(cat {key_file})" -H "Content-Type: application/json"'
    call = f"curl -s {url}/tools/websearch/mcp {headers}"
    rpc = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"websearch-%s","arguments":%s}}'
    question = '"messages":[{"role":"user","content":"What is an HTTP gateway?"}],"max_tokens":60'
    chat = f'{{"model":"{TEXT_MODEL}",{question}}}'
    lines = [
        f"\nThe gateway answers on {url} after {seconds:.1f} s. Its key is in {key_file}. Try:\n",
        f'curl -s {url}/v1/chat/completions -H "Authorization: Bearer $(cat {key_file})" '
        f"-H \"Content-Type: application/json\" -d '{chat}'\n",
    ]
    crawl = rpc % ("crawl", f'{{"url":"{crawled}","limit":20}}')
    search = rpc % ("search", f'{{"query":"{wanted}","max_results":3}}')
    lines.append(f"{call} -d '{crawl}' | head -c 2000; echo; {call} -d '{search}'\n")
    lines.append(f"{call} -d '{rpc % ('search_status', '{}')}'\n\n")
    return "\n".join(lines)


def _key_file(config: Config) -> KeyFile:
    """The key file. Raises ConfigError when it is gone though the configuration names one, or though this state
    directory has been served from: new keys must then be the operator's decision."""
    state, keys = config.state_dir, KeyFile(config.state_dir / config.access.keys_file)
    is_named = config.access.keys_file != Access().keys_file
    if keys.path.exists() or not (is_named or dev_key_path(state).exists() or (state / USER_HASH_KEY).exists()):
        return keys
    remedy = "restore it, or make keys with `gateway keys create`"
    raise ConfigError(str(keys.path), "access.keys_file", f"no such file, though this gateway has had keys; {remedy}")


def serve(config: Config, environment: Environment, reload: Callable[[], Config]) -> int:
    """Set up log and first key, then run the gateway until SIGTERM or SIGINT. Returns the exit code.

    Raises EngineMissing, ConfigError when the key file is gone, and OSError when the state directory cannot be written.
    """
    logs.set_up(config.log.level, config.log.format)
    config.state_dir.mkdir(parents=True, exist_ok=True)
    if config.access.backend == "file":
        ensure_dev_key(_key_file(config), dev_key_path(config.state_dir))
    with contextlib.suppress(KeyboardInterrupt):
        return uvloop.run(Supervisor(config, environment, reload).run())
    return 130
