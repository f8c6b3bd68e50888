"""Starts worker processes: the supervisor's side of the fork server, whose process is `fork_loop`.

Theory of operation. The fork server is a child of the supervisor that imports the application and forks a worker for
each request. The first one is itself forked from the supervisor, before that has imported what it needs: it shares the
interpreter's memory, and imports while the supervisor reads the configuration. They talk over a socket pair that keeps
messages apart; the format is ours. A request carries a descriptor, the worker's end of its own channel.

| from       | message          | meaning                                                                      |
|------------|------------------|------------------------------------------------------------------------------|
| server     | `can-fork`       | the application is imported; sent once                                       |
| supervisor | `fork`           | start a worker; answered in order                                            |
| server     | `started PID`    | here it is; carries a descriptor of the process (pidfd)                      |
| server     | `failed ERRNO`   | it could not be forked                                                       |
| server     | `ended PID CODE` | a worker has ended: its exit code, or the negative number of a signal        |

The end of the channel means that the other side has ended. A server that ends or does not answer in time is killed and
replaced at the next request; workers that it forked go on, and only their exit codes are lost. Knows nothing of what a
worker serves.
"""

import asyncio
import contextlib
import errno
import gc
import importlib
import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Mapping

from gateway.config.environment import replace_environment
from gateway.runtime.worker_start import StartedWorker

CAN_FORK, FORK, STARTED, FAILED, ENDED = b"can-fork", b"fork", b"started", b"failed", b"ended"
MAX_MESSAGE_BYTES = 64
"""Larger than every message of the table above."""

_IMPORT_S = 30.0
"""How long a new server may take to import the application. Chosen: it takes a second, so that half would do except on
a machine that swaps; at double, a start on a broken disk fails after the minute that an upgrade gives it."""

_FORK_S = 2.0
"""How long one that has done so may take to fork. Chosen: it takes 10 ms. At half, a machine that swaps loses a sound
server; at double, a crash beside a server that hangs is answered after five seconds instead of three."""

_END_S = 1.0
"""How long an exit code, and the end of the server after its channel was closed, may take to arrive. Both come within
milliseconds; at half or double, nothing changes but the patience with a server that hangs."""


class ForkServer:
    """One fork server at a time. Make it before the event loop runs to have the first one forked; see `forked`."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        """`variables`: the environment of the workers."""
        self._variables = variables
        self._pid = 0
        self._channel: socket.socket | None = None
        self._is_read = False
        self._can_fork = False
        self._requests: deque[asyncio.Future[tuple[int, int]]] = deque()
        self._codes: dict[int, asyncio.Future[int | None]] = {}

    @classmethod
    def forked(cls, variables: Mapping[str, str]) -> "ForkServer":
        """One whose process runs already, as a fork of this one. Raises OSError. Call it while this process has one
        thread, no event loop, and no open file beside standard input, output and error that matters to a child."""
        server = cls(variables)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        gc.freeze()  # a collection in one of the two processes shall not write to memory that they share
        pid = os.fork()
        if pid == 0:
            os._exit(_run_forked(theirs, variables))
        theirs.close()
        server._pid, server._channel = pid, ours
        return server

    async def start_worker(self) -> StartedWorker:
        """Start a worker that waits for its assignment. Raises OSError when it cannot be started."""
        if self._channel is None:
            self._spawn()
        channel = self._channel
        assert channel is not None
        loop = asyncio.get_running_loop()
        if not self._is_read:
            self._is_read = True
            channel.setblocking(False)
            loop.add_reader(channel, self._read, channel)
        answer: asyncio.Future[tuple[int, int]] = loop.create_future()
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(channel, [FORK], [theirs.fileno()])
            self._requests.append(answer)
            async with asyncio.timeout(_FORK_S if self._can_fork else _IMPORT_S):
                pid, process = await answer
        except BaseException as error:
            ours.close()
            if isinstance(error, TimeoutError) and channel is self._channel:
                self._give_up()
                raise OSError(errno.ETIMEDOUT, "the fork server does not answer") from None
            raise
        return StartedWorker(pid, process, ours, self._exit_code)

    async def close(self) -> None:
        """End the server. Its workers go on."""
        if self._channel is None:
            return
        pid = self._pid
        self._forget()
        ended = _reap(pid)
        try:
            async with asyncio.timeout(_END_S):
                await ended.wait()
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)

    def _spawn(self) -> None:
        """Start the process as a new program: this one has an event loop by now. Raises OSError."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-m", "gateway", "worker"],
                self._variables,
                file_actions=[(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0)],
            )
        self._channel = ours

    def _read(self, channel: socket.socket) -> None:
        """Take one message of the server."""
        try:
            message, passed, _, _ = socket.recv_fds(channel, MAX_MESSAGE_BYTES, 1, socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return
        except OSError:
            message, passed = b"", []
        kind, *words = message.split() or [b""]
        if kind == CAN_FORK:
            self._can_fork = True
        elif kind == STARTED:
            self._answer(int(words[0]), passed[0])
        elif kind == FAILED:
            self._refuse(OSError(int(words[0]), os.strerror(int(words[0]))))
        elif kind == ENDED:
            code = self._codes.get(int(words[0]))
            if code is not None and not code.done():
                code.set_result(int(words[1]))
        elif channel is self._channel:
            self._give_up()

    def _answer(self, pid: int, process: int) -> None:
        if self._requests:
            request = self._requests.popleft()
            if not request.done():
                self._codes[pid] = asyncio.get_running_loop().create_future()
                request.set_result((pid, process))
                return
        os.close(process)  # nobody waits any more; the worker ends by itself, since its channel is closed

    def _refuse(self, error: OSError) -> None:
        if self._requests:
            request = self._requests.popleft()
            if not request.done():
                request.set_exception(error)

    def _give_up(self) -> None:
        """Have another server for the next request."""
        pid = self._pid
        self._forget()
        os.kill(pid, signal.SIGKILL)  # it is there at least as a zombie: nobody else waits for it
        _reap(pid)

    def _forget(self) -> None:
        """Close the channel, which ends the server, and answer whoever waits for it."""
        assert self._channel is not None
        if self._is_read:
            asyncio.get_running_loop().remove_reader(self._channel)
        self._channel.close()
        self._channel, self._pid, self._is_read, self._can_fork = None, 0, False, False
        while self._requests:
            self._refuse(ConnectionResetError(errno.ECONNRESET, "the fork server has ended"))
        for code in self._codes.values():
            if not code.done():
                code.set_result(None)
        self._codes.clear()

    async def _exit_code(self, pid: int) -> int | None:
        """The exit code of a worker that has ended; None when nobody can tell."""
        code = self._codes.get(pid)
        if code is None:
            return None
        await asyncio.wait({code}, timeout=_END_S)
        self._codes.pop(pid, None)
        return code.result() if code.done() else None


def _run_forked(channel: socket.socket, variables: Mapping[str, str]) -> int:
    """In the fork: be the fork server. Returns the exit code."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    kept = os.dup2(channel.detach(), 3, inheritable=False)
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))  # systemd's and a predecessor's sockets among them
    replace_environment(variables)
    try:
        return _run(socket.socket(fileno=kept))
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def run_spawned() -> int:
    """In a program that a supervisor started: be the fork server, whose channel is standard input. Returns the exit
    code."""
    channel = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # what a worker starts shall not hold the channel open
    os.close(nothing)
    return _run(channel)


def _run(channel: socket.socket) -> int:
    code: int = importlib.import_module("gateway.runtime.fork_loop").run(channel)
    return code


def _reap(pid: int) -> asyncio.Event:
    """Wait for the end of a child in the background. Returns an event that is set then."""
    loop, ended, process = asyncio.get_running_loop(), asyncio.Event(), os.pidfd_open(pid)

    def take() -> None:
        loop.remove_reader(process)
        os.close(process)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
        ended.set()

    loop.add_reader(process, take)
    return ended
