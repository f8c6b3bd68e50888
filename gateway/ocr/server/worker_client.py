"""The OCR server's side of its worker process: starts it at first use, feeds it, restarts it, stops it when idle.

One job runs at a time; a bounded number wait. Knows nothing of HTTP. A job whose worker dies or does not answer in time
fails alone: the next one gets a new worker.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import orjson

from gateway.domain import Json
from gateway.errors import EngineMissing, GatewayError, InvalidRequest, RateLimited

MAX_WAITING = 8
RETRY_AFTER_S = 2.0
START_TIMEOUT_S = 60.0
PIECE_TIMEOUT_S = 60.0
JOB_TIMEOUT_S = 600.0
STOP_TIMEOUT_S = 5.0
IDLE_S = 900.0
LINE_LIMIT_BYTES = 8_000_000


def worker_command(threads: int, nice: int = 0) -> tuple[str, ...]:
    """How the process that reads images is started."""
    return sys.executable, "-m", "gateway.ocr.server.worker", str(threads), str(nice)


class OcrWorker:
    """`read` streams one image's answer. `command` starts the process; `close` ends it."""

    def __init__(
        self, command: Sequence[str], *, idle_s: float = IDLE_S, piece_timeout_s: float = PIECE_TIMEOUT_S
    ) -> None:
        self._command = tuple(command)
        self._idle_s = idle_s
        self._piece_timeout_s = piece_timeout_s
        self._turn = asyncio.Lock()
        self._pending = 0
        self._process: asyncio.subprocess.Process | None = None
        self._next_id = 0
        self._idle_timer: asyncio.TimerHandle | None = None
        self._stopping: set[asyncio.Task[None]] = set()
        self.fingerprint = ""

    @property
    def is_loaded(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self.is_loaded else None

    async def read(self, data: bytes, prompt: str) -> AsyncGenerator[str, None]:
        """Pieces of the answer. Raises RateLimited when too many wait, InvalidRequest, EngineMissing, ImageFailed."""
        if self._pending > MAX_WAITING:
            raise RateLimited(
                f"{MAX_WAITING} images are waiting for the OCR engine already: try again shortly.",
                code="ocr_queue_full",
                retry_after_s=RETRY_AFTER_S,
            )
        self._pending += 1
        try:
            async with self._turn, aclosing(self._run_again(data, prompt)) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            self._pending -= 1
            self._watch_idle()

    async def close(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        await self._stop()
        for task in list(self._stopping):
            await task

    # --- one job --------------------------------------------------------------------------------------------------

    async def _run_again(self, data: bytes, prompt: str) -> AsyncGenerator[str, None]:
        """A job whose worker dies before it has said anything gets a second one: it may not have been its fault."""
        for attempt in (1, 2):
            has_begun = False
            try:
                async with aclosing(self._run(data, prompt)) as pieces:
                    async for piece in pieces:
                        has_begun = True
                        yield piece
            except WorkerDied:
                if has_begun or attempt == 2:
                    raise
            else:
                return

    async def _run(self, data: bytes, prompt: str) -> AsyncGenerator[str, None]:
        process = await self._started()
        self._next_id += 1
        job_id = self._next_id
        finished = False
        deadline = asyncio.get_running_loop().time() + JOB_TIMEOUT_S
        try:
            await self._send(process, orjson.dumps({"id": job_id, "prompt": prompt, "size": len(data)}) + b"\n" + data)
            while True:
                message = await self._receive(process)
                if message.get("id") != job_id or "alive" in message:
                    if asyncio.get_running_loop().time() > deadline:
                        await self._stop()
                        raise _too_long()
                    continue
                if "piece" in message:
                    yield message["piece"]
                    continue
                finished = True
                if "error" in message:
                    raise _error(message["error"])
                return
        finally:
            if not finished and process.returncode is None and process.stdin is not None:
                # Given up half-way: the worker stops at its next piece; what it still sends is skipped by its id.
                process.stdin.write(orjson.dumps({"cancel": job_id}) + b"\n")

    async def _send(self, process: asyncio.subprocess.Process, message: bytes) -> None:
        assert process.stdin is not None
        process.stdin.write(message)
        try:
            await asyncio.wait_for(process.stdin.drain(), self._piece_timeout_s)
        except (ConnectionError, TimeoutError) as error:
            await self._stop()
            raise _died() from error

    async def _receive(self, process: asyncio.subprocess.Process) -> Json:
        assert process.stdout is not None
        try:
            line = await asyncio.wait_for(process.stdout.readline(), self._piece_timeout_s)
        except (TimeoutError, ValueError, ConnectionError) as error:
            await self._stop()
            raise _too_long() from error
        if not line:
            await self._stop()
            raise _died()
        message: Json = orjson.loads(line)
        return message

    # --- the process ----------------------------------------------------------------------------------------------

    async def _started(self) -> asyncio.subprocess.Process:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._process is not None and self._process.returncode is None:
            return self._process
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
        message: Json = orjson.loads(line) if line else {"failed": {"message": "The OCR engine could not be started."}}
        if "failed" in message:
            await self._stop()
            raise EngineMissing(message["failed"]["message"])
        self.fingerprint = message["hello"]
        return process

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
        """Let the worker and its memory go when nobody has asked for a while."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._pending == 0 and self._process is not None:
            self._idle_timer = asyncio.get_running_loop().call_later(self._idle_s, self._stop_idle)

    def _stop_idle(self) -> None:
        if self._pending == 0:
            task = asyncio.get_running_loop().create_task(self._stop())
            self._stopping.add(task)
            task.add_done_callback(self._stopping.discard)


class ImageFailed(GatewayError):
    """The engine failed on an image: the image's fault, not the server's, so that others go on asking it."""

    status = 422
    type = "invalid_request_error"
    code = "ocr_failed"


class WorkerDied(ImageFailed):
    pass


def _too_long() -> GatewayError:
    return ImageFailed("The OCR engine took too long over this image.", code="ocr_timeout")


def _died() -> GatewayError:
    return WorkerDied("The OCR engine failed on this image and was restarted.")


def _error(fields: Json) -> GatewayError:
    kinds: dict[int, type[GatewayError]] = {400: InvalidRequest, 503: EngineMissing}
    return kinds.get(fields["status"], ImageFailed)(fields["message"], code=fields["code"])
