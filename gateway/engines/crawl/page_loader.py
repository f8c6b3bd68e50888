"""Loads one page: fetches it politely, follows refreshes, and has a parsing process read it.

Polite means: few requests at once to a host, one retry after a short pause that the host asks for, and no request of
the same call to a host during a pause. Knows neither crawling nor the index. Source of statuses: RFC 9110.
"""

import asyncio
import copy
import math
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import urlsplit

from gateway.domain import Json
from gateway.engines.documents.parse_pool import ExtractOptions, ParsePool
from gateway.engines.documents.pictures import PictureReader
from gateway.engines.fetch.decompression import decoder_for
from gateway.engines.fetch.errors import FetchFailed, Unreadable
from gateway.engines.fetch.fetcher import HTML_ACCEPT, PAGE_ACCEPT, Fetched, Fetcher, FetchLimits
from gateway.engines.fetch.host_slots import HostSlots
from gateway.engines.fetch.urls import canonical, route_of
from gateway.engines.html.head import refresh_target
from gateway.engines.render.renderer import NotRendered, Renderer
from gateway.wire.retry_after import retry_after_s

MAX_WAIT_S = 5.0  # longest pause that a request waits out
UNTOLD_PAUSE_S = 30.0  # pause after a 429 that names none
_MAX_HOSTS = 1_000  # hosts whose pauses a call remembers


class HostPauses:
    """The pauses of one call's hosts (HOST:PORT)."""

    def __init__(self) -> None:
        self._ends: dict[str, float] = {}

    async def wait(self, host: str) -> None:
        """Waits for the end of a short pause that the host asked for. Raises FetchFailed during a long one."""
        left_s = self._ends.get(host, 0.0) - time.monotonic()
        if left_s > MAX_WAIT_S:
            message = (
                f"not asked for: the site answered another page of this call with 429 (too many requests) or 503; "
                f"try again in {math.ceil(left_s)} s"
            )
            raise FetchFailed(message, "http_status", http_status=429, retry_after_s=left_s)
        if left_s > 0:
            await asyncio.sleep(left_s)

    def note(self, host: str, status: int, asked_s: float | None) -> float | None:
        """The pause in seconds after an answer of this status, else None; it applies to the call's later requests.

        `asked_s` is its Retry-After.
        """
        if status == 429:
            wait_s = UNTOLD_PAUSE_S if asked_s is None else asked_s
        elif status == 503 and asked_s is not None:
            wait_s = asked_s
        else:
            return None
        if len(self._ends) < _MAX_HOSTS:
            self._ends[host] = time.monotonic() + wait_s
        return wait_s


_HTML = "text/html; charset=utf-8"
_KEPT_SHARE = 0.5
"""A rendered page with a smaller share of the fetched one's text is taken for a consent wall or an error screen."""


@dataclass(frozen=True, slots=True)
class ShownPage:
    """A rendered page: its address, with a route (`#!/…`) but no other fragment, what was read of it, and whether all
    of it was public."""

    url: str
    data: Json
    public: bool


class PageRendering:
    """The rendering of one call's pages, for the key `owner`. `close` it."""

    def __init__(self, renderer: Renderer, pool: ParsePool, owner: str, pictures: PictureReader | None = None) -> None:
        """`pictures` reads pages whose text is drawn on a canvas."""
        self._session = renderer.session(owner)
        self._mode = renderer.mode
        self._pool = pool
        self._owner = owner
        self._pictures = pictures

    async def improved(self, fetched: Fetched, page: Json, options: ExtractOptions) -> ShownPage | None:
        """What a browser shows of a page that was fetched and read as `page`; None when `page` is to be used, which
        then says in `unrendered` why its scripts were not run, if it needs them. Raises EngineMissing, Overloaded.

        `undrawn` of either says why text that the page may draw as a picture was not read.
        """
        route = options.fragment if options.fragment[:1] in ("!", "/") else ""
        if page.get("kind") != "html" or not (self._mode == "always" or page.get("needs_browser") or route):
            return None
        if options.depth != "advanced":
            page["unrendered"] = (
                'the page shows its text only with JavaScript; ask for it with extract_depth "advanced" to have it run'
            )
            return None
        try:
            rendered = await self._session.render(fetched, route, "drawn" if self._pictures is not None else "none")
            wish = replace(
                options,
                url=rendered.url.partition("#")[0],
                content_type=_HTML,
                fragment="" if route else options.fragment,
            )
            shown = await self._pool.extract(rendered.html, wish, self._owner)
            if rendered.picture and self._pictures is not None:
                shown = await self._pictures.with_picture(rendered.html, wish, shown, self._owner, rendered.picture)
            elif rendered.no_picture:
                shown["undrawn"] = rendered.no_picture
        except (NotRendered, FetchFailed, Unreadable) as failure:
            page["unrendered"] = f"the page shows its text only with JavaScript, and could not be rendered ({failure})"
            return None
        if len(shown["content"]) < _KEPT_SHARE * len(page["content"]):
            if undrawn := shown.get("undrawn"):
                page["undrawn"] = undrawn
            return None
        shown["noindex"] = bool(
            shown.get("noindex") or page.get("noindex") or route
        )  # a route has no address of its own
        shown["refresh"] = None  # the browser has followed it
        address = f"{wish.url}#{route}" if route.startswith("!/") else wish.url  # a page of its own
        return ShownPage(address, shown, rendered.public)

    async def close(self) -> None:
        """Ends the call's browser context. Never raises."""
        await self._session.close()


MAX_REFRESHES = 3  # refreshes followed for one page
_MAX_REFRESH_PAGE_CHARS = 500
_THIN_CHARS = 200
"""A page of HTML with less text is read as Markdown where it says that it can be."""
_MARKDOWN_FILES = (".md", ".markdown", ".mdx")
_OF_TEXT = ("content", "hash", "simhash", "invisible", "part", "sections", "lacks_section")
"""Members of a page that come with its text."""
"""A page with more text than this is a page of its own, not a stop on the way: its refresh is not followed."""
_SITEMAP_BYTES = 10_485_760
"""Cap of a sitemap, packed and unpacked. The protocol allows 50 MB; 10 MB holds its 50,000 URLs at 200 bytes each."""
_SITEMAP_LIMITS = FetchLimits(_SITEMAP_BYTES, _SITEMAP_BYTES, 10.0)
_SITEMAP_ACCEPT = "application/xml,text/xml,*/*;q=0.5"
_NEEDS_SCRIPTS = "the page shows its text only with JavaScript, which the gateway does not run"
_STATUS_WORDS = {
    401: "it asks for a login",
    402: "it asks for payment",
    403: "it refuses automated readers, or asks for a login",
    404: "there is no such page",
    410: "the page is gone",
    429: "too many requests",
    451: "it is withheld for legal reasons",
}


@dataclass(frozen=True, slots=True)
class LoadedPage:
    """A page that was read.

    `url` is the address after redirects, `data` the result of `engines.documents.page.extract`. `public` is False when
    only the operator's allow-list permitted a fetch. `rendered`: a browser ran its scripts. `fetched_at` is Unix time.
    `validators`: `etag` and `last-modified`, as far as the site sent them.
    """

    url: str
    data: Json
    public: bool = True
    rendered: bool = False
    fetched_at: float = field(default_factory=time.time)
    validators: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """The one URL under which the page is known: its canonical link if that is on the same host, else `url`. The
        canonical link of a route (`#!/…`) is that of the document which draws all of them."""
        link = self.data.get("canonical")
        if isinstance(link, str) and not route_of(self.url) and urlsplit(link).netloc == urlsplit(self.url).netloc:
            return link
        return canonical(self.url) or self.url


class SavedPages(Protocol):
    """Pages that were read at an earlier time."""

    def page(self, url: str) -> LoadedPage | None:
        """The page of the address `url` as it was, with the validators that the site sent; None for an unknown one."""
        ...

    def keep(self, url: str, page: LoadedPage) -> None:
        """Remember what has just been read for the address `url`, links included."""
        ...


@dataclass(frozen=True, slots=True)
class PageHelp:
    """What a loader may use beside the page itself: `saved`, pages of an earlier time, which are asked for only if they
    have changed; a browser; OCR."""

    saved: SavedPages | None = None
    renderer: Renderer | None = None
    pictures: PictureReader | None = None


class PageLoader:
    """Loads pages for all callers of the gateway: one instance and its copies for each caller (`of`), so that hosts'
    limits count all of them together."""

    def __init__(self, fetcher: Fetcher, pool: ParsePool, slots: HostSlots, with_help: PageHelp = PageHelp()) -> None:
        self._help = with_help
        self._pictures_until = 0.0
        self.fetcher = fetcher
        self.pool = pool
        self._slots = slots
        self._owner = ""
        self._rendering: PageRendering | None = None

    @asynccontextmanager
    async def of(self, owner: str, pictures_s: float = 0.0) -> AsyncIterator["PageLoader"]:
        """The same loader for one call of the key `owner`, for whom fetches, parse processes and turns in the browser
        are dealt out. For `pictures_s` seconds from now pages without text are read by OCR."""
        loader = copy.copy(self)
        loader._owner = owner
        loader._pictures_until = asyncio.get_running_loop().time() + pictures_s if pictures_s else 0.0
        if self._help.renderer is None:
            yield loader
            return
        loader._rendering = PageRendering(self._help.renderer, self.pool, owner, self._help.pictures)
        try:
            yield loader
        finally:
            await loader._rendering.close()

    def renders(self, depth: str) -> bool:
        """Whether pages of calls of this depth may be rendered."""
        return self._rendering is not None and depth == "advanced"

    async def load(self, options: ExtractOptions, delay_s: float = 0.0, pauses: HostPauses | None = None) -> LoadedPage:
        """The page at `options.url`; requests to its host start at least `delay_s` apart. `pauses` are the call's own.

        Raises FetchFailed with a reason for the caller, EngineMissing, Overloaded.
        """
        try:
            return await self._load(options, delay_s, pauses or HostPauses())
        except Unreadable as failure:
            raise FetchFailed(failure.message, failure.code) from failure

    async def _load(self, options: ExtractOptions, delay_s: float, pauses: HostPauses) -> LoadedPage:
        url = options.url
        for _ in range(MAX_REFRESHES + 1):
            saved = self._help.saved.page(url) if self._help.saved is not None else None
            fetched = await self._fetch_politely(url, delay_s, pauses, saved)
            if fetched.status == 304 and saved is not None:
                return saved
            if not 200 <= fetched.status < 300:
                raise status_failure(fetched)
            target = refresh_target(fetched.headers.get("refresh", ""), fetched.url)
            page: Json = {}
            if target in (None, url, fetched.url):
                page = await self.pool.extract(
                    fetched.body, replace(options, url=fetched.url, content_type=fetched.content_type), self._owner
                )
                target = page.get("refresh")
                fetched, page = await self._in_other_form(fetched, page, options, delay_s, pauses)
            if not target or target in (url, fetched.url) or len(page.get("content", "")) > _MAX_REFRESH_PAGE_CHARS:
                if fetched.ended_early:
                    page["ended_early"] = True
                if "noindex" in fetched.headers.get("x-robots-tag", "").lower():
                    page["noindex"] = True
                loaded = await self._completed(fetched, page, options)
                if self._help.saved is not None:
                    self._help.saved.keep(options.url, loaded)
                return loaded
            url = target
        raise FetchFailed("the page refreshes to another one too many times", "redirects")

    async def _in_other_form(
        self, fetched: Fetched, page: Json, options: ExtractOptions, delay_s: float, pauses: HostPauses
    ) -> tuple[Fetched, Json]:
        """The page as HTML where its Markdown lacks something that is asked for; the text of its Markdown where its
        HTML has next to none. The page as it is where its site does not give the other form."""
        if page.get("is_partial") and not urlsplit(fetched.url).path.lower().endswith(_MARKDOWN_FILES):
            other = await self._fetch_politely(fetched.url, delay_s, pauses, accept=HTML_ACCEPT)
            if other.status == 200 and "html" in other.content_type:
                wish = replace(options, url=other.url, content_type=other.content_type)
                whole = await self.pool.extract(other.body, wish, self._owner)
                return (other, whole) if whole.get("content") else (fetched, page)
        if page.get("markdown") and len(page["content"]) < _THIN_CHARS:
            other = await self._fetch_politely(page["markdown"], delay_s, pauses)
            if other.status == 200 and other.content_type.startswith(("text/markdown", "text/plain")):
                wish = replace(
                    options, url=other.url, content_type="text/markdown;" + other.content_type.partition(";")[2]
                )
                text = await self.pool.extract(other.body, wish, self._owner)
                if len(text["content"]) > len(page["content"]):
                    told = {name: text[name] for name in _OF_TEXT if name in text}
                    return fetched, {**page, **told, "scripted": False, "needs_browser": False}
        return fetched, page

    async def _completed(self, fetched: Fetched, page: Json, options: ExtractOptions) -> LoadedPage:
        """The page, read by OCR or rendered if it needs to be and can be."""
        if page.get("scanned") and self._help.pictures is not None and self._pictures_until:
            wish = replace(options, url=fetched.url, content_type=fetched.content_type)
            page |= await self._help.pictures.completed(fetched.body, wish, page, self._owner, self._pictures_until)
        if self._rendering is not None:
            shown = await self._rendering.improved(fetched, page, options)
            if shown is not None:
                return LoadedPage(shown.url, shown.data, shown.public, rendered=True)
        return LoadedPage(fetched.url, page, fetched.public, validators=_validators_of(fetched))

    async def load_sitemap(self, url: str) -> Json:
        """`{pages: [address], sitemaps: [address]}` of the sitemap at `url`; gzip files are unpacked.

        Raises FetchFailed, Unreadable, EngineMissing, Overloaded.
        """
        fetched = await self.fetcher.fetch(url, _SITEMAP_LIMITS, _SITEMAP_ACCEPT)
        if fetched.status != 200:
            raise status_failure(fetched)
        body = fetched.body
        if body.startswith(b"\x1f\x8b"):  # a gzip file, whatever the Content-Encoding was
            body = await asyncio.to_thread(decoder_for("gzip", _SITEMAP_BYTES).feed, body)
        return await self.pool.extract(body, ExtractOptions(fetched.url, task="sitemap"), self._owner)

    async def _fetch_politely(
        self, url: str, delay_s: float, pauses: HostPauses, saved: LoadedPage | None = None, accept: str = PAGE_ACCEPT
    ) -> Fetched:
        host = urlsplit(url).netloc.lower()
        async with self._slots.hold(host, delay_s, self._owner):
            await pauses.wait(host)
            fetched = await self.fetcher.fetch(url, accept=accept, conditions=_conditions(saved))
            wait_s = pauses.note(host, fetched.status, _pause_of(fetched))
            if wait_s is not None and wait_s <= MAX_WAIT_S:
                await asyncio.sleep(wait_s)
                fetched = await self.fetcher.fetch(url, accept=accept)
                pauses.note(host, fetched.status, _pause_of(fetched))
        return fetched


def status_failure(fetched: Fetched) -> FetchFailed:
    """The failure for a status other than 2xx, worded for the caller."""
    words = _STATUS_WORDS.get(fetched.status, "it is in trouble; try again later" if fetched.status >= 500 else "")
    message = f"the site answered {fetched.status}" + (f": {words}" if words else "")
    wait_s = _pause_of(fetched)
    if wait_s is not None and fetched.status in (429, 503):
        message += f"; it asks to wait {math.ceil(wait_s)} s"
    return FetchFailed(message, "http_status", http_status=fetched.status, retry_after_s=wait_s)


def _validators_of(fetched: Fetched) -> dict[str, str]:
    return {name: fetched.headers[name] for name in ("etag", "last-modified") if name in fetched.headers}


def _conditions(saved: LoadedPage | None) -> dict[str, str]:
    """The headers that ask for a page only if it is not as it was. Source: RFC 9110 §13.1, read 2026-11-22."""
    if saved is None:
        return {}
    names = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
    return {names[name]: value for name, value in saved.validators.items()}


def _pause_of(fetched: Fetched) -> float | None:
    return retry_after_s(fetched.headers.get("retry-after", ""))


def empty_reason(page: LoadedPage) -> str | None:
    """Why a page that was read has no content; None when it has some."""
    if page.data.get("content"):
        return None
    if page.data.get("scanned"):
        reason = page.data.get("unread")
        return f"the document shows pictures and no text (a scan perhaps); {reason or 'OCR can read it'}"
    if page.data.get("login"):
        return "the page wants a login (it is a form for a password); pages behind a login cannot be read"
    if page.data.get("undrawn"):
        return f"the page may draw its text as a picture, which could not be read: {page.data['undrawn']}"
    if page.data.get("scripted"):
        return page.data.get("unrendered") or _NEEDS_SCRIPTS
    return "the page holds no readable text"
