"""Private files of the state directory: replaced in one step, under a lock, readable by their owner alone."""

import fcntl
import io
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from gateway.errors import InvalidRequest

USER_HASH_KEY = "user-hash-key"
"""The file in the state directory with the secret that hashes user names; made when a gateway first serves."""

_LOCK_TIMEOUT_S = 10.0
_LOCK_POLL_S = 0.02
"""A poll costs microseconds, and a command waits at most 0.02 s too long for it."""


def dev_key_path(state_dir: Path) -> Path:
    """The file of the first API key, which the gateway makes for its operator."""
    return state_dir / "dev-key"


STARTED_WITH, UPSTREAM_FILE = "started-with", "upstream.toml"
"""Files of a state directory: the path of the configuration with which a gateway was started there last, empty for
none, and what its `--upstream` stood for."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Say which file an OSError inside is about, where the system does not: a full disk is reported by a write, which
    knows a descriptor alone."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file at `path`. Raises InvalidRequest when another command holds it for too long."""
    # O_NOFOLLOW: the folder may belong to a less trusted user, who could plant a link.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        own_like_folder(descriptor, path)
        end = time.monotonic() + _LOCK_TIMEOUT_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise InvalidRequest(
                        f"another command has held {path} for {_LOCK_TIMEOUT_S:g} s; wait for it or end it"
                    ) from None
                time.sleep(_LOCK_POLL_S)
        yield
    finally:
        os.close(descriptor)


def own_like_folder(descriptor: int, path: Path) -> None:
    """Give the open file at `path` the owner of its folder, where root runs this. Raises OSError."""
    if os.geteuid() == 0:
        owner = path.parent.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


def create_private(path: Path) -> None:
    """Make an empty private file unless there is one. When root calls it, the file gets its folder's owner, also one
    that root has made before. SQLite gives its journals the owner of the database. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        own_like_folder(descriptor, path)
    finally:
        os.close(descriptor)


def make_private_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing, with mode 0700 and, if root makes them, the owner of the
    folder around them. Raises OSError."""
    if path.is_dir():
        return
    make_private_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        own_like_folder(descriptor, path)
    finally:
        os.close(descriptor)


def write_private(path: Path, data: bytes) -> None:
    """Replace a file in one step, with mode 0600 and, if root writes it, the owner of its folder. Raises OSError."""
    copy_private(path, io.BytesIO(data))


def copy_private(path: Path, source: IO[bytes], mode: int = 0o600) -> None:
    """As `write_private`, with all that `source` has yet to give, in pieces, and another mode if wanted."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with naming(path), os.fdopen(descriptor, "wb") as file:
            shutil.copyfileobj(source, file)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
            own_like_folder(file.fileno(), path)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def load_or_create_secret(path: Path) -> bytes:
    """The 32 random bytes in a private file, which the first call makes, under a lock: processes that start at the same
    time get the same bytes. Raises InvalidRequest, OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(path.parent / f".{path.name}.lock"):
        if not path.exists():
            write_private(path, secrets.token_bytes(32))
        return path.read_bytes()
