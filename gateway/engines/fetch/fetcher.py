"""Fetches URLs that a caller or a page names, without reaching into the network that the gateway runs in.

Eleven rules against server-side request forgery: plain http(s) only; an exact allow-list; name resolution that checks
the address which is then connected to; every redirect hop checked again, IP literals included; of the gateway's own
operations listener the documentation alone; no proxy, cookie jar or credentials; a connector of its own; caps on wire
and decompressed bytes; a cap on the total time of a slow body; capped headers; reasons that do not reveal open ports.
It knows neither robots.txt nor what is in a page. Source: RFC 9110.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import aiohttp
from aiohttp.abc import AbstractResolver
from multidict import CIMultiDictProxy
from yarl import URL

from gateway.engines.fetch.address_policy import AddressPolicy, GuardedResolver, SystemLookup, parse_address
from gateway.engines.fetch.bounded_connector import (
    MAX_FIELD_BYTES,
    MAX_HEADERS,
    BoundedConnector,
    EndlessAnswer,
    are_headers_too_large,
)
from gateway.engines.fetch.decompression import decoder_for, too_large
from gateway.engines.fetch.errors import NO_ANSWER, FetchFailed, SkippedUrl
from gateway.engines.fetch.urls import join, parse_url


class PagePieces:
    """Iterates over a response's body once. `broke_off`: the site announced more than it sent."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.broke_off = False
        self._content = response.content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces. Raises aiohttp.ClientPayloadError where nothing came, and EndlessAnswer."""
        came = False
        try:
            async for piece in self._content.iter_any():
                came = came or bool(piece)
                yield piece
        except aiohttp.ClientPayloadError as error:
            if not came or isinstance(error, EndlessAnswer):
                raise
            self.broke_off = True


MAX_HOPS = 8  # redirects followed
MAX_COOKIES = 20  # cookies kept of one response within a fetch
MAX_CONNECTIONS = 128  # more than the 32 pages that HostSlots admits, for images and robots.txt
_TURN_BYTES = 262_144  # of output, after which others get a turn on the loop
_KEEPALIVE_S = 15  # idle connections are closed after this
_CONNECT_S = 5
_SILENCE_S = 10  # time to connect, and longest silence of a body
_MAX_HEADER_LINE_BYTES = 16_384  # of the status line
_LARGE_HEADERS = (
    f"the page's response headers are too large; at most {MAX_HEADERS} of {MAX_FIELD_BYTES:,} bytes are read"
)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
HTML_ACCEPT = "text/html,application/xhtml+xml;q=0.9,application/pdf;q=0.8,*/*;q=0.5"
PAGE_ACCEPT = "text/markdown;q=1,text/html;q=0.9,application/xhtml+xml;q=0.9,application/pdf;q=0.8,*/*;q=0.5"
"""Sites that have their pages as Markdown give that (RFC 9110, 12.5.1); all others give HTML."""
_USED_HEADERS = ("retry-after", "etag", "last-modified", "x-robots-tag", "refresh", "link", "server")

_UNCONDITIONAL: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class HostHeaders:
    """Further headers for one host. Without `plain_http` they go over https alone: anybody on the way reads http, and a
    caller, or a link of a page, chooses the scheme."""

    values: Mapping[str, str]
    plain_http: bool = False


_NO_HOSTS: Mapping[str, HostHeaders] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Fetched:
    """One response, whatever its status.

    `url` is the address after redirects, `content_type` the header (`text/html; charset=x`), `body` decompressed.
    `headers` has the names in `_USED_HEADERS` that were sent, in lower case. `public` is False when only the
    operator's allow-list permitted the fetch. `ended_early`: the body stops before its end.
    """

    url: str
    status: int
    content_type: str
    body: bytes
    headers: MappingProxyType[str, str]
    public: bool = True
    ended_early: bool = False


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One request that a page makes, whose redirect is not followed: the browser asks again.

    `origin` and `sends` are the values of `Origin` and of the Content-Type of `body`; empty ones are not sent. `keeps`
    are response headers, in lower case, that the answer has beside the usual ones.
    """

    url: str
    method: Literal["GET", "HEAD", "POST"] = "GET"
    accept: str = HTML_ACCEPT
    origin: str = ""
    sends: str = ""
    body: bytes = b""
    keeps: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Caps of one fetch: bytes on the wire, bytes once decompressed, seconds in all. `is_cut`: of a body with more than
    `max_bytes` the rest is left out, instead of FetchFailed (`too_large`); compressed it may have `max_inflated_bytes`.

    The defaults are chosen: half fails long specifications and PDFs, double costs memory for each of up to 32 fetches
    at once. 20 s is what a tool call can spend on one page.
    """

    max_bytes: int = 5_242_880
    max_inflated_bytes: int = 10_485_760
    total_s: float = 20.0
    is_cut: bool = False


class Fetcher:
    """The only client for addresses that callers and pages name. It opens its session at first use.

    `policy` decides which addresses are allowed; `limits` are the defaults of `fetch`; `resolver` replaces the
    system's. `host_headers`: further headers by host, or `host:port`; they are sent to it alone, and no more after a
    redirect to elsewhere. Pages that were asked for with them are not public.
    """

    def __init__(
        self,
        policy: AddressPolicy,
        user_agent: str,
        limits: FetchLimits | None = None,
        resolver: AbstractResolver | None = None,
        host_headers: Mapping[str, HostHeaders] = _NO_HOSTS,
    ) -> None:
        self._host_headers = host_headers
        self.policy = policy
        self.limits = limits or FetchLimits()
        self._user_agent = user_agent
        self._guard = GuardedResolver(policy, resolver or SystemLookup())
        self._session: aiohttp.ClientSession | None = None

    def public_only(self) -> "Fetcher":
        """A fetcher that reaches public addresses alone, with connections of its own. Close it."""
        return Fetcher(self.policy.public_only(), self._user_agent, self.limits)

    async def close(self) -> None:
        """Closes the connections and the resolver."""
        if self._session is not None:
            await self._session.close()
            self._session = None
        await self._guard.close()

    async def fetch(
        self,
        url: str,
        limits: FetchLimits | None = None,
        accept: str = PAGE_ACCEPT,
        conditions: Mapping[str, str] = _UNCONDITIONAL,
    ) -> Fetched:
        """The response after at most MAX_HOPS redirects, whatever its status. Raises FetchFailed.

        `conditions`: headers that make the request conditional (RFC 9110 §13); they are sent to `url` alone.
        """
        limits = limits or self.limits
        with _told_apart():
            async with asyncio.timeout(limits.total_s):
                return await self._follow(parse_url(url), limits, accept, conditions)

    async def fetch_once(self, request: PageRequest, limits: FetchLimits) -> Fetched:
        """The response to one request as it comes, a redirect included. No cookie is sent. Raises FetchFailed."""
        with _told_apart():
            async with asyncio.timeout(limits.total_s):
                url = parse_url(request.url)
                self._check(url)
                headers = self._headers(request.accept, None)
                headers |= {"Origin": request.origin} if request.origin else {}
                headers |= {"Content-Type": request.sends} if request.sends else {}
                body = request.body if request.method == "POST" else None
                asked = self._open_session().request(
                    request.method, url, headers=headers, data=body, allow_redirects=False
                )
                async with asked as response:
                    return await self._read_body(url, response, limits, request.keeps)

    async def fetch_image(self, url: str, max_bytes: int) -> bytes:
        """The image's bytes, at most `max_bytes`. Raises FetchFailed (an InvalidRequest)."""
        limits = FetchLimits(max_bytes, max_bytes, self.limits.total_s)
        fetched = await self.fetch(url, limits, "image/*")
        if fetched.status != 200:
            raise FetchFailed(f"the image's host answered {fetched.status}", "http_status", http_status=fetched.status)
        if fetched.ended_early:
            raise FetchFailed("the image's host broke off its answer")
        return fetched.body

    async def _follow(self, url: URL, limits: FetchLimits, accept: str, conditions: Mapping[str, str]) -> Fetched:
        cookies: dict[str, dict[str, str]] = {}
        own, started_at = self._headers_of(url), url.origin()
        for _ in range(MAX_HOPS + 1):
            self._check(url)
            own = own if url.origin() == started_at else _UNCONDITIONAL
            headers = {**self._headers(accept, cookies.get(url.raw_host or "")), **conditions, **own}
            request = self._open_session().get(url, headers=headers, allow_redirects=False)
            async with request as response:
                location = response.headers.get("Location")
                if response.status not in _REDIRECTS or not location:
                    read = await self._read_body(url, response, limits)
                    return replace(read, public=False) if own else read
                jar = cookies.setdefault(url.raw_host or "", {})
                jar.update({name: morsel.value for name, morsel in list(response.cookies.items())[:MAX_COOKIES]})
                response.close()
            target = join(str(url), location)
            if target is None:
                raise FetchFailed("the page redirects to something that is not a web address", "redirects")
            url, conditions = parse_url(target), _UNCONDITIONAL
        raise FetchFailed(f"the page redirects more than {MAX_HOPS} times", "redirects")

    def _headers_of(self, url: URL) -> Mapping[str, str]:
        """The operator's headers for the host of an address."""
        host = (url.raw_host or "").lower()
        own = self._host_headers.get(f"{host}:{url.port}")
        if own is None and url.is_default_port():
            own = self._host_headers.get(host)
        is_sent = own is not None and (url.scheme == "https" or own.plain_http)
        return own.values if own is not None and is_sent else _UNCONDITIONAL

    def _check(self, url: URL) -> None:
        """Checks what the resolver cannot: IP literals, for which aiohttp never asks it, and the path on the gateway's
        own operations listener. Raises SkippedUrl."""
        host = url.raw_host or ""
        if self.policy.own is not None and self.policy.own.refuses(url):
            raise SkippedUrl()
        if parse_address(host) is not None and not self.policy.permits(host, host, url.port or 0):
            raise SkippedUrl()

    def _headers(self, accept: str, cookies: dict[str, str] | None) -> dict[str, str]:
        headers = {
            "User-Agent": self._user_agent,
            "Accept": accept,
            "Accept-Language": "en, *;q=0.5",
            "Accept-Encoding": "gzip, deflate",
        }
        if cookies:  # some sites redirect until their cookie comes back; it is sent to the same host only
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
        return headers

    async def _read_body(
        self, url: URL, response: aiohttp.ClientResponse, limits: FetchLimits, keeps: Collection[str] = ()
    ) -> Fetched:
        if (response.content_length or 0) > limits.max_bytes and not limits.is_cut:
            raise too_large(limits.max_bytes)
        decoder = decoder_for(response.headers.get("Content-Encoding", ""), limits.max_inflated_bytes)
        body = bytearray()
        wire_bytes, most_wire_bytes = 0, limits.max_inflated_bytes if limits.is_cut else limits.max_bytes
        pieces = PagePieces(response)
        async for piece in pieces:
            wire_bytes += len(piece)
            if wire_bytes > most_wire_bytes:  # compressed bytes need not have any output
                raise too_large(most_wire_bytes)
            for step in decoder.steps(piece):
                output = decoder.feed(step)
                body += output
                if limits.is_cut and len(body) > limits.max_bytes:
                    break
                if len(output) > _TURN_BYTES:
                    await asyncio.sleep(0)
            if limits.is_cut and len(body) > limits.max_bytes:
                del body[limits.max_bytes :]
                break
        content_type, headers = response.headers.get("Content-Type", ""), _used_headers(response.headers, keeps)
        public = self._is_public(response)
        ended_early = pieces.broke_off or (not limits.is_cut and not decoder.is_complete)
        return Fetched(str(url), response.status, content_type, bytes(body), headers, public, ended_early)

    def _is_public(self, response: aiohttp.ClientResponse) -> bool:
        """False when only the operator's allow-list permitted this; such pages are never shared between keys."""
        host, port = response.url.raw_host or "", response.url.port or 0
        if self.policy.names(host, port) or self._guard.was_exempt(host, port):
            return False
        address = parse_address(host)
        return address is None or not self.policy.is_exempt(host, address, port)

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = BoundedConnector(
                resolver=self._guard, use_dns_cache=False, limit=MAX_CONNECTIONS, keepalive_timeout=_KEEPALIVE_S
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=_SILENCE_S),
                max_line_size=_MAX_HEADER_LINE_BYTES,
                max_field_size=MAX_FIELD_BYTES,
                max_headers=MAX_HEADERS,
            )
        return self._session


def _used_headers(headers: CIMultiDictProxy[str], keeps: Collection[str]) -> MappingProxyType[str, str]:
    return MappingProxyType({name: headers[name] for name in (*_USED_HEADERS, *keeps) if name in headers})


@contextmanager
def _told_apart() -> Iterator[None]:
    """Turns every failure of a request into a FetchFailed that says no more than it may."""
    began_s = time.monotonic()
    try:
        yield
    except FetchFailed:
        raise
    except TimeoutError as error:
        waited_s = round(time.monotonic() - began_s, 1)  # a silent host fails before the whole limit
        raise FetchFailed(f"{NO_ANSWER}; gave up after {waited_s:g} s", "timeout") from error
    except EndlessAnswer as error:
        raise FetchFailed(f"the site sent {error} and was given up", "too_large") from error
    except (aiohttp.ClientError, OSError, ssl.SSLError, ValueError, asyncio.IncompleteReadError) as error:
        if are_headers_too_large(error):
            raise FetchFailed(_LARGE_HEADERS, "too_large") from error
        raise FetchFailed(NO_ANSWER) from error
