"""The pages that wait in a crawl, and its scope: which links are followed, and in which order."""

import asyncio
import heapq
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import re2

from gateway.domain import CrawlRequest
from gateway.engines.crawl.choosing import Interest
from gateway.engines.fetch.urls import canonical, site_of
from gateway.errors import InvalidRequest

MAX_PATTERNS = 20
MAX_PATTERN_CHARS = 500  # patterns of a request and their length
_PATTERN_MEMORY_BYTES = 8 << 20  # RE2's own default budget for one compiled pattern; larger ones are refused
_MAX_REASON_CHARS = 120  # beginning of RE2's message that an error quotes; the message repeats the caller's pattern
MAX_PATH_DEPTH = 16  # path segments of a URL
MAX_REPEATED_SEGMENT = 3
"""How often one segment may occur in a path. `/2024/05/05/` and `/a/b/a/` are honest, four are a loop."""
MAX_SAME_SHAPE = 300  # dated or queried URLs that differ in their numbers only
MAX_WAITING = 20_000  # URLs that wait to be visited; further links are dropped. 40 times the pages of a tool call.
_LINKS_PER_TURN = 50  # links judged before other tasks get the event loop
_DATED = re.compile(r"/(?:19|20)\d\d(?:[/-]\d{1,2}){1,2}(?:/|$)|calendar", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")


Link = Sequence[Any]  # `[canonical url, anchor text, is in the main region]`, from `head.links_of`


def compile_patterns(patterns: Iterable[str], param: str) -> list[Any]:
    """Compiled RE2 patterns. Raises InvalidRequest, which names `param` and the pattern that is invalid."""
    compiled: list[Any] = []
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _PATTERN_MEMORY_BYTES
    for pattern in patterns:
        if len(pattern) > MAX_PATTERN_CHARS or len(compiled) >= MAX_PATTERNS:
            raise InvalidRequest(
                f"{param} takes at most {MAX_PATTERNS} patterns of {MAX_PATTERN_CHARS} characters", param=param
            )
        try:
            compiled.append(re2.compile(pattern, options))
        except re2.error as error:
            reason = str(error).strip("b'\"")[:_MAX_REASON_CHARS]
            raise InvalidRequest(
                f"{param}: {pattern!r} is not a valid regular expression ({reason}); "
                "use RE2 syntax, which has no look-around and no back-references",
                param=param,
            ) from error
    return compiled


@dataclass(frozen=True, slots=True, order=True)
class Visit:
    """A page to fetch. Ordered by depth, then by `place`: (number of the page that links to it, number of the link).
    `is_named`: its link holds a wanted word, or none is wanted."""

    depth: int
    place: tuple[int, int]
    url: str
    anchor: str = ""
    is_named: bool = True


class Scope:
    """Which URLs a crawl selects: by site, by path and domain patterns, and no crawler traps.

    `trapped` counts the links that were left out as traps. Raises InvalidRequest for a bad pattern.
    """

    def __init__(self, request: CrawlRequest, root: str) -> None:
        self._paths = compile_patterns(request.select_paths, "select_paths")
        self._domains = compile_patterns(request.select_domains, "select_domains")
        self._external = request.allow_external
        self._sites = [site_key(root)]
        self._shapes: Counter[str] = Counter()
        self.trapped = 0

    def adopt(self, url: str) -> None:
        """Adds the site of `url`, to which the root redirects, to the crawl's own sites."""
        self._sites.append(site_key(url))

    def is_home(self, url: str) -> bool:
        """True when `url` is on one of the crawl's own sites."""
        return any(same_site(url, site) for site in self._sites)

    def allows_host(self, url: str) -> bool:
        """True when the caller wants pages of the URL's host; also asked for the end of a redirect."""
        if not self._external and not self.is_home(url):
            return False
        host = urlsplit(url).hostname or ""
        return not self._domains or any(pattern.search(host) for pattern in self._domains)

    def selects(self, url: str) -> bool:
        """True when the caller wants this page: its host, and its path with the query."""
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if self._paths and not any(pattern.search(path) for pattern in self._paths):
            return False
        return self.allows_host(url)

    def is_source(self, url: str) -> bool:
        """True for the source from which Sphinx made a page, which says the same; those who name paths may want it."""
        return not self._paths and "/_sources/" in url and url.endswith(".txt")

    def is_trap(self, url: str) -> bool:
        """True for a URL that looks like part of an endless space, and counts it in `trapped`.

        That is a very deep path, a path that repeats a segment, or one of too many dated or queried URLs that differ
        in numbers only.
        """
        parts = urlsplit(url)
        segments = [segment for segment in parts.path.split("/") if segment]
        if len(segments) > MAX_PATH_DEPTH or max(Counter(segments).values(), default=0) > MAX_REPEATED_SEGMENT:
            self.trapped += 1
            return True
        shape = parts.netloc + _DIGITS.sub("0", parts.path)
        if parts.query:
            shape += "?" + "&".join(sorted(pair.split("=")[0] for pair in parts.query.split("&")))
        if not parts.query and not _DATED.search(parts.path):
            return False  # pages numbered in the path are finite, unlike queries and calendars
        self._shapes[shape] += 1
        if self._shapes[shape] > MAX_SAME_SHAPE:
            self.trapped += 1
            return True
        return False


def site_key(url: str) -> tuple[str, int | None]:
    """(host without `www.`, port; None for 80 and 443)."""
    parts = urlsplit(url)
    return site_of((parts.hostname or "").lower()), None if parts.port in (None, 80, 443) else parts.port


def same_site(url: str, site: tuple[str, int | None]) -> bool:
    """True when `url` is on `site` or on a subdomain of it, on the same port."""
    host, port = site_key(url)
    return port == site[1] and (host == site[0] or host.endswith("." + site[0]))


class Frontier:
    """The pages that wait to be visited, at most MAX_WAITING; `len()` counts them.

    Each page adds at most `breadth` links that are new and selected. `filtered` counts links that were not selected,
    `cut_pages` the pages that had more than `breadth` of them.
    """

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
        self._waiting = {root: self._home[0]}
        self._anchors: dict[str, str] = {}
        self._pages = 0
        self.filtered = 0
        self.cut_pages = 0

    def pop(self, *, home_only: bool = False, named_only: bool = False) -> Visit | None:
        """The next page, most promising first, then breadth first; None when no page waits.

        `home_only` considers only pages of the crawl's own site, so that slow hosts elsewhere do not delay the crawl.
        `named_only` returns None, and keeps the page, if the next page's link contains no wanted word.
        """
        for heap in (self._home, self._away):
            while heap and self._waiting.get(heap[0][1].url) is not heap[0]:
                heapq.heappop(heap)
        heaps = [heap for heap in (self._home, [] if home_only else self._away) if heap]
        if not heaps:
            return None
        heap = min(heaps, key=lambda heap: heap[0])
        if named_only and not heap[0][1].is_named:
            return None
        visit = heapq.heappop(heap)[1]
        del self._waiting[visit.url]
        return visit

    def anchor_of(self, visit: Visit) -> str:
        """The most promising text of the links to a page that was offered."""
        return self._anchors.get(visit.url, visit.anchor)

    async def offer(self, visit: Visit, links: Sequence[Link], worth: float = 0.0) -> list[Visit]:
        """Adds the first `breadth` links of the page `visit` that are new and selected, and returns them.

        With instructions the best links come first; `worth` is the page's own score (Interest.of_page). Pauses after
        every `_LINKS_PER_TURN` links, as patterns on thousands of long links take long.
        """
        self._pages += 1
        page = self._pages
        added: list[Visit] = []
        if visit.depth >= self._max_depth:
            return added
        for number, (cost, (url, anchor, _)) in enumerate(await self._in_order(links, worth)):
            if len(self) >= MAX_WAITING:
                break
            if number % _LINKS_PER_TURN == _LINKS_PER_TURN - 1:
                await asyncio.sleep(0)
            if url in self._seen:
                self._move_forward(url, anchor, cost, worth)
                continue
            if not self._scope.selects(url) or self._scope.is_source(url):
                self.filtered += 1
                continue
            if len(added) >= self._breadth:
                self.cut_pages += 1
                break
            if self._scope.is_trap(url):
                continue
            self._seen.add(url)
            target = Visit(visit.depth + 1, (page, len(added)), url, anchor, self._interest.is_named(cost, worth))
            added.append(target)
            self._wait(cost, target)
        return added

    def _wait(self, cost: float, visit: Visit) -> None:
        entry = self._waiting[visit.url] = (cost, visit)
        heapq.heappush(self._home if self._scope.is_home(visit.url) else self._away, entry)

    def _move_forward(self, url: str, anchor: str, cost: float, worth: float) -> None:
        """A link to a page that was seen before: one that still waits has the place of its most promising link."""
        entry = self._waiting.get(url)
        if entry is not None and cost < entry[0]:
            self._anchors[url] = anchor
            self._wait(cost, replace(entry[1], anchor=anchor, is_named=self._interest.is_named(cost, worth)))

    async def _in_order(self, links: Sequence[Link], worth: float) -> list[tuple[float, Link]]:
        """(minus the link's score, link): in the page's order, or best first when there are instructions."""
        if not self._interest:
            return [(0.0, link) for link in links]
        scored: list[tuple[float, Link]] = []
        for number, link in enumerate(links, 1):
            scored.append((-self._interest.of_link(link[1], link[0], worth), link))
            if number % _LINKS_PER_TURN == 0:
                await asyncio.sleep(0)
        return sorted(scored, key=lambda item: item[0])

    def mark_seen(self, url: str) -> bool:
        """Adds a URL that a redirect or canonical link led to; False when it was known already."""
        key = canonical(url) or url
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def __len__(self) -> int:
        return len(self._waiting)
