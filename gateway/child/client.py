"""A child process of the server: started at need, given jobs, restarted after its death, ended when idle.

    child = Child([sys.executable, "-m", "gateway.ocr.server.worker"], ChildLimits(cancel_s=1.0))
    answer = await child.ask({"task": "page"}, body)                # Message(head, body): the last message of the job
    async with aclosing(child.stream({"task": "page"}, body)) as messages:
        async for message in messages: ...                          # all messages of the job, the last one included
    await child.close()

`worker` has the other side and the wire format. Jobs may overlap; their order is the worker's matter. All methods run
in one event loop.

| state    | leaves it when                                                                                            |
|----------|-----------------------------------------------------------------------------------------------------------|
| stopped  | a job comes or `start` is called: starting, after the pause of `RestartPolicy`, or refused where that is  |
|          | longer than `pause_s`                                                                                     |
| starting | `hello` comes: running; `failed`, the end of the process, or `start_s`: stopped, and the jobs that wait   |
|          | raise `ChildNotStarted`                                                                                   |
| running  | the process ends: stopped, and its jobs raise `ChildDied`; a job is silent for `message_s` or takes       |
|          | `job_s`: the same; no job for `idle_s`, or `stop`: stopped                                                |

A caller that leaves in mid-job has it cancelled; a worker that does not end it within `cancel_s` is ended.
"""

import asyncio
import contextlib
import signal
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal, NamedTuple

import orjson

from gateway.child.restart_policy import RestartPolicy
from gateway.child.worker import LENGTHS, Json

_WRITE_BYTES = 1 << 18
"""Written at once: a larger body is copied in steps that do not hold the loop."""
_MESSAGES = 16
"""Messages of a job that its caller has not read; the child's pipe holds back the rest."""
_REAP_S = 5.0
"""How long a killed process is waited for: the kernel may hold it."""
_LAST_S = 1.0
"""How long a process whose output has ended may take to be gone before it is killed."""

Reason = Literal["died", "cpu", "memory", "too long"]


class ChildMessage(NamedTuple):
    """One message of a child: its JSON object without the fields of the protocol, and its body."""

    head: Json
    body: bytes


class ChildDied(Exception):
    """The process ended, or was ended, with the job. `reason`: "cpu" and "memory" are limits that the kernel or a
    library enforced; "too long" is a limit of the client; "died" is anything else, other jobs' limits included."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(f"the child process ended ({reason})")
        self.reason: Reason = reason


class ChildNotStarted(Exception):
    """The process cannot serve. `about` is what it said of that, empty where it said nothing."""

    def __init__(self, message: str, about: Json | None = None) -> None:
        super().__init__(message)
        self.about: Json = about or {}


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """Seconds, but for `message_bytes`. `start_s`: until `hello`; `message_s`: between two messages of a job, or to
    take 256 KiB of its body; `job_s`: a whole job; `cancel_s`: until a cancelled job ends, 0 ends the process at once;
    `pause_s`: longest pause of the restart policy that a job waits for; `idle_s`: without jobs until the process is
    ended, None for never; `grace_s`: from SIGTERM to SIGKILL, 0 kills at once."""

    start_s: float = 60.0
    message_s: float = 60.0
    job_s: float = 600.0
    cancel_s: float = 0.0
    pause_s: float = 1.0
    idle_s: float | None = 900.0
    grace_s: float = 0.0
    message_bytes: int = 64_000_000


class Child:
    """One process at most, started by `command`. Several may share `restarts`. `hello` is what the last started process
    said; `jobs`: those that the running process has ended. Call `close` at the end."""

    def __init__(
        self, command: Sequence[str], limits: ChildLimits | None = None, restarts: RestartPolicy | None = None
    ) -> None:
        self._command = tuple(command)
        self._limits = limits or ChildLimits()
        self._restarts = restarts or RestartPolicy()
        self._run: _ProcessLife | None = None
        self._starting: asyncio.Task[_ProcessLife] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._active = self._last_id = self.jobs = 0
        self._is_closed = False
        self.hello: Json = {}

    @property
    def pid(self) -> int | None:
        """The process that runs, or None."""
        return self._run.process.pid if self._run is not None else None

    async def start(self) -> Json:
        """What the process says of itself; started if it does not run. Raises ChildNotStarted."""
        await self._running()
        self._watch_idle()
        return self.hello

    async def ask(self, head: Json, body: bytes | bytearray = b"") -> ChildMessage:
        """The last message of a job. Raises ChildNotStarted and ChildDied."""
        last = ChildMessage({}, b"")
        async with aclosing(self.stream(head, body)) as messages:
            async for message in messages:
                last = message
        return last

    async def stream(self, head: Json, body: bytes | bytearray = b"") -> AsyncGenerator[ChildMessage, None]:
        """The messages of a job; close the generator. Raises ChildNotStarted, and ChildDied as the module says."""
        self._active += 1
        try:
            run = await self._running()
            self._last_id += 1
            job_id = self._last_id
            queue = run.open(job_id)
            is_sent = is_ended = False
            try:
                deadline = time.monotonic() + self._limits.job_s
                await run.send({**head, "id": job_id}, body, self._limits.message_s)
                is_sent = True
                while not is_ended:
                    message = await run.receive(queue, min(self._limits.message_s, deadline - time.monotonic()))
                    is_ended = message.head.pop("end", False)
                    self.jobs += is_ended
                    if message.head or message.body or is_ended:
                        yield message
            finally:
                if not is_ended:
                    await self._abandon(run, job_id, queue, is_sent=is_sent)
                run.close(job_id)
        finally:
            self._active -= 1
            self._watch_idle()

    async def stop(self) -> None:
        """End the process, which may be started again; its jobs raise ChildDied. Returns when it is gone."""
        if (run := self._run) is not None:
            self._run = None
            await run.stop(self._limits.grace_s)

    async def close(self) -> None:
        """End the process for good."""
        self._is_closed = True
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting})
        await self.stop()
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _running(self) -> "_ProcessLife":
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._run is not None and not self._run.is_over:
            return self._run
        if self._is_closed:
            raise ChildNotStarted("the process is being ended")
        if self._starting is None:
            self._starting = asyncio.get_running_loop().create_task(self._start())
            self._starting.add_done_callback(self._started)
        try:
            return await asyncio.shield(self._starting)
        except asyncio.CancelledError:
            if self._is_closed:
                raise ChildNotStarted("the process is being ended") from None
            raise

    def _started(self, task: "asyncio.Task[_ProcessLife]") -> None:
        self._starting = None
        if not task.cancelled():
            task.exception()  # nobody asks for it where all callers have left

    async def _start(self) -> "_ProcessLife":
        if (pause_s := self._restarts.wait_s) > self._limits.pause_s:
            raise ChildNotStarted("the process has failed and is started again shortly")
        await asyncio.sleep(pause_s)
        try:
            process = await asyncio.create_subprocess_exec(*self._command, stdin=PIPE, stdout=PIPE, limit=1 << 20)
        except OSError as error:
            raise ChildNotStarted(f"the process cannot be started: {error.strerror}") from error
        run = _ProcessLife(process, self._limits.message_bytes)
        about: Json | None = None
        try:
            async with asyncio.timeout(self._limits.start_s):
                first, _ = await run.read()
            if "hello" not in first:
                about = first.get("failed")
                raise ConnectionError
        except (TimeoutError, EOFError, ConnectionError, orjson.JSONDecodeError) as error:
            await run.stop()
            self._restarts.record_death(run.age_s)
            raise ChildNotStarted("the process did not start; the log says why", about) from error
        except BaseException:
            await run.stop()
            raise
        self.hello, self.jobs, self._run = first["hello"], 0, run
        task = asyncio.get_running_loop().create_task(self._serve(run))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._watch_idle()
        return run

    async def _serve(self, run: "_ProcessLife") -> None:
        """Hand answers to their jobs until the process ends, and fail the rest."""
        with contextlib.suppress(EOFError, ConnectionError, orjson.JSONDecodeError, KeyError):
            while True:
                await run.dispatch(await run.read())
        was_stopped = run.is_over
        run.is_over = True
        if self._run is run:
            self._run = None
        await run.end(_LAST_S)
        if run.is_hung or (not was_stopped and run.reason == "died"):  # other limits are a job's fault alone
            self._restarts.record_death(run.age_s)
        run.fail_all()

    async def _abandon(self, run: "_ProcessLife", job_id: int, queue: "_Queue", *, is_sent: bool) -> None:
        """A job has not ended and its caller leaves: cancel it, or end the process."""
        if run.is_over:
            return
        is_ended = False
        try:
            if is_sent and self._limits.cancel_s:
                async with asyncio.timeout(self._limits.cancel_s):
                    await run.send({"cancel": job_id}, b"", self._limits.cancel_s)
                    while not is_ended:
                        is_ended = (await run.receive(queue, self._limits.cancel_s)).head.get("end", False)
        except (TimeoutError, ChildDied):
            pass
        finally:
            if not is_ended:
                await run.stop()

    def _watch_idle(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._active == 0 and self._run is not None and self._limits.idle_s is not None:
            self._idle_timer = asyncio.get_running_loop().call_later(self._limits.idle_s, self._stop_idle)

    def _stop_idle(self) -> None:
        if self._active == 0 and self._starting is None:
            task = asyncio.get_running_loop().create_task(self.stop())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


_Queue = asyncio.Queue[ChildMessage | None]


class _ProcessLife:
    """One life of the process. `is_over`: it was ended or has ended, so that no job may be sent; `is_hung`: it was
    ended because it did not answer in time; `gone` is set when `_serve` has seen its end."""

    def __init__(self, process: Process, message_bytes: int) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self._message_bytes = message_bytes
        self._began = time.monotonic()
        self._writing = asyncio.Lock()
        self._queues: dict[int, _Queue] = {}
        self.gone = asyncio.Event()
        self.is_over = self.is_hung = False

    @property
    def age_s(self) -> float:
        return time.monotonic() - self._began

    @property
    def reason(self) -> Reason:
        """Why it ended, as far as its status tells."""
        of_status: dict[int, Reason] = {-signal.SIGPROF: "cpu", -signal.SIGXCPU: "cpu", -signal.SIGABRT: "memory"}
        return of_status.get(self.process.returncode or 0, "died")

    def open(self, job_id: int) -> _Queue:
        """The queue of a job's messages."""
        return self._queues.setdefault(job_id, asyncio.Queue(_MESSAGES))

    def close(self, job_id: int) -> None:
        """The job is over; what still comes for it is dropped."""
        queue = self._queues.pop(job_id)
        while not queue.empty():  # `dispatch` may wait for room
            queue.get_nowait()

    async def send(self, head: Json, body: bytes | bytearray, step_s: float) -> None:
        """Write a message. Raises ChildDied; a process that takes none for `step_s` is ended."""
        packed = orjson.dumps(head)
        view = memoryview(body)
        async with self._writing:
            try:
                self._write(LENGTHS.pack(len(packed), len(view)) + packed)
                for start in range(0, len(view), _WRITE_BYTES):
                    self._write(view[start : start + _WRITE_BYTES])
                    async with asyncio.timeout(step_s):
                        await self._stdin.drain()
            except ConnectionError:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LAST_S + _REAP_S):
                        await self.gone.wait()
                await self.stop()
                raise ChildDied(self.reason) from None
            except TimeoutError:
                raise await self._hung() from None
            except BaseException:  # half a message: nothing can follow it
                self.kill()
                raise

    def _write(self, part: bytes | memoryview) -> None:
        """asyncio drops what is written to a pipe that the child has closed, uvloop raises RuntimeError; here both
        raise ConnectionResetError."""
        if self._stdin.is_closing():
            raise ConnectionResetError
        try:
            self._stdin.write(part)
        except RuntimeError as error:  # uvloop 0.22 in UVHandle._ensure_alive
            raise ConnectionResetError from error

    async def read(self) -> ChildMessage:
        """The next message. Raises EOFError at the end of the process, ConnectionError above `message_bytes`."""
        head_size, body_size = LENGTHS.unpack(await self._stdout.readexactly(LENGTHS.size))
        if head_size + body_size > self._message_bytes:
            raise ConnectionError
        head: Json = orjson.loads(await self._stdout.readexactly(head_size))
        return ChildMessage(head, await self._stdout.readexactly(body_size))

    async def dispatch(self, message: ChildMessage) -> None:
        """Give a message to the job that it belongs to; waits while the job has enough of them."""
        if (queue := self._queues.get(message.head.pop("id"))) is not None:
            await queue.put(message)

    def fail_all(self) -> None:
        """The process has ended: wake the jobs that wait for a message."""
        self.gone.set()
        for queue in self._queues.values():
            with contextlib.suppress(asyncio.QueueFull):  # its caller finds out after what it has yet to read
                queue.put_nowait(None)

    async def receive(self, queue: _Queue, limit_s: float) -> ChildMessage:
        """The next message of a job. Raises ChildDied, also after `limit_s`, and ends the process then."""
        if queue.empty() and self.is_over and self.process.returncode is not None:
            raise ChildDied(self.reason)
        try:
            async with asyncio.timeout(limit_s):
                message = await queue.get()
        except TimeoutError:
            raise await self._hung() from None
        if message is None:
            raise ChildDied(self.reason)
        return message

    async def _hung(self) -> ChildDied:
        self.is_hung = True
        await self.stop()
        return ChildDied("too long")

    def kill(self) -> None:
        """End the process at once; `_serve` sees it."""
        self.is_over = True
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    async def stop(self, grace_s: float = 0.0) -> None:
        """End the process, by SIGTERM where it has `grace_s` to end; returns when it is gone."""
        self.is_over = True
        if grace_s:
            with contextlib.suppress(ProcessLookupError):
                self.process.terminate()
        await self.end(grace_s)

    async def end(self, grace_s: float) -> None:
        """Wait until the process is gone; killed after `grace_s`."""
        if grace_s:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    await self.process.wait()
        self.kill()
        self._stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_REAP_S):
                await self.process.wait()
