"""The embedding process: runs jobs on the model (`gateway.child.worker` has the protocol).

`python -m gateway.engines.embedding.worker`; the search index starts one of its own kind, which knows more jobs
(`engines.index.vector_worker`). Two lanes work side by side: `urgent` for what a caller waits for, and `background`,
whose thread gives way to everything else on the machine. Each runs its jobs in the order of their arrival.
"""

import contextlib
import os
import queue
import threading
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from string import punctuation
from typing import Any

import numpy as np
import onnxruntime

from gateway.child import worker
from gateway.domain import Json
from gateway.engines.embedding.embedder import DIMENSIONS, MODEL_VERSION, model_path

_UNKNOWN, _FIRST, _LAST = "[UNK]", "[CLS]", "[SEP]"
_MAX_WORD_CHARS = 100
"""Longest word that is cut into pieces; a longer one is unknown. From BERT's tokenizer."""
_CHARS_PER_TOKEN = 32
"""Beginning of a text that is read, for each token that it may have."""
_REMEMBERED_WORDS = 16_384
_REMEMBERED_CHARS = 4_096
"""Words and characters whose pieces are kept."""
_CJK = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


def load_vocabulary() -> dict[str, int]:
    """Piece -> number, as the model knows them."""
    text = resources.files(__package__).joinpath("vocabulary.txt").read_text("utf-8")
    return {piece: number for number, piece in enumerate(text.splitlines())}


class WordPiece:
    """The tokenizer. May be used by several threads."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._pieces = lru_cache(_REMEMBERED_WORDS)(self._cut_word)
        self._spaced = lru_cache(_REMEMBERED_CHARS)(_spaced)

    def encode(self, text: str, max_tokens: int) -> tuple[list[int], bool]:
        """The numbers of a text, with those of its beginning and end, at most `max_tokens`; and whether it was cut."""
        head = text[: max_tokens * _CHARS_PER_TOKEN]
        tokens = [self._vocabulary[_FIRST]]
        for word in self._words(head):
            tokens += self._pieces(word)
            if len(tokens) >= max_tokens:
                break
        is_cut = len(tokens) >= max_tokens or len(head) < len(text)
        return [*tokens[: max_tokens - 1], self._vocabulary[_LAST]], is_cut

    def _words(self, text: str) -> list[str]:
        """Words and marks in lower case, without accents and control characters; each mark is a word of its own."""
        if not text.isascii():
            text = unicodedata.normalize("NFD", text)
        table = {ord(char): self._spaced(char) for char in set(text)}
        return text.translate(table).lower().split()

    def _cut_word(self, word: str) -> tuple[int, ...]:
        """The longest pieces of the word from its beginning on; unknown as a whole when a rest has none."""
        if len(word) > _MAX_WORD_CHARS:
            return (self._vocabulary[_UNKNOWN],)
        pieces: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._vocabulary.get(prefix + word[start:end])
                if number is not None:
                    pieces.append(number)
                    start = end
                    break
            else:
                return (self._vocabulary[_UNKNOWN],)
        return tuple(pieces)


def _spaced(char: str) -> str:
    """What stands for a character: itself, a blank, nothing, or itself between blanks."""
    category = unicodedata.category(char)
    if char in "\t\n\r" or category.startswith("Z"):
        return " "
    if category in ("Mn", "Cc", "Cf", "Co", "Cs") or char == "\ufffd":
        return ""
    if char in punctuation or category.startswith("P") or any(low <= ord(char) <= high for low, high in _CJK):
        return f" {char} "
    return char


Array = Any
"""A numpy array."""

_INT8_MAX = 127.0


class Encoder:
    """The loaded model. Raises ImportError and onnxruntime's errors when it cannot be loaded."""

    def __init__(self, model: Path) -> None:
        onnxruntime.set_default_logger_severity(3)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        # The arena keeps what texts of different lengths need, for both lanes. Without it, and with a plan of memory
        # for each length, malloc's heaps grow by 150 MB over 250 texts; with it by 50 MB, all in the first 100, at the
        # same CPU (measured with two threads and lengths of 3 to 256 tokens).
        options.enable_cpu_mem_arena = True
        options.enable_mem_pattern = False
        self._session: Any = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._tokenizer = WordPiece(load_vocabulary())

    def encode(self, texts: Sequence[str], max_tokens: int) -> tuple[Array, list[int], list[bool]]:
        """A row of length one for each text, its number of tokens, and whether it was cut.

        One text at a time: eight at once take no less CPU for each, and short ones wait for long ones (measured).
        """
        vectors: Array = np.empty((len(texts), DIMENSIONS), np.float32)
        counts: list[int] = []
        are_cut: list[bool] = []
        for row, text in enumerate(texts):
            tokens, is_cut = self._tokenizer.encode(text, max_tokens)
            ids = np.array([tokens], np.int64)
            inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
            mean = self._session.run(None, inputs)[0][0].mean(axis=0)
            vectors[row] = mean / max(float(np.linalg.norm(mean)), 1e-12)
            counts.append(len(tokens))
            are_cut.append(is_cut)
        return vectors, counts, are_cut


def quantised(vectors: Array) -> tuple[Array, Array]:
    """`(scales, values)`: each vector is about its scale times its row of whole numbers from -127 to 127."""
    scales = np.maximum(np.abs(vectors).max(axis=1), 1e-12).astype(np.float32) / _INT8_MAX
    return scales, np.rint(vectors / scales[:, None]).astype(np.int8)


Job = Callable[[Json], tuple[Json, bytes]]
"""Runs a job: its head in, the answer's head and body out."""
MakeJobs = Callable[[Encoder], Mapping[str, Job]]

_BACKGROUND_NICE = 19
"""Lowest priority: vectors may come later, fetches and searches may not."""
_MAX_MEMORY_BYTES = 2_000_000_000
"""Limit of private memory: the model takes 150 MB, an index of a million passages 70 MB and as much for a search."""


def embed_jobs(encoder: Encoder) -> dict[str, Job]:
    """`embed`: `{texts, max_tokens}` to `{tokens, cut}` and float32 rows; `quantise`: to rows of `VECTOR`."""

    def embed(job: Json) -> tuple[Json, bytes]:
        vectors, tokens, cut = encoder.encode(job["texts"], job["max_tokens"])
        return {"tokens": tokens, "cut": cut}, vectors.astype("<f4").tobytes()

    def quantise(job: Json) -> tuple[Json, bytes]:
        scales, values = quantised(encoder.encode(job["texts"], job["max_tokens"])[0])
        rows = [scale.astype("<f4").tobytes() + row.tobytes() for scale, row in zip(scales, values, strict=True)]
        return {}, b"".join(rows)

    return {"embed": embed, "quantise": quantise}


def serve(make_jobs: MakeJobs) -> None:
    """Loads the model and serves until the input ends."""
    worker.limit_process(_MAX_MEMORY_BYTES)
    channel = worker.JobPipe()
    jobs = make_jobs(Encoder(model_path()))
    channel.hello({"version": MODEL_VERSION})
    lanes = {"urgent": _lane(jobs, 0), "background": _lane(jobs, _BACKGROUND_NICE)}
    while True:
        job = channel.next_job()
        lanes[job.head["lane"]].put(job)


def _lane(jobs: Mapping[str, Job], nice: int) -> queue.SimpleQueue[worker.WorkerJob]:
    """The queue of a thread that runs jobs one after the other."""
    waiting: queue.SimpleQueue[worker.WorkerJob] = queue.SimpleQueue()

    def run() -> None:
        with contextlib.suppress(OSError):  # a sandbox may forbid it: then at normal priority
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nice)
        while True:
            job = waiting.get()
            try:
                head, body = jobs[job.head["kind"]](job.head)
            except Exception as error:  # a fault that one job meets must not end the process
                head, body = {"failed": type(error).__name__}, b""
            job.end(head, body)

    threading.Thread(target=run, daemon=True).start()
    return waiting


if __name__ == "__main__":
    serve(embed_jobs)
