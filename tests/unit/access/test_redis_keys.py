"""Keys in a real Redis: what is made or revoked anywhere holds everywhere, and goes on holding while Redis is away."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import cast

import pytest

from gateway.access.keys import KeyFile, KeyRecord, KeyRequest, record_to_json
from gateway.access.redis_keys import KEYS, VERSION, RedisKeys, RedisKeyStore
from gateway.errors import InvalidRequest, StateUnavailable, Unauthenticated
from gateway.shared_state.redis_state import RedisConnection, RedisTimes
from tests.support.logged import collect_events
from tests.support.redis_server import RedisServer, running_redis
from tests.support.waiting import until

CALM = RedisTimes(command_s=2, down_s=0.2)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RedisServer]:
    async with running_redis(tmp_path) as made:
        yield made


class Clock:
    ahead_s = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead_s


class Gateways:
    """Key stores as several servers hold them."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._made: list[tuple[RedisConnection, RedisKeyStore]] = []
        self.clock = Clock()

    async def new(self) -> RedisKeyStore:
        connection = RedisConnection(self._url, CALM)
        store = RedisKeyStore(connection, outage_cache_s=300, clock=self.clock)
        self._made.append((connection, store))
        await store.start()
        return store

    async def close(self) -> None:
        for connection, store in self._made:
            await store.close()
            await connection.close()


@pytest.fixture
async def gateways(server: RedisServer) -> AsyncIterator[Gateways]:
    made = Gateways(server.url)
    yield made
    await made.close()


async def create(keys: RedisKeys, name: str = "one") -> tuple[str, str]:
    key, record = await asyncio.to_thread(keys.create, KeyRequest(name, ("chat",), spend_per_month=2.5))
    return key, record.id


def is_accepted(store: RedisKeyStore, key: str) -> bool:
    try:
        return bool(store.lookup(key))
    except Unauthenticated:
        return False


@pytest.mark.slow
async def test_a_key_that_is_made_or_revoked_anywhere_holds_everywhere_within_five_seconds(
    server: RedisServer, gateways: Gateways, tmp_path: Path
) -> None:
    keys = RedisKeys(server.url, tmp_path)
    await create(keys, "first")
    one, two = await gateways.new(), await gateways.new()
    key, key_id = await create(keys)
    await until(lambda: is_accepted(one, key) and is_accepted(two, key), 5)
    assert one.lookup(key).spend_per_month == 2.5 and one.is_live(key_id)
    await asyncio.to_thread(keys.edit, key_id, {"spend_per_month": None, "scopes": ("ocr",), "per_minute": 0})
    await until(lambda: one.lookup(key).scopes == two.lookup(key).scopes == {"ocr"}, 5)
    assert (two.lookup(key).spend_per_month, two.lookup(key).per_minute) == (None, 0)
    await asyncio.to_thread(keys.revoke, key_id)
    await until(lambda: not is_accepted(one, key) and not is_accepted(two, key), 5)
    assert not two.is_live(key_id) and one.names()[key_id] == two.names()[key_id] == "one"
    await asyncio.to_thread(RedisKeys(server.url, tmp_path / "other").forget, key_id)
    await until(lambda: key_id not in one.names(), 5)
    assert await asyncio.to_thread(keys.ended) == {}


@pytest.mark.slow
async def test_a_key_works_the_moment_it_was_made(server: RedisServer, gateways: Gateways, tmp_path: Path) -> None:
    keys = RedisKeys(server.url, tmp_path)
    await create(keys, "first")
    store = await gateways.new()
    for _ in range(3):  # also right behind another look
        key, _ = await create(keys)
        assert not is_accepted(store, key) and await store.refresh() and is_accepted(store, key)


class HeldRedis:
    """Redis whose lists of keys arrive late, as they were when they were asked for; in place of a RedisConnection."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}
        self.version = 0
        self.held: list[asyncio.Future[dict[bytes, bytes]]] = []
        self.is_holding = False

    def change(self, *records: KeyRecord) -> None:
        self.rows = {record.id.encode(): json.dumps(record_to_json(record)).encode() for record in records}
        self.version += 1

    async def ask(self, command: Callable[["HeldRedis"], Awaitable[object]]) -> object:
        return await command(self)

    ask_patiently = ask

    async def get(self, _: str) -> bytes:
        return str(self.version).encode()

    async def hgetall(self, _: str) -> dict[bytes, bytes]:
        rows = self.rows
        if self.is_holding:
            self.held.append(asyncio.get_running_loop().create_future())
            await self.held[-1]
        return rows


async def test_a_slow_look_puts_no_older_keys_back(tmp_path: Path) -> None:
    key, record = KeyFile(tmp_path / "keys.json").create(KeyRequest("new", ("chat",)))
    redis = HeldRedis()
    redis.change()
    store = RedisKeyStore(cast(RedisConnection, redis), outage_cache_s=300)
    await store._look()
    redis.is_holding = True
    redis.change()
    slow = asyncio.create_task(store._look())
    await until(lambda: len(redis.held) == 1, 5)
    redis.is_holding = False
    redis.change(record)
    assert await store.refresh() and is_accepted(store, key)
    redis.held[0].set_result({})
    await asyncio.wait_for(slow, 5)
    assert is_accepted(store, key)
    await store.close()


@pytest.mark.slow
async def test_guessed_keys_are_looked_for_together_and_not_all_the_time(
    server: RedisServer, gateways: Gateways, tmp_path: Path
) -> None:
    await create(RedisKeys(server.url, tmp_path))
    store = await gateways.new()
    await server.do("CONFIG", "RESETSTAT")
    assert await asyncio.gather(*(store.refresh() for _ in range(100))) == [False] * 100
    assert (await server.do("INFO", "commandstats"))["cmdstat_get"]["calls"] < 5
    before_s = time.monotonic()
    for _ in range(5):
        await store.refresh()
    assert time.monotonic() - before_s > 4 * 0.02


@pytest.mark.slow
async def test_while_redis_is_away_known_keys_are_accepted_for_a_time_and_unknown_ones_are_503(
    server: RedisServer, gateways: Gateways, tmp_path: Path
) -> None:
    key, _ = await create(RedisKeys(server.url, tmp_path))
    store = await gateways.new()
    await server.stop()
    gateways.clock.ahead_s = 6
    assert is_accepted(store, key) and "outage_cache_s" in store.problem()
    with pytest.raises(StateUnavailable):
        store.lookup("gw_unknown")
    assert not await store.refresh()
    gateways.clock.ahead_s = 301
    with pytest.raises(StateUnavailable):
        store.lookup(key)
    gateways.clock.ahead_s = 6


@pytest.mark.slow
async def test_a_redis_that_is_empty_revokes_nobody(server: RedisServer, gateways: Gateways, tmp_path: Path) -> None:
    keys = RedisKeys(server.url, tmp_path)
    key, _ = await create(keys)
    store = await gateways.new()
    logged = collect_events()
    await server.stop()
    await server.start()
    await until(lambda: "missing" in store.problem(), 10)
    assert is_accepted(store, key) and not is_accepted(store, "gw_unknown") and len(logged("keys_unreadable")) == 1
    other, _ = await create(keys, "made anew")
    await until(lambda: is_accepted(store, other), 5)
    assert store.problem() == "" and not is_accepted(store, key) and logged("keys_changed")[0]["removed"]


@pytest.mark.slow
async def test_revoking_the_last_key_revokes_it(server: RedisServer, gateways: Gateways, tmp_path: Path) -> None:
    keys = RedisKeys(server.url, tmp_path)
    key, key_id = await create(keys)
    store = await gateways.new()
    await asyncio.to_thread(keys.revoke, key_id)
    await until(lambda: not is_accepted(store, key), 5)
    assert store.problem() == ""


@pytest.mark.slow
async def test_what_is_no_key_record_changes_nothing(server: RedisServer, gateways: Gateways, tmp_path: Path) -> None:
    keys = RedisKeys(server.url, tmp_path)
    key, _ = await create(keys)
    store = await gateways.new()
    await server.do("HSET", KEYS, "abcdefgh", '{"id": "abcdefgh", "admin": true}')
    await server.do("SET", VERSION, "changed")
    await until(lambda: "cannot be read" in store.problem(), 5)
    assert is_accepted(store, key)
    with pytest.raises(InvalidRequest, match="gateway:keys"):
        await asyncio.to_thread(keys.read)


@pytest.mark.slow
async def test_keys_that_are_made_at_the_same_time_are_all_kept(server: RedisServer, tmp_path: Path) -> None:
    def make(number: int) -> None:
        RedisKeys(server.url, tmp_path).create(KeyRequest(f"key {number}", ("chat",)))

    threads = [threading.Thread(target=make, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert len(await asyncio.to_thread(RedisKeys(server.url, tmp_path).read)) == 8


@pytest.mark.slow
async def test_a_command_whose_redis_is_away_says_so_without_the_password(server: RedisServer, tmp_path: Path) -> None:
    keys = RedisKeys(server.url.replace("//", "//:hunter2secret@"), tmp_path)
    await server.stop()
    with pytest.raises(StateUnavailable, match=r"shared\.redis_url") as refusal:
        await asyncio.to_thread(keys.read)
    assert "hunter2" not in refusal.value.message
