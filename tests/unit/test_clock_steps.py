"""The wall clock of the machine jumps by hours, forward and back: nobody is shut out, nothing is lost."""

import email.utils
from pathlib import Path

import pytest

from gateway.access.keys import KeyFile, KeyRequest, KeyStore
from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.query import IndexQuery
from gateway.engines.index.store import PageIndex
from gateway.errors import Unauthenticated
from gateway.wire.retry_after import retry_after_s
from tests.support.clocks import Clock

HOUR_S = 3600.0
WORDS = ["zebra", "ostrich", "walnut", "harbour", "violin"]
STEPS = [6 * HOUR_S, -12 * HOUR_S, 30 * HOUR_S, -24 * HOUR_S, 0.0]


@pytest.fixture
def wall() -> Clock:
    return Clock(1_900_000_000.0)


def test_a_key_without_end_is_served_at_any_time_of_day(tmp_path: Path, wall: Clock) -> None:
    steady = [0.0]
    key, _ = KeyFile(tmp_path / "keys.json").create(KeyRequest("a", ("chat",)))
    store = KeyStore(tmp_path / "keys.json", now=wall, clock=lambda: steady[0])
    for step in STEPS:
        wall.now_s += step
        steady[0] += 2
        assert store.lookup(key).name == "a"


def test_a_key_that_ends_is_refused_after_its_end_by_the_clock_as_it_stands(tmp_path: Path, wall: Clock) -> None:
    key, record = KeyFile(tmp_path / "keys.json").create(KeyRequest("a", ("chat",), expires_s=10 * 3600))
    assert record.expires is not None
    wall.now_s = record.expires - 1
    store = KeyStore(tmp_path / "keys.json", now=wall)
    assert store.lookup(key) and store.is_live(record.id)
    wall.now_s += 6 * HOUR_S
    with pytest.raises(Unauthenticated):
        store.lookup(key)
    assert not store.is_live(record.id)
    wall.now_s -= 12 * HOUR_S  # the step was a mistake that is put right
    assert store.lookup(key)


async def test_pages_of_the_index_stay_and_are_found_whatever_the_clock_says(tmp_path: Path, wall: Clock) -> None:
    index = PageIndex(tmp_path / "i.db", ttl_days=7, now=wall)
    for number, step in enumerate(STEPS):
        wall.now_s += step
        page = IndexedPage(f"https://a.test/{number}", "t", f"about a {WORDS[number]}", "", fetched_at=wall.now_s)
        assert await index.add([page]) is None
        for earlier in range(number + 1):
            assert len(await index.search(IndexQuery(WORDS[earlier], ("",)))) == 1
    assert (await index.stats())["pages"] == len(STEPS)
    await index.close()


def test_a_date_to_come_back_at_is_never_in_the_past(wall: Clock) -> None:
    date = email.utils.formatdate(wall.now_s + 90, usegmt=True)
    for step in STEPS:
        wall.now_s += step
        wait_s = retry_after_s(date, wall)
        assert wait_s is not None and 0 <= wait_s <= 31 * HOUR_S
