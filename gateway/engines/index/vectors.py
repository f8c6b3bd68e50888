"""The vectors of the search index: made in the background after pages are stored, and asked for the nearest passages.

Theory of operation. One task, started by the first `start`, `wake` or `nearest`, makes the vectors. Of all
processes that use the index only the one that has claimed them does; the others try again every _POLL_S.

| state   | what happens                                                       | leaves it when                        |
|---------|--------------------------------------------------------------------|---------------------------------------|
| waiting | another process makes the vectors; looks every _POLL_S             | the claim is free: working            |
| working | reads some passages without vectors, waits while pages are read,   | none is left: resting; fault: pausing |
|         | has them embedded, stores them                                     |                                       |
| resting | waits for `wake` or _POLL_S, for pages that other processes stored | always: working                       |
| pausing | waits _PAUSE_S                                                     | always: working, with half as many    |

A passage on which the model fails alone is stored without a vector. Searches never wait for vectors that are not there:
a fault, a slow start or a missing extra leaves the ranking by words.
"""

import asyncio
import contextlib
import logging
import math
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from gateway import logs
from gateway.domain import Json
from gateway.engines.embedding.embedder import MODEL_VERSION, VECTOR, EmbeddingProcess, TextsFailed
from gateway.engines.index.vector_rows import MAX_TOKENS, PassageText
from gateway.errors import GatewayError

_PASSAGES_AT_ONCE = 16
"""Passages in one job and one write."""
_POLL_S = 5.0
"""How often a resting task looks for pages of other processes."""
_QUIET_S, _LOOK_S = 2.0, 0.25
"""For how long no page must have been read, since a crawl has pauses between pages, and how often that is looked at."""
_LATEST_S = 50.0
"""How long pages that are read are waited for: with _POLL_S, vectors come within a minute."""
_PAUSE_S = 30.0
"""After a fault: as long as the longest pause of RestartPolicy, so that the process may be started again."""
_SEARCH_WAIT_S = 2.0
"""How long a search waits for the nearest passages."""
NEAREST = 200
"""Passages that vectors propose for one query."""


class VectorStore(Protocol):
    """An index that keeps vectors. Its methods raise sqlite3.Error and OSError."""

    on_stored: Callable[[], None] | None

    @property
    def vectors_file(self) -> Path | None:
        """The file in which the embedding process finds the nearest passages itself; None: ask `nearest`."""
        ...

    def may_hold_pages(self) -> bool:
        """False for an index that is empty, so that no vectors are waited for."""
        ...

    async def claim_vectors(self) -> bool:
        """Whether this process makes the vectors: one at a time does, and asks before each round."""
        ...

    async def adopt_vectors(self, version: str) -> bool:
        """Removes some vectors of other models; whether there are none left."""
        ...

    async def unembedded(self, count: int) -> list[PassageText]:
        """The newest passages that have no vector yet."""
        ...

    async def store_vectors(self, rows: Sequence[tuple[PassageText, bytes | None]]) -> None:
        """Stores vectors (`embedder.VECTOR`); None for a text that cannot be embedded."""
        ...

    async def nearest(self, vector: Sequence[float], owners: Sequence[str], count: int) -> list[tuple[int, float]]:
        """`(passage, cosine)` of the owners' passages nearest to a vector, nearest first."""
        ...


class PassageVectors:
    """The vectors of one index. Close it before the index and the process.

    `quiet_s` says for how many seconds no page has been read. `problem`: why vectors cannot be made at present, or
    None.
    """

    def __init__(
        self, index: VectorStore, process: EmbeddingProcess, quiet_s: Callable[[], float] = lambda: math.inf
    ) -> None:
        self._index = index
        self._process = process
        self._quiet_s = quiet_s
        self._due = -math.inf
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False
        self.problem: str | None = None

    def start(self) -> None:
        """The server starts: make the vectors of passages that have waited since the last run. An index whose file is
        empty or missing has none, and is left alone."""
        if self._index.may_hold_pages():
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
        file = self._index.vectors_file
        job: Json = {"kind": "embed", "texts": [text], "max_tokens": MAX_TOKENS}
        if file is not None:
            more = {"index": str(file), "text": text, "owners": list(owners), "count": NEAREST}
            job = {"kind": "nearest", "max_tokens": MAX_TOKENS, **more}
        with contextlib.suppress(GatewayError, TimeoutError, sqlite3.Error, OSError):
            async with asyncio.timeout(_SEARCH_WAIT_S):
                head, body = await self._process.ask(job, "urgent", key)
                if file is None:
                    return await self._index.nearest(memoryview(body).cast("f"), owners, NEAREST)
            return [(passage, cosine) for passage, cosine in head["found"]]
        return []

    async def fill(self) -> None:
        """Makes every missing vector now. Raises GatewayError, sqlite3.Error, OSError."""
        while not await self._index.adopt_vectors(MODEL_VERSION):
            pass
        size = _PASSAGES_AT_ONCE
        while texts := await self._index.unembedded(size):
            await self._until_quiet()
            try:
                rows = await self._embedded(texts)
                size = _PASSAGES_AT_ONCE
            except TextsFailed:
                if len(texts) > 1:
                    size = len(texts) // 2
                    continue
                rows = [(texts[0], None)]
            await self._index.store_vectors(rows)

    async def close(self) -> None:
        """Ends the task."""
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _until_quiet(self) -> None:
        """Returns when no page has been read for a moment, or the vectors are due."""
        while self._quiet_s() < _QUIET_S and asyncio.get_running_loop().time() < self._due:  # noqa: ASYNC110 - see _LOOK_S
            await asyncio.sleep(_LOOK_S)

    async def _embedded(self, texts: Sequence[PassageText]) -> list[tuple[PassageText, bytes | None]]:
        job = {"kind": "quantise", "texts": [each.text for each in texts], "max_tokens": MAX_TOKENS}
        _, body = await self._process.ask(job, "background", "")
        vectors = [body[at : at + VECTOR.size] for at in range(0, len(body), VECTOR.size)]
        return list(zip(texts, vectors, strict=True))

    async def _run(self) -> None:
        while True:
            is_ours = False
            with contextlib.suppress(GatewayError, sqlite3.Error, OSError):
                is_ours = await self._index.claim_vectors()
            if is_ours and not await self._attempt():
                await asyncio.sleep(_PAUSE_S)
            elif is_ours:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_POLL_S):
                        await self._news.wait()
            else:
                await asyncio.sleep(_POLL_S)

    async def _attempt(self) -> bool:
        """Makes the missing vectors; whether that succeeded."""
        self._news.clear()
        self._due = asyncio.get_running_loop().time() + _LATEST_S
        try:
            await self.fill()
            self.problem = None
        except (GatewayError, sqlite3.Error, OSError) as error:
            if self.problem is None:
                logs.event("embedding_paused", level=logging.WARNING, error=str(error))
            self.problem = "vectors cannot be made at present; they are tried again"
            return False
        return True
