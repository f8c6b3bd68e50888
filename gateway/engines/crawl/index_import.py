"""Fills the search index from a site or a folder, for the commands `gateway index add` and `gateway index remove`.

The pages are shared by all keys. The addresses of a folder's files are file:// URLs. Knows no command line.
"""

import asyncio
from pathlib import Path

from gateway.config.settings import Web
from gateway.domain import CrawlRequest, Json, Progress
from gateway.engines.crawl.crawler import Crawler, CrawlPlan
from gateway.engines.crawl.engine import EngineDeps, indexed_page
from gateway.engines.crawl.outcome_note import explain
from gateway.engines.crawl.page_loader import LoadedPage, PageLoader
from gateway.engines.documents.parse_pool import ExtractOptions, ParsePool
from gateway.engines.fetch.errors import FetchFailed, SkippedUrl
from gateway.engines.fetch.robots import RobotsCache
from gateway.engines.fetch.urls import canonical, from_caller, parse_url
from gateway.engines.index.port import Index, IndexBatch
from gateway.engines.index.rows import SHARED, IndexedPage
from gateway.errors import InvalidRequest

MAX_FILE_BYTES = 10_485_760
"""As much as a fetched page may have once unpacked (FetchLimits)."""
FILL_BUDGET_S = 6 * 3600.0
"""Chosen: a site of 10,000 pages at one request in two seconds; an operator can interrupt it, and nothing is lost."""
OPERATOR = "the command line"
"""The owner of the pages that a command reads: it shares no turn with a key."""
_MAX_DEPTH = 16
_MAX_BREADTH = 500
"""Depth and links per page of the crawl. Chosen: the whole of an ordinary site; the caller's limit bounds the pages."""
_PATH_BEGINNINGS = ("/", "./", "../", "~")
"""How a folder is written, and no web address."""
_READ_AT_ONCE = 8
"""Files read at once. Chosen: twice the most parsing processes (ParsePool), so that none waits for the disk."""
_KINDS = {
    ".html": "text/html", ".htm": "text/html", ".xhtml": "application/xhtml+xml", ".md": "text/markdown",
    ".markdown": "text/markdown", ".txt": "text/plain", ".rst": "text/plain", ".pdf": "application/pdf",
    ".json": "application/json", ".xml": "application/xml",
}  # fmt: skip


class IndexFiller:
    """Adds pages to the index and removes them. Its dependencies are closed by the code that built them."""

    def __init__(self, deps: EngineDeps, pool: ParsePool, settings: Web) -> None:
        self._loader: PageLoader = deps.loader
        self._robots: RobotsCache = deps.robots
        self._index: Index = deps.index
        self._pool = pool
        self._settings = settings

    async def add(self, source: str, limit: int, progress: Progress, depth: str = "basic") -> Json:
        """Adds at most `limit` pages of the site or folder `source`: `{added, failed: [{url, error}], note?}`. `depth`
        as of an extract: "advanced" renders a site's pages where the configuration has it so.

        Raises InvalidRequest, EngineMissing.
        """
        folder = Path(source)
        if "://" not in source and await asyncio.to_thread(folder.is_dir):
            return await self._add_folder(folder, limit, progress)
        return await self._add_site(source, limit, progress, depth)

    async def remove(self, source: str) -> int:
        """Removes one page, or all pages below a folder or a URL that ends with `/`, of every key; returns how many."""
        if "://" not in source and await asyncio.to_thread(Path(source).exists):
            path = await asyncio.to_thread(Path(source).resolve)
            return await self._index.remove(path.as_uri() + ("/" if path.is_dir() else ""))
        address = from_caller(source)
        return await self._index.remove(canonical(address) or address)

    async def stats(self) -> Json:
        """`{pages, bytes, oldest, newest, error}`, see Index.stats."""
        return await self._index.stats()

    async def _add_site(self, source: str, limit: int, progress: Progress, depth: str) -> Json:
        try:
            root = canonical(str(parse_url(from_caller(source))))
        except SkippedUrl as error:
            reason = f"{error.message}; give a URL or a folder"
            if source.startswith(_PATH_BEGINNINGS):
                reason = "there is no such folder"
            raise InvalidRequest(f"{source}: {reason}", param="url") from error
        request = CrawlRequest(
            root or source,
            max_depth=_MAX_DEPTH,
            max_breadth=_MAX_BREADTH,
            limit=limit,
            allow_external=False,
            extract_depth=depth,
        )
        batch = IndexBatch(self._index.add)

        async def take(page: LoadedPage) -> None:
            if not page.data.get("noindex"):
                await batch.take(indexed_page(page, SHARED))

        plan = CrawlPlan(request, root or source, FILL_BUDGET_S, take=take, hold_chars=0)
        robots = self._robots if self._settings.respect_robots else None
        try:
            async with self._loader.of(OPERATOR) as loader:
                outcome = await Crawler(loader, robots, plan, progress).run()
        finally:  # an interrupt does not lose the pages read before it
            await batch.store()
        failed = [{"url": url, "error": failure.message} for url, failure in outcome.failures]
        return _summary(batch, failed, explain(outcome, request, bool(batch.added)))

    async def _add_folder(self, folder: Path, limit: int, progress: Progress) -> Json:
        paths = (await asyncio.to_thread(_readable_files, folder))[:limit]
        batch = IndexBatch(self._index.add)
        failed: list[Json] = []
        done = 0

        async def one(path: Path) -> None:
            nonlocal done
            try:
                await batch.take(await self._load(path))
            except FetchFailed as failure:
                failed.append({"url": path.as_uri(), "error": failure.message})
            done += 1
            progress.step(done, len(paths), path.name)

        try:
            for at in range(0, len(paths), _READ_AT_ONCE):
                await asyncio.gather(*map(one, paths[at : at + _READ_AT_ONCE]))
        finally:
            await batch.store()
        return _summary(batch, failed, "" if paths else "The folder holds no file that can be read.")

    async def _load(self, path: Path) -> IndexedPage:
        uri, body = await asyncio.to_thread(_read_file, path)
        data = await self._pool.extract(body, ExtractOptions(uri, _KINDS[path.suffix.lower()]))
        if not data["content"]:
            raise FetchFailed("the file holds no readable text", "empty")
        return IndexedPage(uri, data["title"], data["content"], SHARED, data["hash"], data.get("published"))


def _summary(batch: IndexBatch, failed: list[Json], note: str) -> Json:
    notes = " ".join(text for text in (note, batch.problem) if text)
    data: Json = {"added": batch.added, "failed": failed}
    return {**data, "note": notes} if notes else data


def _readable_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in _KINDS and not path.is_dir())


def _read_file(path: Path) -> tuple[str, bytes]:
    try:
        resolved = path.resolve()
        if resolved.stat().st_size > MAX_FILE_BYTES:
            raise FetchFailed(f"the file is larger than {MAX_FILE_BYTES} bytes", "too_large")
        return resolved.as_uri(), resolved.read_bytes()
    except OSError as error:
        raise FetchFailed(f"the file cannot be read ({error.strerror})", "unreadable") from error
