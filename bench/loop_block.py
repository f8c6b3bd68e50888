"""What one request costs a whole gateway: the longest block of its event loop, its CPU, its memory above idle.

`MeasuredGateway` runs the real application on the production listener in a child process, before an upstream of its
own. A timer of the child's loop fires every millisecond and reads the CPU time of its thread: the most between two
readings is the longest block, whatever else the machine does. `process_block_s` counts all threads: a thread that
keeps Python's lock holds up the loop too.
"""

import asyncio
import base64
import ctypes
import gc
import http.client
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson
import uvloop

from bench.upstream import STREAM, WHOLE
from gateway.config.environment import read_environment
from gateway.runtime.worker import settle_memory
from tests.support.gateways import start_in_process, upstream_toml
from tests.support.paths import ROOT

LIMIT_S = 120
"""Longest wait for one answer."""
TICK_S = 0.001
SETTINGS = """[search]
provider = "local"
[sanitize]
routes = ["websearch", "chat", "responses"]
[guardrail]
enabled = "off"
[local_llm]
enabled = false
[local_ocr]
enabled = false
"""
_VECTORS = '\n[[models]]\nname = "vectors"\nkind = "embedding"\n[[models.upstreams]]\nbase_url = "{}"\nmodel = "v"\n'
_ASKED = [
    {"role": "user", "content": "call +1 202 555 0143 or write to ops@posthaus.com, 4539 1488 0343 6467\n" * 5_000}
]
_SEARCH = {"name": "websearch-search", "arguments": {"query": "first"}}
_KINDS = (
    "some words of plain text, and more of them ", "äöüß éèñ çøå ", "пример текста на языке ", "中文字符樣本書 ",
    "\U0001f600\U0001f680 and words ", "0123456789 12-34.56 (7) ",
    '{"name": [1, {"b": "c d"}], "key1": null, "я": ""} ',
    base64.b64encode(random.Random(1).randbytes(45_000)).decode(), random.Random(1).randbytes(30_000).hex(),
    '<a href="/x?y=1&z=2">text</a>; ', "[]{},:\"\\/\n\t\x01", "a\u200bb\u202e\U000e0041 ",
    "password: hunter{} api_key={:032x} ghp_{:036d} DE89 3704 0044 0532 0130 00, 10.2.3.7 ",
)  # fmt: skip
"""What texts are made of. The states that a pattern makes for letters that it has not met stay with it."""
_LONG = ["".join(random.Random(1).choices(_KINDS[:7], k=1_500)), *(kind * -(-60_000 // len(kind)) for kind in _KINDS)]
_OF_ALL_KINDS = [{"role": "user", "content": text} for text in _LONG]
_FIRST: dict[str, object] = {
    "/v1/chat/completions": {"model": "SvcLLM", "messages": [*_ASKED, *_OF_ALL_KINDS]},
    "/v1/responses": {"model": "SvcLLM", "input": "first"},
    "/v1/messages": {"model": "SvcLLM", "max_tokens": 9, "messages": _ASKED},
    "/v1/embeddings": {"model": "vectors", "input": [list(range(1_000, 2_000))] * 60},
    "/tools/websearch/mcp": [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": _SEARCH} for number in range(50)
    ],
}
"""A request of each route, of ordinary content: what the first one makes (compiled patterns, their states, threads and
their heaps, the open index) stays, so that it is idle memory and not the cost of a body."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one request. `block_s`: CPU of the loop's thread between two turns; `memory_bytes`: peak above idle."""

    status: int
    block_s: float
    process_block_s: float
    cpu_s: float
    memory_bytes: int
    answer: bytes


class MeasuredGateway:
    """A gateway in a child process, for `with`. Its files are in `folder`; `{upstream}` in `settings` becomes the
    address of the upstream, which answers anything."""

    def __init__(self, folder: Path, settings: str = SETTINGS) -> None:
        self._folder, self._settings = folder, settings
        self._stack = ExitStack()
        self._process: subprocess.Popen[str]
        self.port, self.key = 0, ""

    def __enter__(self) -> Self:
        self._upstream = upstream = self._stack.enter_context(_Upstream())
        settings = self._settings.replace("{upstream}", f"http://127.0.0.1:{upstream.port}")
        command = [sys.executable, "-m", "bench.loop_block", str(self._folder), settings]
        self._process = self._stack.enter_context(
            subprocess.Popen(
                [*command, f"http://127.0.0.1:{upstream.port}"], text=True, bufsize=1, cwd=ROOT,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=read_environment().variables,
            )
        )  # fmt: skip
        self._stack.callback(self._process.kill)
        started = self._line()
        self.port, self.key = started["port"], started["key"]
        for path, first in _FIRST.items():
            self.send(path, json.dumps(first).encode())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    def send(self, path: str, raw: bytes) -> Cost:
        """Post a JSON body and wait for the whole answer."""
        self._ask("reset")
        status, answer = self.post(path, raw)
        seen = self._ask("report")
        return Cost(
            status, seen["block_s"], seen["process_block_s"], seen["cpu_s"], seen["peak"] - seen["idle"], answer
        )

    @contextmanager
    def answering(self, value: object) -> Iterator[int]:
        """Meanwhile the upstream answers with this JSON value instead of its small completion; yields its bytes."""
        raw = orjson.dumps(value)
        self._upstream.whole = _answer(raw)
        try:
            yield len(raw)
        finally:
            self._upstream.whole = WHOLE

    @contextmanager
    def streaming(self, *events: object) -> Iterator[int]:
        """Meanwhile the upstream answers streams with these JSON values as their events; yields their bytes."""
        raw = b"".join(b"data: %b\n\n" % orjson.dumps(event) for event in events)
        self._upstream.stream = _answer(raw + b"data: [DONE]\n\n", b"text/event-stream")
        try:
            yield len(raw) - len(b"data: \n\n") * len(events)
        finally:
            self._upstream.stream = STREAM

    def post(self, path: str, raw: bytes) -> tuple[int, bytes]:
        """Status and body of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        headers["Accept"] = "application/json, text/event-stream"
        try:
            connection.request("POST", path, raw, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _ask(self, command: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        return self._line()

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the measured gateway has ended"
        seen: dict[str, Any] = json.loads(line)
        return seen


class _Upstream:
    """Answers any request with `whole` or `stream`, a small completion, once its body is read; in its own thread."""

    whole, stream = WHOLE, STREAM

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run(ready)), daemon=True)
        self._thread.start()
        assert ready.wait(10)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _run(self, ready: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stop.wait()
        server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                left = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0] or 0)
                is_stream = False
                while left:
                    piece = await reader.read(min(left, 1 << 20))
                    left -= len(piece)
                    is_stream = is_stream or b'"stream":true' in piece
                writer.write(self.stream if is_stream else self.whole)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the gateway has left
        finally:
            writer.close()


def _answer(body: bytes, kind: bytes = b"application/json") -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (kind, len(body), body)


# --- in the child ----------------------------------------------------------------------------------------------------


class _Watch:
    """The readings of the loop's timer."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.reset()
        self._tick()

    def reset(self) -> None:
        self.block_s = self.process_block_s = 0.0
        self._thread_s, self._process_s = time.thread_time(), time.process_time()
        self._begun_s = self._process_s

    def report(self) -> dict[str, float]:
        cpu_s = time.process_time() - self._begun_s
        return {"block_s": self.block_s, "process_block_s": self.process_block_s, "cpu_s": cpu_s}

    def _tick(self) -> None:
        thread_s, process_s = time.thread_time(), time.process_time()
        self.block_s = max(self.block_s, thread_s - self._thread_s)
        self.process_block_s = max(self.process_block_s, process_s - self._process_s)
        self._thread_s, self._process_s = thread_s, process_s
        self._loop.call_later(TICK_S, self._tick)


def _memory(name: str) -> int:
    """Bytes of a line of /proc/self/status: `VmRSS` is what is held now, `VmHWM` the most since it was reset."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def _forget_peak() -> None:
    """Make `VmHWM` begin again (proc(5), clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5")


async def _serve(folder: str, settings: str, upstream_url: str) -> None:
    loop = asyncio.get_running_loop()
    models = upstream_toml(upstream_url) + _VECTORS.format(upstream_url)
    async with start_in_process(Path(folder), settings + models) as gateway:
        settle_memory()
        watch, idle = _Watch(loop), 0
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        print(json.dumps({"port": gateway.port, "key": gateway.key}), flush=True)
        while command := (await reader.readline()).strip():
            if command == b"reset":
                gc.collect()
                ctypes.CDLL(None).malloc_trim(
                    0
                )  # else a body is served from what an earlier one has left, and seems to cost nothing
                _forget_peak()
                idle = _memory("VmRSS")
                print("{}", flush=True)
                await asyncio.sleep(0)
                watch.reset()
            else:
                print(json.dumps({**watch.report(), "idle": idle, "peak": _memory("VmHWM")}), flush=True)


if __name__ == "__main__":
    uvloop.run(_serve(*sys.argv[1:]))
