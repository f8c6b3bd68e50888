"""The control socket: `gateway reload` and `gateway upgrade` ask the running supervisor and learn how it went.

A Unix socket in `$RUNTIME_DIRECTORY`, which only root and the service's own user can reach. Format, ours: the client
sends the name of a command and a line feed; the answer is one line, `ok TEXT` or `failed TEXT`, and the end. Commands
are done one after the other. Knows no command's meaning.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from gateway.errors import GatewayError, InvalidRequest, UpstreamUnavailable

NAME = "control"
"""The socket's name in the runtime directory."""

_MAX_LINE_BYTES = 4096
"""Chosen: bounds what a client can send. Commands are one word; answers are an error text of ours, at most 1 KiB."""

_REQUEST_S = 5.0
"""How long a client may take to send its command. Chosen: it sends at once. Half or double changes nothing for one."""

_LAST_ANSWERS_S = 1.0
"""How long answers may take once the socket closes. Chosen: the answer to `upgrade` is being written then, which takes
milliseconds. At half or double, only a client that sends nothing makes a difference."""

Actions = Mapping[str, Callable[[], Awaitable[str]]]
"""Command -> what does it; returns a line for the operator, or raises GatewayError, whose message the client gets."""


class ControlSocket:
    """Serves `actions` on a socket at `path`. Taking over the path from a predecessor is one step."""

    def __init__(self, path: Path, actions: Actions) -> None:
        self._path, self._actions = path, actions
        self._turn = asyncio.Lock()
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
        async with self._turn:
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
        raise UpstreamUnavailable(f"{path}: {reason}; is the service running, and are you root?") from None
    outcome, _, text = answer.partition(" ")
    if outcome != "ok":
        raise InvalidRequest(text or "the supervisor ended before it answered; the log says why")
    return text
