"""The embedding process of a gateway with a search index: embeds texts, and finds the passages nearest to a query.

`python -m gateway.engines.index.vector_worker`; protocol: see `engines.embedding.worker`.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np

from gateway.domain import Json
from gateway.engines.embedding.embedder import DIMENSIONS, MODEL_VERSION
from gateway.engines.embedding.worker import Array, Encoder, Job, embed_jobs, serve

_WORDS = DIMENSIONS // 64
_CANDIDATES = 1_500
"""Array that are compared exactly. Measured: the ten nearest of 36,000 passages are among them for all of 80
queries."""
_LOADED_AT_ONCE = 4_096
_LOAD_WAIT_S = 0.2
"""Array read in one go, and how long a search waits for newer ones: those of 20 pages take a millisecond, those of
100,000 pages ten seconds, which no search waits for."""
_GONE_SHARE = 0.25
"""Share of candidates that may be deleted before everything is loaded anew: they take the place of others."""
_READ_AT_ONCE = 500
"""Numbers in one SQL statement: below the limit of every SQLite."""


class NearestPassages:
    """The vectors of one index file. `find` is called by one thread."""

    def __init__(self, path: Path, version: str) -> None:
        self._path = path
        self._version = version
        self._reader: sqlite3.Connection | None = None
        self._signatures = Signatures()
        self._inode = self._seen_change = -1
        self._last_row = 0
        self._loading: threading.Thread | None = None

    def find(self, vector: Array, owners: Sequence[str], count: int) -> list[tuple[int, float]]:
        """`(passage, cosine)` of the nearest passages of the owners, nearest first. Raises sqlite3.Error, OSError."""
        self._follow()
        candidates = self._signatures.nearest(vector, owners, _CANDIDATES)
        found = self._cosines(vector, candidates)
        if len(found) < len(candidates) * (1 - _GONE_SHARE):
            self._inode = -1  # load everything anew
        return sorted(found, key=lambda pair: -pair[1])[:count]

    def _follow(self) -> None:
        """Has newer vectors loaded, and everything when the file is another one."""
        if self._loading is None or not self._loading.is_alive():
            inode = self._path.stat().st_ino
            if self._reader is None or inode != self._inode:
                if self._reader is not None:
                    self._reader.close()
                self._reader = _open(self._path)
                self._inode, self._seen_change, self._last_row = inode, -1, 0
                self._signatures = Signatures()
            change = int(self._reader.execute("PRAGMA data_version").fetchone()[0])
            if change != self._seen_change:
                self._seen_change = change
                self._loading = threading.Thread(target=self._load, args=(self._signatures,), daemon=True)
                self._loading.start()
        if self._loading is not None:
            self._loading.join(_LOAD_WAIT_S)

    def _load(self, target: "Signatures") -> None:
        with contextlib.suppress(sqlite3.Error), contextlib.closing(_open(self._path)) as connection:
            row = connection.execute("SELECT version FROM vector_model").fetchone()
            if row is None or row[0] != self._version:
                return
            sql = (
                "SELECT vectors.id, vectors.passage, pages.owner, vectors.vector FROM vectors"
                " JOIN passages ON passages.id = vectors.passage JOIN pages ON pages.id = passages.page"
                " WHERE vectors.id > ? ORDER BY vectors.id LIMIT ?"
            )
            while rows := connection.execute(sql, (self._last_row, _LOADED_AT_ONCE)).fetchall():
                target.add([row[1] for row in rows], [row[2] for row in rows], [row[3] for row in rows])
                self._last_row = rows[-1][0]

    def _cosines(self, vector: Array, passages: Sequence[int]) -> list[tuple[int, float]]:
        assert self._reader is not None
        ids: list[int] = []
        blobs: list[bytes] = []
        for at in range(0, len(passages), _READ_AT_ONCE):
            part = passages[at : at + _READ_AT_ONCE]
            marks = ",".join("?" * len(part))
            sql = f"SELECT passage, vector FROM vectors WHERE passage IN ({marks})"  # noqa: S608 - constants only
            for passage, blob in self._reader.execute(sql, part):
                ids.append(passage)
                blobs.append(blob)
        if not ids:
            return []
        scales, values = _unpacked(blobs)
        cosines = (values.astype(np.float32) @ vector) * scales
        return list(zip(ids, cosines.tolist(), strict=True))


class Signatures:
    """The signs of vectors, six words of 64 bits each, with passages and owners. Grows; knows no deletion."""

    def __init__(self) -> None:
        self._size = 0
        self._words: list[Array] = [np.zeros(0, np.uint64) for _ in range(_WORDS)]
        self._passages: Array = np.zeros(0, np.int64)
        self._owners: Array = np.zeros(0, np.int32)
        self._owner_numbers: dict[str, int] = {}
        self._lock = threading.Lock()

    def add(self, passages: Sequence[int], owners: Sequence[str], blobs: Sequence[bytes]) -> None:
        """Adds vectors as they are stored."""
        _, values = _unpacked(blobs)
        words = signs(values)
        numbers = [self._owner_numbers.setdefault(owner, len(self._owner_numbers)) for owner in owners]
        with self._lock:
            end = self._size + len(passages)
            if end > len(self._passages):
                self._grow(max(end, 2 * len(self._passages)))
            self._passages[self._size : end] = passages
            self._owners[self._size : end] = np.array(numbers, np.int32)
            for column, each in enumerate(self._words):
                each[self._size : end] = words[:, column]
            self._size = end

    def nearest(self, vector: Array, owners: Sequence[str], count: int) -> list[int]:
        """The passages of the owners whose signatures differ least from the vector's, in no order."""
        wanted = signs(vector[None, :])[0]
        with self._lock:  # `add` replaces the arrays, it never changes what is below the size
            size, words, passages, all_owners = self._size, list(self._words), self._passages, self._owners
            allowed: Array = np.zeros(len(self._owner_numbers) + 1, bool)
            allowed[[self._owner_numbers.get(owner, -1) for owner in owners]] = True
            allowed[-1] = False
        differences: Array = np.zeros(size, np.uint16)
        for word, each in zip(wanted, words, strict=True):
            differences += np.bitwise_count(each[:size] ^ word)
        differences[~allowed[all_owners[:size]]] = DIMENSIONS + 1
        if size > count:
            limit = np.partition(differences, count - 1)[count - 1]
            rows = np.flatnonzero(differences <= min(int(limit), DIMENSIONS))[: 2 * count]
        else:
            rows = np.flatnonzero(differences <= DIMENSIONS)
        found: list[int] = passages[rows].tolist()
        return found

    def _grow(self, size: int) -> None:
        more = size - len(self._passages)
        self._words = [np.concatenate([each, np.zeros(more, np.uint64)]) for each in self._words]
        self._passages = np.concatenate([self._passages, np.zeros(more, np.int64)])
        self._owners = np.concatenate([self._owners, np.zeros(more, np.int32)])


def signs(vectors: Array) -> Array:
    """A row of _WORDS words for each vector: a bit is set where its number is above 0."""
    return np.packbits(vectors > 0, axis=1).view(np.uint64)


def _unpacked(blobs: Sequence[bytes]) -> tuple[Array, Array]:
    """Scales and whole numbers of stored vectors."""
    rows = np.frombuffer(b"".join(blobs), np.dtype([("scale", "<f4"), ("values", "i1", DIMENSIONS)]))
    return rows["scale"], rows["values"]


def _open(path: Path) -> sqlite3.Connection:
    """For reading, by whichever thread. Raises sqlite3.Error."""
    return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=1, check_same_thread=False)


def index_jobs(encoder: Encoder) -> dict[str, Job]:
    """Those of every embedding process, and `nearest`: `{index, text, owners, count, max_tokens}` to `{found}`, a list
    of passages and cosines, nearest first. `index` is the path of the index's file, the same one in every job."""
    indexes: dict[str, NearestPassages] = {}

    def nearest(job: Json) -> tuple[Json, bytes]:
        path: str = job["index"]
        if path not in indexes:
            indexes.clear()
            indexes[path] = NearestPassages(Path(path), MODEL_VERSION)
        vectors, _, _ = encoder.encode([job["text"]], job["max_tokens"])
        return {"found": indexes[path].find(vectors[0], job["owners"], job["count"])}, b""

    return {**embed_jobs(encoder), "nearest": nearest}


if __name__ == "__main__":
    serve(index_jobs)
