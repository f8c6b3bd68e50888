"""CPU per tools/call: the gateway, the official Python SDK's server and a bare aiohttp answer, in interleaved rounds.

`python -m bench.mcp [--rounds N]`. The gateway runs its default configuration: keys, limits, validation, sanitizing
of every argument and answer, log line, metrics. The other two give back the very data the gateway found, with none of
that. CPU is read from the kernel for each server's own process tree. Both eras of the protocol are measured. The load
never sleeps, so that no server pays for waking it.
"""

import argparse
import asyncio
import contextlib
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from bench.load import Outcome, cpu_seconds, request_bytes, run_load
from bench.served import gateway_serving, running
from gateway.embedded.child_server import free_port

PATH = "/tools/websearch/mcp"
ACCEPT = "Accept: application/json, text/event-stream\r\n"
SEARCH = {"name": "websearch-search", "arguments": {"query": "configuration", "max_results": 5, "topic": "general"}}
STATUS = {"name": "websearch-search_status", "arguments": {}}
TOTAL = {"gateway": 4000, "official SDK": 800, "bare aiohttp": 8000}


def handshake(params: dict[str, Any]) -> tuple[bytes, str]:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return orjson.dumps(body), f"{ACCEPT}MCP-Protocol-Version: 2025-11-25\r\n"


def modern(params: dict[str, Any]) -> tuple[bytes, str]:
    version = "2026-07-28"
    meta = {"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**params, "_meta": meta}}
    headers = f"{ACCEPT}MCP-Protocol-Version: {version}\r\nMcp-Method: tools/call\r\nMcp-Name: {params['name']}\r\n"
    return orjson.dumps(body), headers


@contextlib.contextmanager
def gateway(folder: Path, provider_port: int) -> Iterator[tuple[int, int, str]]:
    """`(pid, port, key)` of a gateway in its default configuration before one search provider, without models."""
    search = (
        f'provider = "tavily"\nbase_url = "http://127.0.0.1:{provider_port}"\napi_key = {{ credential = "bench" }}\n'
    )
    with gateway_serving(folder, f"[search]\n{search}", "web-search", {"bench": "bench"}) as served:
        yield served


async def call(port: int, key: str, params: dict[str, Any]) -> dict[str, Any]:
    """The `data` of one tools/call."""
    body, _ = handshake(params)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"http://127.0.0.1:{port}{PATH}", data=body, headers=headers) as answer,
    ):
        told = await answer.json()
    outcome: dict[str, Any] = orjson.loads(told["result"]["content"][0]["text"])
    if not outcome["success"]:
        raise SystemExit(f"{params['name']} failed: {outcome['data']['error']['message']}")
    data: dict[str, Any] = outcome["data"]
    return data


def measure(pid: int, port: int, request: bytes, total: int, connections: int) -> tuple[float, Outcome]:
    """Requests per CPU-second, and the load's own view."""
    before = cpu_seconds(pid)
    outcome = asyncio.run(run_load(port, request, total, connections, awake=True))
    return outcome.requests / max(cpu_seconds(pid) - before, 1e-9), outcome


def report(case: str, figures: dict[str, list[tuple[float, Outcome]]]) -> None:
    print(f"\n{case}")
    sdk = figures["official SDK"]
    for name, rounds in figures.items():
        per_cpu_s = statistics.median(each for each, _ in rounds)
        ratio = statistics.median(each / yard for (each, _), (yard, _) in zip(rounds, sdk, strict=True))
        p50 = statistics.median(outcome.p50_ms for _, outcome in rounds)
        p99 = statistics.median(outcome.p99_ms for _, outcome in rounds)
        print(f"  {name:14} {per_cpu_s:7.0f} calls/CPU-s  {ratio:5.2f}x the SDK  p50 {p50:6.2f} ms  p99 {p99:6.2f} ms")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args(argv).rounds
    os.sched_setaffinity(0, {(os.cpu_count() or 1) - 1})
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        provider_port = free_port()
        command = [sys.executable, "-m", "bench.mcp_servers", "provider", str(provider_port), _empty(Path(name))]
        stack.enter_context(running(command, provider_port))
        ours = stack.enter_context(gateway(Path(name), provider_port))
        for tool, params in {"status": STATUS, "cached search": SEARCH}.items():
            data = asyncio.run(call(ours[1], ours[2], params))
            with contextlib.ExitStack() as others:
                servers = {"gateway": ours, **_others(others, Path(name), data)}
                for era, make in {"handshake": handshake, "2026-07-28": modern}.items():
                    for connections in (1, 32):
                        case = f"{tool}, {era}, {connections} connection{'s' if connections > 1 else ''}"
                        report(case, _rounds(servers, make(params), rounds, connections))


def _empty(folder: Path) -> str:
    (folder / "nothing.json").write_bytes(b"{}")
    return str(folder / "nothing.json")


def _others(stack: contextlib.ExitStack, folder: Path, data: dict[str, Any]) -> dict[str, tuple[int, int, str]]:
    file = folder / "data.json"
    file.write_bytes(orjson.dumps(data))
    started = {}
    for name, kind in {"official SDK": "sdk", "bare aiohttp": "bare"}.items():
        port = free_port()
        command = [sys.executable, "-m", "bench.mcp_servers", kind, str(port), str(file)]
        started[name] = (stack.enter_context(running(command, port)), port, "none")
    return started


def _rounds(
    servers: dict[str, tuple[int, int, str]], asked: tuple[bytes, str], rounds: int, connections: int
) -> dict[str, list[tuple[float, Outcome]]]:
    figures: dict[str, list[tuple[float, Outcome]]] = {server: [] for server in servers}
    for number in range(rounds + 1):
        for server, (pid, port, key) in servers.items():
            request = request_bytes(PATH, key, *asked)
            total = TOTAL[server] if number else TOTAL[server] // 4  # the first round warms up
            sample = measure(pid, port, request, total, connections)
            if number:
                figures[server].append(sample)
    return figures


if __name__ == "__main__":
    main()
