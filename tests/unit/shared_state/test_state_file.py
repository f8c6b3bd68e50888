"""The file that workers share: outlives them, is mended when it is damaged, and says when it cannot be used."""

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path

import pytest

from gateway.shared_state.fallback import FallbackCounters
from gateway.shared_state.port import Amount, Entry, ReserveResult, StateDown
from gateway.shared_state.sqlite_state import STATE_FILE, SqliteCounters, SqliteEntries, SqliteWindows, StateFile
from tests.support.logged import collect_events
from tests.support.waiting import until

HOUR = 3600.0


def amount(number: int, limit: int | None = None) -> Amount:
    return Amount("day:k", number, limit, time.time() + HOUR)


async def test_what_was_stored_is_there_after_a_restart(tmp_path: Path) -> None:
    first = StateFile(tmp_path / "state.sqlite3")
    await SqliteEntries(first, "responses", 10**6, 10**5).put(Entry("k", "resp_1", b"v", HOUR))
    await SqliteCounters(first).reserve([amount(7)])
    machine = await SqliteCounters(first).machine()
    await first.close()
    second = StateFile(tmp_path / "state.sqlite3")
    assert await SqliteEntries(second, "responses", 10**6, 10**5).get("k", "resp_1") == b"v"
    assert (await SqliteCounters(second).reserve([amount(1)])).totals == (8,)
    assert await SqliteCounters(second).machine() == machine
    await second.close()


async def test_the_file_can_be_read_by_its_owner_alone(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "deep" / "state.sqlite3")
    await SqliteCounters(file).reserve([amount(1)])
    assert (tmp_path / "deep" / "state.sqlite3").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "deep" / "state.sqlite3-wal").stat().st_mode & 0o777 == 0o600
    await file.close()


async def test_a_damaged_file_is_set_aside_and_an_empty_one_takes_its_place(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite3"
    path.write_bytes(b"this is no database" * 1000)
    file = StateFile(path)
    assert (await SqliteCounters(file).reserve([amount(5)])).totals == (5,)
    aside = tmp_path / "state.sqlite3.damaged"
    assert aside.read_bytes().startswith(b"this is no")
    assert [str(aside) in note for note in file.notes()] == [True] and file.problem == ""
    aside.unlink()
    assert file.notes() == []
    await file.close()


async def test_a_file_that_cannot_be_opened_is_reported_and_counts_go_on_in_memory(tmp_path: Path) -> None:
    (tmp_path / "state.sqlite3").mkdir()
    file = StateFile(tmp_path / "state.sqlite3")
    counters = FallbackCounters(SqliteCounters(file))
    assert (await counters.reserve([amount(5, 8)])).refused is None
    assert (await counters.reserve([amount(5, 8)])).refused == 0 and "cannot be used" in file.problem
    with pytest.raises(StateDown):
        await SqliteEntries(file, "responses", 10**6, 10**5).get("k", "resp_1")
    (tmp_path / "state.sqlite3").rmdir()
    assert (await counters.reserve([amount(4, 8)])).refused == 0  # usable again: what was counted meanwhile is in it
    assert (await counters.reserve([amount(3, 8)])).totals == (8,) and file.problem == ""
    await file.close()


class Full(SqliteCounters):
    """A file on a disk that is full: it can be read."""

    is_full = False

    async def reserve(self, amounts: Sequence[Amount], *, unsent: bool = False) -> ReserveResult:
        if self.is_full and any(each.amount for each in amounts):
            raise StateDown
        return await super().reserve(amounts, unsent=unsent)


async def test_counts_go_on_from_what_a_full_disk_holds_and_are_in_it_afterwards(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "state.sqlite3")
    stored = Full(file)
    counters = FallbackCounters(stored)
    assert (await counters.reserve([amount(5, 10)])).totals == (5,)
    stored.is_full = True
    assert (await counters.reserve([amount(4, 10)])).totals == (9,)
    assert (await counters.reserve([amount(2, 10)])).refused == 0
    assert (await counters.reserve([amount(-3)])).totals == (6,)
    stored.is_full = False
    assert (await counters.reserve([amount(2, 10)])).totals == (8,) == (await stored.reserve([amount(0)])).totals
    stored.is_full = True
    assert (await counters.reserve([amount(2, 10)])).totals == (10,)
    await file.close()


async def test_work_that_fails_leaves_nothing_behind_and_its_neighbours_alone(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "state.sqlite3")

    def half(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO meta VALUES ('half', '1')")
        raise ValueError("not today")

    first, last = (SqliteCounters(file).reserve([amount(1)]) for _ in range(2))
    outcomes = await asyncio.gather(first, file.run(half), last, return_exceptions=True)
    assert isinstance(outcomes[1], ValueError)
    asked = "SELECT count(*) FROM meta WHERE name='half'"
    count = await file.run(lambda connection: connection.execute(asked).fetchone())
    assert count == (0,) and (await SqliteCounters(file).reserve([amount(0)])).totals == (2,)
    await file.close()


async def test_windows_of_a_former_boot_are_forgotten(tmp_path: Path) -> None:
    first = StateFile(tmp_path / "state.sqlite3")
    await SqliteWindows(first).take("calls:k", 1, 1e9, "m")
    await first.run(lambda connection: connection.execute("UPDATE meta SET value = 'earlier' WHERE name = 'boot'"))
    await first.close()
    second = StateFile(tmp_path / "state.sqlite3")
    assert (await SqliteWindows(second).take("calls:k", 1, 60, "m2")).wait_s == 0
    await second.close()


async def test_counters_outlast_a_clock_that_jumps_ahead_and_is_set_back(tmp_path: Path) -> None:
    """A jump makes periods end that go on when the clock is set back: as if they had been counted an hour ago."""
    file, now_s = StateFile(tmp_path / "state.sqlite3"), time.time()
    counters = SqliteCounters(file)
    for name, left_s in {"in an hour": 3600.0, "an hour ago": -3600.0, "two days ago": -2 * 86_400.0}.items():
        await counters.reserve([Amount(name, 7, None, now_s + left_s)])
    await file.close()
    again = StateFile(tmp_path / "state.sqlite3")  # what is swept is swept with its first work
    await SqliteCounters(again).reserve([Amount("in an hour", 1, None, now_s + 3600)])
    rows = await again.run(lambda connection: connection.execute("SELECT name, total FROM counters").fetchall())
    assert dict(rows) == {"in an hour": 8, "an hour ago": 7}
    seen = await SqliteCounters(again).reserve([Amount("an hour ago", 0, None, now_s - 3600)])
    assert seen.totals == (0,), "an ended period counts for nobody"
    await again.close()


CHILD = """
import asyncio, sys, time
from pathlib import Path
from gateway.shared_state.port import Amount
from gateway.shared_state.sqlite_state import SqliteCounters
from gateway.shared_state.sqlite_state import STATE_FILE, StateFile

async def main():
    counters = SqliteCounters(StateFile(Path(sys.argv[1])))
    ends_at = time.time() + 3600
    got = await asyncio.gather(*(counters.reserve([Amount("day:k", 10, 1000, ends_at)]) for _ in range(80)))
    print(sum(each.refused is None for each in got), flush=True)
    sys.stdin.read()

asyncio.run(main())
"""


@pytest.mark.slow
def test_processes_that_reserve_at_once_never_exceed_a_limit_and_a_killed_one_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite3"
    command = [sys.executable, "-c", CHILD, str(path)]
    children = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    accepted = [int(child.stdout.readline()) for child in children if child.stdout]
    for child in children:
        child.kill()
        child.communicate()
    assert sum(accepted) == 100

    async def total() -> int:
        file = StateFile(path)
        counted = await SqliteCounters(file).reserve([amount(0)])
        await file.close()
        return counted.totals[0]

    assert asyncio.run(total()) == 1000


def _fill_disk(connection: sqlite3.Connection) -> None:
    """A write for which SQLite has no room, as on a full disk."""
    connection.execute("PRAGMA max_page_count = 1")  # as many as the file has now
    connection.execute("INSERT INTO meta VALUES ('large', zeroblob(1000000))")


async def test_on_a_full_disk_reading_goes_on_and_the_problem_is_logged_once(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "state.sqlite3")
    entries = SqliteEntries(file, "responses", 10**6, 10**5)
    assert await entries.put(Entry("k", "resp_1", b"v", HOUR))
    logged = collect_events()
    for _ in range(3):
        with pytest.raises(StateDown):
            await file.run(_fill_disk)
        assert await entries.get("k", "resp_1") == b"v" and "cannot be used: the disk is full;" in file.problem
    assert [line["error"] for line in logged("state_file_failed")] == ["the disk is full"] and file.failures == 3
    assert await entries.put(Entry("k", "resp_2", b"v", HOUR)) and file.problem == ""
    assert len(logged("state_file_back")) == 1
    await file.close()


async def test_a_disk_that_hangs_holds_up_no_more_than_those_who_waited_already(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "state.sqlite3", wait_s=0.2)
    await SqliteCounters(file).machine()
    release = threading.Event()
    hanging = asyncio.create_task(file.run(lambda connection: release.wait(10)))
    with pytest.raises(StateDown):
        await hanging
    await asyncio.sleep(0.05)
    async with asyncio.timeout(10):  # each for itself would wait for 0.2 s
        for _ in range(100):
            with pytest.raises(StateDown):
                await SqliteCounters(file).machine()
    assert "cannot be used" in file.problem
    release.set()
    async with asyncio.timeout(5):
        while file.problem:
            with contextlib.suppress(StateDown):
                await SqliteCounters(file).machine()
            await asyncio.sleep(0.01)
    await file.close()


async def test_what_was_written_is_let_go(tmp_path: Path) -> None:
    class Value:
        pass

    file, value = StateFile(tmp_path / STATE_FILE), Value()
    kept = weakref.ref(value)

    def work(_: sqlite3.Connection, value: Value = value) -> None:
        pass

    await file.run(work)
    del work, value
    await until(lambda: kept() is None, 5)
    await file.close()
