"""One supervisor replaces another one while both serve: an upgrade of the program without a pause.

Theory of operation. The old supervisor starts the program anew, by the name it was itself started by, so that a link to
another release is followed. Both hold the same listening sockets. They talk over a socket pair, one line each:

| step | old supervisor                              | new supervisor                                               |
|------|---------------------------------------------|--------------------------------------------------------------|
| 1    | `Successor.start`: starts the new one       | becomes a child of process 1, says `started PID`             |
| 2    | serves                                      | starts workers, on failure ends: `HandoverFailed` in the old |
| 3    | serves                                      | `Predecessor.ready`: says `ready` when it serves             |
| 4    | tells systemd the new main process, `go`    | serves, tells systemd `READY`                                |
| 5    | drains its workers and ends                 |                                                              |

After `_READY_S` without step 3 the new supervisor is killed and the old one stays. Knows no configuration.
"""

import asyncio
import contextlib
import os
import signal
import socket
import sys

from gateway.config.environment import Environment, handover_environment
from gateway.errors import GatewayError

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
