"""The embedding process: reads jobs from standard input, runs them on the model, writes answers to standard output.

`python -m gateway.engines.embedding.worker`; the search index starts one of its own kind, which knows more jobs
(`engines.index.vector_worker`). A frame is a 4-byte big-endian length and that many bytes, twice: a JSON head and a
body, which may be empty. The first frame is `{hello: version}`; then each job `{id, lane, kind,
…}` is answered once, by `{id, …}` or `{id, failed: type}`, in any order.

Two lanes work side by side: `urgent` for what a caller waits for, and `background`, whose thread gives way to
everything else on the machine. Each runs its jobs in the order of their arrival. The process ends when its input does.
Knows no queue but the order of its input: its user bounds what is sent.
"""

import contextlib
import os
import queue
import resource
import sys
import threading
from collections.abc import Callable, Mapping
from typing import BinaryIO

import orjson

from gateway.domain import Json
from gateway.engines.embedding.encoder import Encoder, quantised
from gateway.engines.embedding.frames import LENGTH
from gateway.engines.embedding.model_file import MODEL_VERSION, model_path

Job = Callable[[Json], tuple[Json, bytes]]
"""Runs a job: its head in, the answer's head and body out."""
MakeJobs = Callable[[Encoder], Mapping[str, Job]]

_BACKGROUND_NICE = 19
"""Lowest priority: vectors may come later, fetches and searches may not."""
_MAX_MEMORY_BYTES = 2_000_000_000
"""Limit of private memory (RLIMIT_DATA). Chosen: the model takes 150 MB, an index of a million passages 70 MB and as
much for a search. At half, onnxruntime's threads and reserves come near it; at double, a fault may fill a machine of
4 GB."""


def embed_jobs(encoder: Encoder) -> dict[str, Job]:
    """`embed`: `{texts, max_tokens}` to `{tokens, cut}` and float32 rows; `quantise`: to rows of `frames.VECTOR`."""

    def embed(job: Json) -> tuple[Json, bytes]:
        vectors, tokens, cut = encoder.encode(job["texts"], job["max_tokens"])
        return {"tokens": tokens, "cut": cut}, vectors.astype("<f4").tobytes()

    def quantise(job: Json) -> tuple[Json, bytes]:
        scales, values = quantised(encoder.encode(job["texts"], job["max_tokens"])[0])
        rows = [scale.astype("<f4").tobytes() + row.tobytes() for scale, row in zip(scales, values, strict=True)]
        return {}, b"".join(rows)

    return {"embed": embed, "quantise": quantise}


def serve(make_jobs: MakeJobs) -> None:
    """Loads the model and serves until the input ends."""
    resource.setrlimit(resource.RLIMIT_DATA, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Libraries may print to standard output: that must not get into the protocol.
    answers = _Answers(os.fdopen(os.dup(1), "wb", buffering=0))
    os.dup2(2, 1)
    jobs = make_jobs(Encoder(model_path()))
    answers.write({"hello": MODEL_VERSION}, b"")
    lanes = {"urgent": _Lane(jobs, answers, 0), "background": _Lane(jobs, answers, _BACKGROUND_NICE)}
    source = sys.stdin.buffer
    while (head := _read_frame(source)) is not None and _read_frame(source) is not None:
        job = orjson.loads(head)
        lanes[job["lane"]].waiting.put(job)
    os._exit(0)  # the server is gone: nobody reads the answers of the lanes


class _Answers:
    """Writes whole frames, one thread at a time."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self._lock = threading.Lock()

    def write(self, head: Json, body: bytes) -> None:
        packed = orjson.dumps(head)
        frame = LENGTH.pack(len(packed)) + packed + LENGTH.pack(len(body)) + body
        with self._lock:
            view = memoryview(frame)
            while view:  # unbuffered: a pipe may take a part
                view = view[self._sink.write(view) :]


class _Lane:
    """A thread that runs jobs one after the other."""

    def __init__(self, jobs: Mapping[str, Job], answers: _Answers, nice: int) -> None:
        self._jobs = jobs
        self._answers = answers
        self._nice = nice
        self.waiting: queue.SimpleQueue[Json] = queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with contextlib.suppress(OSError):  # a sandbox may forbid it: then at normal priority
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), self._nice)
        while True:
            job = self.waiting.get()
            try:
                head, body = self._jobs[job["kind"]](job)
            except Exception as error:  # a fault that one job meets must not end the process
                head, body = {"failed": type(error).__name__}, b""
            self._answers.write({"id": job["id"], **head}, body)


def _read_frame(source: BinaryIO) -> bytes | None:
    head = source.read(LENGTH.size)
    return source.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else None


if __name__ == "__main__":
    serve(embed_jobs)
