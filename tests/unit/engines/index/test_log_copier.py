"""The log of the local index stays short, whichever work writes it and however long that work is."""

import itertools
import math
import random
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from gateway.engines.index import store
from gateway.engines.index.rows import IndexedPage, open_database, transaction
from gateway.engines.index.store import PageIndex, need_room

_LOG_BYTES = 64_000_000
"""Twice the log that the writer copies itself."""


def texts() -> Iterator[str]:
    words = ["".join(random.Random(at).choices("abcdefghijklmnopqrstuvwxyz", k=7)) for at in range(20_000)]
    draw = random.Random(5)
    while True:
        yield " ".join(draw.choices(words, k=3_000))


async def one_long_call(index: PageIndex) -> None:
    pages = itertools.islice(texts(), 250)
    assert await index.add([IndexedPage(f"https://a.test/{at}", "t", text) for at, text in enumerate(pages)]) is None


async def many_vectors(index: PageIndex) -> None:
    def store(connection: sqlite3.Connection) -> None:
        with transaction(connection):
            connection.execute("INSERT OR REPLACE INTO vectors (passage, vector) VALUES (1, randomblob(400000))")

    for _ in range(250):
        await index.write(store)


@pytest.mark.parametrize("work", [one_long_call, many_vectors])
async def test_the_log_is_copied_into_the_file_whatever_writes_it(
    tmp_path: Path, work: Callable[[PageIndex], Awaitable[None]]
) -> None:
    index = PageIndex(tmp_path / "i.db")
    await work(index)
    log_bytes = (tmp_path / "i.db-wal").stat().st_size  # the size it had at its longest, or 16 MB
    await index.close()
    assert log_bytes < _LOG_BYTES


class RefusedCopies:
    """A connection on which another one copies the log: the first so many copies are refused, as SQLite does it."""

    def __init__(self, connection: sqlite3.Connection, refusals: float) -> None:
        self._connection = connection
        self.refusals = refusals

    def execute(self, sql: str) -> sqlite3.Cursor:
        if "wal_checkpoint" in sql and self.refusals > 0:
            self.refusals -= 1
            return self._connection.execute("SELECT 1, -1, -1")
        return self._connection.execute(sql)


@pytest.mark.parametrize(("refusals", "left"), [(0, 0), (3, 0), (math.inf, 1)])
def test_before_a_disk_counts_as_full_the_log_is_copied_once_no_other_copy_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusals: float, left: int
) -> None:
    monkeypatch.setattr(store, "_COPY_S", 0.2)
    connection = open_database(tmp_path / "i.db")
    with transaction(connection):
        connection.execute("INSERT INTO passages (page, first, last, headings) VALUES (1, 0, 1, '')")
    with pytest.raises(OSError, match="disk full"):
        need_room(RefusedCopies(connection, refusals), tmp_path, 1 << 60)  # type: ignore[arg-type]
    assert min((tmp_path / "i.db-wal").stat().st_size, 1) == left
    connection.close()
