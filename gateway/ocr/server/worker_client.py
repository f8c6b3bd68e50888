"""The OCR server's client of its worker process: one image at a time, a short queue before it.

`gateway.child` starts the process at need, restarts it after its death and ends it when idle. Here: at most MAX_WAITING
images wait; an image whose process dies before its first piece is read once more, since the process may have died of
an earlier one; and a failure becomes an error about the image.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from gateway.child.client import Child, ChildDied, ChildLimits, ChildNotStarted
from gateway.child.restart_policy import RestartPolicy
from gateway.domain import Json
from gateway.errors import EngineMissing, GatewayError, InvalidRequest, RateLimited

MAX_WAITING = 8  # images beside the one that is read: a page takes seconds, and callers wait a minute or so
RETRY_AFTER_S = 2.0  # about one page
IDLE_S = 900.0
PIECE_TIMEOUT_S = 60.0  # the worker says a line between the steps of a page: silence of a minute is a hang
JOB_TIMEOUT_S = 600.0
CANCEL_S = 1.0
# Images come from callers: one who sends images that kill the worker must not make others wait long.
LONGEST_PAUSE_S = 1.0
MESSAGE_BYTES = 8_000_000
_NOT_STARTED = "the OCR engine could not be started; the log says why"


class ImageFailed(GatewayError):
    """The engine failed on one image. Status 422, since the image is the cause: callers keep using the server."""

    status = 422
    type = "invalid_request_error"
    code = "ocr_failed"


def worker_command(threads: int, nice: int = 0) -> tuple[str, ...]:
    """The command line of a worker: `threads` for the models, `nice` added to its niceness."""
    return sys.executable, "-m", "gateway.ocr.server.worker", str(threads), str(nice)


class OcrWorker:
    """One worker process, started by `command`."""

    def __init__(
        self, command: Sequence[str], *, idle_s: float = IDLE_S, piece_timeout_s: float = PIECE_TIMEOUT_S
    ) -> None:
        limits = ChildLimits(
            message_s=piece_timeout_s,
            job_s=JOB_TIMEOUT_S,
            cancel_s=CANCEL_S,
            pause_s=LONGEST_PAUSE_S,
            idle_s=idle_s,
            message_bytes=MESSAGE_BYTES,
        )
        self.restarts = RestartPolicy(longest_pause_s=LONGEST_PAUSE_S)
        self._child = Child(command, limits, self.restarts)
        self._turn = asyncio.Lock()
        self._pending = 0

    @property
    def fingerprint(self) -> str:
        """Names engine and models once the process has started."""
        return str(self._child.hello.get("fingerprint", ""))

    @property
    def is_loaded(self) -> bool:
        """Whether the process runs."""
        return self._child.pid is not None

    @property
    def pid(self) -> int | None:
        """The process id; None while stopped."""
        return self._child.pid

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
            async with self._turn, aclosing(self._read({"prompt": prompt, "details": details}, data)) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            self._pending -= 1

    async def close(self) -> None:
        """End the process and wait until it is gone."""
        await self._child.close()

    async def _read(self, job: Json, data: bytes | bytearray) -> AsyncGenerator[str | Json, None]:
        has_begun = is_second = False
        while True:
            try:
                async with aclosing(self._child.stream(job, data)) as messages:
                    async for message in messages:
                        if "error" in message.head:
                            raise job_error(message.head["error"])
                        if (piece := message.head.get("piece") or message.head.get("report")) is not None:
                            has_begun = True
                            yield piece
                return
            except ChildNotStarted as error:
                raise EngineMissing(error.about.get("message") or _NOT_STARTED) from error
            except ChildDied as error:
                if error.reason == "too long":
                    told = "the OCR engine took too long over this image; try a smaller one"
                    raise ImageFailed(told, code="ocr_timeout") from error
                if has_begun or is_second:
                    told = "the OCR engine failed on this image and was restarted; try another image"
                    raise ImageFailed(told) from error
            is_second = True


def job_error(fields: Json) -> GatewayError:
    """The error that the worker reported: `{status, code, message}`."""
    kinds: dict[int, type[GatewayError]] = {400: InvalidRequest, 503: EngineMissing}
    return kinds.get(fields["status"], ImageFailed)(fields["message"], code=fields["code"])
