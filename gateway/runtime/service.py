"""What a supervisor supervises: a `Service` answers requests, in this process or in several. Knows neither."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from gateway.config.environment import Environment
from gateway.config.settings import Config
from gateway.embedded.servers import EmbeddedServers
from gateway.runtime.sockets import Sockets

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
