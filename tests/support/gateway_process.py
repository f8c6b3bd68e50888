"""`gateway serve` as a child process of the tests, and a client of it. Tests make one with `gateways.start_process`."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

from gateway.config.environment import read_environment
from tests.support.ports import free_port
from tests.support.waiting import until

LIMIT_S = 30
"""Longest wait for one event, one printed text or one answer."""
START_S = 120
"""Longest start: it may load the embedded language model on a busy machine."""
WITHOUT_EMBEDDED = "[local_llm]\nenabled = false\n[local_ocr]\nenabled = false\n"


class GatewayProcess:
    """A `gateway serve` process and a client of it. Its standard output and error go to one file.

    `with` and `async with` start it, wait until it is ready and end it. The configuration must be written before.
    """

    def __init__(self, folder: Path, port: int) -> None:
        self.port, self.ops_port = port, free_port()
        self.url, self.ops_url = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{self.ops_port}"
        self.config = folder / "gateway.toml"
        self.state_dir = folder / "state"
        self.options: Sequence[str] = ()
        self.variables: dict[str, str] = {}
        self._output = folder / "output"
        self.process: subprocess.Popen[bytes]

    def write_config(self, toml: str, *, embedded: bool = False) -> None:
        """`toml` begins inside the table `server`. Without `embedded` the embedded models are switched off."""
        tables = "" if embedded else WITHOUT_EMBEDDED
        self.config.write_text(f"{tables}[ops]\nport = {self.ops_port}\n[server]\nport = {self.port}\n{toml}")

    def start(self, inherit: socket.socket | None = None) -> None:
        """Start it and do not wait. `inherit` is passed on as systemd does: descriptor 3 and the process's own id."""
        command = [sys.executable, "-m", "gateway", "serve", "--config", str(self.config)]
        command += ["--state-dir", str(self.state_dir), *self.options]
        if inherit is not None:
            script = f"import os,sys; os.dup2({inherit.fileno()}, 3); os.environ['LISTEN_PID'] = str(os.getpid()); "
            script += "os.environ['LISTEN_FDS'] = '1'; os.execv(sys.argv[1], sys.argv[1:])"
            command = [sys.executable, "-c", script, *command]
        with self._output.open("wb") as file:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                env={**read_environment().variables, **self.variables},
                pass_fds=[inherit.fileno()] if inherit is not None else [],
            )  # fmt: skip

    @asynccontextmanager
    async def begun(self, inherit: socket.socket | None = None) -> AsyncIterator[Self]:
        """Started and not waited for, and ended with the block: for a start that fails, or is interrupted."""
        self.start(inherit)
        try:
            yield self
        finally:
            await self.close()

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def wait_exit(self, limit_s: float = LIMIT_S) -> int:
        """Wait for its end. Returns the exit code."""
        await until(lambda: self.process.poll() is not None, limit_s)
        return self.process.wait()

    async def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            with suppress(TimeoutError):
                await self.wait_exit(15)
        self.process.kill()
        self.process.wait()

    async def __aenter__(self) -> Self:
        self.start()
        try:
            await until(self._has_started, START_S)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def __enter__(self) -> Self:
        self.start()
        end = time.monotonic() + START_S
        try:
            while not self._has_started():
                assert time.monotonic() < end, f"the gateway was not ready in {START_S} s:\n{self.output()}"
                time.sleep(0.05)
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.terminate()
        try:
            self.process.wait(60)
        finally:
            self.process.kill()
            self.process.wait()

    def _has_started(self) -> bool:
        """The welcome is the last thing that a start prints."""
        assert self.process.poll() is None, f"the gateway ended at its start:\n{self.output()}"
        return "The gateway answers on" in self.output()

    # --- what it logs and prints -------------------------------------------------------------------------------------

    def output(self) -> str:
        """Everything it has written to standard output and error since its last start."""
        return self._output.read_text(errors="replace")

    def events(self, name: str) -> list[dict[str, Any]]:
        """Log lines of that event, in order."""
        return [event for line in self._lines() if (event := _parse_event(line)) and event["event"] == name]

    def printed(self) -> str:
        """Its output without the log."""
        return "".join(line for line in self._lines() if not _parse_event(line))

    def _lines(self) -> list[str]:
        return self.output().splitlines(keepends=True)

    async def wait_for_event(self, name: str, count: int = 1) -> dict[str, Any]:
        """Wait for the `count`th log line of that event."""
        await self._until(lambda: len(self.events(name)) >= count, name)
        return self.events(name)[count - 1]

    async def wait_for_text(self, text: str) -> None:
        await self._until(lambda: text in self.printed(), text)

    async def _until(self, condition: Callable[[], bool], expected: str) -> None:
        try:
            await until(condition, LIMIT_S)
        except TimeoutError:
            raise AssertionError(f"no {expected!r} in {LIMIT_S} s, but:\n{self.output()[-4000:]}") from None

    # --- as a client -------------------------------------------------------------------------------------------------

    @property
    def key(self) -> str:
        """The key that the first start made: every scope."""
        return (self.state_dir / "dev-key").read_text().strip()

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    async def get(self, path: str, *, ops: bool = False) -> tuple[int, str]:
        """Status and body, on a connection of its own."""
        url = (self.ops_url if ops else self.url) + path
        timeout = aiohttp.ClientTimeout(total=LIMIT_S)
        async with (
            aiohttp.ClientSession(headers=None if ops else self.headers, timeout=timeout) as session,
            session.get(url) as answer,
        ):
            return answer.status, await answer.text()

    async def wait_until_ready(self) -> None:
        """Wait for 200 of `/readyz`: workers learn a moment after their parent that the embedded servers are ready."""
        async with asyncio.timeout(LIMIT_S):
            while (await self.get("/readyz", ops=True))[0] != 200:  # noqa: ASYNC110 - another process changes it
                await asyncio.sleep(0.02)

    async def chat(self, *, stream: bool = False) -> tuple[int, str]:
        """Status and body; a cut connection is ClientError."""
        body = {"model": "SvcLLM", "stream": stream, "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
        async with aiohttp.ClientSession(headers=self.headers) as session:
            timeout = aiohttp.ClientTimeout(total=LIMIT_S)
            async with session.post(f"{self.url}/v1/chat/completions", json=body, timeout=timeout) as answer:
                return answer.status, await answer.text()

    # --- its processes -----------------------------------------------------------------------------------------------

    def workers(self) -> list[int]:
        """Process ids of its workers."""
        return sorted(pid for pid in descendants(self.process.pid) if _name(pid) == "gateway-worker")

    def embedded_servers(self) -> dict[str, int]:
        """Process ids of the embedded servers by name (`llm`, `ocr`)."""
        names = {pid: re.search(r"\0(\w+)-server\0", command) for pid, command in self._children().items()}
        return {name[1]: pid for pid, name in names.items() if name}

    def _children(self) -> dict[int, str]:
        """Command lines of its child processes by process id, each argument with a NUL behind it."""
        commands = {}
        for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
            with suppress(FileNotFoundError):  # it may end between the two reads
                commands[int(pid)] = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        return commands

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Another `gateway` command beside the running server, on the same state directory."""
        return run_command(*arguments, "--state-dir", str(self.state_dir))


def descendants(pid: int) -> list[int]:
    """The processes below a process."""
    with suppress(FileNotFoundError, ProcessLookupError):  # it may end meanwhile
        children = [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        return [*children, *(each for child in children for each in descendants(child))]
    return []


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _parse_event(line: str) -> dict[str, Any] | None:
    try:
        event: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    return event


def run_command(*arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """A `gateway` command, to its end. `env`: variables beside those of this process."""
    command = [sys.executable, "-m", "gateway", *arguments]
    variables = {**os.environ, **(env or {})}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=variables)
