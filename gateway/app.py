"""The composition root: from a configuration to an application. The only file that names concrete classes.

Nothing but the entry points and tests imports it. What is opened here is closed with the application.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from aiohttp import web

from gateway import __version__
from gateway.access.api_keys import KeyStore
from gateway.access.private_files import load_or_create_secret
from gateway.access.rate_limits import BadKeyLimiter, LocalLimiter
from gateway.access.redis_limits import RedisLimiter
from gateway.config.settings import Config, Model, Upstream
from gateway.embedded.servers import MAX_CALLS, OCR_MODEL, TEXT_MODEL, Embedded, EmbeddedUpstream
from gateway.engines.crawl.engine import EngineDeps, LocalWebEngine
from gateway.engines.crawl.index_import import IndexFiller
from gateway.engines.crawl.page_loader import PageLoader
from gateway.engines.crawl.relevance import Chooser
from gateway.engines.extract.parse_pool import ParsePool
from gateway.engines.fetch.address_policy import AddressPolicy
from gateway.engines.fetch.fetcher import Fetcher, FetchLimits
from gateway.engines.fetch.host_limits import HostSlots
from gateway.engines.fetch.robots import RobotsCache
from gateway.engines.index.search_provider import LocalSearch
from gateway.engines.index.store import PageIndex
from gateway.mcp.dialect import WebSearchDialect
from gateway.mcp.dispatcher import Dispatcher
from gateway.mcp.running_calls import RunningCalls
from gateway.metrics import Metrics
from gateway.ocr.image.normalise import PixelNormaliser
from gateway.ports import SearchProvider, WebEngine
from gateway.providers.brave import Brave
from gateway.providers.embedded import OnDemandUpstream
from gateway.providers.fan_out import FanOutUpstream
from gateway.providers.openai_compat import OpenAICompatUpstream
from gateway.providers.searxng import Searxng
from gateway.providers.tavily import Tavily
from gateway.sanitize.guardrail.guardrail import Guardrail
from gateway.sanitize.pipeline import Sanitizer
from gateway.services.completion.attempts import ModelEntry, Target
from gateway.services.completion.response_store import ResponseStore
from gateway.services.completion.service import CompletionService, OwnModel
from gateway.services.ocr.images import ImageLoader
from gateway.services.ocr.service import OcrService
from gateway.services.ocr.upstream import OcrAdapter
from gateway.services.websearch.service import WebSearchDeps, WebSearchService, WebSearchSettings
from gateway.web.endpoints import Endpoint, EndpointTable
from gateway.web.handlers.chat import ChatHandler
from gateway.web.handlers.mcp import WebSearchHandler
from gateway.web.handlers.models import ModelsHandler
from gateway.web.handlers.ops import OpsPages
from gateway.web.handlers.responses import ResponsesHandler
from gateway.web.in_flight import InFlight
from gateway.web.request_log import Recorder
from gateway.web.server.chain import application
from gateway.web.state import SERVER_STATE, ServerState
from gateway.wire.chat.dialect import ChatDialect
from gateway.wire.chat.request import UpstreamOptions
from gateway.wire.responses.dialect import ResponsesDialect

Close = Callable[[], Awaitable[None]]


def build_app(config: Config, embedded: Embedded | None = None, docs_address: str = "") -> web.Application:
    """The product application. `docs_address`: the ops listener's `host:port`, for callers that may read it."""
    embedded = embedded or Embedded()
    fetcher = _fetcher(config, docs_address)
    closers: list[Close] = [fetcher.close]
    completions = _completions(config, embedded, fetcher, closers)
    guardrail = _guardrail(config, completions)
    sanitizer = Sanitizer(config.sanitize, guardrail)
    engine_deps, _ = _engine_deps(config, fetcher, closers, completions)
    websearch = _websearch(config, engine_deps, sanitizer, guardrail, closers)
    mcp = WebSearchHandler(Dispatcher(websearch, RunningCalls()))
    chat = ChatHandler(completions, OcrService(completions, _image_loader(config, fetcher, closers)))
    responses = ResponsesHandler(completions, ResponseStore())
    table = _table(config, mcp, chat, responses, ModelsHandler(completions))
    app = application(_server_state(config, table, sanitizer, closers), config.server.max_body_bytes)
    app.cleanup_ctx.append(_closing(closers))
    return app


def build_ops_app(app: web.Application, waiting: Callable[[], list[str]], metrics_folder: str = "") -> web.Application:
    """Health, readiness, metrics and documentation for an application of `build_app`."""
    server = app[SERVER_STATE]
    return OpsPages(server.metrics.registry, server.in_flight, waiting, metrics_folder, server.recorder.flush).app()


def _server_state(config: Config, endpoints: EndpointTable, sanitizer: Sanitizer, closers: list[Close]) -> ServerState:
    """What the middlewares need of the server."""
    metrics = Metrics()
    local = LocalLimiter(config.limits, share_of=config.server.workers)
    limiter: LocalLimiter | RedisLimiter = local
    if config.shared.redis_url is not None:
        limiter = shared = RedisLimiter(config.shared.redis_url.reveal(), config.limits, local)
        closers.append(shared.close)
    return ServerState(
        endpoints=endpoints,
        in_flight=InFlight(config.server.max_in_flight),
        keys=KeyStore(config.state_dir / config.access.keys_file),
        bad_keys=BadKeyLimiter(config.access.bad_keys_per_minute),
        limiter=limiter,
        sanitizer=sanitizer,
        metrics=metrics,
        recorder=Recorder(metrics),
        allowed_origins=frozenset(config.server.allowed_origins),
        body_timeout_s=config.server.body_timeout_s,
    )


def _table(
    config: Config, mcp: WebSearchHandler, chat: ChatHandler, responses: ResponsesHandler, models: ModelsHandler
) -> EndpointTable:
    """Every product route. A key needs one of the scopes; none = any valid key."""
    chats, answers = ChatDialect(), ResponsesDialect()
    reads, stored = frozenset({"responses"}), "/v1/responses/{response_id}"
    rows = [
        Endpoint("chat", "POST", "/v1/chat/completions", chat.handle, chats, frozenset({"chat", "ocr"}), chat.check),
        Endpoint("responses", "POST", "/v1/responses", responses.create, answers, reads, responses.check),
        Endpoint("responses", "GET", stored, responses.retrieve, answers, reads),
        Endpoint("responses", "DELETE", stored, responses.delete, answers, reads),
        Endpoint("responses", "GET", f"{stored}/input_items", responses.input_items, answers, reads),
        Endpoint("models", "GET", "/v1/models", models.listing, chats),
        Endpoint("models", "GET", "/v1/models/{model}", models.one, chats),
        Endpoint(
            "websearch", "POST", "/tools/websearch/mcp", mcp.handle, WebSearchDialect(), frozenset({"web-search"}),
            mcp.check, charged=False,
        ),
    ]  # fmt: skip
    return EndpointTable(rows, config.server.base_path)


def _completions(config: Config, embedded: Embedded, images: Fetcher, closers: list[Close]) -> CompletionService:
    """The model table: the configured rows, and the embedded engines under the names nobody else has."""
    rows = [_model(model, closers) for model in config.models if model.upstreams]
    named = {name for row in rows for name in (row.name, *row.aliases)}
    for name, kind, aliases, upstream in (
        (TEXT_MODEL, "text", (), embedded.llm),
        (OCR_MODEL, "ocr", ("SvcOcr",), embedded.ocr),
    ):
        if upstream is not None and name not in named:
            own = next((model for model in config.models if model.name == name), Model(name))
            free = tuple(alias for alias in (*aliases, *own.aliases) if alias not in named)
            target = _embedded_target(kind, upstream, closers)
            rows.append(ModelEntry(name, kind, (target,), free, own.fallback, int(time.time())))
    return CompletionService(rows, images=images, user_key=load_or_create_secret(config.state_dir / "user-hash-key"))


def _image_loader(config: Config, fetcher: Fetcher, closers: list[Close]) -> ImageLoader:
    """Images for OCR models: made upright here for a remote upstream; the embedded engine does it itself."""
    if not any(model.kind == "ocr" and model.upstreams for model in config.models):
        return ImageLoader(fetcher)
    pixels = PixelNormaliser()
    closers.append(lambda: asyncio.to_thread(pixels.close))
    return ImageLoader(fetcher, pixels)


def _model(model: Model, closers: list[Close]) -> ModelEntry:
    targets = []
    for settings in model.upstreams:
        reached = OpenAICompatUpstream(_upstream_name(settings.base_url), settings)
        closers.append(reached.close)
        upstream = OcrAdapter(reached, image_placeholder=settings.image_placeholder) if model.kind == "ocr" else reached
        options = UpstreamOptions(settings.model, settings.extra_body, settings.json_object)
        native = settings.responses == "native"
        targets.append(Target(upstream, options, settings.weight, native, settings.first_event_wait_s))
    return ModelEntry(model.name, model.kind, tuple(targets), model.aliases, model.fallback, int(time.time()))


def _embedded_target(kind: str, embedded: EmbeddedUpstream, closers: list[Close]) -> Target:
    """An embedded engine as an upstream. Reading an image may wait behind eight others on a busy machine."""
    settings = Upstream(embedded.base_url, embedded.model)
    if kind == "ocr":
        settings = replace(settings, first_byte_timeout_s=300, idle_timeout_s=120)
    reached = OpenAICompatUpstream(f"embedded-{kind}", settings)
    upstream = OnDemandUpstream(FanOutUpstream(reached), embedded.wake, embedded.fingerprint, MAX_CALLS)
    closers.append(reached.close)
    return Target(
        OcrAdapter(upstream, context_tokens=0) if kind == "ocr" else upstream, UpstreamOptions(embedded.model)
    )


def _upstream_name(base_url: str) -> str:
    """`host:port` of an upstream: what logs and `provider_specific_fields.provider` show."""
    return base_url.split("://", 1)[1].split("/", 1)[0]


def _guardrail(config: Config, completions: CompletionService) -> Guardrail:
    """The judge of what the detectors have masked. `auto`: on when its model runs on an upstream of the operator's."""
    settings = config.guardrail
    own = next((m for m in config.models if settings.model in (m.name, *m.aliases) and m.upstreams), None)
    endpoint, name = (own.upstreams[0].base_url, own.upstreams[0].model) if own else ("", settings.model)
    enabled = settings.enabled == "on" or (settings.enabled == "auto" and own is not None)
    return Guardrail(settings, OwnModel(completions, settings.model), endpoint, name, enabled=enabled)


def _fetcher(config: Config, docs_address: str) -> Fetcher:
    """The one way to what callers name."""
    own = (docs_address,) if docs_address and config.reads_own_docs else ()
    policy = AddressPolicy((*config.web.allow_private, *own))
    return Fetcher(policy, config.web.user_agent, FetchLimits(max_bytes=config.web.max_page_bytes))


def _websearch(
    config: Config, engine_deps: EngineDeps, sanitizer: Sanitizer, guardrail: Guardrail, closers: list[Close]
) -> WebSearchService:
    local, index = LocalWebEngine(engine_deps, config.web), engine_deps.index
    names = dict.fromkeys([config.search.provider, *config.search.fallback])
    providers = [_provider(config, name, index, closers) for name in names]
    engine: WebEngine = providers[0] if config.web.engine == "provider" and isinstance(providers[0], Tavily) else local
    deps = WebSearchDeps(
        providers=providers,
        engine=engine,
        reader=local,
        index_stats=index.stats,
        guardrail=guardrail.status,
        sanitization=lambda: {"requests": sanitizer.requests, "responses": sanitizer.responses},
    )
    settings = WebSearchSettings(__version__, config.web.result_budget_chars, config.search.cache_ttl_s)
    return WebSearchService(deps, settings)


def _engine_deps(
    config: Config, fetcher: Fetcher, closers: list[Close], completions: CompletionService | None = None
) -> tuple[EngineDeps, ParsePool]:
    """What the embedded web engine is made of, and the processes that parse for it."""
    pool = ParsePool()
    path = config.state_dir / "index.sqlite3"
    index = PageIndex(path, max_pages=config.web.index_max_pages, ttl_days=config.web.index_ttl_days)
    closers += [pool.close, index.close]
    loader = PageLoader(fetcher, pool, HostSlots(config.web.per_host_concurrency))
    model = config.web.instructions_model
    chooser = Chooser(OwnModel(completions, model) if completions and model else None)
    return EngineDeps(loader, RobotsCache(fetcher, config.web.user_agent), index, chooser), pool


@asynccontextmanager
async def open_index(config: Config) -> AsyncIterator[IndexFiller]:
    """The local search index alone, for the command line."""
    fetcher = _fetcher(config, f"{config.ops.host}:{config.ops.port}" if config.ops.port else "")
    closers: list[Close] = [fetcher.close]
    try:
        deps, pool = _engine_deps(config, fetcher, closers)
        yield IndexFiller(deps, pool, config.web)
    finally:
        for close in reversed(closers):
            await close()


@asynccontextmanager
async def open_fetcher(config: Config) -> AsyncIterator[Fetcher]:
    """The safe fetcher alone, for the command line."""
    fetcher = _fetcher(config, "")
    try:
        yield fetcher
    finally:
        await fetcher.close()


def _provider(config: Config, name: str, index: PageIndex, closers: list[Close]) -> SearchProvider:
    """A provider by name. Address and key of the configuration belong to the first one alone."""
    search = config.search
    mine = name == search.provider
    base_url = search.base_url if mine else ""
    key = search.api_key.reveal() if mine and search.api_key else ""
    if name == "local":
        return LocalSearch(index)
    provider: Tavily | Searxng | Brave
    if name == "tavily":
        provider = Tavily(key, base_url, search.timeout_s)
    elif name == "brave":
        provider = Brave(key, base_url, search.timeout_s)
    else:
        provider = Searxng(base_url, key, search.timeout_s)
    closers.append(provider.close)
    return provider


def _closing(closers: list[Close]) -> Callable[[web.Application], AsyncIterator[None]]:
    async def closing(app: web.Application) -> AsyncIterator[None]:
        yield
        for close in reversed(closers):
            await close()

    return closing
