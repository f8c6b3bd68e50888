"""An embedded server as a child process: started, probed, restarted, and stopped with everything it started.

Theory of operation. One task, `_supervise`, owns the process; everything runs in one event loop.

| state    | invariant                             | leaves it when                                           |
|----------|---------------------------------------|----------------------------------------------------------|
| new      | no task, no process                   | `start` or `ensure_ready`: starting                      |
| starting | probed every `start_interval_s`       | /health answers 200: ready; the process ends, or is not  |
|          |                                       | ready after `start_s` (then it is killed): pausing       |
| ready    | `is_ready`; probed every `interval_s` | the process ends, or `max_failures` probes in a row fail |
|          |                                       | (then it is killed): pausing                             |
| pausing  | no process                            | the pause of `RestartPolicy` is over: starting           |
| closed   | after `close`: no task, no process    | never                                                    |

The child leads a process group, so that stopping it stops what it started. Engines print prompts, so only lines of
its standard error that begin with "gateway:" reach the log, when it ends.
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

from gateway import logs
from gateway.child.restart_policy import RestartPolicy
from gateway.errors import UpstreamUnavailable

_STOP_S = 5.0
"""How long a child may take to end after SIGKILL."""

_LAST_LINES_S = 0.5
"""How long the rest of standard error is read after the child has ended."""

_FIRST_PAUSE_S = 0.2
"""Pause after each of the first deaths."""

_MAX_LINES = 5
_MAX_LINE_BYTES = 400


@dataclass(frozen=True, slots=True)
class ChildCommand:
    """`arguments` is the command line of a program that serves on 127.0.0.1:`port`.

    `start_s` is how long it may take to be ready.
    """

    name: str
    arguments: tuple[str, ...]
    port: int
    start_s: float = 120.0


@dataclass(frozen=True, slots=True)
class ProbeSettings:
    """How often /health is asked, in seconds: `start_interval_s` until it answers, then `interval_s`. A probe fails
    without a 200 within `timeout_s`; after `max_failures` in a row the child is killed.

    A probe costs about a millisecond of the child: at a tenth of `start_interval_s`, it would load more slowly.
    """

    start_interval_s: float = 0.1
    interval_s: float = 2.0
    timeout_s: float = 5.0
    max_failures: int = 6


class ChildServer:
    """One embedded server; the module docstring has its states. `restarts` counts its deaths."""

    def __init__(self, command: ChildCommand, probes: ProbeSettings | None = None) -> None:
        self._command = command
        self._probes = probes or ProbeSettings()
        self._ready = asyncio.Event()
        self._supervision: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._restart_policy = RestartPolicy(_FIRST_PAUSE_S)
        self.restarts = 0

    @property
    def name(self) -> str:
        """As in its `ChildCommand`."""
        return self._command.name

    @property
    def pid(self) -> int | None:
        """The process id; None while no process runs."""
        return self._process.pid if self._process and self._process.returncode is None else None

    @property
    def is_started(self) -> bool:
        """Whether it is supervised, be it ready or not."""
        return self._supervision is not None

    @property
    def is_ready(self) -> bool:
        """Whether its /health answered 200 since its process was started."""
        return self._ready.is_set()

    def start(self) -> None:
        """Begin to supervise it, if that has not begun; returns at once."""
        if self._supervision is None:
            self._supervision = asyncio.create_task(self._supervise())

    async def ensure_ready(self) -> None:
        """Start it if need be and wait until it is ready. Raises UpstreamUnavailable after `start_s`."""
        if self._ready.is_set():
            return
        self.start()
        try:
            async with asyncio.timeout(self._command.start_s):
                await self._ready.wait()
        except TimeoutError:
            raise UpstreamUnavailable(
                f"the embedded {self.name} server is not ready yet; try again shortly", retry_after_s=5
            ) from None

    async def close(self) -> None:
        """Stop it and everything it started, and wait until they have ended."""
        if self._supervision is not None:
            self._supervision.cancel()
            await asyncio.wait({self._supervision}, timeout=3 * _STOP_S)
        self._ready.clear()

    async def _supervise(self) -> None:
        while True:
            started = time.monotonic()
            lines = _StderrLines()
            try:
                reason = str(await self._run_once(lines))
            except OSError as error:  # no such program, no memory, too many processes
                reason = error.strerror or type(error).__name__
            self._ready.clear()
            self.restarts += 1
            pause_s = self._restart_policy.record_death(time.monotonic() - started)
            record = {"exit": reason, "said": lines.joined(), "restarts": self.restarts, "pause_s": pause_s}
            logs.event("child_ended", record, level=logging.WARNING, child=self.name)
            await asyncio.sleep(pause_s)

    async def _run_once(self, lines: "_StderrLines") -> int | None:
        """Run one process from start to end. Returns its exit code. Raises OSError when it cannot be started."""
        process = await asyncio.create_subprocess_exec(
            *self._command.arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        self._process = process
        assert process.stderr is not None
        listening = asyncio.create_task(lines.read(process.stderr))
        ended = asyncio.create_task(process.wait())
        probing = asyncio.create_task(self._probe_until_silent())
        try:
            await asyncio.wait({ended, probing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            probing.cancel()
            await _stop(process)
            await asyncio.wait({listening}, timeout=_LAST_LINES_S)
            listening.cancel()
            ended.cancel()
            await asyncio.gather(ended, probing, listening, return_exceptions=True)
        return process.returncode

    async def _probe_until_silent(self) -> None:
        """Return when the child has failed too many probes, or is not ready in time."""
        started = time.monotonic()
        failures = 0
        while True:
            if await self._is_healthy():
                if not self._ready.is_set():
                    logs.event("child_ready", child=self.name, seconds=round(time.monotonic() - started, 2))
                self._ready.set()
                failures = 0
            elif self._ready.is_set():
                failures += 1
                if failures >= self._probes.max_failures:
                    logs.event("child_silent", level=logging.WARNING, child=self.name)
                    return
            elif time.monotonic() - started > self._command.start_s:
                return
            await asyncio.sleep(self._probes.interval_s if self._ready.is_set() else self._probes.start_interval_s)

    async def _is_healthy(self) -> bool:
        """Whether /health answers 200. Asked by hand: the supervisor, which must stay small, imports no HTTP client."""
        try:
            async with asyncio.timeout(self._probes.timeout_s):
                reader, writer = await asyncio.open_connection("127.0.0.1", self._command.port)
                try:
                    writer.write(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                    return (await reader.readline()).split()[1:2] == [b"200"]
                finally:
                    writer.close()
        except (OSError, TimeoutError, ValueError):  # ValueError: a line without end
            return False


class _StderrLines:
    """The last lines beginning with "gateway:" that a child wrote to standard error. Everything it writes is read, so
    that it never blocks on a full pipe."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque(maxlen=_MAX_LINES)
        self._line = b""

    async def read(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(4096):
            *whole, self._line = (self._line + chunk).split(b"\n")
            for line in whole:
                self._add(line)
            self._line = self._line[:_MAX_LINE_BYTES]
        self._add(self._line)

    def _add(self, line: bytes) -> None:
        if line.startswith(b"gateway:"):
            self._lines.append(line[:_MAX_LINE_BYTES])

    def joined(self) -> str:
        return " | ".join(line.decode(errors="replace") for line in self._lines)


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Kill the child and its process group, also when the child itself has ended already.

    Not SIGTERM: nothing on disk is the child's, it is only stopped when no request needs it, and a restart of the
    gateway would wait for its orderly end.
    """
    _signal_group(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_STOP_S):
            await process.wait()


def _signal_group(leader: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def free_port() -> int:
    """A loopback port that is free now; another process may take it before it is used."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def gateway_command(python: str, name: str, port: int, options: Sequence[str]) -> ChildCommand:
    """The command `PYTHON -m gateway NAME-server --port PORT OPTIONS…`."""
    return ChildCommand(name, (python, "-m", "gateway", f"{name}-server", "--port", str(port), *options), port)
