"""Writes to the search index, dealt out by key: a crawl's pages do not keep a small call of another key waiting.

The index has one writer, which works in turns of a few milliseconds (`engines.index.store`). Here keys take turns at
it: who waits behind another key's flood waits for one such turn, however long the pages are. Knows no database.
"""

from collections.abc import Sequence
from functools import partial

from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.port import Index
from gateway.resilience.fair_queue import FairQueue


class WriteTurns:
    """One for an index: the queue before its writer."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._turns = FairQueue(1)

    async def add(self, pages: Sequence[IndexedPage], key: str) -> str | None:
        """Stores or replaces pages for the key with the id `key`, which can be found on return.

        Returns a sentence when some could not be stored; those before them are.
        """
        return await self._index.add(pages, partial(self._turns.hold, key))
