"""The parsers of foreign bytes, each as a function that takes any bytes and fails when a property does not hold.

The properties: nothing but the documented errors is raised; what is read in pieces equals what is read at once; what
is brought into a normal form stays as it is the second time; texts are valid Unicode. `tests/corpus/TARGET` keeps the
inputs to begin with: small, one a file, named for what they show. Used by `bench.fuzz` and by the suite.
"""

import asyncio
import contextlib
import gzip
import time
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Literal

import orjson
from multidict import CIMultiDict

from gateway.engines.documents.feeds import read_sitemap
from gateway.engines.documents.page import extract
from gateway.engines.documents.parse_pool import ExtractOptions
from gateway.engines.fetch import robots
from gateway.engines.fetch.decompression import DamagedBody, Decompressor, OutputTooLarge
from gateway.engines.fetch.errors import Unreadable
from gateway.engines.fetch.urls import canonical, join, parse_url
from gateway.engines.html.encoding import decode
from gateway.errors import GatewayError, InvalidRequest, UpstreamError
from gateway.mcp.dispatcher import Dispatcher
from gateway.mcp.running_calls import RunningCalls
from gateway.mcp.versions import RpcHeaders
from gateway.wire import sse
from gateway.wire.chat.answer import AnswerContext
from gateway.wire.chat.stream import ChatStream
from gateway.wire.image_header import read_header
from gateway.wire.json_body import CUT_BYTES, LARGE_BYTES, JsonBody, JsonLimits, is_too_deep
from gateway.wire.retry_after import retry_after_s
from tests.support.web_tools import RecordingTools

CORPUS = Path(__file__).resolve().parent.parent / "tests" / "corpus"
_MAX_OUTPUT = 1 << 20
_DATA_URL = b'"data:image/png;base64,' + b"iVBORw0KGgoA" * (CUT_BYTES // 12 + 1) + b'"'


def event_stream(data: bytes) -> None:
    """The first byte says where the stream is cut."""
    if not data:
        return
    at, stream = data[0], data[1:]
    whole, cut = sse.Parser(), sse.Parser()
    try:
        expected = [*whole.feed(stream), *whole.close()]
        events = [*cut.feed(stream[:at]), *cut.feed(stream[at:]), *cut.close()]
    except UpstreamError:
        return
    assert events == expected


@cache
def _dispatcher() -> Dispatcher:
    return Dispatcher(RecordingTools(), RunningCalls())


def json_envelope(data: bytes) -> None:
    """A JSON-RPC body, of any revision."""
    with contextlib.suppress(GatewayError):
        _dispatcher().check(JsonBody(data), RpcHeaders(CIMultiDict(), True, False))
    with contextlib.suppress(orjson.JSONDecodeError):
        is_too_deep(orjson.loads(data))


def robots_txt(data: bytes) -> None:
    """The first line is the URL, the rest the file."""
    url, _, text = data.decode("utf-8", "replace").partition("\n")
    rules = robots.parse(text, "gateway-fetcher")
    assert 0 <= rules.delay_s <= robots.MAX_DELAY_S
    with contextlib.suppress(ValueError):  # a URL that cannot be split comes from no caller: `parse_url` refuses it
        assert rules.allows(url) in (True, False)


def sitemap(data: bytes) -> None:
    """A sitemap or an index of sitemaps."""
    found = read_sitemap(data)
    assert set(found) == {"pages", "sitemaps"} and all(each.strip() for each in [*found["pages"], *found["sitemaps"]])


def charset(data: bytes) -> None:
    """The first line is the Content-Type."""
    content_type, _, body = data.partition(b"\n")
    decode(body, content_type.decode("latin-1")).encode()


def image_header(data: bytes) -> None:
    """A picture's beginning."""
    with contextlib.suppress(InvalidRequest):
        info = read_header(data)
        assert info.width > 0 and info.height > 0 and 1 <= info.orientation <= 8


def long_json(data: bytes) -> None:
    """A document around a long data URL: what `|` stands for, or else before the whole."""
    document = data.replace(b"|", _DATA_URL, 4) if b"|" in data else b"[" + _DATA_URL + b"," + data + b"]"
    raw = document.ljust(LARGE_BYTES + 1)
    try:
        expected = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return
    if is_too_deep(expected):
        return
    assert asyncio.run(JsonBody.read(raw, JsonLimits())).value() == expected


def compressed_body(data: bytes) -> None:
    """The first byte chooses coding and cut; the rest is what comes over the wire, packed first if the byte is odd."""
    if not data:
        return
    coding: Literal["gzip", "deflate"] = "deflate" if data[0] & 2 else "gzip"
    body = data[1:]
    if data[0] & 1:
        body = zlib.compress(body) if coding == "deflate" else gzip.compress(body)
    try:
        expected = Decompressor(coding).feed(body, _MAX_OUTPUT)
    except (DamagedBody, OutputTooLarge):
        expected = None
    at, pieces = data[0], Decompressor(coding)
    try:
        output = pieces.feed(body[:at], _MAX_OUTPUT) + pieces.feed(body[at:], _MAX_OUTPUT)
    except (DamagedBody, OutputTooLarge):
        assert expected is None or body[:at] == b""
        return
    assert expected is None or output == expected
    if data[0] & 1:
        assert output == data[1:]


def urls(data: bytes) -> None:
    """A URL, or a base and a reference on two lines."""
    base, _, reference = data.decode("utf-8", "replace").partition("\n")
    for text in (base, join(base, reference) or "", join("http://a.test/b/c?d#e", base) or ""):
        normal = canonical(text)
        if normal is not None:
            assert canonical(normal) == normal, (text, normal)
            assert parse_url(normal).raw_host


def retry_after(data: bytes) -> None:
    """The value of a header."""
    wait_s = retry_after_s(data.decode("latin-1"))
    assert wait_s is None or 0 <= wait_s < 1e12


def chat_stream(data: bytes) -> None:
    """Chunks, one a line, each in a batch of its own."""
    stream = ChatStream(AnswerContext("SvcLLM", "upstream-1", "m", time.perf_counter(), include_usage=True))
    error = None
    for line in data.split(b"\n"):
        events, error = stream.take([line])
        for event in events:
            orjson.loads(sse.encode(event)[6:])
        if error is not None or stream.done:
            break
    if error is None:
        with contextlib.suppress(UpstreamError):
            stream.end()


def markdown_of_html(data: bytes) -> None:
    """A page. The first byte chooses depth and format."""
    depth = ("basic", "advanced", "none")[data[0] % 3] if data else "basic"
    form = "text" if data[:1] and data[0] & 4 else "markdown"
    options = ExtractOptions("http://a.test/x", "text/html", depth=depth, format=form, links=True, images=True)
    with contextlib.suppress(Unreadable):
        page = extract(data[1:], options)
        orjson.dumps(page)


TARGETS: dict[str, Callable[[bytes], None]] = {
    each.__name__: each
    for each in (
        *(event_stream, json_envelope, robots_txt, sitemap, charset, image_header, long_json, compressed_body),
        *(urls, retry_after, chat_stream, markdown_of_html),
    )
}
"""By name. Every target has a folder in `CORPUS`."""


def seeds(name: str) -> list[bytes]:
    """The kept inputs of a target, by the names of their files."""
    return [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
