"""The audit log: one JSON line for every key that was made, rotated, revoked or imported. Knows no key, only records.

A line has `ts` (unix seconds), `action`, the id, name, scopes and limits of the key, `of` (the key it replaces), and
the `uid` and `host` that did it. A file is written before the change it tells of. It is never cut: keys are few.
"""

import os
import socket
import time
from collections.abc import Callable
from io import FileIO
from pathlib import Path

import orjson

from gateway.access.private_files import naming, own_like_folder
from gateway.domain import Json


class AuditLog:
    """Lines in a private file. `also` gets every line too: the store that machines share, for example."""

    def __init__(self, path: Path, also: Callable[[bytes], object] | None = None) -> None:
        self._path = path
        self._also = also

    def append(self, fields: Json) -> None:
        """Write one line and wait until it is on the disk. Fields that are None or empty are left out. Raises OSError,
        and what `also` raises."""
        told = {name: value for name, value in fields.items() if value not in (None, "")}
        line = orjson.dumps({"ts": int(time.time()), **told, "uid": os.getuid(), "host": socket.gethostname()})
        self._path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, 0o600)
        with naming(self._path), os.fdopen(descriptor, "ab", buffering=0) as file:
            own_like_folder(descriptor, self._path)
            _append_whole(file, line + b"\n")
            os.fsync(descriptor)
        if self._also is not None:
            self._also(line)


def _append_whole(file: FileIO, line: bytes) -> None:
    """Write all of a line or nothing: a disk that becomes full takes a part, behind which the next would stand."""
    size, rest = os.fstat(file.fileno()).st_size, memoryview(line)
    try:
        while rest:
            rest = rest[file.write(rest) :]
    except OSError:
        file.truncate(size)
        raise
