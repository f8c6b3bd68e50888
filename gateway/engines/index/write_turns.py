"""Writes to the search index, dealt out by key: a crawl's pages do not keep a small call of another key waiting.

The index has one writer, which serves its calls in the order in which they come. Here the pages of a call are handed to
it a few at a time, and keys take turns between. Knows no database.
"""

from collections.abc import Iterator, Sequence

from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.store import PageIndex
from gateway.resilience.fair_queue import FairQueue

_TURN_PAGES = 8
_TURN_CHARS = 25_000
"""Pages and characters written in one turn, at least one page. Chosen: a turn is a page of ordinary length. At double,
a small call waits twice as long for its turn (with four times as much its 95th percentile under a flood was 2.6 s, not
0.14 s: `python -m bench.fairness index`); at half, nothing changes but for short pages. A page of 20,000 characters
costs 1.4 ms of CPU in a write of its own and 1.0 ms in one of 50 pages (measured 2026-11-22)."""


class WriteTurns:
    """One for an index: the queue before its writer."""

    def __init__(self, index: PageIndex) -> None:
        self._index = index
        self._turns = FairQueue(1)

    async def add(self, pages: Sequence[IndexedPage], key: str) -> str | None:
        """Stores or replaces pages for the key with the id `key`, which can be found on return.

        Returns a sentence when some could not be stored; those before them are.
        """
        for part in _parts(pages):
            async with self._turns.hold(key):
                problem = await self._index.add(part)
            if problem is not None:
                return problem
        return None


def _parts(pages: Sequence[IndexedPage]) -> Iterator[list[IndexedPage]]:
    """The pages in order, in parts of at most _TURN_PAGES and, but for a single page, _TURN_CHARS."""
    part: list[IndexedPage] = []
    chars = 0
    for page in pages:
        if part and (len(part) >= _TURN_PAGES or chars + len(page.content) > _TURN_CHARS):
            yield part
            part, chars = [], 0
        part.append(page)
        chars += len(page.content)
    if part:
        yield part
