"""The dearest requests and pages of 0.1 sent to a real gateway again: `python -m bench.hostile_facts`.

The figures of 0.1 are in docs/benchmarks.md. CPU is the gateway's own; the processes that parse pages are not in it,
so pages have the time until the answer too.
"""

import gzip
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import orjson

from tests.support.loop_block import SETTINGS, Cost, MeasuredGateway

CHAT, MCP, RESPONSES = "/v1/chat/completions", "/tools/websearch/mcp", "/v1/responses"
_TEXT = ("the quick 12 brown fox a1@posthaus.org " * 1_000)[:39_000]
"""Just below the length from which 0.1 sanitized in a thread."""
_ITEMS = 28_000
_PAGES: dict[str, bytes] = {
    "2 MB of [": b"<p>" + b"[" * 2_000_000,
    "180,000 paragraphs": b"<p>a word or two</p>" * 180_000,
    "200,000 headings": b"<h2>a word</h2>" * 200_000,
    "300,000 nested boxes": b"<div>" * 300_000 + b"text",
    "400,000 cells": b"<table><tr>" + b"<td>1</td>" * 400_000,
    "200,000 attributes": b"<p " + b" ".join(b'a%d="x"' % number for number in range(200_000)) + b">text</p>",
    "2 million emphasis marks": b"<p>" + b"*_" * 1_000_000,
}


def requests() -> Iterator[tuple[str, str, bytes]]:
    """(name, path, body)."""
    messages = [{"role": "user", "content": _TEXT}] * 100
    yield "100 messages", CHAT, orjson.dumps({"model": "SvcLLM", "messages": messages})
    domains = [f"{'a1-b2.' * 19}a{number}.posthaus.org" for number in range(290)]
    arguments = {"query": _TEXT[:1_800], "include_domains": domains}  # masked, it is longer
    call = {"name": "websearch-search", "arguments": arguments}
    batch = [{"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call} for number in range(50)]
    yield "a batch of 50 searches", MCP, orjson.dumps(batch)
    for unit in (b"[],", b'{"a":1},', b"0.1,"):
        head = b'{"model":"SvcLLM","messages":[{"role":"user","content":"a"}],"x":['
        yield f"32 MB of {unit.decode()}", CHAT, head + unit * (32_000_000 // len(unit)) + b"1]}"
    items = [{"type": "message", "role": "user", "content": "a"}] * _ITEMS
    yield f"a conversation of {_ITEMS:,} items", RESPONSES, orjson.dumps({"model": "SvcLLM", "input": items})


class _Pages(BaseHTTPRequestHandler):
    """Serves _PAGES by their number, and 200,000 empty gzip members as a page."""

    def do_GET(self) -> None:
        is_packed = self.path == "/members"
        pages = list(_PAGES.values())
        number = self.path.strip("/")
        known = number.isdigit() and int(number) < len(pages)
        body = gzip.compress(b"") * 200_000 if is_packed else pages[int(number)] if known else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if is_packed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def _site() -> Iterator[int]:
    """The port of the pages."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


def _told(cost: Cost) -> str:
    seen = f"{cost.cpu_s:.2f} s CPU, block {cost.block_s * 1000:.0f} ms, {cost.memory_bytes / 1e6:.0f} MB"
    return f"{cost.status}, {seen}"


def _extract(url: str) -> bytes:
    params = {"name": "websearch-extract", "arguments": {"urls": [url]}}
    return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


def main() -> None:
    """Print status, CPU, longest block of the loop and memory of each."""
    with tempfile.TemporaryDirectory() as folder, _site() as port:
        settings = f'{SETTINGS}[web]\nallow_private = ["127.0.0.1:{port}"]\n'
        with MeasuredGateway(Path(folder), settings) as gateway:
            for name, path, body in requests():
                print(f"{name}, {len(body) / 1e6:.1f} MB: {_told(gateway.send(path, body))}", flush=True)
            pages = {name: f"/{number}" for number, name in enumerate(_PAGES)} | {"200,000 gzip members": "/members"}
            for name, path in pages.items():
                begun_s = time.monotonic()
                cost = gateway.send(MCP, _extract(f"http://127.0.0.1:{port}{path}"))
                print(f"{name}: {_told(cost)}, {time.monotonic() - begun_s:.1f} s in all", flush=True)


if __name__ == "__main__":
    main()
