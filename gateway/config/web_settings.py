"""Settings of search and of the embedded web engine. `settings` says how to read them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.config.server_settings import Secret


@dataclass(frozen=True, slots=True)
class Search:
    """The search provider. `timeout_s`: twice and more what providers take; the fallbacks need time of their own.
    `semantic`: "auto" searches the local index by meaning as well where the extra 'semantic' is installed.
    `cache_ttl_s`: agents repeat a search within minutes; at double, news is that much older."""

    provider: str = "local"
    base_url: str = ""
    api_key: Secret | None = None
    fallback: tuple[str, ...] = ("local",)
    timeout_s: float = 15
    cache_ttl_s: float = 300
    semantic: str = "auto"
    proxy: str = ""
    proxy_auth: Secret | None = None
    ca_file: str = ""


@dataclass(frozen=True, slots=True)
class IndexStore:
    """Where the local index is: "sqlite", a file below the state directory, or "postgres", in the database at
    `postgres_url`, which several gateways may share."""

    backend: str = "sqlite"
    postgres_url: Secret | None = None


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


@dataclass(frozen=True, slots=True)
class Render:
    """Pages that need a browser. `mode`: "auto" renders what seems to need it, where extract_depth is advanced.
    `max_pages`: what one core renders at once; at double, the browser takes half as much memory more. `page_timeout_s`:
    most pages rest within two; at half slow interfaces are missed, at double a hostile page holds its turn for longer.
    `idle_s`: agents read page after page; at half, more first pages pay for a start (1.5 s), at double 350 MB are held
    for nothing. `memory_max`: two large applications fit; bytes, and without effect where systemd starts the process.
    """

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
    6,000 tokens. At half one wrong page decides the answer, at double most of them are cut."""

    low: int = 3
    medium: int = 5
    high: int = 10


@dataclass(frozen=True, slots=True)
class HostedSearch:
    """Web search that the gateway runs for a model. `max_calls`: questions of several parts need three to six; at half
    these end early, at double a model that goes in circles costs twice as much. `total_s`: two slow searches and a few
    pages; with the model's own time an answer stays below the 120 s after which proxies cut. `native`: what upstreams
    that speak /responses search themselves is neither sanitized nor counted here, so it must be chosen."""

    max_calls: int = 10
    total_s: float = 60
    results: SearchResults = field(default_factory=SearchResults)
    native: str = "gateway"


@dataclass(frozen=True, slots=True)
class McpServer:
    """An MCP server whose tools the gateway runs for models. `headers` are sent with every request to it.

    `allowed_tools` empty = all. `require_approval`: `always` or `never`; a caller may ask for more approvals, not for
    fewer. `timeout_s` for one request: MCP clients commonly give up after 60 s; at half, slow tools fail. A result is
    cut at `max_result_chars`, about 20,000 tokens, as those of the web tools are.
    """

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
