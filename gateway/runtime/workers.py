"""Worker processes that serve one socket: started together, replaced together, drained together.

Theory of operation. A `WorkerGroup` is the workers of one configuration; the pool has one group that serves. The parent
serves nothing itself. A single worker's life is described below.

| group    | invariant                               | leaves it when                                        |
|----------|-----------------------------------------|-------------------------------------------------------|
| starting | its workers start on the pool's sockets | all are ready: serving; one keeps dying, or           |
|          |                                         | `start_s` is over: WorkersFailed, then `stop`         |
| serving  | dead and silent workers are replaced    | `replace` put another group in its place, or          |
|          |                                         | `finish`: draining                                    |
| draining | no restarts; running requests go on     | all workers have ended; those that take longer than   |
|          |                                         | `server.drain_s` + `AFTER_DRAIN_S` are killed: ended |

`start` comes first and once, `finish` last and once; `replace` between them, never two at the same time. While
`replace` waits for the new group, the old one serves; if the new one fails, the old one stays.

Silence of a worker is counted in time in which this process could have heard it. Two things are no silence of its
own: this process did not run, so that it could not hear (`Silence`), and the other one
wanted to run, but no processor was free (`cpu_wait_s`).

A `WorkerProcess` is one place in a group: it keeps a process running there, watches it, and stops it. `run` is one
task; everything else is called in the same event loop.

| state    | invariant                                  | leaves it when                                              |
|----------|--------------------------------------------|-------------------------------------------------------------|
| starting | the process runs, no `ready` line yet      | `ready`: serving; dead, or silent for `start_s`: pausing    |
| serving  | it sends `beat` lines (`service`)          | dead, or silent for `server.stuck_s` (killed then): pausing;|
|          |                                            | silent for `relief_s` and no other worker answers: relieved |
| relieved | as serving, and a spare process accepts    | it beats again: serving, and the spare drains; dead, or     |
|          | new connections from the same socket       | silent for `server.stuck_s`: the spare is serving           |
| pausing  | no process                                 | the pause of `RestartPolicy` is over: starting              |
| stopping | after `stop`; no restart                   | the processes have ended, by themselves or by `kill`        |

There is one spare at most, and none is started while `_MAX_DISMISSED` earlier ones still drain: a worker that stumbles
again and again costs three processes more at most. `wait_ready` fails after `_EARLY_DEATHS` deaths before the first
`ready`. All workers accept from one socket, so one that is stuck keeps no new connection waiting while another one
answers. Silence is counted in the time in which this process itself was scheduled (`Silence`).
"""

import asyncio
import contextlib
import logging
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gateway import logs
from gateway.child.restart_policy import RestartPolicy
from gateway.config.environment import Environment, worker_environment
from gateway.config.settings import Config
from gateway.errors import GatewayError
from gateway.runtime.fork_server import ForkServer, StartedWorker, metrics_folder, remove_metrics
from gateway.runtime.service import END, MAX_OLD, READY, REPLACED, Assignment, ServiceContext, Sockets


class Silence:
    """Seconds in which nothing was heard, of those in which this process could have heard it.

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


def cpu_wait_s(pid: int) -> float:
    """Seconds of its life in which the first thread of a process was ready to run while no processor was free.

    0 where the kernel does not tell (`/proc/PID/schedstat`, proc(5); read 2026-11-22), or the process has ended.
    """
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


_EARLY_DEATHS = 2
"""Deaths before the first `ready` that make a start or a reload fail. A single one would refuse a reload for that; four
would delay the answer for a wrong certificate by two more starts."""

AFTER_DRAIN_S = 12.0
"""Time a draining worker has beyond `server.drain_s` to close before it is killed."""


_MAX_DISMISSED = 2
"""Spares that may drain at once."""


class WorkersFailed(GatewayError):
    """The workers do not become ready."""


@dataclass(frozen=True, slots=True)
class WatchdogSettings:
    """A worker is killed when it is silent for `start_s` before it is ready, or for `server.stuck_s` later. After
    `relief_s`, time in which it waited for a processor not counted, a spare is started if no other worker answers. It
    is checked every `check_s`.

    All are in seconds. A new connection waits for half a second at most (issue 17): `relief_s`, a check, and 50 ms
    for the start of the spare. `check_s` also bounds how late a worker learns of ready servers.
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

    def end_runs(self) -> None:
        if not self.writer.is_closing():
            self.writer.write(END)


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

    def end_runs(self) -> None:
        """Have a worker that was replaced end its background runs."""
        for running in self._alive:
            running.end_runs()

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
        spare.end_runs()
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


class WorkerPool:
    """All workers of a gateway. A `service.Service`."""

    def __init__(
        self,
        config: Config,
        context: ServiceContext,
        watchdog: WatchdogSettings | None = None,
        fork_server: ForkServer | None = None,
    ) -> None:
        """`fork_server`: one that was forked ahead, with `metrics_folder` of this process."""
        self._sockets = context.sockets
        folder = _fresh_metrics_folder(context.environment, config.state_dir)
        self._context = WorkerContext(
            context.sockets, context.environment, folder, context.servers.ports, context.servers.waiting,
            fork_server or ForkServer(worker_environment(context.environment, folder)),
        )  # fmt: skip
        self._watchdog = watchdog or WatchdogSettings()
        self._group = WorkerGroup(config, self._context, self._watchdog)
        self._draining: dict[WorkerGroup, asyncio.Task[None]] = {}

    def pids(self) -> list[int]:
        """Process ids of the workers that serve."""
        return [worker.pid for worker in self._group.workers if worker.pid is not None]

    async def start(self) -> None:
        """Start every worker and wait until all are ready. Raises WorkersFailed."""
        self._group.start()
        await self._group.wait_ready()

    async def replace(self, config: Config) -> None:
        """Serve another configuration with new workers, then drain the old ones without waiting for them.

        Raises WorkersFailed when the new ones do not become ready; then the old ones stay.
        """
        fresh = WorkerGroup(config, self._context, self._watchdog)
        fresh.start()
        try:
            await fresh.wait_ready()
        except BaseException:
            await fresh.stop(replaced=True)
            raise
        old = self._group
        self._draining[old] = task = asyncio.create_task(old.stop(replaced=True))
        task.add_done_callback(lambda _: self._draining.pop(old))
        for older in list(self._draining)[:-MAX_OLD]:
            older.end_runs()
        self._group = fresh

    def is_fresh(self) -> bool:
        """Whether no worker that serves has been silent for too long."""
        return not any(worker.is_stuck for worker in self._group.workers)

    async def finish(self, replaced: bool) -> None:
        """Let running requests end, and wait until every worker has ended."""
        self._sockets.product.close()  # the workers have it too, until they stop accepting
        stopping = asyncio.create_task(self._group.stop(replaced))
        await asyncio.sleep(0)
        for group in (self._group, *self._draining):
            group.end_runs()
        await asyncio.gather(stopping, *self._draining.values())
        await self._context.fork_server.close()
        remove_metrics(self._context.metrics_folder)


class WorkerGroup:
    """The workers of one configuration; the module docstring has its states."""

    def __init__(self, config: Config, context: WorkerContext, watchdog: WatchdogSettings) -> None:
        self._config = config
        self._watchdog = watchdog
        self.workers = [
            WorkerProcess(config, context, watchdog, self._has_answering) for _ in range(config.server.workers)
        ]
        self._tasks: list[asyncio.Task[None]] = []

    def _has_answering(self) -> bool:
        return any(worker.answers for worker in self.workers)

    def start(self) -> None:
        """Start every worker; returns at once."""
        self._tasks = [asyncio.create_task(worker.run()) for worker in self.workers]

    async def wait_ready(self) -> None:
        """Wait until every worker is ready. Raises WorkersFailed when one keeps dying or takes too long."""
        try:
            async with asyncio.timeout(self._watchdog.start_s):
                await asyncio.gather(*(worker.wait_ready() for worker in self.workers))
        except TimeoutError:
            raise WorkersFailed(
                f"the workers are not ready after {self._watchdog.start_s:g} s; the log says why"
            ) from None

    def end_runs(self) -> None:
        """Have workers that were replaced end their background runs."""
        for worker in self.workers:
            worker.end_runs()

    async def stop(self, replaced: bool) -> None:
        """Drain every worker and wait until all have ended; kill those that take too long. `replaced` says that others
        serve already (see `AppInstance.finish`)."""
        for worker in self.workers:
            worker.stop(replaced)
        if self._tasks:
            runs_s = self._config.responses.background.max_s if replaced else 0
            _, late = await asyncio.wait(self._tasks, timeout=self._config.server.drain_s + AFTER_DRAIN_S + runs_s)
            for worker in self.workers if late else ():
                worker.kill()
            await asyncio.gather(*self._tasks, return_exceptions=True)


def _fresh_metrics_folder(environment: Environment, state_dir: Path) -> Path:
    """The folder for this supervisor's workers, empty. Those of others are removed unless one of them still drains."""
    folder = metrics_folder(environment, state_dir)
    shutil.rmtree(folder if environment.handover else folder.parent, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
