"""Requests of aiohttp's session whose head was made once for all of an address: `RequestHead`, and their
`request_class`.

A request of aiohttp's own makes its head, a payload, a writer and a task anew each time. Here head and body are written
in one piece; what is long goes in pieces, in a task as aiohttp's.

    session = aiohttp.ClientSession(request_class=Exchange)
    await session.request("POST", head.url, data=Outgoing(head, b"{}"), allow_redirects=False)
"""

import asyncio
import contextlib
import re
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import aiohttp
from aiohttp import hdrs
from aiohttp.abc import AbstractStreamWriter
from aiohttp.connector import Connection
from aiohttp.http_writer import StreamWriter
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

_WHOLE_BYTES = 1 << 18
"""A longer body is written in pieces of this size: written at once, 26 MB hold the event loop for 30 ms."""
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_IS_SENT = cast(AbstractStreamWriter, SimpleNamespace(output_size=0))


class RequestHead:
    """What the requests of one method to one address begin with. `headers`: all but the length of the body; a user and
    password in the address become `Authorization`. Raises ValueError for control characters."""

    def __init__(self, method: str, address: str, headers: Mapping[str, str]) -> None:
        url = URL(address)
        if url.user is not None:
            headers = {hdrs.AUTHORIZATION: aiohttp.encode_basic_auth(url.user, url.password or ""), **headers}
        self.url = url = url.with_user(None)
        self.headers = CIMultiDict({hdrs.HOST: url.host_port_subcomponent or "", "Accept": "*/*", **headers})
        self.info = aiohttp.RequestInfo(url, method, CIMultiDictProxy(self.headers), url)
        self.start = start_of(method, url.raw_path_qs, self.headers.items())


def start_of(method: str, target: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """The bytes of a head but its last lines. Raises ValueError for control characters.

    start_of("POST", "/v1", [("Host", "a")])  # b"POST /v1 HTTP/1.1\\r\\nHost: a\\r\\n"
    """
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    if any(map(_CONTROL.search, lines)):
        raise ValueError("a header holds a control character")
    return "".join(f"{line}\r\n" for line in lines).encode()


class Outgoing(NamedTuple):
    """One request. `more`: headers that it alone has."""

    head: RequestHead
    body: bytes
    more: Mapping[str, str]


class Exchange(aiohttp.ClientRequest):
    """A request whose `data` is an Outgoing. What aiohttp finds out of a request's parts is known here before."""

    def __init__(self, method: str, url: URL, *, data: Outgoing | None, **settings: Any) -> None:
        if data is None:  # aiohttp would send it again, by itself, where a connection of its pool was closed
            raise aiohttp.ServerDisconnectedError
        self._outgoing = data
        super().__init__(method, url, **settings)

    def update_host(self, url: URL) -> None:
        """The head has it."""

    def update_headers(self, headers: object) -> None:
        """Those of the head; a proxy may add its own, so they are copied for one (`update_proxy`)."""
        self.headers = self._outgoing.head.headers

    def update_auto_headers(self, skip_auto_headers: object) -> None:
        """None but those of the head."""

    def update_cookies(self, cookies: object) -> None:
        """None are sent."""

    def update_auth(self, auth: object, trust_env: bool = False) -> None:
        """The head has it."""

    def update_proxy(self, proxy: URL | None, proxy_auth: Any, proxy_headers: Any) -> None:
        """As aiohttp."""
        super().update_proxy(proxy, proxy_auth, proxy_headers)
        if proxy is not None:
            self.headers = self.headers.copy()

    def update_body_from_data(self, body: object, _stacklevel: int = 0) -> None:
        """Does nothing: `send` writes the body."""

    def update_transfer_encoding(self) -> None:
        """Does nothing: the request has a Content-Length."""

    @property
    def request_info(self) -> aiohttp.RequestInfo:
        """What errors name."""
        return self._outgoing.head.info

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        """Write the request. Returns the answer, of which nothing has been read."""
        head, body, more = self._outgoing
        start = head.start
        if self.proxy is not None and not self.is_ssl():  # it asks for the whole address (RFC 9112, 3.2.2)
            start = start_of(self.method, str(self.url), self.headers.items())
        if more:
            start += "".join(f"{name}: {value}\r\n" for name, value in more.items()).encode()
        start += b"Content-Length: %d\r\n\r\n" % len(body)
        protocol, writing = conn.protocol, None
        if protocol is None or protocol.transport is None or protocol.transport.is_closing():
            raise aiohttp.ServerDisconnectedError
        if len(body) <= _WHOLE_BYTES:
            protocol.transport.write(start + body)
        else:
            protocol.transport.write(start)
            writing = asyncio.create_task(_write_in_turns(StreamWriter(protocol, self.loop), conn, body))
        return self.response_class(
            self.method,
            self.url,
            writer=writing,
            continue100=None,
            timer=None,  # type: ignore[arg-type]  # aiohttp takes none
            request_info=head.info,
            traces=[],
            loop=self.loop,
            session=self.session,
            stream_writer=_IS_SENT,
        )


async def _write_in_turns(writer: StreamWriter, conn: Connection, body: bytes) -> None:
    """Write a body in pieces, with turns for others. A connection that is lost tells who waits for the answer."""
    view = memoryview(body)
    try:
        with contextlib.suppress(OSError):
            for start in range(0, len(view), _WHOLE_BYTES):
                await writer.write(view[start : start + _WHOLE_BYTES])
                await asyncio.sleep(0)
    except BaseException:
        conn.close()
        raise
