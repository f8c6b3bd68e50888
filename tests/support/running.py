"""A whole gateway for tests: the composition root's application on the production runner, and its keys."""

import io
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway import logs
from gateway.access.api_keys import KeyFile, KeyRequest
from gateway.app import build_app, build_ops_app
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.config.settings import Config
from gateway.domain import SCOPES
from gateway.embedded.servers import Embedded
from gateway.web.in_flight import InFlight
from gateway.web.request_log import Recorder
from gateway.web.server.runner import Listener, bind
from gateway.web.state import SERVER_STATE


@dataclass(frozen=True, slots=True)
class Running:
    """`key` has every scope; `url` has no slash at its end."""

    url: str
    ops_url: str
    port: int
    key: str
    config: Config
    listener: Listener
    in_flight: InFlight
    log: io.StringIO
    recorder: Recorder

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def make_key(self, *scopes: str, per_minute: int | None = None, concurrent: int | None = None) -> str:
        """A new key; the server sees it at its next look, so make it before the first request or wait a second."""
        wish = KeyRequest("test", scopes, None, per_minute, concurrent)
        return KeyFile(self.config.state_dir / self.config.access.keys_file).create(wish)[0]

    def log_text(self) -> str:
        self.recorder.flush()
        return self.log.getvalue()


StartGateway = Callable[..., Awaitable[Running]]


@asynccontextmanager
async def running_gateway(
    state_dir: Path, toml: str, embedded: Embedded | None = None, **variables: str
) -> AsyncIterator[Running]:
    """A gateway configured by `toml`, on free ports; no embedded server unless one is handed in."""
    file = state_dir / "gateway.toml"
    file.write_text(toml)
    config = load_config(file, state_dir, Environment(variables))
    log = io.StringIO()
    logs.set_up("info", "json", log)
    key, _ = KeyFile(state_dir / config.access.keys_file).create(KeyRequest("all", SCOPES))
    product, ops = bind("127.0.0.1", 0), bind("127.0.0.1", 0)
    port, ops_port = product.getsockname()[1], ops.getsockname()[1]
    app = build_app(config, embedded or Embedded(), f"127.0.0.1:{ops_port}")
    listeners = [
        Listener(app, config.server.header_timeout_s, config.server.keep_alive_s),
        Listener(build_ops_app(app, list), 5),
    ]
    try:
        await listeners[0].start([product], config.server.tls)
        await listeners[1].start([ops])
        yield Running(
            f"http://127.0.0.1:{port}{config.server.base_path}", f"http://127.0.0.1:{ops_port}", port, key, config,
            listeners[0], app[SERVER_STATE].in_flight, log, app[SERVER_STATE].recorder,
        )  # fmt: skip
    finally:
        for listener in listeners:
            await listener.close()
