"""An embedded server as a child process: started, waited for, watched, mended, and never left behind.

It is healthy when its /health answers 200. When it dies, or stops answering, it is started again: at once the first
times, then with growing pauses. It runs in a process group of its own, so that stopping it stops what it started.
Knows nothing of models: the command and the port are handed in.
"""

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import aiohttp

from gateway import logs
from gateway.errors import UpstreamUnavailable

_PROBE_S = 0.1
_WATCH_S = 2.0
_PROBE_TIMEOUT_S = 5.0
_SILENT_PROBES = 6
_STOP_S = 5.0
_FAST_DEATHS = 5
_DEATH_WINDOW_S = 60.0
_PAUSES_S = (0.2, 0.5, 1, 2, 5, 10, 30)


@dataclass(frozen=True, slots=True)
class ChildCommand:
    """`arguments` of the program that serves on 127.0.0.1:`port`; `start_s` is how long it may take to be ready."""

    name: str
    arguments: tuple[str, ...]
    port: int
    start_s: float = 120.0


class ChildServer:
    """One embedded server. `start` begins its supervision; `ensure_ready` starts it at first need and waits."""

    def __init__(self, command: ChildCommand) -> None:
        self._command = command
        self._ready = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._deaths: deque[float] = deque(maxlen=_FAST_DEATHS)
        self.restarts = 0

    @property
    def name(self) -> str:
        return self._command.name

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self._process.returncode is None else None

    @property
    def is_started(self) -> bool:
        return self._keeper is not None

    @property
    def is_ready(self) -> bool:
        return self._ready.is_set()

    def start(self) -> None:
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep())

    async def ensure_ready(self) -> None:
        """Start it if need be and wait until it answers. Raises UpstreamUnavailable when it does not in time."""
        if self._ready.is_set():
            return
        self.start()
        try:
            async with asyncio.timeout(self._command.start_s):
                await self._ready.wait()
        except TimeoutError:
            raise UpstreamUnavailable(f"the embedded {self.name} server is not ready yet", retry_after_s=5) from None

    async def close(self) -> None:
        """Stop it and everything it started; waits until it is gone."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper}, timeout=2 * _STOP_S)
        await self._stop()

    async def _keep(self) -> None:
        async with aiohttp.ClientSession(trust_env=False) as session:
            while True:
                await self._run_once(session)
                self._ready.clear()
                self.restarts += 1
                self._deaths.append(time.monotonic())
                pause_s = self._pause_s()
                logs.event("child_ended", child=self.name, restarts=self.restarts, pause_s=pause_s)
                await asyncio.sleep(pause_s)

    def _pause_s(self) -> float:
        recent = sum(1 for at in self._deaths if at > time.monotonic() - _DEATH_WINDOW_S)
        if recent < _FAST_DEATHS:
            return _PAUSES_S[0]
        return _PAUSES_S[min(self.restarts - _FAST_DEATHS + 1, len(_PAUSES_S) - 1)]

    async def _run_once(self, session: aiohttp.ClientSession) -> None:
        """From start to death. A child that stops answering is killed, which is a death too."""
        self._process = await asyncio.create_subprocess_exec(
            *self._command.arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            ended = asyncio.create_task(self._process.wait())
            watched = asyncio.create_task(self._watch(session))
            await asyncio.wait({ended, watched}, return_when=asyncio.FIRST_COMPLETED)
            watched.cancel()
            ended.cancel()
            await asyncio.wait({ended, watched})
        finally:
            await self._stop()

    async def _watch(self, session: aiohttp.ClientSession) -> None:
        """Returns when the child has been silent for too long."""
        started = time.monotonic()
        silent = 0
        while True:
            if await self._answers(session):
                if not self._ready.is_set():
                    logs.event("child_ready", child=self.name, seconds=round(time.monotonic() - started, 2))
                self._ready.set()
                silent = 0
            elif self._ready.is_set():
                silent += 1
                if silent >= _SILENT_PROBES:
                    return
            elif time.monotonic() - started > self._command.start_s:
                return
            await asyncio.sleep(_WATCH_S if self._ready.is_set() else _PROBE_S)

    async def _answers(self, session: aiohttp.ClientSession) -> bool:
        url = f"http://127.0.0.1:{self._command.port}/health"
        try:
            async with session.get(url, timeout=aiohttp.ClientTimeout(total=_PROBE_TIMEOUT_S)) as answer:
                return answer.status == 200
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False

    async def _stop(self) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            try:
                async with asyncio.timeout(_STOP_S):
                    await process.wait()
                return
            except TimeoutError:
                continue


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def gateway_command(python: str, name: str, port: int, options: Sequence[str]) -> ChildCommand:
    """`gateway NAME-server --port PORT …` run by the interpreter that runs us."""
    return ChildCommand(name, (python, "-m", "gateway", f"{name}-server", "--port", str(port), *options), port)
