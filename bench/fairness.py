"""Small calls of one key while another key floods the gateway: `python -m bench.fairness [SCENARIO …] [--calls N]`.

For each resource that keys share: median and 95th percentile of one key's small calls, alone and under the flood, the
ratios, and how many failed. Gateway, flood, and the sites and upstreams behind it run in processes of their own. Where
they share cores, part of a ratio is the cores': so the measuring process, which has nothing else to do, also says how
late its own timer wakes it (`late`, median and 95th percentile); a small call needs about ten such wake-ups in three
processes. Quiet and flooded rounds alternate, so that other work on the machine falls on both. Nothing is tuned to
these pages: sizes are in `SCENARIOS`.
"""

import argparse
import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from bench.served import wait_for
from gateway.embedded.child_server import free_port

_SETTLE_S = 3.0
"""Seconds of flood before the small calls are measured, and of quiet after it."""
_ROUNDS = 3
_NAP_S = 0.01
_UPSTREAM_SLOTS = 5
"""Calls that the limited upstream serves at once; the others wait there, first come first served."""

Call = tuple[str, dict[str, Any]]
"""Path below the gateway's URL, and the JSON body."""


def tool(name: str, **arguments: Any) -> Call:
    params = {"name": f"websearch-{name}", "arguments": arguments}
    return "/tools/websearch/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def chat(text: str) -> Call:
    return "/v1/chat/completions", {"model": "Bench", "messages": [{"role": "user", "content": text}]}


def extract(site: str, number: int, path: str) -> Call:
    return tool("extract", urls=[f"{site}/{path}?{number}"])


@dataclass(frozen=True, slots=True)
class Scenario:
    """One shared resource. `flood` and `small` make the nth call from the site's URL; `at_once`: the flood's calls."""

    flood: Callable[[str, int], Call]
    small: Callable[[str, int], Call]
    at_once: int
    settings: str = ""
    model: str = ""
    sanitized: bool = False


_LONG_TEXT = "An ordinary sentence that names 12 apples, 7 pears and nobody's card. " * 4_000

SCENARIOS: dict[str, Scenario] = {
    "parse": Scenario(lambda site, n: extract(site, n, "slow"), lambda site, n: extract(site, n, "small"), 16),
    "cut": Scenario(
        lambda site, n: tool("extract", urls=[f"{site}/code?{n}-{each}" for each in range(4)]),
        lambda site, n: tool("search_status"),
        8,
    ),
    "fetch": Scenario(lambda site, n: extract(site, n, "late"), lambda site, n: extract(site, n, "small"), 64),
    "index": Scenario(
        lambda site, n: tool("extract", urls=[f"{site}/long?{n}-{each}" for each in range(20)]),
        lambda site, n: extract(site, n, "small"),
        8,
    ),
    "upstream": Scenario(
        lambda site, n: chat("long"), lambda site, n: chat("short"), 64, model=f"concurrent = {_UPSTREAM_SLOTS - 1}"
    ),
    "in-flight": Scenario(
        lambda site, n: chat("endless"), lambda site, n: chat("short"), 128, settings="max_in_flight = 64\n"
    ),
    "sanitize": Scenario(lambda site, n: chat(_LONG_TEXT), lambda site, n: chat("short"), 8, sanitized=True),
}


# --- what stands behind the gateway ----------------------------------------------------------------------------------


def _page(paragraphs: int, name: str) -> str:
    text = f"<p>A paragraph of {name} with some words that are read, kept and indexed.</p>\n"
    return (
        f"<html><head><title>{name}</title></head><body><main><h1>{name}</h1>{text * paragraphs}</main></body></html>"
    )


_PAGES = {
    "small": _page(3, "small"),
    "late": _page(3, "late"),
    "long": _page(300, "long"),
    "slow": _page(40_000, "slow"),
    "code": f"<html><body><main><h1>code</h1>{'<p>words</p><pre>code</pre>' * 4_000}</main></body></html>",
}


async def _site(request: web.Request) -> web.Response:
    name = request.match_info["name"]
    if name == "late":
        await asyncio.sleep(2)
    return web.Response(text=_PAGES[name] + request.query_string, content_type="text/html")


def _chat_handler() -> Callable[[web.Request], Any]:
    slots = asyncio.Semaphore(_UPSTREAM_SLOTS)
    work_s = {"long": 0.5, "short": 0.02, "endless": 3.0}

    async def handler(request: web.Request) -> web.Response:
        text = (await request.json())["messages"][0]["content"]
        async with slots if text in ("long", "short") else contextlib.AsyncExitStack():
            await asyncio.sleep(work_s.get(text, 0.02))
        choice = {"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}
        return web.json_response({"id": "1", "object": "chat.completion", "choices": [choice]})

    return handler


def _serve_behind(port: int) -> None:
    app = web.Application(client_max_size=1 << 26)
    app.router.add_post("/v1/chat/completions", _chat_handler())
    app.router.add_get("/{name}", _site)
    web.run_app(app, host="127.0.0.1", port=port, print=None, handle_signals=True, access_log=None)


# --- flood and measurement -------------------------------------------------------------------------------------------


async def _ask(session: aiohttp.ClientSession, url: str, key: str, call: Call) -> bool:
    headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
    async with session.post(url + call[0], json=call[1], headers=headers) as answer:
        text = await answer.text()
        return answer.status == 200 and '"isError":true' not in text.replace(" ", "")


async def _flood(name: str, url: str, site: str, key: str) -> None:
    scenario, count = SCENARIOS[name], 0

    async def one(session: aiohttp.ClientSession) -> None:
        nonlocal count
        while True:
            count += 1
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                if not await _ask(session, url, key, scenario.flood(site, count)):
                    await asyncio.sleep(0.05)

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session, asyncio.TaskGroup() as group:
        for _ in range(scenario.at_once):
            group.create_task(one(session))
        await asyncio.sleep(0)
        print("flooding", flush=True)


@dataclass(slots=True)
class Seen:
    """Milliseconds: of the small calls, and by how much the measuring process's timer was late. `failed` calls."""

    times: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    failed: int = 0

    def at(self, share: float) -> tuple[float, float]:
        """The quantile of the calls' times and of the lateness."""
        place = max(0, -(-int(share * 100) * len(self.times) // 100) - 1)
        return sorted(self.times)[place], sorted(self.late)[place]


async def _measure(seen: Seen, calls: int, url: str, key: str, make: Callable[[int], Call]) -> None:
    async with aiohttp.ClientSession() as session:
        for _ in range(calls):
            started = time.perf_counter()
            seen.failed += not await _ask(session, url, key, make(len(seen.times)))
            ended = time.perf_counter()
            seen.times.append((ended - started) * 1000)
            await asyncio.sleep(_NAP_S)
            seen.late.append((time.perf_counter() - ended - _NAP_S) * 1000)


@contextlib.contextmanager
def _process(module: str, *arguments: str, log: Path = Path(os.devnull)) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen([sys.executable, "-m", module, *arguments], stdout=output, stderr=output)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(60)


def _key(folder: Path, name: str) -> str:
    command = [sys.executable, "-m", "gateway", "keys", "create", "--name", name, "--scope", "chat"]
    command += ["--scope", "web-search", "--state-dir", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _settings(scenario: Scenario, port: int, behind: int) -> str:
    server = f"[server]\nport = {port}\n{scenario.settings}[ops]\nport = 0\n"
    off = "[local_llm]\nenabled = false\n[local_ocr]\nenabled = false\n"
    routes = '[sanitize]\nroutes = ["websearch", "chat"]\n' if scenario.sanitized else ""
    address = f"127.0.0.1:{behind}"
    tables = f'[web]\nallow_private = ["{address}"]\nrespect_robots = false\n{routes}'
    model = f'[[models]]\nname = "Bench"\n[[models.upstreams]]\nbase_url = "http://{address}/v1"\nmodel = "m"\n'
    return server + off + tables + model + scenario.model + "\n"


def _run(name: str, calls: int) -> None:
    scenario, behind = SCENARIOS[name], free_port()
    with tempfile.TemporaryDirectory() as place, _process("bench.fairness", "--behind", str(behind)) as servers:
        folder = Path(place)
        wait_for(behind, servers)
        site = f"http://127.0.0.1:{behind}"
        port = free_port()
        (folder / "gateway.toml").write_text(_settings(scenario, port, behind))
        flooding_key, key = _key(folder, "flood"), _key(folder, "small")
        url = f"http://127.0.0.1:{port}"
        serve = ["serve", "--config", str(folder / "gateway.toml"), "--state-dir", place]
        with _process("gateway", *serve, log=folder / "log") as gateway:
            wait_for(port, gateway)

            def small(number: int) -> Call:
                return scenario.small(site, number)

            asyncio.run(_measure(Seen(), 5, url, key, small))  # starts what is started at first use
            alone, under = Seen(), Seen()
            for _ in range(_ROUNDS):
                asyncio.run(_measure(alone, calls // _ROUNDS, url, key, small))
                with _process("bench.fairness", "--flood", name, url, site, flooding_key, log=folder / "flood"):
                    while not (folder / "flood").stat().st_size:
                        time.sleep(0.05)
                    time.sleep(_SETTLE_S)
                    asyncio.run(_measure(under, calls // _ROUNDS, url, key, lambda number: small(calls + number)))
                time.sleep(_SETTLE_S)
    for label, share in (("median", 0.5), ("p95", 0.95)):
        (before, late_before), (after, late_after) = alone.at(share), under.at(share)
        print(
            f"{name:<10} {label:<7} {before:8.1f} -> {after:8.1f} ms ({after / before:5.2f}x)   "
            f"late {late_before:6.1f} -> {late_after:6.1f} ms   failed {under.failed}",
            flush=True,
        )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", default=list(SCENARIOS))
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--behind", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--flood", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.behind:
        _serve_behind(options.behind)
    elif options.flood:
        os.nice(10)  # it stands for other machines, which take no core from the gateway
        asyncio.run(_flood(*options.flood))
    else:
        for name in options.scenarios:
            _run(name, options.calls)


if __name__ == "__main__":
    main()
