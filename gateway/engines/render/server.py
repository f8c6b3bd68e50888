"""The render process: `python -m gateway.engines.render.server --socket PATH`. It has no network and starts Chromium.

It listens on one Unix socket, takes connections of one user alone, and ends when it had nothing to do for a while, or
with the process that holds its standard input (`--with-parent`); the gateway, or systemd at the first connection,
starts it again. It prints `ready` when it listens. Exit codes: 0 idle or
stopped, 69 where no network namespace can be had or no browser is installed: then it prints why, in one line.
"""

import argparse
import asyncio
import concurrent.futures.thread  # noqa: F401 - asyncio imports it late, when `nobody` may not read it any more
import contextlib
import os
import pwd
import resource
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.engines.render import namespaces
from gateway.engines.render.browser import NoBrowser, find_chromium
from gateway.engines.render.call import BrowserShare, RenderCall
from gateway.resilience.fair_queue import FairQueue

EX_UNAVAILABLE = 69  # sysexits.h
_MAX_CALLS = 64  # connections at once
_MAX_WAITING = 100
_END_S = 20.0
_LISTEN_FD = 3  # sd_listen_fds(3): the first socket that systemd hands over
_UCRED = struct.Struct("3i")
_MEMORY_SHIFT = 20


@dataclass(frozen=True, slots=True)
class Options:
    """What the process is started with; `peer` is the user whose connections are taken, by name or number."""

    socket: str
    peer: str
    chromium: str
    max_pages: int
    idle_s: float
    memory_mb: int
    with_parent: bool = False


class RenderServer:
    """The listening side. `serve` until idle."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._share = BrowserShare(options.chromium, options.memory_mb << _MEMORY_SHIFT)
        self._turns = FairQueue(options.max_pages, max_waiting=_MAX_WAITING)
        self._sinks: set[asyncio.StreamWriter] = set()
        self._no_calls = asyncio.Event()
        self._no_calls.set()
        self._idle: asyncio.TimerHandle | None = None
        self._ends = asyncio.Event()

    async def serve(self, listening: socket.socket) -> None:
        """Serves until nothing was to do for `idle_s`, or SIGTERM."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.stop)
        if self._options.with_parent:
            loop.add_reader(sys.stdin.fileno(), self._parent_ended)
        server = await asyncio.start_unix_server(self._connected, sock=listening)
        self._wait_idle()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await self._ends.wait()
        server.close()
        for sink in list(self._sinks):
            sink.close()  # its call ends by itself, and takes its page with it
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                await self._no_calls.wait()
        await self._share.close()

    def stop(self) -> None:
        """Ends `serve`."""
        self._ends.set()

    def _parent_ended(self) -> None:
        """Nothing is ever written to the pipe: it has ended, with its writer."""
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        self.stop()

    async def _connected(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        if len(self._sinks) >= _MAX_CALLS or peer_uid(sink.get_extra_info("socket")) != user_number(self._options.peer):
            sink.close()
            return
        self._sinks.add(sink)
        self._no_calls.clear()
        if self._idle is not None:
            self._idle.cancel()
        try:
            await RenderCall(source, sink, self._share).run(self._turns)
        finally:
            self._sinks.discard(sink)
            if not self._sinks:
                self._no_calls.set()
                self._wait_idle()

    def _wait_idle(self) -> None:
        self._idle = asyncio.get_running_loop().call_later(self._options.idle_s, self._ends.set)


def peer_uid(connection: socket.socket) -> int:
    """The user at the other end of a Unix socket (SO_PEERCRED, unix(7))."""
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    return int(_UCRED.unpack(packed)[1])


def user_number(name: str) -> int | None:
    """The number of a user; None when there is no such user now, as with systemd's dynamic ones."""
    if name.isdecimal():
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


def main(words: Sequence[str] | None = None) -> int:
    """Runs the process; returns its exit code."""
    options = _options(words)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        find_chromium(options.chromium)
        listening = listening_socket(options.socket)
        namespaces.leave_network()
        namespaces.become_nobody()
    except (NoBrowser, namespaces.NoIsolation) as error:
        sys.stdout.write(f"pages are not rendered: {error}\n")
        return EX_UNAVAILABLE
    try:
        asyncio.run(RenderServer(options).serve(listening))
    finally:
        if options.socket:
            with contextlib.suppress(OSError):
                Path(options.socket).unlink()
    return 0


def listening_socket(path: str) -> socket.socket:
    """A socket at `path`, or the one that systemd handed over."""
    if not path:
        return socket.socket(fileno=_LISTEN_FD)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with contextlib.suppress(FileNotFoundError):
        Path(path).unlink()
    mask = os.umask(0o177)
    try:
        listening.bind(path)
    finally:
        os.umask(mask)
    listening.listen(_MAX_CALLS)
    return listening


def _options(words: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(prog="gateway-render")
    parser.add_argument("--socket", default="", help="default: the one that systemd hands over")
    parser.add_argument("--peer", default=str(os.getuid()))
    parser.add_argument("--chromium", default="")
    parser.add_argument("--max-pages", type=int, default=2)
    parser.add_argument("--idle-s", type=float, default=60)
    parser.add_argument("--memory-mb", type=int, default=1024)
    parser.add_argument("--with-parent", action="store_true", help="end when standard input does")
    return Options(**vars(parser.parse_args(words)))


if __name__ == "__main__":
    sys.exit(main())
