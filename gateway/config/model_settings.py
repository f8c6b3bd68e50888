"""Settings of models, their upstreams and the embedded engines. `settings` says how to read them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.config.server_settings import Secret


@dataclass(frozen=True, slots=True)
class Parameters:
    """How requests to one upstream are put into its own words: `wire.parameters.rules_of` reads it."""

    preset: str = ""
    rename: Mapping[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    set: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Upstream:
    """One upstream of a model. `name` is what callers see of it; without one, `upstream-1` and so on in order.

    `connect_timeout_s`: an upstream that is away is passed over quickly; at half, distant ones fail under packet loss.
    `first_event_wait_s`: below the 10 s after which some clients give up on a silent answer.
    `first_byte_timeout_s`, `idle_timeout_s`: long prompts are read in that time by a busy server; at half they fail, at
    double a dead upstream holds its callers longer. `total_timeout_s`: 15 minutes, the longest answers of reasoning
    models. `max_answer_bytes`: far above any text that a model writes, and enough for log probabilities. `concurrent`
    0 = all calls are sent at once, since most servers batch more than anybody asks.
    """

    base_url: str
    model: str
    name: str = ""
    api_key: Secret | None = None
    responses: str = "translate"
    connect_timeout_s: float = 3
    first_event_wait_s: float = 8
    first_byte_timeout_s: float = 60
    idle_timeout_s: float = 60
    total_timeout_s: float = 900
    max_answer_bytes: int = 16_777_216
    weight: int = 1
    concurrent: int = 0
    json_object: bool = True
    tools: str = "native"
    accepts_files: bool = False
    image_placeholder: str = "strip"
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    parameters: Parameters = Parameters()  # frozen
    one_system_message: bool = False
    proxy: str = ""
    proxy_auth: Secret | None = None
    ca_file: str = ""


@dataclass(frozen=True, slots=True)
class Model:
    """One row of the model table. `kind`: `text`, `ocr` or `embedding`. `context_length` in tokens, 0 = unknown.

    Without upstreams: settings of an embedded engine.
    """

    name: str
    kind: str = "text"
    aliases: tuple[str, ...] = ()
    fallback: tuple[str, ...] = ()
    context_length: int = 0
    upstreams: tuple[Upstream, ...] = ()


@dataclass(frozen=True, slots=True)
class LocalLlm:
    """The embedded language model. `port` 0 = any free one; `model` "" = the packaged one; `threads` 0 = half the
    cores."""

    enabled: bool = True
    port: int = 0
    model: str = ""
    threads: int = 0


@dataclass(frozen=True, slots=True)
class LocalOcr:
    """The embedded OCR engine. `port` 0 = any free one; `threads` 0 = all cores. `nice`: it gives way to the processes
    that serve, and still gets a share of a busy machine."""

    enabled: bool = True
    port: int = 0
    threads: int = 0
    nice: int = 10


@dataclass(frozen=True, slots=True)
class Ocr:
    """Documents that are read by OCR, page by page: pages of one document, its bytes, and seconds for a page."""

    max_pages: int = 50
    max_document_bytes: int = 20 * 1024 * 1024
    page_timeout_s: float = 30


@dataclass(frozen=True, slots=True)
class LocalEmbedding:
    """The embedded embedding model on the embeddings route."""

    enabled: bool = True
