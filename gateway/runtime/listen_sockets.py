"""A listening socket for each worker, all on one port, kept by the parent.

Workers that listen on one socket do not share its connections evenly: whoever wakes first takes all that wait. With a
socket each (SO_REUSEPORT) the kernel deals them out, and because the parent keeps every socket open, connections that
wait for a worker that died are served by its replacement. A socket that systemd handed over stays one for all.
"""

import socket

from gateway.web.server.runner import bind


class ListenSockets:
    """`first` is bound already; if it is not shared, it is everybody's place."""

    def __init__(self, first: socket.socket) -> None:
        self._is_shared = bool(first.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT))
        self._address: tuple[str, int] = first.getsockname()[:2]
        self._sockets: dict[int, socket.socket] = {0: first}

    def for_worker(self, index: int) -> socket.socket:
        """The place of a worker, made if need be. Raises OSError."""
        index = index if self._is_shared else 0
        if index not in self._sockets:
            self._sockets[index] = bind(*self._address, shared=True)
        return self._sockets[index]

    def close(self, index: int) -> None:
        """Nobody serves there for a while: new connections shall go to the others."""
        if self._is_shared and len(self._sockets) > 1 and index in self._sockets:
            self._sockets.pop(index).close()

    def resize(self, count: int) -> None:
        """There are `count` workers from now on."""
        for index in [each for each in self._sockets if each >= count]:
            self.close(index)

    def close_all(self) -> None:
        for sock in self._sockets.values():
            sock.close()
        self._sockets.clear()


def bind_first(host: str, port: int) -> socket.socket:
    """A shared socket on a port that nobody has yet; others of this user may share it from now on. Raises OSError."""
    alone = bind(host, port)
    with alone:
        port = alone.getsockname()[1]
    return bind(host, port, shared=True)
