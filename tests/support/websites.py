"""A real web site on loopback for the web engine's tests, and the engine over it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from aiohttp import web

from gateway.config.settings import Web
from gateway.domain import Json, WebCall
from gateway.engines.crawl.engine import EngineDeps, LocalWebEngine
from gateway.engines.crawl.page_loader import PageHelp, PageLoader
from gateway.engines.documents.parse_pool import ParsePool, shorten_in
from gateway.engines.fetch.address_policy import AddressPolicy
from gateway.engines.fetch.fetcher import Fetcher, FetchLimits
from gateway.engines.fetch.host_slots import HostSlots
from gateway.engines.fetch.robots import RobotsCache
from gateway.engines.index.search_provider import LocalSearch
from gateway.engines.index.store import PageIndex
from gateway.engines.render.renderer import Renderer
from gateway.services.websearch.service import WebSearchDeps, WebSearchService, WebSearchSettings

Answer = str | bytes | tuple[int, Mapping[str, str], bytes] | Callable[[web.Request], Awaitable[web.StreamResponse]]


class Site:
    """Pages by path; counts what was asked. A page is HTML text, bytes, (status, headers, body) or a handler."""

    def __init__(self, pages: Mapping[str, Answer] | None = None) -> None:
        self.pages: dict[str, Answer] = dict(pages or {})
        self.asked: list[str] = []
        self.port = 0
        self.open_requests = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path_qs)
        page = self.pages.get(request.path_qs, self.pages.get(request.path))
        self.open_requests += 1
        try:
            if page is None:
                return web.Response(status=404, text="no")
            if callable(page):
                return await page(request)
            if isinstance(page, tuple):
                return web.Response(status=page[0], headers=page[1], body=page[2])
            body = page.encode() if isinstance(page, str) else page
            return web.Response(body=body, content_type="text/html")
        finally:
            self.open_requests -= 1


@asynccontextmanager
async def serving(site: Site) -> AsyncIterator[Site]:
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", site._answer)
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    site.port = runner.addresses[0][1]
    try:
        yield site
    finally:
        await runner.cleanup()


@dataclass
class Engine:
    """The whole embedded engine with its service."""

    fetcher: Fetcher
    pool: ParsePool
    index: PageIndex
    parts: EngineDeps
    web: LocalWebEngine
    search: LocalSearch
    service: WebSearchService
    settings: Web

    def call(self, owner: str = "key1") -> WebCall:
        return WebCall(owner, "req_1")


@asynccontextmanager
async def engine(
    state: Path,
    allow: tuple[str, ...] = (),
    *,
    limits: FetchLimits | None = None,
    renderer: Renderer | None = None,
    **settings: object,
) -> AsyncIterator[Engine]:
    config = Web(**settings)  # type: ignore[arg-type]
    fetcher = Fetcher(AddressPolicy(allow), config.user_agent, limits)
    pool = ParsePool(1, job_limit_s=10)
    index = PageIndex(state / "index.db")
    loader = PageLoader(fetcher, pool, HostSlots(config.per_host_concurrency), PageHelp(renderer=renderer))
    parts = EngineDeps(loader, RobotsCache(fetcher, config.user_agent), index)
    local = LocalWebEngine(parts, config)
    search = LocalSearch(index)
    service = WebSearchService(
        WebSearchDeps((search,), local, local, partial(shorten_in, pool), index.stats, dict, dict),
        WebSearchSettings("0", config.result_budget_chars),
    )
    try:
        yield Engine(fetcher, pool, index, parts, local, search, service, config)
    finally:
        await pool.close()
        await fetcher.close()
        await index.close()


def page(title: str, body: str, *links: str) -> str:
    """A small page; `links` are hrefs."""
    anchors = " ".join(f'<a href="{href}">{href}</a>' for href in links)
    main = f"<main><h1>{title}</h1><p>{body}</p>{anchors}</main>"
    return f"<html><head><title>{title}</title></head><body>{main}</body></html>"


def urls(data: Json) -> list[str]:
    return [result["url"] for result in data["results"]]
