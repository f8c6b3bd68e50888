"""The search index as the web engine, the local search and the commands see it.

| implementation                      | where the pages are                                  |
|-------------------------------------|------------------------------------------------------|
| `store.PageIndex`                   | a SQLite file below the state directory: the default |
| `postgres_index.PostgresIndex`      | PostgreSQL, for several gateways with one index      |
"""

import errno
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Any, Protocol, TypeAlias

from gateway.domain import Json, Progress
from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.query import IndexHit, IndexQuery
from gateway.resilience.fair_queue import FairQueue

Turn: TypeAlias = Callable[[], AbstractAsyncContextManager[Any]]


class Index(Protocol):
    """Pages that were read before. Errors of the store are sqlite3.Error and OSError."""

    @property
    def problem(self) -> str | None:
        """What last went wrong, as the end of a sentence, or None."""
        ...

    async def add(self, pages: Sequence[IndexedPage], turn: Turn = nullcontext) -> str | None:
        """Stores or replaces pages, which can be found on return. Returns a sentence when some could not be stored;
        those before them are. `turn()` is entered around each of the writer's turns."""
        ...

    async def remove(self, url: str, owner: str | None = None) -> int:
        """Removes the page, and all pages below it when `url` ends with `/`, of `owner` or of every owner; returns how
        many."""
        ...

    async def search(self, query: IndexQuery) -> list[IndexHit]:
        """The pages found, best first; expired ones are left out."""
        ...

    async def stats(self) -> Json:
        """`{pages, bytes, oldest, newest, error, vectors?}`. Raises nothing."""
        ...

    async def pages(self, after: int, count: int) -> list[tuple[int, IndexedPage]]:
        """At most `count` stored pages with rows above `after`, with their rows, in the order of these."""
        ...

    async def close(self) -> None:
        """Finishes the running writes and closes the store."""
        ...


_MAX_PAGES = 50
_MAX_CHARS = 2_000_000
"""Pages and characters that wait to be stored."""


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


_AT_ONCE = 20
"""Pages read at once."""


async def copy_pages(source: Index, target: Index, progress: Progress) -> int:
    """Copies all pages, and returns how many. Raises EngineMissing, sqlite3.Error, and OSError, also when the target
    does not take the pages; what was copied before stays, and another copy begins anew."""
    total = int((await source.stats())["pages"])
    if source.problem is not None:
        raise OSError(errno.EIO, f"the pages cannot be read: {source.problem}")
    copied = row = 0
    while rows := await source.pages(row, _AT_ONCE):
        row = rows[-1][0]
        pages = [page for _, page in rows if page.content]
        if problem := await target.add(pages):
            raise OSError(errno.EIO, problem)
        copied += len(pages)
        progress.step(copied, max(total, copied), pages[-1].url if pages else "")
    return copied
