"""CPU per request of the gateway against a bare aiohttp + uvloop proxy, in interleaved rounds of one run.

`python -m bench.overhead [--rounds N]`. Both stand before the same fast upstream; the gateway runs its default
configuration (keys, limits, validation, log line, metrics). CPU is read from the kernel for each server's own process
tree, so the load generator does not count. nginx is measured beside them where it is installed.
"""

import argparse
import asyncio
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson

from bench.load import Outcome, cpu_seconds, pss_mib, request_bytes, run_load
from bench.served import gateway_serving, running, wait_for
from gateway.embedded.child_server import free_port

SMALL = orjson.dumps({"model": "SvcLLM", "messages": [{"role": "user", "content": "Say it in few words, please."}]})
_TURN = "A turn of an ordinary agent's history, some words long, with a figure or two such as 17 and 4.2 in it. " * 5
LARGE = orjson.dumps(
    {
        "model": "SvcLLM",
        "messages": [{"role": ("user", "assistant")[i % 2], "content": f"{i} {_TURN[:470]}"} for i in range(200)],
    }
)
STREAM = orjson.dumps({**orjson.loads(SMALL), "stream": True})
PACED = orjson.dumps({**orjson.loads(STREAM), "paced": True})
CHUNKS = 100
CASES = {
    "small chat": (SMALL, 2000),
    "100 KB chat": (LARGE, 600),
    "stream of 100 chunks in one burst": (STREAM, 400),
    "stream of 100 chunks, one a millisecond": (PACED, 160),
}
_CONNECTIONS = 8


@contextlib.contextmanager
def gateway(folder: Path, upstream_url: str, more_config: str = "") -> Iterator[tuple[int, int, str]]:
    """`(pid, port, key)` of a gateway in its default configuration, and `more_config`, before one upstream."""
    upstream = f'[[models.upstreams]]\nbase_url = "{upstream_url}"\nmodel = "upstream-model"\n'
    settings = f'[guardrail]\nenabled = "off"\n[[models]]\nname = "SvcLLM"\n{upstream}{more_config}'
    with gateway_serving(folder, settings, "chat") as served:
        yield served


@contextlib.contextmanager
def nginx(folder: Path, upstream_port: int) -> Iterator[tuple[int, int] | None]:
    binary = shutil.which("nginx")
    if binary is None:
        print("nginx is not installed: not measured beside")
        yield None
        return
    port = free_port()
    conf = folder / "nginx.conf"
    conf.write_text(
        f"worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log /dev/null; events {{}}\n"
        f"http {{ access_log off; client_max_body_size 64m; client_body_buffer_size 1m;\n"
        f"client_body_temp_path {folder};\n"
        f"upstream u {{ server 127.0.0.1:{upstream_port}; keepalive 32; }}\n"
        f"server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://u; proxy_http_version 1.1; "
        'proxy_set_header Connection ""; } } }\n'
    )
    with running([binary, "-c", str(conf), "-p", str(folder)], port) as pid:
        yield pid, port


def measure(pid: int, port: int, request: bytes, total: int) -> tuple[float, Outcome]:
    """CPU µs per request, and the load's own view."""
    before = cpu_seconds(pid)
    outcome = asyncio.run(run_load(port, request, total, _CONNECTIONS))
    return (cpu_seconds(pid) - before) / outcome.requests * 1e6, outcome


def report(case: str, figures: dict[str, list[tuple[float, Outcome]]]) -> None:
    bare = figures["bare aiohttp + uvloop"]
    print(f"\n{case}")
    for name, rounds in figures.items():
        cpu = statistics.median(each for each, _ in rounds)
        ratio = statistics.median(each / yard for (each, _), (yard, _) in zip(rounds, bare, strict=True))
        p50 = statistics.median(outcome.p50_ms for _, outcome in rounds)
        rate = statistics.median(outcome.requests / outcome.wall_s for _, outcome in rounds)
        print(f"  {name:24} {cpu:8.0f} µs CPU  {ratio:5.2f}x  {rate:7.0f} requests/s  p50 {p50:6.2f} ms")


def report_chunk(small: dict[str, list[tuple[float, Outcome]]], paced: dict[str, list[tuple[float, Outcome]]]) -> None:
    """What one chunk costs that comes alone: a paced stream less a request, by the number of its chunks."""
    print("\na relayed chunk")
    costs = {
        name: [(whole - request) / CHUNKS for (whole, _), (request, _) in zip(rounds, small[name], strict=True)]
        for name, rounds in paced.items()
    }
    for name, rounds in costs.items():
        ratio = statistics.median(
            each / yard for each, yard in zip(rounds, costs["bare aiohttp + uvloop"], strict=True)
        )
        print(f"  {name:24} {statistics.median(rounds):8.1f} µs CPU  {ratio:5.2f}x")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args(argv).rounds
    os.sched_setaffinity(0, {(os.cpu_count() or 1) - 1})
    key = "bench-key"
    upstream_port, bare_port = free_port(), free_port()
    upstream_url = f"http://127.0.0.1:{upstream_port}/v1"
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        upstream = subprocess.Popen([sys.executable, "-m", "bench.upstream", str(upstream_port)])
        stack.callback(upstream.wait)
        stack.callback(upstream.terminate)
        wait_for(upstream_port, upstream)
        bare_command = [sys.executable, "-m", "bench.bare_proxy", str(bare_port), upstream_url, key]
        servers = {"bare aiohttp + uvloop": (stack.enter_context(running(bare_command, bare_port)), bare_port, key)}
        servers["gateway"] = stack.enter_context(gateway(folder, upstream_url))
        if (proxy := stack.enter_context(nginx(folder, upstream_port))) is not None:
            servers["nginx"] = (*proxy, key)
        print(f"idle memory: gateway {pss_mib(servers['gateway'][0]):.0f} MiB PSS")
        all_figures = {}
        for case, (body, total) in CASES.items():
            figures: dict[str, list[tuple[float, Outcome]]] = {server: [] for server in servers}
            for number in range(rounds + 1):
                for server, (pid, port, its_key) in servers.items():
                    request = request_bytes("/v1/chat/completions", its_key, body)
                    sample = measure(pid, port, request, total if number else total // 4)
                    if number:  # the first round warms up
                        figures[server].append(sample)
            report(case, figures)
            all_figures[case] = figures
        report_chunk(all_figures["small chat"], all_figures["stream of 100 chunks, one a millisecond"])


if __name__ == "__main__":
    main()
