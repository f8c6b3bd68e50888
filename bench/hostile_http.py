# ruff: noqa: E501 - a row for each kind
"""Answers of hostile web servers, byte by byte: rows of `bench.hostile_sites`.

`ANSWERS` has whole answers by name, `TALKS` servers that go on for ever or wait. Written without a look at the
fetcher's limits.
"""

import asyncio
import gzip
import zlib
from collections.abc import Awaitable, Callable

Talk = Callable[[asyncio.StreamWriter, str], Awaitable[None]]
"""Writes an answer; the text is what stands in the path behind the name."""

PAGE = b"<html><head><title>A page</title></head><body><main><h1>A page</h1><p>Some words of a small page that anybody may read, to the end.</p></main></body></html>"
_MB = 1_000_000


def answer(body: bytes, *headers: str, status: str = "200 OK", kind: str = "text/html; charset=utf-8") -> bytes:
    """A well-formed answer."""
    lines = [
        f"HTTP/1.1 {status}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body


def _chunked(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n" + body


def _to(place: str, status: str = "302 Found") -> bytes:
    return answer(b"", f"Location: {place}", status=status)


def _packed(body: bytes, named: str) -> bytes:
    return answer(body, f"Content-Encoding: {named}")


def _deflated(times: int, body: bytes) -> bytes:
    for _ in range(times):
        body = gzip.compress(body, 6)
    return body


def _raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(body) + packer.flush()


def _charset(name: str, body: bytes = PAGE * 20) -> bytes:
    return answer(body, kind=f"text/html; charset={name}")


_ODD_CHARSETS = (
    "utf-7", "utf-16", "utf-16-le", "utf-32", "idna", "punycode", "unicode_escape", "raw_unicode_escape", "rot13",
    "base64", "zip", "bz2", "hex", "uu", "undefined", "mbcs", "oem", "hz", "iso-2022-jp", "iso-2022-kr", "big5hkscs",
    "cp65001", "../../etc/passwd", "gateway.app", "x" * 30_000, '"utf-8', "'utf-8'", "utf-8;charset=hz", "none", "0",
    "string_escape", "utf-8-sig", "x-user-defined", "replacement", "cp037", "mac_arabic", "tis-620",
)  # fmt: skip

ANSWERS: dict[str, Callable[[str], bytes]] = {
    "to itself": lambda rest: _to("/to%20itself"),
    "to more": lambda rest: _to(f"/to%20more/{int(rest or 0) + 1}"),
    "to a file": lambda rest: _to("file:///etc/passwd"),
    "to metadata": lambda rest: _to("http://169.254.169.254/latest/meta-data/"),
    "to loopback": lambda rest: _to("http://127.0.0.1:22/"),
    "to loopback in v6": lambda rest: _to("http://[::ffff:127.0.0.1]:22/"),
    "to loopback as a number": lambda rest: _to("http://2130706433:22/"),
    "to loopback in octal": lambda rest: _to("http://0177.0.0.1:22/"),
    "to loopback in short": lambda rest: _to("http://127.1:22/"),
    "to zero": lambda rest: _to("http://0:22/"),
    "to a user": lambda rest: _to("http://a:b@127.0.0.1:22/"),
    "to a backslash": lambda rest: _to("http://example.org\\@127.0.0.1:22/"),
    "to a tab": lambda rest: _to("ht\ttp://127.0.0.1:22/"),
    "to gopher": lambda rest: _to("gopher://127.0.0.1:6379/_INFO"),
    "to data": lambda rest: _to("data:text/html,<p>secret"),
    "to nothing": lambda rest: _to(""),
    "to nowhere": lambda rest: answer(b"", status="302 Found"),
    "to a long place": lambda rest: _to("/" + "a" * 30_000),
    "to bytes": lambda rest: _to("/\udcff\udcfe\udc80"),
    "to a name with dots": lambda rest: _to("http://a..b/"),
    "to a long name": lambda rest: _to("http://" + "a" * 5_000 + "/"),
    "to many labels": lambda rest: _to("http://" + "a." * 5_000 + "b/"),
    "to a broken v6": lambda rest: _to("http://[::1/"),
    "to a large port": lambda rest: _to("http://127.0.0.1:99999999/"),
    "to an odd port": lambda rest: _to("http://127.0.0.1:8\u0661/"),
    "two places": lambda rest: answer(b"", "Location: /ok", "Location: http://127.0.0.1:22/", status="302 Found"),
    "304": lambda rest: answer(b"", status="304 Not Modified"),
    "300": lambda rest: _to("/ok", "300 Multiple Choices"),
    "101": lambda rest: answer(b"", "Upgrade: x", "Connection: upgrade", status="101 Switching Protocols"),
    "204 with a body": lambda rest: answer(PAGE, status="204 No Content"),
    "206": lambda rest: answer(PAGE, "Content-Range: bytes 0-10/99999999999999999", status="206 Partial"),
    "status 000": lambda rest: answer(PAGE, status="000 x"),
    "status 99999": lambda rest: answer(PAGE, status="99999 x"),
    "status 999": lambda rest: answer(PAGE, status="999 x"),
    "a long reason": lambda rest: answer(PAGE, status="500 " + "r" * 30_000),
    "a reason of bytes": lambda rest: answer(PAGE, status="500 \udcff\x1b[31m<script>"),
    "http 0.9": lambda rest: PAGE,
    "http 2": lambda rest: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "icy": lambda rest: b"ICY 200 OK\r\nContent-Type: text/html\r\n\r\n" + PAGE,
    "tls": lambda rest: b"\x15\x03\x03\x00\x02\x02\x28",
    "zeros": lambda rest: bytes(100_000),
    "nothing": lambda rest: b"",
    "many headers": lambda rest: answer(PAGE, *(f"X-{number}: v" for number in range(10_000))),
    "headers alike": lambda rest: answer(PAGE, *["Set-Cookie: a=b; Domain=.com; Path=/"] * 100),
    "a header of 1 MB": lambda rest: answer(PAGE, "X: " + "v" * _MB),
    "a name of 1 MB": lambda rest: answer(PAGE, "X" * _MB + ": v"),
    "folded headers": lambda rest: answer(PAGE, "X: a" + "\r\n b" * 5_000),
    "a header without a colon": lambda rest: answer(PAGE, "nothing here"),
    "a null in a header": lambda rest: answer(PAGE, "X: a\0b"),
    "two lengths": lambda rest: answer(PAGE, "Content-Length: 5"),
    "a negative length": lambda rest: b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n" + PAGE,
    "a length of 30 digits": lambda rest: (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1" + b"0" * 30 + b"\r\n\r\n" + PAGE
    ),
    "a length in words": lambda rest: b"HTTP/1.1 200 OK\r\nContent-Length: 1_000\r\n\r\n" + PAGE,
    "less than its length": lambda rest: (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99999\r\n\r\n" + PAGE
    ),
    "length and chunks": lambda rest: (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    ),
    "chunks of one byte": lambda rest: _chunked(b"1\r\na\r\n" * _MB + b"0\r\n\r\n"),
    "a chunk without an end": lambda rest: _chunked(b"FFFFFFFFFFFFFFFF\r\n" + PAGE),
    "a chunk of words": lambda rest: _chunked(b"zz\r\n" + PAGE),
    "a chunk's extension": lambda rest: _chunked(b"5;" + b"x" * _MB + b"\r\nhello\r\n0\r\n\r\n"),
    "trailers": lambda rest: _chunked(b"5\r\nhello\r\n0\r\n" + b"X: y\r\n" * 500_000 + b"\r\n"),
    "gzip bomb": lambda rest: _packed(_deflated(1, bytes(500 * _MB)), "gzip"),
    "gzip in gzip": lambda rest: _packed(_deflated(3, bytes(100 * _MB)), "gzip, gzip, gzip"),
    "deflate bomb": lambda rest: _packed(zlib.compress(bytes(500 * _MB)), "deflate"),
    "raw deflate": lambda rest: _packed(_raw_deflate(PAGE), "deflate"),
    "many encodings": lambda rest: _packed(PAGE, ", ".join(["gzip"] * 3_000)),
    "identities": lambda rest: _packed(PAGE, ", ".join(["identity"] * 3_000)),
    "brotli": lambda rest: _packed(PAGE, "br"),
    "zstd": lambda rest: _packed(b"\x28\xb5\x2f\xfd" + bytes(1_000), "zstd"),
    "an odd encoding": lambda rest: _packed(PAGE, "../../x"),
    "words as encodings": lambda rest: _packed(PAGE, "utf-8, none, 8bit"),
    "no last chunk": lambda rest: _chunked(b"%x\r\n" % len(PAGE) + PAGE + b"\r\n"),
    "half a gzip": lambda rest: _packed(gzip.compress(PAGE * 99)[:-20], "gzip"),
    "gzip and more": lambda rest: _packed(gzip.compress(PAGE) + b"x" * _MB, "gzip"),
    "gzip of names": lambda rest: _packed(b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * 4 * _MB, "gzip"),
    "gzip of members": lambda rest: _packed(gzip.compress(b"a") * 150_000, "gzip"),
    "deflate blocks of nothing": lambda rest: _packed(b"\x78\x9c" + b"\x00\x00\x00\xff\xff" * 900_000, "deflate"),
    "html as gzip": lambda rest: _packed(PAGE, "gzip"),
    "no type": lambda rest: b"HTTP/1.1 200 OK\r\n\r\n" + PAGE,
    "a type of 30 KB": lambda rest: answer(PAGE, kind="text/html; " + "a=b; " * 6_000),
    "a type of quotes": lambda rest: answer(PAGE, kind='text/html; charset="' + '\\"' * 10_000),
    "types": lambda rest: answer(PAGE, kind="text/html, application/pdf"),
    "replaced": lambda rest: answer(
        b"--b\r\nContent-Type: text/html\r\n\r\n" + PAGE + b"\r\n--b--", kind="multipart/x-mixed-replace; boundary=b"
    ),
    "binary": lambda rest: answer(bytes(range(256)) * 4_000),
    "binary as json": lambda rest: answer(bytes(range(256)) * 4_000, kind="application/json"),
    "not utf-8": lambda rest: answer(b"\xff\xfe\xfd" * 300_000),
    "half characters": lambda rest: answer(b"<p>" + b"\xe2\x82" * 500_000),
    "utf-16 without a mark": lambda rest: answer(PAGE.decode().encode("utf-16-le") * 3_000, kind="text/html"),
    "letters of no charset": lambda rest: answer("Москва 北京 ".encode("gb18030") * 200_000, kind="text/html"),
    "all letters at once": lambda rest: answer(bytes(range(128, 256)) * 30_000, kind="text/html"),
    "a damaged utf-8": lambda rest: answer("ä".encode() * 600_000 + b"\xff" * 100_000, kind="text/plain"),
    "empty elements as xml": lambda rest: answer(b"<html><script/><p/>" * 200_000, kind="application/xhtml+xml"),
    "cdata without an end": lambda rest: answer(b"<html><![CDATA[" * 300_000, kind="application/xhtml+xml"),
    "escapes of charsets": lambda rest: _charset("iso-2022-jp", b"<p>" + b"\x1b$B\x1b(B" * 500_000),
    "escapes of hz": lambda rest: _charset("hz", b"<p>" + b"~{~}" * 700_000),
    "pauses": lambda rest: answer(b"", "Retry-After: " + "9" * 4_000, status="429 Too Many Requests"),
    "a negative pause": lambda rest: answer(b"", "Retry-After: -5", status="429 Too Many Requests"),
    "a pause until ever": lambda rest: answer(b"", "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT", status="503 x"),
    "a pause of nan": lambda rest: answer(b"", "Retry-After: nan", status="429 x"),
    "a pause in other digits": lambda rest: answer(b"", "Retry-After: \u0662\u00b2", status="429 x"),
    "a cursor to nowhere": lambda rest: answer(
        PAGE, "Link: <" + "a" * 9_000 + ">; rel=canonical", "Refresh: 0; url=file:///etc/passwd"
    ),
    **{f"charset {name[:30]}": lambda rest, name=name: _charset(name) for name in _ODD_CHARSETS},  # type: ignore[misc]
}


async def _drip(writer: asyncio.StreamWriter, head: bytes, piece: bytes, pause_s: float) -> None:
    writer.write(head)
    while not writer.is_closing():
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(pause_s)


_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


async def _silence(writer: asyncio.StreamWriter, head: bytes) -> None:
    writer.write(head)
    await asyncio.sleep(600)


async def _reset(writer: asyncio.StreamWriter, head: bytes) -> None:
    writer.write(head)
    await writer.drain()
    writer.transport.abort()


TALKS: dict[str, Talk] = {
    "never answers": lambda writer, rest: _silence(writer, b""),
    "half a head": lambda writer, rest: _silence(writer, b"HTTP/1.1 200 OK\r\nContent-"),
    "no body": lambda writer, rest: _silence(writer, _HEAD),
    "half a body": lambda writer, rest: _silence(writer, _HEAD + PAGE),
    "drips its head": lambda writer, rest: _drip(writer, b"HTTP/1.1 200 OK\r\nX: ", b"x", 0.5),
    "drips its body": lambda writer, rest: _drip(writer, _HEAD, b"x", 0.5),
    "drips headers": lambda writer, rest: _drip(writer, b"HTTP/1.1 200 OK\r\n", b"X: x\r\n", 0.2),
    "drips chunks": lambda writer, rest: _drip(writer, _chunked(b""), b"1\r\nx\r\n", 0.2),
    "never ends": lambda writer, rest: _drip(writer, _HEAD, b"<p>words</p>" * 5_000, 0),
    "chunks never end": lambda writer, rest: _drip(writer, _chunked(b""), b"1\r\nx\r\n" * 10_000, 0),
    "empty lines first": lambda writer, rest: _drip(writer, b"", b"\r\n" * 10_000, 0),
    "continues for ever": lambda writer, rest: _drip(writer, b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 500, 0.001),
    "hints for ever": lambda writer, rest: _drip(
        writer, b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 500, 0.001
    ),
    "headers for ever": lambda writer, rest: _drip(writer, b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 500, 0.001),
    "a header for ever": lambda writer, rest: _drip(writer, b"HTTP/1.1 200 OK\r\nX: ", b"y" * 50_000, 0.001),
    "resets at once": lambda writer, rest: _reset(writer, b""),
    "resets in its head": lambda writer, rest: _reset(writer, b"HTTP/1.1 200 OK\r\nContent-Le"),
    "resets in its body": lambda writer, rest: _reset(writer, _HEAD + PAGE),
}
