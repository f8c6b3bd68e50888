"""The OCR server's client of its worker process: starts it at need, sends it jobs, restarts it, stops it when idle.

Theory of operation. One process at most; one job runs in it, `MAX_WAITING` more wait for `_turn`. Protocol: see
`worker`. All methods run in one event loop.

| state    | invariant                            | leaves it when                                                   |
|----------|--------------------------------------|------------------------------------------------------------------|
| stopped  | `_process` is None or has ended      | a job has its turn: starting, after the pause of `RestartPolicy` |
| starting | a job holds `_turn`; no job sent     | `hello` line: running; `failed` line, end or timeout: stopped    |
| running  | the job that holds `_turn` was sent  | its last line: idle; the process dies or is silent: stopped, and |
|          |                                      | the job runs once more if it died before its first piece; the    |
|          |                                      | caller leaves: leaving, or stopped if the job was half sent      |
| leaving  | `_turn` is held; a cancel was sent   | the job's last line: idle; not within CANCEL_S: stopped          |
| idle     | `_pending` is 0; the idle timer runs | a job has its turn: running; the timer fires: stopped            |

A caller that leaves in mid-job has the job cancelled: the worker drops it between two steps, or is ended, so that what
nobody waits for takes no time from the next job. `close` is called once, when no job is running. Knows nothing of HTTP
or of images.
"""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import orjson

from gateway.domain import Json
from gateway.errors import EngineMissing, GatewayError, InvalidRequest, RateLimited
from gateway.resilience.restart_policy import RestartPolicy


class ImageFailed(GatewayError):
    """The engine failed on one image. Status 422, since the image is the cause: callers keep using the server."""

    status = 422
    type = "invalid_request_error"
    code = "ocr_failed"


class WorkerDied(ImageFailed):
    """The process ended while it had the job."""


def too_long() -> GatewayError:
    """The error for an image over which the worker was silent, or busy for too long."""
    return ImageFailed("the OCR engine took too long over this image; try a smaller one", code="ocr_timeout")


def died() -> GatewayError:
    """The error for an image during which the process ended."""
    return WorkerDied("the OCR engine failed on this image and was restarted; try another image")


def job_error(fields: Json) -> GatewayError:
    """The error that the worker reported: `{status, code, message}`."""
    kinds: dict[int, type[GatewayError]] = {400: InvalidRequest, 503: EngineMissing}
    return kinds.get(fields["status"], ImageFailed)(fields["message"], code=fields["code"])


# Jobs that wait beside the one that runs. a page takes seconds, and callers wait a minute or so.
MAX_WAITING = 8

# Retry-After of a refused caller. about one page.
RETRY_AFTER_S = 2.0

# Chosen together, each far above what is usual on a slow machine: loading takes seconds; the worker sends a line
# between the steps of a page, so silence of a minute is a hang and not work. A job as a whole may take ten minutes,
# beyond any caller's patience. A killed process ends at once unless the kernel holds it; then 5 s and it is left to
# itself.
START_TIMEOUT_S = 60.0
PIECE_TIMEOUT_S = 60.0
JOB_TIMEOUT_S = 600.0
STOP_TIMEOUT_S = 5.0
CANCEL_S = 1.0

# Without jobs for so long, the process and its memory are released. half an hour of work has gaps shorter than this.
IDLE_S = 900.0

# Longest pause before a worker that keeps dying is started again. images come from callers, and one who sends images
# that kill the worker must not make others wait long.
LONGEST_PAUSE_S = 1.0

# Longest line of the protocol. a piece is a few KB, at most one large table;
LINE_LIMIT_BYTES = 8_000_000

# Bytes of an image written at once. copied in a tenth of a millisecond;
WRITE_BYTES = 1 << 18

_NOT_STARTED = "the OCR engine could not be started; the log says why"


def worker_command(threads: int, nice: int = 0) -> tuple[str, ...]:
    """The command line of a worker: `threads` for the models, `nice` added to its niceness."""
    return sys.executable, "-m", "gateway.ocr.server.worker", str(threads), str(nice)


class OcrWorker:
    """One worker process, started by `command`. `fingerprint` names engine and models once it has started."""

    def __init__(
        self, command: Sequence[str], *, idle_s: float = IDLE_S, piece_timeout_s: float = PIECE_TIMEOUT_S
    ) -> None:
        self._command = tuple(command)
        self._idle_s = idle_s
        self._piece_timeout_s = piece_timeout_s
        self._turn = asyncio.Lock()
        self._pending = 0
        self._process: asyncio.subprocess.Process | None = None
        self._started_at = 0.0
        self._restarts = RestartPolicy(longest_pause_s=LONGEST_PAUSE_S)
        self._last_id = 0
        self._idle_timer: asyncio.TimerHandle | None = None
        self._stopping: set[asyncio.Task[None]] = set()
        self.fingerprint = ""

    @property
    def is_loaded(self) -> bool:
        """Whether the process runs (or is starting)."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        """The process id; None while stopped."""
        return self._process.pid if self._process is not None and self.is_loaded else None

    async def read(
        self, data: bytes | bytearray, prompt: str, *, details: bool = False
    ) -> AsyncGenerator[str | Json, None]:
        """The pieces of the text of one image, then the report on it (`PageReport.fields`). `prompt` is the answer's
        mode, as `engine` reads it.

        Raises RateLimited when too many jobs wait, EngineMissing when the worker cannot start, ImageFailed when it
        fails on this image, and InvalidRequest as the engine says.
        """
        if self._pending > MAX_WAITING:
            raise RateLimited(
                f"{MAX_WAITING} images are waiting for the OCR engine already; try again shortly",
                code="ocr_queue_full",
                retry_after_s=RETRY_AFTER_S,
            )
        self._pending += 1
        try:
            async with self._turn, aclosing(self._run_twice(data, prompt, details)) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            self._pending -= 1
            self._watch_idle()

    async def close(self) -> None:
        """End the process and wait until it is gone."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        await self._stop()
        for task in list(self._stopping):
            await task

    # --- one job --------------------------------------------------------------------------------------------------

    async def _run_twice(self, data: bytes | bytearray, prompt: str, details: bool) -> AsyncGenerator[str | Json, None]:
        """Run a job, and once more if the worker dies before its first piece: it may have died of an earlier job."""
        for attempt in (1, 2):
            has_begun = False
            try:
                async with aclosing(self._run(data, prompt, details)) as pieces:
                    async for piece in pieces:
                        has_begun = True
                        yield piece
            except WorkerDied:
                if has_begun or attempt == 2:
                    raise
            else:
                return

    async def _run(self, data: bytes | bytearray, prompt: str, details: bool) -> AsyncGenerator[str | Json, None]:
        process = await self._ensure_started()
        self._last_id += 1
        job_id = self._last_id
        finished = is_sent = False
        deadline = asyncio.get_running_loop().time() + JOB_TIMEOUT_S
        try:
            job = {"id": job_id, "prompt": prompt, "details": details, "size": len(data)}
            await self._send(process, orjson.dumps(job) + b"\n", data)
            is_sent = True
            while True:
                message = await self._receive(process)
                if message.get("id") != job_id or "alive" in message:
                    if asyncio.get_running_loop().time() > deadline:
                        await self._fail()
                        raise too_long()
                    continue
                if "piece" in message or "report" in message:
                    yield message.get("piece") or message.get("report") or ""
                    continue
                finished = True
                if "error" in message:
                    raise job_error(message["error"])
                return
        finally:
            if not finished and process is self._process and process.returncode is None:
                await (self._cancel(process, job_id) if is_sent else self._stop())

    async def _cancel(self, process: asyncio.subprocess.Process, job_id: int) -> None:
        """Has the worker drop a job whose caller has left, and ends a worker that does not do so in time."""
        assert process.stdin is not None and process.stdout is not None
        is_dropped = False
        try:
            process.stdin.write(orjson.dumps({"cancel": job_id}) + b"\n")
            async with asyncio.timeout(CANCEL_S):
                while not is_dropped:
                    message: Json = orjson.loads(await process.stdout.readline())
                    is_dropped = message.get("id") == job_id and bool(message.keys() & {"done", "error"})
        except (TimeoutError, ValueError, ConnectionError):  # ValueError: its output has ended
            pass
        finally:
            if not is_dropped:
                await self._stop()

    async def _send(self, process: asyncio.subprocess.Process, message: bytes, data: bytes | bytearray) -> None:
        """Writes in pieces, so that a large image is not copied whole into the pipe's buffer in one step."""
        assert process.stdin is not None
        process.stdin.write(message)
        whole = memoryview(data)
        try:
            for start in range(0, len(data), WRITE_BYTES):
                process.stdin.write(whole[start : start + WRITE_BYTES])
                await asyncio.wait_for(process.stdin.drain(), self._piece_timeout_s)
        except (ConnectionError, TimeoutError) as error:
            await self._fail()
            raise died() from error

    async def _receive(self, process: asyncio.subprocess.Process) -> Json:
        assert process.stdout is not None
        try:
            line = await asyncio.wait_for(process.stdout.readline(), self._piece_timeout_s)
        except (TimeoutError, ValueError, ConnectionError) as error:  # ValueError: a line above LINE_LIMIT_BYTES
            await self._fail()
            raise too_long() from error
        if not line:
            await self._fail()
            raise died()
        message: Json = orjson.loads(line)
        return message

    # --- the process ----------------------------------------------------------------------------------------------

    async def _ensure_started(self) -> asyncio.subprocess.Process:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._process is not None and self._process.returncode is None:
            return self._process
        if (pause_s := self._restarts.wait_s) > 0:
            await asyncio.sleep(pause_s)
        self._started_at = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LINE_LIMIT_BYTES,
        )
        self._process = process
        assert process.stdout is not None
        try:
            line = await asyncio.wait_for(process.stdout.readline(), START_TIMEOUT_S)
        except BaseException:
            await self._stop()
            raise
        message: Json = orjson.loads(line) if line else {"failed": {"message": _NOT_STARTED}}
        if "failed" in message:
            await self._fail()
            raise EngineMissing(message["failed"]["message"])
        self.fingerprint = message["hello"]
        return process

    async def _fail(self) -> None:
        """The process died, or must be killed because it hangs."""
        self._restarts.record_death(time.monotonic() - self._started_at)
        await self._stop()

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), STOP_TIMEOUT_S)

    def _watch_idle(self) -> None:
        """Start the idle timer if no job is left."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._pending == 0 and self._process is not None:
            self._idle_timer = asyncio.get_running_loop().call_later(self._idle_s, self._stop_idle)

    def _stop_idle(self) -> None:
        if self._pending == 0:
            task = asyncio.get_running_loop().create_task(self._stop())
            self._stopping.add(task)
            task.add_done_callback(self._stopping.discard)
