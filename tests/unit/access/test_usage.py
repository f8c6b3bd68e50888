"""Usage by day, key, model and tool: survives restarts, is bounded, and loses no more than it says."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.access import usage
from gateway.access.keys import KeyRequest
from gateway.access.redis_keys import RedisKeys
from gateway.access.usage import PriceList, UsageBook, UsageKey, Used, read_usage
from gateway.cli.main import main
from gateway.config.settings import Price
from gateway.shared_state.port import StateDown
from gateway.shared_state.redis_state import RedisConnection, RedisTimes
from gateway.shared_state.sqlite_state import STATE_FILE, StateFile
from tests.support.clocks import Clock
from tests.support.redis_server import RedisServer, running_redis, until_up

DAY_S = 86_400
PRICES = PriceList([Price("SvcLLM", input_per_million=2.0), Price("websearch-search", tool_call=0.25)])


async def test_what_was_used_is_there_after_a_restart_summed_as_asked(tmp_path: Path) -> None:
    now = Clock()
    for _ in range(2):
        file = StateFile(tmp_path / "state.sqlite3")
        book = UsageBook(file, PRICES, 400, now)
        await book.start()
        for key in ("k1", "k2"):
            book.add(UsageKey(key, model="SvcLLM"), Used(1000, 200, 50))
        book.add(UsageKey("k1", tool="websearch-search"), Used(tool_calls=2), 2)
        await book.close()
        await file.close()
        now.now_s += DAY_S
    rows = read_usage(tmp_path / "state.sqlite3", "2026-01-01", ["key"])
    assert [(row["key"], row["requests"], row["input_tokens"], row["tool_calls"]) for row in rows] == [
        ("k1", 6, 2000, 4), ("k2", 2, 2000, 0),
    ]  # fmt: skip
    assert [row["spend"] for row in rows] == [pytest.approx(2 * 0.002 + 4 * 0.25), pytest.approx(2 * 0.002)]
    by_day = read_usage(tmp_path / "state.sqlite3", "2026-01-01", ["tool", "day"])
    assert [(row["day"], row["tool"]) for row in by_day] == [
        ("2026-11-18", ""), ("2026-11-18", "websearch-search"), ("2026-11-19", ""), ("2026-11-19", "websearch-search"),
    ]  # fmt: skip
    assert read_usage(tmp_path / "state.sqlite3", "2026-11-20", ["key"]) == []
    assert read_usage(tmp_path / "none.sqlite3", "2026-11-20", ["key"]) == []


async def test_days_are_forgotten_when_they_are_old(tmp_path: Path) -> None:
    now, file = Clock(), StateFile(tmp_path / "state.sqlite3")
    book = UsageBook(file, PRICES, 2, now)
    for _ in range(5):
        book.add(UsageKey("k"), Used())
        await book.write()
        now.now_s += DAY_S
    await file.close()
    assert len(read_usage(tmp_path / "state.sqlite3", "2000-01-01", ["day"])) == 3


async def test_what_cannot_be_written_is_kept_within_a_bound_and_written_later(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite3"
    path.mkdir()
    file = StateFile(path)
    book = UsageBook(file, PRICES, 400, Clock())
    for number in range(10_005):
        book.add(UsageKey(f"k{number}"), Used())
    with pytest.raises(StateDown):
        await book.write()
    book.add(UsageKey("k1"), Used())
    path.rmdir()
    await book.write()
    await file.close()
    [row] = read_usage(path, "2000-01-01", [])
    assert row["requests"] == 10_001 and book.lost == 5


async def test_users_and_sessions_have_rows_of_their_own_within_a_bound(tmp_path: Path) -> None:
    """What was used is counted once by key, whatever names come; a key's many users share a row, as of all workers."""
    path = tmp_path / "state.sqlite3"
    file = StateFile(path)
    workers = [UsageBook(file, PRICES, 400, Clock()) for _ in range(2)]
    for place, book in enumerate(workers):
        for number in range(place * 600, place * 600 + 600):
            book.add(UsageKey("k", "SvcLLM"), Used(1_000_000), who=(f"user_{number}", "session_s"))
        for number in range(1_002):
            book.add(UsageKey(f"other{place}"), Used(), who=(f"session_{number}",))
        book.add(UsageKey("k", "SvcLLM"), Used(1_000_000))
        await book.write()
    workers[1].add(UsageKey("k"), Used(), who=("user_1", "session_s"))
    await workers[1].write()
    await file.close()
    users = {row["user"]: row for row in read_usage(path, "2000-01-01", ["key", "user"]) if row["key"] == "k"}
    assert len(users) == 1_001 and users["user_others"]["requests"] == 200 and users["user_1"]["requests"] == 2
    assert users["user_others"]["spend"] == pytest.approx(400.0)
    sessions = {row["session"]: row["requests"] for row in read_usage(path, "2000-01-01", ["session"])}
    assert sessions["session_s"] == 1_201 and sessions["session_others"] == 4
    [sum_of_keys] = read_usage(path, "2000-01-01", [])
    assert sum_of_keys["requests"] == 2


# --- of all machines in a real Redis: summed, told late after an outage, never counted twice --------------------------


TODAY = 1_795_000_000.0  # 2026-11-18


class Machine:
    """A machine with a file of its own; `write` is what its book does every few seconds."""

    def __init__(self, url: str, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.now, self.monotonic = Clock(TODAY), Clock(TODAY)
        self.file = StateFile(folder / STATE_FILE)
        self.redis = RedisConnection(url, RedisTimes(command_s=1, down_s=0.05))
        shared = usage.SharedUsage(self.redis, 400)
        self.book = UsageBook(self.file, PriceList([Price("SvcLLM", input_per_million=1.0)]), 400, self.now)
        self.book.sharing = usage.UsageSharing(folder / STATE_FILE, self.redis, shared, self.monotonic)
        self.reader = usage.UsageReader(folder / STATE_FILE, shared, self.now)

    async def use(self, requests: int = 1, key: str = "k1") -> None:
        for _ in range(requests):
            self.book.add(UsageKey(key, model="SvcLLM"), Used(1_000_000, 0, 10))
        await self.book.write()

    async def requests(self, *by: str) -> dict[str, int]:
        """Requests by the values of the groups, joined."""
        rows, of_all = await self.reader.read("2026-11-01", by)
        assert of_all
        return {" ".join(row[name] for name in by): row["requests"] for row in rows}

    async def close(self) -> None:
        await self.redis.close()
        await self.file.close()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RedisServer]:
    async with running_redis(tmp_path) as made:
        yield made


@pytest.fixture
async def machines(server: RedisServer, tmp_path: Path) -> AsyncIterator[list[Machine]]:
    made = [Machine(server.url, tmp_path / name) for name in ("one", "two")]
    yield made
    for machine in made:
        await machine.close()


@pytest.mark.slow
async def test_the_sums_are_those_of_all_machines_and_of_one_where_that_is_asked(machines: list[Machine]) -> None:
    one, two = machines
    for _ in range(2):
        await one.use(3)
        await two.use(2)
        await two.use(1, key="k2")
        for machine in machines:
            machine.now.now_s += DAY_S
    assert await one.requests("key") == await two.requests("key") == {"k1": 10, "k2": 2}
    assert await one.requests("day", "key") == {
        "2026-11-18 k1": 5, "2026-11-18 k2": 1, "2026-11-19 k1": 5, "2026-11-19 k2": 1,
    }  # fmt: skip
    rows, of_all = await two.reader.read("2026-11-01", ["model"])
    used = {"requests": 12, "input_tokens": 12_000_000, "cached_tokens": 0, "output_tokens": 120, "tool_calls": 0}
    assert of_all and rows == [{"model": "SvcLLM", **used, "spend": pytest.approx(12.0)}]
    rows, of_all = await two.reader.read("2026-11-01", ["key"], only_here=True)
    assert not of_all and [(row["key"], row["requests"]) for row in rows] == [("k1", 4), ("k2", 2)]
    assert await one.requests() == {"": 12} and (await one.reader.read("2026-11-25", ["key"]))[0] == []


@pytest.mark.slow
async def test_rows_that_are_told_twice_or_late_are_counted_once(machines: list[Machine]) -> None:
    one, _ = machines
    await one.use(3)
    shared = usage.SharedUsage(one.redis, 400)
    late = usage.UsageRow("usage", "2026-11-18", ("k1", "SvcLLM", ""), (2, 2_000_000, 0, 20, 0, 2_000_000_000))
    machine = (await one.redis.ask(lambda redis: redis.smembers("gateway:usage:2026-11-18"))).pop().decode()
    await shared.tell(machine, [late, late])
    assert await one.requests("key") == {"k1": 3}


@pytest.mark.slow
@pytest.mark.parametrize("loses_data", [False, True])
async def test_what_was_used_during_an_outage_is_told_afterwards_and_once(
    machines: list[Machine], server: RedisServer, loses_data: bool
) -> None:
    one, two = machines
    await one.use(3)
    await two.use(2)
    if loses_data:
        await server.stop()
    else:
        await server.lock("not-a-real-password")
    for _ in range(2):
        await one.use(1)
    one.now.now_s += DAY_S
    await one.use(1, key="k2")
    with pytest.raises(StateDown):
        await one.reader.read("2026-11-01", ["key"])
    with pytest.raises(StateDown):  # the other one has not noticed yet
        await two.reader.read("2026-11-01", ["key"])
    await (server.start() if loses_data else server.unlock("not-a-real-password"))
    for machine in machines:
        await until_up(machine.redis)
        await machine.book.write()
        await machine.book.write()
    assert await one.requests("key") == {"k1": 7, "k2": 1}


@pytest.mark.slow
async def test_a_new_process_continues_the_sums(machines: list[Machine], server: RedisServer, tmp_path: Path) -> None:
    one, _ = machines
    await one.use(3)
    await server.stop()
    await one.use(2)
    await one.close()
    await server.start()
    again = Machine(server.url, tmp_path / "one")
    await again.use(1)
    assert await again.requests("key") == {"k1": 6}
    await again.close()


@pytest.mark.slow
async def test_rows_that_are_removed_are_told_again_in_an_hour(machines: list[Machine], server: RedisServer) -> None:
    one, _ = machines
    await one.use(3)
    await server.do("FLUSHALL")
    await one.use(1, key="k2")
    assert await one.requests("key") == {"k2": 1}
    one.monotonic.now_s += 3601
    await one.book.write()
    assert await one.requests("key") == {"k1": 3, "k2": 1}


@pytest.mark.slow
async def test_rows_end_when_their_days_are_no_longer_kept(machines: list[Machine], server: RedisServer) -> None:
    one, _ = machines
    await one.use(1)
    names = sorted(await server.do("KEYS", "gateway:usage:*"))
    assert len(names) == 2
    for name in names:
        assert await server.do("EXPIRETIME", name) == (int(TODAY) // DAY_S + 401) * DAY_S


@pytest.mark.slow
async def test_the_command_sums_over_machines_and_names_the_keys_of_redis(
    machines: list[Machine], server: RedisServer, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    _, record = await asyncio.to_thread(RedisKeys(server.url, tmp_path).create, KeyRequest("billing", ("chat",)))
    for machine, requests in zip(machines, (2, 3), strict=True):
        await machine.use(requests, key=record.id)
    monkeypatch.setenv("GATEWAY_CREDENTIAL_REDIS", server.url)
    file = tmp_path / "gateway.toml"
    file.write_text('[access]\nbackend = "redis"\n[shared]\nredis_url = { credential = "redis" }\n')
    words = ["usage", "--config", str(file), "--state-dir", str(tmp_path / "one"), "--since", "2026-11-01", "--json"]

    async def printed(*more: str) -> list[tuple[str, int]]:
        assert await asyncio.to_thread(main, [*words, *more]) == 0
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        return [(row["name"], row["requests"]) for row in rows]

    assert await printed() == [("billing", 5)] and await printed("--machine") == [("billing", 2)]
    await server.stop()
    assert await asyncio.to_thread(main, words) == 1 and "--machine shows" in capsys.readouterr().err


async def test_who_used_it_is_told_of_all_machines(machines: list[Machine]) -> None:
    for number, machine in enumerate(machines):
        await until_up(machine.redis)
        machine.book.add(UsageKey("k1", "SvcLLM"), Used(5), who=("user_a", f"session_{number}"))
        await machine.use()
    assert await machines[0].requests("user") == {"user_a": 2}
    assert await machines[1].requests("key", "session") == {"k1 session_0": 1, "k1 session_1": 1}
    assert await machines[0].requests("key") == {"k1": 2}
