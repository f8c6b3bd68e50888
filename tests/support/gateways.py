"""The one place where tests start a whole gateway. There are two ways:

- `start_in_process`: the composition root's application on the production listener, in the test's own event loop.
  It starts in milliseconds, has no embedded server unless one is passed in, and gives access to the application's
  state (requests in flight, log, configuration). Tests use it through the fixtures `serve` and `server`
  of `tests/conftest.py`. Use it unless the test needs what only a process has.
- `start_process`: `gateway serve` as a child process, which takes about a second. Use it for signals, exit codes,
  inherited sockets, worker processes, embedded servers, and for what is printed. It is a context manager for
  synchronous tests and for asynchronous ones. A test of a start that fails or is interrupted calls its methods
  `start` and `close` instead.

`gateway_process.run_command` runs any other `gateway` command to its end. Benchmarks that measure a gateway's time
start it with `bench/served.py`, which pins it to a core.
"""

import io
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gateway import logs
from gateway.access.keys import KeyFile, KeyRequest
from gateway.app.application import build_app, build_ops_app
from gateway.calls.call import CallLog
from gateway.calls.in_flight import InFlight
from gateway.config.environment import Environment
from gateway.config.loader import load_config, loaded
from gateway.config.settings import Config
from gateway.domain import SCOPES
from gateway.embedded.llm_server import is_installed
from gateway.embedded.servers import Embedded, EmbeddedUpstream
from gateway.web.listen_socket import bind
from gateway.web.server.runner import Listener
from gateway.web.state import SERVER_STATE
from tests.support.gateway_process import GatewayProcess
from tests.support.ports import free_port
from tests.support.upstream import Upstream

ANSWER_S = 120.0
"""Longest answer of an embedded language model."""
NEEDS_MODEL = [pytest.mark.slow, pytest.mark.skipif(not is_installed(), reason="the llm extra is not installed")]
"""Marks of tests whose gateway has the embedded language model."""


def engine_at(url: str, name: str) -> EmbeddedUpstream:
    """An embedded server, such as `embedded-llm`, that is there already."""

    async def wake() -> None:
        return None

    return EmbeddedUpstream(url, name, wake)


# --- in the test's process -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Gateway:
    """`key` has every scope; `url` has no slash at its end. `upstream`: the scripted one of the test."""

    url: str
    ops_url: str
    port: int
    key: str
    config: Config
    listener: Listener
    in_flight: InFlight
    log: io.StringIO
    recorder: CallLog
    upstream: Upstream

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def make_key(self, *scopes: str, **limits: Any) -> str:
        """A new key, by default with every scope; the server reads the file again within a second, so make it before
        the first request or wait."""
        wish = KeyRequest("test", scopes or SCOPES, **limits)
        return KeyFile(self.config.state_dir / self.config.access.keys_file).create(wish)[0]

    def log_text(self) -> str:
        self.recorder.flush()
        return self.log.getvalue()


@asynccontextmanager
async def start_in_process(
    state_dir: Path, toml: str, embedded: Embedded | None = None, upstream: Upstream | None = None, **variables: str
) -> AsyncIterator[Gateway]:
    """A gateway configured by `toml`, on free ports; `variables` are its environment."""
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
        await listeners[0].start([product], loaded(config.server.tls))
        await listeners[1].start([ops])
        yield Gateway(
            f"http://127.0.0.1:{port}{config.server.base_path}", f"http://127.0.0.1:{ops_port}", port, key, config,
            listeners[0], app[SERVER_STATE].in_flight, log, app[SERVER_STATE].recorder, upstream or Upstream(),
        )  # fmt: skip
    finally:
        for listener in listeners:
            await listener.close()


class Serve:
    """The fixture `serve`: `await serve(toml, embedded, **environment)` is a gateway that ends with the test, and
    `serve.upstream` the scripted upstream of the test."""

    def __init__(self, folder: Path, stack: AsyncExitStack, upstream: Upstream) -> None:
        self._folder, self._stack, self._count = folder, stack, 0
        self.upstream = upstream

    async def __call__(self, toml: str = "", embedded: Embedded | None = None, **variables: str) -> Gateway:
        self._count += 1
        state_dir = self._folder / f"state{self._count}"
        state_dir.mkdir()
        made = start_in_process(state_dir, toml, embedded, self.upstream, **variables)
        return await self._stack.enter_async_context(made)


def start_process(
    folder: Path,
    toml: str = "",
    *,
    embedded: bool = False,
    options: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
) -> GatewayProcess:
    """A gateway for `with` or `async with`, on free ports.

    `toml` begins inside the table `server`. `options` are added to its command line, `variables` to its environment.
    """
    process = GatewayProcess(folder, free_port())
    process.write_config(toml, embedded=embedded)
    process.options, process.variables = options, dict(variables or {})
    return process


def upstream_toml(base_url: str) -> str:
    """The table `models` with `SvcLLM` on one upstream."""
    return f'\n[[models]]\nname = "SvcLLM"\n[[models.upstreams]]\nbase_url = "{base_url}"\nmodel = "scripted"\n'
