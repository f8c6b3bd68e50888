"""The vectors of the search index: made in the background after pages are stored, and asked for the nearest passages.

Theory of operation. `run` is one task, started by the first `start`, `wake` or `nearest`. It alone makes vectors, and
of all processes that use the file only the one that holds the lock file does; the others try again every _POLL_S.

| state   | what happens                                                       | leaves it when                        |
|---------|--------------------------------------------------------------------|---------------------------------------|
| locked  | another process makes the vectors; looks every _POLL_S             | the lock is free: working             |
| working | reads some passages without vectors, has them embedded, stores them| none is left: resting; fault: pausing |
| resting | waits for `wake` or _POLL_S, for pages that other processes stored | always: working                       |
| pausing | waits _PAUSE_S                                                     | always: working, with half as many    |

A passage on which the model fails alone is stored without a vector. Searches never wait for vectors that are not there:
a fault, a slow start or a missing extra leaves the ranking by words. Knows no ranking.
"""

import asyncio
import contextlib
import fcntl
import logging
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gateway import logs
from gateway.domain import Json
from gateway.engines.embedding.frames import VECTOR
from gateway.engines.embedding.model_file import MODEL_VERSION
from gateway.engines.embedding.process import EmbeddingProcess, TextsFailed
from gateway.engines.index.rows import (
    MAX_TOKENS,
    PassageText,
    adopt_model,
    store_vectors,
    unembedded,
)
from gateway.engines.index.store import PageIndex
from gateway.errors import GatewayError

_PASSAGES_AT_ONCE = 16
"""Passages in one job and one write. Chosen: 0.4 s of the background lane, and a write of 2 ms, which is what a page
may wait; at half, twice the jobs; at double, stopping loses twice the work."""
_POLL_S = 5.0
"""How often a resting task looks for pages of other processes. Chosen: the question takes microseconds; at half, twice
as often for nothing; at double, pages of `gateway index add` have their vectors later."""
_PAUSE_S = 30.0
"""After a fault: as long as the longest pause of RestartPolicy, so that the process may be started again."""
_SEARCH_WAIT_S = 2.0
"""How long a search waits for the nearest passages. Chosen: ten times what it takes; the model's start takes half a
second. At half, a busy machine loses them; at double, a caller takes the pause for a fault."""
NEAREST = 200
"""Passages that vectors propose for one query."""


class PassageVectors:
    """The vectors of one index. Close it before the index and the process.

    `problem`: why vectors cannot be made at present, or None.
    """

    def __init__(self, index: PageIndex, process: EmbeddingProcess) -> None:
        self._index = index
        self._process = process
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False
        self.problem: str | None = None

    def start(self) -> None:
        """The server starts: make the vectors of passages that have waited since the last run. An index whose file is
        empty or missing has none, and is left alone."""
        with contextlib.suppress(OSError):
            if self._index.path.stat().st_size:
                self.wake()

    def wake(self) -> None:
        """Pages were stored: their vectors are made soon."""
        self._news.set()
        if self._task is None and not self._is_closed:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def nearest(self, text: str, owners: Sequence[str], key: str) -> list[tuple[int, float]]:
        """`(passage, cosine)` of the owners' passages nearest to the text, nearest first; asked for the key `key`.

        Empty when there are no vectors, or when they cannot be asked in time. Never raises.
        """
        self.wake()
        job: Json = {
            "kind": "nearest",
            "index": str(self._index.path),
            "text": text,
            "owners": list(owners),
            "count": NEAREST,
            "max_tokens": MAX_TOKENS,
        }
        with contextlib.suppress(GatewayError, TimeoutError):
            async with asyncio.timeout(_SEARCH_WAIT_S):
                head, _ = await self._process.ask(job, "urgent", key)
            return [(passage, cosine) for passage, cosine in head["found"]]
        return []

    async def fill(self) -> None:
        """Makes every missing vector now. Raises GatewayError, sqlite3.Error, OSError."""
        while not await self._index.write(lambda connection: adopt_model(connection, MODEL_VERSION)):
            pass
        size = _PASSAGES_AT_ONCE
        while texts := await self._index.read(lambda connection: unembedded(connection, size)):  # noqa: B023
            try:
                rows = await self._embedded(texts)
                size = _PASSAGES_AT_ONCE
            except TextsFailed:
                if len(texts) > 1:
                    size = len(texts) // 2
                    continue
                rows = [(texts[0], None)]
            await self._index.write(lambda connection: store_vectors(connection, rows))  # noqa: B023

    async def close(self) -> None:
        """Ends the task."""
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _embedded(self, texts: Sequence[PassageText]) -> list[tuple[PassageText, bytes | None]]:
        job = {"kind": "quantise", "texts": [each.text for each in texts], "max_tokens": MAX_TOKENS}
        _, body = await self._process.ask(job, "background", "")
        vectors = [body[at : at + VECTOR.size] for at in range(0, len(body), VECTOR.size)]
        return list(zip(texts, vectors, strict=True))

    async def _run(self) -> None:
        while True:
            with _sole_maker(self._index.path) as is_sole:
                while is_sole:
                    if not await self._attempt():
                        await asyncio.sleep(_PAUSE_S)
                        continue
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(_POLL_S):
                            await self._news.wait()
            await asyncio.sleep(_POLL_S)

    async def _attempt(self) -> bool:
        """Makes the missing vectors; whether that succeeded."""
        self._news.clear()
        try:
            await self.fill()
            self.problem = None
        except (GatewayError, sqlite3.Error, OSError) as error:
            if self.problem is None:
                logs.event("embedding_paused", level=logging.WARNING, error=type(error).__name__)
            self.problem = "vectors cannot be made at present; they are tried again"
            return False
        return True


@contextmanager
def _sole_maker(path: Path) -> Iterator[bool]:
    """Whether no other process makes the vectors of this index; none does until the block ends."""
    with contextlib.ExitStack() as resources:
        is_sole = False
        with contextlib.suppress(OSError):  # held by another process, or a folder that cannot be written
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = resources.enter_context(path.with_name(path.name + ".vectors-lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_sole = True
        yield is_sole
