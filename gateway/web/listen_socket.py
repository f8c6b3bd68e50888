"""Makes listening sockets, or takes over those that systemd passed. Knows no application."""

import socket

_SEND_BUFFER_BYTES = 128 * 1024
"""Chosen: the kernel doubles it. Half would make streams to distant clients wait for acknowledgements more often;
double would hold twice the memory for each client that reads slowly."""

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
    """Bound the send buffers of its connections, so that a slow client costs kilobytes."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
    sock.setblocking(False)
    return sock
