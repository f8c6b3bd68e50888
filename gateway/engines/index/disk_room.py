"""Room on the index's disk: refusing writes before it is full, and saying what an error means. Knows no table."""

import contextlib
import shutil
import sqlite3
import time
from pathlib import Path

_FULL_BYTES = 1_000_000
"""Free bytes of a disk that counts as full when SQLite's error is unclear: less than one long page needs."""
_COPY_S, _ASK_AGAIN_S = 2.0, 0.01
"""Longest wait for another copy of the log, and between two tries. Chosen: a copy of 32 MB takes .2 s; at half a slow
disk is called full, at double the writer waits longer for readers that hold the log."""
_DATABASE_PAGE_BYTES = 4096
"""SQLite's default page size."""


def need_room(connection: sqlite3.Connection, folder: Path, reserve_bytes: int) -> None:
    """Raises OSError when less than `reserve_bytes` of the disk are free, counting the file's own free pages."""
    if not _has_room(connection, folder, reserve_bytes):
        truncate_log(connection)
        if not _has_room(connection, folder, reserve_bytes):
            raise OSError("disk full")


def _has_room(connection: sqlite3.Connection, folder: Path, reserve_bytes: int) -> bool:
    unused: int = connection.execute("PRAGMA freelist_count").fetchone()[0] * _DATABASE_PAGE_BYTES
    return shutil.disk_usage(folder).free + unused >= reserve_bytes


def truncate_log(connection: sqlite3.Connection) -> None:
    """Copies the log into the file and truncates it; on a full disk a large log would make every later write fail.

    Waits for another copy under way (`log_copier`): SQLite refuses two at once without waiting.
    """
    until = time.monotonic() + _COPY_S
    with contextlib.suppress(sqlite3.Error):
        while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] and time.monotonic() < until:
            time.sleep(_ASK_AGAIN_S)


def describe(error: Exception, folder: Path) -> str:
    """What an error of SQLite or of the system says, as the end of a sentence."""
    text = str(error)
    if "full" in text:
        return "the disk is full"
    if "readonly" in text or isinstance(error, PermissionError):
        return "the index file cannot be written"
    with contextlib.suppress(OSError):  # SQLite reports a full disk with several errors
        if shutil.disk_usage(folder).free < _FULL_BYTES:
            return "the disk is full"
    return "the index file cannot be used"


def bytes_on_disk(path: Path) -> int:
    """Size of a database: its file, and the log of what was written and is not yet in it. 0 where there is none."""
    size = 0
    for file in (path, path.with_name(f"{path.name}-wal")):
        with contextlib.suppress(OSError):
            size += file.stat().st_size
    return size
