"""Limits: how often, how much at once, and when to come back."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.access.rate_limits import BadKeyLimiter, Limiter
from gateway.config.settings import Limits
from gateway.domain import Caller
from gateway.errors import InvalidRequest, RateLimited
from gateway.shared_state.fallback import FallbackWindows
from gateway.shared_state.memory import MemoryWindows
from gateway.shared_state.redis_state import RedisConnection, RedisTimes, RedisWindows
from tests.support.clocks import Clock
from tests.support.logged import collect_events
from tests.support.redis_server import RedisServer, running_redis
from tests.support.slots import slot


def caller(per_minute: int | None = None, concurrent: int | None = None, key_id: str = "k") -> Caller:
    return Caller(key_id, "name", frozenset({"chat"}), per_minute=per_minute, concurrent=concurrent)


async def test_the_call_after_the_last_allowed_one_waits_for_the_oldest_to_leave_the_minute() -> None:
    clock = Clock()
    limiter = Limiter(MemoryWindows(clock), Limits())
    for _ in range(3):
        await limiter.charge(caller(per_minute=3))
        clock.now_s += 10
    with pytest.raises(RateLimited) as refusal:
        await limiter.charge(caller(per_minute=3))
    assert refusal.value.retry_after_s == pytest.approx(30)
    clock.now_s += 30.1
    await limiter.charge(caller(per_minute=3))


async def test_defaults_serve_keys_without_limits_and_zero_lifts_them() -> None:
    limiter = Limiter(MemoryWindows(Clock()), Limits(per_minute=1, concurrent=1))
    await limiter.charge(caller())
    with pytest.raises(RateLimited):
        await limiter.charge(caller())
    for _ in range(5):
        await limiter.charge(caller(per_minute=0))


async def test_a_slot_is_given_back_even_when_the_request_fails() -> None:
    limiter = Limiter(MemoryWindows(Clock()), Limits())
    with pytest.raises(ZeroDivisionError):
        async with slot(limiter, caller(concurrent=1)):
            with pytest.raises(RateLimited):
                async with slot(limiter, caller(concurrent=1)):
                    raise AssertionError("a second slot was given")
            raise ZeroDivisionError
    async with slot(limiter, caller(concurrent=1)):
        pass
    await limiter.close()


async def test_wrong_keys_are_counted_by_address_and_forgotten_after_a_minute() -> None:
    clock = Clock()
    limiter = BadKeyLimiter(2, MemoryWindows(clock))
    for _ in range(2):
        await limiter.record("10.0.0.1")
    with pytest.raises(RateLimited):
        await limiter.record("10.0.0.1")
    await limiter.record("10.0.0.2")
    clock.now_s += 61
    await limiter.record("10.0.0.1")


async def test_addresses_are_forgotten_so_that_memory_stays_bounded() -> None:
    limiter = BadKeyLimiter(1, MemoryWindows(Clock(), max_names=100))
    for number in range(1_000):
        await limiter.record(f"10.0.{number >> 8}.{number & 255}")
    await limiter.record("10.0.0.0")  # forgotten: counted as if it were the first
    with pytest.raises(RateLimited):
        await limiter.record("10.0.3.231")


# --- shared through a real Redis: counted for all machines, divided among them while it is away -----------------------


# Longer than in production where a test is not about time: a busy machine must not look like a dead Redis.
CALM = RedisTimes(command_s=2, down_s=0.2)


class Machine(Limiter):
    """The limiter of one machine with its own connection, as `app.shared` builds it."""

    def __init__(self, url: str, times: RedisTimes, lease_s: float, share_of: int) -> None:
        self.redis = RedisConnection(url, times)
        windows = FallbackWindows(RedisWindows(self.redis), share_of)
        self.redis.on_back.append(windows.catch_up)
        super().__init__(windows, Limits(), lease_s)

    @property
    def is_shared(self) -> bool:
        return self.redis.is_up


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RedisServer]:
    async with running_redis(tmp_path) as made:
        yield made


class Machines:
    def __init__(self, url: str) -> None:
        self._url = url
        self.made: list[Machine] = []

    def new(self, times: RedisTimes = CALM, lease_s: float = 30, share_of: int = 1) -> Machine:
        self.made.append(Machine(self._url, times, lease_s, share_of))
        return self.made[-1]


@pytest.fixture
async def machines(server: RedisServer) -> AsyncIterator[Machines]:
    all_of_them = Machines(server.url)
    yield all_of_them
    for each in all_of_them.made:
        await each.close()
        await each.redis.close()


async def until_shared(limiter: Machine) -> None:
    async with asyncio.timeout(10):
        while not limiter.is_shared:
            await limiter.charge(Caller("other", "name", frozenset(), per_minute=1_000_000))
            await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_the_slots_of_a_dead_machine_come_free_and_those_of_a_live_one_do_not(machines: Machines) -> None:
    alive, dead, third = (machines.new(lease_s=0.6) for _ in range(3))
    lost = slot(dead, caller(concurrent=2))
    async with slot(alive, caller(concurrent=2)):
        await lost.__aenter__()
        assert dead._renewing is not None
        dead._renewing.cancel()  # as a killed process would stop renewing
        dead._leases.clear()
        with pytest.raises(RateLimited):
            async with slot(third, caller(concurrent=2)):
                pass
        await asyncio.sleep(1.0)
        async with slot(third, caller(concurrent=2)):
            with pytest.raises(RateLimited):
                async with slot(third, caller(concurrent=2)):
                    raise AssertionError("the living machine's slot was given away")
    await lost.__aexit__(None, None, None)


@pytest.mark.slow
async def test_without_redis_machines_grant_their_part_and_forget_none(machines: Machines, server: RedisServer) -> None:
    one, two = machines.new(share_of=2), machines.new(share_of=2)
    for _ in range(2):
        await one.charge(caller(per_minute=6))
    await server.stop()
    logged = collect_events()
    await one.charge(caller(per_minute=6))  # the third of its three
    assert not one.is_shared
    with pytest.raises(RateLimited):
        await one.charge(caller(per_minute=6))
    for _ in range(3):
        await two.charge(caller(per_minute=6))
    with pytest.raises(RateLimited):
        await two.charge(caller(per_minute=6))
    async with slot(one, caller(concurrent=2)):
        with pytest.raises(RateLimited):
            async with slot(one, caller(concurrent=2)):
                raise AssertionError("a slot of the other machine's part was given")
    await asyncio.sleep(0.3)  # past `down_s`: a second try fails, and is not logged
    await one.charge(caller(per_minute=100))
    assert len(logged("shared_state_away")) == 2  # once for each machine
    await server.start()  # it has lost everything
    for each in (one, two):
        await until_shared(each)
    assert len(logged("shared_state_back")) == 2
    for each in (one, two):
        with pytest.raises(RateLimited):  # all calls of the outage and of before it are known again
            await each.charge(caller(per_minute=7))
    await one.charge(caller(per_minute=8))


@pytest.mark.slow
async def test_a_redis_that_hangs_holds_up_one_request_and_no_more(machines: Machines, server: RedisServer) -> None:
    limiter = machines.new(RedisTimes(command_s=1, down_s=30))
    await limiter.charge(caller(per_minute=100))
    await until_shared(limiter)
    await server.do("CLIENT", "PAUSE", 60_000, "ALL")
    async with asyncio.timeout(10):  # each for itself would wait for a second
        for _ in range(50):
            await limiter.charge(caller(per_minute=100))
            assert not limiter.is_shared


@pytest.mark.slow
async def test_a_key_of_another_type_is_as_good_as_redis_being_away(machines: Machines, server: RedisServer) -> None:
    limiter = machines.new()
    await server.do("SET", "gateway:calls:k", "text")
    await limiter.charge(caller(per_minute=1))
    assert not limiter.is_shared
    await server.do("DEL", "gateway:calls:k")
    await until_shared(limiter)


@pytest.mark.slow
async def test_keys_without_limits_never_ask_redis(machines: Machines, server: RedisServer) -> None:
    limiter = machines.new()
    await server.stop()
    await limiter.charge(caller())
    async with slot(limiter, caller()):
        pass
    assert limiter.is_shared


@pytest.mark.parametrize("url", ["http://user:hunter2secret@127.0.0.1", "redis://127.0.0.1:hunter2secret"])
def test_an_address_that_is_none_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(InvalidRequest, match=r"shared\.redis_url") as refusal:
        RedisConnection(url)
    assert "hunter2" not in refusal.value.message
