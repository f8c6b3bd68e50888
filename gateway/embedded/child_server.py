"""An embedded server as a child process: started, waited for, watched, mended, and never left behind.

It is healthy when its /health answers 200. When it dies, or stops answering, it is started again: at once the first
times, then with growing pauses. It runs in a process group of its own, so that stopping it stops what it started.
Of what it writes to standard error only our own lines ("gateway: …") reach the log, when it ends: engines quote
prompts. Knows nothing of models: the command and the port are handed in.
"""

import asyncio
import contextlib
import logging
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
from gateway.resilience.restart_policy import RestartPolicy

_STOP_S = 5.0
_LAST_WORDS_S = 0.5
_FIRST_PAUSE_S = 0.2
_OUR_LINES = 5
_LINE_BYTES = 400


@dataclass(frozen=True, slots=True)
class ChildCommand:
    """`arguments` of the program that serves on 127.0.0.1:`port`; `start_s` is how long it may take to be ready."""

    name: str
    arguments: tuple[str, ...]
    port: int
    start_s: float = 120.0


@dataclass(frozen=True, slots=True)
class Watch:
    """How a child is looked after: probed every `probe_s` until it is ready, then every `watch_s`; killed after
    `silent_probes` probes in a row without a 200 within `timeout_s` each."""

    probe_s: float = 0.1
    watch_s: float = 2.0
    timeout_s: float = 5.0
    silent_probes: int = 6


class ChildServer:
    """One embedded server. `start` begins its supervision; `ensure_ready` starts it at first need and waits."""

    def __init__(self, command: ChildCommand, watch: Watch | None = None) -> None:
        self._command = command
        self._watching = watch or Watch()
        self._ready = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._policy = RestartPolicy(_FIRST_PAUSE_S)
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
            await asyncio.wait({self._keeper}, timeout=3 * _STOP_S)
        self._ready.clear()

    async def _keep(self) -> None:
        async with aiohttp.ClientSession(trust_env=False) as session:
            while True:
                started = time.monotonic()
                words = _Words()
                try:
                    ended = str(await self._run_once(session, words))
                except OSError as error:  # no such program, no memory, no process to be had
                    ended = error.strerror or type(error).__name__
                self._ready.clear()
                self.restarts += 1
                pause_s = self._policy.record_death(time.monotonic() - started)
                told = {"exit": ended, "said": words.ours(), "restarts": self.restarts, "pause_s": pause_s}
                logs.event("child_ended", told, level=logging.WARNING, child=self.name)
                await asyncio.sleep(pause_s)

    async def _run_once(self, session: aiohttp.ClientSession, words: "_Words") -> int | None:
        """From start to death; the exit code. A child that stops answering is killed, which is a death too."""
        process = await asyncio.create_subprocess_exec(
            *self._command.arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        self._process = process
        assert process.stderr is not None
        listening = asyncio.create_task(words.hear(process.stderr))
        ended = asyncio.create_task(process.wait())
        watched = asyncio.create_task(self._watch(session))
        try:
            await asyncio.wait({ended, watched}, return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                _signal_group(process.pid, signal.SIGKILL)  # it is stuck: asking it politely would take seconds
        finally:
            watched.cancel()
            await _stop(process)
            await asyncio.wait({listening}, timeout=_LAST_WORDS_S)
            listening.cancel()
            ended.cancel()
            await asyncio.gather(ended, watched, listening, return_exceptions=True)
        return process.returncode

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
                if silent >= self._watching.silent_probes:
                    logs.event("child_silent", level=logging.WARNING, child=self.name)
                    return
            elif time.monotonic() - started > self._command.start_s:
                return
            await asyncio.sleep(self._watching.watch_s if self._ready.is_set() else self._watching.probe_s)

    async def _answers(self, session: aiohttp.ClientSession) -> bool:
        url = f"http://127.0.0.1:{self._command.port}/health"
        try:
            async with session.get(url, timeout=aiohttp.ClientTimeout(total=self._watching.timeout_s)) as answer:
                return answer.status == 200
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False


class _Words:
    """The last lines of ours that a child wrote to standard error. All it writes is read, so that it never blocks."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque(maxlen=_OUR_LINES)
        self._line = b""

    async def hear(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(4096):
            *whole, self._line = (self._line + chunk).split(b"\n")
            for line in whole:
                self._keep(line)
            self._line = self._line[:_LINE_BYTES]
        self._keep(self._line)

    def _keep(self, line: bytes) -> None:
        if line.startswith(b"gateway:"):
            self._lines.append(line[:_LINE_BYTES])

    def ours(self) -> str:
        return " | ".join(line.decode(errors="replace") for line in self._lines)


async def _stop(process: asyncio.subprocess.Process) -> None:
    """End the child and the whole group it leads, also when the child itself is gone already."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            break
        _signal_group(process.pid, number)
        try:
            async with asyncio.timeout(_STOP_S):
                await process.wait()
        except TimeoutError:
            continue
    _signal_group(process.pid, signal.SIGKILL)


def _signal_group(leader: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def gateway_command(python: str, name: str, port: int, options: Sequence[str]) -> ChildCommand:
    """`gateway NAME-server --port PORT …` run by the interpreter that runs us."""
    return ChildCommand(name, (python, "-m", "gateway", f"{name}-server", "--port", str(port), *options), port)
