"""The server's pool of parse processes, and what one is asked to do. Imports nothing that reads pages.

The server itself never imports lxml: it is large, and hostile pages may crash or block it, so pages are read in
processes that can be killed (`gateway.child`; the other side is `parse_worker`). A job waits for its turn, dealt out by
key, and is bounded in time, CPU and memory; a job that is cancelled or too slow ends the process it runs in.

A page cannot be interrupted, so while one key's slow pages hold every process, a page of another key is read in a
spare process at once (`resilience.fair_queue`). Two rules make that quick: when pages begin to wait, one process is
started as a reserve, which a key that has a page in work does not get; and when a page of another key comes, the pages
of a key that asks for more than its due are read on with a lower priority. The priority is that of one thread, since
the kernel lets nobody raise it again: the next page is read by a new thread of the same process.
"""

import asyncio
import contextlib
import math
import os
import sys
import time
from contextlib import aclosing
from dataclasses import asdict, dataclass
from typing import Literal

import orjson

from gateway.child.client import Child, ChildDied, ChildLimits, ChildNotStarted
from gateway.child.restart_policy import RestartPolicy
from gateway.domain import Json
from gateway.engines.fetch.errors import Unreadable
from gateway.errors import EngineMissing, Overloaded
from gateway.resilience.fair_queue import HALF, FairQueue, QueueFull

SNIFFED_BYTES = 1024
"""Beginning of a body that shows its kind: declarations and root elements are there."""
ZIP = b"PK\x03\x04"
MEMORY_BYTES, PICTURE_MEMORY_BYTES = 600_000_000, 1_000_000_000
"""Private memory that a process may have beyond the body while it reads a page or document, and while it draws a page
or decodes a picture. Its libraries take 170 MB of it. Measured: a page of 5 MB takes 130 MB more, a manual of 21 MB 10,
a sheet of 600,000 cells 110, a picture of 35 million pixels 410."""
_PICTURE_TASKS = frozenset(("picture", "plain picture"))
_JOBS_PER_PROCESS = 2_000
"""After so many jobs a process is replaced, to return fragmented memory."""
_JOB_LIMIT_S = 20.0
_MAX_WAITING = 1000
_IDLE_S = 300.0
"""Seconds after which an idle process ends."""
_CPU_S, _CPU_S_PER_MB, _DOCUMENT_CPU_S = 2.0, 0.6, 15.0
"""CPU seconds that a body may cost, which the kernel holds a process to: those of a small page, those of each megabyte
more, and those of a PDF or Office document. An honest page of 1.6 MB takes 0.9 s; 300 pages of a PDF take 5 to 12 s."""
_MAX_PROCESSES = 4
_LOWERED_NICE = 10
"""Nice value of a thread whose page gives way to those of another key: the kernel gives it a tenth of the time."""
_LONGEST_PAUSE_S = 1.0
"""Longest pause before the next start when processes keep dying: a site full of pages that kill the parser must not
stop the reading of others."""
_MAX_ANSWER_BYTES = 64_000_000
"""Largest answer of a process: twelve times the largest page that the fetcher accepts, since JSON escapes text."""


@dataclass(frozen=True, slots=True)
class ExtractOptions:
    """A job for a parsing process: what to read from one body.

    `task` "page" reads a page (see `engines.documents.page`), "file" one of a request: its content is bytes, UTF-8,
    since a `str` may take four bytes a character and is made once it is known what stands around it. "sitemap" reads a
    sitemap (see `engines.documents.feeds`), for which the other fields mean nothing; "shorten" cuts texts
    (`shorten_in`), "picture" draws page `number` of a document, "plain picture" turns one upright (see
    `engines.documents.page_picture`). `depth` is basic or advanced, `format` markdown or text. `query` asks for what of
    the page answers it, `fragment` for one section; of a result longer than `most_chars` (0: any) the sections are
    listed, about `most_sections`. `links` and `images` ask for those lists; with `routes` links to `#!/…` are links to
    pages. `page_texts`: what OCR has read of pages without text, by their number; of an HTML page, which is one, of a
    picture of it.
    """

    url: str
    content_type: str = "text/html"
    depth: str = "basic"
    format: str = "markdown"
    query: str | None = None
    fragment: str = ""
    most_chars: int = 0
    most_sections: int = 0
    links: bool = False
    routes: bool = False
    images: bool = False
    number: int = 1
    page_texts: tuple[tuple[int, str], ...] = ()
    task: Literal["page", "file", "sitemap", "shorten", "picture", "plain picture"] = "page"


def is_pdf(body: bytes) -> bool:
    """Whether a body begins as a PDF does, whatever its Content-Type."""
    return body[:SNIFFED_BYTES].lstrip()[:5] == b"%PDF-"


def is_document(body: bytes) -> bool:
    """Whether a body may be a PDF or Office document, which take longer to read than pages."""
    return is_pdf(body) or body.startswith(ZIP)


def memory_limit(task: str) -> int:
    """Bytes of private memory that a job of a task may take beyond its body."""
    return PICTURE_MEMORY_BYTES if task in _PICTURE_TASKS else MEMORY_BYTES


def out_of_memory(task: str) -> Unreadable:
    """The error for a page that needs more memory than its task may have."""
    size = f"{memory_limit(task) // 1_000_000} MB"
    return Unreadable(f"reading the page needs more memory than one page may take ({size})", "too_large")


@dataclass(eq=False, slots=True)
class _PageAtWork:
    """A page in work: its key, its process, and the thread that reads it there, 0 until the process has told."""

    owner: str
    child: Child
    thread: int = 0


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
        self._limits = ChildLimits(
            start_s=job_limit_s, message_s=job_limit_s, job_s=job_limit_s, pause_s=_LONGEST_PAUSE_S, idle_s=idle_s,
            message_bytes=_MAX_ANSWER_BYTES,
        )  # fmt: skip
        self._restarts = RestartPolicy(longest_pause_s=_LONGEST_PAUSE_S)
        self._slots = FairQueue(size, share=share, spare=size, max_waiting=max_waiting)
        self._idle: list[Child] = []
        self._busy: set[_PageAtWork] = set()
        self._warming: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._closed = False
        self._read_at = -math.inf

    @property
    def quiet_s(self) -> float:
        """Seconds since a page was last read; 0 while one is."""
        return 0.0 if self._busy else time.monotonic() - self._read_at

    async def close(self) -> None:
        """End every process; jobs that still run fail with Unreadable."""
        self._closed = True
        if self._warming is not None:
            await asyncio.wait({self._warming})
        for child in (*self._idle, *(reading.child for reading in self._busy)):
            self._retire(child)
        self._idle.clear()
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def extract(self, body: bytes, options: ExtractOptions, owner: str = "") -> Json:
        """Parse a document for the key `owner`. Returns the page as `engines.documents.page.extract` describes it.

        Raises Unreadable (`unparsable`, `too_large` or as the parser says), EngineMissing when an extra is not
        installed, Overloaded when too many jobs wait.
        """
        if not self._slots.take(owner):
            self.warm_up()
            try:
                await self._slots.acquire(owner)
            except QueueFull:
                raise Overloaded("too many pages are waiting to be read; try again shortly", retry_after_s=5) from None
        try:
            answer = await self._run(body, options, owner)
        finally:
            self._slots.release(owner)
        if "missing" in answer:
            raise EngineMissing(answer["missing"])
        if "failed" in answer:
            raise Unreadable(answer["failed"], answer["code"])
        page: Json = answer["page"]
        return page

    async def _run(self, body: bytes, options: ExtractOptions, owner: str) -> Json:
        child = self._idle_child(owner) or Child(_WORKER, self._limits, self._restarts)
        self._busy.add(reading := _PageAtWork(owner, child))
        keep = False
        try:
            job = {"options": asdict(options), "cpu_s": self._cpu_limit_s(body)}
            async with aclosing(child.stream(job, body)) as messages:
                reading.thread = (await anext(messages)).head["thread"]
                self._give_way()
                answer, content = await anext(messages)
            if content:
                answer["page"]["content"] = content
            keep = child.jobs < _JOBS_PER_PROCESS
            return answer
        except ChildDied as death:
            raise self._failure(death, body, options) from death
        except ChildNotStarted as error:
            raise Unreadable("the page cannot be read: the parser did not start") from error
        finally:
            self._busy.discard(reading)
            self._read_at = time.monotonic()
            if keep and not self._closed:
                self._idle.append(child)
            else:
                self._retire(child)

    def _failure(self, death: ChildDied, body: bytes, options: ExtractOptions) -> Unreadable:
        if death.reason == "memory":
            return out_of_memory(options.task)
        limits = {"cpu": f"{self._cpu_limit_s(body):.1f}", "too long": f"{self._limits.job_s:g}"}
        if death.reason in limits:
            return Unreadable(f"the page takes longer than {limits[death.reason]} s to read")
        return Unreadable("the page brought the parser down; it cannot be read")

    def _give_way(self) -> None:
        """Lower the priority of pages whose keys ask for more than their due; called when a page is begun."""
        for reading in self._busy:
            if reading.thread and self._slots.is_greedy(reading.owner):
                with contextlib.suppress(OSError):  # it may be gone
                    os.setpriority(os.PRIO_PROCESS, reading.thread, _LOWERED_NICE)

    def _idle_child(self, owner: str) -> Child | None:
        """An idle process for a page of this key: the last one only where the key has no other page in work, or nobody
        waits."""
        is_reserve = len(self._idle) == 1 and self._slots.waiting > 0 and self._slots.held(owner) > 1
        return None if is_reserve or not self._idle else self._idle.pop()

    def warm_up(self) -> None:
        """Start one process in the background unless one is idle: the next key to come does not wait for its start."""
        if self._idle or self._warming is not None or self._restarts.wait_s > 0:
            return
        child = Child(_WORKER, self._limits, self._restarts)

        async def start() -> None:
            try:
                await child.start()
                self._idle.append(child)
            except ChildNotStarted:
                self._retire(child)
            finally:
                self._warming = None

        self._warming = asyncio.get_running_loop().create_task(start())

    def _cpu_limit_s(self, body: bytes) -> float:
        """CPU seconds that reading the body may take."""
        return _DOCUMENT_CPU_S if is_document(body) else _CPU_S + _CPU_S_PER_MB * len(body) / 1e6

    def _retire(self, child: Child) -> None:
        task = asyncio.get_running_loop().create_task(child.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


_WORKER = (sys.executable, "-m", "gateway.engines.documents.parse_worker")


async def shorten_in(pool: ParsePool, texts: list[str], max_chars: int, owner: str) -> list[str]:
    """The texts as `words.excerpt.shorten` cuts them, for the key `owner`; half surrogate pairs become `?`. Raises as
    `ParsePool.extract` does."""
    whole = [text.encode("utf-8", "replace").decode() for text in texts]
    answer = await pool.extract(orjson.dumps([max_chars, whole]), ExtractOptions("", task="shorten"), owner)
    shortened: list[str] = answer["texts"]
    return shortened
