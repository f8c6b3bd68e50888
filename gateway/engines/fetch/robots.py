"""robots.txt: which URLs of an origin a crawl may fetch, and how slowly. RFC 9309, read 2026-11-21.

Rules are matched by string searches, in time linear in the length of the path, and never become regular expressions,
which a hostile file could make expensive. A 4xx answer allows everything; a 5xx answer or none forbids everything for
a minute (RFC 9309 §2.3.1). Knows no crawl: the crawler asks, paces itself and reports.
"""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from gateway.engines.fetch.errors import FetchFailed
from gateway.engines.fetch.fetcher import Fetcher, FetchLimits
from gateway.resilience.bounded_cache import BoundedCache
from gateway.resilience.single_flight import SingleFlight

MAX_BYTES = 512_000
"""RFC 9309 §2.5: at least the first 500 KiB are parsed; rules behind them are ignored, and so is a line that is cut
there: the beginning of a rule says something else."""

MAX_DELAY_S = 5.0  # longest Crawl-delay obeyed (the directive is not in RFC 9309)

_MAX_RULES = 5_000
_MAX_SITEMAPS = 100  # of one file, as its _MAX_RULES

_MAX_PIECES = 20_000  # literal pieces between the wildcards of all rules
_MANY_PIECES = 1_000  # from here on a URL is checked in a thread

_LIMITS = FetchLimits(MAX_BYTES + 1, total_s=10.0, is_cut=True)  # the first page of a crawl waits for this file

_TTL_S = 3600.0  # RFC 9309 §2.4 allows a day

_UNKNOWN_TTL_S = 60.0  # how long an unreadable file forbids its site

_MAX_ORIGINS = 1000  # whose rules are held, a few KB each

_STARS = re.compile(r"\*+")
_PERCENT = re.compile(r"%[0-9a-fA-F]{2}")


@dataclass(slots=True)
class _Group:
    agents: set[str] = field(default_factory=set)
    rules: list[tuple[str, bool]] = field(default_factory=list)
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of one origin for one user agent.

    `rules` are (pattern, whether it allows); `delay_s` is the pause between requests, at most MAX_DELAY_S; `sitemaps`
    are URLs as the file has them; `known` is False when the file could not be read; `is_long`: see _MANY_PIECES.
    """

    rules: tuple[tuple[str, bool], ...] = ()
    delay_s: float = 0.0
    sitemaps: tuple[str, ...] = ()
    known: bool = True
    is_long: bool = False

    def allows(self, url: str) -> bool:
        """Whether `url` may be fetched: the longest matching rule decides, Allow between two of equal length (RFC 9309
        §2.2.2); a URL that no rule matches is allowed."""
        parts = urlsplit(url)
        path = _normal((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
        best, verdict = -1, True
        for pattern, allowed in self.rules:
            size = len(pattern)
            if (size > best or (size == best and allowed)) and _matches(pattern, path):
                best, verdict = size, allowed
        return verdict

    async def allows_in_turn(self, url: str) -> bool:
        """As `allows`, without holding the loop where there are many rules."""
        return await asyncio.to_thread(self.allows, url) if self.is_long else self.allows(url)


ALLOW_ALL = Robots()  # for an origin without a robots.txt

UNKNOWN = Robots((("/", False),), known=False)  # for an origin whose robots.txt could not be read: nothing is allowed


def parse(text: str, agent: str) -> Robots:
    """The rules of all groups that name `agent` (a product token), or else of the `*` groups. Never raises: lines that
    are not understood are skipped."""
    groups, sitemaps = _groups(text)
    token = agent.lower()
    named = [group for group in groups if token in group.agents]
    chosen = named or [group for group in groups if "*" in group.agents]
    rules = [rule for group in chosen for rule in group.rules]
    delay_s = max((group.delay_s for group in chosen), default=0.0)
    kept = tuple(_bounded(rules))
    is_long = sum(_pieces(pattern) for pattern, _ in kept) > _MANY_PIECES
    return Robots(kept, min(delay_s, MAX_DELAY_S), tuple(sitemaps[:_MAX_SITEMAPS]), is_long=is_long)


def _pieces(pattern: str) -> int:
    return pattern.count("*") + 1


def _bounded(rules: list[tuple[str, bool]]) -> Iterator[tuple[str, bool]]:
    pieces = 0
    for pattern, allowed in rules[:_MAX_RULES]:
        pieces += _pieces(pattern)
        if pieces > _MAX_PIECES:
            return
        yield pattern, allowed


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
    """One spelling for equal paths: escapes of unreserved characters are decoded, all others get upper-case digits."""
    quoted = quote(path, safe="/?:@!$&'()*+,;=%~-._[]")

    def one(match: re.Match[str]) -> str:
        char = chr(int(match[0][1:], 16))
        return char if char.isascii() and (char.isalnum() or char in "-._~") else match[0].upper()

    return _PERCENT.sub(one, quoted)


def _matches(pattern: str, path: str) -> bool:
    """Whether a pattern matches a path: `*` is any run of characters, a final `$` the end of the path.

    Equals the regular expression with `.*` for each `*`, without its backtracking: it is enough to look for each
    literal piece at its leftmost place, since a later place leaves less of the path for the pieces behind it.
    """
    anchored = pattern.endswith("$")
    pieces = (pattern[:-1] if anchored else pattern).split("*")
    if not path.startswith(pieces[0]):
        return False
    at = len(pieces[0])
    if len(pieces) == 1:
        return not anchored or at == len(path)
    for piece in pieces[1:-1]:
        start = path.find(piece, at)
        if start < 0:
            return False
        at = start + len(piece)
    last = pieces[-1]
    if anchored:
        return len(path) - len(last) >= at and path.endswith(last)
    return path.find(last, at) >= 0


def _first_lines(body: bytes) -> bytes:
    """What of a file is read: all of it, or the whole lines among its first MAX_BYTES."""
    return body if len(body) <= MAX_BYTES else body[: max(body.rfind(end, 0, MAX_BYTES) for end in (b"\n", b"\r")) + 1]


class RobotsCache:
    """Rules by origin; each file is fetched once in `ttl_s` seconds at most. Holds the `max_origins` used last."""

    def __init__(self, source: Fetcher, agent: str, *, ttl_s: float = _TTL_S, max_origins: int = _MAX_ORIGINS) -> None:
        self._source = source
        self._agent = agent.split("/", maxsplit=1)[0].strip()
        self._ttl_s = ttl_s
        self._rules: BoundedCache[str, Robots] = BoundedCache(max_origins, ttl_s=ttl_s, lru=True)
        self._fetches: SingleFlight[str, Robots] = SingleFlight()

    async def of(self, url: str) -> Robots:
        """The rules for the origin of `url`, fetched if need be. Never raises: a file that cannot be read gives
        `UNKNOWN` (nothing is allowed) for a minute."""
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        rules = self._rules.get(origin)
        return rules if rules is not None else await self._fetches.run(origin, lambda: self._load(origin))

    async def _load(self, origin: str) -> Robots:
        robots, ttl_s = await self._fetch(origin)
        self._rules.put(origin, robots, ttl_s=ttl_s)
        return robots

    async def _fetch(self, origin: str) -> tuple[Robots, float]:
        """The rules and for how many seconds they hold."""
        try:
            fetched = await self._source.fetch(f"{origin}/robots.txt", _LIMITS, "text/plain")
        except FetchFailed as failure:
            if failure.code in ("redirects", "url_refused"):
                return ALLOW_ALL, self._ttl_s
            return UNKNOWN, _UNKNOWN_TTL_S
        if fetched.status == 200 and fetched.ended_early:
            return UNKNOWN, _UNKNOWN_TTL_S  # what is missing may forbid what is asked for
        if fetched.status == 200:
            text = _first_lines(fetched.body).decode("utf-8", "replace").removeprefix("\ufeff")
            return await asyncio.to_thread(parse, text, self._agent), self._ttl_s
        if fetched.status >= 500 or fetched.status == 429:
            return UNKNOWN, _UNKNOWN_TTL_S
        return ALLOW_ALL, self._ttl_s
