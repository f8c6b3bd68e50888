"""The configuration as frozen dataclasses, which `loader` fills from a TOML file.

What each key means is in docs/configuration.md, what it may be in schemas/config.json; a test holds that all three have
the same keys and defaults. The docstrings say why some defaults have their values. Names end in their unit: `_s`
seconds, `_bytes`, `_chars`, `_days`."""

from collections.abc import Iterator, Mapping
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

    `max_body_bytes`: eight images of 3 MB in base64 fit. `max_text_bytes`: of JSON beside files in base64: a million
    tokens of a conversation have 4 MB. `max_json_values`: strings, lists and objects; an agent's conversation of 8 MB
    has 10,000. `max_json_numbers`: token ids of 1,000 texts to embed; decoding takes 30 ms. `header_timeout_s`,
    `body_timeout_s`: slow mobile clients finish, a slowloris does not hold a connection for long. `keep_alive_s`:
    longer than the 60 s of common proxies, so that the proxy closes first and no request meets a closing connection.
    `drain_s`: long answers of a model end. `stuck_s`: a blocked event loop; sound workers of a swapping machine are
    silent for seconds. `backlog`: a burst waits instead of being refused. `max_in_flight`: bounds memory.
    `trusted_proxies`: none, since anybody can send the header that they are believed for."""

    host: str = "127.0.0.1"
    port: int = 8080
    base_path: str = ""
    workers: int = 1
    max_body_bytes: int = 33_554_432
    max_text_bytes: int = 8_388_608
    max_json_values: int = 100_000
    max_json_numbers: int = 1_000_000
    header_timeout_s: float = 10
    keep_alive_s: float = 75
    body_timeout_s: float = 30
    drain_s: float = 120
    stuck_s: float = 10
    backlog: int = 1024
    max_in_flight: int = 1024
    websocket: bool = True
    websocket_per_key: int = 64
    allowed_origins: tuple[str, ...] = ()
    local_origins: bool = False
    trusted_proxies: tuple[str, ...] = ()
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

    @property
    def url(self) -> str:
        """The listener's address without a slash at its end; empty where there is none."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}" if self.port else ""


@dataclass(frozen=True, slots=True)
class Access:
    """Keys. `bad_keys_per_minute`: a client with an old key that retries every second still gets 401, not 429."""

    keys_file: str = "keys.json"
    bad_keys_per_minute: int = 60
    backend: str = "file"
    seal: Secret | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of keys that have none of their own; 0 = no limit, since an operator who sets none expects none.

    Shares bind only while other keys want the same. `reserve_tokens`: a usual answer. `response_store_bytes_per_key`: a
    quarter of the store, about 64 conversations of 256 KiB."""

    per_minute: int = 0
    concurrent: int = 0
    share_of_parse: float = 0.5
    in_flight_share: float = 0.5
    response_store_bytes_per_key: int = 16_777_216
    tokens_per_minute: int = 0
    tokens_per_day: int = 0
    tool_calls_per_day: int = 0
    spend_per_month: float = 0
    per_user_tokens_per_day: int = 0
    per_user_spend_per_day: float = 0
    reserve_tokens: int = 1024


@dataclass(frozen=True, slots=True)
class Shared:
    """State that several workers and machines share; without Redis each machine counts alone.

    `redis_timeout_s`: a command takes under 1 ms in a data centre, and keyed requests wait for two. `outage_cache_s`: a
    restart of Redis passes unnoticed, and a revoked key lives on for no longer. `response_ttl_s`: a pause in a
    conversation."""

    redis_url: Secret | None = None
    redis_timeout_s: float = 0.05
    machines: int = 1
    outage_cache_s: float = 300
    store: str = "shared"
    response_ttl_s: float = 3600


@dataclass(frozen=True, slots=True)
class BackgroundLimits:
    """Responses made with `background: true`, running or waiting: of one key, of all, and how long one may take."""

    per_key: int = 8
    total: int = 64
    max_s: float = 7200


@dataclass(frozen=True, slots=True)
class ConversationLimits:
    """How many conversations a key may have, and what one may hold."""

    per_key: int = 1000
    items: int = 2000
    max_bytes: int = 4_194_304


@dataclass(frozen=True, slots=True)
class Responses:
    """Limits of background responses and of conversations."""

    background: BackgroundLimits = field(default_factory=BackgroundLimits)
    conversations: ConversationLimits = field(default_factory=ConversationLimits)


@dataclass(frozen=True, slots=True)
class Price:
    """What `model` (a model's public name, or a web tool's) costs. `cached_input_per_million` and
    `cache_write_per_million` None: as other input."""

    model: str
    input_per_million: float = 0
    output_per_million: float = 0
    cached_input_per_million: float | None = None
    cache_write_per_million: float | None = None
    tool_call: float = 0
    currency: str = "USD"


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage by day. `keep_days`: a year and the month after it, in which the year is billed."""

    keep_days: int = 400


@dataclass(frozen=True, slots=True)
class Log:
    """`level`: `debug`, `info`, `warning` or `error`. `format`: `json` or `text`."""

    level: str = "info"
    format: str = "json"


@dataclass(frozen=True, slots=True)
class Parameters:
    """How requests to one upstream are put into its own words: `wire.chat.presets` reads it."""

    preset: str = ""
    rename: Mapping[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    set: Mapping[str, Any] = field(default_factory=dict)
    cache_control: bool = False


@dataclass(frozen=True, slots=True)
class Upstream:
    """One upstream of a model. `name` is what callers see of it; without one, `upstream-1` and so on in order.

    `connect_timeout_s`: an upstream that is away is passed over quickly. `first_event_wait_s`: below the 10 s after
    which some clients give up on a silent answer. `first_byte_timeout_s`, `idle_timeout_s`: long prompts are read in
    that time by a busy server. `total_timeout_s`: 15 minutes, the longest answers of reasoning models.
    `max_answer_bytes`: far above any text that a model writes, and enough for log probabilities. `concurrent` 0 = all
    calls are sent at once, since most servers batch more than anybody asks. `tools` has no effect, see
    `without_effect`."""

    base_url: str
    model: str = ""
    name: str = ""
    api_key: Secret | None = None
    responses: str = "translate"
    messages: str = "chat"
    messages_credential: str = "x-api-key"
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
    list_models: bool = False
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


@dataclass(frozen=True, slots=True)
class SearchEngine:
    """The settings of one search provider, `[search.NAME]`. `timeout_s` None: that of all."""

    base_url: str = ""
    api_key: Secret | None = None
    timeout_s: float | None = None
    proxy: str = ""
    proxy_auth: Secret | None = None
    ca_file: str = ""


TABLES = "tables"
"""Metadata of a field that holds all tables which have no field of their own, by their names."""


@dataclass(frozen=True, slots=True)
class Search(SearchEngine):
    """The search providers, and the settings of a single one. `timeout_s`: twice and more what providers take; the
    fallbacks need time of their own. `semantic`: "auto" searches the local index by meaning as well where the extra
    'semantic' is installed. `cache_ttl_s`: agents repeat a search within minutes. `engines`: the tables
    `[search.NAME]`."""

    provider: str | tuple[str, ...] = "local"
    fallback: tuple[str, ...] = ("local",)
    timeout_s: float = 15
    cache_ttl_s: float = 300
    semantic: str = "auto"
    engines: Mapping[str, SearchEngine] = field(default_factory=dict, metadata={TABLES: True})

    @property
    def providers(self) -> tuple[str, ...]:
        """Those that are asked first, side by side."""
        return (self.provider,) if isinstance(self.provider, str) else self.provider

    def engine(self, name: str) -> SearchEngine:
        """What holds the settings of a provider: its own table, else these ones for the only provider."""
        if name in self.engines or self.providers != (name,):
            return self.engines.get(name, SearchEngine())
        return self

    def timeout_of(self, name: str) -> float:
        """Seconds that a provider has for one request, and for a search where several are asked."""
        return self.engine(name).timeout_s or self.timeout_s


@dataclass(frozen=True, slots=True)
class IndexStore:
    """Where the local index is: "sqlite", a file below the state directory, or "postgres", in the database at
    `postgres_url`, which several gateways may share."""

    backend: str = "sqlite"
    postgres_url: Secret | None = None


@dataclass(frozen=True, slots=True)
class WebHost:
    """A host, or `host:port`, whose pages are asked for with `headers` of the operator's, such as a cookie.
    `plain_http`: over http too, where anybody on the way reads them."""

    host: str
    headers: Mapping[str, Secret] = field(default_factory=dict)
    plain_http: bool = False


@dataclass(frozen=True, slots=True)
class Web:
    """The embedded web engine and its index.

    `max_page_bytes`: articles with much script fit. `per_host_concurrency`: what browsers open to one host.
    `crawl_budget_s`: MCP clients commonly give up after 60 s. `result_budget_chars`: about 20,000 tokens, a share of a
    model's context. `index_max_pages` bounds the index on the disk, `index_ttl_days` the age of its pages; a search
    over 100,000 pages takes 109 ms at p95 (`python -m bench.index`)."""

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
    hosts: tuple[WebHost, ...] = ()


@dataclass(frozen=True, slots=True)
class Render:
    """Pages that need a browser. `mode`: "auto" renders what seems to need it, where extract_depth is advanced.
    `max_pages`: what one core renders at once. `page_timeout_s`: most pages rest within two. `idle_s`: agents read page
    after page; a start takes 1.5 s, and the browser holds 350 MB. `memory_max`: two large applications fit; bytes, and
    without effect where systemd starts the process."""

    mode: str = "auto"
    chromium: str = ""
    socket: str = ""
    max_pages: int = 2
    page_timeout_s: float = 8
    idle_s: float = 60
    memory_max: int = 1_073_741_824


@dataclass(frozen=True, slots=True)
class SearchResults:
    """Results of one hosted search, by the caller's `search_context_size`: as many excerpts as fit 1,500, 3,000 and
    6,000 tokens."""

    low: int = 3
    medium: int = 5
    high: int = 10


@dataclass(frozen=True, slots=True)
class HostedSearchSettings:
    """Web search that the gateway runs for a model. `max_calls`: questions of several parts need three to six.
    `total_s`: two slow searches and a few pages; with the model's own time an answer stays below the 120 s after which
    proxies cut. `native`: what upstreams that speak /responses search themselves is neither sanitized nor counted here,
    so it must be chosen."""

    max_calls: int = 10
    total_s: float = 60
    results: SearchResults = field(default_factory=SearchResults)
    native: str = "gateway"


@dataclass(frozen=True, slots=True)
class McpServer:
    """An MCP server whose tools the gateway runs for models. `headers` are sent with every request to it.

    `allowed_tools` empty = all. `require_approval`: `always` or `never`; a caller may ask for more approvals, not for
    fewer. `timeout_s` for one request: MCP clients commonly give up after 60 s. A result is cut at `max_result_chars`,
    about 20,000 tokens, as those of the web tools are."""

    label: str
    url: str
    headers: Mapping[str, Secret] = field(default_factory=dict)
    allowed_tools: tuple[str, ...] = ()
    require_approval: str = "always"
    timeout_s: float = 30
    max_result_chars: int = 80_000
    proxy: str = ""
    proxy_auth: Secret | None = None
    ca_file: str = ""


ENTITIES = (
    *("SECRET", "CREDIT_CARD", "IBAN", "US_SSN", "NATIONAL_ID", "CRYPTO_WALLET", "EMAIL", "PHONE", "IP"),
    *("PERSON", "ADDRESS", "DATE_OF_BIRTH", "HEALTH", "PRIVATE", "INSTRUCTION"),
)
"""The entities that the detectors and the guardrail find. `sanitize.actions` takes these and those of own patterns."""


@dataclass(frozen=True, slots=True)
class SanitizeActions:
    """For each direction, entity -> action (`block`, `redact`, `replace`, `flag`, `off`); overrides the profile's."""

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
    changes what a model reads and writes, which an operator must want. `restore_tools`: the caller's tools in whose
    arguments placeholders become values again, all of them or none."""

    requests: bool = True
    responses: bool = True
    profile: str = "balanced"
    routes: tuple[str, ...] = ("websearch",)
    actions: SanitizeActions = field(default_factory=SanitizeActions)
    patterns: tuple[SanitizePattern, ...] = ()
    allow_list: tuple[str, ...] = ()
    restore_tools: bool | tuple[str, ...] = True


@dataclass(frozen=True, slots=True)
class GuardrailSettings:
    """The model that judges texts. `timeout_s`: one short judgement of a served model; every web-tool call may wait
    that long. `on_failure`: requests fail closed, because what has left the gateway cannot be taken back."""

    enabled: str = "auto"
    model: str = TEXT_MODEL
    timeout_s: float = 3
    on_failure: str = "closed"
    on_failure_responses: str = "open"


_GUARDRAIL_OFF = (
    "The guardrail is off: nothing looks for names of persons, postal addresses and personal data in free text; "
)
_OWN_MODEL = (
    'a model of your own would: [[models]] with an upstream, and in [guardrail] its name as model and enabled = "auto"'
)


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration. `state_dir` comes from the command line or the environment; relative paths begin
    there. `file`: where it was read; None for the embedded profile."""

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
    hosted_search: HostedSearchSettings = field(default_factory=HostedSearchSettings)
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
    file: Path | None = field(default=None, compare=False, repr=False)

    def egresses(self) -> Iterator[tuple[str, Upstream | SearchEngine | McpServer]]:
        """What has a proxy and authorities of its own, with the path of its keys."""
        for index, model in enumerate(self.models):
            for number, upstream in enumerate(model.upstreams):
                yield f"models[{index}].upstreams[{number}]", upstream
        yield "search", self.search
        for name, engine in self.search.engines.items():
            yield f"search.{name}", engine
        for index, server in enumerate(self.mcp_servers):
            yield f"mcp_servers[{index}]", server

    @property
    def guardrail_model(self) -> Model | None:
        """The model of the operator's own that `guardrail.model` names."""
        name = self.guardrail.model
        return next((model for model in self.models if name in (model.name, *model.aliases) and model.upstreams), None)

    @property
    def guardrail_off(self) -> str:
        """What a model of the operator's own would add, for people; empty where the guardrail runs. `auto`: it runs
        where such a model is configured."""
        own = self.guardrail_model
        if self.guardrail.enabled == "on" or (self.guardrail.enabled == "auto" and own is not None):
            return ""
        remedy = f'{own.name} would: [guardrail] enabled = "auto"' if own is not None else _OWN_MODEL
        return f"{_GUARDRAIL_OFF}{remedy}"

    @property
    def text_model(self) -> str:
        """The first text model with an upstream, else the embedded one where it is on; empty where there is none."""
        first = next((model.name for model in self.models if model.kind == "text" and model.upstreams), "")
        return first or (TEXT_MODEL if self.local_llm.enabled else "")

    @property
    def reads_own_docs(self) -> bool:
        """Whether callers may fetch the gateway's documentation from the operations listener: wherever the embedded
        engine reads pages."""
        return self.web.engine == "local"
