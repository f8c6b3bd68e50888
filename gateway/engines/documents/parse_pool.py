"""The server's pool of parse processes: started at first use, replaced when one hangs, dies or has grown old.

The server itself never imports lxml: it is large, and hostile pages may crash or block them, so they
run in processes that can be killed. A job waits for its turn, dealt out by key, and is bounded in time; a job that is
cancelled or too slow ends the process it runs in. Protocol: see `parse_worker`. Knows nothing of HTML.

A page cannot be interrupted, so while one key's slow pages hold every process, a page of another key is read in a
spare process at once (see `resilience.fair_queue`). Three rules make that quick:

- when pages begin to wait, one process is started as a reserve, which a key that has a page in work does not get;
- slow pages give way: the priority of their process is lowered (_CROWDED_JOB_S, and `parse_process`);
- a process of low priority goes on with pages of a key that has more of them waiting, and is ended after the flood.
"""

import asyncio
import contextlib
import math
import os
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import Callable
from dataclasses import asdict

import orjson

from gateway.child.restart_policy import RestartPolicy
from gateway.domain import Json
from gateway.engines.documents.memory_limit import out_of_memory
from gateway.engines.documents.options import ExtractOptions
from gateway.engines.documents.parse_process import ParseProcess
from gateway.engines.documents.signatures import is_document
from gateway.engines.fetch.errors import FetchFailed
from gateway.errors import EngineMissing, Overloaded
from gateway.resilience.fair_queue import HALF, FairQueue, QueueFull

_JOBS_PER_PROCESS = 2_000
"""After so many jobs a process is replaced, to return fragmented memory. Chosen: the 0.13 s of a start and first page
(measured 2026-11-22 on a page of one line) are lost among 2,000 jobs. At half, twice the starts; at double, a process
may grow twice as far."""

_JOB_LIMIT_S = 20.0
_MAX_WAITING = 1000
_IDLE_S = 300.0
"""Chosen together. Most pages take well under a second: at half the limit, large PDFs fail on a busy machine; at
double, one hostile page holds a process for 40 s. 1,000 waiting jobs are the pages of several large crawls: at half,
some of those are refused; at double, the last ones wait longer than their callers do. After five minutes without a job
the processes end: at half, an occasional search pays for a start; at double, memory is held for nothing (45 MB for each
process after a page of one line, measured 2026-11-22)."""

_CPU_S, _CPU_S_PER_MB, _DOCUMENT_CPU_S = 2.0, 0.6, 15.0
"""CPU seconds that a body may cost, which the kernel holds a process to: those of a small page, those of each megabyte
more, and those of a PDF or Office document. An honest page of 1.6 MB takes 0.9 s, with a second opinion 1.9 s, and a
process's first page 0.3 s more for its imports (measured 2026-11-22); 300 pages of a PDF take 5 to 12 s. At half, long
manuals fail on a slow machine; at double, a hostile page of 5 MB holds a process for 10 s instead of 5."""

_MAX_PROCESSES = 4
"""Chosen: beyond it, fetching is the bottleneck. At half, a crawl on a large machine is slower; at double, the pool may
hold twice the memory."""

_CROWDED_JOB_S, _FLOOD_S = 0.2, 1.0
"""After the first time a page has its process's priority lowered when more pages of its key wait; at once when pages of
its key have waited without a break for the second. Chosen: most pages take a tenth of a second. At half, a crawl's
pages are read a little later; at double, a flood of slow pages slows others for twice as long."""

_LONGEST_PAUSE_S = 1.0
"""Longest pause before the next start when processes keep dying. Chosen: pages come from strangers, and a site full of
pages that kill the parser must not stop the reading of others. At half, a broken installation costs two starts a
second; at double, sound pages wait longer behind hostile ones."""


class ParsePool:
    """At most `size` processes (0: one per CPU, up to 4), and as many spare ones for keys that have none.

    `share`: the part of the processes that is one key's due while others wait (`limits.share_of_parse`). At most
    `max_waiting` jobs wait; more are refused. A job may take `job_limit_s`; after `idle_s` seconds without a job, idle
    processes are ended.
    """

    def __init__(
        self,
        size: int = 0,
        *,
        share: float = HALF,
        job_limit_s: float = _JOB_LIMIT_S,
        max_waiting: int = _MAX_WAITING,
        idle_s: float = _IDLE_S,
    ) -> None:
        size = size or max(1, min(_MAX_PROCESSES, os.cpu_count() or 1))
        self._job_limit_s = job_limit_s
        self._idle_s = idle_s
        self._slots = FairQueue(size, share=share, spare=size, max_waiting=max_waiting)
        self._idle: list[ParseProcess] = []
        self._slowed: list[ParseProcess] = []
        self._waits_since: dict[str, float] = {}
        self._busy: set[ParseProcess] = set()
        self._warming: asyncio.Task[None] | None = None
        self._closed = False
        self._ending: set[asyncio.Task[None]] = set()
        self._restarts = RestartPolicy(longest_pause_s=_LONGEST_PAUSE_S)
        self._timer: asyncio.TimerHandle | None = None

    async def close(self) -> None:
        """End every process; jobs that still run fail with FetchFailed."""
        self._closed = True
        if self._warming is not None:
            await asyncio.wait({self._warming})
        if self._timer is not None:
            self._timer.cancel()
        self._retire_idle()
        for worker in self._busy:
            self._retire(worker)
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def extract(self, body: bytes, options: ExtractOptions, owner: str = "") -> Json:
        """Parse a document for the key `owner`. Returns the page as `engines.documents.page.extract` describes it.

        Raises FetchFailed (`unparsable`, `too_large` or as the parser says), EngineMissing when the web extra is not
        installed, Overloaded when too many jobs wait.
        """
        if not self._slots.take(owner):
            self._warm_up()
            if not self._slots.waits(owner):
                self._waits_since[owner] = time.monotonic()
            try:
                await self._slots.acquire(owner)
            except QueueFull:
                raise Overloaded("too many pages are waiting to be read; try again shortly", retry_after_s=5) from None
        try:
            answer = await self._run(body, options, owner)
        finally:
            self._slots.release(owner)
            if not self._slots.waits(owner):
                self._waits_since.pop(owner, None)
        if "missing" in answer:
            raise EngineMissing(answer["missing"])
        if "failed" in answer:
            raise FetchFailed(answer["failed"], answer["code"])
        page: Json = answer["page"]
        return page

    async def _run(self, body: bytes, options: ExtractOptions, owner: str) -> Json:
        limits = {"limit_s": int(self._job_limit_s), "cpu_s": self._cpu_limit_s(body)}
        job = orjson.dumps({**asdict(options), **limits})
        worker = self._idle_process(owner) or await self._start()
        keep = False
        self._busy.add(worker)
        watch = contextlib.ExitStack()
        try:
            async with asyncio.timeout(self._job_limit_s):
                await worker.get_ready(self._job_limit_s)
                watch.callback(worker.slow_down_when_long())
                watch.callback(self._slow_down_when_crowded(worker, owner))
                answer = await worker.run(job, body)
            keep = worker.jobs < _JOBS_PER_PROCESS and not self._closed
            return answer
        except TimeoutError as error:
            self._record_death(worker)
            message = f"the page takes longer than {self._job_limit_s:g} s to read"
            raise FetchFailed(message, "unparsable") from error
        except (asyncio.IncompleteReadError, ConnectionError, OSError) as error:
            if await worker.was_out_of_time():  # the page's fault, not the process's: the next one need not wait
                message = f"the page takes longer than {self._cpu_limit_s(body):.1f} s to read"
                raise FetchFailed(message, "unparsable") from error
            if worker.was_out_of_memory():
                raise out_of_memory(options.task) from error
            self._record_death(worker)
            raise FetchFailed("the page brought the parser down; it cannot be read", "unparsable") from error
        finally:
            watch.close()
            self._busy.discard(worker)
            if keep:
                self._put_back(worker)
            else:
                self._retire(worker)

    def _slow_down_when_crowded(self, worker: ParseProcess, owner: str) -> Callable[[], None]:
        """Lower the priority of a page's process if more pages of its key wait. Returns what ends the watch."""
        is_flood = time.monotonic() - self._waits_since.get(owner, math.inf) > _FLOOD_S
        timer = asyncio.get_running_loop().call_later(
            0.0 if is_flood else _CROWDED_JOB_S, lambda: worker.slow_down() if self._slots.waits(owner) else None
        )
        return timer.cancel

    def _idle_process(self, owner: str) -> ParseProcess | None:
        """An idle process for a page of this key: a slowed one where the key floods; the last one of full priority only
        where the key has no other page in work, or nobody waits. One that has died meanwhile is no page's fault."""
        for workers in (self._idle, self._slowed):
            for dead in [each for each in workers if each.process.returncode is not None]:
                workers.remove(dead)
                self._retire(dead)
        if self._slots.waits(owner) and self._slowed:
            return self._slowed.pop()
        is_reserve = len(self._idle) == 1 and self._slots.waiting > 0 and self._slots.held(owner) > 1
        return None if is_reserve or not self._idle else self._idle.pop()

    def _put_back(self, worker: ParseProcess) -> None:
        """The process has done its page. One of low priority is kept while pages wait."""
        (self._slowed if worker.is_slowed else self._idle).append(worker)
        self._watch_idle()
        if not self._slots.waiting:
            self._retire_all(self._slowed)

    def _warm_up(self) -> None:
        """Start one process in the background unless one is idle: the next key to come does not wait for its start."""
        if self._idle or self._warming is not None or self._restarts.wait_s > 0:
            return

        async def start() -> None:
            try:
                worker = await self._start()
                try:
                    await worker.get_ready(self._job_limit_s)
                except (TimeoutError, asyncio.IncompleteReadError, OSError):  # a ConnectionError is an OSError
                    self._record_death(worker)
                    self._retire(worker)
                else:
                    self._idle.append(worker)
                    self._watch_idle()
            finally:
                self._warming = None

        self._warming = asyncio.get_running_loop().create_task(start())

    def _cpu_limit_s(self, body: bytes) -> float:
        """CPU seconds that reading the body may take."""
        return _DOCUMENT_CPU_S if is_document(body) else _CPU_S + _CPU_S_PER_MB * len(body) / 1e6

    def _record_death(self, worker: ParseProcess) -> None:
        if not self._closed:
            self._restarts.record_death(time.monotonic() - worker.started_at)

    async def _start(self) -> ParseProcess:
        if (pause_s := self._restarts.wait_s) > 0:
            await asyncio.sleep(pause_s)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "gateway.engines.documents.parse_worker", stdin=PIPE, stdout=PIPE, limit=1 << 20
        )
        return ParseProcess(process)

    def _watch_idle(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self._idle_s, self._retire_idle)

    def _retire_idle(self) -> None:
        self._retire_all(self._idle)
        self._retire_all(self._slowed)

    def _retire_all(self, workers: list[ParseProcess]) -> None:
        while workers:
            self._retire(workers.pop())

    def _retire(self, worker: ParseProcess) -> None:
        task = asyncio.get_running_loop().create_task(worker.stop())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
