"""Usage by day, key, model and tool: survives restarts, is bounded, and loses no more than it says."""

from pathlib import Path

import pytest

from gateway.access.usage import PriceList, UsageBook, UsageKey, Used, read_usage
from gateway.config.settings import Price
from gateway.shared_state.port import StateDown
from gateway.shared_state.sqlite_state import StateFile
from tests.support.clocks import Clock

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
