"""Files that stay in their folder: neither `..` in a name nor a link leads out, for reading and for writing.

A folder that is read or written may hold what somebody else has put there: `notes.md -> /etc/shadow`, a list of files
with `../x.md`. Each function takes the path of a file below `folder` and raises OSError, whose text says so, where what
it leads to lies elsewhere. The folder itself may be a link.
"""

import errno
import os
import secrets
from pathlib import Path


def inside(folder: Path, path: Path) -> Path:
    """The path with all its links followed. Raises OSError where it leads out of the folder."""
    resolved = path.resolve()
    if not resolved.is_relative_to(folder.resolve()):
        raise OSError(errno.ELOOP, "leads out of its folder", str(path))
    return resolved


def read_inside(folder: Path, path: Path) -> bytes:
    """What the file holds. Raises OSError."""
    with os.fdopen(os.open(inside(folder, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        return file.read()


def append_inside(folder: Path, path: Path, data: bytes) -> None:
    """Add to the end of the file, which is made where it is missing. Raises OSError."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(inside(folder, path), flags, 0o666), "ab") as file:
        file.write(data)


def replace_inside(folder: Path, path: Path, data: bytes) -> None:
    """Put a file in place of what is there, in one step; a link there goes, and what it led to stays. Folders that are
    missing are made. Raises OSError."""
    inside(folder, path.parent).mkdir(parents=True, exist_ok=True)
    target = inside(folder, path.parent) / path.name
    part = target.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(part, flags, 0o666), "wb") as file:
            file.write(data)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
