"""What the index's writer does beside writing pages: deletes what is gone, merges the search tables' segments.

FTS5 merges by itself at a commit, and one such merge takes tens of milliseconds, for which every other write waits. So
that is switched off (`bound_merges`), and done here in short steps. Runs in the writer's thread; knows no queue.
"""

import contextlib
import sqlite3
from collections.abc import Iterator

from gateway.engines.index.passage_rows import delete_steps
from gateway.engines.index.schema import transaction

_MERGED_LEAVES = 16
"""Leaf pages (4 KB) that one step of a merge writes. Measured: 1 ms; with twice as many small writes wait twice as
long, with half as many merges fall behind a steady flow of pages sooner."""
_CRISIS_SEGMENTS = 64
"""Segments of one level at which FTS5 merges them at once after all. Chosen: at its own 16 a flood of pages comes there
between two steps of this module; at double a search during such a flood reads twice as many segments."""
_VACUUMED_PAGES = 64
"""Free pages of the file returned to the disk in one step. Chosen: about a millisecond; at half twice as many steps."""


def bound_merges(connection: sqlite3.Connection) -> None:
    """Switch FTS5's own merges off, once for a file. A disk that is full or read-only keeps them."""
    sql = "SELECT v FROM passage_search_config WHERE k = 'automerge'"
    if connection.execute(sql).fetchone() == (0,):
        return
    with contextlib.suppress(sqlite3.OperationalError), transaction(connection):
        for name, value in (("automerge", 0), ("crisismerge", _CRISIS_SEGMENTS)):
            connection.execute("INSERT INTO passage_search (passage_search, rank) VALUES (?, ?)", (name, value))


def upkeep_steps(connection: sqlite3.Connection) -> Iterator[None]:
    """Merge what is to be merged and delete what is gone, in steps of a millisecond or two. Raises sqlite3.Error."""
    yield from _merge_steps(connection)
    gone = False
    for _ in delete_steps(connection):
        gone = True
        yield
    if gone:
        yield from _merge_steps(connection)
        yield from _vacuum_steps(connection)


def _merge_steps(connection: sqlite3.Connection) -> Iterator[None]:
    while True:
        before = connection.total_changes
        with transaction(connection):
            connection.execute(
                "INSERT INTO passage_search (passage_search, rank) VALUES ('merge', ?)", (_MERGED_LEAVES,)
            )
        if connection.total_changes - before < 2:  # as sqlite.org/fts5.html says of a merge with nothing to do
            return
        yield


def _vacuum_steps(connection: sqlite3.Connection) -> Iterator[None]:
    """Return free pages of the file to the disk; a file of an old version keeps them."""
    free = connection.execute("PRAGMA freelist_count").fetchone()[0]
    while free:
        connection.execute(f"PRAGMA incremental_vacuum({_VACUUMED_PAGES})").fetchall()
        yield
        now_free = connection.execute("PRAGMA freelist_count").fetchone()[0]
        if now_free >= free:
            return
        free = now_free
