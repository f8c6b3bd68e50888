"""Composition of the web engine without a server, index or provider, for `gateway extract`."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from gateway.app.web_tools import engine_deps, parse_pool, web_fetcher
from gateway.config.settings import Config
from gateway.domain import ExtractRequest, Json, WebCall
from gateway.engines.crawl.engine import EngineDeps, LocalWebEngine
from gateway.engines.fetch.fetcher import Fetcher
from gateway.engines.fetch.urls import from_caller
from gateway.engines.render.process import NotRendered
from gateway.errors import EngineMissing

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
