"""Hostile sites and search providers against a real `gateway serve`: `python -m bench.hostile_sites [--kinds K …]`.

Prints for each input what a caller sees, how long it took, CPU of all the gateway's processes, the longest that its
loop kept a small request waiting, and the memory that its processes took; `!` stands before what is beyond the bounds
of `_BOUNDS`. A wait counts only as far as the loop's own thread used CPU in it, so that other work on the machine is
not taken for a block. After each input a small page must be read, and no log line may hold a traceback or the key.

Kinds: `files` (pages, feeds, office files, PDFs), `http`, `walks` (crawl and map), `tavily`, `exa`, `serper`, `brave`,
`searxng` and `provider` (Tavily as the reader of pages).
"""

import argparse
import base64
import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from bench.hostile_http import ANSWERS, TALKS
from bench.hostile_providers import REPLIES
from bench.hostile_site import FILES, KEY
from bench.hostile_walks import WALKS
from gateway.embedded.child_server import free_port
from tests.support.gateway_process import GatewayProcess, descendants

_LIMIT_S = 150
_BOUNDS = {"block_ms": 100.0, "cpu_s": 15.0, "seconds": 65.0, "memory_mb": 300.0}
"""Beyond these a row is marked. Chosen: a small request takes several turns of the loop, each of which may
take the issue's 50 ms; a page may cost a parse process its 15 s."""
_PROVIDERS = ("tavily", "exa", "serper", "brave", "searxng")
_TOLD = 150
"""Characters of an answer that are printed."""


@dataclass(slots=True)
class Seen:
    """What one input did. Memory: growth of the gateway's process; the largest of its children."""

    seconds: float
    block_ms: float
    cpu_s: float
    memory_mb: float
    child_mb: float
    told: str
    wrong: list[str]

    def line(self, name: str) -> str:
        values = {"block_ms": self.block_ms, "cpu_s": self.cpu_s, "seconds": self.seconds, "memory_mb": self.memory_mb}
        wrong = [key for key, most in _BOUNDS.items() if values[key] > most] + self.wrong
        mark = f"! {','.join(wrong)} " if wrong else ""
        return (
            f"{name:34} {self.seconds:6.2f} s  {self.cpu_s:6.2f} s CPU  block {self.block_ms:5.0f} ms  "
            f"{self.memory_mb:5.0f} MB, child {self.child_mb:5.0f} MB  {mark}{self.told}"
        )


class _Pinger:
    """Asks for a small answer again and again; the longest wait, as far as the loop's thread used CPU in it."""

    def __init__(self, port: int, key: str, pid: int) -> None:
        self._port, self._key, self._pid = port, key, pid
        self.worst_s, self._stop = 0.0, threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _cpu_s(self) -> float:
        return int(Path(f"/proc/{self._pid}/task/{self._pid}/schedstat").read_text().split()[0]) / 1e9

    def _run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_LIMIT_S)
        while not self._stop.wait(0.002):
            with suppress(OSError, http.client.HTTPException):
                before, began = self._cpu_s(), time.monotonic()
                connection.request("GET", "/v1/models", headers={"Authorization": f"Bearer {self._key}"})
                connection.getresponse().read()
                self.worst_s = max(self.worst_s, min(time.monotonic() - began, self._cpu_s() - before))

    def close(self) -> None:
        self._stop.set()


def _status(pid: int, name: str) -> float:
    """Megabytes of a line of /proc/PID/status; 0 of a process that is gone."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1000
    return 0.0


def _cpu_s(pids: list[int]) -> float:
    """CPU seconds of the processes and of their ended children."""
    ticks = 0
    for pid in pids:
        with suppress(OSError):
            ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / 100


class Attacked:
    """A gateway before the hostile servers. `settings`: TOML; `{files}`, `{provider}`, `{walk}` become their ports."""

    def __init__(self, folder: Path, settings: str) -> None:
        self._folder, self._settings, self._stack = folder, settings, ExitStack()

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "bench.hostile_site"]
        servers = self._stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        self._stack.callback(servers.kill)
        assert servers.stdout is not None
        self.ports = dict(zip(("files", "provider", "walk"), json.loads(servers.stdout.readline()), strict=True))
        settings = self._settings
        for name, port in self.ports.items():
            settings = settings.replace(f"{{{name}}}", str(port))
        self.gateway = GatewayProcess(self._folder, free_port())
        self.gateway.write_config(settings)
        self.gateway.variables = {"GATEWAY_CREDENTIAL_HOSTILE": KEY}
        self._stack.enter_context(self.gateway)
        self._pid = (self.gateway.workers() or [self.gateway.process.pid])[0]
        self.call("extract", urls=[f"http://127.0.0.1:{self.ports['files']}/ok"])
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def call(self, tool: str, **arguments: Any) -> tuple[int, str]:
        """HTTP status and text of a tool call's answer."""
        params = {"name": f"websearch-{tool}", "arguments": arguments}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=_LIMIT_S)
        try:
            headers = {**self.gateway.headers, "Content-Type": "application/json", "Accept": "application/json"}
            connection.request("POST", "/tools/websearch/mcp", body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        finally:
            connection.close()

    def set(self, mode: str) -> int:
        """Choose what provider and crawled site do. Returns how often forbidden addresses were asked since."""
        with urllib.request.urlopen(
            f"http://127.0.0.1:{self.ports['files']}/set/{quote(mode, '')}", timeout=30
        ) as reply:
            return int(reply.read())

    def attack(self, mode: str, tool: str, **arguments: Any) -> Seen:
        """Call a tool and look at everything around it."""
        self.set(mode)
        pids = [self.gateway.process.pid, *descendants(self.gateway.process.pid)]
        for pid in pids:
            with suppress(OSError):
                Path(f"/proc/{pid}/clear_refs").write_text("5")
        idle, cpu_s, began = _status(self._pid, "VmRSS"), _cpu_s(pids), time.monotonic()
        logged, pinger = len(self.gateway.output()), _Pinger(self.gateway.port, self.gateway.key, self._pid)
        try:
            status, text = self.call(tool, **arguments)
        except (OSError, http.client.HTTPException) as error:
            status, text = 0, repr(error)
        seconds = time.monotonic() - began
        pinger.close()
        now = [self.gateway.process.pid, *descendants(self.gateway.process.pid)]
        children = [_status(pid, "VmHWM") for pid in now if pid not in (self._pid, self.gateway.process.pid)]
        memory = _status(self._pid, "VmHWM") - idle
        wrong = list(self._wrong(status, text, self.gateway.output()[logged:]))
        used_s = _cpu_s(list({*pids, *now})) - cpu_s
        return Seen(seconds, pinger.worst_s * 1000, used_s, memory, max(children, default=0), told(text), wrong)

    def _wrong(self, status: int, text: str, logged: str) -> Iterator[str]:
        if status != 200:
            yield f"status {status}"
        if "Traceback" in logged or "internal error" in text.lower() or "-32603" in text:
            yield "traceback"
        encoded = (KEY, KEY.upper(), KEY.encode().hex(), base64.b64encode(KEY.encode()).decode())
        if any(each in text or each in logged for each in encoded):
            yield "key"
        if self.set("") > 0:
            yield "asked what is forbidden"
        if 'engine = "provider"' in self._settings:
            return
        began = time.monotonic()
        small = self.call("extract", urls=[f"http://127.0.0.1:{self.ports['files']}/ok?{began}"])[1]
        if "Some words" not in small:
            yield "small page fails"
        elif time.monotonic() - began > 5:
            yield "small page late"


def told(text: str) -> str:
    """The beginning of what a caller is told."""
    with suppress(ValueError, KeyError, IndexError, TypeError):
        text = json.loads(text)["result"]["content"][0]["text"]
    return f"{len(text)}: {' '.join(text[: _TOLD * 3].split())[:_TOLD]}"


_OWN = '[sanitize]\nroutes = ["websearch"]\n[search]\nfallback = []\n'
_WEB = _OWN + 'provider = "local"\n[web]\ncrawl_budget_s = 10\nallow_private = ["127.0.0.1:{files}", "127.1.0.0/16"]\n'


def _settings(kind: str) -> str:
    if kind in ("files", "http", "walks"):
        return _WEB
    name = "tavily" if kind == "provider" else kind
    search = f'provider = "{name}"\nbase_url = "http://127.0.0.1:{{provider}}"\ncache_ttl_s = 0\ntimeout_s = 5\n'
    key = "" if kind == "searxng" else 'api_key = { credential = "hostile" }\n'
    engine = 'engine = "provider"\n' if kind == "provider" else ""
    return f'{_OWN}{search}{key}[web]\n{engine}allow_private = ["127.0.0.1:{{files}}"]\n'


def _inputs(kind: str) -> list[str]:
    if kind in ("files", "http"):
        return list(FILES) if kind == "files" else [*ANSWERS, *TALKS]
    return list(WALKS) if kind == "walks" else [*REPLIES, *TALKS]


def run(kind: str, only: list[str]) -> Iterator[str]:
    """A line for each input of a kind."""
    with tempfile.TemporaryDirectory() as folder, Attacked(Path(folder), _settings(kind)) as attacked:
        inputs = [each for each in _inputs(kind) if not only or any(part in each for part in only)]
        for number, name in enumerate(inputs):
            page = f"http://127.0.0.1:{attacked.ports['files']}/{quote(name)}"
            if kind == "files":
                urllib.request.urlopen(page, timeout=_LIMIT_S).close()  # the server makes it once
            if kind in ("files", "http"):
                yield attacked.attack(name, "extract", urls=[page]).line(name)
            elif kind == "walks":
                for place, tool in enumerate(("crawl", "map")):  # robots.txt is remembered for each host
                    site = f"http://127.1.{place}.{number + 1}:{attacked.ports['walk']}/"
                    yield attacked.attack(name, tool, url=site, limit=50, max_depth=4).line(f"{tool} {name}")
            elif kind == "provider":
                for tool, more in (("extract", {"urls": [page]}), ("crawl", {"url": page}), ("map", {"url": page})):
                    yield attacked.attack(name, tool, **more).line(f"{tool} {name}")
            else:
                images = {"include_images": True, "include_raw_content": "text" in name}
                yield attacked.attack(name, "search", query="words", **images).line(name)


def main() -> None:
    """The command line."""
    kinds = ("files", "http", "walks", *_PROVIDERS, "provider")
    parser = argparse.ArgumentParser(description="hostile sites and search providers")
    parser.add_argument("--kinds", nargs="*", choices=kinds, default=kinds)
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of inputs")
    options = parser.parse_args()
    for kind in options.kinds:
        print(f"--- {kind}", flush=True)
        for line in run(kind, options.only):
            print(line, flush=True)


if __name__ == "__main__":
    main()
