"""Stores the pages of a running crawl in the search index, a few dozen at a time.

So a long crawl does not keep their texts in memory, and one that is cut short has stored the pages it read. Knows
neither the crawl nor the database.
"""

from collections.abc import Awaitable, Callable

from gateway.engines.index.page_rows import IndexedPage

_MAX_PAGES = 50
_MAX_CHARS = 2_000_000
"""Pages and characters that wait to be stored. Chosen: half makes twice the transactions, each of which waits for the
disk; double takes twice the memory and loses twice the pages when the process dies."""


class IndexBatch:
    """Call `take` for each page and `store` at the end. `add` stores pages, as `Index.add` does.

    `added` counts the pages stored; `problem` is the last sentence on why pages were not stored, or None.
    """

    def __init__(self, add: Callable[[list[IndexedPage]], Awaitable[str | None]]) -> None:
        self._add = add
        self._waiting: list[IndexedPage] = []
        self._chars = 0
        self.added = 0
        self.problem: str | None = None

    async def take(self, page: IndexedPage) -> None:
        """Adds a page, and stores the batch when it is full."""
        self._waiting.append(page)
        self._chars += len(page.content)
        if len(self._waiting) >= _MAX_PAGES or self._chars > _MAX_CHARS:
            await self.store()

    async def store(self) -> None:
        """Stores the waiting pages. A full disk or a damaged file sets `problem` and raises nothing."""
        pages, self._waiting, self._chars = self._waiting, [], 0
        problem = await self._add(pages)
        if problem is None:
            self.added += len(pages)
        else:
            self.problem = problem
