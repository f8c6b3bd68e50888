"""A worker process that was just started: hands it its assignment, signals it, and waits for its end.

A worker gets one end of a socket pair. The supervisor sends on it the length of a pickled `Assignment` as eight bytes,
with the file descriptors of the listening sockets beside them, then the pickle; after that it is the channel of
`channel`. Knows nothing of what is assigned, and not how a worker is started (`fork_server`).
"""

import asyncio
import contextlib
import hashlib
import os
import pickle
import shutil
import signal
import socket
import stat
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from gateway.config.environment import Environment

_LENGTH_BYTES = 8
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - see `_in_memory`
_MAX_SOCKETS = 2
"""The product and the ops listener."""

_SEND_S = 5.0
"""How long handing over an assignment may block. Chosen: it is a few kilobytes and fits into the socket's buffer of
208 KiB. At half or double, only a configuration that is larger, which nobody has, makes a difference."""


def metrics_folder(environment: Environment, state_dir: Path) -> Path:
    """Where the workers of this process share their metrics: in memory where that can be had, which is the runtime
    directory, else a folder of this state directory's own in `/dev/shm`. prometheus-client writes to them as mapped
    memory, and on a full disk that kills the process (SIGBUS). Makes the folders above it that have to be private."""
    return (environment.runtime_dir or _in_memory(state_dir) or state_dir) / "metrics" / str(os.getpid())


def _in_memory(state_dir: Path) -> Path | None:
    """A folder in shared memory that nobody else can write, the same for every process with this state directory; None
    where there is none. Its name can be guessed, so one that another user has made first is not used."""
    digest = hashlib.sha256(os.fsencode(state_dir.absolute())).hexdigest()[:16]
    folder = _SHARED_MEMORY / f"gateway-{os.geteuid()}-{digest}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    is_private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
    return folder if is_private else None


def remove_metrics(folder: Path) -> None:
    """Remove a `metrics_folder`, and the folders above it that were made for it alone."""
    shutil.rmtree(folder, ignore_errors=True)
    above = [folder.parent, folder.parent.parent]
    with contextlib.suppress(OSError):  # another supervisor with the same state directory is in there
        for each in above if above[1].parent == _SHARED_MEMORY else above[:1]:
            each.rmdir()


class StartedWorker:
    """A worker process that waits for its assignment, or has it."""

    def __init__(
        self, pid: int, process: int, channel: socket.socket, exit_code: Callable[[int], Awaitable[int | None]]
    ) -> None:
        """`process`: a descriptor of the process (pidfd). `exit_code` tells, for its id, how it has ended."""
        self.pid, self.channel = pid, channel
        self._descriptor = process
        self._read_exit_code = exit_code
        self._is_running = True

    def assign(self, assignment: object, descriptors: Sequence[int]) -> None:
        """Tell it what to serve on which sockets. Raises OSError when it has ended."""
        message = pickle.dumps(assignment)
        self.channel.settimeout(_SEND_S)
        socket.send_fds(self.channel, [len(message).to_bytes(_LENGTH_BYTES)], list(descriptors))
        self.channel.sendall(message)

    def send_signal(self, number: signal.Signals) -> None:
        """Does nothing when the process has ended."""
        if self._is_running:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, number)

    async def wait(self) -> int | None:
        """Wait for its end. Returns the exit code, or the negative number of the signal that ended it; None when the
        fork server ended before it. Call it once."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._descriptor, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(self._descriptor)
        self._is_running = False
        os.close(self._descriptor)
        return await self._read_exit_code(self.pid)


def receive(channel: socket.socket) -> tuple[object, list[int]] | None:
    """In a worker: its assignment and the sockets' descriptors. None when the supervisor has ended."""
    length, descriptors, _, _ = socket.recv_fds(channel, _LENGTH_BYTES, _MAX_SOCKETS, socket.MSG_CMSG_CLOEXEC)
    message, missing = bytearray(), int.from_bytes(length)
    while missing > 0:
        part = channel.recv(missing)  # and no more: lines of the channel follow
        if not part:
            return None
        message += part
        missing -= len(part)
    # Pickle is safe here: our own supervisor sent it, through a socket that it made.
    return (pickle.loads(message), descriptors) if length else None  # noqa: S301
