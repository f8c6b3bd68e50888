"""Reads the pages of one search, each of them once, for all steps of the ranking.

Runs in a reader thread. Knows no ranking.
"""

from gateway.engines.index.reader import IndexReader, PageRow


class StoredPages:
    """The pages of a reader that were fetched at or after `not_before` (Unix time), kept as they are read."""

    def __init__(self, reader: IndexReader, not_before: float) -> None:
        self._reader = reader
        self._not_before = not_before
        self._read: dict[int, PageRow | None] = {}

    def read(self, row: int) -> PageRow | None:
        """A page; None for one that is gone, has expired or is damaged."""
        if row not in self._read:
            self._read[row] = self._reader.page(row, self._not_before)
        return self._read[row]
