"""The connections to Redis, and whether it is up. No request waits for Redis longer than one command's timeout.

| Redis is | a command                           | leaves it when                                                    |
|----------|-------------------------------------|-------------------------------------------------------------------|
| up       | is sent, and waited for `command_s` | one fails or takes longer: down                                   |
| down     | raises StateDown at once            | a command comes `down_s` after the last failure, and the check    |
|          |                                     | that it starts in the background succeeds, `on_back` included: up |

Needs Redis 5 or newer and the [redis] extra. Source: redis.io/docs, redis-py 8.1, read 2026-11-21.
"""

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from gateway import logs
from gateway.errors import EngineMissing, InvalidRequest
from gateway.shared_state.port import StateDown

_CONNECTIONS = 8
"""Connections of each process. Chosen: a command takes well under a millisecond, so eight serve thousands a second. At
half, bursts wait for a connection and may exceed `command_s`; at double, many processes open many idle connections."""

_CONNECT_S = 1.0
"""Timeout of connecting and of closing, in the background only. Chosen: at half, a distant Redis with TLS may never be
reached; at double, the gateway's end may wait 2 s for it."""

_LOG_INTERVAL_S = 60.0
"""Least time between two log records of failures. Chosen: at half, an outage of an hour writes 120 records for each
process; at double, a failure that returns after a minute is not seen in the log."""

_EPOCH = "gateway:epoch"
"""A random mark that Redis loses with its data."""


@dataclass(frozen=True, slots=True)
class RedisTimes:
    """`command_s`: timeout of a command; `down_s`: how long Redis is not used after a failure.

    Chosen. A command takes under 1 ms in a data centre and every keyed request waits for two: at half of 50 ms, a pause
    of Redis for a snapshot counts as a failure; at double, each failure costs a request 0.1 s. At half of 5 s, a dead
    Redis is tried more often than it helps; at double, limits are per machine for 10 s after it is back.
    """

    command_s: float = 0.05
    down_s: float = 5.0


OnBack = Callable[["RedisConnection"], Awaitable[None]]
"""Called by a check before Redis counts as up, to tell it what it has missed. Raises StateDown where that fails."""


class RedisConnection:
    """A pool of connections to one Redis. Raises EngineMissing when the [redis] extra is not installed, InvalidRequest
    when `url` is not an address of Redis. `failures` counts commands that were not answered in time or refused."""

    def __init__(self, url: str, times: RedisTimes | None = None) -> None:
        try:
            import redis.asyncio  # noqa: PLC0415 - optional extra
        except ImportError:
            raise EngineMissing("shared.redis_url needs the redis extra: make install EXTRAS=redis") from None
        self.times = times or RedisTimes()
        self.errors: tuple[type[Exception], ...] = (redis.exceptions.RedisError, OSError, TimeoutError)
        try:
            pool = redis.asyncio.BlockingConnectionPool.from_url(
                url,
                max_connections=_CONNECTIONS,
                timeout=self.times.command_s,
                socket_connect_timeout=_CONNECT_S,
                retry=None,
            )
        except ValueError:  # its message may quote the address, which may hold a password
            raise InvalidRequest("shared.redis_url must be a redis://, rediss:// or unix:// address") from None
        self._redis = redis.asyncio.Redis.from_pool(pool)
        self._listening = redis.asyncio.Redis.from_url(url, socket_connect_timeout=_CONNECT_S, retry=None)
        self._checking: asyncio.Task[None] | None = None
        self._check_at = 0.0
        self._log_at = 0.0
        self.is_up = True
        self.failures = 0
        self.epoch = ""
        self.on_back: list[OnBack] = []

    async def ask(self, command: Callable[[Any], Awaitable[Any]]) -> Any:
        """Execute one command, given the client of redis-py. Raises StateDown."""
        if not self.is_up:
            self.check_if_due()
            raise StateDown
        return await self._send(command, self.times.command_s)

    async def ask_patiently(self, command: Callable[[Any], Awaitable[Any]]) -> Any:
        """As `ask`, where no request waits: also while Redis does not count as up, and for up to _CONNECT_S."""
        return await self._send(command, _CONNECT_S)

    def check_if_due(self) -> None:
        """Start a check where Redis is down and none has run for `down_s`."""
        if not self.is_up and time.monotonic() >= self._check_at:
            self.check()

    def check(self) -> "asyncio.Task[None]":
        """The check that runs, or a new one."""
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check())
        return self._checking

    async def _send(self, command: Callable[[Any], Awaitable[Any]], limit_s: float) -> Any:
        try:
            async with asyncio.timeout(limit_s):
                return await command(self._redis)
        except self.errors as error:
            self._fail(error)
            raise StateDown from None

    def _fail(self, error: Exception) -> None:
        now = time.monotonic()
        self.is_up = False
        self.failures += 1
        self._check_at = now + self.times.down_s
        if now >= self._log_at:
            self._log_at = now + _LOG_INTERVAL_S
            logs.event("shared_state_away", level=logging.WARNING, error=type(error).__name__)

    async def _check(self) -> None:
        """Open every connection anew, so that no request has to, check that a write succeeds, and catch up."""
        was_up, failures = self.is_up, self.failures
        try:
            async with asyncio.timeout(2 * _CONNECT_S):
                if not was_up:
                    await self._redis.connection_pool.disconnect()
                await asyncio.gather(*(self._redis.ping() for _ in range(_CONNECTIONS)))
                await self._redis.set(_EPOCH, secrets.token_hex(8), nx=True)
                await self._redis.set("gateway:probe", 1, px=1000)
                self.epoch = (await self._redis.get(_EPOCH)).decode()
            for catch_up in self.on_back:
                await catch_up(self)
        except self.errors as error:
            self._fail(error)
            return
        except StateDown:
            return
        if was_up and self.failures != failures:
            return  # a command failed meanwhile
        if not self.is_up:
            logs.event("shared_state_back")
        self.is_up = True
        self._log_at = 0.0

    @asynccontextmanager
    async def subscription(self, channel: str) -> AsyncIterator[Any]:
        """A subscription of redis-py to a channel, on a connection of its own. Raises `errors`."""
        async with self._listening.pubsub() as subscription:
            await subscription.subscribe(channel)
            yield subscription

    async def close(self) -> None:
        """Disconnect."""
        if self._checking is not None:
            self._checking.cancel()
            await asyncio.wait({self._checking})
        with contextlib.suppress(*self.errors):
            async with asyncio.timeout(_CONNECT_S):
                await self._redis.aclose(close_connection_pool=True)
                await self._listening.aclose(close_connection_pool=True)
