"""Ports for servers that a test starts."""

import itertools
import os
import socket
from contextlib import suppress

_LOWEST, _COUNT = 20_000, 12_000
_NUMBERS = itertools.count(os.getpid() * 97)


def free_port() -> int:
    """A loopback port that is free, below those that the system gives to clients (32,768 and more on Linux): a
    connection of another test could take one of these before the server has it."""
    for number in _NUMBERS:
        port = _LOWEST + number % _COUNT
        with socket.socket() as sock, suppress(OSError):
            sock.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def is_listening(port: int) -> bool:
    """Whether a loopback port takes connections."""
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
