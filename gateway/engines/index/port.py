"""The search index as the web engine, the local search and the commands see it. Knows no database.

| implementation                      | where the pages are                                  |
|-------------------------------------|------------------------------------------------------|
| `store.PageIndex`                   | a SQLite file below the state directory: the default |
| `postgres.store.PostgresIndex`      | PostgreSQL, for several gateways with one index      |
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Protocol, TypeAlias

from gateway.domain import Json
from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.query import IndexHit, IndexQuery

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
