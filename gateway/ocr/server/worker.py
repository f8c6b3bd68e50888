"""The process that does the pixel work, one image at a time, for the OCR server (`app`).

It is apart so that an image that crashes a decoder, eats memory or never ends costs its own request only: the server
restarts this process and goes on with the queue. Protocol, ours: standard input carries jobs, a JSON line
`{"id", "prompt", "size"}` followed by `size` bytes of image, or `{"cancel": id}`; standard output carries JSON lines
`{"hello": fingerprint}` once loaded, then for a job `{"id", "piece"}`…, ended by `{"id", "done": true}` or
`{"id", "error": {status, code, message}}`; `{"id", "alive"}` between them. Ends when its input does.
"""

import contextlib
import os
import queue
import resource
import sys
import threading
from typing import BinaryIO

import orjson

from gateway.domain import Json
from gateway.errors import GatewayError
from gateway.ocr.server.engine import OcrEngine

MAX_MEMORY_BYTES = 2_600_000_000
"""Of private memory (RLIMIT_DATA): an image that needs more fails alone."""


class Jobs:
    """Jobs as they arrive on the input, and which of them have been given up."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._waiting: queue.SimpleQueue[tuple[Json, bytes] | None] = queue.SimpleQueue()
        self._cancelled: set[int] = set()
        threading.Thread(target=self._receive, daemon=True).start()

    def take(self) -> tuple[Json, bytes] | None:
        """The next job; None when the input has ended."""
        return self._waiting.get()

    def is_cancelled(self, job_id: int) -> bool:
        return job_id in self._cancelled

    def forget(self, job_id: int) -> None:
        self._cancelled.discard(job_id)

    def _receive(self) -> None:
        while line := self._source.readline():
            message = orjson.loads(line)
            if "cancel" in message:
                self._cancelled.add(message["cancel"])
            else:
                self._waiting.put((message, self._source.read(message["size"])))
        # The server is gone: nobody reads what is under way.
        os._exit(0)


def main(threads: int, nice: int) -> None:
    """Serve jobs until the input ends."""
    with contextlib.suppress(OSError):  # a sandbox may forbid it: then the page is read without giving way
        os.nice(nice)
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    # Libraries may print: what they print must not end up in the protocol.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    jobs = Jobs(sys.stdin.buffer)
    worker = Worker(jobs, out)
    engine = OcrEngine(threads, worker.step)
    try:
        engine.load()
    except GatewayError as error:
        _send(out, {"failed": _error_fields(error)})
        return
    _send(out, {"hello": engine.fingerprint})
    while (job := jobs.take()) is not None:
        worker.run(engine, *job)


class Cancelled(Exception):
    """The server has given the job up."""


class Worker:
    """Runs one job after the other; `step` tells the server between two steps that the job is alive."""

    def __init__(self, jobs: Jobs, out: BinaryIO) -> None:
        self._jobs = jobs
        self._out = out
        self._job_id = 0

    def step(self) -> None:
        if self._jobs.is_cancelled(self._job_id):
            raise Cancelled
        _send(self._out, {"id": self._job_id, "alive": True})

    def run(self, engine: OcrEngine, job: Json, data: bytes) -> None:
        self._job_id = job["id"]
        end = {"id": self._job_id, **self._outcome(engine, job["prompt"], data)}
        self._jobs.forget(self._job_id)
        _send(self._out, end)

    def _outcome(self, engine: OcrEngine, prompt: str, data: bytes) -> Json:
        """Send the pieces; what ends the job."""
        try:
            for piece in engine.answer(data, prompt):
                self.step()
                _send(self._out, {"id": self._job_id, "piece": piece})
        except Cancelled:
            return {"done": True}
        except GatewayError as error:
            return {"error": _error_fields(error)}
        except MemoryError:
            return {"error": _failed("Reading this image takes more memory than allowed.")}
        except Exception as error:
            # Native libraries raise their own kinds; the kind is told, never the text, which may hold pixels or paths.
            sys.stderr.write(f"ocr job failed: {type(error).__name__}\n")
            return {"error": _failed("The OCR engine could not read this image.")}
        return {"done": True}


def _error_fields(error: GatewayError) -> Json:
    return {"status": error.status, "code": error.code, "type": error.type, "message": error.message}


def _failed(message: str) -> Json:
    return {"status": 500, "code": "ocr_failed", "type": "server_error", "message": message}


def _send(out: BinaryIO, message: Json) -> None:
    out.write(orjson.dumps(message) + b"\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
