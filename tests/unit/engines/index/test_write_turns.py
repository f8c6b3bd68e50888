"""Turns at the index's writer: a large batch of one key lets another key's page through, and all is stored."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.store import PageIndex
from gateway.engines.index.write_turns import WriteTurns


class Noting(PageIndex):
    """`order`: the owner of each page in the order in which they were stored."""

    order: list[str]

    async def add(self, pages: Sequence[IndexedPage]) -> str | None:
        problem = await super().add(pages)
        self.order += [page.owner for page in pages]
        return problem


def pages(owner: str, count: int, chars: int) -> list[IndexedPage]:
    text = f"handbook of {owner} " * (chars // 20)
    return [IndexedPage(f"https://{owner}.test/{number}", "Page", text, owner) for number in range(count)]


async def test_small_writes_pass_between_those_of_a_crawl_and_nothing_is_lost(tmp_path: Path) -> None:
    index = Noting(tmp_path / "index.db")
    index.order = []
    turns = WriteTurns(index)
    try:
        crawls = [asyncio.create_task(turns.add(pages("crawl", 50, 20_000), "crawl")) for _ in range(3)]
        await asyncio.sleep(0)
        async with asyncio.timeout(60):
            for _ in range(4):
                assert await turns.add(pages("small", 1, 200), "small") is None
            before_last = len(index.order) - 1 - index.order[::-1].index("small")
            assert index.order[:before_last].count("crawl") <= 6 * 8, "at most a turn and a part between two"
            assert await asyncio.gather(*crawls) == [None] * 3
        assert (await index.stats())["pages"] == 51
    finally:
        await index.close()


async def test_a_page_larger_than_a_turn_is_stored_by_itself_and_none_makes_no_write(tmp_path: Path) -> None:
    index = Noting(tmp_path / "index.db")
    index.order = []
    turns = WriteTurns(index)
    try:
        assert await turns.add([], "one") is None and not index.order
        assert await turns.add(pages("one", 2, 300_000), "one") is None
        assert index.order == ["one", "one"]
    finally:
        await index.close()
