"""The parsing processes, seen from the server: started at first use, replaced when one hangs or dies.

The server itself never imports lxml or trafilatura: they are big, and what they do to hostile pages belongs into a
process that can be killed. A job waits its turn, is bounded in time, and takes its process along when it is cancelled
or too slow.
"""

import asyncio
import contextlib
import os
import struct
import sys
from asyncio.subprocess import PIPE, Process
from dataclasses import asdict

import orjson

from gateway.domain import Json
from gateway.engines.extract.page import ExtractOptions
from gateway.engines.fetch.errors import FetchFailed
from gateway.errors import EngineMissing, Overloaded

_LENGTH = struct.Struct(">I")
_MAX_ANSWER_BYTES = 64_000_000
_JOBS_PER_PROCESS = 2_000  # fragmented memory is handed back by a fresh process


class _Worker:
    """One process and how many jobs it has done."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.jobs = 0

    async def ask(self, job: bytes, body: bytes) -> Json:
        stdin, stdout = self.process.stdin, self.process.stdout
        if stdin is None or stdout is None:
            raise ConnectionError
        stdin.write(_LENGTH.pack(len(job)) + job + _LENGTH.pack(len(body)))
        stdin.write(body)
        await stdin.drain()
        size = _LENGTH.unpack(await stdout.readexactly(_LENGTH.size))[0]
        if size > _MAX_ANSWER_BYTES:
            raise ConnectionError
        answer: Json = orjson.loads(await stdout.readexactly(size))
        self.jobs += 1
        return answer

    async def stop(self) -> None:
        """Kills; a parsing process has nothing to save."""
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
        if self.process.stdin is not None:
            self.process.stdin.close()
        await self.process.wait()


class ParsePool:
    """At most `size` processes. `max_waiting` jobs may wait for one; more are refused."""

    def __init__(
        self, size: int = 0, *, job_limit_s: float = 20.0, max_waiting: int = 1000, idle_s: float = 300.0
    ) -> None:
        self._size = size or max(1, min(4, os.cpu_count() or 1))
        self._job_limit_s = job_limit_s
        self._max_waiting = max_waiting
        self._idle_s = idle_s
        self._slots = asyncio.Semaphore(self._size)
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._waiting = 0
        self._closed = False
        self._ending: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def close(self) -> None:
        """Ends every process; jobs still running fail."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._retire_idle()
        for worker in self._busy:
            self._retire(worker)
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def extract(self, body: bytes, options: ExtractOptions) -> Json:
        """The page (see engines.extract). Raises FetchFailed, EngineMissing, Overloaded."""
        if self._waiting >= self._max_waiting:
            raise Overloaded("too many pages are waiting to be read; try again shortly", retry_after_s=5)
        self._waiting += 1
        try:
            async with self._slots:
                answer = await self._run(body, options)
        finally:
            self._waiting -= 1
        if "missing" in answer:
            raise EngineMissing(answer["missing"])
        if "failed" in answer:
            raise FetchFailed(answer["failed"], answer["code"])
        page: Json = answer["page"]
        return page

    async def _run(self, body: bytes, options: ExtractOptions) -> Json:
        job = orjson.dumps({**asdict(options), "limit_s": int(self._job_limit_s)})
        worker = self._idle.pop() if self._idle else await self._start()
        keep = False
        self._busy.add(worker)
        try:
            async with asyncio.timeout(self._job_limit_s):
                answer = await worker.ask(job, body)
            keep = worker.jobs < _JOBS_PER_PROCESS and not self._closed
            return answer
        except TimeoutError as error:
            message = f"the page takes longer than {self._job_limit_s:g} s to read"
            raise FetchFailed(message, "unparsable") from error
        except (asyncio.IncompleteReadError, ConnectionError, OSError) as error:
            raise FetchFailed("the page brought the parser down; it cannot be read", "unparsable") from error
        finally:
            self._busy.discard(worker)
            if keep:
                self._idle.append(worker)
                self._watch_idle()
            else:
                self._retire(worker)

    async def _start(self) -> _Worker:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "gateway.engines.extract.parse_worker", stdin=PIPE, stdout=PIPE, limit=1 << 20
        )
        return _Worker(process)

    def _watch_idle(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self._idle_s, self._retire_idle)

    def _retire_idle(self) -> None:
        while self._idle:
            self._retire(self._idle.pop())

    def _retire(self, worker: _Worker) -> None:
        task = asyncio.get_running_loop().create_task(worker.stop())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
