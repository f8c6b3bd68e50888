"""Crawls or maps a site: loads the frontier's pages with a few tasks at once, under a page limit and a time limit.

A page that fails or repeats another one does not count towards the limit.

A page passes through these steps, each in its own task:
  pop (`_drive`) -> robots.txt -> load -> scope of a redirect's end -> repeat? -> offer its links -> result, or failure
The crawl ends when the limit, the time budget or the memory budget is reached, or when no page waits and no task runs.
`_running` are the tasks, at most MAX_WORKERS; `_away` counts those on other sites, at most MAX_AWAY, `_unnamed` those
whose links hold no word of the instructions, at most MAX_UNNAMED.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import gateway.engines.documents.simhash as fingerprint
from gateway.domain import CrawlRequest, Progress
from gateway.engines.crawl.choosing import Interest
from gateway.engines.crawl.frontier import Frontier, Scope, Visit
from gateway.engines.crawl.page_loader import HostPauses, LoadedPage, PageLoader, empty_reason
from gateway.engines.documents.parse_pool import ExtractOptions
from gateway.engines.fetch.errors import FetchFailed
from gateway.engines.fetch.robots import ALLOW_ALL, Robots, RobotsCache
from gateway.engines.fetch.urls import canonical, route_of
from gateway.errors import EngineMissing

MAX_WORKERS = 12  # pages in work at once
MAX_AWAY = 6  # of these, pages on other sites: half of MAX_WORKERS, so that slow hosts elsewhere do not stop the crawl
MAX_UNNAMED = 2  # of these, pages whose links hold no word of the instructions
MAX_FAILURES = 50  # failures listed in a result
BEGINNING_CHARS = 2_000  # text of a page that a map keeps to judge it by instructions. 5,000 of them take 10 MB.
MAX_CONTENT_CHARS = 60_000_000  # text of all pages that a crawl keeps, about 60 to 240 MB
_EXTRA_ATTEMPTS = 50  # fetches beyond twice the limit, after which a crawl of failing or repeated pages ends
_ROBOTS = "the site's robots.txt does not allow this page to be crawled"
_ROBOTS_UNKNOWN = "the site's robots.txt could not be read, so it must not be crawled for now"


@dataclass(slots=True)
class CrawlOutcome:
    """What a crawl found.

    `pages` are (visit, page) in breadth-first order, `failures` (url, failure), at most MAX_FAILURES of the `failed`.
    For a map: `visits` are the URLs found, `anchors` maps each to the most promising text of its links, and
    `beginnings` the URL of each page read to (title, first words). `waiting`: pages found that were not read.
    `cut_pages` are pages of which `max_breadth` left out links.
    `reasons` counts pages left out by a FetchFailed code, or `duplicate filtered refused trap empty scripted`.
    """

    pages: list[tuple[Visit, LoadedPage]] = field(default_factory=list)
    failures: list[tuple[str, FetchFailed]] = field(default_factory=list)
    visits: list[Visit] = field(default_factory=list)
    anchors: dict[str, str] = field(default_factory=dict)
    beginnings: dict[str, tuple[str, str]] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    pages_read: int = 0
    cut_pages: int = 0
    waiting: int = 0
    failed: int = 0
    timed_out: bool = False
    too_much: bool = False

    @property
    def cut_short(self) -> bool:
        """True when the time or memory budget ended the crawl, not the site's end or the caller's limit."""
        return self.timed_out or self.too_much


@dataclass(frozen=True, slots=True)
class CrawlPlan:
    """A crawl to run from `root`, a canonical URL, for at most `budget_s` seconds.

    `map_only` fetches no pages at the greatest depth. `take` gets each page with its whole content as it is read;
    the outcome keeps `hold_chars` of the content. `delay_s`: the least time between requests to one host.
    """

    request: CrawlRequest
    root: str
    budget_s: float
    map_only: bool = False
    take: Callable[[LoadedPage], Awaitable[None]] | None = None
    hold_chars: int = 2_000_000
    delay_s: float = 0.0


class Crawler:
    """One crawl: call `run` once. Raises InvalidRequest for a bad pattern."""

    def __init__(self, loader: PageLoader, robots: RobotsCache | None, plan: CrawlPlan, progress: Progress) -> None:
        self._loader = loader
        self._pauses = HostPauses()
        self._robots = robots
        self._plan = plan
        self._progress = progress
        self._scope = Scope(plan.request, plan.root)
        self._interest = Interest(plan.request.instructions, plan.root)
        self._frontier = Frontier(
            plan.root, self._scope, self._interest, max_depth=plan.request.max_depth, breadth=plan.request.max_breadth
        )
        self._hashes: set[str] = set()
        self._simhashes: list[int] = []
        self._running: set[asyncio.Task[None]] = set()
        self._attempts = 0
        self._away = 0
        self._unnamed = 0
        self._content_chars = 0
        self._done = 0  # pages read that are in the result
        self._reported = -1
        self.outcome = CrawlOutcome()

    async def run(self) -> CrawlOutcome:
        """Visits pages until the limit, the budget or the site's end; cancelling it stops every fetch.

        Raises EngineMissing, Overloaded.
        """
        try:
            async with asyncio.timeout(self._plan.budget_s):
                await self._drive()
        except TimeoutError:
            self.outcome.timed_out = True
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)
        self.outcome.pages.sort(key=lambda item: item[0])
        self.outcome.visits.sort()
        self.outcome.anchors = {visit.url: self._frontier.anchor_of(visit) for visit in self.outcome.visits}
        self.outcome.waiting = len(self._frontier)
        self.outcome.reasons["filtered"] += self._frontier.filtered
        self.outcome.cut_pages = self._frontier.cut_pages
        self.outcome.reasons["trap"] += self._scope.trapped
        return self.outcome

    async def _drive(self) -> None:
        while True:
            while len(self._running) < MAX_WORKERS and self._may_start():
                visit = self._frontier.pop(home_only=self._away >= MAX_AWAY, named_only=self._unnamed >= MAX_UNNAMED)
                if visit is None:
                    break
                if self._plan.map_only and visit.depth >= self._plan.request.max_depth:
                    continue
                self._attempts += 1
                away = not self._scope.is_home(visit.url)
                self._away += away
                self._unnamed += not visit.is_named
                self._running.add(asyncio.create_task(self._visit(visit, away)))
            if not self._running:
                return
            done, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            self._running -= done
            for task in done:
                task.result()

    def _may_start(self) -> bool:
        limit = self._plan.request.limit
        if self._plan.map_only:
            full = len(self.outcome.visits) >= limit
        else:
            full = len(self.outcome.pages) + len(self._running) >= limit
        if self._content_chars > MAX_CONTENT_CHARS:
            self.outcome.too_much = True
            return False
        return not full and self._attempts < 2 * limit + _EXTRA_ATTEMPTS

    async def _visit(self, visit: Visit, away: bool) -> None:
        try:
            await self._process(visit)
        finally:
            self._away -= away
            self._unnamed -= not visit.is_named

    async def _process(self, visit: Visit) -> None:
        try:
            robots = await self._rules(visit.url)
            page = await self._loader.load(
                self._options(visit.url), max(robots.delay_s, self._plan.delay_s), self._pauses
            )
            await self._check_redirect(visit, page)
        except FetchFailed as failure:
            self._record_failure(visit, failure)
            return
        except EngineMissing as missing:
            if visit.depth == 0:
                raise
            self._record_failure(visit, FetchFailed(missing.message, "unsupported_type"))
            return
        await self._add(visit, page)
        self._report(page.url)

    def _report(self, url: str) -> None:
        """Reports progress when another page is in the result, and once after a root that is not part of it."""
        if self._done <= self._reported:
            return
        self._reported = self._done
        if self._plan.map_only:
            known = len(self.outcome.visits)
        else:
            others = sum(not task.done() for task in self._running) - 1
            known = self._done + len(self._frontier) + others
        self._progress.step(self._done, min(self._plan.request.limit, known), url)

    def _options(self, url: str) -> ExtractOptions:
        request = self._plan.request
        routes = self._loader.renders(request.extract_depth)
        return ExtractOptions(
            url.partition("#")[0],
            depth=request.extract_depth,
            format=request.format,
            fragment=route_of(url)[1:] if routes else "",
            links=True,
            routes=routes,
        )

    async def _rules(self, url: str) -> Robots:
        if self._robots is None:
            return ALLOW_ALL
        robots = await self._robots.of(url)
        if not await robots.allows_in_turn(url):
            raise FetchFailed(_ROBOTS if robots.known else _ROBOTS_UNKNOWN, "robots")
        return robots

    async def _check_redirect(self, visit: Visit, page: LoadedPage) -> None:
        """Applies scope and robots.txt to the end of a redirect. Raises FetchFailed."""
        if page.url == visit.url:
            return
        if visit.depth == 0:
            self._scope.adopt(page.url)
        elif not self._scope.allows_host(page.url):
            raise FetchFailed("the page redirects to a site that was not asked for", "redirects")
        await self._rules(page.url)

    def _record_failure(self, visit: Visit, failure: FetchFailed) -> None:
        self.outcome.reasons[failure.code] += 1
        self.outcome.failed += 1
        if len(self.outcome.failures) < MAX_FAILURES:
            self.outcome.failures.append((visit.url, failure))

    async def _add(self, visit: Visit, page: LoadedPage) -> None:
        """Adds the page to the outcome, unless it repeats another one, and its links to the frontier."""
        if self._is_repeat(visit, page):
            self.outcome.reasons["duplicate"] += 1
            return
        self.outcome.pages_read += 1
        links = [link for link in page.data.pop("links", []) if link[0] != visit.url]
        title, content = page.data.get("title", ""), page.data.get("content", "")
        worth = self._interest.of_page(title, content) if self._interest else 0.0
        added = await self._frontier.offer(visit, links, worth)
        is_selected = visit.depth > 0 or self._scope.selects(page.url)
        is_refused = self._interest.refuses(f"{title} {visit.anchor}", page.address)
        if self._plan.map_only:
            self.outcome.visits += [replace(visit, url=page.address)] if visit.depth == 0 and is_selected else []
            self.outcome.visits += [each for each in added if not self._interest.refuses(each.anchor, each.url)]
            self.outcome.beginnings[page.address] = (title, content[:BEGINNING_CHARS])
            self._done += is_selected
            return
        reason = empty_reason(page)
        if not is_selected:
            self.outcome.reasons["filtered"] += 1
        elif is_refused:
            self.outcome.reasons["refused"] += 1
        elif reason is not None:
            self._record_failure(visit, FetchFailed(reason, "scripted" if page.data.get("scripted") else "empty"))
        else:
            self.outcome.pages.append((visit, page))
            if self._plan.take is not None:
                await self._plan.take(page)
            page.data["content"] = page.data["content"][: self._plan.hold_chars]
            self._content_chars += len(page.data["content"])
            self._done += 1

    def _is_repeat(self, visit: Visit, page: LoadedPage) -> bool:
        for url in {canonical(page.url) or page.url, page.address} - {visit.url}:
            if not self._frontier.mark_seen(url):
                return True
        if not page.data.get("content"):
            return False
        simhash = int(page.data["simhash"], 16)
        if page.data["hash"] in self._hashes or any(fingerprint.near(simhash, other) for other in self._simhashes):
            return True
        self._hashes.add(page.data["hash"])
        self._simhashes.append(simhash)
        return False
