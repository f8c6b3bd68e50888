"""Shared state of all machines, in Redis. As `memory`, which is its naive form.

Each member of a window is a member of a sorted set whose score is the time at which it ends; a Lua script adds it if
there is room, on the clock of Redis. A counter is a hash with one field for each machine, whose sum counts. An entry is
a hash, listed by age in a sorted set of its owner. Source: redis.io/docs (EVAL, sorted sets, TIME in scripts), read
2026-11-21.

`RedisConnection` is the connections, and whether Redis is up. No request waits for Redis longer than one command's
timeout.

| Redis is | a command                           | leaves it when                                                    |
|----------|-------------------------------------|-------------------------------------------------------------------|
| up       | is sent, and waited for `command_s` | one fails or takes longer: down                                   |
| down     | raises StateDown at once            | a command comes `down_s` after the last failure, and the check    |
|          |                                     | that it starts in the background succeeds, `on_back` included: up |

Needs Redis 5 or newer and the [redis] extra. Source: redis.io/docs, redis-py 8.1, read 2026-11-21.
"""

import asyncio
import contextlib
import hashlib
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import resources
from typing import Any

from gateway import logs
from gateway.errors import EngineMissing, InvalidRequest
from gateway.shared_state.port import Amount, Entry, ReserveResult, StateDown, Taken

_CONNECTIONS = 8
"""Connections of each process."""

_CONNECT_S = 1.0
"""Timeout of connecting and of closing, in the background only."""

_LOG_INTERVAL_S = 60.0
"""Least time between two log records of failures."""

_EPOCH = "gateway:epoch"
"""A random mark that Redis loses with its data."""


@dataclass(frozen=True, slots=True)
class RedisTimes:
    """`command_s`: timeout of a command; `down_s`: how long Redis is not used after a failure.

    A command takes under 1 ms in a data centre and every keyed request waits for two."""

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


def _lua(*names: str) -> str:
    """The scripts of these files, one after the other, without their remarks: Redis gets all of it with each call."""
    files = [resources.files(__package__).joinpath("lua", f"{name}.lua").read_text() for name in names]
    return "".join(line for file in files for line in file.splitlines(True) if not line.startswith("--"))


_TAKE, _HOLD, _RESERVE, _PART = _lua("now", "take"), _lua("now", "hold"), _lua("reserve"), _lua("part")
_PUT, _DELETE = _lua("now", "drop", "put"), _lua("drop", "delete")
_COUNT, _ERASE = _lua("drop", "count"), _lua("drop", "erase")


class RedisWindows:
    """As `port.Windows`."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection

    async def take(self, name: str, limit: int, hold_s: float, member: str) -> Taken:
        wait_ms, remaining, reset_ms = await self._connection.ask(
            lambda redis: redis.eval(_TAKE, 1, f"gateway:{name}", limit, int(hold_s * 1000), member)
        )
        return Taken(int(wait_ms) / 1000, int(remaining), int(reset_ms) / 1000)

    async def hold(self, name: str, members: Mapping[str, float]) -> None:
        await self._connection.ask(lambda redis: _hold(redis, name, members))

    async def hold_while_checking(self, name: str, members: Mapping[str, float]) -> None:
        """As `hold`, before Redis counts as up."""
        await self._connection.ask_patiently(lambda redis: _hold(redis, name, members))

    async def release(self, name: str, members: Sequence[str]) -> None:
        await self._connection.ask(lambda redis: redis.zrem(f"gateway:{name}", *members))


def _hold(redis: Any, name: str, members: Mapping[str, float]) -> Any:
    pairs = [value for member, left_s in members.items() for value in (member, max(1, int(left_s * 1000)))]
    return redis.eval(_HOLD, 1, f"gateway:{name}", *pairs)


class RedisCounters:
    """As `port.Counters`. `machine`: the field of this machine's parts."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self.machine = secrets.token_hex(8)

    async def reserve(self, amounts: Sequence[Amount]) -> ReserveResult:
        return _reserved(await self._connection.ask(lambda redis: self._reserve(redis, amounts)))

    async def erase(self, prefix: str) -> int:
        """As in the port."""
        return int(await self._connection.ask_patiently(lambda redis: _erase(redis, f"gateway:{prefix}*")))

    async def add_while_checking(self, amounts: Sequence[Amount]) -> None:
        """Add amounts without a limit before Redis counts as up."""
        await self._connection.ask_patiently(lambda redis: self._reserve(redis, amounts))

    def _reserve(self, redis: Any, amounts: Sequence[Amount]) -> Any:
        figures: list[object] = []
        for each in amounts:
            figures += [each.amount, "" if each.limit is None else each.limit, int(each.ends_at * 1000)]
        names = [f"gateway:{each.name}" for each in amounts]
        return redis.eval(_RESERVE, len(names), *names, self.machine, *figures)


async def _erase(redis: Any, pattern: str) -> int:
    names = [name async for name in redis.scan_iter(pattern, count=1000)]
    return int(await redis.unlink(*names)) if names else 0


def _reserved(answer: Sequence[bytes]) -> ReserveResult:
    refused, *figures = map(int, answer)
    return ReserveResult(refused - 1 if refused else None, tuple(figures[0::2]), tuple(figures[1::2]))


class RedisEntries:
    """As `port.Entries`, below the prefix `space`; an owner has at most `bytes_per_owner`. What all owners have
    together is bounded by Redis' own `maxmemory`."""

    def __init__(self, connection: RedisConnection, space: str, bytes_per_owner: int) -> None:
        self._connection = connection
        self._space = space
        self._bytes_per_owner = bytes_per_owner

    async def put(self, entry: Entry) -> bool:
        name, entries, parts = (
            _digest(entry.name),
            self._prefix("entry", entry.owner),
            self._prefix("part", entry.owner),
        )
        places = {_digest(part): f"{start + 1} {end}" for part, (start, end) in entry.parts.items()}
        figures = [max(1, int(entry.ttl_s * 1000)), self._bytes_per_owner]
        pairs = [text for pair in places.items() for text in pair]
        most = "" if entry.most is None else entry.most
        arguments = [entries, parts, name, *figures, entry.value, " ".join(places), most, *pairs]
        return bool(
            await self._connection.ask(lambda redis: redis.eval(_PUT, 3, *self._keys(entry.owner, name), *arguments))
        )

    async def get(self, owner: str, name: str) -> bytes | None:
        key = self._prefix("entry", owner) + _digest(name)
        value: bytes | None = await self._connection.ask(lambda redis: redis.hget(key, "value"))
        return value

    async def get_part(self, owner: str, name: str) -> bytes | None:
        key, entries = self._prefix("part", owner) + _digest(name), self._prefix("entry", owner)
        part: bytes | None = await self._connection.ask(lambda redis: redis.eval(_PART, 1, key, entries))
        return part

    async def delete(self, owner: str, name: str) -> None:
        name, parts = _digest(name), self._prefix("part", owner)
        await self._connection.ask(lambda redis: redis.eval(_DELETE, 3, *self._keys(owner, name), name, parts))

    async def count(self, owner: str) -> int:
        return int(await self._of_owner(_COUNT, owner))

    async def erase(self, owner: str) -> None:
        await self._of_owner(_ERASE, owner)

    async def _of_owner(self, script: str, owner: str) -> Any:
        keys, prefixes = self._keys(owner, "")[1:], [self._prefix(kind, owner) for kind in ("entry", "part")]
        return await self._connection.ask(lambda redis: redis.eval(script, 2, *keys, *prefixes))

    def _keys(self, owner: str, name: str) -> tuple[str, str, str]:
        listed, sizes = f"gateway:{self._space}:list:{owner}", f"gateway:{self._space}:sizes:{owner}"
        return self._prefix("entry", owner) + name, listed, sizes

    def _prefix(self, kind: str, owner: str) -> str:
        return f"gateway:{self._space}:{kind}:{owner}:"


def _digest(name: str) -> str:
    """A name in the form that it has in Redis: callers may send any text as the id of a response."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
