"""Limits that several machines share, in Redis: the same sliding minute and the same slots as in memory.

Each call and each slot is a member of a sorted set scored by when it ends, taken by one Lua script on Redis's own
clock. A slot is a lease: it is renewed while the request runs, so that a machine that dies gives its slots back.
Redis is never waited for longer than a command's limit: when it is slow, away or refuses, limits are kept by this
process alone until it is back. Needs Redis 5 or newer and the [redis] extra. Knows no HTTP.
Source: redis.io/docs (EVAL, sorted sets, TIME in scripts), redis-py 8.1, read 2026-11-21.
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
from gateway.access.rate_limits import LocalLimiter
from gateway.config.settings import Limits
from gateway.domain import Caller
from gateway.errors import EngineMissing, InvalidRequest, RateLimited

_WINDOW_S = 60.0
_CONNECTIONS = 8
_CONNECT_S = 1.0
_LOG_AGAIN_S = 60.0

# KEYS[1] the set; ARGV: most members, how long one is held in ms, the member. 0 = taken, else ms until the first ends.
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

# KEYS[1] the set; ARGV: how long the members are held from now in ms, the members.
_RENEW = """
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 0
"""


class _Away(Exception):
    """Redis did not do what it was asked, or is not being asked."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a command may take, how long Redis is left alone after a failure, how long a slot is leased for."""

    command_s: float = 0.05
    leave_alone_s: float = 5.0
    lease_s: float = 30.0


class RedisLimiter:
    """An `access.rate_limits.Limiter` over Redis. `local` keeps the limits while Redis is away.

    Raises EngineMissing when the [redis] extra is not installed, InvalidRequest for an address that is none.
    """

    def __init__(self, url: str, defaults: Limits, local: LocalLimiter, patience: Patience | None = None) -> None:
        self._defaults = defaults
        self._local = local
        self._patience = patience or Patience()
        self._link = _Link(url, self._patience)
        self._leases: dict[str, set[str]] = {}
        self._renewing: asyncio.Task[None] | None = None

    @property
    def is_shared(self) -> bool:
        """Whether Redis did what it was asked the last time."""
        return self._link.is_up

    @asynccontextmanager
    async def slot(self, caller: Caller) -> AsyncIterator[None]:
        """One of the key's concurrent requests on all machines, until the block ends. Raises RateLimited."""
        most = self._defaults.concurrent if caller.concurrent is None else caller.concurrent
        async with self._local.slot(caller):
            if not most:
                yield
                return
            member = secrets.token_hex(8)
            try:
                await self._lease(caller, most, member)
                yield
            finally:
                await self._release(caller.key_id, member)

    async def charge(self, caller: Caller) -> None:
        """One call of the key's minute on all machines. Raises RateLimited."""
        most = self._defaults.per_minute if caller.per_minute is None else caller.per_minute
        if not most:
            return
        try:
            wait_s = await self._take(_calls(caller.key_id), most, _WINDOW_S, secrets.token_hex(8))
        except _Away:
            await self._local.charge(caller)
            return
        if wait_s:
            raise RateLimited(f"this key may make {most} calls a minute", retry_after_s=wait_s)

    async def close(self) -> None:
        """Give back what is still leased and leave."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait({self._renewing})
        for key_id, members in list(self._leases.items()):
            for member in list(members):
                await self._release(key_id, member)
        await self._link.close()

    async def _take(self, name: str, most: int, hold_s: float, member: str) -> float:
        wait_ms = await self._link.ask(lambda redis: redis.eval(_TAKE, 1, name, most, int(hold_s * 1000), member))
        return int(wait_ms) / 1000

    async def _lease(self, caller: Caller, most: int, member: str) -> None:
        # Remembered before it is asked for: an answer that is lost must not leave a slot behind that nobody renews.
        self._leases.setdefault(caller.key_id, set()).add(member)
        try:
            wait_s = await self._take(_slots(caller.key_id), most, self._patience.lease_s, member)
        except _Away:
            wait_s = 0.0  # the local slot is held already
        if wait_s:
            self._forget(caller.key_id, member)
            raise RateLimited(f"this key may have {most} requests at once", retry_after_s=1)
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew())

    async def _release(self, key_id: str, member: str) -> None:
        if self._forget(key_id, member):
            with contextlib.suppress(_Away):
                await self._link.ask(lambda redis: redis.zrem(_slots(key_id), member))

    def _forget(self, key_id: str, member: str) -> bool:
        members = self._leases.get(key_id, set())
        if member not in members:
            return False
        members.discard(member)
        if not members:
            del self._leases[key_id]
        return True

    async def _renew(self) -> None:
        """Keep what runs leased; ends when nothing does. What began while Redis was away is counted from then on."""
        while self._leases:
            await asyncio.sleep(self._patience.lease_s / 3)
            for key_id, members in list(self._leases.items()):
                with contextlib.suppress(_Away):
                    await self._renew_key(key_id, tuple(members))

    async def _renew_key(self, key_id: str, members: tuple[str, ...]) -> None:
        name, hold_ms = _slots(key_id), int(self._patience.lease_s * 1000)
        await self._link.ask(lambda redis: redis.eval(_RENEW, 1, name, hold_ms, *members))
        ended = [member for member in members if member not in self._leases.get(key_id, ())]
        if ended:  # given back while they were being renewed
            await self._link.ask(lambda redis: redis.zrem(name, *ended))


def _calls(key_id: str) -> str:
    return f"gateway:calls:{key_id}"


def _slots(key_id: str) -> str:
    return f"gateway:slots:{key_id}"


class _Link:
    """The connection to Redis, and whether it is any use. After a failure nobody waits for it: it is tried again in
    the background, at most once in `leave_alone_s`."""

    def __init__(self, url: str, patience: Patience) -> None:
        try:
            import redis.asyncio  # noqa: PLC0415 - optional extra
        except ImportError:
            raise EngineMissing("shared.redis_url needs the redis extra: make install EXTRAS=redis") from None
        self._patience = patience
        self._errors: tuple[type[Exception], ...] = (redis.exceptions.RedisError, OSError, TimeoutError)
        try:
            pool = redis.asyncio.BlockingConnectionPool.from_url(
                url,
                max_connections=_CONNECTIONS,
                timeout=patience.command_s,
                socket_connect_timeout=_CONNECT_S,
                retry=None,
            )
        except ValueError:  # its own words may quote the address, which may hold a password
            raise InvalidRequest("shared.redis_url must be a redis://, rediss:// or unix:// address") from None
        self._redis = redis.asyncio.Redis.from_pool(pool)
        self._trying: asyncio.Task[None] | None = None
        self._try_again_at = 0.0
        self._log_again_at = 0.0
        self.is_up = True

    async def ask(self, command: Callable[[Any], Awaitable[Any]]) -> Any:
        """One command's answer. Raises _Away."""
        if not self.is_up:
            self._try_in_background()
            raise _Away
        try:
            async with asyncio.timeout(self._patience.command_s):
                return await command(self._redis)
        except self._errors as error:
            self._fail(error)
            raise _Away from None

    def _fail(self, error: Exception) -> None:
        now = time.monotonic()
        self.is_up = False
        self._try_again_at = now + self._patience.leave_alone_s
        if now >= self._log_again_at:
            self._log_again_at = now + _LOG_AGAIN_S
            logs.event("shared_limits_away", level=logging.WARNING, error=type(error).__name__)

    def _try_in_background(self) -> None:
        if time.monotonic() >= self._try_again_at and (self._trying is None or self._trying.done()):
            self._trying = asyncio.create_task(self._try())

    async def _try(self) -> None:
        """Open every connection anew, so that no request has to; then see whether writing works."""
        try:
            async with asyncio.timeout(2 * _CONNECT_S):
                await self._redis.connection_pool.disconnect()
                await asyncio.gather(*(self._redis.ping() for _ in range(_CONNECTIONS)))
                await self._redis.set("gateway:probe", 1, px=1000)
        except self._errors as error:
            self._fail(error)
            return
        self.is_up = True
        self._log_again_at = 0.0
        logs.event("shared_limits_back")

    async def close(self) -> None:
        if self._trying is not None:
            self._trying.cancel()
            await asyncio.wait({self._trying})
        with contextlib.suppress(*self._errors):
            async with asyncio.timeout(_CONNECT_S):
                await self._redis.aclose(close_connection_pool=True)
