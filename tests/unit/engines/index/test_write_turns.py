"""Turns at the index's writer: a flood of one key lets another key's page through, and all is stored."""

import asyncio
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.engines.index.database import open_database
from gateway.engines.index.page_rows import IndexedPage, store_steps
from gateway.engines.index.port import WriteTurns
from gateway.engines.index.query import IndexQuery
from gateway.engines.index.store import PageIndex, upkeep_steps


def pages(owner: str, count: int, chars: int) -> list[IndexedPage]:
    text = f"handbook of {owner} " * (chars // 20)
    return [IndexedPage(f"https://{owner}.test/{number}", "Page", text, owner) for number in range(count)]


@pytest.mark.slow
async def test_small_writes_pass_between_the_turns_of_long_pages_and_nothing_is_lost(index: PageIndex) -> None:
    turns = WriteTurns(index)
    crawls = [asyncio.create_task(turns.add(pages("crawl", 2, 900_000), "crawl")) for _ in range(2)]
    await asyncio.sleep(0)
    async with asyncio.timeout(60):
        for _ in range(4):
            assert await turns.add(pages("small", 1, 200), "small") is None
        assert not any(crawl.done() for crawl in crawls), "no small page waits for a long one"
        assert await asyncio.gather(*crawls) == [None] * 2
    assert (await index.stats())["pages"] == 3


async def test_an_empty_call_makes_no_write(index: PageIndex, tmp_path: Path) -> None:
    assert await WriteTurns(index).add([], "one") is None
    assert not list(tmp_path.iterdir())  # noqa: ASYNC240


@pytest.mark.slow
async def test_a_page_is_found_as_it_was_until_its_new_copy_is_whole_and_only_so_after(index: PageIndex) -> None:
    turns = WriteTurns(index)
    old = IndexedPage("https://a.test/", "Page", "lighthouse keeper", "a", hash="1")
    new = replace(old, content="harbour pilot " * 60_000, hash="2")
    await turns.add([old], "a")
    writes = [asyncio.create_task(turns.add([new], "a")) for _ in range(2)]  # and once more at the same time
    while not all(write.done() for write in writes):
        lighthouse, harbour = [len(await index.search(IndexQuery(word, ("a",), 5))) for word in ("keeper", "pilot")]
        assert lighthouse + harbour >= 1
    assert await asyncio.gather(*writes) == [None, None]
    assert await index.search(IndexQuery("keeper", ("a",), 5)) == []
    assert len(await index.search(IndexQuery("pilot", ("a",), 5))) == 1
    assert (await index.stats())["pages"] == 1


def test_what_a_dead_writer_left_half_written_is_never_found_and_deleted_in_time(tmp_path: Path) -> None:
    with closing(open_database(tmp_path / "index.db")) as connection:
        steps = store_steps(connection, IndexedPage("https://a.test/", "Page", "half a page " * 4_000, "a"))
        for _ in range(5):
            next(steps)
        del steps
        assert count(connection, "passages WHERE page < 0") > 0 and count(connection, "pages") == 0
        list(upkeep_steps(connection))
        assert count(connection, "passages") > 0, "it may be another process's, which goes on"
        connection.execute("UPDATE passages SET page = ?", (-int((time.time() - 3_600) * 1e9),))
        list(upkeep_steps(connection))
        assert count(connection, "passages") == 0 and count(connection, "passage_search") == 0


def count(connection: sqlite3.Connection, rows: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {rows}").fetchone()[0])
