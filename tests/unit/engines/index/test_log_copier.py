"""The log of the local index stays short, whichever work writes it and however long that work is."""

import itertools
import random
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.schema import transaction
from gateway.engines.index.store import PageIndex

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
