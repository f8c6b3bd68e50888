"""One parse process as the server sees it: its jobs, its priority, its end. Protocol: see `parse_worker`.

Knows neither keys nor a queue (`parse_pool`).
"""

import asyncio
import contextlib
import os
import signal
import struct
import time
from asyncio import StreamReader
from asyncio.subprocess import Process
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import orjson

from gateway.domain import Json
from gateway.engines.documents.options import ExtractOptions
from gateway.resilience.child_pipe import write_to_child

_LENGTH = struct.Struct(">I")
"""Before every frame, as `parse_worker` reads them."""

_MAX_ANSWER_BYTES = 64_000_000
"""Largest answer read from a process. Chosen: twelve times the largest page that the fetcher accepts (5 MiB), since
text is escaped as JSON. At half, a compressed PDF's text might not fit; at double, a process that a page has taken
over could fill 128 MB of the server."""

_LONG_JOB_CPU_S, _LONG_JOB_NICE = 1.0, 10
"""After so many seconds of CPU a page has the process's priority lowered, so that the spare processes, and the server
itself, have the cores first. CPU and not time: on a busy machine short pages take long, and if that slowed and ended
their processes one after the other, each page would wait for a start. Chosen: few honest pages take a second. At half,
long manuals cost a process each; at double, a flood of slow pages slows others for twice as long. Nice 10 is a tenth of
the weight of 0 in Linux's scheduler: at half (5) it is a third; at double (19) a busy machine stops slow pages
altogether. A priority is not raised again without privilege, so the process ends when no more pages of such a key wait.
"""

_LEAST_LOOK_S = 0.05
"""Shortest time between two looks at what a page has cost. Chosen: at half a page on a busy machine costs the server
forty looks a second, at double a slow page gives way .1 s late."""

_FIRST_BODY = b"<title>first</title><main><p>What reads pages is imported with the first one.</p></main>"


class ParseProcess:
    """One process, since when it runs, how many jobs it has done, and whether its priority was lowered.

    `is_ready`: it has imported what reads pages.
    """

    def __init__(self, process: Process) -> None:
        self.process = process
        self.started_at = time.monotonic()
        self.jobs = 0
        self.is_slowed = self.is_ready = False

    async def get_ready(self, limit_s: float) -> None:
        """Have it import what reads pages: a process in reserve is of use only then, and a page's time begins then.
        Raises as `run` does, and TimeoutError."""
        if not self.is_ready:
            async with asyncio.timeout(limit_s):
                job = {**asdict(ExtractOptions("")), "limit_s": int(limit_s), "cpu_s": limit_s}
                await self.run(orjson.dumps(job), _FIRST_BODY)
            self.jobs, self.is_ready = 0, True

    def cpu_s(self) -> float | None:
        """CPU seconds of the process so far; None where the kernel does not tell (`/proc/PID/schedstat`, proc(5); read
        2026-11-22), or it has ended."""
        try:
            return int(Path(f"/proc/{self.process.pid}/schedstat").read_bytes().split()[0]) / 1e9
        except (OSError, ValueError, IndexError):
            return None

    def slow_down_when_long(self) -> Callable[[], None]:
        """Lower the priority once the process has worked for _LONG_JOB_CPU_S from now. Returns what ends the watch."""
        loop = asyncio.get_running_loop()
        before_s, began_s = self.cpu_s(), time.monotonic()
        pending: list[asyncio.TimerHandle] = []

        def look() -> None:
            now_s = self.cpu_s()
            is_unknown = before_s is None or now_s is None
            worked_s = time.monotonic() - began_s if is_unknown else (now_s or 0.0) - (before_s or 0.0)
            if worked_s >= _LONG_JOB_CPU_S:
                self.slow_down()
            else:
                pending[:] = [loop.call_later(max(_LONG_JOB_CPU_S - worked_s, _LEAST_LOOK_S), look)]

        def end() -> None:
            pending[0].cancel()

        pending.append(loop.call_later(_LONG_JOB_CPU_S, look))
        return end

    def slow_down(self) -> None:
        """Lower the priority of the process for the rest of its life."""
        self.is_slowed = True
        with contextlib.suppress(OSError):  # it may be gone
            os.setpriority(os.PRIO_PROCESS, self.process.pid, _LONG_JOB_NICE)

    async def run(self, job: bytes, body: bytes) -> Json:
        """The answer to one job, `{page}`, `{failed, code}` or `{missing}`; of a file, `page.content` is UTF-8. Raises
        ConnectionError, IncompleteReadError and OSError when the process dies or does not keep to the protocol."""
        stdin, stdout = self.process.stdin, self.process.stdout
        if stdin is None or stdout is None:
            raise ConnectionError
        write_to_child(stdin, _LENGTH.pack(len(job)) + job + _LENGTH.pack(len(body)), body)
        await stdin.drain()
        answer: Json = orjson.loads(await _read_frame(stdout))
        content = await _read_frame(stdout)
        if content:
            answer["page"]["content"] = content
        self.jobs += 1
        return answer

    async def was_out_of_time(self) -> bool:
        """Whether the kernel ended the process because its job took more CPU time than it may."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):  # its output has ended, so it is as good as gone
                await self.process.wait()
        return self.process.returncode == -signal.SIGPROF

    def was_out_of_memory(self) -> bool:
        """After `was_out_of_time`: whether a library has ended the process, as it does when it gets no memory."""
        return self.process.returncode == -signal.SIGABRT

    async def stop(self) -> None:
        """Kill the process, which has nothing to save, and wait until it is gone."""
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
        if self.process.stdin is not None:
            self.process.stdin.close()
        await self.process.wait()


async def _read_frame(source: StreamReader) -> bytes:
    size = _LENGTH.unpack(await source.readexactly(_LENGTH.size))[0]
    if size > _MAX_ANSWER_BYTES:
        raise ConnectionError
    return await source.readexactly(size)
