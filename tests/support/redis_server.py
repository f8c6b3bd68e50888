"""A Redis of the tests' own, which can be stopped and started again on its port, paused, and told anything."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.shared_state.redis_state import RedisConnection
from tests.support.ports import free_port

pytest.importorskip("redis", reason="the [redis] extra is not installed")

import redis.asyncio


class RedisServer:
    """`url` stays the same over restarts. It keeps nothing when it is stopped."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            "redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self._folder),
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        async with asyncio.timeout(10):
            while True:
                try:
                    await self.do("PING")
                    return
                except redis.exceptions.ConnectionError:
                    await asyncio.sleep(0.02)

    async def do(self, *command: object) -> Any:
        async with redis.asyncio.from_url(self.url) as client:
            return await client.execute_command(*command)

    async def lock(self, password: str) -> None:
        """Ask every connection for a password from now on, those that are open included: they are closed."""
        async with redis.asyncio.Redis(port=self.port, single_connection_client=True) as client:
            await client.config_set("requirepass", password)
            await client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            await client.execute_command("CLIENT", "KILL", "TYPE", "pubsub", "SKIPME", "yes")

    async def unlock(self, password: str) -> None:
        """Ask for no password any more."""
        async with redis.asyncio.Redis(port=self.port, password=password) as client:
            await client.config_set("requirepass", "")

    async def stop(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            self._process = None


@asynccontextmanager
async def running_redis(folder: Path) -> AsyncIterator[RedisServer]:
    """Skips the test where no redis-server is installed."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed here")
    server = RedisServer(folder)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def until_up(connection: RedisConnection) -> None:
    """Wait until a connection counts its Redis as up again, at most ten seconds."""
    async with asyncio.timeout(10):
        while not connection.is_up:
            connection.check_if_due()
            await asyncio.sleep(0.02)
