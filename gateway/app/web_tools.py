"""Composition of the web tools: the search providers, hosted search, MCP servers, files of requests."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial

from gateway import __version__
from gateway.access.budgets import OwnUse
from gateway.config.settings import Config
from gateway.domain import OCR_MODEL, Json
from gateway.engines.crawl.engine import EngineDeps, LocalWebEngine
from gateway.engines.crawl.page_results import describe_pages
from gateway.engines.documents.parse_pool import ExtractOptions, ParsePool, shorten_in
from gateway.engines.documents.pictures import PictureReader
from gateway.engines.index.search_provider import LocalSearch
from gateway.engines.render.renderer import Renderer
from gateway.errors import InvalidRequest
from gateway.ports import SearchProvider, WebEngine
from gateway.providers.egress import egress_of
from gateway.providers.mcp_client import McpClient, McpServerSettings
from gateway.providers.search_table import adapter_called
from gateway.providers.tavily import Tavily
from gateway.sanitize.guardrail import Guardrail
from gateway.sanitize.pipeline import Sanitizer
from gateway.services.file_parts import ReadText
from gateway.services.hosted_tools.hosted_search import HostedSettings
from gateway.services.hosted_tools.loop import LoopLimits
from gateway.services.hosted_tools.mcp_servers import HostedMcp, McpServerEntry
from gateway.services.ocr.service import OcrService, OwnOcr
from gateway.services.websearch.service import WebSearchDeps, WebSearchService, WebSearchSettings
from gateway.services.websearch.tools import Searched, Tool, tool_table


def rendering_status(mode: str, renderer: Renderer | None) -> Json:
    """`{mode, error}` for the status tool; `error` is None while nothing is known to be wrong."""
    return {"mode": mode, "error": None if renderer is None else renderer.problem}


_FILE_OCR_S = 120.0
"""For all scanned pages of one file in a request."""
_BYTES_PER_CHAR, _ENVELOPE_BYTES = 6, 1 << 20
"""An MCP answer may have so many bytes: six a character, as JSON escapes one, and a MiB for what surrounds the text."""


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
    first = config.search.providers
    names = dict.fromkeys([*first, *config.search.fallback])
    providers = [search if name == "local" else _remote_provider(config, name, resources) for name in names]
    tavily = next((each for each in providers[: len(first)] if isinstance(each, Tavily)), None)
    engine: WebEngine = tavily if tavily is not None and config.web.engine == "provider" else local
    deps = WebSearchDeps(
        providers=providers,
        side_by_side={name: config.search.timeout_of(name) for name in first},
        engine=engine,
        reader=local,
        shorten=partial(shorten_in, engine_deps.loader.pool),
        index_stats=search.stats,
        guardrail=guardrail.status,
        sanitization=lambda: {"requests": sanitizer.requests, "responses": sanitizer.responses},
        rendering=partial(rendering_status, config.render.mode, engine_deps.renderer),
    )
    settings = WebSearchSettings(__version__, config.web.result_budget_chars, config.search.cache_ttl_s)
    index_alone = replace(deps, providers=[search], side_by_side={})
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


def picture_reader(config: Config, pool: ParsePool, ocr: OcrService, own_use: OwnUse) -> PictureReader:
    """The reader of scanned pages, with the model of OCR, charged to the keys that want them read."""
    limits, own = config.ocr, OwnOcr(ocr, OCR_MODEL, own_use)
    return PictureReader(pool, own, max_pages=limits.max_pages, page_timeout_s=limits.page_timeout_s)


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


def _remote_provider(config: Config, name: str, resources: AsyncExitStack) -> SearchProvider:
    settings = config.search.engine(name)
    key = settings.api_key.reveal() if settings.api_key else ""
    adapter, timeout_s = adapter_called(name), config.search.timeout_of(name)
    provider = adapter(key, settings.base_url, timeout_s, egress_of(settings))
    resources.push_async_callback(provider.close)
    return provider
