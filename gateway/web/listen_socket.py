"""Makes listening sockets, or takes over those that systemd passed."""

import socket

_SEND_BUFFER_BYTES = 128 * 1024
"""A slow client costs so much memory; the kernel doubles it."""

_UNREAD_MS = 60_000
"""How long the kernel keeps what a client does not acknowledge or has no room for, then it ends the connection
(TCP_USER_TIMEOUT, tcp(7)). It does for answers that fit into the buffers what `runner.STALLED_S` does for longer
ones: without it they stay as long as a silent client wants. Only Linux has it."""

BACKLOG = 1024
"""The default of `server.backlog`, whose docstring says why."""


def bind(host: str, port: int, backlog: int = BACKLOG) -> socket.socket:
    """A listening socket. `host` is an IPv4 or IPv6 address or a name. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(backlog)
        return _prepared(sock)
    except BaseException:
        sock.close()
        raise


def inherit(descriptor: int) -> socket.socket:
    """The listening socket with this file descriptor. Raises OSError."""
    return _prepared(socket.socket(fileno=descriptor))


def _prepared(sock: socket.socket) -> socket.socket:
    """Bound the send buffers of its connections, so that a slow client costs kilobytes, and how long they are kept.
    Connections have the options of the socket that they came by."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
    if sock.family in (socket.AF_INET, socket.AF_INET6) and hasattr(socket, "TCP_USER_TIMEOUT"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_MS)
    sock.setblocking(False)
    return sock
