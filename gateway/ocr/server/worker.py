"""The process that does the pixel work, one image at a time, for the OCR server (`app`).

It is a process of its own so that an image that crashes a decoder, takes too much memory or never ends fails alone: the
server restarts the process and goes on with the queue. Knows nothing of HTTP and of the queue's bounds.

Theory of operation. The protocol is ours: JSON lines, both ways.

| state | input | output | next state |
|---|---|---|---|
| loading | (read, queued) | `{"hello": fingerprint}` or `{"failed": {status, code, type, message}}` | idle, or end |
| idle | `{"id", "prompt", "details", "size"}` and `size` bytes of image | none | reading |
| reading | further jobs (queued) | `{"id", "alive": true}`, `{"id", "piece"}` | reading |
| reading | none | `{"id", "report"}` and `{"id", "done": true}` | idle |
| reading | none | `{"id", "error": {status, code, type, message}}` | idle |
| reading | `{"cancel": id}` | at the next step `{"id", "done": true}` | idle |
| any | end of the input | none | end, at once |

Invariants: one job at a time, in the order of arrival; every job has exactly one `done` or `error`. A thread reads the
input (`Jobs`); the main thread alone writes the output and runs the engine.
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
"""Limit of private memory (RLIMIT_DATA): an image that needs more fails alone. Chosen: models, and an image of
decode.MAX_PIXELS decoded whole. At half, large pages fail; at double, a machine of 4 GB may swap."""


class Jobs:
    """The queue of jobs from the input, and the ids of cancelled ones. Starts the thread that reads the input."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._waiting: queue.SimpleQueue[tuple[Json, bytes] | None] = queue.SimpleQueue()
        self._cancelled: set[int] = set()
        threading.Thread(target=self._receive, daemon=True).start()

    def next_job(self) -> tuple[Json, bytes] | None:
        """Waits for the next job: its message and its image."""
        return self._waiting.get()

    def is_cancelled(self, job_id: int) -> bool:
        """Whether the server has cancelled the job."""
        return job_id in self._cancelled

    def forget(self, job_id: int) -> None:
        """Drops the id of an ended job."""
        self._cancelled.discard(job_id)

    def _receive(self) -> None:
        while line := self._source.readline():
            message = orjson.loads(line)
            if "cancel" in message:
                self._cancelled.add(message["cancel"])
            else:
                self._waiting.put((message, self._source.read(message["size"])))
        # The server is gone: nobody reads the answer.
        os._exit(0)


def main(threads: int, nice: int) -> None:
    """Serves jobs until the input ends. `threads`: cores to use; `nice`: added to the nice value of the process."""
    with contextlib.suppress(OSError):  # a sandbox may forbid it: then pages are read at normal priority
        os.nice(nice)
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    # Libraries may print to standard output: that must not get into the protocol.
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
    while (job := jobs.next_job()) is not None:
        worker.run(engine, *job)


class Cancelled(Exception):
    """The server has cancelled the job."""


class Worker:
    """Runs jobs one after the other and sends their pieces."""

    def __init__(self, jobs: Jobs, out: BinaryIO) -> None:
        self._jobs = jobs
        self._out = out
        self._job_id = 0

    def step(self) -> None:
        """Reports the job alive; called between two steps of reading. Raises Cancelled."""
        if self._jobs.is_cancelled(self._job_id):
            raise Cancelled
        _send(self._out, {"id": self._job_id, "alive": True})

    def run(self, engine: OcrEngine, job: Json, data: bytes) -> None:
        """Runs one job (`{id, prompt, details}`) on an image and sends its end; raises nothing for a failing image."""
        self._job_id = job["id"]
        end = {"id": self._job_id, **self._outcome(engine, job, data)}
        self._jobs.forget(self._job_id)
        _send(self._out, end)

    def _outcome(self, engine: OcrEngine, job: Json, data: bytes) -> Json:
        """Sends the pieces and the report; returns the last message, without the id."""
        try:
            for piece in engine.answer(data, job["prompt"]):
                self.step()
                _send(self._out, {"id": self._job_id, "piece": piece})
            report = engine.report(details=job.get("details", False))
            _send(self._out, {"id": self._job_id, "report": report})
        except Cancelled:
            return {"done": True}
        except GatewayError as error:
            return {"error": _error_fields(error)}
        except MemoryError:
            return {"error": _failed("reading this image takes more memory than allowed: send a smaller one")}
        except Exception as error:
            # Native libraries raise their own types. Only the type is logged: the text may hold pixels or paths.
            sys.stderr.write(f"ocr job failed: {type(error).__name__}\n")
            return {"error": _failed("the OCR engine could not read this image: send it in another format or size")}
        return {"done": True}


def _error_fields(error: GatewayError) -> Json:
    return {"status": error.status, "code": error.code, "type": error.type, "message": error.message}


def _failed(message: str) -> Json:
    return {"status": 500, "code": "ocr_failed", "type": "server_error", "message": message}


def _send(out: BinaryIO, message: Json) -> None:
    out.write(orjson.dumps(message) + b"\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
