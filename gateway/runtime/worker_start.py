"""Starts a worker process, hands it its assignment, and waits for its end. Imports little, and needs no event loop to
start one: the first worker of a start imports the application while the supervisor still reads its configuration.

A worker gets one end of a socket pair as standard input. The supervisor sends on it the length of a pickled
`Assignment` as eight bytes, with the file descriptors of the listening sockets beside them, then the pickle; after that
it is the channel of `channel`. Knows nothing of what is assigned.
"""

import asyncio
import contextlib
import os
import pickle
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_LENGTH_BYTES = 8
_MAX_SOCKETS = 2
"""The product and the ops listener."""

_SEND_S = 5.0
"""How long handing over an assignment may block. Chosen: it is a few kilobytes and fits into the socket's buffer of
208 KiB. At half or double, only a configuration that is larger, which nobody has, makes a difference."""


def metrics_folder(state_dir: Path) -> Path:
    """Where the workers of this process share their metrics."""
    return state_dir / "metrics" / str(os.getpid())


class StartedWorker:
    """A worker process that waits for its assignment, or has it. Raises OSError when it cannot be started."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.channel, theirs = socket.socketpair()
        with theirs:
            # A session of its own: only the supervisor shall receive a terminal's Ctrl-C.
            self.pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-m", "gateway", "worker"],
                variables,
                file_actions=[(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0)],
                setsid=True,
            )
        self._descriptor = os.pidfd_open(self.pid)
        self.exit_code: int | None = None

    def assign(self, assignment: object, descriptors: Sequence[int]) -> None:
        """Tell it what to serve on which sockets. Raises OSError when it has ended."""
        message = pickle.dumps(assignment)
        self.channel.settimeout(_SEND_S)
        socket.send_fds(self.channel, [len(message).to_bytes(_LENGTH_BYTES)], list(descriptors))
        self.channel.sendall(message)

    def send_signal(self, number: signal.Signals) -> None:
        """Does nothing when the process has ended."""
        if self.exit_code is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, number)

    async def wait(self) -> int:
        """Wait for its end. Returns the exit code, or the negative number of the signal that ended it. Call it once."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._descriptor, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(self._descriptor)
        _, status = os.waitpid(self.pid, 0)  # noqa: ASYNC222 - it has ended
        self.exit_code = os.waitstatus_to_exitcode(status)
        os.close(self._descriptor)
        return self.exit_code


def receive() -> tuple[object, list[int], socket.socket] | None:
    """In a worker: its assignment, the sockets' descriptors, and the channel. None when the supervisor has ended."""
    channel = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # what the worker starts shall not hold the channel open
    os.close(nothing)
    length, descriptors, _, _ = socket.recv_fds(channel, _LENGTH_BYTES, _MAX_SOCKETS, socket.MSG_CMSG_CLOEXEC)
    message, missing = bytearray(), int.from_bytes(length)
    while missing > 0:
        part = channel.recv(missing)  # and no more: lines of the channel follow
        if not part:
            return None
        message += part
        missing -= len(part)
    # Pickle is safe here: our own supervisor sent it, through a socket that it made.
    return (pickle.loads(message), descriptors, channel) if length else None  # noqa: S301
