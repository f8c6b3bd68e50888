"""What a supervisor, its services and its workers share: the listening sockets, and what they say to each other.

Sockets are inherited from systemd or from a supervisor that is replaced, or bound here.

All workers accept from the same product socket, each when it is free, so that one that is stuck keeps nobody waiting.

The supervisor hands a worker an `Assignment` (`fork_server`). After that they talk over the same socket pair, one line
each; the format is ours. The worker sends `ready` when it listens, and `beat` every `BEAT_S` from its event loop. It
receives the names of the embedded servers that are not ready, separated by spaces, whenever they change, and
`-replaced` when other workers have taken over. The end of the channel means that the other side has ended.

A `Service` answers requests, in this process or in several.
"""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gateway.access.private_files import naming
from gateway.config.environment import Environment
from gateway.config.settings import Config
from gateway.embedded.servers import EmbeddedServers
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
    host, port = config.server.host, config.server.port
    with naming(Path(f"{host}:{port} (server.port; GATEWAY_PORT, make run PORT=)")):
        return bind(host, port, config.server.backlog)


def _bound_ops(config: Config) -> socket.socket | None:
    host, port = config.ops.host, config.ops.port
    with naming(Path(f"{host}:{port} (ops.port; GATEWAY_OPS_PORT, make run OPS_PORT=)")):
        return bind(host, port) if port else None


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


BEAT_S = 0.1
"""A beat costs 0.1 ms of CPU in both processes."""

READY, BEAT, REPLACED, END = b"ready\n", b"beat\n", b"-replaced\n", b"-end\n"
"""Lines of the channel. No embedded server has a name that begins with `-`."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker serves, and the ports of the embedded servers by name, which the supervisor runs.

    `socket_outlives_us` and `logs_to_journal` are as in `Sockets` and `Environment`.
    """

    config: Config
    ports: dict[str, int]
    metrics_folder: str
    socket_outlives_us: bool
    logs_to_journal: bool


MAX_OLD = 2
"""Configurations that were replaced and whose background runs go on; those of an older one end."""


@dataclass(frozen=True, slots=True)
class ServiceContext:
    """What a service is made with, beside its configuration."""

    sockets: Sockets
    servers: EmbeddedServers
    environment: Environment


class Service(Protocol):
    """What answers requests: the supervisor's own process (`SingleProcess`) or workers (`WorkerPool`)."""

    async def start(self) -> None:
        """Listen. Raises OSError, GatewayError."""
        ...

    async def replace(self, config: Config) -> None:
        """Serve another configuration. Raises OSError, GatewayError; then the old one stays."""
        ...

    def is_fresh(self) -> bool:
        """Whether no event loop that serves has been silent for too long."""
        ...

    async def finish(self, replaced: bool) -> None:
        """Let running requests end, close. `replaced`: another supervisor serves already, so accept no more."""
        ...


ServiceMaker = Callable[[Config, ServiceContext], Service]
