"""The gateway's way to the render process: connects to its socket, and starts the process where nobody else does.

| who starts it | how                                                                                              |
|---------------|--------------------------------------------------------------------------------------------------|
| systemd       | `socket` is given: `gateway-render.socket` listens there, starts the service at a connection     |
| this class    | otherwise: one process for all workers, at a socket below the state directory, under a file lock |

What keeps a page from being rendered is told once in the log and then in `problem`, for the status tool.
"""

import asyncio
import contextlib
import fcntl
import logging
import os
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gateway import logs
from gateway.child.restart_policy import RestartPolicy
from gateway.engines.render.browser import NoBrowser, find_chromium

START_S = 20.0
"""Chosen: the process takes 0.3 s to listen, ten times as long on a machine under heavy load; the browser starts later.
At half, such a machine has no rendering for some pages, at double a process that hangs holds a call for nothing."""
_CONNECT_S = 2.0
_READ_LIMIT = 1 << 20
_NOT_NOW_S = 60.0
"""How long nobody tries again after a start that failed for good (no browser, no namespace). Chosen: what is missing
is added by hand; at half, each minute costs two starts, at double it takes two minutes to be noticed."""
_LOOK_S = 5.0
"""How long a look for the browser's program holds: it takes some 30 system calls, more CPU than the rest of a status
call. Chosen: at half, a status asked each second still looks at every third, at double an installed browser is told
late."""


class NotRendered(Exception):
    """There is no render process; the text says why."""


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """`socket`: that of systemd's unit, None to start the process here, at `own_socket`. `memory_max` in bytes."""

    socket: Path | None
    own_socket: Path
    chromium: str = ""
    max_pages: int = 2
    idle_s: float = 60
    memory_max: int = 1 << 30


class RenderProcess:
    """`connect` as often as calls need it. `close` ends the process that was started here."""

    def __init__(self, settings: ProcessSettings) -> None:
        self._settings = settings
        self._process: Process | None = None
        self._starting = asyncio.Lock()
        self._restarts = RestartPolicy()
        self._not_before = 0.0
        self._look_again = 0.0
        self._lack: str | None = None
        self.problem: str | None = None

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection, which is one call. Raises NotRendered."""
        place = self._settings.socket
        if place is not None:
            connection = await _connect(place)
            if connection is None:
                self._tell(f"nobody listens at {place} (render.socket); is gateway-render.socket started?")
                raise NotRendered(self.problem)
        else:
            connection = await _connect(self._settings.own_socket) or await self._start()
        self.problem = None
        return connection

    def record_failure(self, problem: str) -> None:
        """Pages cannot be rendered although the process runs: its browser does not start."""
        self._tell(problem)
        self._not_before = time.monotonic() + _NOT_NOW_S

    @property
    def is_away(self) -> bool:
        """Whether a start failed a moment ago, so that no page should wait for another one."""
        return time.monotonic() < self._not_before

    @property
    def pid(self) -> int | None:
        """The process that was started here, or None."""
        return self._process.pid if self._process is not None else None

    def lack(self) -> str | None:
        """What is missing on this machine to start the process here; looks for the program alone, every _LOOK_S."""
        if self._settings.socket is None and time.monotonic() >= self._look_again:
            self._lack = None
            try:
                find_chromium(self._settings.chromium)
            except NoBrowser as error:
                self._lack = f"pages are not rendered: {error}"
            self._look_again = time.monotonic() + _LOOK_S
        return self._lack

    async def close(self) -> None:
        """Ends the process, if it was started here."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(START_S):
                    await process.wait()
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _start(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Starts the process, unless another worker does so just now. Raises NotRendered."""
        place = self._settings.own_socket
        async with self._starting:
            if self.is_away or self._restarts.wait_s > 0:
                raise NotRendered(self.problem or "the render process has failed and is started again shortly")
            end = time.monotonic() + START_S
            while time.monotonic() < end:
                with _locked(place.with_suffix(".lock")) as is_ours:
                    connection = await _connect(place)
                    if connection is None and is_ours:
                        await self._launch(place)
                        connection = await _connect(place)
                if connection is not None:
                    return connection
                await asyncio.sleep(0.1)  # another worker starts it
        raise NotRendered("the render process does not answer")

    async def _launch(self, place: Path) -> None:
        settings = self._settings
        words = [sys.executable, "-m", "gateway.engines.render.server", "--socket", str(place)]
        words += ["--peer", str(os.getuid()), "--chromium", settings.chromium, "--max-pages", str(settings.max_pages)]
        words += ["--idle-s", str(settings.idle_s), "--memory-mb", str(settings.memory_max >> 20)]
        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(*words, stdin=DEVNULL, stdout=PIPE)
        assert process.stdout is not None
        try:
            async with asyncio.timeout(START_S):
                reason = (await process.stdout.readline()).decode("utf-8", "replace").strip()
        except TimeoutError:
            reason = ""
        except asyncio.CancelledError:
            process.kill()
            raise
        if reason == "ready":
            self._process = process
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        self._restarts.record_death(time.monotonic() - began)
        if reason:
            self.record_failure(reason)  # what is missing is not there a moment later either
            raise NotRendered(reason)
        raise NotRendered("the render process ended at once or did not start in time")

    def _tell(self, problem: str) -> None:
        if self.problem != problem:
            self.problem = problem
            logs.event("render_unavailable", level=logging.WARNING, reason=problem)


async def _connect(place: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
    try:
        async with asyncio.timeout(_CONNECT_S):
            return await asyncio.open_unix_connection(str(place), limit=_READ_LIMIT)
    except (OSError, TimeoutError):
        return None


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Whether this process alone holds the lock for the block."""
    file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(file)
