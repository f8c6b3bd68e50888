"""The configuration as frozen dataclasses. `loader` fills them from a TOML file.

The dataclasses, the schema and the tables in docs/configuration.md say the same thing; a test holds them together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.domain import TEXT_MODEL


@dataclass(frozen=True, slots=True)
class Secret:
    """A value that is never shown: `repr` and `str` are masked, `reveal` is asked for where it is sent."""

    credential: str
    value: str = field(repr=False, compare=False)

    def reveal(self) -> str:
        return self.value

    def __str__(self) -> str:
        return f"<credential {self.credential}>"


@dataclass(frozen=True, slots=True)
class Tls:
    cert: str
    key: str


@dataclass(frozen=True, slots=True)
class Server:
    host: str = "127.0.0.1"
    port: int = 8080
    base_path: str = ""
    workers: int = 1
    max_body_bytes: int = 33_554_432
    header_timeout_s: float = 10
    keep_alive_s: float = 75
    body_timeout_s: float = 30
    drain_s: float = 30
    max_in_flight: int = 1024
    allowed_origins: tuple[str, ...] = ()
    tls: Tls | None = None


@dataclass(frozen=True, slots=True)
class Ops:
    host: str = "127.0.0.1"
    port: int = 9464


@dataclass(frozen=True, slots=True)
class Access:
    keys_file: str = "keys.json"
    bad_keys_per_minute: int = 60


@dataclass(frozen=True, slots=True)
class Limits:
    per_minute: int = 0
    concurrent: int = 0


@dataclass(frozen=True, slots=True)
class Shared:
    redis_url: Secret | None = None


@dataclass(frozen=True, slots=True)
class Upstream:
    base_url: str
    model: str
    api_key: Secret | None = None
    responses: str = "translate"
    connect_timeout_s: float = 3
    first_event_wait_s: float = 25
    first_byte_timeout_s: float = 60
    idle_timeout_s: float = 60
    total_timeout_s: float = 900
    weight: int = 1
    json_object: bool = True
    image_placeholder: str = "strip"
    extra_body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Model:
    name: str
    kind: str = "text"
    aliases: tuple[str, ...] = ()
    fallback: tuple[str, ...] = ()
    upstreams: tuple[Upstream, ...] = ()


@dataclass(frozen=True, slots=True)
class Search:
    provider: str = "local"
    base_url: str = ""
    api_key: Secret | None = None
    fallback: tuple[str, ...] = ("local",)
    timeout_s: float = 15
    cache_ttl_s: float = 300


@dataclass(frozen=True, slots=True)
class Web:
    engine: str = "local"
    allow_private: tuple[str, ...] = ()
    respect_robots: bool = True
    user_agent: str = "gateway-fetcher/0.1"
    max_page_bytes: int = 5_242_880
    per_host_concurrency: int = 6
    crawl_budget_s: float = 50
    instructions_model: str = ""
    result_budget_chars: int = 80_000
    index_fetched: bool = True
    index_scope: str = "key"
    index_max_pages: int = 200_000
    index_ttl_days: int = 90


ENTITIES = (
    *("SECRET", "CREDIT_CARD", "IBAN", "US_SSN", "NATIONAL_ID", "CRYPTO_WALLET", "EMAIL", "PHONE", "IP"),
    *("PERSON", "ADDRESS", "DATE_OF_BIRTH", "HEALTH", "PRIVATE"),
)
"""What the sanitizer finds by itself: names that `sanitize.actions` takes beside those of own patterns."""


@dataclass(frozen=True, slots=True)
class SanitizeActions:
    """Per direction, entity -> action, over the profile's."""

    requests: Mapping[str, str] = field(default_factory=dict)
    responses: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SanitizePattern:
    """An operator's own entity: a linear-time (RE2) pattern."""

    entity: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Sanitize:
    requests: bool = True
    responses: bool = True
    profile: str = "balanced"
    routes: tuple[str, ...] = ("websearch",)
    actions: SanitizeActions = field(default_factory=SanitizeActions)
    patterns: tuple[SanitizePattern, ...] = ()
    allow_list: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GuardrailSettings:
    enabled: str = "auto"
    model: str = TEXT_MODEL
    timeout_s: float = 3
    on_failure: str = "closed"
    on_failure_responses: str = "open"


@dataclass(frozen=True, slots=True)
class LocalLlm:
    enabled: bool = True
    port: int = 0
    model: str = ""
    threads: int = 0


@dataclass(frozen=True, slots=True)
class LocalOcr:
    enabled: bool = True
    port: int = 0
    threads: int = 0
    nice: int = 10


@dataclass(frozen=True, slots=True)
class Log:
    level: str = "info"
    format: str = "json"


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration. `state_dir` comes from the command line; relative paths in the file stand under it."""

    server: Server = field(default_factory=Server)
    ops: Ops = field(default_factory=Ops)
    access: Access = field(default_factory=Access)
    limits: Limits = field(default_factory=Limits)
    shared: Shared = field(default_factory=Shared)
    models: tuple[Model, ...] = ()
    search: Search = field(default_factory=Search)
    web: Web = field(default_factory=Web)
    sanitize: Sanitize = field(default_factory=Sanitize)
    guardrail: GuardrailSettings = field(default_factory=GuardrailSettings)
    local_llm: LocalLlm = field(default_factory=LocalLlm)
    local_ocr: LocalOcr = field(default_factory=LocalOcr)
    log: Log = field(default_factory=Log)
    state_dir: Path = Path("var")

    @property
    def reads_own_docs(self) -> bool:
        """Whether callers may read the gateway's own documentation, on a private address: in the embedded profile."""
        return self.search.provider == "local" and not self.models
