"""How a supervisor is spoken to: by commands, by its successor, and by it to systemd.

**Control socket.** `gateway reload` and `gateway upgrade` ask the running supervisor and learn how it went. A Unix
socket in `$RUNTIME_DIRECTORY`, which only root and the service's own user can reach. Format, ours: the client sends the
name of a command and a line feed; the answer is one line, `ok TEXT` or `failed TEXT`, and the end.

**Handover.** One supervisor replaces another one while both serve: an upgrade of the program without a pause. The old
supervisor starts the program anew, by the name it was itself started by, so that a link to another release is followed.
Both hold the same listening sockets. They talk over a socket pair, one line each:

| step | old supervisor                              | new supervisor                                               |
|------|---------------------------------------------|--------------------------------------------------------------|
| 1    | `Successor.start`: starts the new one       | becomes a child of process 1, says `started PID`             |
| 2    | serves                                      | starts workers, on failure ends: `HandoverFailed` in the old |
| 3    | serves                                      | `Predecessor.ready`: says `ready` when it serves             |
| 4    | tells systemd the new main process, `go`    | serves, tells systemd `READY`                                |
| 5    | drains its workers and ends                 |                                                              |

After `_READY_S` without step 3 the new supervisor is killed and the old one stays.

**systemd.** `Notifier` tells readiness, status and watchdog, as datagrams (sd_notify(3), read 2026-11-21).

Each method does nothing where there is no notification socket, and never raises.
"""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from gateway.config.environment import Environment, handover_environment
from gateway.errors import GatewayError, InvalidRequest, UpstreamUnavailable

NAME = "control"
"""The socket's name in the runtime directory."""

_MAX_LINE_BYTES = 4096
"""Commands are one word; answers are an error text of ours, at most 1 KiB."""

_REQUEST_S = 5.0
"""How long a client may take to send its command."""

_LAST_ANSWERS_S = 1.0
"""How long answers may take once the socket closes."""

Actions = Mapping[str, Callable[[], Awaitable[str]]]
"""Command -> what does it; returns a line for the operator, or raises GatewayError, whose message the client gets."""


class ControlSocket:
    """Serves `actions` on a socket at `path`. Taking over the path from a predecessor is one step."""

    def __init__(self, path: Path, actions: Actions) -> None:
        self._path, self._actions = path, actions
        self._server: asyncio.Server | None = None
        self._answering: set[asyncio.Task[object]] = set()
        self._inode = 0

    async def open(self) -> None:
        """Listen. Raises OSError."""
        fresh = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        fresh.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._answer, fresh, limit=_MAX_LINE_BYTES)
        fresh.chmod(0o600)
        self._inode = fresh.stat().st_ino
        fresh.replace(self._path)

    async def close(self) -> None:
        """Stop listening, finish what is being answered, and remove the socket unless a successor has put its own
        there."""
        if self._server is None:
            return
        self._server.close()
        if self._answering:
            await asyncio.wait(self._answering, timeout=_LAST_ANSWERS_S)
        for task in self._answering:
            task.cancel()
        await asyncio.gather(*self._answering, return_exceptions=True)
        with contextlib.suppress(FileNotFoundError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._answering.add(task)
        try:
            async with asyncio.timeout(_REQUEST_S):
                command = (await reader.readline()).decode(errors="replace").strip()
            writer.write(" ".join((await self._outcome(command)).split()).encode() + b"\n")
            await writer.drain()
        except (OSError, TimeoutError, ValueError):
            pass  # it says nothing, or too much, or has left
        finally:
            self._answering.discard(task)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _outcome(self, command: str) -> str:
        action = self._actions.get(command)
        if action is None:
            return f"failed unknown command; known: {', '.join(self._actions)}"
        try:
            return f"ok {await action()}"
        except GatewayError as error:
            return f"failed {error.message}"


def ask(path: Path, command: str, timeout_s: float) -> str:
    """Send a command to the supervisor at `path`. Returns its line; blocks for at most about `timeout_s`.

    Raises UpstreamUnavailable when nobody answers, InvalidRequest with the supervisor's words when it failed.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.settimeout(timeout_s)
            sock.connect(str(path))
            sock.sendall(command.encode() + b"\n")
            with sock.makefile("rb") as answers:
                answer = answers.readline(_MAX_LINE_BYTES).decode(errors="replace").strip()
    except OSError as error:
        reason = error.strerror or f"no answer in {timeout_s:g} s"
        raise UpstreamUnavailable(
            f"{path}: {reason}; is the service running, and are you root? By hand: kill -HUP PID"
        ) from None
    outcome, _, text = answer.partition(" ")
    if outcome != "ok":
        raise InvalidRequest(text or "the supervisor ended before it answered; the log says why")
    return text


_READY_S = 60.0
"""How long a new release may take to be ready. From the specification (issue 17): it goes back by itself after that."""

_STARTED, _READY, _GO = b"started", b"ready\n", b"go\n"


class HandoverFailed(GatewayError):
    """The new supervisor did not become ready; the old one serves on."""


def leave_parent() -> None:
    """Become a child of process 1, so that systemd, which learns of this process later, sees its end. Call it before
    any thread and any event loop is started."""
    if os.fork():
        os._exit(0)


class Predecessor:
    """The old supervisor, as the new one sees it. `descriptor` is the channel's."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._socket.sendall(_STARTED + b" %d\n" % os.getpid())

    async def ready(self) -> None:
        """Say that this process serves, and wait until the other has told systemd so. Raises HandoverFailed when it has
        ended or given up."""
        reader, writer = await asyncio.open_connection(sock=self._socket)
        try:
            writer.write(_READY)
            async with asyncio.timeout(_READY_S):
                if await reader.readline() != _GO:
                    raise HandoverFailed("the supervisor that should be replaced has ended or given up")
        except (OSError, TimeoutError):
            raise HandoverFailed("the supervisor that should be replaced does not answer") from None
        finally:
            writer.close()


class Successor:
    """The new supervisor, as the old one sees it. Call `start`, then `let_go`; `pid` is known between them."""

    def __init__(self) -> None:
        self.pid = 0
        self._writer: asyncio.StreamWriter | None = None

    async def start(self, environment: Environment, descriptors: list[int]) -> None:
        """Start it and wait until it serves. Raises HandoverFailed; then it has ended."""
        ours, theirs = socket.socketpair()
        reader, self._writer = await asyncio.open_connection(sock=ours)
        with theirs:
            passed = [theirs.fileno(), *descriptors]
            try:
                process = await asyncio.create_subprocess_exec(
                    *_program(), stdin=asyncio.subprocess.DEVNULL, pass_fds=passed,
                    env=handover_environment(environment, passed),
                )  # fmt: skip
            except OSError as error:
                self._writer.close()
                raise HandoverFailed(f"the new program cannot be started: {error.strerror}") from None
        try:
            async with asyncio.timeout(_READY_S):
                await process.wait()
                while (line := await reader.readline()) != _READY:
                    if not line.startswith(_STARTED):
                        raise HandoverFailed("the new program ended before it was ready; the log says why")
                    self.pid = int(line.split()[1])
        except (TimeoutError, OSError):
            self._end(process)
            raise HandoverFailed(f"the new program was not ready after {_READY_S:g} s") from None
        except BaseException:
            self._end(process)
            raise

    def let_go(self) -> None:
        """systemd knows the new main process: it may say that it serves."""
        if self._writer is not None:
            self._writer.write(_GO)
            self._writer.close()

    def _end(self, process: asyncio.subprocess.Process) -> None:
        """End the new supervisor; its workers end with it."""
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        if self._writer is not None:
            self._writer.close()


def _program() -> list[str]:
    """The command line of this process, with the program's name as it was given: a link in it is followed anew."""
    if os.access(sys.argv[0], os.X_OK) and not sys.argv[0].endswith(".py"):
        return sys.argv
    return [sys.executable, "-m", "gateway", *sys.argv[1:]]


_SEND_TIMEOUT_S = 2.0
"""How long a notification that is sent once may wait for room in systemd's queue. Repeated ones are dropped."""


class Notifier:
    """`address` is $NOTIFY_SOCKET: a path, or a name in the abstract namespace when it starts with '@'."""

    def __init__(self, address: str) -> None:
        self._address = "\0" + address[1:] if address.startswith("@") else address

    def ready(self, status: str) -> None:
        """The service serves; `status` is one line for `systemctl status`."""
        self._send(f"READY=1\nSTATUS={_one_line(status)}", _SEND_TIMEOUT_S)

    def main_process(self, pid: int) -> None:
        """From now on the service is that process; call it from the main process before the other says `READY`."""
        self._send(f"MAINPID={pid}", _SEND_TIMEOUT_S)

    def stopping(self) -> None:
        """The service drains and will end."""
        self._send("STOPPING=1\nSTATUS=draining", _SEND_TIMEOUT_S)

    def alive(self) -> None:
        """Restart systemd's watchdog (WatchdogSec)."""
        self._send("WATCHDOG=1")

    def _send(self, text: str, timeout_s: float = 0.0) -> None:
        if not self._address:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.settimeout(timeout_s)
            sock.sendto(text.encode(), self._address)


def _one_line(text: str) -> str:
    """Without line breaks: each would begin another assignment of the protocol."""
    return " ".join(text.split())
