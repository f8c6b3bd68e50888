"""The composition root: builds the application from a configuration. The only module that chooses concrete classes.

Only the entry points and tests import it. What must be closed is registered on one `AsyncExitStack`.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from aiohttp import web

from gateway import __version__
from gateway.access.api_keys import KeyStore
from gateway.access.private_files import USER_HASH_KEY, load_or_create_secret
from gateway.access.rate_limits import BadKeyLimiter, LocalLimiter
from gateway.access.redis_limits import RedisLimiter
from gateway.config.settings import Config, Model, Upstream
from gateway.domain import OCR_MODEL, OCR_MODEL_ALIAS, TEXT_MODEL
from gateway.embedded.servers import Embedded, EmbeddedUpstream
from gateway.engines.crawl.engine import EngineDeps, LocalWebEngine
from gateway.engines.crawl.index_import import IndexFiller
from gateway.engines.crawl.page_loader import PageLoader
from gateway.engines.crawl.relevance import Chooser
from gateway.engines.extract.parse_pool import ParsePool
from gateway.engines.fetch.address_policy import AddressPolicy
from gateway.engines.fetch.fetcher import Fetcher, FetchLimits
from gateway.engines.fetch.host_limits import HostSlots
from gateway.engines.fetch.own_listener import OwnListener
from gateway.engines.fetch.robots import RobotsCache
from gateway.engines.index.search_provider import LocalSearch
from gateway.engines.index.store import PageIndex
from gateway.mcp.dialect import WebSearchDialect
from gateway.mcp.dispatcher import Dispatcher
from gateway.mcp.running_calls import RunningCalls
from gateway.mcp.tools import Searched
from gateway.metrics import Metrics
from gateway.ocr.image.normalise import PixelNormaliser
from gateway.ports import CompletionUpstream, SearchProvider, WebEngine
from gateway.providers.embedded import OnDemandUpstream
from gateway.providers.fan_out import FanOutUpstream
from gateway.providers.openai_compat import OpenAICompatUpstream
from gateway.providers.queued import QueuedUpstream, queued_as_configured
from gateway.providers.search_table import REMOTE_PROVIDERS
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

OCR_FIRST_BYTE_S, OCR_IDLE_S = 300.0, 120.0
"""Timeouts of the embedded OCR engine. Chosen: on a busy machine a request waits behind the images of eight others. At
half, such a request fails; at double, its caller waits longer for an engine that is stuck."""


def build_app(config: Config, embedded: Embedded | None = None, docs_address: str = "") -> web.Application:
    """The application that serves the product routes; its cleanup closes everything that is opened here.

    `embedded`: addresses of the embedded servers, none by default. `docs_address`: `host:port` of the operations
    listener, of which callers may fetch the documentation in the embedded profile (`Config.reads_own_docs`).
    """
    fetcher, resources = _fetcher(config, docs_address), AsyncExitStack()
    resources.push_async_callback(fetcher.close)
    completions = _completions(config, embedded or Embedded(), fetcher, resources)
    guardrail = _guardrail(config, completions)
    sanitizer = Sanitizer(config.sanitize, guardrail)
    engine_deps, _ = _engine_deps(config, fetcher, resources, completions)
    websearch = _websearch(config, engine_deps, sanitizer, guardrail, resources)
    searched: Searched = "local" if config.search.provider == "local" else "web"
    mcp = WebSearchHandler(Dispatcher(websearch, RunningCalls(), searched))
    chat = ChatHandler(completions, OcrService(completions, _image_loader(config, fetcher, resources)))
    responses = ResponsesHandler(completions, ResponseStore(config.limits.response_store_bytes_per_key))
    table = _table(config, mcp, chat, responses, ModelsHandler(completions))
    app = application(_server_state(config, table, sanitizer, resources), config.server.max_body_bytes)
    app.cleanup_ctx.append(_close_at_cleanup(resources))
    return app


def build_ops_app(
    app: web.Application, waiting: Callable[[], list[str]], hosts: Collection[str] = (), metrics_folder: str = ""
) -> web.Application:
    """The operations pages (health, readiness, metrics, documentation) for an application of `build_app`.

    `waiting` names what is not ready yet; none means ready. `hosts`: names of the listener beside loopback's.
    `metrics_folder` holds the metrics that several workers share; empty with one worker.
    """
    return OpsPages(app[SERVER_STATE], waiting, hosts, metrics_folder).app()


def _server_state(
    config: Config, endpoints: EndpointTable, sanitizer: Sanitizer, resources: AsyncExitStack
) -> ServerState:
    """The state that the middlewares share."""
    metrics = Metrics()
    local = LocalLimiter(config.limits, share_of=config.server.workers)
    limiter: LocalLimiter | RedisLimiter = local
    if config.shared.redis_url is not None:
        limiter = shared = RedisLimiter(config.shared.redis_url.reveal(), config.limits, local)
        resources.push_async_callback(shared.close)
    return ServerState(
        endpoints=endpoints,
        in_flight=InFlight(config.server.max_in_flight, config.limits.in_flight_share),
        keys=KeyStore(config.state_dir / config.access.keys_file),
        bad_keys=BadKeyLimiter(config.access.bad_keys_per_minute),
        limiter=limiter,
        sanitizer=sanitizer,
        metrics=metrics,
        recorder=Recorder(metrics),
        allowed_origins=frozenset(config.server.allowed_origins),
        body_timeout_s=config.server.body_timeout_s,
        max_json_values=config.server.max_json_values,
    )


def _table(
    config: Config, mcp: WebSearchHandler, chat: ChatHandler, responses: ResponsesHandler, models: ModelsHandler
) -> EndpointTable:
    """Every product route. A caller's key needs one of the scopes; a route without scopes takes any valid key."""
    chat_form, responses_form = ChatDialect(), ResponsesDialect()
    scope, on_chat, stored = frozenset({"responses"}), frozenset({"chat", "ocr"}), "/v1/responses/{response_id}"
    rows = [
        Endpoint("chat", "POST", "/v1/chat/completions", chat.handle, chat_form, on_chat, chat.check),
        Endpoint("responses", "POST", "/v1/responses", responses.create, responses_form, scope, responses.check),
        Endpoint("responses", "GET", stored, responses.retrieve, responses_form, scope),
        Endpoint("responses", "DELETE", stored, responses.delete, responses_form, scope),
        Endpoint("responses", "GET", f"{stored}/input_items", responses.input_items, responses_form, scope),
        Endpoint("models", "GET", "/v1/models", models.listing, chat_form),
        Endpoint("models", "GET", "/v1/models/{model}", models.one, chat_form),
        Endpoint(
            "websearch", "POST", "/tools/websearch/mcp", mcp.handle, WebSearchDialect(), frozenset({"web-search"}),
            mcp.check, charged=False, max_body_bytes=mcp.max_body_bytes),
    ]  # fmt: skip
    return EndpointTable(rows, config.server.base_path)


def _completions(config: Config, embedded: Embedded, images: Fetcher, resources: AsyncExitStack) -> CompletionService:
    """The model table: the configured models, then the embedded engines unless a configured model has their name."""
    rows = [_model(model, resources) for model in config.models if model.upstreams]
    configured = {name for row in rows for name in (row.name, *row.aliases)}
    for name, kind, aliases, upstream in (
        (TEXT_MODEL, "text", (), embedded.llm),
        (OCR_MODEL, "ocr", (OCR_MODEL_ALIAS,), embedded.ocr),
    ):
        if upstream is not None and name not in configured:
            settings = next((model for model in config.models if model.name == name), Model(name))
            free = tuple(alias for alias in (*aliases, *settings.aliases) if alias not in configured)
            target = _embedded_target(kind, upstream, resources)
            rows.append(ModelEntry(name, kind, (target,), free, settings.fallback, int(time.time())))
    return CompletionService(rows, images=images, user_key=load_or_create_secret(config.state_dir / USER_HASH_KEY))


def _image_loader(config: Config, fetcher: Fetcher, resources: AsyncExitStack) -> ImageLoader:
    """The loader of images for OCR models. Remote upstreams get them upright; the embedded engine turns them itself."""
    if not any(model.kind == "ocr" and model.upstreams for model in config.models):
        return ImageLoader(fetcher)
    pixels = PixelNormaliser()
    resources.push_async_callback(asyncio.to_thread, pixels.close)
    return ImageLoader(fetcher, pixels)


def _model(model: Model, resources: AsyncExitStack) -> ModelEntry:
    targets = []
    for number, settings in enumerate(model.upstreams, 1):
        client = OpenAICompatUpstream(settings.name or f"upstream-{number}", settings)
        resources.push_async_callback(client.close)
        queued = queued_as_configured(client, settings)
        upstream = OcrAdapter(queued, image_placeholder=settings.image_placeholder) if model.kind == "ocr" else queued
        options = UpstreamOptions(settings.model, settings.extra_body, settings.json_object)
        is_native, wait_s = settings.responses == "native", settings.first_event_wait_s
        targets.append(Target(upstream, options, settings.weight, is_native, wait_s))
    return ModelEntry(model.name, model.kind, tuple(targets), model.aliases, model.fallback, int(time.time()))


def _embedded_target(kind: str, embedded: EmbeddedUpstream, resources: AsyncExitStack) -> Target:
    """An embedded engine as an upstream of the model table."""
    settings = Upstream(embedded.base_url, embedded.model)
    if kind == "ocr":
        settings = replace(settings, first_byte_timeout_s=OCR_FIRST_BYTE_S, idle_timeout_s=OCR_IDLE_S)
    # llama.cpp closes a connection after a stream without saying so; on loopback a new one costs next to nothing.
    client = OpenAICompatUpstream(f"embedded-{kind}", settings, reuses_connections=False)
    queued = QueuedUpstream(client, embedded.queue, settings.first_byte_timeout_s)
    answering: CompletionUpstream = queued if kind == "ocr" else FanOutUpstream(queued)
    upstream = OnDemandUpstream(answering, embedded.wake, embedded.fingerprint)
    resources.push_async_callback(client.close)
    served = OcrAdapter(upstream, context_tokens=0) if kind == "ocr" else upstream
    return Target(served, UpstreamOptions(embedded.model))


def _guardrail(config: Config, completions: CompletionService) -> Guardrail:
    """The model that judges what the detectors have masked. `auto`: on when an upstream is configured for it."""
    settings = config.guardrail
    model = next((m for m in config.models if settings.model in (m.name, *m.aliases) and m.upstreams), None)
    enabled = settings.enabled == "on" or (settings.enabled == "auto" and model is not None)
    own_model, name = OwnModel(completions, settings.model), model.name if model else settings.model
    return Guardrail(settings, own_model, f"{config.server.url}/v1/chat/completions", name, enabled=enabled)


def _fetcher(config: Config, docs_address: str) -> Fetcher:
    """The only client that opens URLs chosen by callers."""
    own = OwnListener(docs_address, reads_docs=config.reads_own_docs) if docs_address else None
    policy = AddressPolicy(config.web.allow_private, own)
    return Fetcher(policy, config.web.user_agent, FetchLimits(max_bytes=config.web.max_page_bytes))


def _websearch(
    config: Config, engine_deps: EngineDeps, sanitizer: Sanitizer, guardrail: Guardrail, resources: AsyncExitStack
) -> WebSearchService:
    local, index = LocalWebEngine(engine_deps, config.web), engine_deps.index
    names = dict.fromkeys([config.search.provider, *config.search.fallback])
    providers = [_provider(config, name, index, resources) for name in names]
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
    config: Config, fetcher: Fetcher, resources: AsyncExitStack, completions: CompletionService | None = None
) -> tuple[EngineDeps, ParsePool]:
    """The dependencies of the embedded web engine, and the pool of processes that parse pages for it."""
    pool = ParsePool(share=config.limits.share_of_parse)
    path = config.state_dir / "index.sqlite3"
    index = PageIndex(path, max_pages=config.web.index_max_pages, ttl_days=config.web.index_ttl_days)
    resources.push_async_callback(pool.close)
    resources.push_async_callback(index.close)
    loader = PageLoader(fetcher, pool, HostSlots(config.web.per_host_concurrency, share=config.limits.share_of_parse))
    model = config.web.instructions_model
    chooser = Chooser(OwnModel(completions, model) if completions and model else None)
    return EngineDeps(loader, RobotsCache(fetcher, config.web.user_agent), index, chooser), pool


@asynccontextmanager
async def open_index(config: Config) -> AsyncIterator[IndexFiller]:
    """The local search index without a server, for the command line; closed with the context."""
    fetcher = _fetcher(config, f"{config.ops.host}:{config.ops.port}" if config.ops.port else "")
    async with AsyncExitStack() as resources:
        resources.push_async_callback(fetcher.close)
        deps, pool = _engine_deps(config, fetcher, resources)
        yield IndexFiller(deps, pool, config.web)


@asynccontextmanager
async def open_fetcher(config: Config) -> AsyncIterator[Fetcher]:
    """The fetcher of public pages without a server, for the command line; closed with the context."""
    fetcher = _fetcher(config, "")
    try:
        yield fetcher
    finally:
        await fetcher.close()


def _provider(config: Config, name: str, index: PageIndex, resources: AsyncExitStack) -> SearchProvider:
    """The provider called `name`. `search.base_url` and `search.api_key` are those of `search.provider` only."""
    search = config.search
    is_first = name == search.provider
    base_url = search.base_url if is_first else ""
    key = search.api_key.reveal() if is_first and search.api_key else ""
    if name == "local":
        return LocalSearch(index)
    provider = REMOTE_PROVIDERS[name](key, base_url, search.timeout_s)
    resources.push_async_callback(provider.close)
    return provider


def _close_at_cleanup(resources: AsyncExitStack) -> Callable[[web.Application], AsyncIterator[None]]:
    async def cleanup(app: web.Application) -> AsyncIterator[None]:
        yield
        await resources.aclose()

    return cleanup
