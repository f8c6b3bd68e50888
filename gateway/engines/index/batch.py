"""Pages on their way into the search index: stored a few dozen at a time while a crawl still runs.

So a long crawl holds no texts for the index's sake, and one that is cut short keeps what it has read.
"""

from gateway.engines.index.store import IndexedPage, PageIndex

_MAX_PAGES = 50
_MAX_CHARS = 2_000_000


class IndexBatch:
    """`take` pages, `store` what is left at the end; `problem` is the last sentence why some were not stored."""

    def __init__(self, index: PageIndex) -> None:
        self._index = index
        self._held: list[IndexedPage] = []
        self._chars = 0
        self.added = 0
        self.problem: str | None = None

    async def take(self, page: IndexedPage) -> None:
        self._held.append(page)
        self._chars += len(page.content)
        if len(self._held) >= _MAX_PAGES or self._chars > _MAX_CHARS:
            await self.store()

    async def store(self) -> None:
        """Puts what is held into the index. Never raises for a full disk or a damaged file."""
        pages, self._held, self._chars = self._held, [], 0
        problem = await self._index.add(pages)
        if problem is None:
            self.added += len(pages)
        else:
            self.problem = problem
