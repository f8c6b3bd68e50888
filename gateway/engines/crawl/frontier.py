"""What a crawl may visit and in which order: breadth first, each page once, traps left alone. No I/O.

With instructions the most promising links go first, at whatever depth they are within the limits. Regexes are RE2:
linear in the length of the URL whatever the pattern. A bad one is refused by name.
"""

import asyncio
import heapq
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import re2

from gateway.domain import CrawlRequest
from gateway.engines.crawl.relevance import Interest
from gateway.engines.fetch.urls import canonical, site_of
from gateway.errors import InvalidRequest

MAX_PATTERNS = 20
MAX_PATTERN_CHARS = 500
MAX_PATH_DEPTH = 16
MAX_SAME_SHAPE = 300
MAX_WAITING = 20_000
_LINKS_A_TURN = 50
_DATED = re.compile(r"/(?:19|20)\d\d(?:[/-]\d{1,2}){1,2}(?:/|$)|calendar", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")


Link = Sequence[Any]
"""`[canonical url, anchor text, is in the main region]`, as engines.metadata has it."""


def compile_patterns(patterns: Iterable[str], param: str) -> list[Any]:
    """Compiled patterns; InvalidRequest names the one that is no regular expression (RE2 syntax)."""
    compiled: list[Any] = []
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 8 << 20
    for pattern in patterns:
        if len(pattern) > MAX_PATTERN_CHARS or len(compiled) >= MAX_PATTERNS:
            raise InvalidRequest(
                f"{param} takes at most {MAX_PATTERNS} patterns of {MAX_PATTERN_CHARS} characters", param=param
            )
        try:
            compiled.append(re2.compile(pattern, options))
        except re2.error as error:
            reason = str(error).strip("b'\"")[:120]
            raise InvalidRequest(
                f"{param}: {pattern!r} is not a valid regular expression ({reason}); "
                "RE2 syntax is understood: no look-around, no back-references",
                param=param,
            ) from error
    return compiled


@dataclass(frozen=True, slots=True, order=True)
class Visit:
    """A page to fetch. Ordered by depth, then by where it was found."""

    depth: int
    place: tuple[int, int]
    url: str
    anchor: str = ""


class Scope:
    """Which URLs a crawl selects: sites, path and domain patterns, and no traps."""

    def __init__(self, request: CrawlRequest, root: str) -> None:
        self._paths = compile_patterns(request.select_paths, "select_paths")
        self._domains = compile_patterns(request.select_domains, "select_domains")
        self._external = request.allow_external
        self._sites = [site_key(root)]
        self._shapes: Counter[str] = Counter()
        self.trapped = 0

    def adopt(self, url: str) -> None:
        """Takes the site that the root redirects to for the crawl's own, too."""
        self._sites.append(site_key(url))

    def is_home(self, url: str) -> bool:
        """True on the crawl's own site."""
        return any(same_site(url, site) for site in self._sites)

    def holds(self, url: str) -> bool:
        """True when the page's host is one the caller wants; said of where a redirect ends, too."""
        if not self._external and not self.is_home(url):
            return False
        host = urlsplit(url).hostname or ""
        return not self._domains or any(pattern.search(host) for pattern in self._domains)

    def selects(self, url: str) -> bool:
        """True when the caller wants this page."""
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if self._paths and not any(pattern.search(path) for pattern in self._paths):
            return False
        return self.holds(url)

    def is_trap(self, url: str) -> bool:
        """Endless spaces: very deep or repeating paths, and too many pages that differ in numbers only."""
        parts = urlsplit(url)
        segments = [segment for segment in parts.path.split("/") if segment]
        if len(segments) > MAX_PATH_DEPTH or max(Counter(segments).values(), default=0) > 3:
            self.trapped += 1
            return True
        shape = parts.netloc + _DIGITS.sub("0", parts.path)
        if parts.query:
            shape += "?" + "&".join(sorted(pair.split("=")[0] for pair in parts.query.split("&")))
        if not parts.query and not _DATED.search(parts.path):
            return False  # numbered pages are a site's own; its number of pages bounds them
        self._shapes[shape] += 1
        if self._shapes[shape] > MAX_SAME_SHAPE:
            self.trapped += 1
            return True
        return False


def site_key(url: str) -> tuple[str, int | None]:
    """Host without `www.`, and the port unless it is a default one."""
    parts = urlsplit(url)
    return site_of((parts.hostname or "").lower()), None if parts.port in (None, 80, 443) else parts.port


def same_site(url: str, site: tuple[str, int | None]) -> bool:
    """The site itself or a subdomain of it, on the same port."""
    host, port = site_key(url)
    return port == site[1] and (host == site[0] or host.endswith("." + site[0]))


class Frontier:
    """The pages still to visit, at most MAX_WAITING. `breadth` new, selected links are taken from each page."""

    def __init__(
        self, root: str, scope: Scope, interest: Interest | None = None, *, max_depth: int, breadth: int
    ) -> None:
        self._scope = scope
        self._interest = interest or Interest(None)
        self._max_depth = max_depth
        self._breadth = breadth
        self._seen = {root}
        self._home: list[tuple[float, Visit]] = [(0.0, Visit(0, (0, 0), root))]
        self._away: list[tuple[float, Visit]] = []
        self._pages = 0
        self.filtered = 0

    def pop(self, *, home_only: bool = False) -> Visit | None:
        """The next page, most promising first, then breadth first; None when there is none for now.

        `home_only`: of the crawl's own site, so that slow hosts elsewhere do not hold it up.
        """
        heaps = [heap for heap in (self._home, [] if home_only else self._away) if heap]
        return heapq.heappop(min(heaps, key=lambda heap: heap[0]))[1] if heaps else None

    async def offer(self, visit: Visit, links: Sequence[Link], worth: float = 0.0) -> list[Visit]:
        """Takes the first `breadth` links that are new and selected, best first given instructions; returns them.

        `worth` is the page's own (Interest.of_page). Now and then others get their turn at the loop: patterns on
        thousands of long links take their time.
        """
        self._pages += 1
        page = self._pages
        taken: list[Visit] = []
        if visit.depth >= self._max_depth:
            return taken
        for number, (cost, (url, anchor, _)) in enumerate(await self._in_order(links, worth)):
            if len(taken) >= self._breadth or len(self) >= MAX_WAITING:
                break
            if number % _LINKS_A_TURN == _LINKS_A_TURN - 1:
                await asyncio.sleep(0)
            if url in self._seen:
                continue
            if not self._scope.selects(url):
                self.filtered += 1
                continue
            if self._scope.is_trap(url):
                continue
            self._seen.add(url)
            found = Visit(visit.depth + 1, (page, len(taken)), url, anchor)
            taken.append(found)
            heapq.heappush(self._home if self._scope.is_home(url) else self._away, (cost, found))
        return taken

    async def _in_order(self, links: Sequence[Link], worth: float) -> list[tuple[float, Link]]:
        """(minus the promise, link): in the page's order, or most promising first."""
        if not self._interest:
            return [(0.0, link) for link in links]
        judged: list[tuple[float, Link]] = []
        for number, link in enumerate(links, 1):
            judged.append((-round(self._interest.of_link(link[1], link[0], worth), 2), link))
            if number % _LINKS_A_TURN == 0:
                await asyncio.sleep(0)
        return sorted(judged, key=lambda item: item[0])

    def mark_seen(self, url: str) -> bool:
        """Notes a URL that a redirect or canonical link led to; False when it was known already."""
        key = canonical(url) or url
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def __len__(self) -> int:
        return len(self._home) + len(self._away)
