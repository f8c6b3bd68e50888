"""Fetches URLs that a caller or a page names, without reaching into the network that the gateway runs in.

Eleven rules against server-side request forgery: plain http(s) only; an exact allow-list; name resolution that checks
the address which is then connected to; every redirect hop checked again, IP literals included; of the gateway's own
operations listener the documentation alone; no proxy, cookie jar or credentials; a connector of its own; caps on wire
and decompressed bytes; a cap on the total time of a slow body; capped headers; reasons that do not reveal open ports.
It knows neither robots.txt nor what is in a page. Source: RFC 9110.
"""

import asyncio
import functools
import ssl
import time
import zlib
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import BadHttpMessage, LineTooLong
from aiohttp.http_parser import RawResponseMessage
from aiohttp.streams import StreamReader
from multidict import CIMultiDictProxy
from yarl import URL

from gateway.engines.fetch.address_policy import AddressPolicy, GuardedResolver, SystemLookup, parse_address
from gateway.engines.fetch.errors import NO_ANSWER, FetchFailed, SkippedUrl
from gateway.engines.fetch.urls import join, parse_url

MAX_HEADERS = 128  # aiohttp's own default, stated here for the error texts

MAX_FIELD_BYTES = 32_768  # of one field

_TOO_MANY = "too many headers"
"""aiohttp's words for it, which has no class of its own (read in 3.14.5; a test sends such an answer)."""


def are_headers_too_large(error: BaseException | None) -> bool:
    """Whether aiohttp raised `error`, or what caused it, over the size or number of the headers."""
    while error is not None:
        if isinstance(error, LineTooLong):
            return True
        if isinstance(error, BadHttpMessage) and _TOO_MANY in error.message.lower():
            return True
        error = error.__cause__ or error.__context__
    return False


MAX_INTERIM = 16  # interim answers (1xx) before the answer
_MAX_HEAD_BYTES = MAX_HEADERS * MAX_FIELD_BYTES
"""Bytes until the answer's header is complete: what the limits of its fields add up to."""
_FREE_FRAMING_BYTES, _FRAMING_SHARE = 1_048_576, 2
"""Bytes of chunk framing that any body may have, and that a body may have for each of its own bytes."""
_SLICE_BYTES = 32_768  # bytes parsed between two checks of the limits, and at once

_parse = ResponseHandler.data_received
"""Looked up once: `super()` takes twice as long, and each chunk of a stream comes here."""
_INFORMATIONAL = range(102, 200)


class EndlessAnswer(aiohttp.ClientPayloadError):
    """The server sent more beside its answer than any honest one does."""


class BoundedConnector(aiohttp.TCPConnector):
    """A connector whose connections keep to this module's limits."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        connection: Callable[..., ResponseHandler] = CountingConnection
        self._factory = functools.partial(connection, loop=self._loop)


class CountingConnection(ResponseHandler):
    """Counts what comes for one request, from `set_response_params` on. `on_read` is called after each read, and when
    the connection is lost; `has_paused`: the body has come faster than it was read.

    `_byte_count` has the bytes up to the last check of the limits; the next one is made before the bytes parsed since
    are more than _SLICE_BYTES, of which `_unchecked_room` are left. So a chunk of a stream costs a subtraction.
    """

    def __init__(self, loop: Any) -> None:
        super().__init__(loop)
        self._content: StreamReader | None = None
        self._interim_count = self._byte_count = 0
        self._unchecked_room = _SLICE_BYTES
        self._is_refused = self.has_paused = False
        self.on_read: Callable[[], None] | None = None

    def set_response_params(self, **settings: Any) -> None:
        self._content, self.has_paused, self.on_read = None, False, None  # aiohttp makes a new parser
        self._interim_count = self._byte_count = 0
        self._unchecked_room = _SLICE_BYTES
        super().set_response_params(**settings)

    def data_received(self, data: bytes) -> None:
        room = self._unchecked_room - len(data)
        if room >= 0:
            self._unchecked_room = room
            _parse(self, data)
            if self.on_read is not None:
                self.on_read()
            return
        for start in range(0, len(data), _SLICE_BYTES):
            if self._is_refused:
                return
            part = data[start : start + _SLICE_BYTES]
            self._byte_count += _SLICE_BYTES - self._unchecked_room + len(part)
            self._unchecked_room = _SLICE_BYTES
            _parse(self, part)
            self._check_bytes()
        if self.on_read is not None:
            self.on_read()

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._content = None  # it leads back here
        if self.on_read is not None:
            self.on_read()

    def pause_reading(self) -> None:
        self.has_paused = True
        super().pause_reading()

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Called by aiohttp 3.14.5 after each read of the body: it resumes the transport, and parses what a pause has
        left. There is neither before the first pause; after it the parser may stop once more without another one."""
        if self.has_paused:
            super().resume_reading(resume_parser)

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        message, content = data
        if self._is_refused:
            return
        if message.code == 100 or message.code in _INFORMATIONAL:  # 101 is final: nothing was upgraded
            self._interim_count += 1
            if self._interim_count > MAX_INTERIM:
                self._refuse("interim answers without end")
                return
        elif self._content is not None:
            self._refuse("another answer that nobody asked for")
            return
        else:
            self._content, self._byte_count, self._unchecked_room = content, 0, _SLICE_BYTES
        super().feed_data(data, size)

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        """Also tells who reads the body. aiohttp 3.14.5 tells only who waits for the header, so that a body with wrong
        framing behind its first piece would be waited for until a time limit."""
        super().set_exception(exc, *cause)
        if self._content is not None and not self._content.is_eof() and self._content.exception() is None:
            self._content.set_exception(aiohttp.ClientPayloadError("the framing of the body is not valid"))

    def _check_bytes(self) -> None:
        if self._content is None:
            if self._byte_count > _MAX_HEAD_BYTES:
                self._refuse("no complete header")
        elif self._byte_count > _FREE_FRAMING_BYTES:
            body = self._content.total_bytes
            if self._byte_count - body > _FREE_FRAMING_BYTES + _FRAMING_SHARE * body:
                self._refuse("more framing than body")

    def _refuse(self, reason: str) -> None:
        if self._is_refused:
            return
        self._is_refused = True
        error = EndlessAnswer(reason)
        if self._content is not None and not self._content.is_eof():
            self._content.set_exception(error)
        self.set_exception(error)
        if self.transport is not None:
            self.transport.abort()


MAX_MEMBERS = 1_000  # gzip members in one body
_WINDOW_BYTES = 16_384
"""Compressed bytes that zlib gets at once. At the end of a member zlib copies all the input that is left: with whole
bodies at once the cost would grow with the square of the number of members."""
_STEP_BYTES = 2_048  # compressed bytes fed on an event loop before others get a turn: 2 MB of output at most, 4 ms
_GZIP_FIRST_BYTE = 0x1F
_DEFLATE_METHOD = 8
"""The low four bits of a zlib stream's first byte (RFC 1950 §2.2). No raw deflate stream of zlib begins so."""


class DamagedBody(Exception):
    """The body is not in the coding that it was sent in, or has more than MAX_MEMBERS gzip members."""


class OutputTooLarge(Exception):
    """More output than the caller allowed."""


def steps_of(piece: bytes) -> Iterator[bytes]:
    """A piece of a compressed body in parts that can be decompressed without holding up an event loop."""
    return (piece[start : start + _STEP_BYTES] for start in range(0, len(piece), _STEP_BYTES))


class Decompressor:
    """Decompresses one body: gzip with any number of members up to MAX_MEMBERS, zlib, or raw deflate.

    The first byte decides which of the three it is, since servers mislabel them. Bytes after the last member are
    padding and ignored. `gzip` or `deflate` is what the server named; raw deflate is accepted for `deflate` alone.
    Equals `gzip.decompress(body)`, `zlib.decompress(body)` or `zlib.decompress(body, -15)` of the whole body.
    """

    def __init__(self, coding: Literal["gzip", "deflate"]) -> None:
        self._accepts_raw = coding == "deflate"
        self._stream = zlib.decompressobj()
        self._is_gzip = False
        self._members = 0
        self._is_padding = False

    @property
    def is_complete(self) -> bool:
        """True when no member is unfinished; also for an empty body."""
        return not self._members or self._stream.eof

    def feed(self, piece: bytes, max_bytes: int) -> bytes:
        """The output of the next piece, at most `max_bytes` of it. Raises DamagedBody, OutputTooLarge."""
        if len(piece) <= _WINDOW_BYTES:
            return self._feed_window(piece, max_bytes)
        output = bytearray()
        for start in range(0, len(piece), _WINDOW_BYTES):
            output += self._feed_window(piece[start : start + _WINDOW_BYTES], max_bytes - len(output))
        return bytes(output)

    def _feed_window(self, window: bytes, max_bytes: int) -> bytes:
        output = b""
        while window and not self._is_padding:
            if not self._members or self._stream.eof:
                self._start_member(window[0])
                continue
            try:
                output += self._stream.decompress(window, max_bytes - len(output) + 1)
            except zlib.error as error:
                raise DamagedBody("the compressed body is damaged") from error
            if len(output) > max_bytes:
                raise OutputTooLarge(f"the body has more than {max_bytes} bytes of output")
            window = self._stream.unused_data
        return output

    def _start_member(self, first_byte: int) -> None:
        if self._members and not (self._is_gzip and first_byte == _GZIP_FIRST_BYTE):
            self._is_padding = True
            return
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise DamagedBody(f"the compressed body has more than {MAX_MEMBERS} members")
        self._is_gzip = first_byte == _GZIP_FIRST_BYTE
        if self._is_gzip:
            window_bits = 16 + zlib.MAX_WBITS
        elif first_byte & 0x0F == _DEFLATE_METHOD or not self._accepts_raw:
            window_bits = zlib.MAX_WBITS
        else:
            window_bits = -zlib.MAX_WBITS
        self._stream = zlib.decompressobj(window_bits)


class Decoder:
    """Takes a page's pieces as they arrive and returns their decoded bytes, at most `max_bytes` in all. A page that is
    cut short yields what came, as in browsers. Without a decompressor the pieces are only counted."""

    def __init__(self, max_bytes: int, decompressor: Decompressor | None = None) -> None:
        self._left = self._max_bytes = max_bytes
        self._decompressor = decompressor

    @property
    def is_complete(self) -> bool:
        """False while something must follow what came."""
        return self._decompressor is None or self._decompressor.is_complete

    def steps(self, piece: bytes) -> Iterator[bytes]:
        """A piece in parts of which each can be decoded at once without holding up an event loop."""
        return iter((piece,)) if self._decompressor is None else steps_of(piece)

    def feed(self, piece: bytes) -> bytes:
        """The decoded bytes of the next piece. Raises FetchFailed (`too_large`, `unparsable`)."""
        try:
            output = piece if self._decompressor is None else self._decompressor.feed(piece, self._left)
        except OutputTooLarge:
            raise too_large(self._max_bytes) from None
        except DamagedBody as error:
            raise FetchFailed("the page's compressed body is damaged", "unparsable") from error
        self._left -= len(output)
        if self._left < 0:
            raise too_large(self._max_bytes)
        return output


def decoder_for(coding: str, max_bytes: int) -> Decoder:
    """The decoder for a Content-Encoding header's value; raises FetchFailed (`unsupported_type`) for a coding, or
    several, that cannot be undone. What is no coding (`utf-8`, `none`) says nothing, as in browsers."""
    named = [name for part in coding.split(",") if (name := part.strip().lower()) in _CODINGS]
    if not named:
        return Decoder(max_bytes)
    if len(named) == 1 and named[0] in ("gzip", "x-gzip", "deflate"):
        return Decoder(max_bytes, Decompressor("deflate" if named[0] == "deflate" else "gzip"))
    raise FetchFailed("the page is sent in a compression that was not asked for", "unsupported_type")


_CODINGS = frozenset({
    "gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress", "dcb", "dcz", "bzip2", "xz", "lzma", "exi",
    "pack200-gzip", "aes128gcm",
})  # fmt: skip
"""The content codings of IANA's register, and others that servers send."""


def too_large(max_bytes: int) -> FetchFailed:
    """The error of a page with more than `max_bytes` bytes."""
    return FetchFailed(f"the page is larger than {max_bytes} bytes", "too_large")


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
