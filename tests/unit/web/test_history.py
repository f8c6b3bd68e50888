"""The history of the console: counts by time and the last requests, which all processes share."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from gateway.shared_state.sqlite_state import StateFile
from gateway.web.history import MAX_OF_A_KIND, MAX_RECORDS, History, cause_of, erase_records, remove_former_files
from tests.support.clocks import Clock

NOON = 1_800_000_000


CAUSES = [
    (200, "", "ok"), (200, "truncated", "failed"), (499, "client_gone", "left"), (400, "", "invalid"),
    (413, "", "invalid"), (401, "", "refused"), (429, "", "limited"), (502, "", "upstream"), (500, "", "failed"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "outcome", "cause"), CAUSES)
def test_a_request_ends_by_one_cause(status: int, outcome: str, cause: str) -> None:
    assert cause_of(status, outcome) == cause


OK = (200, "", 0.001, 0, 0)


@asynccontextmanager
async def process(folder: Path, clock: Clock | None = None, write_s: float = 5) -> AsyncIterator[History]:
    """One that serves, with a thread and connection of its own; its end is in order."""
    file = StateFile(folder / "state.sqlite3", wait_s=2)
    history = History(file, folder / "state.sqlite3", clock or Clock(NOON), write_s)
    history.start()
    try:
        yield history
    finally:
        await history.close()
        await file.close()


def record(number: int, **more: Any) -> dict[str, Any]:
    return {"request_id": f"req_{number}", "key": "k1", "endpoint": "chat", "status": 200, "total_ms": 1.5, **more}


async def ids(history: History) -> list[str]:
    return [each["request_id"] for each in await history.last()]


async def test_what_two_processes_add_is_one_history_that_outlives_them(tmp_path: Path) -> None:
    clock = Clock(NOON)
    for _ in range(2):
        async with process(tmp_path, clock) as one:
            one.add([(200, "", 0.02, 10, 5), (502, "", 1.5, 0, 0)], [])
            one.add_gauges(cpu_ms=500, memory_kb=51_200, in_flight=1, seconds=1.0)
    async with process(tmp_path, clock) as later:
        clock.now_s += 1
        last = (await later.read("5m"))["points"][-1]
        assert (last["requests"], last["ok"], last["upstream"]) == (4, 2, 2)
        assert (last["input_tokens"], last["output_tokens"]) == (20, 10) and 16 <= last["p50_ms"] <= 32
        assert 1024 <= last["p95_ms"] <= 2048 and last["memory_mb"] == 100
        for name in ("1h", "24h", "7d"):
            assert (await later.read(name))["points"][-1]["requests"] == 4


async def test_counts_go_after_their_time_and_the_file_forgets_them_after_a_week(tmp_path: Path) -> None:
    clock = Clock(NOON)
    async with process(tmp_path, clock) as history:
        history.add([OK], [record(1)])
        await history.write()
        clock.now_s += 24 * 3600
        told = {
            name: sum(point["requests"] for point in (await history.read(name))["points"])
            for name in ("5m", "1h", "24h", "7d")
        }
        assert told == {"5m": 0, "1h": 0, "24h": 0, "7d": 1}
        clock.now_s += 7 * 24 * 3600
        history.add([OK], [record(2)])
        await history.write()
        assert await ids(history) == ["req_2"]
    with closing(sqlite3.connect(tmp_path / "state.sqlite3")) as connection:
        assert connection.execute("SELECT seconds FROM history ORDER BY seconds").fetchall() == [(5,), (60,)]


async def test_the_newest_requests_come_first_and_the_oldest_of_all_processes_give_way(tmp_path: Path) -> None:
    clock = Clock(NOON)
    async with process(tmp_path, clock) as here, process(tmp_path, clock) as there:
        here.add([], [record(number) for number in range(MAX_RECORDS + 10)])
        await here.write()
        clock.now_s += 1
        there.add([], [record(1000)])
        assert (await ids(there))[0] == "req_1000", "its own are seen at once"
        await there.write()
        kept = await ids(here)
        assert len(kept) == MAX_RECORDS and kept[0] == "req_1000" and "req_9" not in kept
    assert (tmp_path / "state.sqlite3").stat().st_mode & 0o777 == 0o600


async def test_failures_are_counted_by_kind_and_the_newest_of_each_outlast_a_flood(tmp_path: Path) -> None:
    clock, fault = Clock(NOON), {"outcome": "failed", "status": 500, "code": "server_error"}
    async with process(tmp_path, clock) as here, process(tmp_path, clock) as there:
        here.add([], [record(1, **fault)])
        here.add([], [record(number) for number in range(2, 300)])
        await here.write()
        clock.now_s += 60
        there.add([], [record(1000 + n, endpoint="ocr", status=429, code="rate_limit_exceeded") for n in range(90)])
        there.add([], [record(number) for number in range(300, 600)])
        for _ in range(2):
            both = {("chat", 500, "server_error"): 1, ("ocr", 429, "rate_limit_exceeded"): 90}
            assert {(e["endpoint"], e["status"], e["code"]): e["count"] for e in await there.faults("15m")} == both
            assert [each["request_id"] for each in await there.last("15m", "chat", "server_error")] == ["req_1"]
            limited = await there.last("1h", "ocr", "rate_limit_exceeded")
            assert len(limited) == MAX_OF_A_KIND and limited[0]["request_id"] == "req_1089"
            await there.write()
        clock.now_s += 960
        assert await here.faults("15m") == [] == await here.last("15m", "chat", "server_error")
        assert sum(each["count"] for each in await here.faults("1h")) == 91


async def test_what_is_gathered_while_the_file_is_away_is_seen_here_and_written_later(tmp_path: Path) -> None:
    async with process(tmp_path) as history:
        (tmp_path / "state.sqlite3").mkdir()
        for number in range(2):
            history.add([OK], [record(number)])
            await history.write()
        assert (await history.read("5m"))["points"][-1]["requests"] == 2 and len(await ids(history)) == 2
        (tmp_path / "state.sqlite3").rmdir()
        await history.write()
        async with process(tmp_path) as other:
            assert (await other.read("5m"))["points"][-1]["requests"] == 2 and len(await ids(other)) == 2


async def test_groups_are_written_by_themselves(tmp_path: Path) -> None:
    async with process(tmp_path, write_s=0.01) as here, process(tmp_path) as there, asyncio.timeout(5):
        here.add([OK], [record(1)])
        while not await ids(there):
            pass


async def test_the_records_of_a_key_can_be_erased(tmp_path: Path) -> None:
    async with process(tmp_path) as history:
        history.add([], [record(2, key="k2"), record(1, status=500, code="server_error")])
        await history.write()
    file = StateFile(tmp_path / "state.sqlite3")
    assert await file.run(lambda connection: erase_records(connection, "k1")) == 1
    await file.close()
    async with process(tmp_path) as history:
        assert await ids(history) == ["req_2"] and await history.last("7d", "chat", "server_error") == []


def test_files_of_the_version_before_are_removed_and_others_stay(tmp_path: Path) -> None:
    (tmp_path / "history.bin").write_bytes(b"x")
    (tmp_path / "requests").mkdir()
    (tmp_path / "requests" / "1-ab.jsonl").write_text("{}")
    remove_former_files(tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "requests").mkdir()
    (tmp_path / "requests" / "mine").write_text("")
    remove_former_files(tmp_path)
    assert (tmp_path / "requests" / "mine").exists()
