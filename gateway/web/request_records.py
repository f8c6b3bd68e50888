"""The last requests of every process that serves, for the console: one file of fixed slots a process, in one folder.

A process writes into its own file and reads those of all, so that any of them can answer for all, and the records of
a process that was killed can still be read until another one starts. A record is what the log line of the request
holds: names, figures and ids, never a key, a query string, a prompt or an answer. The naive form, a list in memory,
shows the requests of whichever worker happens to answer.
"""

import contextlib
import mmap
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from gateway.domain import Json

MAX_RECORDS = 200
"""Requests stored by each process, and returned of all processes together. What a person reads through."""

_SLOT_BYTES = 1024
"""A record with all of its fields has 300 to 500 bytes."""

_ALWAYS = ("request_id", "key", "endpoint", "method", "status", "outcome", "total_ms")
"""The fields stored of a record that is too long for its slot."""


class RequestRecords:
    """The records below `folder`. Until `open`, and where the folder cannot be written, nothing is stored."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path: Path | None = None
        self._slots: mmap.mmap | None = None
        self._next = 0

    def open(self) -> None:
        """Make this process's file, and remove those of processes that have ended."""
        with contextlib.suppress(OSError, ValueError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for path in self._folder.glob("*.jsonl"):
                if not _is_running(path.stem.partition("-")[0]):
                    path.unlink(missing_ok=True)
            path = self._folder / f"{os.getpid()}-{secrets.token_hex(4)}.jsonl"
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                os.posix_fallocate(descriptor, 0, MAX_RECORDS * _SLOT_BYTES)  # a full disk fails here, not in a write
                self._slots = mmap.mmap(descriptor, MAX_RECORDS * _SLOT_BYTES)
            finally:
                os.close(descriptor)
            self._path = path

    def close(self) -> None:
        """Remove this process's file."""
        if self._slots is not None:
            self._slots.close()
            self._slots = None
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep records; the oldest ones give way."""
        if self._slots is None:
            return
        now = int(time.time() * 1000) / 1000
        for row in rows[-MAX_RECORDS:]:
            line = orjson.dumps({"ts": now, **row}, default=str)
            if len(line) >= _SLOT_BYTES:
                line = orjson.dumps({"ts": now, **{name: row[name] for name in _ALWAYS if name in row}}, default=str)
            if len(line) < _SLOT_BYTES:
                start = self._next * _SLOT_BYTES
                self._slots[start : start + _SLOT_BYTES] = line.ljust(_SLOT_BYTES - 1) + b"\n"
                self._next = (self._next + 1) % MAX_RECORDS

    def last(self) -> list[Json]:
        """At most MAX_RECORDS records of all processes, the newest first: `{ts, request_id, endpoint, status, …}`, as
        in the line `request` of the log."""
        found: list[Json] = []
        with contextlib.suppress(OSError):
            for path in self._folder.glob("*.jsonl"):
                with contextlib.suppress(OSError):
                    found.extend(_records(path.read_bytes()[: MAX_RECORDS * _SLOT_BYTES]))
        return sorted(found, key=lambda record: -float(record["ts"]))[:MAX_RECORDS]


def _records(content: bytes) -> list[Json]:
    """The slots of one file; one that is empty, or that is being written, has no record."""
    records = []
    for line in content.splitlines():
        with contextlib.suppress(orjson.JSONDecodeError):
            record = orjson.loads(line)
            if isinstance(record, dict) and isinstance(record.get("ts"), float | int):
                records.append(record)
    return records


def _is_running(pid: str) -> bool:
    return pid.isdigit() and Path("/proc", pid).exists()
