"""Limits: how often, how much at once, and when to come back."""

import pytest

from gateway.access.rate_limits import BadKeyLimiter, Limiter
from gateway.config.settings import Limits
from gateway.domain import Caller
from gateway.errors import RateLimited
from gateway.shared_state.memory import MemoryWindows
from tests.support.clocks import Clock
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
    clock = Clock()
    limiter = BadKeyLimiter(1, MemoryWindows(clock, max_names=100))
    for number in range(1_000):
        await limiter.record(f"10.0.{number >> 8}.{number & 255}")
    await limiter.record("10.0.0.0")  # forgotten: counted as if it were the first
    with pytest.raises(RateLimited):
        await limiter.record("10.0.3.231")
