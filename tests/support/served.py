"""`gateway serve` as a process of its own, for tests of what only a process can do: signals, sockets, workers."""

import asyncio
import json
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from gateway.config.environment import read_environment
from gateway.embedded.child_server import free_port

LIMIT_S = 30

BASE = """
[local_llm]
enabled = false
[local_ocr]
enabled = false
[ops]
port = {ops_port}
[server]
port = {port}
"""


class Served:
    """A running `gateway serve`. `events` are its log lines, in order; `plain` all else it said on either stream."""

    def __init__(self, folder: Path, port: int) -> None:
        self.port, self.ops_port = port, free_port()
        self.url, self.ops_url = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{self.ops_port}"
        self.config = folder / "gateway.toml"
        self.state_dir = folder / "state"
        self.events: list[dict[str, Any]] = []
        self.plain = ""
        self._more = asyncio.Condition()
        self._readers: list[asyncio.Task[None]] = []
        self.process: asyncio.subprocess.Process

    def write_config(self, toml: str) -> None:
        """`toml` begins inside [server]."""
        self.config.write_text(BASE.format(port=self.port, ops_port=self.ops_port) + toml)

    async def start(self, variables: dict[str, str], inherit: socket.socket | None = None) -> None:
        command = [sys.executable, "-m", "gateway", "serve", "--config", str(self.config)]
        command += ["--state-dir", str(self.state_dir)]
        if inherit is not None:  # as systemd does: the socket is descriptor 3, and the process is told its own id
            script = f"import os,sys; os.dup2({inherit.fileno()}, 3); os.environ['LISTEN_PID'] = str(os.getpid()); "
            script += "os.environ['LISTEN_FDS'] = '1'; os.execv(sys.argv[1], sys.argv[1:])"
            command = [sys.executable, "-c", script, *command]
        self.process = await asyncio.create_subprocess_exec(
            *command,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**read_environment().variables, **variables},
            pass_fds=[inherit.fileno()] if inherit is not None else [],
        )
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            self._readers.append(asyncio.create_task(self._read(stream)))

    async def _read(self, stream: asyncio.StreamReader) -> None:
        while line := await stream.readline():
            async with self._more:
                try:
                    self.events.append(json.loads(line))
                except ValueError:
                    self.plain += line.decode()
                self._more.notify_all()

    def named(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == name]

    async def logged(self, name: str, count: int = 1) -> dict[str, Any]:
        """Wait for the `count`th log line of that name."""
        return await self._until(lambda: self.named(name)[count - 1] if len(self.named(name)) >= count else None, name)

    async def said(self, text: str) -> None:
        await self._until(lambda: {} if text in self.plain else None, text)

    async def _until(self, find: Callable[[], dict[str, Any] | None], what: str) -> dict[str, Any]:
        try:
            async with asyncio.timeout(LIMIT_S), self._more:
                while (found := find()) is None:
                    await self._more.wait()
                return found
        except TimeoutError:
            raise AssertionError(f"never said: {what}; but: {self.events[-20:]} {self.plain[-1000:]}") from None

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def ended(self, limit_s: float = LIMIT_S) -> int:
        """Wait for its end, and for all it said. Returns the exit code."""
        async with asyncio.timeout(limit_s):
            code = await self.process.wait()
            await asyncio.gather(*self._readers)
        return code

    async def close(self) -> None:
        if self.process.returncode is None:
            self.process.terminate()
            try:
                await self.ended(15)
            except TimeoutError:
                self.process.kill()
                await self.process.wait()
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)

    # --- as a client -------------------------------------------------------------------------------------------------

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {(self.state_dir / 'dev-key').read_text().strip()}"}

    async def get(self, path: str, *, ops: bool = False) -> tuple[int, str]:
        """On a connection of its own."""
        url = (self.ops_url if ops else self.url) + path
        timeout = aiohttp.ClientTimeout(total=LIMIT_S)
        async with (
            aiohttp.ClientSession(headers=None if ops else self.headers, timeout=timeout) as session,
            session.get(url) as answer,
        ):
            return answer.status, await answer.text()

    async def says_it_is_ready(self) -> None:
        """Workers are told within a moment what they wait for."""
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

    def workers(self) -> list[int]:
        """Process ids of its workers."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        commands = {int(pid): Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children}
        return sorted(pid for pid, command in commands.items() if command.endswith(b"\0worker\0"))


@asynccontextmanager
async def served(folder: Path, toml: str = "", port: int = 0, **variables: str) -> AsyncIterator[Served]:
    """A `gateway serve` that is ready."""
    one = Served(folder, port or free_port())
    one.write_config(toml)
    await one.start(variables)
    try:
        await one.logged("ready")
        yield one
    finally:
        await one.close()


def upstream_toml(base_url: str) -> str:
    return f'\n[[models]]\nname = "SvcLLM"\n[[models.upstreams]]\nbase_url = "{base_url}"\nmodel = "scripted"\n'
