"""Files of the state directory that several processes make or open at the same time."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


def own_file(path: Path) -> int:
    """A descriptor of a file that belongs to the owner of its folder, made where it is missing. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if os.geteuid() == 0:
        owner = path.parent.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """One process at a time in here: a new file cannot be opened by several at once, since SQLite does not wait for
    another process when it turns a file to its write-ahead log."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = own_file(path.with_name(f".{path.name}.lock"))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)  # ends the lock
