"""Composition of the web tools: the safe fetcher, the embedded engine with its index, rendering, the search providers.

Also of the web engine without a server, index or provider, for `gateway extract`.
"""

import asyncio
import importlib
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from gateway import __version__
from gateway.access.budgets import OwnUse
from gateway.access.private_files import create_private
from gateway.config.settings import Config
from gateway.domain import OCR_MODEL, ExtractRequest, Json, WebCall
from gateway.engines.crawl.crawler import Chooser
from gateway.engines.crawl.engine import EngineDeps, LocalWebEngine
from gateway.engines.crawl.page_loader import PageHelp, PageLoader
from gateway.engines.crawl.page_results import describe_pages
from gateway.engines.crawl.site_folder import IndexFiller, SiteFolder, SiteWriter
from gateway.engines.documents.parse_pool import ExtractOptions, ParsePool, shorten_in
from gateway.engines.documents.pictures import PictureReader
from gateway.engines.fetch.address_policy import AddressPolicy, OwnListener
from gateway.engines.fetch.fetcher import Fetcher, FetchLimits
from gateway.engines.fetch.robots import HostSlots, RobotsCache
from gateway.engines.fetch.urls import from_caller
from gateway.engines.index.port import Index
from gateway.engines.index.search_provider import LocalSearch
from gateway.engines.index.store import PageIndex
from gateway.engines.render.renderer import NotRendered, ProcessSettings, Reach, RenderDeps, Renderer, RenderProcess
from gateway.errors import EngineMissing, InvalidRequest
from gateway.mcp.tools import Searched, Tool, tool_table
from gateway.ports import SearchProvider, WebEngine
from gateway.providers.http import DIRECT, egress_of
from gateway.providers.mcp_client import McpClient, McpServerSettings
from gateway.providers.search_table import REMOTE_PROVIDERS
from gateway.providers.tavily import Tavily
from gateway.sanitize.guardrail import Guardrail
from gateway.sanitize.pipeline import Sanitizer
from gateway.services.completion.service import CompletionService, OwnModel
from gateway.services.hosted_tools.loop import LoopLimits
from gateway.services.ocr.service import OcrService, OwnOcr
from gateway.services.websearch.service import WebSearchDeps, WebSearchService, WebSearchSettings
from gateway.web.handlers.file_parts import ReadText
from gateway.web.handlers.hosted import HostedMcp, HostedSettings, McpServerEntry


def page_renderer(config: Config, fetcher: Fetcher, slots: HostSlots, resources: AsyncExitStack) -> Renderer | None:
    """Renders pages in a process that is started at the first one; None where the configuration wants none."""
    render = config.render
    if render.mode == "off":
        return None
    settings = ProcessSettings(
        Path(render.socket) if render.socket else None,
        config.state_dir.absolute() / "render.sock",
        render.chromium,
        render.max_pages,
        render.idle_s,
        render.memory_max,
    )
    process, public = RenderProcess(settings), fetcher.public_only()
    resources.push_async_callback(public.close)
    resources.push_async_callback(process.close)
    narrow, wide = (_reach(config, each) for each in (public, fetcher))
    return Renderer(RenderDeps(process, narrow, wide, slots, render.page_timeout_s), render.mode)


def rendering_status(mode: str, renderer: Renderer | None) -> Json:
    """`{mode, error}` for the status tool; `error` is None while nothing is known to be wrong."""
    return {"mode": mode, "error": None if renderer is None else renderer.problem}


def _reach(config: Config, fetcher: Fetcher) -> Reach:
    return Reach(fetcher, RobotsCache(fetcher, config.web.user_agent) if config.web.respect_robots else None)


_FILE_OCR_S = 120.0
"""For all scanned pages of one file in a request."""
_BYTES_PER_CHAR, _ENVELOPE_BYTES = 6, 1 << 20
"""An MCP answer may have so many bytes: six a character, as JSON escapes one, and a MiB for what surrounds the text."""


def web_fetcher(config: Config, docs_address: str) -> Fetcher:
    """The only client that opens URLs chosen by callers."""
    own = OwnListener(docs_address, reads_docs=config.reads_own_docs) if docs_address else None
    policy = AddressPolicy(config.web.allow_private, own)
    named = {each.host: {name: value.reveal() for name, value in each.headers.items()} for each in config.web.hosts}
    limits = FetchLimits(max_bytes=config.web.max_page_bytes)
    return Fetcher(policy, config.web.user_agent, limits, host_headers=named)


def websearch_services(
    config: Config,
    engine_deps: EngineDeps,
    judges: tuple[Sanitizer, Guardrail],
    search: LocalSearch,
    resources: AsyncExitStack,
) -> tuple[WebSearchService, WebSearchService]:
    """The web tools, and the same over the local index (`search`) alone."""
    sanitizer, guardrail = judges
    local = LocalWebEngine(engine_deps, config.web)
    names = dict.fromkeys([config.search.provider, *config.search.fallback])
    providers = [search if name == "local" else _remote_provider(config, name, resources) for name in names]
    engine: WebEngine = providers[0] if config.web.engine == "provider" and isinstance(providers[0], Tavily) else local
    deps = WebSearchDeps(
        providers=providers,
        engine=engine,
        reader=local,
        shorten=partial(shorten_in, engine_deps.loader.pool),
        index_stats=search.stats,
        guardrail=guardrail.status,
        sanitization=lambda: {"requests": sanitizer.requests, "responses": sanitizer.responses},
        rendering=partial(rendering_status, config.render.mode, engine_deps.renderer),
    )
    settings = WebSearchSettings(__version__, config.web.result_budget_chars, config.search.cache_ttl_s)
    index_alone = replace(deps, providers=[search])
    return WebSearchService(deps, settings), WebSearchService(index_alone, settings)


def hosted_settings(
    config: Config, websearch: WebSearchService, index_alone: WebSearchService, searched: Searched
) -> HostedSettings:
    """Hosted search over the web tools, and over the local index alone."""
    hosted = config.hosted_search
    sizes = hosted.results
    return HostedSettings(
        tool_table(websearch, searched),
        tool_table(index_alone, "local"),
        LoopLimits(hosted.max_calls, hosted.total_s),
        {"low": sizes.low, "medium": sizes.medium, "high": sizes.high},
        passes_native=hosted.native == "upstream",
    )


def hosted_mcp(config: Config, own_tools: Mapping[str, Tool], resources: AsyncExitStack) -> HostedMcp:
    """The configured MCP servers, and the gateway's own web tools."""
    servers = {}
    for server in config.mcp_servers:
        headers = {name: secret.reveal() for name, secret in server.headers.items()}
        most_bytes = _BYTES_PER_CHAR * server.max_result_chars + _ENVELOPE_BYTES
        client = McpClient(McpServerSettings(server.url, headers, server.timeout_s, most_bytes, egress_of(server)))
        resources.push_async_callback(client.close)
        needs_approval = server.require_approval == "always"
        allowed = frozenset(server.allowed_tools)
        servers[server.label] = McpServerEntry(client.session, allowed, needs_approval, server.max_result_chars)
    return HostedMcp(servers, own_tools)


@dataclass(frozen=True, slots=True)
class ModelUse:
    """What the web engine asks models for: to choose pages, and to read pictures of text."""

    completions: CompletionService
    pictures: PictureReader


def parse_pool(config: Config, resources: AsyncExitStack) -> ParsePool:
    """The pool of processes that read pages and documents."""
    pool = ParsePool(share=config.limits.share_of_parse)
    resources.push_async_callback(pool.close)
    return pool


def picture_reader(config: Config, pool: ParsePool, ocr: OcrService, own_use: OwnUse) -> PictureReader:
    """The reader of scanned pages, with the model of OCR, charged to the keys that want them read."""
    limits, own = config.ocr, OwnOcr(ocr, OCR_MODEL, own_use)
    return PictureReader(pool, own, max_pages=limits.max_pages, page_timeout_s=limits.page_timeout_s)


def engine_deps(
    config: Config, fetcher: Fetcher, pool: ParsePool, resources: AsyncExitStack, models: ModelUse | None = None
) -> EngineDeps:
    """The dependencies of the embedded web engine."""
    index = _index(config, config.index.backend)
    resources.push_async_callback(index.close)
    slots = HostSlots(config.web.per_host_concurrency, share=config.limits.share_of_parse)
    renderer = page_renderer(config, fetcher, slots, resources)
    loader = PageLoader(fetcher, pool, slots, PageHelp(renderer=renderer, pictures=models.pictures if models else None))
    model = config.web.instructions_model
    chooser = Chooser(OwnModel(models.completions, model) if models and model else None)
    return EngineDeps(loader, RobotsCache(fetcher, config.web.user_agent), index, chooser, renderer)


def file_reader(pool: ParsePool, pictures: PictureReader) -> ReadText:
    """Reads files of requests in the processes that parse pages; pages without text are read by OCR."""

    async def read(data: bytes, media_type: str, name: str, owner: str) -> bytes:
        options = ExtractOptions(name or "file", media_type, task="file")
        page = await pool.extract(data, options, owner)
        if page.get("scanned"):
            until = asyncio.get_running_loop().time() + _FILE_OCR_S
            page = await pictures.completed(data, options, page, owner, until)
        left = ", ".join(map(str, page.get("scanned", ())))
        if left and not page["content"]:
            raise InvalidRequest(f"the file shows pictures and no text, and OCR did not read them: {page['unread']}")
        note = f"\n\n[pages without text, not read: {left} ({page['unread']})]" if left else ""
        if unread := page.get("unread_pages"):
            note += f"\n\n[pages {unread[0]} to {unread[1]} were not read: the document is too long]"
        if hidden := describe_pages([page]):
            note += f"\n\n[{hidden}]"
        content: bytes = page["content"] or b""
        return content + note.encode() if note else content

    return read


@asynccontextmanager
async def open_index(config: Config) -> AsyncIterator[IndexFiller]:
    """The local search index without a server, for the command line; closed with the context."""
    fetcher = web_fetcher(config, f"{config.ops.host}:{config.ops.port}" if config.ops.port else "")
    async with AsyncExitStack() as resources:
        resources.push_async_callback(fetcher.close)
        pool = parse_pool(config, resources)
        yield IndexFiller(engine_deps(config, fetcher, pool, resources), pool, config.web)


@asynccontextmanager
async def open_site(config: Config, folder: Path, *, is_jsonl: bool) -> AsyncIterator[SiteWriter]:
    """A crawl into a folder without a server, for the command line. Raises InvalidRequest for an unusable folder."""
    fetcher = web_fetcher(config, f"{config.ops.host}:{config.ops.port}" if config.ops.port else "")
    async with AsyncExitStack() as resources:
        resources.push_async_callback(fetcher.close)
        pool = parse_pool(config, resources)
        site = SiteFolder(folder, is_jsonl=is_jsonl)
        await asyncio.to_thread(site.open)
        slots = HostSlots(config.web.per_host_concurrency, share=config.limits.share_of_parse)
        robots = RobotsCache(fetcher, config.web.user_agent)
        renderer = page_renderer(config, fetcher, slots, resources)
        loader = PageLoader(fetcher, pool, slots, PageHelp(saved=site, renderer=renderer))
        yield SiteWriter(loader, robots, site, config.web)


@asynccontextmanager
async def open_copy(config: Config, backend: str) -> AsyncIterator[tuple[Index, Index]]:
    """The index of the other backend and that of `backend`, for a copy from the first to the second."""
    async with AsyncExitStack() as resources:
        source, target = (_index(config, name) for name in ("sqlite" if backend == "postgres" else "postgres", backend))
        resources.push_async_callback(source.close)
        resources.push_async_callback(target.close)
        yield source, target


def configured_index(config: Config) -> Index:
    """The local search index as it is configured. Raises as `_index`."""
    return _index(config, config.index.backend)


def _index(config: Config, backend: str) -> Index:
    """The local search index. Raises InvalidRequest for "postgres" without an address of PostgreSQL."""
    max_pages, ttl_days = config.web.index_max_pages, config.web.index_ttl_days
    if backend == "sqlite":
        path = config.state_dir / "index.sqlite3"
        with suppress(OSError):  # the index says itself what is wrong with its file
            create_private(path)
        return PageIndex(path, max_pages=max_pages, ttl_days=ttl_days)
    if config.index.postgres_url is None:
        raise InvalidRequest('index.postgres_url is missing: give { credential = "NAME" }')
    url = config.index.postgres_url.reveal()
    if not url.startswith(("postgresql://", "postgres://")):
        raise InvalidRequest(f"index.postgres_url: {config.index.postgres_url} must hold a postgresql:// URL")
    # By name: without such an index, the import would only cost memory and time.
    index: Index = importlib.import_module("gateway.engines.index.postgres_index").PostgresIndex(
        url, max_pages=max_pages, ttl_days=ttl_days
    )
    return index


@asynccontextmanager
async def open_fetcher(config: Config) -> AsyncIterator[Fetcher]:
    """The fetcher of public pages without a server, for the command line; closed with the context."""
    fetcher = web_fetcher(config, "")
    try:
        yield fetcher
    finally:
        await fetcher.close()


def _remote_provider(config: Config, name: str, resources: AsyncExitStack) -> SearchProvider:
    """The provider called `name`. Address, key, proxy and authorities are those of `search.provider` only."""
    search = config.search
    is_first = name == search.provider
    base_url = search.base_url if is_first else ""
    key = search.api_key.reveal() if is_first and search.api_key else ""
    provider = REMOTE_PROVIDERS[name](key, base_url, search.timeout_s, egress_of(search) if is_first else DIRECT)
    resources.push_async_callback(provider.close)
    return provider


_OWNER = "gateway extract"


class PageReader:
    """Reads pages, and takes pictures of them."""

    def __init__(self, engine: LocalWebEngine, fetcher: Fetcher, deps: EngineDeps) -> None:
        self._engine = engine
        self._fetcher = fetcher
        self._renderer = deps.renderer

    async def read(self, request: ExtractRequest) -> Json:
        """As `WebEngine.extract`. Raises EngineMissing."""
        return await self._engine.extract(request, WebCall(_OWNER, "", patient=True))

    async def picture(self, url: str) -> bytes:
        """The page as a browser shows it (PNG), with its images. Raises FetchFailed, EngineMissing."""
        if self._renderer is None:
            raise EngineMissing('a picture needs the browser, which render.mode = "off" forbids')
        session = self._renderer.session(_OWNER)
        try:
            document = await self._fetcher.fetch(from_caller(url))
            rendered = await session.render(document, picture="always")
            if rendered.no_picture:
                raise EngineMissing(f"no picture can be taken: {rendered.no_picture}")
            return rendered.picture
        except NotRendered as failure:
            raise EngineMissing(f"no picture can be taken: {failure}") from failure
        finally:
            await session.close()


@asynccontextmanager
async def open_reader(config: Config) -> AsyncIterator[PageReader]:
    """The embedded web engine for the command line, which stores nothing; closed with the context."""
    config = replace(config, web=replace(config.web, index_fetched=False))
    fetcher = web_fetcher(config, f"{config.ops.host}:{config.ops.port}" if config.ops.port else "")
    async with AsyncExitStack() as resources:
        resources.push_async_callback(fetcher.close)
        deps = engine_deps(config, fetcher, parse_pool(config, resources), resources)
        yield PageReader(LocalWebEngine(deps, config.web), fetcher, deps)
