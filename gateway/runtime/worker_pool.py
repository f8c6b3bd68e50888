"""Several worker processes on one port: started, watched, replaced, drained.

The kernel hands each connection to one worker; a worker that dies takes only its own requests with it and is replaced
at once, with growing pauses when it keeps dying. A worker whose event loop is silent is killed. A new configuration is
a new crew: it takes over when all of it is ready, and the old one drains. Knows no signals and no systemd.
"""

import asyncio
import contextlib
import logging
import pickle
import shutil
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
from gateway.runtime.worker import REPLACED, Assignment

_EARLY_DEATHS = 2
_AFTER_DRAIN_S = 12.0


class WorkersFailed(GatewayError):
    """The workers do not come up."""


@dataclass(frozen=True, slots=True)
class WatchdogSettings:
    """How long a worker may be silent, and how long it may take to be ready, before it is killed."""

    silent_s: float = 20.0
    start_s: float = 60.0
    look_s: float = 0.25


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """What every worker is started with. `ports` are the embedded servers'; `waiting` names those not ready yet."""

    sockets: ListenSockets
    ops: socket.socket | None
    environment: Environment
    metrics_folder: Path
    ports: dict[str, int]
    waiting: Callable[[], list[str]]


class WorkerPool:
    """All workers. `start` and `replace` raise WorkersFailed when not every worker becomes ready."""

    def __init__(self, config: Config, context: WorkerContext, watchdog: WatchdogSettings | None = None) -> None:
        self._context = context
        self._watchdog = watchdog or WatchdogSettings()
        shutil.rmtree(context.metrics_folder, ignore_errors=True)
        context.metrics_folder.mkdir(parents=True)
        self._group = WorkerGroup(config, context, self._watchdog)
        self._leaving: set[asyncio.Task[None]] = set()

    def pids(self) -> list[int]:
        return [worker.pid for worker in self._group.workers if worker.pid is not None]

    async def start(self) -> None:
        self._group.start()
        await self._group.wait_ready()

    async def replace(self, config: Config) -> None:
        """Put another configuration in force; if its workers do not come up, the old ones stay."""
        fresh = WorkerGroup(config, self._context, self._watchdog)
        fresh.start()
        try:
            await fresh.wait_ready()
        except BaseException:
            await fresh.stop()
            raise
        self._context.sockets.resize(config.server.workers)
        self._leaving.add(task := asyncio.create_task(self._group.stop(replaced=True)))
        task.add_done_callback(self._leaving.discard)
        self._group = fresh

    def is_fresh(self) -> bool:
        """Whether every worker that serves has been heard lately."""
        return not any(worker.is_silent for worker in self._group.workers)

    async def finish(self) -> None:
        """Accept nothing more, let what runs end, and wait until every worker is gone."""
        self._context.sockets.close_all()
        await asyncio.gather(self._group.stop(), *self._leaving)
        shutil.rmtree(self._context.metrics_folder, ignore_errors=True)


class WorkerGroup:
    """The workers of one configuration."""

    def __init__(self, config: Config, context: WorkerContext, watchdog: WatchdogSettings) -> None:
        self._config = config
        self._watchdog = watchdog
        self.workers = [WorkerProcess(index, config, context, watchdog) for index in range(config.server.workers)]
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(worker.run()) for worker in self.workers]

    async def wait_ready(self) -> None:
        """Until every worker is ready. Raises WorkersFailed."""
        try:
            async with asyncio.timeout(self._watchdog.start_s):
                await asyncio.gather(*(worker.wait_ready() for worker in self.workers))
        except TimeoutError:
            raise WorkersFailed("the workers are not ready in time") from None

    async def stop(self, replaced: bool = False) -> None:
        """Let every worker drain; kill those that take longer than they may."""
        for worker in self.workers:
            worker.stop(replaced)
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=self._config.server.drain_s + _AFTER_DRAIN_S)
            for worker in self.workers if late else ():
                worker.kill()
            await asyncio.gather(*self._tasks, return_exceptions=True)


class WorkerProcess:
    """Keeps one worker running, at its place."""

    def __init__(self, index: int, config: Config, context: WorkerContext, watchdog: WatchdogSettings) -> None:
        self._index = index
        self._config, self._context, self._watchdog = config, context, watchdog
        self._process: asyncio.subprocess.Process | None = None
        self._channel: asyncio.StreamWriter | None = None
        self._stopping = asyncio.Event()
        self._settled = asyncio.Event()
        self._is_ready = False
        self._heard_at = time.monotonic()
        self._restarts = RestartPolicy(give_up_after=_EARLY_DEATHS)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    @property
    def is_silent(self) -> bool:
        limit_s = self._watchdog.silent_s if self._is_ready else self._watchdog.start_s
        return self.pid is not None and time.monotonic() - self._heard_at > limit_s

    async def wait_ready(self) -> None:
        """Until the first worker is ready. Raises WorkersFailed when it keeps dying before that."""
        await self._settled.wait()
        if self._restarts.has_given_up:
            raise WorkersFailed("the workers end before they are ready; the log says why")

    async def run(self) -> None:
        while not self._stopping.is_set():
            started = time.monotonic()
            try:
                ended = str(await self._run_once())
            except OSError as error:
                ended = error.strerror or type(error).__name__
            self._is_ready = False
            if not self._stopping.is_set():
                await self._pause(ended, time.monotonic() - started)

    def stop(self, replaced: bool) -> None:
        self._stopping.set()
        if replaced and self._is_ready and self._channel is not None:
            self._channel.write(REPLACED)
        else:
            self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def _pause(self, ended: str, ran_s: float) -> None:
        pause_s = self._restarts.record_death(ran_s)
        if self._restarts.has_given_up:
            self._settled.set()
        logs.event("worker_ended", level=logging.WARNING, exit=ended, pause_s=pause_s)
        if pause_s > 1:
            self._context.sockets.close(self._index)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self._stopping.wait()

    async def _run_once(self) -> int | None:
        """One worker, from start to end; its exit code."""
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
        """A process in a session of its own: a terminal's Ctrl-C is the parent's to pass on."""
        product = self._context.sockets.for_worker(self._index).fileno()
        ops = self._context.ops.fileno() if self._context.ops is not None else None
        folder = self._context.metrics_folder
        assignment = Assignment(self._config, product, ops, channel, self._context.ports, str(folder))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gateway", "worker"),
            stdin=asyncio.subprocess.PIPE,
            env=worker_environment(self._context.environment, folder),
            pass_fds=[each for each in (product, ops, channel) if each is not None],
            start_new_session=True,
        )
        self._process, self._heard_at = process, time.monotonic()
        if self._stopping.is_set():
            self._signal(signal.SIGTERM)
        assert process.stdin is not None
        process.stdin.write(pickle.dumps(assignment))
        process.stdin.close()
        return process

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                self._heard_at = time.monotonic()
                if line == b"ready\n":
                    self._is_ready = True
                    self._restarts.record_ready()
                    self._settled.set()

    async def _watch(self, ended: asyncio.Task[int], writer: asyncio.StreamWriter) -> None:
        """Until the worker has ended, or has been silent at two looks in a row: this process may have slept itself."""
        told, silent = None, 0
        while not ended.done() and silent < 2:
            waiting = self._context.waiting()
            if waiting != told and not self._stopping.is_set():
                writer.write(" ".join(waiting).encode() + b"\n")
                told = waiting
            await asyncio.wait({ended}, timeout=self._watchdog.look_s)
            silent = silent + 1 if self.is_silent else 0
        if not ended.done():
            logs.event("worker_silent", level=logging.ERROR, pid=self.pid)
