"""Rate limits that several machines share, in Redis: the same sliding minute and the same slots as in `rate_limits`.

Each call and each slot is a member of a sorted set whose score is the time at which it ends; a Lua script adds it if
there is room, on the clock of Redis. A slot is a lease: it is renewed while the request runs, so that the slots of a
machine that dies become free. No request waits for Redis longer than one command's timeout. Theory of operation:

| Redis is | limits are enforced by              | leaves it when                                              |
|----------|-------------------------------------|-------------------------------------------------------------|
| up       | Redis, and for slots by `local` too | a command fails or takes longer than `command_s`: down      |
| down     | `local`, in this process alone      | a request comes `down_s` after the last failure, and |
|          |                                     | the check that it starts in the background succeeds: up     |

Needs Redis 5 or newer and the [redis] extra. Knows no HTTP. Source: redis.io/docs (EVAL, sorted sets, TIME in
scripts), redis-py 8.1, read 2026-11-21.
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
from gateway.access.rate_limits import WINDOW_S, LocalLimiter
from gateway.config.server_settings import Limits
from gateway.domain import Caller
from gateway.errors import EngineMissing, InvalidRequest, RateLimited

_CONNECTIONS = 8
"""Connections of each process. Chosen: a command takes well under a millisecond, so eight serve thousands a second. At
half, bursts wait for a connection and may exceed `command_s`; at double, many processes open many idle connections."""

_CONNECT_S = 1.0
"""Timeout of connecting and of closing, in the background only. Chosen: at half, a distant Redis with TLS may never be
reached; at double, the gateway's end may wait 2 s for it."""

_LOG_INTERVAL_S = 60.0
"""Least time between two log records of failures. Chosen: at half, an outage of an hour writes 120 records for each
process; at double, a failure that returns after a minute is not seen in the log."""

# KEYS[1]: the set. ARGV: the limit, how long a member is held in ms, the member.
# Returns 0 if the member was added, else the ms until the first one ends.
_TAKE = """
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then
  local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return math.max(1, first[2] - now)
end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 0
"""

# KEYS[1]: the set. ARGV: how long the members are held from now in ms, the members.
_RENEW = """
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 0
"""


class _RedisDown(Exception):
    """Redis did not execute the command, or is not used for the moment."""


@dataclass(frozen=True, slots=True)
class RedisTimes:
    """`command_s`: timeout of a command; `down_s`: how long Redis is not used after a failure; `lease_s`: how
    long a slot is leased for, renewed at a third of it.

    Chosen. A command takes under 1 ms in a data centre and every keyed request waits for two: at half of 50 ms, a pause
    of Redis for a snapshot counts as a failure; at double, each failure costs a request 0.1 s. At half of 5 s, a dead
    Redis is tried more often than it helps; at double, limits are per process for 10 s after it is back. At half of
    30 s, a machine that stands still for 10 s loses the slots of its requests; at double, slots of a dead machine are
    lost for a minute.
    """

    command_s: float = 0.05
    down_s: float = 5.0
    lease_s: float = 30.0


class RedisLimiter:
    """A `rate_limits.Limiter` over Redis. `local` enforces the limits while Redis is down.

    Raises EngineMissing when the [redis] extra is not installed, InvalidRequest when `url` is not an address of Redis.
    """

    def __init__(self, url: str, defaults: Limits, local: LocalLimiter, times: RedisTimes | None = None) -> None:
        self._defaults = defaults
        self._local = local
        self._times = times or RedisTimes()
        self._connection = _Connection(url, self._times)
        self._leases: dict[str, set[str]] = {}
        self._renewing: asyncio.Task[None] | None = None

    @property
    def is_shared(self) -> bool:
        """Whether Redis is up, so that limits hold for all machines together."""
        return self._connection.is_up

    @asynccontextmanager
    async def slot(self, caller: Caller) -> AsyncIterator[None]:
        """One of the key's concurrent requests on all machines, until the block ends. Raises RateLimited."""
        limit = self._defaults.concurrent if caller.concurrent is None else caller.concurrent
        async with self._local.slot(caller):
            if not limit:
                yield
                return
            member = secrets.token_hex(8)
            try:
                await self._lease(caller, limit, member)
                yield
            finally:
                await self._release(caller.key_id, member)

    async def charge(self, caller: Caller) -> None:
        """One call of the key's minute on all machines. Raises RateLimited."""
        limit = self._defaults.per_minute if caller.per_minute is None else caller.per_minute
        if not limit:
            return
        try:
            wait_s = await self._take(_calls(caller.key_id), limit, WINDOW_S, secrets.token_hex(8))
        except _RedisDown:
            await self._local.charge(caller)
            return
        if wait_s:
            raise RateLimited(f"this key may make {limit} calls a minute", retry_after_s=wait_s)

    async def close(self) -> None:
        """Free the slots that are still leased, then disconnect."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait({self._renewing})
        for key_id, members in list(self._leases.items()):
            for member in list(members):
                await self._release(key_id, member)
        await self._connection.close()

    async def _take(self, name: str, limit: int, hold_s: float, member: str) -> float:
        wait_ms = await self._connection.ask(
            lambda redis: redis.eval(_TAKE, 1, name, limit, int(hold_s * 1000), member)
        )
        return int(wait_ms) / 1000

    async def _lease(self, caller: Caller, limit: int, member: str) -> None:
        # Recorded before Redis answers: a slot whose answer is lost must still be renewed and released.
        self._leases.setdefault(caller.key_id, set()).add(member)
        try:
            wait_s = await self._take(_slots(caller.key_id), limit, self._times.lease_s, member)
        except _RedisDown:
            wait_s = 0.0  # the local slot, which is held already, has to do
        if wait_s:
            self._forget(caller.key_id, member)
            raise RateLimited(f"this key may have {limit} requests at once", retry_after_s=1)
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew())

    async def _release(self, key_id: str, member: str) -> None:
        if self._forget(key_id, member):
            with contextlib.suppress(_RedisDown):
                await self._connection.ask(lambda redis: redis.zrem(_slots(key_id), member))

    def _forget(self, key_id: str, member: str) -> bool:
        members = self._leases.get(key_id, set())
        if member not in members:
            return False
        members.discard(member)
        if not members:
            del self._leases[key_id]
        return True

    async def _renew(self) -> None:
        """Renew the leases of running requests; ends when none runs. Adds those that began while Redis was down."""
        while self._leases:
            await asyncio.sleep(self._times.lease_s / 3)
            for key_id, members in list(self._leases.items()):
                with contextlib.suppress(_RedisDown):
                    await self._renew_key(key_id, tuple(members))

    async def _renew_key(self, key_id: str, members: tuple[str, ...]) -> None:
        name, hold_ms = _slots(key_id), int(self._times.lease_s * 1000)
        await self._connection.ask(lambda redis: redis.eval(_RENEW, 1, name, hold_ms, *members))
        ended = [member for member in members if member not in self._leases.get(key_id, ())]
        if ended:  # released while they were being renewed: the renewal has added them again
            await self._connection.ask(lambda redis: redis.zrem(name, *ended))


def _calls(key_id: str) -> str:
    return f"gateway:calls:{key_id}"


def _slots(key_id: str) -> str:
    return f"gateway:slots:{key_id}"


class _Connection:
    """The connections to Redis, and whether it is up. While it is down no request waits: it is checked in the
    background, at most once in `down_s`."""

    def __init__(self, url: str, times: RedisTimes) -> None:
        try:
            import redis.asyncio  # noqa: PLC0415 - optional extra
        except ImportError:
            raise EngineMissing("shared.redis_url needs the redis extra: make install EXTRAS=redis") from None
        self._times = times
        self._errors: tuple[type[Exception], ...] = (redis.exceptions.RedisError, OSError, TimeoutError)
        try:
            pool = redis.asyncio.BlockingConnectionPool.from_url(
                url,
                max_connections=_CONNECTIONS,
                timeout=times.command_s,
                socket_connect_timeout=_CONNECT_S,
                retry=None,
            )
        except ValueError:  # its message may quote the address, which may hold a password
            raise InvalidRequest("shared.redis_url must be a redis://, rediss:// or unix:// address") from None
        self._redis = redis.asyncio.Redis.from_pool(pool)
        self._checking: asyncio.Task[None] | None = None
        self._check_at = 0.0
        self._log_at = 0.0
        self.is_up = True

    async def ask(self, command: Callable[[Any], Awaitable[Any]]) -> Any:
        """Execute one command. Raises _RedisDown."""
        if not self.is_up:
            self._check_in_background()
            raise _RedisDown
        try:
            async with asyncio.timeout(self._times.command_s):
                return await command(self._redis)
        except self._errors as error:
            self._fail(error)
            raise _RedisDown from None

    def _fail(self, error: Exception) -> None:
        now = time.monotonic()
        self.is_up = False
        self._check_at = now + self._times.down_s
        if now >= self._log_at:
            self._log_at = now + _LOG_INTERVAL_S
            logs.event("shared_limits_away", level=logging.WARNING, error=type(error).__name__)

    def _check_in_background(self) -> None:
        if time.monotonic() >= self._check_at and (self._checking is None or self._checking.done()):
            self._checking = asyncio.create_task(self._check())

    async def _check(self) -> None:
        """Open every connection anew, so that no request has to, then check that a write succeeds."""
        try:
            async with asyncio.timeout(2 * _CONNECT_S):
                await self._redis.connection_pool.disconnect()
                await asyncio.gather(*(self._redis.ping() for _ in range(_CONNECTIONS)))
                await self._redis.set("gateway:probe", 1, px=1000)
        except self._errors as error:
            self._fail(error)
            return
        self.is_up = True
        self._log_at = 0.0
        logs.event("shared_limits_back")

    async def close(self) -> None:
        if self._checking is not None:
            self._checking.cancel()
            await asyncio.wait({self._checking})
        with contextlib.suppress(*self._errors):
            async with asyncio.timeout(_CONNECT_S):
                await self._redis.aclose(close_connection_pool=True)
