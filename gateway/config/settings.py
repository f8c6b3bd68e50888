"""The configuration as frozen dataclasses, which `loader` fills from a TOML file. Knows no file and no environment.

What each key means is in docs/configuration.md, what it may be in schemas/config.json; a test holds that all three have
the same keys and defaults. The docstrings here say why the defaults have their values. Every default is chosen unless a
source is named. Names end in their unit: `_s` seconds, `_bytes`, `_chars`, `_days`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.domain import TEXT_MODEL


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret and the name of its credential. `repr` and `str` show the name only."""

    credential: str
    value: str = field(repr=False, compare=False)

    def reveal(self) -> str:
        """The secret itself. Call it where the secret is sent, and keep no copy."""
        return self.value

    def __str__(self) -> str:
        return f"<credential {self.credential}>"


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files with the certificate chain and its private key."""

    cert: str
    key: str


@dataclass(frozen=True, slots=True)
class Server:
    """The product listener.

    `max_body_bytes`: eight images of 3 MB in base64 fit; at double, as many requests need twice the memory.
    `max_json_values`: decoding takes 25 ms and 40 MB for as many empty lists, and long chats have 20,000 values; at
    double, one body holds everybody else up for twice as long, at half, large tables as arguments are refused.
    `header_timeout_s`, `body_timeout_s`: slow mobile clients finish, a slowloris does not hold a connection for long.
    `keep_alive_s`: longer than the 60 s of common proxies, so that the proxy closes first and no request meets a
    closing connection. `drain_s`: most answers end; the systemd unit waits 15 s longer. `max_in_flight`: bounds memory;
    at half, a machine of many streams refuses early.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    base_path: str = ""
    workers: int = 1
    max_body_bytes: int = 33_554_432
    max_json_values: int = 500_000
    header_timeout_s: float = 10
    keep_alive_s: float = 75
    body_timeout_s: float = 30
    drain_s: float = 30
    max_in_flight: int = 1024
    allowed_origins: tuple[str, ...] = ()
    tls: Tls | None = None

    @property
    def url(self) -> str:
        """The listener's address with the base path, without a slash at its end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{self.base_path}"


@dataclass(frozen=True, slots=True)
class Ops:
    """The listener for health, metrics and documentation. It asks for no key, hence loopback. 9464: the port that
    OpenTelemetry's specification gives Prometheus exporters. `allowed_hosts`: none, since a name that is not listed
    may be a web page's own, which was given this machine's address to read the metrics."""

    host: str = "127.0.0.1"
    port: int = 9464
    allowed_hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Access:
    """Keys. `bad_keys_per_minute`: a client with an old key that retries every second still gets 401, not 429."""

    keys_file: str = "keys.json"
    bad_keys_per_minute: int = 60


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of keys that have none of their own; 0 = no limit, since an operator who sets none expects none.

    Shares bind only while other keys want the same. `share_of_parse`, `in_flight_share`: at half as much, a key leaves
    more than another key needs; at double, a key that came first has everything until it ends.
    `response_store_bytes_per_key`: a quarter of the store, about 64 conversations of 256 KiB; at half, an agent's long
    session loses its beginning while others store; at double, only two keys are sure of what they have stored.
    """

    per_minute: int = 0
    concurrent: int = 0
    share_of_parse: float = 0.5
    in_flight_share: float = 0.5
    response_store_bytes_per_key: int = 16_777_216


@dataclass(frozen=True, slots=True)
class Shared:
    """State that several machines share; without Redis each counts alone."""

    redis_url: Secret | None = None


@dataclass(frozen=True, slots=True)
class Upstream:
    """One upstream of a model. `name` is what callers see of it; without one, `upstream-1` and so on in order.

    `connect_timeout_s`: an upstream that is away is passed over quickly; at half, distant ones fail under packet loss.
    `first_event_wait_s`: below the 30 s and 60 s after which proxies give up on a silent answer.
    `first_byte_timeout_s`, `idle_timeout_s`: long prompts are read in that time by a busy server; at half they fail, at
    double a dead upstream holds its callers longer. `total_timeout_s`: 15 minutes, the longest answers of reasoning
    models. `concurrent` 0 = all calls are sent at once, since most servers batch more than anybody asks.
    """

    base_url: str
    model: str
    name: str = ""
    api_key: Secret | None = None
    responses: str = "translate"
    connect_timeout_s: float = 3
    first_event_wait_s: float = 25
    first_byte_timeout_s: float = 60
    idle_timeout_s: float = 60
    total_timeout_s: float = 900
    weight: int = 1
    concurrent: int = 0
    json_object: bool = True
    image_placeholder: str = "strip"
    extra_body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Model:
    """One row of the model table. `kind`: `text` or `ocr`. Without upstreams: settings of an embedded engine."""

    name: str
    kind: str = "text"
    aliases: tuple[str, ...] = ()
    fallback: tuple[str, ...] = ()
    upstreams: tuple[Upstream, ...] = ()


@dataclass(frozen=True, slots=True)
class Search:
    """The search provider. `timeout_s`: twice and more what providers take; the fallbacks need time of their own.
    `cache_ttl_s`: agents repeat a search within minutes; at double, news is that much older."""

    provider: str = "local"
    base_url: str = ""
    api_key: Secret | None = None
    fallback: tuple[str, ...] = ("local",)
    timeout_s: float = 15
    cache_ttl_s: float = 300


@dataclass(frozen=True, slots=True)
class Web:
    """The embedded web engine and its index.

    `max_page_bytes`: articles with much script fit; at double, a hostile page costs twice the memory and parse time.
    `per_host_concurrency`: what browsers open to one host. `crawl_budget_s`: MCP clients commonly give up after 60 s.
    `result_budget_chars`: about 20,000 tokens, a share of a model's context. `index_max_pages`, `index_ttl_days`: bound
    the disk and the age of what is found; a search over 100,000 pages takes 109 ms at p95 (`python -m bench.index`).
    """

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
    *("PERSON", "ADDRESS", "DATE_OF_BIRTH", "HEALTH", "PRIVATE", "INSTRUCTION"),
)
"""The entities that the detectors and the guardrail find. `sanitize.actions` takes these and those of own patterns."""


@dataclass(frozen=True, slots=True)
class SanitizeActions:
    """For each direction, entity -> action (`block`, `redact`, `flag`, `off`); overrides the profile's."""

    requests: Mapping[str, str] = field(default_factory=dict)
    responses: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SanitizePattern:
    """An entity of the operator's own: its name in the mask, and an RE2 pattern."""

    entity: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Sanitize:
    """What is inspected, and what is done with findings. `routes`: only the web tools by default, since masking a chat
    changes what a model reads and writes, which an operator must want."""

    requests: bool = True
    responses: bool = True
    profile: str = "balanced"
    routes: tuple[str, ...] = ("websearch",)
    actions: SanitizeActions = field(default_factory=SanitizeActions)
    patterns: tuple[SanitizePattern, ...] = ()
    allow_list: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GuardrailSettings:
    """The model that judges texts. `timeout_s`: one short judgement of a served model; every web-tool call may wait
    that long. `on_failure`: requests fail closed, because what has left the gateway cannot be taken back."""

    enabled: str = "auto"
    model: str = TEXT_MODEL
    timeout_s: float = 3
    on_failure: str = "closed"
    on_failure_responses: str = "open"


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
class Log:
    """`level`: `debug`, `info`, `warning` or `error`. `format`: `json` or `text`."""

    level: str = "info"
    format: str = "json"


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration. `state_dir` comes from the command line or the environment; relative paths begin
    there."""

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
        """Whether callers may fetch the gateway's documentation from the operations listener: only in the embedded
        profile."""
        return self.search.provider == "local" and not self.models
