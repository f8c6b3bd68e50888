"""The search index in PostgreSQL, for several gateways with one index: the same pages, words and ranking as in SQLite.

Candidates come from PostgreSQL, and everything after them is `engines.index.ranking`. There are no vectors here:
searches go by words. While the database is away, searches fail at once, pages are not stored, and everything else goes
on (`connections`). Knows no SQL.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TypeVar

from gateway.domain import Json
from gateway.engines.index.port import Turn
from gateway.engines.index.postgres.connections import Connections, Database, IndexUnavailable, Times
from gateway.engines.index.postgres.page_rows import page_counts, remove_pages, some_pages, store_page, sweep
from gateway.engines.index.postgres.reader import PostgresReader
from gateway.engines.index.postgres.schema import upgrade
from gateway.engines.index.postgres.statistics import Statistics
from gateway.engines.index.postgres.tokens import Tokenizer
from gateway.engines.index.query import IndexHit, IndexQuery
from gateway.engines.index.ranking import run
from gateway.engines.index.rows import IndexedPage
from gateway.errors import EngineMissing

T = TypeVar("T")
_SWEEP_EVERY = 500
"""Pages added by this process between two sweeps, as in the SQLite index (`engines.index.store`)."""
_NO_VECTORS = 'the backend "postgres" searches by words only'


class PostgresIndex:
    """Implements `port.Index` in the database at `url`.

    `max_pages` and `ttl_days` bound number and age of its pages. `now` gives Unix time.
    """

    def __init__(
        self,
        url: str,
        *,
        max_pages: int = 200_000,
        ttl_days: int = 90,
        times: Times | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._max_pages = max_pages
        self._ttl_s = ttl_days * 86_400.0
        self._now = now
        self._connections = Connections(url, upgrade, times)
        self._statistics = Statistics()
        self._local = threading.local()
        self._until_sweep = 0

    @property
    def problem(self) -> str | None:
        """See Index."""
        why = self._connections.problem
        return None if why is None else f"the index's database {why}"

    async def close(self) -> None:
        """See Index. Statements that run are ended."""
        await self._connections.close()

    async def add(self, pages: Sequence[IndexedPage], turn: Turn = nullcontext) -> str | None:
        """See Index. A turn is one page."""
        for page in pages:
            try:
                async with turn():
                    await self._run(lambda connection: store_page(connection, page, self._tokenizer()))  # noqa: B023
            except (IndexUnavailable, EngineMissing) as error:
                return f"the pages were not added to the search index: {error}"
            self._statistics.changed()
        self._until_sweep -= len(pages)
        if pages and self._until_sweep <= 0:
            self._until_sweep = _SWEEP_EVERY
            with contextlib.suppress(IndexUnavailable):  # the next one does it
                oldest = self._now() - self._ttl_s
                await self._run(lambda connection: sweep(connection, oldest, self._max_pages))
        return None

    async def remove(self, url: str, owner: str | None = None) -> int:
        """See Index. Raises IndexUnavailable, EngineMissing."""
        count = await self._run(lambda connection: remove_pages(connection, url, owner))
        self._statistics.changed()
        return count

    async def search(self, query: IndexQuery) -> list[IndexHit]:
        """See Index. Raises IndexUnavailable, EngineMissing."""
        query = replace(query, not_before=max(query.not_before, self._now() - self._ttl_s), near=())
        return await self._run(lambda connection: self._search(connection, query))

    async def stats(self) -> Json:
        """See Index."""
        counts: Json = {"pages": 0, "oldest": None, "newest": None, "bytes": 0}
        with contextlib.suppress(IndexUnavailable, EngineMissing):
            counts = await self._run(page_counts)
        vectors = {"model": None, "count": 0, "pending": 0, "error": _NO_VECTORS}
        return {**counts, "error": self.problem, "backend": "postgres", "vectors": vectors}

    async def pages(self, after: int, count: int) -> list[tuple[int, IndexedPage]]:
        """See Index. Raises IndexUnavailable, EngineMissing."""
        return await self._run(lambda connection: some_pages(connection, after, count))

    async def _run(self, work: Callable[[Database], T]) -> T:
        return await self._connections.run(work)

    def _search(self, connection: Database, query: IndexQuery) -> list[IndexHit]:
        with connection.transaction():  # one state of the index for all reads
            connection.execute(b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return run(PostgresReader(connection, self._tokenizer(), self._statistics), query)

    def _tokenizer(self) -> Tokenizer:
        """This thread's."""
        known: Tokenizer | None = getattr(self._local, "tokenizer", None)
        if known is None:
            known = self._local.tokenizer = Tokenizer()
        return known
