"""The other ends of `bench.soak`: an upstream that answers well and badly, and a site with good and odd pages.

Both are one raw HTTP server each, in the process that also sends the requests. What they answer follows from the
request alone, so a run with the same seed meets the same answers.
"""

import asyncio
import random
import struct
import zlib

import orjson

from bench.upstream import CALL, HEAD, PIECES, WHOLE

PAGES = 120
"""Good pages of the site. Chosen: more than one crawl reads, few enough that the index stops growing in the warm-up."""

WORDS = ["gateway", "index", "crawl", "page", "answer", "stream", "key", "limit", "upstream", "tool", "model", "cache"]

_ERROR = orjson.dumps({"error": {"message": "the GPU is on fire", "code": "odd"}})


def _answer(body: bytes, status: str = "200 OK", kind: str = "text/html; charset=utf-8", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


def _page(number: int) -> bytes:
    words = random.Random(number)
    text = "".join(f"<p>{' '.join(words.choices(WORDS, k=40))}.</p>" for _ in range(12))
    links = "".join(f'<a href="/page/{(number * 7 + step) % PAGES}">more</a> ' for step in range(1, 6))
    body = f"<main><h1>Page {number}</h1>{text}{links}</main>"
    return f"<html><title>Page {number}</title><body>{body}</body></html>".encode()


def site_answer(path: str) -> bytes:
    """The whole answer of the site, status line included; unknown paths are 404."""
    if path.startswith("/page/"):
        return _answer(_page(int(path[6:]) % PAGES))
    odd = {
        "/": _answer(_page(0)),
        "/binary": _answer(random.Random(1).randbytes(30_000)),
        "/redirect": _answer(b"", "302 Found", more="Location: /page/3\r\n"),
        "/loop": _answer(b"", "302 Found", more="Location: /loop\r\n"),
        "/headers": _answer(b"x", more="".join(f"X-{number}: y\r\n" for number in range(200))),
        "/deep": _answer(b"<div>" * 3_000 + b"deep" + b"</div>" * 3_000),
        "/brackets": _answer(b"<p>" + b"[" * 20_000),
        "/robots.txt": _answer(b"User-agent: *\nDisallow: /secret\n", kind="text/plain"),
        "/json": _answer(orjson.dumps({"a": [1, 2, {"b": "c" * 500}]}), kind="application/json"),
        "/cut": _answer(b"x" * 900)[:300],
    }
    return odd.get(path) or _answer(b"no such page", "404 Not Found")


def other_models_toml(url: str) -> str:
    """The models that are not for chat: `vectors` and `Reader`."""
    model = '\n[[models]]\nname = "{}"\nkind = "{}"\n[[models.upstreams]]\nbase_url = "{}/v1"\nmodel = "scripted"\n'
    return model.format("vectors", "embedding", url) + model.format("Reader", "ocr", url)


def picture() -> bytes:
    """A small PNG, grey on white."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + bytes((x * y) % 256 for x in range(96)) for y in range(64))
    head = struct.pack(">IIBBBBB", 96, 64, 8, 0, 0, 0, 0)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _embeddings(body: bytes) -> bytes:
    texts = orjson.loads(body)["input"]
    data = [{"index": number, "embedding": [0.5, -0.25] * 64} for number in range(len(texts))]
    return _answer(orjson.dumps({"data": data, "usage": {"prompt_tokens": len(texts)}}), kind="application/json")


def _at_once() -> bytes:
    """A stream whose text comes in one event."""
    delta = {"index": 0, "delta": {"content": "much text at once " * 5_000}, "finish_reason": "stop"}
    return b"data: " + orjson.dumps({"choices": [delta]}) + b"\n\ndata: [DONE]\n\n"


def upstream_answer(body: bytes) -> tuple[bytes, bool]:
    """The answer to a chat request, and whether the connection closes behind it. The request's text chooses."""
    if b"upstream fails" in body:
        return _answer(_ERROR, "500 Internal Server Error", "application/json"), False
    if b"upstream refuses" in body:
        return _answer(_ERROR, "400 Bad Request", "application/json"), False
    if b"upstream cuts" in body:
        return HEAD + b"".join(PIECES[1:20]), True
    if b"upstream says much" in body:
        return _answer(_at_once(), kind="text/event-stream"), False
    if b'"input":[' in body:
        return _embeddings(body), False
    if b'"seed":1' in body and b'"role":"tool"' not in body:
        return CALL, False
    if b'"stream":true' in body:
        return b"".join(PIECES), False
    return WHOLE, False


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection; for `asyncio.start_server`."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, path, _ = head.split(" ", 2)
            fields = {
                name.lower(): value for name, _, value in (line.partition(":") for line in head.split("\r\n")[1:])
            }
            body = await reader.readexactly(int(fields.get("content-length", "0")))
            answer, is_last = (site_answer(path), path == "/cut") if method == "GET" else upstream_answer(body)
            writer.write(answer)
            await writer.drain()
            if is_last:
                return
    except (ConnectionError, asyncio.IncompleteReadError):
        return
    finally:
        writer.close()
