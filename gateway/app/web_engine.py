"""Composition of the web engine: the safe fetcher, the page parsers, the browser, the index.

Imports neither the sanitizer nor the services, so that commands that read pages here start quickly.
"""

import asyncio
import importlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from gateway.access.private_files import create_private
from gateway.config.settings import Config
from gateway.domain import ExtractRequest, Json, WebCall
from gateway.engines.crawl.choosing import Chooser
from gateway.engines.crawl.engine import EngineDeps, LocalWebEngine
from gateway.engines.crawl.page_loader import PageHelp, PageLoader
from gateway.engines.crawl.site_folder import IndexFiller, SiteFolder, SiteWriter
from gateway.engines.documents.parse_pool import ParsePool
from gateway.engines.documents.pictures import PictureReader
from gateway.engines.fetch.address_policy import AddressPolicy, OwnListener
from gateway.engines.fetch.fetcher import Fetcher, FetchLimits, HostHeaders
from gateway.engines.fetch.host_slots import HostSlots
from gateway.engines.fetch.robots import RobotsCache
from gateway.engines.fetch.urls import from_caller
from gateway.engines.index.port import Index
from gateway.engines.index.store import PageIndex
from gateway.engines.render.renderer import NotRendered, ProcessSettings, Reach, RenderDeps, Renderer, RenderProcess
from gateway.errors import EngineMissing, InvalidRequest, StateUnavailable
from gateway.ports import ChatModel
from gateway.shared_state.sqlite_state import file_problem

INDEX_FILE = "index.sqlite3"
"""The file in the state directory."""


def page_renderer(
    config: Config, fetcher: Fetcher, slots: HostSlots, resources: AsyncExitStack, *, is_command: bool
) -> Renderer | None:
    """Renders pages in a process that is started at the first one; None where the configuration wants none. A command
    has one of its own: that of the service serves the service's user alone."""
    render = config.render
    if render.mode == "off":
        return None
    folder = resources.enter_context(TemporaryDirectory(prefix="gateway-")) if is_command else config.state_dir
    settings = ProcessSettings(
        Path(render.socket) if render.socket and not is_command else None,
        Path(folder).absolute() / "render.sock",
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


def _reach(config: Config, fetcher: Fetcher) -> Reach:
    return Reach(fetcher, RobotsCache(fetcher, config.web.user_agent) if config.web.respect_robots else None)


def web_fetcher(config: Config, docs_address: str) -> Fetcher:
    """The only client that opens URLs chosen by callers."""
    own = OwnListener(docs_address, reads_docs=config.reads_own_docs) if docs_address else None
    policy = AddressPolicy(config.web.allow_private, own)
    named = {
        each.host: HostHeaders({name: value.reveal() for name, value in each.headers.items()}, each.plain_http)
        for each in config.web.hosts
    }
    limits = FetchLimits(max_bytes=config.web.max_page_bytes)
    return Fetcher(policy, config.web.user_agent, limits, host_headers=named)


def parse_pool(config: Config, resources: AsyncExitStack) -> ParsePool:
    """The pool of processes that read pages and documents."""
    pool = ParsePool(share=config.limits.share_of_parse)
    resources.push_async_callback(pool.close)
    return pool


def engine_deps(
    config: Config,
    fetcher: Fetcher,
    pool: ParsePool,
    resources: AsyncExitStack,
    model_of: Callable[[str], ChatModel] | None = None,
    pictures: PictureReader | None = None,
    *,
    is_command: bool = False,
) -> EngineDeps:
    """The dependencies of the embedded web engine. `model_of` gives the model that chooses
    pages, for the key that pays it; `pictures` reads those of text."""
    index = open_backend(config, config.index.backend)
    resources.push_async_callback(index.close)
    slots = HostSlots(config.web.per_host_concurrency, share=config.limits.share_of_parse)
    renderer = page_renderer(config, fetcher, slots, resources, is_command=is_command)
    loader = PageLoader(fetcher, pool, slots, PageHelp(renderer=renderer, pictures=pictures))
    return EngineDeps(loader, RobotsCache(fetcher, config.web.user_agent), index, Chooser(model_of), renderer)


@contextmanager
def _index_errors(config: Config) -> Iterator[None]:
    """Raises StateUnavailable, in words, where the index's file cannot be used."""
    try:
        yield
    except sqlite3.Error as error:
        path = config.state_dir / INDEX_FILE
        raise StateUnavailable(f"{path}: {file_problem(error, path)}") from None


@asynccontextmanager
async def open_index(config: Config) -> AsyncIterator[IndexFiller]:
    """The local search index without a server, for the command line; closed with the context."""
    fetcher = web_fetcher(config, f"{config.ops.host}:{config.ops.port}" if config.ops.port else "")
    async with AsyncExitStack() as resources:
        resources.push_async_callback(fetcher.close)
        pool = parse_pool(config, resources)
        with _index_errors(config):
            yield IndexFiller(engine_deps(config, fetcher, pool, resources, is_command=True), pool, config.web)


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
        renderer = page_renderer(config, fetcher, slots, resources, is_command=True)
        loader = PageLoader(fetcher, pool, slots, PageHelp(saved=site, renderer=renderer))
        yield SiteWriter(loader, robots, site, config.web)


@asynccontextmanager
async def open_copy(config: Config, backend: str) -> AsyncIterator[tuple[Index, Index]]:
    """The index of the other backend and that of `backend`, for a copy from the first to the second."""
    async with AsyncExitStack() as resources:
        other = "sqlite" if backend == "postgres" else "postgres"
        source, target = open_backend(config, other), open_backend(config, backend)
        resources.push_async_callback(source.close)
        resources.push_async_callback(target.close)
        with _index_errors(config):
            yield source, target


def open_backend(config: Config, backend: str) -> Index:
    """The local search index in this backend. Raises InvalidRequest for "postgres" without an address of PostgreSQL."""
    max_pages, ttl_days = config.web.index_max_pages, config.web.index_ttl_days
    if backend == "sqlite":
        path = config.state_dir / INDEX_FILE
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
        pool = parse_pool(config, resources)
        pool.warm_up()  # while the first page is fetched
        deps = engine_deps(config, fetcher, pool, resources, is_command=True)
        yield PageReader(LocalWebEngine(deps, config.web), fetcher, deps)
