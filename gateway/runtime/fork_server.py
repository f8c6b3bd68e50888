"""Starts worker processes by forking one that has imported the application.

The fork server is a child of the supervisor that imports the application and forks a worker for each request. It serves
nothing, so its memory stays as it was after the import, and its workers share it: a new worker listens within a
twentieth of a second instead of after a second of importing. It has one thread and no event loop, since neither
survives a fork. The first one is itself forked from the supervisor, before that has imported what it needs: it shares
the interpreter's memory, and imports while the supervisor reads the configuration.

They talk over a socket pair that keeps messages apart; the format is ours. A request carries a descriptor, the worker's
end of its own channel.

| from       | message          | meaning                                                                      |
|------------|------------------|------------------------------------------------------------------------------|
| server     | `can-fork`       | the application is imported; sent once                                       |
| supervisor | `fork`           | start a worker; answered in order                                            |
| server     | `started PID`    | here it is; carries a descriptor of the process (pidfd)                      |
| server     | `failed ERRNO`   | it could not be forked                                                       |
| server     | `ended PID CODE` | a worker has ended: its exit code, or the negative number of a signal        |

The end of the channel means that the other side has ended. A server that ends or does not answer in time is killed and
replaced at the next request; workers that it forked go on, and only their exit codes are lost.

A worker gets one end of a socket pair. The supervisor sends on it the length of a pickled `Assignment` as eight bytes,
with the file descriptors of the listening sockets beside them, then the pickle; after that it is the channel of
`service`.
"""

import asyncio
import contextlib
import errno
import gc
import hashlib
import importlib
import os
import pickle
import select
import shutil
import signal
import socket
import stat
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from gateway.config.environment import Environment, replace_environment

_LENGTH_BYTES = 8
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - see `_in_memory`
_MAX_SOCKETS = 2
"""The product and the ops listener."""

_SEND_S = 5.0
"""How long handing over an assignment may block."""


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


_CAN_FORK, _FORK, _STARTED, _FAILED, _ENDED = b"can-fork", b"fork", b"started", b"failed", b"ended"
_MAX_MESSAGE_BYTES = 64
"""Larger than every message of the table above."""

_IMPORT_S = 30.0
"""How long a new server may take to import the application."""

_FORK_S = 2.0
"""How long one that has done so may take to fork."""

_END_S = 1.0
"""How long an exit code, and the end of the server after its channel was closed, may take to arrive. Both come within
milliseconds."""


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
                socket.send_fds(channel, [_FORK], [theirs.fileno()])
            self._requests.append(answer)
            async with asyncio.timeout(_FORK_S if self._can_fork else _IMPORT_S):
                pid, process = await answer
        except BaseException as error:
            ours.close()
            if isinstance(error, TimeoutError | BrokenPipeError) and channel is self._channel:
                self._give_up()
                raise OSError(error.errno or errno.ETIMEDOUT, "the fork server has ended or does not answer") from None
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
            message, passed, _, _ = socket.recv_fds(channel, _MAX_MESSAGE_BYTES, 1, socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return
        except OSError:
            message, passed = b"", []
        kind, *words = message.split() or [b""]
        if kind == _CAN_FORK:
            self._can_fork = True
        elif kind == _STARTED:
            self._answer(int(words[0]), passed[0])
        elif kind == _FAILED:
            self._refuse(OSError(int(words[0]), os.strerror(int(words[0]))))
        elif kind == _ENDED:
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
        return run_loop(socket.socket(fileno=kept))
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
    return run_loop(channel)


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


_NAME, _WORKER_NAME = "gateway-fork", "gateway-worker"
"""Names of the processes, as `ps -o comm` and `top` show them."""


def run_loop(channel: socket.socket) -> int:
    """Fork workers until the supervisor has ended. Returns the exit code, in this process and in every worker."""
    os.setsid()  # only the supervisor shall receive a terminal's Ctrl-C
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    _set_name(_NAME)
    gc.disable()  # next to nothing of an import is garbage; looking for it takes a tenth of the time
    work = importlib.import_module("gateway.runtime.worker").work
    gc.freeze()  # a worker's collections shall not write to memory that it shares
    try:
        assigned = _fork_workers(channel)
    except (BrokenPipeError, ConnectionResetError):
        return 0  # the supervisor has ended
    if assigned is None:
        return 0
    gc.enable()
    code: int = work(assigned)
    return code


def _fork_workers(channel: socket.socket) -> socket.socket | None:
    """In this process: fork until the channel ends, then return None. In a worker: return its own channel."""
    poller = select.poll()
    poller.register(channel, select.POLLIN)
    running: dict[int, int] = {}  # descriptor of a worker's process -> its id
    channel.send(_CAN_FORK)
    while True:
        for descriptor, _ in poller.poll():
            if descriptor in running:
                poller.unregister(descriptor)
                _report_end(channel, running.pop(descriptor))
                os.close(descriptor)
                continue
            request, passed, _, _ = socket.recv_fds(channel, _MAX_MESSAGE_BYTES, 1, socket.MSG_CMSG_CLOEXEC)
            if not request:
                return None
            try:
                pid = os.fork()
            except OSError as error:  # no memory, or TasksMax
                channel.send(_FAILED + b" %d" % (error.errno or 0))
                os.close(passed[0])
                continue
            if pid == 0:
                for each in (channel.detach(), *running):
                    os.close(each)
                _set_name(_WORKER_NAME)
                return socket.socket(fileno=passed[0])
            os.close(passed[0])
            process = os.pidfd_open(pid)
            socket.send_fds(channel, [_STARTED + b" %d" % pid], [process])
            running[process] = pid
            poller.register(process, select.POLLIN)


def _report_end(channel: socket.socket, pid: int) -> None:
    _, status = os.waitpid(pid, 0)
    channel.send(_ENDED + b" %d %d" % (pid, os.waitstatus_to_exitcode(status)))


def _set_name(name: str) -> None:
    Path("/proc/self/comm").write_text(name)
