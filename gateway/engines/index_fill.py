"""Fills the search index from a site or a folder, for `gateway index add`: shared pages, with progress.

A folder's HTML, Markdown, text and PDF files are read as they stand; their addresses are file:// URLs.
"""

import asyncio
from pathlib import Path

from gateway.config import Web
from gateway.engines.crawl import Crawler, CrawlPlan
from gateway.engines.extract import ExtractOptions
from gateway.engines.failures import FetchFailed, SkippedUrl
from gateway.engines.index import IndexedPage, PageIndex
from gateway.engines.index_schema import SHARED
from gateway.engines.load import PageLoader
from gateway.engines.parse_pool import ParsePool
from gateway.engines.robots import RobotsCache
from gateway.engines.urls import canonical, from_caller, parse_url
from gateway.engines.web_engine import EngineParts, explain, indexed_page
from gateway.errors import InvalidRequest
from gateway.model import CrawlRequest, Json, Progress

MAX_FILE_BYTES = 10_485_760
FILL_BUDGET_S = 6 * 3600.0
_BATCH = 50
_KINDS = {
    ".html": "text/html", ".htm": "text/html", ".xhtml": "application/xhtml+xml", ".md": "text/markdown",
    ".markdown": "text/markdown", ".txt": "text/plain", ".rst": "text/plain", ".pdf": "application/pdf",
    ".json": "application/json", ".xml": "application/xml",
}  # fmt: skip


class IndexFiller:
    """Brings pages in. The parts are the engine's own; whoever built them closes them."""

    def __init__(self, parts: EngineParts, pool: ParsePool, settings: Web) -> None:
        self._loader: PageLoader = parts.loader
        self._robots: RobotsCache = parts.robots
        self._index: PageIndex = parts.index
        self._pool = pool
        self._settings = settings

    async def add(self, source: str, limit: int, progress: Progress) -> Json:
        """`{added, failed: [{url, error}], note?}`. `source` is a URL or a folder. Raises InvalidRequest."""
        folder = Path(source)
        if "://" not in source and await asyncio.to_thread(folder.is_dir):
            return await self._add_folder(folder, limit, progress)
        return await self._add_site(source, limit, progress)

    async def remove(self, url: str) -> int:
        """Takes out one page, or everything below a URL that ends with `/`; of all keys."""
        address = from_caller(url)
        return await self._index.remove(canonical(address) or address)

    async def stats(self) -> Json:
        """See PageIndex.stats."""
        return await self._index.stats()

    async def _add_site(self, source: str, limit: int, progress: Progress) -> Json:
        try:
            root = canonical(str(parse_url(from_caller(source))))
        except SkippedUrl as error:
            raise InvalidRequest(f"{source}: {error.message}; neither is it a folder", param="url") from error
        request = CrawlRequest(root or source, max_depth=16, max_breadth=500, limit=limit, allow_external=False)
        plan = CrawlPlan(request, root or source, FILL_BUDGET_S)
        robots = self._robots if self._settings.respect_robots else None
        outcome = await Crawler(self._loader, robots, plan, progress).run()
        pages = [indexed_page(page, SHARED) for _, page in outcome.pages if not page.data.get("noindex")]
        note = explain(outcome, request, bool(pages))
        return await self._stored(pages, [{"url": url, "error": why} for url, why in outcome.failures], note)

    async def _add_folder(self, folder: Path, limit: int, progress: Progress) -> Json:
        paths = await asyncio.to_thread(lambda: sorted(p for p in folder.rglob("*") if p.suffix.lower() in _KINDS))
        pages: list[IndexedPage] = []
        failed: list[Json] = []
        for done, path in enumerate(paths[:limit], 1):
            try:
                pages.append(await self._read(path))
            except FetchFailed as failure:
                failed.append({"url": path.as_uri(), "error": failure.message})
            progress.step(done, min(len(paths), limit), path.name)
        return await self._stored(pages, failed, "" if paths else "The folder holds no file that can be read.")

    async def _read(self, path: Path) -> IndexedPage:
        uri, body = await asyncio.to_thread(_file, path)
        data = await self._pool.extract(body, ExtractOptions(uri, _KINDS[path.suffix.lower()]))
        if not data["content"]:
            raise FetchFailed("the file holds no readable text", "empty")
        return IndexedPage(uri, data["title"], data["content"], SHARED, data["hash"], data.get("published"))

    async def _stored(self, pages: list[IndexedPage], failed: list[Json], note: str) -> Json:
        problem: str | None = None
        for at in range(0, len(pages), _BATCH):
            problem = problem or await self._index.add(pages[at : at + _BATCH])
        answer: Json = {"added": 0 if problem else len(pages), "failed": failed}
        notes = " ".join(text for text in (note, problem) if text)
        return {**answer, "note": notes} if notes else answer


def _file(path: Path) -> tuple[str, bytes]:
    resolved = path.resolve()
    if resolved.stat().st_size > MAX_FILE_BYTES:
        raise FetchFailed(f"the file is larger than {MAX_FILE_BYTES} bytes", "too_large")
    return resolved.as_uri(), resolved.read_bytes()
