"""One place in a group of workers: keeps a worker process running there, watches it, and stops it.

Theory of operation. `run` is one task; everything else is called in the same event loop.

| state    | invariant                                  | leaves it when                                              |
|----------|--------------------------------------------|-------------------------------------------------------------|
| starting | the process runs, no `ready` line yet      | `ready`: serving; dead, or silent for `start_s`: pausing    |
| serving  | it sends `beat` lines (see `channel`)      | dead, or silent for `server.stuck_s` (killed then): pausing;|
|          |                                            | silent for `relief_s` and no other worker answers: relieved |
| relieved | as serving, and a spare process accepts    | it beats again: serving, and the spare drains; dead, or     |
|          | new connections from the same socket       | silent for `server.stuck_s`: the spare is serving           |
| pausing  | no process                                 | the pause of `RestartPolicy` is over: starting              |
| stopping | after `stop`; no restart                   | the processes have ended, by themselves or by `kill`        |

There is one spare at most, and none is started while `_MAX_DISMISSED` earlier ones still drain: a worker that stumbles
again and again costs three processes more at most.
`wait_ready` fails after `_EARLY_DEATHS` deaths before the first `ready`. All workers accept from one socket, so one
that is stuck keeps no new connection waiting while another one answers. Silence is counted in the time in which this
process itself was scheduled (`Silence`). Knows no signals of the operator, no systemd, and no other worker.
"""

import asyncio
import contextlib
import logging
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gateway import logs
from gateway.child.restart_policy import RestartPolicy
from gateway.config.environment import Environment
from gateway.config.settings import Config
from gateway.errors import GatewayError
from gateway.runtime.channel import READY, REPLACED, Assignment
from gateway.runtime.fork_server import ForkServer
from gateway.runtime.silence import Silence, cpu_wait_s
from gateway.runtime.sockets import Sockets
from gateway.runtime.worker_start import StartedWorker

_EARLY_DEATHS = 2
"""Deaths before the first `ready` that make a start or a reload fail. Chosen: one may be an accident of the machine. A
single one would refuse a reload for that; four would delay the answer for a wrong certificate by two more starts."""

AFTER_DRAIN_S = 12.0
"""Time a draining worker has beyond `server.drain_s` to close before it is killed. Chosen: cancelled requests, provider
sessions and parse processes close in a few seconds. At half, a worker of a loaded machine is killed while it closes,
and its log lines are lost; at double, one that hangs delays every stop of the gateway by 24 s."""


_MAX_DISMISSED = 2
"""Spares that may drain at once. Chosen: at one, a second hiccup within a drain is not relieved; at four, a worker that
keeps stumbling has five processes of about 20 MiB beside it."""


class WorkersFailed(GatewayError):
    """The workers do not become ready."""


@dataclass(frozen=True, slots=True)
class WatchdogSettings:
    """A worker is killed when it is silent for `start_s` before it is ready, or for `server.stuck_s` later. After
    `relief_s`, time in which it waited for a processor not counted, a spare is started if no other worker answers. It
    is checked every `check_s`.

    Chosen: only a blocked event loop stops the beats. A start takes seconds: at half of 60 s, a loaded machine fails to
    start; at double, a hanging start is noticed late. New connections shall wait for half a second at most (issue 17):
    `relief_s`, a check, and 50 ms for the start of the spare. At half of 0.25 s, two late beats would start one; at
    double, the bound is missed. A check costs microseconds; it also bounds how late a worker learns of ready servers.
    """

    start_s: float = 60.0
    relief_s: float = 0.25
    check_s: float = 0.1


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """What every worker is started with, and by whom. `ports` are those of the embedded servers by name; `waiting`
    gives the names of those that are not ready yet."""

    sockets: Sockets
    environment: Environment
    metrics_folder: Path
    ports: dict[str, int]
    waiting: Callable[[], list[str]]
    fork_server: ForkServer


class _Running:
    """One worker process, its end of the channel and what was heard from it."""

    def __init__(self, process: StartedWorker, check_s: float) -> None:
        self.process = process
        self.writer: asyncio.StreamWriter
        self.is_ready = False
        self.silence = Silence(check_s)
        self._cpu_wait_s = 0.0
        self._sent_names: list[str] | None = None
        self.ended = asyncio.create_task(process.wait())

    def heard(self) -> None:
        self.silence.heard()
        self._cpu_wait_s = cpu_wait_s(self.process.pid)

    def is_silent(self, limit_s: float) -> bool:
        """Whether it is ready, and could have sent a line within the limit."""
        if not self.is_ready or self.silence.seconds <= limit_s:
            return False
        return self.silence.seconds - (cpu_wait_s(self.process.pid) - self._cpu_wait_s) > limit_s

    def tell(self, waiting: list[str]) -> None:
        """Send it the names of the servers that are not ready, if they have changed."""
        if waiting != self._sent_names:
            self.writer.write(" ".join(waiting).encode() + b"\n")
            self._sent_names = waiting

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def drain(self, replaced: bool) -> None:
        if replaced and self.is_ready:
            self.writer.write(REPLACED)
        else:
            self.signal(signal.SIGTERM)


class WorkerProcess:
    """Keeps one worker running. `others_answer` says whether another worker of the group can take new connections."""

    def __init__(
        self, config: Config, context: WorkerContext, watchdog: WatchdogSettings, others_answer: Callable[[], bool]
    ) -> None:
        self._config, self._context, self._watchdog = config, context, watchdog
        self._others_answer = others_answer
        self._running: _Running | None = None
        self._spare: asyncio.Task[_Running] | None = None
        self._alive: set[_Running] = set()
        self._listening: set[asyncio.Task[None]] = set()
        self._dismissed: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._startup_over = asyncio.Event()
        self._restarts = RestartPolicy(give_up_after=_EARLY_DEATHS)

    @property
    def pid(self) -> int | None:
        """The process id; None while no process runs. That of a spare is not told."""
        running = self._running
        return running.process.pid if running is not None and not running.ended.done() else None

    @property
    def answers(self) -> bool:
        """Whether its process is ready and was heard of within `relief_s`."""
        running = self._running
        return running is not None and running in self._alive and running.is_ready and not self._is_silent(running)

    @property
    def is_stuck(self) -> bool:
        """Whether the process runs and has sent no line for longer than it may."""
        return self.pid is not None and self._running is not None and self._is_stuck(self._running)

    def _is_stuck(self, running: _Running) -> bool:
        limit_s = self._config.server.stuck_s if running.is_ready else self._watchdog.start_s
        return running.silence.seconds > limit_s

    def _is_silent(self, running: _Running) -> bool:
        return running.is_silent(self._watchdog.relief_s)

    async def wait_ready(self) -> None:
        """Wait until the worker has been ready once. Raises WorkersFailed when it keeps dying before that."""
        await self._startup_over.wait()
        if self._restarts.has_given_up:
            raise WorkersFailed("the workers end before they are ready; the log says why")

    async def run(self) -> None:
        """Keep a worker running until `stop`; returns when all processes have ended. Never raises."""
        while not self._stopping.is_set():
            started = time.monotonic()
            try:
                self._running = running = await self._next()
                await self._watch(running)
                code = running.ended.result()
                reason = "unknown" if code is None else str(code)
            except OSError as error:
                reason = error.strerror or type(error).__name__
            if not self._stopping.is_set():
                await self._pause(reason, time.monotonic() - started)
        if self._spare is not None:
            with contextlib.suppress(OSError):
                self._dismiss(await self._spare)
        if rest := {*self._listening, *self._dismissed}:
            await asyncio.wait(rest)

    def stop(self, replaced: bool) -> None:
        """Have the worker drain and end, and start no other; returns at once. `replaced`: another group serves."""
        self._stopping.set()
        for running in self._alive:
            running.drain(replaced)

    def kill(self) -> None:
        """Kill its processes at once, if there are any."""
        for running in self._alive:
            running.signal(signal.SIGKILL)

    async def _pause(self, reason: str, ran_s: float) -> None:
        """Log a death, and wait as long as it asks for. Where a spare serves already there is nothing to wait for."""
        pause_s = self._restarts.record_death(ran_s) if self._spare is None else 0.0
        if self._restarts.has_given_up:
            self._startup_over.set()
        logs.event("worker_ended", level=logging.WARNING, exit=reason, pause_s=pause_s)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self._stopping.wait()

    async def _next(self) -> _Running:
        """The spare, if there is one, else a new process. Raises OSError."""
        spare, self._spare = self._spare, None
        return await (spare or self._spawn())

    async def _spawn(self) -> _Running:
        """Start a process and assign it. Raises OSError."""
        context = self._context
        process = await context.fork_server.start_worker()
        running = _Running(process, self._watchdog.check_s)
        self._alive.add(running)
        assignment = Assignment(
            self._config, context.ports, str(context.metrics_folder), context.sockets.outlives_us,
            context.environment.logs_to_journal,
        )  # fmt: skip
        with contextlib.suppress(ConnectionError, TimeoutError):  # it has ended: `_watch` sees that
            process.assign(assignment, context.sockets.descriptors())
        reader, running.writer = await asyncio.open_connection(sock=process.channel)
        self._listening.add(listening := asyncio.create_task(self._listen(reader, running)))
        listening.add_done_callback(self._listening.discard)
        if self._stopping.is_set():
            running.signal(signal.SIGTERM)
        else:
            running.tell(context.waiting())
        return running

    async def _listen(self, reader: asyncio.StreamReader, running: _Running) -> None:
        """Note what the worker says, until it ends; then tidy up after it."""
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                running.heard()
                if line == READY:
                    running.is_ready = True
                    self._restarts.record_ready()
                    self._startup_over.set()
        await asyncio.wait({running.ended})
        self._alive.discard(running)
        running.writer.close()
        for file in self._context.metrics_folder.glob(f"gauge_live*_{running.process.pid}.db"):
            file.unlink(missing_ok=True)  # as prometheus_client's `mark_process_dead`, which is too large to import

    async def _watch(self, running: _Running) -> None:
        """Return when the worker has ended, or was killed for its silence. Meanwhile send it the names of servers that
        are not ready, and have a spare beside it while it is silent."""
        while not running.ended.done():
            await asyncio.wait({running.ended}, timeout=self._watchdog.check_s)
            running.silence.tick()
            if self._is_stuck(running):
                await self._kill_stuck(running)
            elif not self._stopping.is_set():
                running.tell(self._context.waiting())
                self._relieve(running)

    def _relieve(self, running: _Running) -> None:
        """Start a spare when the worker is silent and nobody else answers; dismiss it when the worker goes on."""
        if self._spare is not None and self._spare.done():
            spare = None if self._spare.exception() else self._spare.result()
            if spare is None or spare not in self._alive:
                self._spare = None
            elif not self._is_silent(running):
                logs.event("worker_returned", pid=running.process.pid)
                self._spare = None
                self._dismiss(spare)
            return
        may_start = self._spare is None and len(self._dismissed) < _MAX_DISMISSED
        if may_start and self._is_silent(running) and not self._others_answer():
            logs.event("worker_relieved", level=logging.WARNING, pid=running.process.pid)
            self._spare = asyncio.create_task(self._spawn())

    def _dismiss(self, spare: _Running) -> None:
        """Have a spare drain and end; returns at once."""
        spare.drain(replaced=True)
        self._dismissed.add(task := asyncio.create_task(self._see_off(spare)))
        task.add_done_callback(self._dismissed.discard)

    async def _see_off(self, spare: _Running) -> None:
        """Wait for the end of a spare that drains; kill it when that takes too long."""
        await asyncio.wait({spare.ended}, timeout=self._config.server.drain_s + AFTER_DRAIN_S)
        if not spare.ended.done():
            await self._kill_stuck(spare)

    async def _kill_stuck(self, running: _Running) -> None:
        logs.event("worker_silent", level=logging.ERROR, pid=running.process.pid)
        running.signal(signal.SIGKILL)
        await asyncio.wait({running.ended})
