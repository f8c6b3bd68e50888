"""The gateway, a bare proxy and other programs of the kind before the same upstream, in interleaved rounds of one run.

`python -m bench.peers [--rounds 3] [--with envoy,agentic-api,smg] [--svg FILE]`. Prints a table for each row: CPU of
the server's process tree for a request, as a multiple of the row's yardstick (the median of the rounds' ratios),
requests a second and latency of 16 connections; then one of all multiples, with memory idle and after the load. Every
answer is checked for being right: status, text, chunks and usage. A peer that is not installed, does not start or gives
a wrong answer is left out, in words. Servers have the first core, the load and the upstream the last.
"""

import argparse
import asyncio
import contextlib
import functools
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from bench import overhead
from bench.load import Outcome, cpu_seconds, process_tree, pss_mib, request_bytes, run_load
from bench.peers.mcp_servers import PATH, SEARCH, STATUS
from bench.peers.programs import CHAT, MCP, PEERS, Missing, Peer, Run, resolve, started, version
from bench.served import HERE, running
from bench.upstream import TEXT, USAGE, WORDS
from gateway.embedded.child_server import free_port

CONNECTIONS = 16
_WARM_UP, _LEAST, _MOST = 160, 64, 40_000
"""Requests of a sample: of the first, that warms up, and bounds of the others."""

Checked = Callable[[bytes], bool]
"""Whether a body is the right answer."""


@dataclass(frozen=True, slots=True)
class Row:
    """One request, sent again and again, to the peers that speak `kind`; compared with the peer `yardstick`."""

    name: str
    kind: str
    path: str
    body: bytes
    is_right: Checked
    yardstick: str = "bare"
    headers: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """CPU microseconds of one request, and the load's own view."""

    cpu_us: float
    outcome: Outcome


Figures = dict[str, list[Sample]]
"""Of one row, by peer, a sample a round."""


def _is_right_chat(body: bytes) -> bool:
    answer = orjson.loads(body)
    choice = answer["choices"][0]
    is_said = choice["message"]["content"] == TEXT and choice["finish_reason"] == "stop"
    return bool(is_said and USAGE.items() <= answer["usage"].items())


def _is_right_stream(body: bytes) -> bool:
    """A chunk for each word, a reason for the end, usage and the last line. Which chunk carries what is free."""
    events = [line.removeprefix(b"data: ") for line in body.splitlines() if line.startswith(b"data: ")]
    chunks = [orjson.loads(event) for event in events[:-1]]
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    words = [word for choice in choices if (word := choice["delta"].get("content"))]
    reasons = [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]
    usages = [usage for chunk in chunks if (usage := chunk.get("usage"))]
    is_said = (words, reasons, events[-1]) == (WORDS, ["stop"], b"[DONE]")
    return bool(is_said and USAGE.items() <= usages[-1].items())


def _found(text: str) -> dict[str, Any]:
    """The `data` of a tool's text without what is of one call alone. Raises ValueError if the tool failed."""
    outcome = orjson.loads(text)
    if not outcome["success"]:
        raise ValueError(text)
    return {name: value for name, value in outcome["data"].items() if name not in ("request_id", "response_time")}


def _text(body: bytes) -> str:
    text: str = orjson.loads(body)["result"]["content"][0]["text"]
    return text


def rows(tools: dict[str, str]) -> tuple[Row, ...]:
    """The table's rows. `tools`: by tool, the text that the gateway's and every other server's answer must have."""
    stream = {**orjson.loads(overhead.STREAM), "stream_options": {"include_usage": True}}
    chat = functools.partial(Row, kind=CHAT, path=overhead.CHAT)
    return (
        chat(name="small chat", body=overhead.SMALL, is_right=_is_right_chat),
        chat(name="an agent's history of 100 KB", body=overhead.HISTORY, is_right=_is_right_chat),
        chat(name="burst of 100 chunks", body=orjson.dumps(stream), is_right=_is_right_stream),
        _tool_row("MCP tools/call", STATUS, {}, tools),
        _tool_row("MCP tools/call, revision 2026-07-28", STATUS, {}, tools, "2026-07-28"),
        _tool_row("MCP tools/call, a cached search", SEARCH, {"query": "configuration", "max_results": 5}, tools),
    )


def _tool_row(
    name: str, tool: str, arguments: dict[str, Any], tools: dict[str, str], revision: str = "2025-11-25"
) -> Row:
    """A call as a client of one of the protocol's revisions sends it: after a handshake, or complete in itself."""
    headers = f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {revision}\r\n"
    params = {"name": tool, "arguments": arguments}
    if revision >= "2026-07-28":
        headers += f"Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
        of_call = {"protocolVersion": revision, "clientCapabilities": {}}
        params["_meta"] = {f"io.modelcontextprotocol/{name}": value for name, value in of_call.items()}
    body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    return Row(name, MCP, PATH, body, lambda answer: _found(_text(answer)) == _found(tools[tool]), "mcp-sdk", headers)


class Wrong(Exception):
    """A peer gave a wrong answer, or none."""


Server = tuple[int, int, str]
"""Process, port and key."""


def send(row: Row, server: Server, total: int) -> tuple[Sample, list[bytes]]:
    """`total` requests, and the bodies of their answers. Raises Wrong."""
    pid, port, key = server
    kept: list[bytes] = []
    request = request_bytes(row.path, key, row.body, row.headers)
    try:  # the load stays awake where no upstream shares its core
        before = cpu_seconds(pid)
        outcome = asyncio.run(run_load(port, request, total, CONNECTIONS, awake=row.kind == MCP, kept=kept))
        cpu_s = cpu_seconds(pid) - before
    except (RuntimeError, OSError, EOFError, ValueError) as error:
        raise Wrong(str(error) or type(error).__name__) from None
    return Sample(cpu_s / outcome.requests * 1e6, outcome), kept


def _measured(row: Row, server: Server, total: int) -> Sample:
    sample, bodies = send(row, server, total)
    for body in bodies:
        try:
            is_right = row.is_right(body)
        except (ValueError, LookupError, TypeError):
            is_right = False
        if not is_right:
            raise Wrong(f"a wrong answer: {body[:300].decode(errors='replace')}")
    return sample


def measure(row: Row, servers: dict[str, Server], rounds: int, seconds: float) -> Figures:
    """Samples of about `seconds` each, in interleaved rounds; who gives a wrong answer is left out, in words."""
    figures: Figures = {name: [] for name in servers}
    totals = dict.fromkeys(servers, _WARM_UP)
    for number in range(rounds + 1):
        for name in list(figures):
            try:
                sample = _measured(row, servers[name], totals[name])
            except Wrong as error:
                print(f"\n{name} is left out of “{row.name}”: {error}", flush=True)
                del figures[name]
                continue
            if number:  # the first round warms up, and says how many requests fit
                figures[name].append(sample)
            else:
                rate = sample.outcome.requests / sample.outcome.wall_s
                totals[name] = min(max(int(rate * seconds), _LEAST), _MOST)
    return figures


def ratios(row: Row, figures: Figures) -> dict[str, float]:
    """By peer, the median of its rounds' CPU as multiples of the yardstick's; empty where there is no yardstick."""
    yard = figures.get(row.yardstick, [])
    return {
        name: statistics.median(each.cpu_us / own.cpu_us for each, own in zip(found, yard, strict=True))
        for name, found in figures.items()
        if yard
    }


def report(row: Row, figures: Figures) -> None:
    """One row's table, as Markdown."""
    print(f"\n| {row.name} | µs CPU | times {row.yardstick} | requests/s | p50 ms | p99 ms |\n|---|{'---:|' * 5}")
    times = ratios(row, figures)
    for name, found in figures.items():
        cpu = statistics.median(each.cpu_us for each in found)
        outcomes = [each.outcome for each in found]
        rate, p50, p99 = (
            statistics.median(map(read, outcomes))
            for read in (lambda it: it.requests / it.wall_s, lambda it: it.p50_ms, lambda it: it.p99_ms)
        )
        shown = f"{times[name]:.3g}" if name in times else "–"
        print(f"| {name} | {cpu:.0f} | {shown} | {rate:.0f} | {p50:.2f} | {p99:.2f} |", flush=True)


def picture(all_figures: dict[Row, Figures], title: str) -> str:
    """An SVG: for each row, the peers' multiples of its yardstick as dots on a logarithmic line, the least first."""
    found = {row: sorted(ratios(row, figures).items(), key=lambda it: it[1]) for row, figures in all_figures.items()}
    found = {row: times for row, times in found.items() if times}
    low = math.floor(min((math.log10(ratio) for times in found.values() for _, ratio in times), default=0))
    high = math.ceil(max((math.log10(ratio) for times in found.values() for _, ratio in times), default=1))

    def place(ratio: float) -> float:
        return 130 + 520 * (math.log10(ratio) - low) / max(high - low, 1)

    shapes, y = [f'<text x="10" y="22" font-weight="bold">{title}</text>'], 30
    for row, times in found.items():
        shapes.append(f'<text x="10" y="{y + 24}" font-weight="bold">{row.name}, times {row.yardstick}</text>')
        y += 34
        for power in range(low, high + 1):
            x, bottom = place(10.0**power), y + 20 * len(times)
            shapes.append(f'<path d="M{x:.0f} {y}V{bottom}" stroke="#d0d0d0"/>')
            shapes.append(
                f'<text x="{x:.0f}" y="{bottom + 12}" font-size="10" text-anchor="middle">{10.0**power:g}</text>'
            )
        for name, ratio in times:
            x, y = place(ratio), y + 20
            colour = "#c2410c" if name == "gateway" else "#475569"
            shapes.append(f'<text x="122" y="{y - 6}" text-anchor="end">{name}</text>')
            shapes.append(f'<path d="M130 {y - 10}H{x:.0f}" stroke="{colour}" stroke-width="2"/>')
            shapes.append(f'<circle cx="{x:.0f}" cy="{y - 10}" r="5" fill="{colour}"/>')
            shapes.append(f'<text x="{x + 9:.0f}" y="{y - 6}">{ratio:.3g}</text>')
        y += 18
    size = f'width="720" height="{y + 10}" font-family="sans-serif" font-size="13"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *shapes, "</svg>\n"])


def _texts_of_tools(server: Server) -> dict[str, str]:
    """By tool, the text of the gateway's answer once its search is cached."""
    asked = {orjson.loads(row.body)["params"]["name"]: row for row in rows({}) if row.kind == MCP}
    return {tool: _text(send(row, server, 2 * CONNECTIONS)[1][-1]) for tool, row in asked.items()}


def _memory_mib(server: Server) -> float:
    """Of the process tree; no number if it has ended."""
    with contextlib.suppress(OSError):
        return sum(map(pss_mib, process_tree(server[0])))
    return math.nan


def _started(peers: Sequence[Peer], run: Run, stack: contextlib.ExitStack) -> dict[str, Server]:
    """The peers that could be started, by name, the gateway first: the tools of others say what it says."""
    servers: dict[str, Server] = {}
    for peer in peers:
        try:
            servers[peer.name] = stack.enter_context(started(peer, run))
        except Missing as error:
            print(f"{peer.name} is left out: {error}", flush=True)
        if peer.name == "gateway":
            run.answers.write_bytes(orjson.dumps(_texts_of_tools(servers["gateway"])))
    return servers


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print, and write the picture."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__.split("\n", 1)[0])
    usual = [peer.name for peer in PEERS.values() if not peer.only_asked_for and peer.name not in ("gateway", "bare")]
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="how long a sample takes, about")
    parser.add_argument("--peers", default=",".join(usual), help="beside the gateway and the bare proxy")
    parser.add_argument("--with", dest="more", default="", metavar="NAME,NAME", help="envoy, agentic-api, smg")
    parser.add_argument(
        "--environments", type=Path, default=Path(HERE) / ".venv-peers", help="where peers are installed"
    )
    parser.add_argument("--svg", type=Path, help="writes the picture")
    parser.add_argument("--lock", action="store_true", help="resolves the peers' locks anew and ends")
    given = parser.parse_args(argv)
    names = ["gateway", "bare", *filter(None, f"{given.peers},{given.more}".split(","))]
    if unknown := set(names) - PEERS.keys():
        parser.error(f"no peer is called {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    peers = [PEERS[name] for name in dict.fromkeys(names)]
    environments = given.environments.absolute()
    if given.lock:
        for peer in peers:
            if peer.requires:
                resolve(peer, environments)
        return
    os.sched_setaffinity(0, {(os.cpu_count() or 1) - 1})
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        run = Run(environments, Path(name), free_port(), free_port(), Path(name) / "answers.json")
        beside = {run.upstream_port: ["bench.upstream"], run.provider_port: ["bench.peers.mcp_servers", "provider"]}
        for port, (module, *kind) in beside.items():
            command = [sys.executable, "-m", module, *kind, str(port), *([""] if kind else [])]
            stack.enter_context(running(command, port, cores={(os.cpu_count() or 1) - 1}, cwd=HERE))
        servers = _started(peers, run, stack)
        idle = {each: _memory_mib(server) for each, server in servers.items()}
        all_figures = {}
        for row in rows(orjson.loads(run.answers.read_bytes())):
            taking = {each: server for each, server in servers.items() if row.kind in PEERS[each].speaks}
            all_figures[row] = measure(row, taking, given.rounds, given.seconds)
            report(row, all_figures[row])
        after = {each: _memory_mib(server) for each, server in servers.items()}
    times = {row: ratios(row, figures) for row, figures in all_figures.items()}
    head = " | ".join(row.name for row in times)
    print(f"\n| | version | {head} | MiB idle, after |\n|---|---|{'---:|' * (len(times) + 1)}")
    for each in servers:
        shown = " | ".join(f"{found[each]:.3g}" if each in found else "–" for found in times.values())
        print(f"| {each} | {version(PEERS[each])} | {shown} | {idle[each]:.0f}, {after[each]:.0f} |")
    if given.svg:
        given.svg.write_text(picture(all_figures, f"CPU of a request, {time.strftime('%Y-%m-%d')}"), encoding="utf-8")


if __name__ == "__main__":
    main()
