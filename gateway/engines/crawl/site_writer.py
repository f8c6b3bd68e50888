"""Crawls a site into a folder. Knows no command line and no form of files."""

from gateway.config.settings import Web
from gateway.domain import CrawlRequest, Json, Progress
from gateway.engines.crawl.crawler import Crawler, CrawlPlan
from gateway.engines.crawl.index_import import FILL_BUDGET_S, OPERATOR
from gateway.engines.crawl.outcome_note import explain
from gateway.engines.crawl.page_loader import PageLoader
from gateway.engines.crawl.site_folder import SiteFolder
from gateway.engines.fetch.errors import SkippedUrl
from gateway.engines.fetch.robots import RobotsCache
from gateway.engines.fetch.urls import canonical, from_caller, parse_url
from gateway.errors import InvalidRequest


class SiteWriter:
    """`loader` must have been made with `folder` as its saved pages."""

    def __init__(self, loader: PageLoader, robots: RobotsCache, folder: SiteFolder, settings: Web) -> None:
        self._loader = loader
        self._robots = robots
        self._folder = folder
        self._settings = settings

    async def write(self, request: CrawlRequest, delay_s: float, progress: Progress) -> Json:
        """Write the pages: `{written, unchanged, failed: [{url, error}], note}`.

        Raises InvalidRequest, EngineMissing, OSError.
        """
        try:
            root = canonical(str(parse_url(from_caller(request.url)))) or request.url
        except SkippedUrl as error:
            raise InvalidRequest(f"{request.url}: {error.message}; give the URL of a site", param="url") from error
        plan = CrawlPlan(request, root, FILL_BUDGET_S, take=self._folder.take, hold_chars=0, delay_s=delay_s)
        robots = self._robots if self._settings.respect_robots else None
        async with self._loader.of(OPERATOR) as loader:
            outcome = await Crawler(loader, robots, plan, progress).run()
        written, unchanged = self._folder.written, self._folder.unchanged
        return {
            "written": written,
            "unchanged": unchanged,
            "failed": [{"url": url, "error": failure.message} for url, failure in outcome.failures],
            "note": explain(outcome, request, bool(written or unchanged)),
        }
