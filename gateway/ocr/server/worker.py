"""The process that does the pixel work, one image at a time, for the OCR server (`app`).

It is a process of its own so that an image that crashes a decoder, takes too much memory or never ends fails alone.
The protocol is that of `gateway.child`. A job is `{"prompt", "details"}` with the image as its body; its messages are
`{"piece": text}`, then `{"report": …}` at the end, or `{"error": {status, code, type, message}}`.
"""

import sys

from gateway.child.worker import JobPipe, Json, WorkerJob, limit_process
from gateway.errors import GatewayError
from gateway.ocr.server.engine import OcrEngine

# Private memory: the models, and an image of decode.MAX_PIXELS decoded whole. An image that needs more fails alone.
MAX_MEMORY_BYTES = 2_600_000_000


class Cancelled(Exception):
    """The caller of the job has left."""


class Worker:
    """Runs jobs one after the other and sends their pieces."""

    def __init__(self) -> None:
        self.job: WorkerJob | None = None

    def step(self) -> None:
        """Called between the steps of a page: says that the job still runs. Raises Cancelled."""
        if self.job is not None:
            if self.job.is_cancelled:
                raise Cancelled
            self.job.alive()

    def run(self, engine: OcrEngine, job: WorkerJob) -> None:
        """Answers one job."""
        self.job = job
        try:
            job.end(self._read(engine, job))
        finally:
            self.job = None

    def _read(self, engine: OcrEngine, job: WorkerJob) -> Json:
        """Sends the pieces; returns the last message."""
        try:
            self.step()
            for piece in engine.answer(job.body, job.head["prompt"]):
                self.step()
                job.send({"piece": piece})
            return {"report": engine.report(details=job.head.get("details", False))}
        except Cancelled:
            return {}
        except GatewayError as error:
            return {"error": _error_fields(error)}
        except MemoryError:
            return {"error": _failed("reading this image takes more memory than allowed: send a smaller one")}
        except Exception as error:
            # Native libraries raise their own types. Only the type is logged: the text may hold pixels or paths.
            sys.stderr.write(f"ocr job failed: {type(error).__name__}\n")
            return {"error": _failed("the OCR engine could not read this image: send it in another format or size")}


def main(threads: int, nice: int) -> None:
    """Serves jobs until the parent goes. `threads`: cores to use; `nice`: added to the nice value of the process."""
    limit_process(MAX_MEMORY_BYTES, nice)
    channel, worker = JobPipe(), Worker()
    engine = OcrEngine(threads, worker.step)
    try:
        engine.load()
    except GatewayError as error:
        channel.fail(_error_fields(error))
        return
    channel.hello({"fingerprint": engine.fingerprint})
    while True:
        worker.run(engine, channel.next_job())


def _error_fields(error: GatewayError) -> Json:
    return {"status": error.status, "code": error.code, "type": error.type, "message": error.message}


def _failed(message: str) -> Json:
    return {"status": 500, "code": "ocr_failed", "type": "server_error", "message": message}


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
