"""Fetches what a caller, or a page, named, without ever being turned against the network the gateway runs in.

Ten rules hold here: plain http(s) only; an exact allow-list; a guarded, pinned resolution; every redirect hop judged
anew, IP literals too; no proxy, no cookie jar, no credentials; a connector shared with nobody; caps on wire and
inflated bytes; a cap on total time that a slow drip cannot outlast; capped headers; reasons that tell nothing of
closed ports. It knows neither robots.txt nor what is in a page. HTTP as in RFC 9110.
"""

import asyncio
import ssl
import time
from dataclasses import dataclass
from types import MappingProxyType

import aiohttp
from aiohttp.abc import AbstractResolver
from multidict import CIMultiDictProxy
from yarl import URL

from gateway.engines.fetch.address_policy import AddressPolicy, parse_address
from gateway.engines.fetch.decompress import decoder_for, too_large
from gateway.engines.fetch.errors import NO_ANSWER, FetchFailed, SkippedUrl
from gateway.engines.fetch.resolver import GuardedResolver, SystemLookup
from gateway.engines.fetch.urls import join, parse_url

MAX_HOPS = 8
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ACCEPT = "text/html,application/xhtml+xml;q=0.9,application/pdf;q=0.8,*/*;q=0.5"
_KEPT_HEADERS = ("retry-after", "last-modified", "x-robots-tag", "refresh", "link", "server")


@dataclass(frozen=True, slots=True)
class Fetched:
    """One response: where it came from in the end, its status, declared type (`text/html; charset=x`) and body."""

    url: str
    status: int
    content_type: str
    body: bytes
    headers: MappingProxyType[str, str]
    public: bool = True


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Caps of one fetch: bytes on the wire, bytes once unpacked, seconds in all."""

    max_bytes: int = 5_242_880
    max_inflated_bytes: int = 10_485_760
    total_s: float = 20.0


class Fetcher:
    """The one way out to the web. Build it inside a running loop or before; the session opens at first use."""

    def __init__(
        self,
        policy: AddressPolicy,
        user_agent: str,
        limits: FetchLimits | None = None,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self.policy = policy
        self.limits = limits or FetchLimits()
        self._user_agent = user_agent
        self._guard = GuardedResolver(policy, resolver or SystemLookup())
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None
        await self._guard.close()

    async def fetch(self, url: str, limits: FetchLimits | None = None, accept: str = _ACCEPT) -> Fetched:
        """The response at the end of at most 8 redirects, whatever its status. Raises FetchFailed."""
        limits = limits or self.limits
        began_s = time.monotonic()
        try:
            async with asyncio.timeout(limits.total_s):
                return await self._follow(parse_url(url), limits, accept)
        except FetchFailed:
            raise
        except TimeoutError as error:
            waited_s = round(time.monotonic() - began_s, 1)  # a silence ends it sooner than the whole limit
            raise FetchFailed(f"{NO_ANSWER}; gave up after {waited_s:g} s", "timeout") from error
        except (aiohttp.ClientError, OSError, ssl.SSLError, ValueError, asyncio.IncompleteReadError) as error:
            raise FetchFailed(NO_ANSWER) from error

    async def fetch_image(self, url: str, max_bytes: int) -> bytes:
        """The image's bytes. Raises FetchFailed (an InvalidRequest) when refused, missing or too large."""
        limits = FetchLimits(max_bytes, max_bytes, self.limits.total_s)
        fetched = await self.fetch(url, limits, "image/*")
        if fetched.status != 200:
            raise FetchFailed(f"the image's host answered {fetched.status}", "http_status", http_status=fetched.status)
        return fetched.body

    async def _follow(self, url: URL, limits: FetchLimits, accept: str) -> Fetched:
        cookies: dict[str, dict[str, str]] = {}
        for _ in range(MAX_HOPS + 1):
            self._check(url)
            request = self._opened().get(
                url, headers=self._headers(accept, cookies.get(url.raw_host or "")), allow_redirects=False
            )
            async with request as response:
                location = response.headers.get("Location")
                if response.status not in _REDIRECTS or not location:
                    return await self._read(url, response, limits)
                jar = cookies.setdefault(url.raw_host or "", {})
                jar.update({name: morsel.value for name, morsel in list(response.cookies.items())[:20]})
                response.close()
            target = join(str(url), location)
            if target is None:
                raise FetchFailed("the page redirects to something that is not a web address", "redirects")
            url = parse_url(target)
        raise FetchFailed(f"the page redirects more than {MAX_HOPS} times", "redirects")

    def _check(self, url: URL) -> None:
        """Judges IP literals, for which the HTTP client never asks a resolver."""
        host = url.raw_host or ""
        if parse_address(host) is not None and not self.policy.permits(host, host, url.port or 0):
            raise SkippedUrl()

    def _headers(self, accept: str, cookies: dict[str, str] | None) -> dict[str, str]:
        headers = {
            "User-Agent": self._user_agent,
            "Accept": accept,
            "Accept-Language": "en, *;q=0.5",
            "Accept-Encoding": "gzip, deflate",
        }
        if cookies:  # some sites redirect until their own cookie comes back; it goes to the same host only
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
        return headers

    async def _read(self, url: URL, response: aiohttp.ClientResponse, limits: FetchLimits) -> Fetched:
        if (response.content_length or 0) > limits.max_bytes:
            raise too_large(limits.max_bytes)
        decoder = decoder_for(response.headers.get("Content-Encoding", ""), limits.max_inflated_bytes)
        wire_bytes = 0
        body = bytearray()
        async for piece in response.content.iter_any():
            wire_bytes += len(piece)
            if wire_bytes > limits.max_bytes:
                raise too_large(limits.max_bytes)
            body += decoder.feed(piece)
        kind = response.headers.get("Content-Type", "")
        return Fetched(str(url), response.status, kind, bytes(body), _kept(response.headers), self._is_public(response))

    def _is_public(self, response: aiohttp.ClientResponse) -> bool:
        """False when only the operator's allow-list let this through: such pages are never shared between keys."""
        host, port = response.url.raw_host or "", response.url.port or 0
        if self.policy.names(host, port) or self._guard.was_exempt(host, port):
            return False
        address = parse_address(host)
        return address is None or not self.policy.is_exempt(host, address, port)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(resolver=self._guard, use_dns_cache=False, limit=128, keepalive_timeout=15)
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=10),
                max_line_size=16_384,
                max_field_size=32_768,
            )
        return self._session


def _kept(headers: CIMultiDictProxy[str]) -> MappingProxyType[str, str]:
    return MappingProxyType({name: headers[name] for name in _KEPT_HEADERS if name in headers})
