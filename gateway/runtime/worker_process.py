"""One place in a group of workers: keeps a worker process running there, watches it, and stops it.

Theory of operation. `run` is one task; everything else is called in the same event loop.

| state    | invariant                                  | leaves it when                                              |
|----------|--------------------------------------------|-------------------------------------------------------------|
| starting | the process runs, no `ready` line yet      | `ready`: serving; dead, or silent for `start_s`: pausing    |
| serving  | it sends `beat` lines (see `worker`)       | dead, or silent for `silent_s` (then it is killed): pausing |
| pausing  | no process; over 1 s, its socket is closed | the pause of `RestartPolicy` is over: starting              |
|          | so that others get its connections         |                                                             |
| stopping | after `stop`; no restart                   | the process has ended, by itself or by `kill`               |

`wait_ready` fails after `_EARLY_DEATHS` deaths before the first `ready`. The kernel hands each connection to one
worker, so a worker that dies takes only its own requests with it. Wire format of the channel: see `worker`. Knows no
signals of the operator, no systemd, and no other worker.
"""

import asyncio
import contextlib
import logging
import pickle
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import multiprocess

from gateway import logs
from gateway.config.environment import Environment, worker_environment
from gateway.config.settings import Config
from gateway.errors import GatewayError
from gateway.resilience.restart_policy import RestartPolicy
from gateway.runtime.listen_sockets import ListenSockets
from gateway.runtime.worker import READY, REPLACED, Assignment

_EARLY_DEATHS = 2
"""Deaths before the first `ready` that make a start or a reload fail. Chosen: one may be an accident of the machine. A
single one would refuse a reload for that; four would delay the answer for a wrong certificate by two more starts."""

_CLOSE_SOCKET_PAUSE_S = 1.0
"""Longer pauses close the worker's socket. Chosen: connections in its queue wait meanwhile, and a second is hardly
noticed. At half, short pauses lose the connections that wait in the queue; at double, callers wait up to 2 s."""

_SILENT_CHECKS = 2
"""Checks in a row that must find a worker silent. One is not enough: after the parent itself was stopped for a while
(SIGSTOP, a sleeping machine), the first check comes before the beats that wait in the channel are read."""


class WorkersFailed(GatewayError):
    """The workers do not become ready."""


@dataclass(frozen=True, slots=True)
class WatchdogSettings:
    """After how many seconds a silent worker is killed: `silent_s` when it serves, `start_s` before it is ready.
    It is checked every `check_s`.

    Chosen: a worker beats every second, and only a blocked event loop stops it. At half of 20 s, a long garbage
    collection or a swapping machine kills sound workers; at double, callers of a stuck worker wait 40 s. A start takes
    seconds: at half of 60 s, a loaded machine fails to start; at double, a hanging start is noticed late. A check
    costs microseconds; it also bounds how late a worker learns that an embedded server is ready.
    """

    silent_s: float = 20.0
    start_s: float = 60.0
    check_s: float = 0.25


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """What every worker is started with. `ops` is None when the ops listener is off; `ports` are those of the embedded
    servers by name; `waiting` gives the names of those that are not ready yet."""

    sockets: ListenSockets
    ops: socket.socket | None
    environment: Environment
    metrics_folder: Path
    ports: dict[str, int]
    waiting: Callable[[], list[str]]


class WorkerProcess:
    """Keeps one worker running; `index` is its place in the group and selects its socket."""

    def __init__(self, index: int, config: Config, context: WorkerContext, watchdog: WatchdogSettings) -> None:
        self._index = index
        self._config, self._context, self._watchdog = config, context, watchdog
        self._process: asyncio.subprocess.Process | None = None
        self._channel: asyncio.StreamWriter | None = None
        self._stopping = asyncio.Event()
        self._startup_over = asyncio.Event()
        self._is_ready = False
        self._last_line_at = time.monotonic()
        self._restarts = RestartPolicy(give_up_after=_EARLY_DEATHS)

    @property
    def pid(self) -> int | None:
        """The process id; None while no process runs."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    @property
    def is_silent(self) -> bool:
        """Whether the process runs and has sent no line for longer than the watchdog allows."""
        limit_s = self._watchdog.silent_s if self._is_ready else self._watchdog.start_s
        return self.pid is not None and time.monotonic() - self._last_line_at > limit_s

    async def wait_ready(self) -> None:
        """Wait until the worker has been ready once. Raises WorkersFailed when it keeps dying before that."""
        await self._startup_over.wait()
        if self._restarts.has_given_up:
            raise WorkersFailed("the workers end before they are ready; the log says why")

    async def run(self) -> None:
        """Keep a worker running until `stop`; returns when the last one has ended. Never raises."""
        while not self._stopping.is_set():
            started = time.monotonic()
            try:
                reason = str(await self._run_once())
            except OSError as error:
                reason = error.strerror or type(error).__name__
            self._is_ready = False
            if not self._stopping.is_set():
                await self._pause(reason, time.monotonic() - started)

    def stop(self, replaced: bool) -> None:
        """Have the worker drain and end, and start no other; returns at once. `replaced`: another group serves."""
        self._stopping.set()
        if replaced and self._is_ready and self._channel is not None:
            self._channel.write(REPLACED)
        else:
            self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the process at once, if there is one."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def _pause(self, reason: str, ran_s: float) -> None:
        pause_s = self._restarts.record_death(ran_s)
        if self._restarts.has_given_up:
            self._startup_over.set()
        logs.event("worker_ended", level=logging.WARNING, exit=reason, pause_s=pause_s)
        if pause_s > _CLOSE_SOCKET_PAUSE_S:
            self._context.sockets.close(self._index)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self._stopping.wait()

    async def _run_once(self) -> int | None:
        """Run one process from start to end. Returns its exit code. Raises OSError when it cannot be started."""
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=ours)
        self._channel = writer
        try:
            with theirs:
                process = await self._spawn(theirs.fileno())
            ended = asyncio.create_task(process.wait())
            listening = asyncio.create_task(self._listen(reader))
            try:
                await self._watch(ended, writer)
            finally:
                self.kill()
                await asyncio.wait({ended})
                listening.cancel()
                await asyncio.wait({listening})
        finally:
            writer.close()
        multiprocess.mark_process_dead(process.pid, str(self._context.metrics_folder))  # type: ignore[no-untyped-call]
        return process.returncode

    async def _spawn(self, channel: int) -> asyncio.subprocess.Process:
        """Start a process, in a session of its own: only the parent shall receive a terminal's Ctrl-C."""
        product = self._context.sockets.for_worker(self._index).fileno()
        ops = self._context.ops.fileno() if self._context.ops is not None else None
        folder = self._context.metrics_folder
        assignment = Assignment(self._config, product, ops, channel, self._context.ports, str(folder))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gateway", "worker"),
            stdin=asyncio.subprocess.PIPE,
            env=worker_environment(self._context.environment, folder),
            pass_fds=[fd for fd in (product, ops, channel) if fd is not None],
            start_new_session=True,
        )
        self._process, self._last_line_at = process, time.monotonic()
        if self._stopping.is_set():
            self._signal(signal.SIGTERM)
        assert process.stdin is not None
        process.stdin.write(pickle.dumps(assignment))
        process.stdin.close()
        return process

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                self._last_line_at = time.monotonic()
                if line == READY:
                    self._is_ready = True
                    self._restarts.record_ready()
                    self._startup_over.set()

    async def _watch(self, ended: asyncio.Task[int], writer: asyncio.StreamWriter) -> None:
        """Return when the worker has ended or is silent. Meanwhile send it the names of servers that are not ready."""
        sent, silent_checks = None, 0
        while not ended.done() and silent_checks < _SILENT_CHECKS:
            waiting = self._context.waiting()
            if waiting != sent and not self._stopping.is_set():
                writer.write(" ".join(waiting).encode() + b"\n")
                sent = waiting
            await asyncio.wait({ended}, timeout=self._watchdog.check_s)
            silent_checks = silent_checks + 1 if self.is_silent else 0
        if not ended.done():
            logs.event("worker_silent", level=logging.ERROR, pid=self.pid)
