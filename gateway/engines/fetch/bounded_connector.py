"""Connections to other servers whose answers have bounds: headers, interim answers, and framing beside the body.

Fetched pages and upstreams come through them alike. Source: RFC 9110, RFC 9112.
"""

import functools
from collections.abc import Callable
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import BadHttpMessage, LineTooLong
from aiohttp.http_parser import RawResponseMessage
from aiohttp.streams import StreamReader

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
