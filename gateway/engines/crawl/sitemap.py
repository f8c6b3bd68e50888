"""Finds the pages a site lists in its sitemaps, to complete a map.

It follows sitemap indexes within limits and reads every file in a parsing process (engines.documents.feeds). It
knows neither the crawl's scope nor the index. Format: sitemaps.org protocol 0.9, read 2026-11-21.
"""

import asyncio
from collections import deque
from urllib.parse import urlsplit

from gateway.domain import Json
from gateway.engines.crawl.frontier import same_site, site_key
from gateway.engines.crawl.page_loader import PageLoader
from gateway.engines.fetch.errors import FetchFailed, Unreadable
from gateway.engines.fetch.robots import Robots
from gateway.engines.fetch.urls import canonical, join
from gateway.errors import Overloaded

MAX_FILES = 20  # files read for one map
MAX_INDEX_DEPTH = 3
"""Indexes within indexes. The protocol allows none, sites nest one or two; deeper ones would only use up MAX_FILES."""
MAX_URLS = 50_000
"""Pages taken in all. From the protocol: what one file may list. A map returns far fewer (engine.MAX_LISTED)."""


async def listed_urls(loader: PageLoader, root: str, robots: Robots) -> list[str]:
    """Canonical URLs of the root's site, those below the root's folder first; empty when there is no sitemap.

    Starts from the sitemaps that robots.txt names, else from `/sitemap.xml`. A file that cannot be read is skipped.
    Raises EngineMissing.
    """
    parts = urlsplit(root)
    starts = robots.sitemaps or (f"{parts.scheme}://{parts.netloc}/sitemap.xml",)
    queue = deque((address, 0) for address in starts)
    site = site_key(root)
    requested: set[str] = set()
    pages: dict[str, None] = {}
    while queue and len(requested) < MAX_FILES and len(pages) < MAX_URLS:
        address, depth = queue.popleft()
        url = canonical(join(root, address) or address)
        if url is None or url in requested or not same_site(url, site):
            continue
        requested.add(url)
        try:
            sitemap: Json = await loader.load_sitemap(url)
        except (FetchFailed, Unreadable, Overloaded):
            continue
        if depth < MAX_INDEX_DEPTH:
            queue.extend((address, depth + 1) for address in sitemap["sitemaps"][: 2 * MAX_FILES])
        await asyncio.to_thread(_add_pages, sitemap["pages"], site, pages)
    folder = root.rpartition("/")[0] + "/"
    return sorted(pages, key=lambda url: not url.startswith(folder))


def _add_pages(addresses: list[str], site: tuple[str, int | None], pages: dict[str, None]) -> None:
    """Adds the canonical form of each address on `site` to `pages`."""
    for address in addresses:
        url = canonical(address)
        if url is not None and same_site(url, site):
            pages.setdefault(url)
