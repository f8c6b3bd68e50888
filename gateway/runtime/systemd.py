"""Talking to systemd: readiness, status and signs of life, as datagrams (sd_notify(3), read 2026-11-21).

Every function does nothing where there is no socket to talk to.
"""

import contextlib
import socket

_PATIENCE_S = 0.5
"""How long what is said once may wait for room in systemd's queue; a sign of life is dropped instead."""


class Notifier:
    """`address` is $NOTIFY_SOCKET: a path, or a name in the abstract namespace when it starts with '@'."""

    def __init__(self, address: str) -> None:
        self._address = "\0" + address[1:] if address.startswith("@") else address

    def ready(self, status: str) -> None:
        self._send(f"READY=1\nSTATUS={_one_line(status)}", _PATIENCE_S)

    def status(self, status: str) -> None:
        self._send(f"STATUS={_one_line(status)}")

    def stopping(self) -> None:
        self._send("STOPPING=1\nSTATUS=draining", _PATIENCE_S)

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def _send(self, text: str, patience_s: float = 0.0) -> None:
        if not self._address:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.settimeout(patience_s)
            sock.sendto(text.encode(), self._address)


def _one_line(text: str) -> str:
    """A line break would begin another assignment."""
    return " ".join(text.split())
