"""Connections that end when a server sends what nobody will read: interim answers, framing or answers without end.

aiohttp bounds one header and the caller one body. What lies between is free otherwise: `100 Continue` a million times
(RFC 9110 section 15.2), extensions of chunks and trailers (RFC 9112 section 7.1), blank lines before a status line. All
cost the server next to nothing, and the loop here all its time for as long as the fetch may last. Knows no URL.
"""

import functools
from collections.abc import Callable
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_parser import RawResponseMessage
from aiohttp.streams import StreamReader

from gateway.engines.fetch.header_limits import MAX_FIELD_BYTES, MAX_HEADERS

MAX_INTERIM = 16
"""Interim answers (1xx) before the answer. Chosen: servers send one or two (103 Early Hints); at half, a server with
many hints might fail, at double nothing is gained."""
_MAX_HEAD_BYTES = MAX_HEADERS * MAX_FIELD_BYTES
"""Bytes until the answer's header is complete: what the limits of its fields add up to."""
_FREE_FRAMING_BYTES, _FRAMING_SHARE = 1_048_576, 2
"""Bytes of chunk framing that any body may have, and that a body may have for each of its own bytes. Chosen: chunks of
one letter have five bytes of framing each, and some servers flush single lines so. At half, such an answer of 100 KB is
cut; at double, a server can make the parser work twice as long for nothing."""
_SLICE_BYTES = 32_768
"""Bytes parsed between two checks of the limits, and at once. Chosen: 1,300 interim answers, 4 ms (asyncio reads
262,144, which were 31 ms); at half, long bodies are cut into twice as many pieces, at double a flood holds the loop for
8 ms."""

_parse = ResponseHandler.data_received
"""Looked up once: `super()` takes twice as long, and each chunk of a stream comes here."""
_INFORMATIONAL = range(102, 200)


class EndlessAnswer(aiohttp.ClientPayloadError):
    """The server sent more beside its answer than any honest one does."""


class BoundedConnector(aiohttp.TCPConnector):
    """A connector whose connections keep to this module's limits."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        connection: Callable[..., ResponseHandler] = _Connection
        self._factory = functools.partial(connection, loop=self._loop)


class _Connection(ResponseHandler):
    """Counts what comes for one request, from `set_response_params` on.

    `_byte_count` has the bytes up to the last check of the limits; the next one is made before the bytes parsed since
    are more than _SLICE_BYTES, of which `_unchecked_room` are left. So a chunk of a stream costs a subtraction.
    """

    def __init__(self, loop: Any) -> None:
        super().__init__(loop)
        self._content: StreamReader | None = None
        self._interim_count = self._byte_count = 0
        self._unchecked_room = _SLICE_BYTES
        self._is_refused = self._has_paused = False

    def set_response_params(self, **settings: Any) -> None:
        self._content, self._has_paused = None, False  # aiohttp makes a new parser
        self._interim_count = self._byte_count = 0
        self._unchecked_room = _SLICE_BYTES
        super().set_response_params(**settings)

    def data_received(self, data: bytes) -> None:
        room = self._unchecked_room - len(data)
        if room >= 0:
            self._unchecked_room = room
            _parse(self, data)
            return
        for start in range(0, len(data), _SLICE_BYTES):
            if self._is_refused:
                return
            part = data[start : start + _SLICE_BYTES]
            self._byte_count += _SLICE_BYTES - self._unchecked_room + len(part)
            self._unchecked_room = _SLICE_BYTES
            _parse(self, part)
            self._check_bytes()

    def pause_reading(self) -> None:
        self._has_paused = True
        super().pause_reading()

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Called by aiohttp 3.14.5 after each read of the body: it resumes the transport, and parses what a pause has
        left. There is neither before the first pause; after it the parser may stop once more without another one."""
        if self._has_paused:
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
