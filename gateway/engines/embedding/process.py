"""The client of the embedding process: starts it at need, sends it jobs, restarts it, stops it when idle.

Theory of operation. One process at most. Each lane (see `worker`) has one slot, dealt out by key; who holds a slot has
one job in the process. All methods run in one event loop.

| state    | invariant                        | leaves it when                                                         |
|----------|----------------------------------|------------------------------------------------------------------------|
| stopped  | `_running` is None               | a job has its slot: starting, unless `RestartPolicy` asks for a pause: |
|          |                                  | then the job fails at once                                             |
| starting | `_starting` is a task            | `hello` frame: running; end or timeout: stopped                        |
| running  | `_pending` has the jobs sent     | the process ends, or a job takes longer than `JOB_LIMIT_S`: stopped,   |
|          |                                  | and every pending job fails; the idle timer fires: stopped             |

A caller that leaves gives up the answer and nothing else: the slot is free when the process has answered, so no more
work is in the process than lanes. Knows neither model nor vectors.
"""

import asyncio
import contextlib
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from typing import Literal

import orjson

from gateway.child.restart_policy import RestartPolicy
from gateway.domain import Json
from gateway.engines.embedding.frames import LENGTH
from gateway.errors import Overloaded, UpstreamUnavailable
from gateway.resilience.child_pipe import write_to_child
from gateway.resilience.fair_queue import FairQueue, QueueFull

Lane = Literal["urgent", "background"]

JOB_LIMIT_S = 60.0
_START_LIMIT_S = 60.0
"""A job takes under a second and a start half of one; what takes a minute hangs. Chosen: at half, a machine under heavy
load kills sound jobs of the background lane, which gives way to everything; at double, callers of a hanging process
wait twice as long before it is replaced."""

_IDLE_S = 900.0
"""Without jobs for so long, the process and its 200 MB are released. Chosen: half an hour of work has gaps shorter than
this. At half, more first searches go without vectors; at double, the memory is held for nothing."""

_LAST_S = 1.0
"""How long a process whose output has ended may take to be gone: next to nothing, unless it only closed its output."""

_MAX_WAITING = 200
"""Jobs that wait for a lane. Chosen: at 10 ms a search, the last one has its answer after two seconds, which is what a
search waits for; at half, a burst is refused that could be served; at double, the last ones wait in vain."""

_MAX_ANSWER_BYTES = 16_000_000
"""Largest answer. Chosen: ten times the vectors of the most texts that are sent at once; at half, still enough; at
double, a process that runs wild fills more of the server's memory."""


class TextsFailed(UpstreamUnavailable):
    """The model failed on the texts of a job, or the process died while it had them."""


class EmbeddingProcess:
    """One process, started by `command` at the first job. Call `close` at the end."""

    def __init__(
        self,
        command: Sequence[str] = (sys.executable, "-m", "gateway.engines.embedding.worker"),
        *,
        idle_s: float = _IDLE_S,
        job_limit_s: float = JOB_LIMIT_S,
    ) -> None:
        self._command = tuple(command)
        self._idle_s = idle_s
        self._job_limit_s = job_limit_s
        self._turns: dict[Lane, FairQueue] = {
            "urgent": FairQueue(1, max_waiting=_MAX_WAITING),
            "background": FairQueue(1, max_waiting=_MAX_WAITING),
        }
        self._restarts = RestartPolicy()
        self._running: Process | None = None
        self._started_at = 0.0
        self._starting: asyncio.Task[None] | None = None
        self._pending: dict[int, tuple[Process, asyncio.Future[tuple[Json, bytes]]]] = {}
        self._last_id = 0
        self._tasks: set[asyncio.Task[object]] = set()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        """The running process, or None."""
        return self._running.pid if self._running is not None else None

    async def ask(self, job: Json, lane: Lane, key: str) -> tuple[Json, bytes]:
        """Head and body of the answer to `{kind, …}`, sent for the key with the id `key`.

        Raises Overloaded when too many jobs wait, TextsFailed when the process failed or died with this job,
        UpstreamUnavailable when it cannot be started. The caller bounds the time.
        """
        turns = self._turns[lane]
        try:
            await turns.acquire(key)
        except QueueFull:
            raise Overloaded("too many texts are waiting to be embedded; try again shortly", retry_after_s=2) from None
        task = asyncio.get_running_loop().create_task(self._run({**job, "lane": lane}))
        self._tasks.add(task)

        def ended(_: object) -> None:
            self._tasks.discard(task)
            turns.release(key)
            if not task.cancelled():
                task.exception()  # nobody asks for it where the caller has left

        task.add_done_callback(ended)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Ends the process; jobs that still run fail with UpstreamUnavailable."""
        self._is_closed = True
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._starting is not None:
            self._starting.cancel()
        await self._stop()
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _run(self, job: Json) -> tuple[Json, bytes]:
        loop = asyncio.get_running_loop()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        process = await self._process()
        self._last_id += 1
        job_id = self._last_id
        answer: asyncio.Future[tuple[Json, bytes]] = loop.create_future()
        self._pending[job_id] = process, answer
        hung = loop.call_later(self._job_limit_s, self._kill)
        try:
            head = orjson.dumps({**job, "id": job_id})
            assert process.stdin is not None
            with contextlib.suppress(ConnectionError):  # it has ended: `_receive` fails the job
                write_to_child(process.stdin, LENGTH.pack(len(head)) + head + LENGTH.pack(0))
                await process.stdin.drain()
            data, body = await answer
        finally:
            hung.cancel()
            self._pending.pop(job_id, None)
            if self._idle_timer is not None:
                self._idle_timer.cancel()
            self._idle_timer = loop.call_later(self._idle_s, self._stop_idle)
        if "failed" in data:
            raise TextsFailed(f"the embedding model failed on these texts ({data['failed']})")
        return data, body

    async def _process(self) -> Process:
        """The running process; started if there is none."""
        while self._running is None:
            if self._is_closed:
                raise UpstreamUnavailable("the embedding model is being stopped")
            if self._starting is None:
                if self._restarts.wait_s > 0:
                    raise UpstreamUnavailable("the embedding model has failed and is started again shortly")
                self._starting = asyncio.get_running_loop().create_task(self._start())
            try:
                await asyncio.shield(self._starting)
            except asyncio.CancelledError:
                if not self._is_closed:
                    raise
            finally:
                if self._starting is not None and self._starting.done():
                    self._starting = None
        return self._running

    async def _start(self) -> None:
        self._started_at = time.monotonic()
        process = await asyncio.create_subprocess_exec(*self._command, stdin=PIPE, stdout=PIPE, limit=1 << 20)
        try:
            async with asyncio.timeout(_START_LIMIT_S):
                await _read_answer(process)
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError) as error:
            await _end(process)
            self._record_death()
            raise UpstreamUnavailable("the embedding model could not be started; the log says why") from error
        except asyncio.CancelledError:
            await _end(process)
            raise
        self._running = process
        task = asyncio.get_running_loop().create_task(self._receive(process))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _receive(self, process: Process) -> None:
        """Hands answers to their jobs until the process ends, then fails the rest."""
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, orjson.JSONDecodeError):
            while True:
                head, body = await _read_answer(process)
                _, waiting = self._pending.get(head.get("id", 0), (process, None))
                if waiting is not None and not waiting.done():
                    waiting.set_result((head, body))
        if self._running is process:  # it was not stopped by us
            self._running = None
            self._record_death()
            await _end(process, _LAST_S)
        for owner, waiting in self._pending.values():
            if owner is process and not waiting.done():
                waiting.set_exception(TextsFailed("the embedding model stopped while it had these texts"))

    def _record_death(self) -> None:
        self._restarts.record_death(time.monotonic() - self._started_at)

    def _kill(self) -> None:
        """A job takes too long: the process hangs. `_receive` sees its end."""
        if self._running is not None:
            with contextlib.suppress(ProcessLookupError):
                self._running.kill()

    def _stop_idle(self) -> None:
        if not self._pending and self._starting is None:
            task = asyncio.get_running_loop().create_task(self._stop())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _stop(self) -> None:
        process, self._running = self._running, None
        if process is not None:
            await _end(process)


async def _read_answer(process: Process) -> tuple[Json, bytes]:
    """Raises IncompleteReadError at the end, ConnectionError for a frame that is too large."""
    assert process.stdout is not None
    frames: list[bytes] = []
    for _ in ("head", "body"):
        size = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))[0]
        if size > _MAX_ANSWER_BYTES:
            raise ConnectionError
        frames.append(await process.stdout.readexactly(size))
    head: Json = orjson.loads(frames[0])
    return head, frames[1]


async def _end(process: Process, patience_s: float = 0.0) -> None:
    """Kills the process, which has nothing to save, if it is not gone after `patience_s`; waits until it is."""
    if patience_s:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await process.wait()
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    if process.stdin is not None:
        process.stdin.close()
    await process.wait()
