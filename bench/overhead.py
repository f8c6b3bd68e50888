"""CPU per request of the gateway against a bare aiohttp + uvloop proxy, in interleaved rounds of one run.

`python -m bench.overhead [--rounds N] [--tree NAME=FOLDER ...]`. Both stand before the same fast upstream; the gateway
runs its default configuration (keys, limits, validation, log line, metrics). A `--tree` is another version of the
package, measured in the same rounds. CPU is read from the kernel for each server's own process
tree, so the load generator does not count.
"""

import argparse
import asyncio
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import orjson

from bench import bodies
from bench.load import Outcome, cpu_seconds, first_pieces, pss_mib, request_bytes, run_load
from bench.served import gateway_serving, running, wait_for
from bench.upstream import CHUNKS
from gateway.embedded.child_server import free_port

SMALL = orjson.dumps({"model": "SvcLLM", "messages": [{"role": "user", "content": "Say it in few words, please."}]})
CLEAN_HISTORY = orjson.dumps(bodies.chat(bodies.agent_turns(80_000, values=""), "", tools=8))
HISTORY = orjson.dumps(bodies.chat(bodies.agent_turns(80_000), "", tools=8))
STREAM = orjson.dumps({**orjson.loads(SMALL), "stream": True})
PACED = orjson.dumps({**orjson.loads(STREAM), "paced": True})
RESPONSES = orjson.dumps({"model": "SvcLLM", "input": "Say it in few words, please.", "store": False})
STORED = orjson.dumps({**orjson.loads(RESPONSES), "store": True})
NAMED = orjson.dumps({**orjson.loads(PACED), "messages": [{"role": "user", "content": "Write to jane@posthaus.org."}]})
CHAT = "/v1/chat/completions"
SETTINGS = {
    "": "",
    "sanitized": '[sanitize]\nroutes = ["chat"]\n',
    "reversible": '[sanitize]\nroutes = ["chat"]\nprofile = "reversible"\n',
}
"""More settings of a gateway, by a name for them."""


class Case(NamedTuple):
    """What is asked, and how often in a round, of the gateway with one of SETTINGS."""

    path: str
    body: bytes
    total: int
    settings: str = ""


PACED_CASE, SANITIZED_CASE, REVERSIBLE_CASE = (
    f"stream of 100 chunks, one a millisecond{how}" for how in ("", ", sanitized", ", reversible")
)
CASES = {
    "small chat": Case(CHAT, SMALL, 2000),
    "an agent's history of 100 KB": Case(CHAT, HISTORY, 400),
    "responses translated": Case("/v1/responses", RESPONSES, 1600),
    "responses stored": Case("/v1/responses", STORED, 1000),
    "stream of 100 chunks in one burst": Case(CHAT, STREAM, 400),
    PACED_CASE: Case(CHAT, PACED, 160),
    "small chat, sanitized": Case(CHAT, SMALL, 1600, "sanitized"),
    "an agent's history of 100 KB without findings, sanitized": Case(CHAT, CLEAN_HISTORY, 200, "sanitized"),
    SANITIZED_CASE: Case(CHAT, PACED, 160, "sanitized"),
    REVERSIBLE_CASE: Case(CHAT, NAMED, 160, "reversible"),
}
_CONNECTIONS = 16
_BARE, _CLIENT = "bare aiohttp + uvloop", "aiohttp's ClientSession"


@contextlib.contextmanager
def gateway(folder: Path, upstream_url: str, more_config: str = "", tree: str = "") -> Iterator[tuple[int, int, str]]:
    """`(pid, port, key)` of a gateway in its default configuration, and `more_config`, before one upstream."""
    upstream = f'[[models.upstreams]]\nbase_url = "{upstream_url}"\nmodel = "upstream-model"\n'
    settings = f'[guardrail]\nenabled = "off"\n[[models]]\nname = "SvcLLM"\n{upstream}{more_config}'
    folder.mkdir(exist_ok=True)
    with gateway_serving(folder, settings, "chat responses", tree=tree) as served:
        yield served


def measure(pid: int, port: int, request: bytes, total: int) -> tuple[float, Outcome]:
    """CPU µs per request, and the load's own view."""
    before = cpu_seconds(pid)
    outcome = asyncio.run(run_load(port, request, total, _CONNECTIONS))
    return (cpu_seconds(pid) - before) / outcome.requests * 1e6, outcome


def report(case: str, figures: dict[str, list[tuple[float, Outcome]]]) -> None:
    bare = figures[_BARE]
    print(f"\n{case}")
    for name, rounds in figures.items():
        cpu = statistics.median(each for each, _ in rounds)
        ratio = statistics.median(each / yard for (each, _), (yard, _) in zip(rounds, bare, strict=True))
        p50 = statistics.median(outcome.p50_ms for _, outcome in rounds)
        rate = statistics.median(outcome.requests / outcome.wall_s for _, outcome in rounds)
        print(f"  {name:24} {cpu:8.0f} µs CPU  {ratio:5.2f}x  {rate:7.0f} requests/s  p50 {p50:6.2f} ms")


Rounds = dict[str, list[tuple[float, Outcome]]]


def report_chunk(kind: str, small: Rounds, paced: Rounds, plain: Rounds | None = None) -> None:
    """What one chunk costs that comes alone: a paced stream less a request, by the number of its chunks. `plain`: the
    stream that each server's own is compared with, instead of the bare proxy's."""
    print(f"\n{kind}")
    for name, rounds in paced.items():
        yards = (plain[name] if plain is not None else paced[_BARE]), small[name if plain is not None else _BARE]
        costs = [(whole[0] - request[0]) / CHUNKS for whole, request in zip(rounds, small[name], strict=True)]
        yard = [(whole[0] - request[0]) / CHUNKS for whole, request in zip(*yards, strict=True)]
        ratio = statistics.median(each / own for each, own in zip(costs, yard, strict=True))
        print(f"  {name:24} {statistics.median(costs):8.1f} µs CPU  {ratio:5.2f}x")


def report_client(upstream_url: str, rounds: int) -> None:
    """What the small chat costs a process that has nothing but the client: its own CPU, without a server's side."""
    command = [sys.executable, "-m", "bench.bare_client", f"{upstream_url}/chat/completions", str(_CONNECTIONS)]
    found = [float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(rounds)]
    print(f"\nsmall chat, client alone\n  {_CLIENT:24} {statistics.median(found):8.0f} µs CPU")


def _as_chat(body: bytes) -> bytes:
    """What a proxy that translates nothing sends for a body: the small chat for a responses request."""
    return SMALL if body in (RESPONSES, STORED) else body


def report_first(ports: dict[str, tuple[int, int, str]], rounds: int) -> None:
    """How long the first chunk of a stream takes while 16 paced streams run."""
    print(f"\nfirst chunk among {_CONNECTIONS} paced streams")
    waits: dict[str, list[float]] = {name: [] for name in ports}
    for _ in range(rounds):
        for name, (_, port, key) in ports.items():
            request = request_bytes(CHAT, key, PACED)
            waits[name].append(statistics.median(asyncio.run(first_pieces(port, request, 160, _CONNECTIONS))))
    for name, found in waits.items():
        ratio = statistics.median(each / yard for each, yard in zip(found, waits[_BARE], strict=True))
        print(f"  {name:24} {statistics.median(found) * 1e3:8.2f} ms      {ratio:5.2f}x")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tree", action="append", default=[], metavar="NAME=FOLDER")
    given = parser.parse_args(argv)
    rounds, trees = given.rounds, dict(each.split("=", 1) for each in given.tree)
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
        servers = {_BARE: (stack.enter_context(running(bare_command, bare_port)), bare_port, key)}
        by_settings = {}
        for kind, settings in SETTINGS.items():
            by_settings[kind] = dict(servers)
            for its_name, tree in {"gateway": "", **trees}.items():
                served = stack.enter_context(gateway(folder / f"{its_name}{kind}", upstream_url, settings, tree=tree))
                by_settings[kind][its_name] = served
        print(f"idle memory: gateway {pss_mib(by_settings['']['gateway'][0]):.0f} MiB PSS")
        all_figures: dict[str, Rounds] = {}
        for case, (path, body, total, kind) in CASES.items():
            figures: Rounds = {server: [] for server in by_settings[kind]}
            for number in range(rounds + 1):
                for server, (pid, port, its_key) in by_settings[kind].items():
                    is_own = server != _BARE
                    request = (
                        request_bytes(path, its_key, body) if is_own else request_bytes(CHAT, its_key, _as_chat(body))
                    )
                    sample = measure(pid, port, request, total if number else total // 4)
                    if number:  # the first round warms up
                        figures[server].append(sample)
            report(case, figures)
            all_figures[case] = figures
        small, plain = all_figures["small chat"], all_figures[PACED_CASE]
        report_chunk("a relayed chunk", small, plain)
        masked = {name: found for name, found in all_figures[SANITIZED_CASE].items() if name != _BARE}
        report_chunk("a sanitized chunk, by an unsanitized one", small, masked, plain)
        restored = {name: found for name, found in all_figures[REVERSIBLE_CASE].items() if name != _BARE}
        report_chunk("a reversible chunk, by an unsanitized one", small, restored, plain)
        report_first(by_settings[""], rounds)
        report_client(upstream_url, rounds)


if __name__ == "__main__":
    main()
