"""robots.txt: what a crawl may fetch at an origin and how slowly. RFC 9309, read 2026-11-21.

Own matcher, linear in the length of the path: rules become neither regular expressions nor anything else that a
hostile file could make expensive. 4xx means everything is allowed, 5xx and silence mean nothing is, for now.
"""

import asyncio
import re
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from gateway.engines.fetch.errors import FetchFailed
from gateway.engines.fetch.fetcher import Fetcher, FetchLimits

MAX_CHARS = 512_000  # RFC 9309 §2.5 wants the first 500 KiB read; what follows them binds nobody
MAX_DELAY_S = 5.0
_MAX_RULES = 5_000
_LIMITS = FetchLimits(total_s=10.0)
_STARS = re.compile(r"\*+")
_PERCENT = re.compile(r"%[0-9a-fA-F]{2}")


@dataclass(slots=True)
class _Group:
    agents: set[str] = field(default_factory=set)
    rules: list[tuple[str, bool]] = field(default_factory=list)
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of one origin for one user agent. `rules` are (pattern, allowed); `known`: the file could be had."""

    rules: tuple[tuple[str, bool], ...] = ()
    delay_s: float = 0.0
    sitemaps: tuple[str, ...] = ()
    known: bool = True

    def allows(self, url: str) -> bool:
        """The longest matching rule decides, Allow when two are equally long; no match is allowed."""
        parts = urlsplit(url)
        path = _normal((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
        best, verdict = -1, True
        for pattern, allowed in self.rules:
            size = len(pattern)
            if (size > best or (size == best and allowed)) and _matches(pattern, path):
                best, verdict = size, allowed
        return verdict


ALLOW_ALL = Robots()
UNKNOWN = Robots((("/", False),), known=False)


def parse(text: str, agent: str) -> Robots:
    """The group that names `agent` (a product token), else the `*` group."""
    groups, sitemaps = _groups(text)
    token = agent.lower()
    named = [group for group in groups if token in group.agents]
    chosen = named or [group for group in groups if "*" in group.agents]
    rules = [rule for group in chosen for rule in group.rules]
    delay_s = max((group.delay_s for group in chosen), default=0.0)
    return Robots(tuple(rules[:_MAX_RULES]), min(delay_s, MAX_DELAY_S), tuple(sitemaps[:100]))


def _groups(text: str) -> tuple[list[_Group], list[str]]:
    groups: list[_Group] = []
    sitemaps: list[str] = []
    naming = False
    for line in text.splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if not colon:
            continue
        if key == "user-agent":
            if not naming:
                groups.append(_Group())
            naming = True
            groups[-1].agents.add(value.lower().split("/")[0].strip())
        elif key == "sitemap":
            sitemaps.append(value)
        elif groups and key in ("allow", "disallow", "crawl-delay"):
            naming = False
            _add_rule(groups[-1], key, value)
    return groups, sitemaps


def _add_rule(group: _Group, key: str, value: str) -> None:
    if key == "crawl-delay":
        if re.fullmatch(r"\d{1,6}(\.\d{1,3})?", value):
            group.delay_s = float(value)
    elif value:
        group.rules.append((_STARS.sub("*", _normal(value)), key == "allow"))


def _normal(path: str) -> str:
    """Percent signs in one spelling: what needs no escape is plain, the rest upper case."""
    quoted = quote(path, safe="/?:@!$&'()*+,;=%~-._[]")

    def one(match: re.Match[str]) -> str:
        char = chr(int(match[0][1:], 16))
        return char if char.isascii() and (char.isalnum() or char in "-._~") else match[0].upper()

    return _PERCENT.sub(one, quoted)


def _matches(pattern: str, path: str) -> bool:
    """`*` is any run, a last `$` the end; each literal piece is found leftmost, which is enough for globs."""
    anchored = pattern.endswith("$")
    pieces = (pattern[:-1] if anchored else pattern).split("*")
    if not path.startswith(pieces[0]):
        return False
    at = len(pieces[0])
    if len(pieces) == 1:
        return not anchored or at == len(path)
    for piece in pieces[1:-1]:
        found = path.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    last = pieces[-1]
    if anchored:
        return len(path) - len(last) >= at and path.endswith(last)
    return path.find(last, at) >= 0


class RobotsCache:
    """Rules by origin, fetched once an hour at most; at most 1,000 origins are remembered."""

    def __init__(self, source: Fetcher, agent: str, *, ttl_s: float = 3600.0, max_origins: int = 1000) -> None:
        self._source = source
        self._agent = agent.split("/", maxsplit=1)[0].strip()
        self._ttl_s = ttl_s
        self._max_origins = max_origins
        self._known: OrderedDict[str, tuple[float, Robots]] = OrderedDict()
        self._locks: dict[str, asyncio.Lock] = {}

    async def of(self, url: str) -> Robots:
        """The rules for `url`'s origin. Never raises: what cannot be learnt counts as a refusal for a while."""
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        lock = self._locks.setdefault(origin, asyncio.Lock())
        try:
            async with lock:
                known = self._known.get(origin)
                if known is None or known[0] < time.monotonic():
                    robots, keep_s = await self._fetch(origin)
                    known = (time.monotonic() + keep_s, robots)
                    self._known[origin] = known
                self._known.move_to_end(origin)
                while len(self._known) > self._max_origins:
                    self._known.popitem(last=False)
                return known[1]
        finally:
            if not lock.locked():
                self._locks.pop(origin, None)

    async def _fetch(self, origin: str) -> tuple[Robots, float]:
        try:
            fetched = await self._source.fetch(f"{origin}/robots.txt", _LIMITS, "text/plain")
        except FetchFailed as failure:
            if failure.code in ("redirects", "url_refused"):
                return ALLOW_ALL, self._ttl_s
            return UNKNOWN, 60.0
        if fetched.status == 200:
            text = fetched.body.decode("utf-8", "replace").removeprefix("\ufeff")
            return await asyncio.to_thread(parse, text[:MAX_CHARS], self._agent), self._ttl_s
        if fetched.status >= 500 or fetched.status == 429:
            return UNKNOWN, 60.0
        return ALLOW_ALL, self._ttl_s
