"""What sanitizing a streamed chat costs: the same stream through two gateways, `sanitize.routes` with chat and without.

`python -m bench.pii_stream [--rounds N] [--pause-ms N]`. The upstream sends an answer of ordinary prose a word a chunk:
paced, each chunk in a network read of its own, as a model does; and in one burst. Rounds are interleaved. Told are the
time to the first event, to the first text, and the CPU of the gateway's process a chunk. The guardrail is off.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import uvloop

from bench.load import cpu_seconds, request_bytes
from bench.overhead import gateway
from bench.served import wait_for
from gateway.embedded.child_server import free_port

_TEXT = (
    "The committee met on 12 March to discuss the harvest, which had been poor in most of the valley. Farmers said "
    "that the rain came too late; others blamed the price of seed, up 17 % in a year. A report of 240 pages is to be "
    "published in the autumn. Until then, the chair said, nobody should expect a decision on new wells or subsidies. "
)
_WORDS = _TEXT.split() * 4
_CONNECTIONS = 4
_STREAMS = 24


def _chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "upstream-model"}
    part = b"data: " + orjson.dumps({**head, "choices": [choice]}) + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(part), part)


_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_PARTS = (
    [_HEAD + _chunk({"role": "assistant", "content": ""})]
    + [_chunk({"content": f" {word}"}) for word in _WORDS]
    + [_chunk({}, "stop") + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"]
)


class Upstream(asyncio.Protocol):
    """Answers every request by the same stream; a body with `paced` in it gets one chunk at a time."""

    pause_s = 0.002

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._pending = b""

    def data_received(self, data: bytes) -> None:
        self._pending += data
        if not self._pending.endswith(b"}"):
            return
        paced, self._pending = b"paced" in self._pending, b""
        if paced:
            self._send(0)
        else:
            self._transport.write(b"".join(_PARTS))

    def _send(self, number: int) -> None:
        self._transport.write(_PARTS[number])
        if number + 1 < len(_PARTS):
            asyncio.get_running_loop().call_later(self.pause_s, self._send, number + 1)


async def serve_upstream(port: int, pause_s: float) -> None:
    Upstream.pause_s = pause_s
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", port)
    await server.serve_forever()


@dataclass(slots=True)
class Sample:
    """Times in ms of each stream, and µs of CPU a chunk."""

    first_event: list[float] = field(default_factory=list)
    first_text: list[float] = field(default_factory=list)
    cpu_us: float = 0.0


async def _one(port: int, request: bytes, count: int, sample: Sample) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    try:
        for _ in range(count):
            started, seen, answer = time.perf_counter(), 0, b""
            writer.write(request)
            while not answer.endswith(b"\r\n0\r\n\r\n"):
                data = await asyncio.wait_for(reader.read(1 << 16), 30)
                if not data:
                    raise RuntimeError(answer[:300].decode(errors="replace"))
                answer += data
                if seen == 0 and b"data: {" in answer:
                    seen = 1
                    sample.first_event.append((time.perf_counter() - started) * 1000)
                if seen == 1 and b'"content":" The' in answer:
                    seen = 2
                    sample.first_text.append((time.perf_counter() - started) * 1000)
            if b"[DONE]" not in answer or seen != 2:
                raise RuntimeError(f"the stream broke: {answer[-300:]!r}, {answer.count(b'content')} chunks")
    finally:
        writer.close()


async def _load(port: int, request: bytes, sample: Sample) -> None:
    share = _STREAMS // _CONNECTIONS
    await asyncio.gather(*(_one(port, request, share, sample) for _ in range(_CONNECTIONS)))


def measure(server: tuple[int, int, str], asked: str) -> Sample:
    pid, port, key = server
    body = {"model": "SvcLLM", "stream": True, "messages": [{"role": "user", "content": asked}]}
    sample, before = Sample(), cpu_seconds(pid)
    asyncio.run(_load(port, request_bytes("/v1/chat/completions", key, orjson.dumps(body)), sample))
    sample.cpu_us = (cpu_seconds(pid) - before) / (_STREAMS * len(_PARTS)) * 1e6
    return sample


def report(case: str, plain: list[Sample], sanitized: list[Sample]) -> None:
    ratio = statistics.median(ours.cpu_us / bare.cpu_us for bare, ours in zip(plain, sanitized, strict=True))
    print(f"\n{case}")
    for name, rounds in (("relayed", plain), ("sanitized", sanitized)):
        event = statistics.median(time_ms for each in rounds for time_ms in each.first_event)
        text = statistics.median(time_ms for each in rounds for time_ms in each.first_text)
        cpu = statistics.median(each.cpu_us for each in rounds)
        print(f"  {name:10} first event {event:7.2f} ms   first text {text:7.2f} ms   {cpu:6.1f} µs CPU a chunk")
    print(f"  CPU a chunk {ratio:.2f}x")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pause-ms", type=float, default=2)
    parser.add_argument("--upstream-port", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.upstream_port:
        uvloop.run(serve_upstream(options.upstream_port, options.pause_ms / 1000))
        return
    os.sched_setaffinity(0, {(os.cpu_count() or 1) - 1})
    port = free_port()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        command = [sys.executable, "-m", "bench.pii_stream", "--upstream-port", str(port)]
        upstream = subprocess.Popen([*command, "--pause-ms", str(options.pause_ms)])
        stack.callback(upstream.wait)
        stack.callback(upstream.terminate)
        wait_for(port, upstream)
        servers = []
        for kind, more in (("plain", ""), ("sanitized", '[sanitize]\nroutes = ["chat"]\n')):
            folder = Path(name) / kind
            folder.mkdir()
            servers.append(stack.enter_context(gateway(folder, f"http://127.0.0.1:{port}/v1", more)))
        for case in ("paced", "burst"):
            rounds: list[list[Sample]] = [[], []]
            for number in range(options.rounds + 1):
                for server, samples in zip(servers, rounds, strict=True):
                    sample = measure(server, case)
                    if number:  # the first round warms up
                        samples.append(sample)
            report(case, *rounds)


if __name__ == "__main__":
    main()
