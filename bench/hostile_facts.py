"""The dearest requests of 0.1 sent to a real gateway again: `python -m bench.hostile_facts`; see docs/benchmarks.md."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson

from tests.support.loop_block import MeasuredGateway

CHAT, MCP = "/v1/chat/completions", "/tools/websearch/mcp"
_TEXT = ("the quick 12 brown fox a1@posthaus.org " * 1_000)[:39_000]
"""Just below the length from which 0.1 sanitized in a thread."""


def requests() -> Iterator[tuple[str, str, bytes]]:
    """(name, path, body)."""
    messages = [{"role": "user", "content": _TEXT}] * 100
    yield "100 messages", CHAT, orjson.dumps({"model": "SvcLLM", "messages": messages})
    call = {"name": "websearch-search", "arguments": {"query": _TEXT[:400]}}
    batch = [{"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call} for number in range(50)]
    yield "a batch of 50 searches", MCP, orjson.dumps(batch)
    for unit in (b"[],", b'{"a":1},', b"0.1,"):
        head = b'{"model":"SvcLLM","messages":[{"role":"user","content":"a"}],"x":['
        yield f"32 MB of {unit.decode()}", CHAT, head + unit * (32_000_000 // len(unit)) + b"1]}"


def main() -> None:
    """Print status, CPU, longest block of the loop and memory of each."""
    with tempfile.TemporaryDirectory() as folder, MeasuredGateway(Path(folder)) as gateway:
        for name, path, body in requests():
            cost = gateway.send(path, body)
            told = f"{cost.cpu_s:.2f} s CPU, block {cost.block_s * 1000:.0f} ms, {cost.memory_bytes / 1e6:.0f} MB"
            print(f"{name}, {len(body) / 1e6:.1f} MB: {cost.status}, {told}", flush=True)


if __name__ == "__main__":
    main()
