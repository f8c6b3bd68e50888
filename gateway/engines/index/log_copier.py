"""Copies the index's write-ahead log into its file while the writer goes on. Knows no table and no queue.

SQLite would copy at a commit, in the writer's thread, and every other write would wait for the disk; that is switched
off (`wal_autocheckpoint`). Here a thread of its own copies, after every so many turns of the writer,
whatever they wrote: pages, vectors, merges, deletions. So the log stays short however long one call's work is.
"""

import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from gateway.engines.index.schema import DamagedIndex

_COPY_EVERY = 100
"""Turns of the writer that wrote something, between two copies. Measured: a turn writes 100 to 200 KB of log; at half
the disk is waited for twice as often, at double readers search twice as much log."""
_LONG_LOG_PAGES = 8_000
"""Pages of a log that the writer itself copies to its end, right after the thread copied most of it: only then does the
log begin anew while writes go on. Chosen: 32 MB, which a flood writes in some seconds; at double the log takes twice
the disk."""


class LogCopier:
    """`connection` gives the connection of the thread that calls it."""

    def __init__(self, connection: Callable[[], sqlite3.Connection]) -> None:
        self._connection = connection
        self._thread = ThreadPoolExecutor(1, "index-log")
        self._log_pages: Future[int] = Future()
        self._log_pages.set_result(0)
        self._until_copy = _COPY_EVERY
        self._changes = 0

    def after_turn(self, writer: sqlite3.Connection) -> None:
        """Have the log copied when it is time. Called in the writer's thread after each of its turns."""
        changes = writer.total_changes
        if changes == self._changes:
            return
        self._changes = changes
        self._until_copy -= 1
        if not self._log_pages.done():
            return
        if self._log_pages.result() > _LONG_LOG_PAGES:
            self._copy()
            self._log_pages = Future()
            self._log_pages.set_result(0)
        elif self._until_copy <= 0:
            self._until_copy = _COPY_EVERY
            self._log_pages = self._thread.submit(self._copy)

    def close(self) -> None:
        """Waits for a copy under way."""
        self._thread.shutdown(wait=True)

    def _copy(self) -> int:
        """Copies what no reader still needs; how many pages the log has, 0 after a failure."""
        try:
            return int(self._connection().execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1])
        except (DamagedIndex, sqlite3.Error, OSError):
            return 0  # the next write meets the same, and tells it
