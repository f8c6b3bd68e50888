"""How many passages there are, how long they are, and how many have a word: what BM25 needs of all passages.

Counting is the dear part of a search, so counts are kept for some seconds, and in a small index until this gateway
stores something. A count that is some seconds old changes no ranking that anybody could notice. For several threads.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.engines.index.postgres.connections import Database
from gateway.engines.index.ranking import LARGE_INDEX
from gateway.resilience.bounded_cache import BoundedCache

_KEPT_S = 30.0
"""Chosen: half counts twice as often in an index that others fill, double ranks with counts a minute old."""
_MOST_WORDS = 20_000
"""Words whose counts are kept, some 3 MB. Chosen: a minute of a hundred searches a second asks for fewer."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Number and mean length (in tokens) of all passages; the mean is above 0."""

    passages: int
    mean_length: float

    @property
    def is_large(self) -> bool:
        """Whether words are counted up to a limit only, see `ranking`."""
        return self.passages > LARGE_INDEX


class Statistics:
    """Counts of one database."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._totals: BoundedCache[str, Totals] = BoundedCache(1, ttl_s=_KEPT_S)
        self._counts: BoundedCache[str, int] = BoundedCache(_MOST_WORDS, ttl_s=_KEPT_S)

    def changed(self) -> None:
        """This gateway has stored or deleted pages."""
        with self._lock:
            totals = self._totals.get("")
            if totals is None or not totals.is_large:
                self._forget()

    def totals(self, connection: Database) -> Totals:
        """Raises psycopg.Error."""
        with self._lock:
            known = self._totals.get("")
        if known is not None:
            return known
        row = connection.execute(
            "SELECT coalesce(sum(passages), 0)::float8, coalesce(sum(tokens), 0)::float8 FROM gateway_pages"
        ).fetchone()
        assert row is not None
        totals = Totals(int(row[0]), max(row[1], 1.0) / max(row[0], 1.0))
        with self._lock:
            self._totals.put("", totals)
        return totals

    def counts(self, connection: Database, queries: Sequence[str], limit: int) -> dict[str, int]:
        """Text of a tsquery to the number of passages that match it; in a large index not counted past `limit`.

        Raises psycopg.Error.
        """
        with self._lock:
            known = {query: self._counts.get(query) for query in queries}
        missing = [query for query, count in known.items() if count is None]
        found: dict[str, int] = {}
        if missing:
            bound = limit if self.totals(connection).is_large else LARGE_INDEX + 1
            one = "(SELECT count(*) FROM (SELECT FROM gateway_passages WHERE words @@ %s::tsquery LIMIT %s) AS bounded)"
            sql = f"SELECT {', '.join([one] * len(missing))}"
            row = connection.execute(sql.encode(), [value for query in missing for value in (query, bound)]).fetchone()
            found = dict(zip(missing, row or (), strict=True))
        with self._lock:
            for query, count in found.items():
                self._counts.put(query, count)
        return {query: found[query] if count is None else count for query, count in known.items()}
