"""The listening sockets of one gateway: inherited from systemd or from a supervisor that is replaced, or bound here.

All workers accept from the same product socket, each when it is free, so that one that is stuck keeps nobody waiting.
Knows no processes.
"""

import socket
from dataclasses import dataclass

from gateway.config.environment import Environment
from gateway.config.settings import Config
from gateway.errors import InvalidRequest
from gateway.web.listen_socket import bind, inherit


@dataclass(frozen=True, slots=True)
class Sockets:
    """Listening sockets: the product's, and the ops listener's unless it is turned off.

    `outlives_us`: systemd holds the product socket too, so connections wait in its queue while no gateway runs.
    """

    product: socket.socket
    ops: socket.socket | None
    outlives_us: bool = False

    @property
    def docs_address(self) -> str:
        """HOST:PORT of the ops listener, which serves the documentation; empty when it is off."""
        if self.ops is None:
            return ""
        host, port = self.ops.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def descriptors(self) -> list[int]:
        """File descriptors, the product socket's first."""
        return [each.fileno() for each in (self.product, self.ops) if each is not None]

    def close(self) -> None:
        """Close both."""
        self.product.close()
        if self.ops is not None:
            self.ops.close()


def open_sockets(config: Config, environment: Environment) -> Sockets:
    """The sockets of a gateway with this configuration. Raises OSError; InvalidRequest for what systemd passed."""
    if handover := environment.handover:
        return _from_predecessor(config, handover[1:], outlives_us=environment.has_socket_unit)
    product = _from_systemd(environment.listen_fds) if environment.listen_fds else _bound(config)
    try:
        return Sockets(product, _bound_ops(config), outlives_us=bool(environment.listen_fds))
    except OSError:
        product.close()
        raise


def _bound(config: Config) -> socket.socket:
    return bind(config.server.host, config.server.port, config.server.backlog)


def _bound_ops(config: Config) -> socket.socket | None:
    return bind(config.ops.host, config.ops.port) if config.ops.port else None


def _from_systemd(descriptors: tuple[int, ...]) -> socket.socket:
    if len(descriptors) > 1:
        raise InvalidRequest(
            f"systemd passed {len(descriptors)} sockets, and one is served: leave one ListenStream in gateway.socket, "
            "or listen on all addresses with ListenStream=PORT"
        )
    return inherit(descriptors[0])


def _from_predecessor(config: Config, descriptors: tuple[int, ...], outlives_us: bool) -> Sockets:
    """The predecessor's sockets, but those whose address the configuration has changed are bound anew."""
    product, ops = inherit(descriptors[0]), inherit(descriptors[1]) if descriptors[1:] else None
    if not outlives_us and not _is_at(product, config.server.host, config.server.port):
        product.close()
        product = _bound(config)
    if ops is None or not config.ops.port or not _is_at(ops, config.ops.host, config.ops.port):
        if ops is not None:
            ops.close()
        ops = _bound_ops(config)
    return Sockets(product, ops, outlives_us)


def _is_at(sock: socket.socket, host: str, port: int) -> bool:
    """Whether a socket listens on that address. Names of hosts are resolved."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    addresses = {info[4][0] for info in socket.getaddrinfo(host, None, family, socket.SOCK_STREAM)}
    bound_host, bound_port = sock.getsockname()[:2]
    return bound_host in addresses and port in (0, bound_port)
