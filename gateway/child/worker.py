"""The worker's side of a child process: jobs come over standard input, answers go over standard output.

    channel = Channel()
    channel.hello({"model": "v3"})               # or channel.fail({"message": "no model"}), and leave
    while True:
        job = channel.next_job()                 # the process ends when its parent has gone
        job.send({"piece": "first line"})        # any number; job.alive() says that it still works
        job.end({"pages": 1}, b"content")        # once

Wire format, both ways: two big-endian lengths of 4 bytes, then a JSON object and a body, which may be empty. A message
of the parent is a job, `{"id": 7, …}`, or `{"cancel": 7}`; one of the child is `{"hello": …}`, `{"failed": …}`, or
belongs to a job by its `id`, where `"end": true` marks the last one.
"""

import contextlib
import os
import queue
import resource
import signal
import struct
import sys
import threading
from collections.abc import Iterator
from typing import Any

import orjson

Json = dict[str, Any]
LENGTHS = struct.Struct(">II")


class JobPipe:
    """Takes standard input and output for the protocol; what else is printed goes to standard error. A thread reads the
    jobs ahead: the parent bounds how many it sends."""

    def __init__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all of a terminal: the parent decides
        self._sink = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[WorkerJob] = queue.SimpleQueue()
        self._unfinished: dict[int, WorkerJob] = {}
        threading.Thread(target=self._receive, daemon=True).start()

    def hello(self, about: Json) -> None:
        """Tell the parent that jobs may come."""
        self._write({"hello": about}, b"")

    def fail(self, about: Json) -> None:
        """Tell the parent why no job can be done; the caller ends the process then."""
        self._write({"failed": about}, b"")

    def next_job(self) -> "WorkerJob":
        """The next job in the order of arrival; waits for it."""
        return self._waiting.get()

    def answer(self, job: "WorkerJob", head: Json, body: bytes = b"") -> None:
        """Used by `WorkerJob`."""
        if "end" in head:
            self._unfinished.pop(job.id, None)
        self._write({**head, "id": job.id}, body)

    def _write(self, head: Json, body: bytes) -> None:
        packed = orjson.dumps(head)
        with self._lock:
            for part in (LENGTHS.pack(len(packed), len(body)) + packed, body):
                view = memoryview(part)
                while view:  # unbuffered: a pipe may take a part
                    view = view[self._sink.write(view) :]

    def _receive(self) -> None:
        source = sys.stdin.buffer
        while len(lengths := source.read(LENGTHS.size)) == LENGTHS.size:
            head_size, body_size = LENGTHS.unpack(lengths)
            head, body = orjson.loads(source.read(head_size)), source.read(body_size)
            if "cancel" in head:
                if (cancelled := self._unfinished.get(head["cancel"])) is not None:
                    cancelled.is_cancelled = True
            else:
                job = WorkerJob(self, head.pop("id"), head, body)
                self._unfinished[job.id] = job
                self._waiting.put(job)
        os._exit(0)  # the parent has gone: nobody reads an answer


class WorkerJob:
    """One job. `is_cancelled`: its caller has left; end it soon, with anything. Any thread may answer."""

    def __init__(self, channel: JobPipe, job_id: int, head: Json, body: bytes) -> None:
        self._channel = channel
        self.id = job_id
        self.head = head
        self.body = body
        self.is_cancelled = False

    def alive(self) -> None:
        """Say that the job still runs; the caller does not see it."""
        self._channel.answer(self, {})

    def send(self, head: Json, body: bytes = b"") -> None:
        """A message before the last one; `head` is not empty."""
        self._channel.answer(self, head, body)

    def end(self, head: Json, body: bytes = b"") -> None:
        """The last message."""
        self._channel.answer(self, {**head, "end": True}, body)


def limit_process(memory_bytes: int | None = None, nice: int = 0) -> None:
    """Bound the private memory of this process for good (MemoryError above it, or SIGABRT by a library), write no core
    files, and lower the priority by `nice` where the system allows it."""
    with contextlib.suppress(OSError):
        os.nice(nice)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_bytes is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))


@contextlib.contextmanager
def limited(memory_bytes: int, cpu_s: float) -> Iterator[None]:
    """Bound one job: MemoryError above `memory_bytes` of private memory of the process; the kernel ends the process
    after `cpu_s` seconds of CPU, which the parent sees as `ChildDied` with the reason "cpu"."""
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        signal.setitimer(signal.ITIMER_PROF, 0)
