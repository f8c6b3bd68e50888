"""A listening socket for each worker, all on one port, held open by the parent.

Workers that share one socket get uneven shares: the first to wake up accepts all connections that wait. With one socket
each (SO_REUSEPORT, socket(7)) the kernel distributes the connections. Since the parent holds every socket open,
connections that wait for a worker that died are served by its replacement. A socket that systemd passed is shared by
all workers. Knows no processes.
"""

import socket

from gateway.web.server.runner import bind


class ListenSockets:
    """`first` is a bound socket. Without SO_REUSEPORT, it is the only one, for all workers."""

    def __init__(self, first: socket.socket) -> None:
        self._is_shared = bool(first.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT))
        self._address: tuple[str, int] = first.getsockname()[:2]
        self._sockets: dict[int, socket.socket] = {0: first}

    def for_worker(self, index: int) -> socket.socket:
        """The socket of the worker with this index, bound if need be. Raises OSError."""
        index = index if self._is_shared else 0
        if index not in self._sockets:
            self._sockets[index] = bind(*self._address, shared=True)
        return self._sockets[index]

    def close(self, index: int) -> None:
        """Close a worker's socket, so that the kernel gives new connections to the others. Keeps the last one open."""
        if self._is_shared and len(self._sockets) > 1 and index in self._sockets:
            self._sockets.pop(index).close()

    def resize(self, count: int) -> None:
        """Close the sockets of workers whose index is `count` or more."""
        for index in [each for each in self._sockets if each >= count]:
            self.close(index)

    def close_all(self) -> None:
        """Close every socket: connections are refused from now on."""
        for sock in self._sockets.values():
            sock.close()
        self._sockets.clear()


def bind_first(host: str, port: int) -> socket.socket:
    """A SO_REUSEPORT socket on a port that was free. Raises OSError when the port is in use.

    The port is bound without SO_REUSEPORT first: a shared bind would succeed beside another gateway of this user.
    """
    exclusive = bind(host, port)
    with exclusive:
        port = exclusive.getsockname()[1]
    return bind(host, port, shared=True)
