"""The embedded web engine: extract, crawl and map, which answer with the tools' `data` objects.

Implements gateway.ports.WebEngine. Pages are in the search index when the call that fetched them returns.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gateway.config.settings import Web
from gateway.domain import CrawlRequest, ExtractRequest, Json, Progress, WebCall
from gateway.engines.crawl.choosing import MAX_JUDGED_CHARS, Chooser, PageCandidate
from gateway.engines.crawl.crawler import Crawler, CrawlOutcome, CrawlPlan
from gateway.engines.crawl.frontier import Scope
from gateway.engines.crawl.page_loader import HostPauses, LoadedPage, PageLoader, empty_reason
from gateway.engines.crawl.page_results import (
    NO_MATCH,
    crawl_result,
    describe_pages,
    explain,
    extract_result,
    failed_result,
    lacking_note,
    ocr_note,
    options_for,
    unread_note,
    unread_result,
    without_twins,
)
from gateway.engines.crawl.sitemap import listed_urls
from gateway.engines.fetch.errors import FetchFailed, SkippedUrl
from gateway.engines.fetch.robots import ALLOW_ALL, Robots, RobotsCache
from gateway.engines.fetch.urls import canonical, from_caller, parse_url
from gateway.engines.index.page_rows import SHARED, IndexedPage
from gateway.engines.index.port import Index, IndexBatch, WriteTurns
from gateway.engines.render.renderer import Renderer
from gateway.errors import EngineMissing, GatewayError, InvalidRequest, Overloaded

PATIENT_BUDGET_S = 120.0
"""Time budget of a call with a progress token, whose client waits for as long as it gets progress."""
SITEMAP_BUDGET_S = 15.0  # time for all sitemaps of a map, beyond its crawl
_PICTURES_SHARE = 0.8  # the part of the time of an extract in which scanned pages are read by OCR
MAX_LISTED = 5_000  # sitemap URLs that instructions choose from
_FILLING_S = 3.0
"""Time to match sitemap URLs with patterns and robots.txt rules, which may be many and slow. Runs in a thread."""


@dataclass(frozen=True, slots=True)
class EngineDeps:
    """The engine's dependencies; `app` closes the fetcher, the pool and the index."""

    loader: PageLoader
    robots: RobotsCache
    index: Index
    chooser: Chooser = field(default_factory=Chooser)
    renderer: Renderer | None = None


class LocalWebEngine:
    """Extract, crawl and map. It has no state of its own, so calls may run side by side."""

    def __init__(self, deps: EngineDeps, settings: Web) -> None:
        self._chooser = deps.chooser
        self._loader = deps.loader
        self._robots = deps.robots
        self._writes = WriteTurns(deps.index)
        self._settings = settings

    async def extract(self, request: ExtractRequest, call: WebCall) -> Json:
        """`{results: [{url, final_url?, title, raw_content, rendered?, note?, sections?, images?, favicon?}],
        failed_results: [{url, error, retry_after_s?}], response_time, truncated?, note?}`.

        Each URL succeeds or fails on its own. Raises EngineMissing, Overloaded when it holds for every URL."""
        started = time.monotonic()
        results: dict[int, Json] = {}
        failures: dict[int, Json] = {}
        refusals: dict[int, GatewayError] = {}
        pages: list[LoadedPage] = []
        without_section: list[str] = []
        pauses = HostPauses()
        budget_s = PATIENT_BUDGET_S if call.patient else self._settings.crawl_budget_s

        async def one(at: int, raw: str, loader: PageLoader) -> None:
            try:
                page = await self._extract_one(raw, request, loader, pauses)
                results[at] = extract_result(page, request, raw)
                without_section.extend([raw] if page.data.get("lacks_section") else [])
                pages.append(page)
            except FetchFailed as failure:
                failures[at] = failed_result(raw, failure)
            except (EngineMissing, Overloaded) as failure:  # of one address: the others may need nothing of it
                failures[at] = failed_result(raw, failure)
                refusals[at] = failure
            if call.progress is not None:
                call.progress.step(len(results) + len(failures), len(request.urls), raw)

        async with self._loader.of(call.owner, _PICTURES_SHARE * budget_s) as loader:
            tasks = [asyncio.create_task(one(at, raw, loader)) for at, raw in enumerate(request.urls)]
            try:
                await asyncio.wait(tasks, timeout=budget_s)
            finally:
                for task in tasks:
                    task.cancel()
                outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        _raise_first(outcomes)
        if len(refusals) == len(request.urls):
            raise refusals[0]
        unread = [at for at in range(len(request.urls)) if at not in results and at not in failures]
        for at in unread:
            failures[at] = unread_result(request.urls[at], len(request.urls), budget_s)
        data: Json = {
            "results": [results[at] for at in sorted(results)],
            "failed_results": [failures[at] for at in sorted(failures)],
        }
        lacking = lacking_note(sorted(without_section))
        if unread:
            data |= {"truncated": True, "note": "The time budget ended before all pages were read."}
        if lacking:
            data["note"] = f"{data['note']} {lacking}" if unread else lacking
        await self._store(pages, call, data)
        for remark in (describe_pages(page.data for page in pages), ocr_note(pages), unread_note(pages)):
            if remark:
                data["note"] = f"{data['note']} {remark}" if data.get("note") else remark
        return {**data, "response_time": round(time.monotonic() - started, 3)}

    async def _extract_one(
        self, raw: str, request: ExtractRequest, loader: PageLoader, pauses: HostPauses
    ) -> LoadedPage:
        options = options_for(raw, request, self._settings.result_budget_chars)
        page = await loader.load(options, pauses=pauses)
        reason = empty_reason(page)
        if reason is not None:
            raise FetchFailed(reason, "empty")
        return page

    async def crawl(self, request: CrawlRequest, call: WebCall) -> Json:
        """As `extract`, and `base_url`; each result has its `depth`, 0 for the root.

        Raises InvalidRequest, EngineMissing, Overloaded.
        """
        started = time.monotonic()
        batch = IndexBatch(partial(self._writes.add, key=call.owner))

        async def take(page: LoadedPage) -> None:
            if self._settings.index_fetched and not page.data.get("noindex"):
                await batch.take(self._indexed(page, call.owner))

        outcome = await self._explore(request, call, take)
        data: Json = {"base_url": request.url}
        pages = await self._relevant(outcome, request, call.owner)
        data["results"] = [crawl_result(depth, page, request.include_favicon) for depth, page in pages]
        data["failed_results"] = [failed_result(url, failure) for url, failure in outcome.failures]
        await batch.store()
        parts = (explain(outcome, request, bool(pages)), describe_pages(page.data for _, page in pages), batch.problem)
        if notes := " ".join(text for text in parts if text):
            data["note"] = notes
        if outcome.cut_short:
            data["truncated"] = True
        return {**data, "response_time": round(time.monotonic() - started, 3)}

    async def map(self, request: CrawlRequest, call: WebCall) -> Json:
        """`{base_url, results: [url], response_time, truncated?, note?}`. Raises InvalidRequest, EngineMissing,
        Overloaded."""
        started = time.monotonic()
        outcome = await self._explore(request, call)
        root_names = [canonical(from_caller(request.url)) or request.url]
        root_names += [visit.url for visit in outcome.visits if visit.depth == 0]
        urls = [visit.url for visit in outcome.visits]
        if len(urls) < request.limit and outcome.pages_read:
            urls = await self._with_sitemap(urls, request, call)
        urls = without_twins(urls, root_names)
        any_url = bool(urls)
        if request.instructions:
            urls = await self._choose(urls, outcome, request, call.owner)
        urls = urls[: request.limit]
        data: Json = {"base_url": request.url, "results": urls}
        note = NO_MATCH if any_url and not urls else explain(outcome, request, bool(urls))
        if note:
            data["note"] = note
        if outcome.cut_short:
            data["truncated"] = True
        return {**data, "response_time": round(time.monotonic() - started, 3)}

    async def _choose(self, urls: list[str], outcome: CrawlOutcome, request: CrawlRequest, owner: str) -> list[str]:
        """The URLs of a map that fit, judged by their links' texts and the beginnings of the pages that were read."""
        candidates = []
        for url in urls:
            title, text = outcome.beginnings.get(url, ("", ""))
            candidates.append(PageCandidate(f"{outcome.anchors.get(url, '')} {title}".strip(), url, text))
        fitting = await self._chooser.choose(candidates, request.instructions or "", request.url, owner)
        return [urls[at] for at in fitting]

    async def _with_sitemap(self, urls: list[str], request: CrawlRequest, call: WebCall) -> list[str]:
        """`urls` completed from the site's sitemaps: up to the limit, or to MAX_LISTED when instructions will
        choose."""
        root = canonical(from_caller(request.url)) or request.url
        robots = await self._robots.of(root) if self._settings.respect_robots else ALLOW_ALL
        room = MAX_LISTED if request.instructions else request.limit
        try:
            async with asyncio.timeout(SITEMAP_BUDGET_S), self._loader.of(call.owner) as loader:
                listed = await listed_urls(loader, root, robots)
                return await asyncio.to_thread(_complete, urls, listed, Scope(request, root), robots, room)
        except TimeoutError:
            return urls

    async def _explore(
        self, request: CrawlRequest, call: WebCall, take: Callable[[LoadedPage], Awaitable[None]] | None = None
    ) -> CrawlOutcome:
        """Runs a crawl whose pages go to `take`, or without it a map. Raises InvalidRequest."""
        try:
            root = canonical(str(parse_url(from_caller(request.url))))
        except SkippedUrl as error:
            raise InvalidRequest(f"url: {error.message}", param="url") from error
        if root is None:
            raise InvalidRequest("url: only absolute http:// and https:// URLs can be fetched", param="url")
        budget_s = PATIENT_BUDGET_S if call.patient else self._settings.crawl_budget_s
        if request.instructions:
            budget_s = max(budget_s - self._chooser.extra_s, budget_s / 2)
        hold_chars = max(self._settings.result_budget_chars, MAX_JUDGED_CHARS) + 1
        plan = CrawlPlan(request, root, budget_s, take is None, take, hold_chars)
        robots = self._robots if self._settings.respect_robots else None
        async with self._loader.of(call.owner) as loader:
            return await Crawler(loader, robots, plan, call.progress or Progress()).run()

    async def _relevant(self, outcome: CrawlOutcome, request: CrawlRequest, owner: str) -> list[tuple[int, LoadedPage]]:
        pages = [(visit.depth, page) for visit, page in outcome.pages]
        candidates = [PageCandidate(page.data["title"], page.address, page.data["content"]) for _, page in pages]
        fitting = await self._chooser.choose(candidates, request.instructions or "", request.url, owner)
        return [pages[at] for at in fitting]

    async def _store(self, pages: list[LoadedPage], call: WebCall, data: Json) -> None:
        if not self._settings.index_fetched:
            return
        rows = [self._indexed(page, call.owner) for page in pages if _indexable(page)]
        problem = await self._writes.add(rows, call.owner)
        if problem is not None:
            data["note"] = f"{data['note']} {problem}" if data.get("note") else problem

    def _indexed(self, page: LoadedPage, owner: str) -> IndexedPage:
        shared = self._settings.index_scope == "shared" and page.public
        return indexed_page(page, SHARED if shared else owner)


def _complete(urls: list[str], listed: list[str], scope: Scope, robots: Robots, room: int) -> list[str]:
    """`urls` and those of `listed` that are selected and allowed, at most `room`. Runs in a thread, for
    `_FILLING_S`."""
    known = dict.fromkeys(urls)
    end = time.monotonic() + _FILLING_S
    for url in listed:
        if len(known) >= room or time.monotonic() > end:
            break
        if scope.selects(url) and robots.allows(url):
            known.setdefault(url)
    return list(known)


def indexed_page(page: LoadedPage, owner: str) -> IndexedPage:
    """The page as the index stores it, for `owner`."""
    data = page.data
    return IndexedPage(
        page.address,
        data["title"],
        data["content"],
        owner,
        data["hash"],
        data.get("published"),
        data.get("favicon"),
        page.fetched_at,
    )


def _indexable(page: LoadedPage) -> bool:
    return bool(page.data.get("content")) and not page.data.get("noindex")


def _raise_first(outcomes: list[Any]) -> None:
    """Raises the first error that concerns the whole call, such as a missing engine; ignores cancelled tasks."""
    for each in outcomes:
        if isinstance(each, BaseException) and not isinstance(each, asyncio.CancelledError):
            raise each
