"""Notifications to systemd: readiness, status and watchdog, as datagrams (sd_notify(3), read 2026-11-21).

Every method does nothing where there is no notification socket, and never raises.
"""

import contextlib
import socket

_SEND_TIMEOUT_S = 0.5
"""How long a notification that is sent once may wait for room in systemd's queue; then it is kept for `send_unsent`.
Repeated ones are dropped instead. Chosen: the event loop waits with it. At half, a busy systemd learns of `READY` with
the next beat; at double, the loop is blocked for a second."""


class Notifier:
    """`address` is $NOTIFY_SOCKET: a path, or a name in the abstract namespace when it starts with '@'."""

    def __init__(self, address: str) -> None:
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._unsent: list[str] = []

    def ready(self, status: str) -> None:
        """The service serves; `status` is one line for `systemctl status`."""
        self._send(f"READY=1\nSTATUS={_one_line(status)}", _SEND_TIMEOUT_S)

    def status(self, status: str) -> None:
        """A new line for `systemctl status`."""
        self._send(f"STATUS={_one_line(status)}")

    def main_process(self, pid: int) -> None:
        """From now on the service is that process; call it from the main process before the other says `READY`."""
        self._send(f"MAINPID={pid}", _SEND_TIMEOUT_S)

    def stopping(self) -> None:
        """The service drains and will end."""
        self._send("STOPPING=1\nSTATUS=draining", _SEND_TIMEOUT_S)

    def alive(self) -> None:
        """Restart systemd's watchdog (WatchdogSec)."""
        self._send("WATCHDOG=1")

    def send_unsent(self, timeout_s: float = 0.0) -> None:
        """Send, in order, what must arrive and found no room so far. Call it every so often."""
        while self._unsent and self._has_sent(self._unsent[0], timeout_s):
            del self._unsent[0]

    def close(self) -> None:
        """The last call: nobody sends later what still waits."""
        self.send_unsent(_SEND_TIMEOUT_S)

    def _send(self, text: str, timeout_s: float = 0.0) -> None:
        """`timeout_s` above 0: the text must arrive."""
        self.send_unsent()
        if (self._unsent or not self._has_sent(text, timeout_s)) and timeout_s:
            self._unsent.append(text)

    def _has_sent(self, text: str, timeout_s: float) -> bool:
        """False when there was no room in time. What cannot be sent at all (nobody listens) counts as sent."""
        if not self._address:
            return True
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.settimeout(timeout_s)
            try:
                sock.sendto(text.encode(), self._address)
            except (BlockingIOError, TimeoutError):
                return False
        return True


def _one_line(text: str) -> str:
    """Without line breaks: each would begin another assignment of the protocol."""
    return " ".join(text.split())
