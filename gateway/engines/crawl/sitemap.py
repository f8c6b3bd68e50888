"""Sitemaps: the pages a site lists itself, for maps. sitemaps.org protocol 0.9, read 2026-11-21.

Read with a linear search for <loc>, never with an XML parser: no entities, no nesting, bounded in number and size.
"""

import asyncio
import re
from collections import deque
from html import unescape
from urllib.parse import urlsplit

from gateway.engines.crawl.frontier import same_site, site_key
from gateway.engines.fetch.decompress import Inflater
from gateway.engines.fetch.errors import FetchFailed
from gateway.engines.fetch.fetcher import Fetcher, FetchLimits
from gateway.engines.fetch.robots import Robots
from gateway.engines.fetch.urls import canonical

MAX_FILES = 20
MAX_URLS = 50_000
_MAX_BYTES = 10_485_760
_LIMITS = FetchLimits(_MAX_BYTES, _MAX_BYTES, 10.0)
_LOC = re.compile(rb"<(?:\w+:)?loc>\s*(?:<!\[CDATA\[)?\s*([^<\]\s]{1,2000})", re.IGNORECASE)


async def listed_urls(fetcher: Fetcher, root: str, robots: Robots) -> list[str]:
    """Canonical URLs of the root's site, those below the root's folder first; empty when there is no sitemap."""
    parts = urlsplit(root)
    waiting: deque[str] = deque(robots.sitemaps or (f"{parts.scheme}://{parts.netloc}/sitemap.xml",))
    site = site_key(root)
    read: set[str] = set()
    found: dict[str, None] = {}
    while waiting and len(read) < MAX_FILES and len(found) < MAX_URLS:
        url = canonical(waiting.popleft())
        if url is None or url in read or not same_site(url, site):
            continue
        read.add(url)
        try:
            body = await _body(fetcher, url)
        except FetchFailed:
            continue
        locations = await asyncio.to_thread(_locations, body)
        if b"<sitemapindex" in body[:4096]:
            waiting.extend(locations[: MAX_FILES * 2])
        else:
            await asyncio.to_thread(_gather, locations, site, found)
    folder = root.rpartition("/")[0] + "/"
    return sorted(found, key=lambda url: not url.startswith(folder))


async def _body(fetcher: Fetcher, url: str) -> bytes:
    fetched = await fetcher.fetch(url, _LIMITS, "application/xml,text/xml,*/*;q=0.5")
    if fetched.status != 200:
        return b""
    if fetched.body.startswith(b"\x1f\x8b"):
        return await asyncio.to_thread(Inflater(_MAX_BYTES, gzip=True).feed, fetched.body)
    return fetched.body


def _locations(body: bytes) -> list[str]:
    return [unescape(match[1].decode("utf-8", "replace")) for match in _LOC.finditer(body)][:MAX_URLS]


def _gather(locations: list[str], site: tuple[str, int | None], found: dict[str, None]) -> None:
    for location in locations:
        url = canonical(location)
        if url is not None and same_site(url, site):
            found.setdefault(url)
