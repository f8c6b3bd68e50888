"""Memory, SQLite and a real Redis behave alike: windows, counters, entries."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway.shared_state.memory import MemoryCounters, MemoryEntries, MemoryWindows
from gateway.shared_state.port import Amount, Counters, Entries, Entry, Windows
from gateway.shared_state.redis_state import RedisConnection, RedisCounters, RedisEntries, RedisTimes, RedisWindows
from gateway.shared_state.sqlite_state import SqliteCounters, SqliteEntries, SqliteWindows, StateFile
from tests.support.redis_server import running_redis

PER_OWNER = 4_000


@dataclass
class Store:
    """The three ports of one store, as one of its users holds them; `others` are those of a second user."""

    windows: Windows
    counters: Counters
    entries: Entries
    others: "Store | None" = None


@pytest.fixture(params=["memory", "sqlite", "redis"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    if request.param == "memory":
        yield Store(MemoryWindows(), MemoryCounters(), MemoryEntries(16_000, PER_OWNER))
    elif request.param == "sqlite":
        files = [StateFile(tmp_path / "state.sqlite3") for _ in range(2)]
        all_of_it = [(SqliteWindows(f), SqliteCounters(f), SqliteEntries(f, "x", 16_000, PER_OWNER)) for f in files]
        first, second = (Store(*each) for each in all_of_it)
        first.others = second
        yield first
        for file in files:
            await file.close()
    else:
        async with running_redis(tmp_path) as server:
            times = RedisTimes(command_s=5)
            connections = [RedisConnection(server.url, times) for _ in range(2)]
            ports = [(RedisWindows(c), RedisCounters(c), RedisEntries(c, "x", PER_OWNER)) for c in connections]
            first, second = (Store(*each) for each in ports)
            first.others = second
            yield first
            for each in connections:
                await each.close()


async def test_a_window_takes_as_many_members_as_its_limit_and_says_when_the_first_one_ends(store: Store) -> None:
    other = store.others or store
    first = await store.windows.take("calls:k", 2, 60, "a")
    assert (first.wait_s, first.remaining) == (0, 1) and 59 < first.reset_s <= 60
    assert (await other.windows.take("calls:k", 2, 60, "b")).remaining == 0
    refused = await store.windows.take("calls:k", 2, 60, "c")
    assert 58 < refused.wait_s <= 60 and refused.remaining == 0
    assert (await store.windows.take("calls:other", 2, 60, "a")).wait_s == 0


async def test_members_of_a_window_end_are_released_and_renewed(store: Store) -> None:
    await store.windows.take("slots:k", 2, 0.3, "short")
    await store.windows.take("slots:k", 2, 60, "released")
    await store.windows.release("slots:k", ("released",))
    assert (await store.windows.take("slots:k", 2, 60, "a")).wait_s == 0
    assert 0 < (await store.windows.take("slots:k", 2, 60, "b")).wait_s <= 0.3
    await store.windows.hold("slots:k", {"short": 60})
    await asyncio.sleep(0.35)
    assert (await store.windows.take("slots:k", 2, 60, "b")).wait_s > 1


async def test_no_more_pass_than_allowed_however_many_come_at_once(store: Store) -> None:
    users = [store, store.others or store]
    taken = await asyncio.gather(*(users[n % 2].windows.take("calls:k", 20, 60, f"m{n}") for n in range(90)))
    assert sum(each.wait_s == 0 for each in taken) == 20
    ends_at = time.time() + 60
    reserved = await asyncio.gather(
        *(users[n % 2].counters.reserve([Amount("tokens:k", 10, 95, ends_at)]) for n in range(50))
    )
    assert sum(each.refused is None for each in reserved) == 9
    assert (await store.counters.reserve([Amount("tokens:k", 0, None, ends_at)])).totals == (90,)


async def test_amounts_are_added_together_or_not_at_all(store: Store) -> None:
    ends_at = time.time() + 60
    both = [Amount("day:k", 100, 1000, ends_at), Amount("minute:k", 100, 150, ends_at)]
    assert (await store.counters.reserve(both)).totals == (100, 100)
    refused = await store.counters.reserve(both)
    assert (refused.refused, refused.totals) == (1, (100, 100))
    settled = await store.counters.reserve([each._replace(amount=-60, limit=None) for each in both])
    assert settled.totals == (40, 40) and (await store.counters.reserve(both)).refused is None


async def test_a_counter_that_has_ended_begins_anew(store: Store) -> None:
    await store.counters.reserve([Amount("minute:k", 9, 10, time.time() + 0.2)])
    await asyncio.sleep(0.3)
    assert (await store.counters.reserve([Amount("minute:k", 9, 10, time.time() + 60)])).totals == (9,)


async def test_an_owner_never_has_more_entries_than_allowed_however_many_come_at_once(store: Store) -> None:
    users = [store.entries, (store.others or store).entries]
    put = [users[n % 2].put(Entry("k1", f"conv_{n}", b"v", 60, most=5)) for n in range(40)]
    assert sum(await asyncio.gather(*put)) == 5 and await store.entries.count("k1") == 5
    assert await store.entries.put(Entry("k2", "conv_1", b"v", 60, most=5))
    assert not await store.entries.put(Entry("k3", "conv_1", b"v", 60, most=0))
    await store.entries.erase("k1")
    assert await store.entries.put(Entry("k1", "conv_1", b"v", 60, most=5))


async def test_an_entry_is_found_by_its_owner_alone_until_it_is_deleted_or_expires(store: Store) -> None:
    other = store.others or store
    assert await store.entries.put(Entry("k1", "resp_1", b"\x00value", 60, {"msg_1": (1, 4)}))
    assert await other.entries.get("k1", "resp_1") == b"\x00value"
    assert await other.entries.get_part("k1", "msg_1") == b"val"
    assert await store.entries.get("k2", "resp_1") is None and await store.entries.get_part("k2", "msg_1") is None
    await other.entries.delete("k1", "resp_1")
    assert await store.entries.get("k1", "resp_1") is None and await store.entries.get_part("k1", "msg_1") is None


async def test_an_entry_replaces_the_former_one_of_its_name(store: Store) -> None:
    for number in range(30):
        assert await store.entries.put(Entry("k1", "same", bytes(300) + bytes([number]), 60, {"msg": (300, 301)}))
    assert await store.entries.get("k1", "same") == bytes(300) + bytes([29])
    assert await store.entries.get_part("k1", "msg") == bytes([29])


async def test_an_owner_that_floods_loses_its_own_entries(store: Store) -> None:
    await store.entries.put(Entry("small", "kept", b"v", 60))
    for number in range(50):
        assert await store.entries.put(Entry("flood", f"r{number}", bytes(1_000), 60, {f"m{number}": (0, 1)}))
    assert await store.entries.get("small", "kept") == b"v" and await store.entries.get("flood", "r49") == bytes(1_000)
    assert await store.entries.get("flood", "r0") is None and await store.entries.get_part("flood", "m0") is None
    assert not await store.entries.put(Entry("flood", "huge", bytes(17_000), 60))


@pytest.mark.parametrize("name", ["", "ünïcode ", "a" * 5000, "../../x", "\x00"])
async def test_a_name_may_be_any_text_that_a_caller_sends(store: Store, name: str) -> None:
    await store.entries.put(Entry("k1", name, b"v", 60))
    assert await store.entries.get("k1", name) == b"v"


async def test_entries_of_an_owner_are_counted_and_erased_with_their_parts(store: Store) -> None:
    for name in ("resp_1", "resp_2"):
        await store.entries.put(Entry("k", name, b"abc", 60, {f"part{name}": (0, 2)}))
    await store.entries.put(Entry("k", "short", b"v", 0.001))
    await store.entries.put(Entry("other", "resp_1", b"v", 60))
    await asyncio.to_thread(time.sleep, 0.05)
    assert await store.entries.count("k") == 2
    await store.entries.erase("k")
    assert await store.entries.count("k") == 0 and await store.entries.get("k", "resp_1") is None
    assert await store.entries.get_part("k", "partresp_2") is None
    assert await store.entries.get("other", "resp_1") == b"v"
