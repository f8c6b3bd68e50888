"""One place in a group of workers: keeps a worker process running there, watches it, and stops it.

Theory of operation. `run` is one task; everything else is called in the same event loop.

| state    | invariant                                  | leaves it when                                              |
|----------|--------------------------------------------|-------------------------------------------------------------|
| starting | the process runs, no `ready` line yet      | `ready`: serving; dead, or silent for `start_s`: pausing    |
| serving  | it sends `beat` lines (see `channel`)      | dead, or silent for `server.stuck_s` (killed then): pausing;|
|          |                                            | silent for `relief_s` and no other worker answers: relieved |
| relieved | another process starts in this place; the  | it beats again (then it drains), or it is silent for        |
|          | silent one is watched by `_see_off`        | `server.stuck_s` and killed: ended                          |
| pausing  | no process                                 | the pause of `RestartPolicy` is over: starting              |
| stopping | after `stop`; no restart                   | the process has ended, by itself or by `kill`               |

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
from gateway.config.environment import Environment, worker_environment
from gateway.config.settings import Config
from gateway.errors import GatewayError
from gateway.resilience.restart_policy import RestartPolicy
from gateway.runtime.channel import READY, REPLACED, Assignment
from gateway.runtime.sockets import Sockets
from gateway.runtime.worker_start import StartedWorker

_EARLY_DEATHS = 2
"""Deaths before the first `ready` that make a start or a reload fail. Chosen: one may be an accident of the machine. A
single one would refuse a reload for that; four would delay the answer for a wrong certificate by two more starts."""

AFTER_DRAIN_S = 12.0
"""Time a draining worker has beyond `server.drain_s` to close before it is killed. Chosen: cancelled requests, provider
sessions and parse processes close in a few seconds. At half, a worker of a loaded machine is killed while it closes,
and its log lines are lost; at double, one that hangs delays every stop of the gateway by 24 s."""


class WorkersFailed(GatewayError):
    """The workers do not become ready."""


@dataclass(frozen=True, slots=True)
class WatchdogSettings:
    """A worker is killed when it is silent for `start_s` before it is ready, or for `server.stuck_s` later. After
    `relief_s` another one is started beside it if no other answers. It is checked every `check_s`.

    Chosen: only a blocked event loop stops the beats. A start takes seconds: at half of 60 s, a loaded machine fails to
    start; at double, a hanging start is noticed late. Relief costs a second of CPU: at half of 1.5 s, it would follow
    each long decoding on a busy machine; at double, callers of a lone stuck worker wait for 4 s. A check costs
    microseconds; it also bounds how late a worker learns that an embedded server is ready.
    """

    start_s: float = 60.0
    relief_s: float = 1.5
    check_s: float = 0.25


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """What every worker is started with. `ports` are those of the embedded servers by name; `waiting` gives the names
    of those that are not ready yet."""

    sockets: Sockets
    environment: Environment
    metrics_folder: Path
    ports: dict[str, int]
    waiting: Callable[[], list[str]]


class Silence:
    """For how long nothing was heard, in time in which this process could have heard it.

    Call `tick` regularly, about every `interval_s`. A tick that comes late (this process was stopped, or the machine
    slept or swapped) counts as one interval: what was sent meanwhile has not been read yet.
    """

    def __init__(self, interval_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._longest_tick_s, self._clock = 2 * interval_s, clock
        self._ticked_at = clock()
        self.seconds = 0.0

    def tick(self) -> None:
        """Count the time since the last tick."""
        now = self._clock()
        self.seconds += min(now - self._ticked_at, self._longest_tick_s)
        self._ticked_at = now

    def heard(self) -> None:
        """Something was heard just now."""
        self.seconds = 0.0


class _Running:
    """One worker process, its end of the channel and what was heard from it."""

    def __init__(self, process: StartedWorker, check_s: float) -> None:
        self.process = process
        self.writer: asyncio.StreamWriter
        self.is_ready = False
        self.silence = Silence(check_s)
        self.ended = asyncio.create_task(process.wait())

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
        self,
        config: Config,
        context: WorkerContext,
        watchdog: WatchdogSettings,
        others_answer: Callable[[], bool],
        started: StartedWorker | None = None,
    ) -> None:
        """`started`: a process that was started ahead, to be used first."""
        self._config, self._context, self._watchdog = config, context, watchdog
        self._others_answer = others_answer
        self._started = started
        self._running: _Running | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._startup_over = asyncio.Event()
        self._restarts = RestartPolicy(give_up_after=_EARLY_DEATHS)

    @property
    def pid(self) -> int | None:
        """The process id; None while no process runs."""
        running = self._running
        return running.process.pid if running is not None and not running.ended.done() else None

    @property
    def answers(self) -> bool:
        """Whether its process is ready and was heard of within `relief_s`."""
        running = self._running
        return self.pid is not None and running is not None and running.is_ready and not self._needs_relief(running)

    @property
    def is_stuck(self) -> bool:
        """Whether the process runs and has sent no line for longer than it may."""
        return self.pid is not None and self._running is not None and self._is_stuck(self._running)

    def _is_stuck(self, running: _Running) -> bool:
        limit_s = self._config.server.stuck_s if running.is_ready else self._watchdog.start_s
        return running.silence.seconds > limit_s

    def _needs_relief(self, running: _Running) -> bool:
        return running.silence.seconds > self._watchdog.relief_s

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
                running = await self._spawn()
                is_relieved = await self._watch(running)
                reason = str(running.process.exit_code)
            except OSError as error:
                is_relieved, reason = False, error.strerror or type(error).__name__
            if not is_relieved and not self._stopping.is_set():
                await self._pause(reason, time.monotonic() - started)
        if self._leaving:
            await asyncio.wait(self._leaving)

    def stop(self, replaced: bool) -> None:
        """Have the worker drain and end, and start no other; returns at once. `replaced`: another group serves."""
        self._stopping.set()
        if self._running is not None:
            self._running.drain(replaced)

    def kill(self) -> None:
        """Kill the process at once, if there is one."""
        if self._running is not None:
            self._running.signal(signal.SIGKILL)

    async def _pause(self, reason: str, ran_s: float) -> None:
        pause_s = self._restarts.record_death(ran_s)
        if self._restarts.has_given_up:
            self._startup_over.set()
        logs.event("worker_ended", level=logging.WARNING, exit=reason, pause_s=pause_s)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self._stopping.wait()

    async def _spawn(self) -> _Running:
        """Start a process, or take the one that was started ahead, and assign it. Raises OSError."""
        process, self._started = self._started, None
        context = self._context
        if process is None:
            process = StartedWorker(worker_environment(context.environment, context.metrics_folder))
        running = _Running(process, self._watchdog.check_s)
        assignment = Assignment(
            self._config, context.ports, str(context.metrics_folder), context.sockets.outlives_us,
            context.environment.logs_to_journal,
        )  # fmt: skip
        with contextlib.suppress(ConnectionError, TimeoutError):  # it has ended: `_watch` sees that
            process.assign(assignment, context.sockets.descriptors())
        reader, running.writer = await asyncio.open_connection(sock=process.channel)
        self._running = running
        self._leaving.add(listening := asyncio.create_task(self._listen(reader, running)))
        listening.add_done_callback(self._leaving.discard)
        if self._stopping.is_set():
            running.signal(signal.SIGTERM)
        return running

    async def _listen(self, reader: asyncio.StreamReader, running: _Running) -> None:
        """Note what the worker says, until it ends; then tidy up after it."""
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                running.silence.heard()
                if line == READY:
                    running.is_ready = True
                    self._restarts.record_ready()
                    self._startup_over.set()
        await asyncio.wait({running.ended})
        running.writer.close()
        for file in self._context.metrics_folder.glob(f"gauge_live*_{running.process.pid}.db"):
            file.unlink(missing_ok=True)  # as prometheus_client's `mark_process_dead`, which is too large to import

    async def _watch(self, running: _Running) -> bool:
        """Return False when the worker has ended or was killed for its silence, True when another process shall start
        beside it. Meanwhile send it the names of servers that are not ready."""
        sent = None
        while not running.ended.done():
            waiting = self._context.waiting()
            if waiting != sent and not self._stopping.is_set():
                running.writer.write(" ".join(waiting).encode() + b"\n")
                sent = waiting
            await asyncio.wait({running.ended}, timeout=self._watchdog.check_s)
            running.silence.tick()
            if self._is_stuck(running):
                await self._kill_stuck(running)
            elif self._is_to_be_relieved(running):
                logs.event("worker_relieved", level=logging.WARNING, pid=running.process.pid)
                self._leaving.add(leaving := asyncio.create_task(self._see_off(running)))
                leaving.add_done_callback(self._leaving.discard)
                return True
        return False

    def _is_to_be_relieved(self, running: _Running) -> bool:
        if not running.is_ready or self._stopping.is_set() or not self._needs_relief(running):
            return False
        return not self._others_answer()

    async def _see_off(self, running: _Running) -> None:
        """Wait for the end of a worker that was relieved: it drains when it wakes up, and is killed if it does not."""
        is_told, drain_ends = False, 0.0
        while not running.ended.done():
            await asyncio.wait({running.ended}, timeout=self._watchdog.check_s)
            running.silence.tick()
            if not is_told and not self._needs_relief(running):
                is_told, drain_ends = True, time.monotonic() + self._config.server.drain_s + AFTER_DRAIN_S
                running.drain(replaced=True)
            if self._is_stuck(running) or (is_told and time.monotonic() > drain_ends):
                await self._kill_stuck(running)

    async def _kill_stuck(self, running: _Running) -> None:
        logs.event("worker_silent", level=logging.ERROR, pid=running.process.pid)
        running.signal(signal.SIGKILL)
        await asyncio.wait({running.ended})
