"""Answers the requests of one page in the browser: decides what it may have, and fetches that with the safe fetcher.

| rule                                                                                           | where         |
|------------------------------------------------------------------------------------------------|---------------|
| GET and HEAD; POST to the page's own site, 64 KB at most, without credentials, never again     | `_refuses`    |
| documents, scripts, styles, data; no images, fonts or media, whatever they are called          | `_is_wanted`  |
| so many requests and bytes a page, within the page's seconds                                   | `PageLimits`  |
| a page that is not wholly from addresses of `web.allow_private` reaches public addresses only  | `Reach`       |
| robots.txt, and requests at once to a host and in all, as for every other fetch                | `_fetch`      |
| no cookie, key or credential goes out; of an answer's headers only a few reach the page        | `fetch_once`  |

The browser is not believed: it may be a page that took it over. Knows no protocol of the browser's.
"""

import asyncio
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from gateway.domain import Json
from gateway.engines.fetch.errors import FetchFailed, SkippedUrl
from gateway.engines.fetch.fetcher import Fetched, Fetcher, FetchLimits, PageRequest
from gateway.engines.fetch.host_limits import HostSlots
from gateway.engines.fetch.robots import RobotsCache
from gateway.engines.fetch.urls import parse_url, site_of
from gateway.engines.render.paused import MAX_POSTED_BYTES

Method = Literal["GET", "HEAD", "POST"]
_METHODS: Mapping[str, Method] = {"GET": "GET", "HEAD": "HEAD", "POST": "POST"}
_KINDS = frozenset({"Document", "Stylesheet", "Script", "XHR", "Fetch", "Other"})
_PICTURE_KINDS = frozenset({"Image", "Font"})
_UNWANTED_TYPES = ("image/", "font/", "audio/", "video/", "application/font", "application/x-font")
_ORIGIN = re.compile(r"https?://[a-z0-9.:\[\]-]{1,260}|null")
_TYPE = re.compile(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,80}(?:; ?charset=[a-z0-9-]{1,20})?", re.IGNORECASE)
_ACCEPT = re.compile(r"[A-Za-z0-9*/+.,;=_ -]{1,500}")
_KEPT = frozenset(
    {
        "location", "access-control-allow-origin", "access-control-allow-headers", "access-control-allow-methods",
        "access-control-expose-headers", "content-disposition", "x-content-type-options",
    }
)  # fmt: skip
"""Headers of answers that the browser needs to do as the site wants. Cookies are not among them: a page could not send
them anywhere, and without them it need not be asked for its consent."""
_MOST_KEPT_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class PageLimits:
    """What one page may have. Chosen: of 2,000 pages of news, shops and applications most ask for 20 to 80 scripts and
    1 to 5 MB; at half, large applications are cut, at double a hostile page fetches twice as much for one call.
    `answer_bytes` is one answer: a page of 100 MB of script ends there."""

    requests: int = 150
    total_bytes: int = 31_457_280
    answer_bytes: int = 5_242_880
    documents: int = 12


@dataclass(frozen=True, slots=True)
class Reach:
    """One way to fetch: the fetcher, and the robots.txt rules read through it (None: not asked for)."""

    fetcher: Fetcher
    robots: RobotsCache | None


@dataclass(slots=True)
class PageState:
    """A page as far as it has got. `site` is the host of its document; `private`: nothing of it came from a public
    address yet; `public`: nothing came from an address that only the operator's list allows."""

    site: str
    private: bool
    public: bool
    fetched: int = 0
    documents: int = 0
    left_bytes: int = 0


class PageRequests:
    """The requests of one page. `document` is the page as it was fetched, which the browser gets in place of its first
    request for it; None to fetch that as well. `wide` reaches what the operator's list allows, `narrow` public
    addresses alone."""

    def __init__(
        self, document: Fetched, reaches: tuple[Reach, Reach], slots: HostSlots, owner: str, limits: PageLimits
    ) -> None:
        self._document: Fetched | None = document
        self._narrow, self._wide = reaches
        self._slots = slots
        self._owner = owner
        self._limits = limits
        self._ends_at = 0.0
        self._pictures = False
        host = urlsplit(document.url).hostname or ""
        self.state = PageState(host, not document.public, document.public, left_bytes=limits.total_bytes)

    def begin(self, seconds: float, *, pictures: bool) -> None:
        """The page's time begins. `pictures`: images and fonts are fetched, for a picture of the page."""
        self._ends_at = time.monotonic() + seconds
        self._pictures = pictures

    async def answer(self, head: Json, body: bytes) -> tuple[Json, bytes] | None:
        """`{status, headers}` and body of the response to one request; None to refuse it. Never raises."""
        if self._refuses(head, body):
            return None
        is_main = head.get("is_main") is True
        first = self._document
        if is_main and first is not None:  # no script has run: this is the address that the browser was given
            self._document = None
            return _as_answer(first), first.body
        try:
            fetched = await self._fetch(head, body)
        except (FetchFailed, TimeoutError):
            return None
        self._record(fetched, is_main=is_main)
        return (_as_answer(fetched), fetched.body) if self._is_wanted(head, fetched) else None

    def _refuses(self, head: Json, body: bytes) -> bool:
        state, limits = self.state, self._limits
        kind, url, method = str(head.get("kind")), head.get("url"), _METHODS.get(str(head.get("method")))
        if not _is_address(url) or method is None or state.fetched >= limits.requests:
            return True
        is_picture = kind in _PICTURE_KINDS or str(head.get("accept", "")).startswith("image/")
        if not (kind in _KINDS and not is_picture) and not (self._pictures and is_picture):
            return True
        if kind == "Document":
            state.documents += 1
            if state.documents > limits.documents:
                return True
        if method == "POST" and (len(body) > MAX_POSTED_BYTES or not _is_own_site(str(url), state.site)):
            return True
        return state.left_bytes <= 0 or time.monotonic() >= self._ends_at

    async def _fetch(self, head: Json, body: bytes) -> Fetched:
        url, state = str(head["url"]), self.state
        state.fetched += 1
        left_s = self._ends_at - time.monotonic()
        reach = self._wide if state.private else self._narrow
        method = _METHODS[str(head["method"])]
        request = PageRequest(
            url,
            method,
            _matching(_ACCEPT, head.get("accept")) or "*/*",
            _matching(_ORIGIN, head.get("origin")),
            _matching(_TYPE, head.get("sends")),
            body,
            _KEPT,
        )
        async with asyncio.timeout(left_s):
            if reach.robots is not None and not await (await reach.robots.of(url)).allows_in_turn(url):
                raise FetchFailed("robots.txt", "robots")
            async with self._slots.hold(urlsplit(url).netloc.lower(), owner=self._owner):
                most = min(self._limits.answer_bytes, max(1, state.left_bytes))
                fetched = await reach.fetcher.fetch_once(request, FetchLimits(most, most, left_s))
        state.left_bytes -= len(fetched.body)
        return fetched

    def _record(self, fetched: Fetched, *, is_main: bool) -> None:
        """From the first public answer on the page reaches public addresses only."""
        self.state.private = self.state.private and not fetched.public
        self.state.public = self.state.public and fetched.public
        if is_main and "location" not in fetched.headers:
            self.state.site = urlsplit(fetched.url).hostname or ""

    def _is_wanted(self, head: Json, fetched: Fetched) -> bool:
        if self._pictures or head.get("kind") == "Document":
            return True
        return not fetched.content_type.strip().lower().startswith(_UNWANTED_TYPES)


def _is_address(url: Any) -> bool:
    try:
        return isinstance(url, str) and parse_url(url).host is not None
    except SkippedUrl:
        return False


def _is_own_site(url: str, site: str) -> bool:
    """Whether `url` is on the page's host, with or without `www.`, or on a host below it."""
    host, own = (urlsplit(url).hostname or "").rstrip("."), site_of(site.rstrip("."))
    return bool(own) and (host == own or host.endswith("." + own))


def _as_answer(fetched: Fetched) -> Json:
    headers = [["content-type", fetched.content_type]] if fetched.content_type else []
    headers += [
        [name, value] for name, value in fetched.headers.items() if name in _KEPT and len(value) < _MOST_KEPT_CHARS
    ]
    return {"status": fetched.status, "headers": headers}


def _matching(pattern: re.Pattern[str], value: Any) -> str:
    return value if isinstance(value, str) and pattern.fullmatch(value) else ""
