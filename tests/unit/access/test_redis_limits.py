"""Limits shared through a real Redis: counted for all machines, kept locally while it is away."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

pytest.importorskip("redis", reason="the [redis] extra is not installed")

import redis.asyncio

from gateway.access.rate_limits import LocalLimiter
from gateway.access.redis_limits import RedisLimiter, RedisTimes
from gateway.config.server_settings import Limits
from gateway.domain import Caller
from gateway.embedded.child_server import free_port
from gateway.errors import InvalidRequest, RateLimited
from tests.support.logged import collect_events

# Longer than in production where a test is not about time: a busy machine must not look like a dead Redis.
CALM = RedisTimes(command_s=2, down_s=0.2, lease_s=30)


def caller(per_minute: int | None = None, concurrent: int | None = None) -> Caller:
    return Caller("k", "name", frozenset({"chat"}), per_minute, concurrent)


class Server:
    """A Redis of our own that can be stopped and started again on its port."""

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
                    return await self.do("PING")
                except redis.exceptions.ConnectionError:
                    await asyncio.sleep(0.02)

    async def do(self, *command: object) -> None:
        async with redis.asyncio.from_url(self.url) as client:
            await client.execute_command(*command)

    async def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            await self._process.wait()
            self._process = None


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed here")
    made = Server(tmp_path)
    await made.start()
    yield made
    await made.stop()


class Machines:
    def __init__(self, url: str) -> None:
        self._url = url
        self.made: list[RedisLimiter] = []

    def new(self, times: RedisTimes = CALM) -> RedisLimiter:
        self.made.append(RedisLimiter(self._url, Limits(), LocalLimiter(Limits()), times))
        return self.made[-1]


@pytest.fixture
async def machines(server: Server) -> AsyncIterator[Machines]:
    all_of_them = Machines(server.url)
    yield all_of_them
    for each in all_of_them.made:
        await each.close()


async def until_shared(limiter: RedisLimiter) -> None:
    async with asyncio.timeout(10):
        while not limiter.is_shared:
            await limiter.charge(caller(per_minute=1_000_000))
            await asyncio.sleep(0.02)


async def test_two_machines_share_one_minute(machines: Machines) -> None:
    one, two = machines.new(), machines.new()
    await one.charge(caller(per_minute=3))
    await two.charge(caller(per_minute=3))
    await one.charge(caller(per_minute=3))
    for each in (one, two):
        with pytest.raises(RateLimited, match="3 calls a minute") as refusal:
            await each.charge(caller(per_minute=3))
        assert refusal.value.retry_after_s is not None
        assert 50 < refusal.value.retry_after_s <= 60


async def test_a_refused_call_does_not_count(machines: Machines, server: Server) -> None:
    limiter = machines.new()
    await limiter.charge(caller(per_minute=1))
    for _ in range(5):
        with pytest.raises(RateLimited):
            await limiter.charge(caller(per_minute=1))
    await limiter.charge(caller(per_minute=2))


async def test_no_more_calls_pass_than_allowed_however_many_come_at_once(machines: Machines) -> None:
    limiters = [machines.new() for _ in range(3)]
    answers = await asyncio.gather(
        *(limiters[n % 3].charge(caller(per_minute=20)) for n in range(90)), return_exceptions=True
    )
    assert sum(answer is None for answer in answers) == 20
    assert {type(answer) for answer in answers if answer is not None} == {RateLimited}


async def test_two_machines_share_slots_and_give_them_back(machines: Machines) -> None:
    one, two = machines.new(), machines.new()
    async with one.slot(caller(concurrent=2)), two.slot(caller(concurrent=2)):
        with pytest.raises(RateLimited, match="2 requests at once"):
            async with one.slot(caller(concurrent=2)):
                raise AssertionError("a third slot was given")
    async with AsyncExitStack() as stack:
        for limiter in (one, two):
            await stack.enter_async_context(limiter.slot(caller(concurrent=2)))


async def test_a_cancelled_request_gives_its_slot_back(machines: Machines) -> None:
    one, two = machines.new(), machines.new()
    inside = asyncio.Event()

    async def request() -> None:
        async with one.slot(caller(concurrent=1)):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(request())
    await asyncio.wait_for(inside.wait(), 5)
    task.cancel()
    await asyncio.wait({task}, timeout=5)
    async with two.slot(caller(concurrent=1)):
        pass


async def test_the_slots_of_a_dead_machine_come_free_and_those_of_a_live_one_do_not(machines: Machines) -> None:
    short = RedisTimes(command_s=2, down_s=0.2, lease_s=0.6)
    alive, dead, third = machines.new(short), machines.new(short), machines.new(short)
    lost = dead.slot(caller(concurrent=2))
    async with alive.slot(caller(concurrent=2)):
        await lost.__aenter__()
        assert dead._renewing is not None
        dead._renewing.cancel()  # as a killed process would stop renewing
        dead._leases.clear()
        with pytest.raises(RateLimited):
            async with third.slot(caller(concurrent=2)):
                pass
        await asyncio.sleep(1.0)
        async with third.slot(caller(concurrent=2)):
            with pytest.raises(RateLimited):
                async with third.slot(caller(concurrent=2)):
                    raise AssertionError("the living machine's slot was given away")
    await lost.__aexit__(None, None, None)


async def test_while_redis_is_away_limits_are_kept_locally_and_sharing_resumes_by_itself(
    machines: Machines, server: Server
) -> None:
    limiter = machines.new()
    await limiter.charge(caller(per_minute=2))
    await server.stop()
    logged = collect_events()
    await limiter.charge(caller(per_minute=2))
    assert not limiter.is_shared
    await limiter.charge(caller(per_minute=2))
    with pytest.raises(RateLimited):
        await limiter.charge(caller(per_minute=2))
    async with limiter.slot(caller(concurrent=1)):
        with pytest.raises(RateLimited):
            async with limiter.slot(caller(concurrent=1)):
                pass
    await asyncio.sleep(0.3)  # past `down_s`: a second try fails, and is not logged
    await limiter.charge(caller(per_minute=0))
    assert len(logged("shared_limits_away")) == 1
    await server.start()
    await until_shared(limiter)
    assert len(logged("shared_limits_back")) == 1


@pytest.mark.alone
async def test_a_redis_that_hangs_costs_one_request_the_command_limit_and_the_next_nothing(
    machines: Machines, server: Server
) -> None:
    limiter = machines.new(RedisTimes(command_s=0.05, down_s=0.3))
    await limiter.charge(caller(per_minute=100))
    await until_shared(limiter)
    await server.do("CLIENT", "PAUSE", 60_000, "ALL")
    started = time.monotonic()
    await limiter.charge(caller(per_minute=100))
    assert time.monotonic() - started < 0.5
    assert not limiter.is_shared
    started = time.monotonic()
    for _ in range(50):
        await limiter.charge(caller(per_minute=100))
    assert time.monotonic() - started < 0.05
    await server.stop()
    await server.start()
    await until_shared(limiter)


async def test_a_redis_that_wants_a_password_or_refuses_to_write_is_as_good_as_away(
    machines: Machines, server: Server
) -> None:
    limiter = machines.new()
    await server.do("CONFIG", "SET", "requirepass", "not-a-real-password")
    await limiter.charge(caller(per_minute=1))
    assert not limiter.is_shared
    with pytest.raises(RateLimited):
        await limiter.charge(caller(per_minute=1))


async def test_a_read_only_replica_and_a_key_of_another_type_are_as_good_as_away(
    machines: Machines, server: Server
) -> None:
    wrong_type, replica = machines.new(), machines.new()
    await server.do("SET", "gateway:calls:k", "text")
    await wrong_type.charge(caller(per_minute=1))
    assert not wrong_type.is_shared
    await server.do("DEL", "gateway:calls:k")
    await server.do("REPLICAOF", "127.0.0.1", "1")
    await replica.charge(caller(per_minute=1))
    assert not replica.is_shared


async def test_keys_without_limits_never_ask_redis(machines: Machines, server: Server) -> None:
    limiter = machines.new()
    await server.stop()
    await limiter.charge(caller())
    async with limiter.slot(caller()):
        pass
    assert limiter.is_shared


@pytest.mark.parametrize("url", ["http://user:hunter2secret@127.0.0.1", "redis://127.0.0.1:hunter2secret"])
def test_an_address_that_is_none_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(InvalidRequest, match=r"shared\.redis_url") as refusal:
        RedisLimiter(url, Limits(), LocalLimiter(Limits()))
    assert "hunter2" not in refusal.value.message
