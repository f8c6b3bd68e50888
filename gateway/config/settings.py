"""The configuration as frozen dataclasses, which `loader` fills from a TOML file. Knows no file and no environment.

The sections are in `server_settings`, `model_settings`, `web_settings` and `sanitize_settings`. What each key means
is in docs/configuration.md, what it may be in schemas/config.json; a test holds that all three have the same keys and
defaults. The docstrings say why the defaults have their values. Every default is chosen unless a source is named.
Names end in their unit: `_s` seconds, `_bytes`, `_chars`, `_days`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gateway.config.model_settings import LocalEmbedding, LocalLlm, LocalOcr, Model, Ocr, Upstream
from gateway.config.sanitize_settings import GuardrailSettings, Sanitize
from gateway.config.server_settings import Access, Limits, Log, Ops, Price, Responses, Server, Shared, Usage
from gateway.config.web_settings import HostedSearch, IndexStore, McpServer, Render, Search, Web
from gateway.domain import TEXT_MODEL


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration. `state_dir` comes from the command line or the environment; relative paths begin
    there."""

    server: Server = field(default_factory=Server)
    ops: Ops = field(default_factory=Ops)
    access: Access = field(default_factory=Access)
    limits: Limits = field(default_factory=Limits)
    shared: Shared = field(default_factory=Shared)
    responses: Responses = field(default_factory=Responses)
    prices: tuple[Price, ...] = ()
    usage: Usage = field(default_factory=Usage)
    models: tuple[Model, ...] = ()
    search: Search = field(default_factory=Search)
    hosted_search: HostedSearch = field(default_factory=HostedSearch)
    mcp_servers: tuple[McpServer, ...] = ()
    web: Web = field(default_factory=Web)
    render: Render = field(default_factory=Render)
    index: IndexStore = field(default_factory=IndexStore)
    sanitize: Sanitize = field(default_factory=Sanitize)
    guardrail: GuardrailSettings = field(default_factory=GuardrailSettings)
    local_llm: LocalLlm = field(default_factory=LocalLlm)
    local_ocr: LocalOcr = field(default_factory=LocalOcr)
    ocr: Ocr = field(default_factory=Ocr)
    local_embedding: LocalEmbedding = field(default_factory=LocalEmbedding)
    log: Log = field(default_factory=Log)
    state_dir: Path = Path("var")

    def egresses(self) -> Iterator[tuple[str, Upstream | Search | McpServer]]:
        """What has a proxy and authorities of its own, with the path of its keys."""
        for index, model in enumerate(self.models):
            for number, upstream in enumerate(model.upstreams):
                yield f"models[{index}].upstreams[{number}]", upstream
        yield "search", self.search
        for index, server in enumerate(self.mcp_servers):
            yield f"mcp_servers[{index}]", server

    @property
    def text_model(self) -> str:
        """The first text model with an upstream, else the embedded one where it is on; empty where there is none."""
        first = next((model.name for model in self.models if model.kind == "text" and model.upstreams), "")
        return first or (TEXT_MODEL if self.local_llm.enabled else "")

    @property
    def reads_own_docs(self) -> bool:
        """Whether callers may fetch the gateway's documentation from the operations listener: only in the embedded
        profile."""
        return self.search.provider == "local" and not self.models
