"""CPU of an answer with hosted web search against a plain one, in interleaved rounds of one run.

`python -m bench.hosted [--rounds N]`. Both are asked of one gateway before the same fast upstream, whose answer is 100
chunks in one burst, or whole. `one round`: the model may search and does not. `two rounds`: it searches the (empty)
local index first; compared with two plain answers, as it is two calls of the model. `a search`: the same one, called
over MCP; the last figure of a case is that of two rounds without it. CPU is read from the kernel.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import orjson

from bench.load import request_bytes
from bench.overhead import measure
from bench.served import gateway_serving, wait_for
from gateway.embedded.child_server import free_port

_TEXT = "Say it in few words, please."
_TOTAL = 200


def _body(route: str, *, stream: bool, search: bool, calls: bool) -> bytes:
    body: dict[str, object] = {"model": "SvcLLM", "stream": stream}
    if route == "responses":
        body |= {"input": _TEXT, "store": False, **({"tools": [{"type": "web_search"}]} if search else {})}
    else:
        body |= {"messages": [{"role": "user", "content": _TEXT}], **({"web_search_options": {}} if search else {})}
    return orjson.dumps({**body, **({"seed": 1} if calls else {})})


def _search() -> bytes:
    call = {"name": "websearch-search", "arguments": {"query": "gateway", "max_results": 5}}
    return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args(argv).rounds
    os.sched_setaffinity(0, {(os.cpu_count() or 1) - 1})
    port = free_port()
    upstream = subprocess.Popen([sys.executable, "-m", "bench.upstream", str(port)])
    model = f'[[models]]\nname = "SvcLLM"\n[[models.upstreams]]\nmodel = "m"\nbase_url = "http://127.0.0.1:{port}/v1"\n'
    settings = f'[search]\nsemantic = "off"\n[guardrail]\nenabled = "off"\n{model}'
    try:
        wait_for(port, upstream)
        with (
            tempfile.TemporaryDirectory() as name,
            gateway_serving(Path(name), settings, "chat responses web-search") as (pid, gateway_port, key),
        ):
            for route, path in (("responses", "/v1/responses"), ("chat", "/v1/chat/completions")):
                for stream in (True, False):
                    kinds = {"plain": (False, False), "one round": (True, False), "two rounds": (True, True)}
                    requests = {
                        kind: request_bytes(path, key, _body(route, stream=stream, search=search, calls=calls))
                        for kind, (search, calls) in kinds.items()
                    }
                    requests["a search"] = request_bytes("/tools/websearch/mcp", key, _search())
                    figures: dict[str, list[float]] = {kind: [] for kind in requests}
                    for number in range(rounds + 1):
                        for kind, request in requests.items():
                            cpu_us, _ = measure(pid, gateway_port, request, _TOTAL if number else _TOTAL // 4)
                            if number:  # the first round warms up
                                figures[kind].append(cpu_us)
                    _report(f"{route}, {'streamed' if stream else 'whole'}", figures)
    finally:
        upstream.terminate()
        upstream.wait()


def _report(case: str, figures: dict[str, list[float]]) -> None:
    print(f"\n{case}")
    both = zip(figures["two rounds"], figures["a search"], strict=True)
    figures["without it"] = [answer - search for answer, search in both]
    for kind, made in figures.items():
        share = 2 if kind in ("two rounds", "without it") else 1
        ratio = statistics.median(each / yard / share for each, yard in zip(made, figures["plain"], strict=True))
        print(f"  {kind:12} {statistics.median(made):8.0f} µs CPU  {ratio:5.2f}x a plain answer a round")


if __name__ == "__main__":
    main()
