"""A long run of mixed requests against a real gateway: what grows that should not?

`python -m bench.soak [--requests 20000] [--connections 16] [--seed 1]`. A `gateway serve` process stands before an
upstream and a site of this process (`bench/soak_servers.py`). Requests are drawn with fixed weights: chats whole and
streamed, clients that leave, upstreams that fail, stored responses and conversations, messages of agents, embeddings,
pictures, files, hosted tools, every web tool over good and odd pages, wrong keys, bodies and paths.
Memory, file descriptors and tasks are sampled; after a warm-up, a straight line is fitted to each.
Exit 1 when one of them rises faster than its bound, an answer has an unexpected status, or requests stay in flight.
"""

import argparse
import asyncio
import base64
import contextlib
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from bench.load import process_tree, pss_mib
from bench.soak_servers import PAGES, other_models_toml, picture, serve
from tests.support.gateways import start_process, upstream_toml

_WARM_UP = 0.3
"""Share of the run before the slopes are measured: caches, pools and the index fill in it."""
_SAMPLES = 60
"""Samples a run. Chosen: reading the memory map costs milliseconds; half would do for a straight line."""
_SETTLE_S = 4.0
"""Pause before the last sample: connections that clients left are closed within a second or two."""

BOUNDS = {"memory of the gateway": 1024.0, "memory with its children": 2048.0, "fds": 2e-3, "tasks": 2e-3}
"""Largest rise by request: bytes, bytes, count, count. Chosen: 1 KB a request is 20 MB in a run, above the noise of the
allocator; a leak of one object with its body is more. Two in a thousand requests are 40 fds, above the idle
connections of a run."""


@dataclass
class Soak:
    """One run: where to send, and what came back."""

    url: str
    ops_url: str
    site: str
    key: str
    session: aiohttp.ClientSession
    random: random.Random
    statuses: Counter[str] = field(default_factory=Counter)
    unexpected: list[str] = field(default_factory=list)
    responses: list[str] = field(default_factory=list)

    async def send(self, name: str, expected: Sequence[int], path: str, body: Any = None, **more: Any) -> bytes:
        """One request; `more` may have `method`, `key`, and `read` (bytes of the answer before the client leaves)."""
        data = body if isinstance(body, bytes) or body is None else orjson.dumps(body)
        headers = {"Authorization": f"Bearer {more.get('key', self.key)}", "Content-Type": "application/json"}
        method = more.get("method", "POST" if data is not None else "GET")
        async with self.session.request(method, self.url + path, data=data, headers=headers) as answer:
            if "read" in more:
                raw = await answer.content.read(more["read"])
                answer.close()
            else:
                raw = await answer.read()
        self.statuses[f"{name} {answer.status}"] += 1
        if answer.status not in expected:
            self.unexpected.append(f"{name}: {answer.status} {raw[:200]!r}")
        return raw

    async def tool(self, name: str, **arguments: Any) -> None:
        params = {"name": f"websearch-{name}", "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        await self.send(name, [200], "/tools/websearch/mcp", body)


async def _chat(soak: Soak, text: Any, expected: Sequence[int] = (200,), **more: Any) -> None:
    stream = more.pop("stream", False)
    body = {"model": "SvcLLM", "messages": [{"role": "user", "content": text}], "stream": stream}
    name = re.sub(r" ?\d.*", "", text[:14]) if isinstance(text, str) else "file"
    await soak.send(f"chat {name}{' stream' if stream else ''}", expected, "/v1/chat/completions", body, **more)


async def _respond(soak: Soak) -> None:
    raw = await soak.send("responses", [200], "/v1/responses", {"model": "SvcLLM", "input": "hello"})
    stored = orjson.loads(raw)["id"]
    await soak.send("response", [200], f"/v1/responses/{stored}")
    await soak.send("delete", [200], f"/v1/responses/{stored}", method="DELETE")


def _sentence(soak: Soak) -> str:
    return f"hello {soak.random.randrange(10**9)} mail a{soak.random.randrange(999)}@posthaus.org"


PICTURE = "data:image/png;base64," + base64.b64encode(picture()).decode()
SEARCHES = {"tools": [{"type": "web_search"}], "seed": 1}
"""`seed` makes the upstream call the tool (`bench.upstream`)."""


async def _message(soak: Soak, content: Any, **more: Any) -> None:
    body = {"model": "SvcLLM", "max_tokens": 90, "messages": [{"role": "user", "content": content}], **more}
    await soak.send(f"messages{' stream' if more.get('stream') else ''}", [200], "/v1/messages", body)


async def _read_pictures(soak: Soak, stream: bool) -> None:
    """OCR of several pictures: each is asked of the upstream alone, and the answers are joined."""
    parts = [{"type": "text", "text": "read"}, *[{"type": "image_url", "image_url": {"url": PICTURE}}] * 3]
    body = {"model": "Reader", "stream": stream, "messages": [{"role": "user", "content": parts}]}
    await soak.send("ocr stream" if stream else "ocr", [200], "/v1/chat/completions", body)


async def _converse(soak: Soak) -> None:
    """A conversation that is stored: its second turn names the first, and its items are read."""
    first = orjson.loads(await soak.send("turn", [200], "/v1/responses", {"model": "SvcLLM", "input": _sentence(soak)}))
    body = {"model": "SvcLLM", "input": "go on", "previous_response_id": first["id"], "stream": True}
    await soak.send("next turn", [200], "/v1/responses", body)
    await soak.send("items", [200], f"/v1/responses/{first['id']}/input_items")


async def _agent(soak: Soak) -> None:
    """What an agent sends after a call, its history shortened to a summary."""
    call = {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": _sentence(soak)}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "line\n" * 400}]}
    turns = [("user", "Summary of the work so far: " + "done, " * 500), ("assistant", [call]), ("user", [result])]
    messages = [{"role": role, "content": content} for role, content in turns]
    tools = [{"name": "read", "description": "reads a file", "input_schema": {"type": "object"}}]
    body = {"model": "SvcLLM", "messages": messages, "tools": tools}
    await soak.send("messages of an agent", [200], "/v1/messages", {**body, "max_tokens": 90, "stream": True})
    await soak.send("count", [200], "/v1/messages/count_tokens", body)


async def _embed(soak: Soak) -> None:
    texts = [_sentence(soak) for _ in range(soak.random.randrange(1, 40))]
    await soak.send("embeddings", [200], "/v1/embeddings", {"model": "vectors", "input": texts})


async def _search_for_model(soak: Soak) -> None:
    """A web tool that the gateway runs for a model, over both interfaces."""
    question = f"what is gateway {soak.random.randrange(400)}"
    await soak.send("hosted", [200], "/v1/responses", {"model": "SvcLLM", "input": question, **SEARCHES})
    messages = [{"role": "user", "content": question}]
    body = {"model": "SvcLLM", "messages": messages, "web_search_options": {}, "seed": 1}
    await soak.send("hosted chat", [200], "/v1/chat/completions", body)


def _file(soak: Soak) -> list[Any]:
    text = base64.b64encode((_sentence(soak) * 300).encode()).decode()
    file = {"filename": "notes.txt", "file_data": f"data:text/plain;base64,{text}"}
    return [{"type": "text", "text": "read it"}, {"type": "file", "file": file}]


ODD = ("/binary", "/redirect", "/loop", "/headers", "/deep", "/brackets", "/json", "/cut", "/nowhere")
"""Paths of the site that cannot be read as pages, or only with patience."""
KINDS: list[tuple[int, Callable[[Soak], Any]]] = [
    (30, lambda s: _chat(s, _sentence(s))),
    (15, lambda s: _chat(s, _sentence(s), stream=True)),
    (6, lambda s: _chat(s, "leaves " + _sentence(s), stream=True, read=100)),
    (3, lambda s: _chat(s, "long " * 20_000)),
    (3, lambda s: _chat(s, "upstream fails", [502, 503])),
    (3, lambda s: _chat(s, "upstream refuses", [400, 503])),
    (3, lambda s: _chat(s, "upstream cuts", [200, 502, 503], stream=True)),
    (5, _respond),
    (4, lambda s: s.send("models", [200], "/v1/models")),
    (3, lambda s: s.send("wrong key", [401, 429], "/v1/models", key=f"gw_wrong{s.random.randrange(99)}")),
    (2, lambda s: s.send("no path", [404], f"/v1/nowhere{s.random.randrange(10**6)}")),
    (2, lambda s: s.send("no json", [400], "/v1/chat/completions", b"{" * s.random.randrange(1, 2_000))),
    (2, lambda s: s.send("no rpc", [400], "/tools/websearch/mcp", {"jsonrpc": "2.0"})),
    (8, lambda s: s.tool("search", query=f"gateway {s.random.choice('abcdefgh')} {s.random.randrange(400)}")),
    (3, lambda s: s.tool("search_status")),
    (4, lambda s: s.tool("extract", urls=[f"{s.site}/page/{s.random.randrange(PAGES)}"])),
    (2, lambda s: s.tool("extract", urls=[s.site + s.random.choice(ODD), "http://10.0.0.1/", f"{s.ops_url}/metrics"])),
    (1, lambda s: s.tool("crawl", url=f"{s.site}/page/{s.random.randrange(PAGES)}", limit=3)),
    (1, lambda s: s.tool("map", url=s.site + "/", limit=5)),
    (6, lambda s: _message(s, _sentence(s))),
    (5, lambda s: _message(s, [{"type": "text", "text": _sentence(s)}], stream=True)),
    (3, _agent),
    (3, _converse),
    (4, _embed),
    (3, _search_for_model),
    (2, lambda s: _read_pictures(s, stream=False)),
    (2, lambda s: _read_pictures(s, stream=True)),
    (2, lambda s: _chat(s, _file(s))),
    (2, lambda s: _chat(s, "upstream says much at once", stream=True)),
]  # fmt: skip
"""(weight, request) of every kind."""


async def _sample(soak: Soak, pid: int) -> dict[str, float]:
    memory: dict[int, float] = {}
    for each in process_tree(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ended while it was looked at
            memory[each] = pss_mib(each) * 2**20
    async with soak.session.get(soak.ops_url + "/metrics") as answer:
        found = dict(re.findall(r"^(gateway_(?:tasks|in_flight)) (\S+)$", await answer.text(), re.MULTILINE))
    return {
        "memory of the gateway": memory[pid],
        "memory with its children": sum(memory.values()),
        "fds": len(list(Path(f"/proc/{pid}/fd").iterdir())),  # noqa: ASYNC240 - /proc does not block
        "tasks": float(found["gateway_tasks"]),
        "in flight": float(found["gateway_in_flight"]),
    }


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Of the straight line through the points, by least squares."""
    count = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


async def _run(soak: Soak, pid: int, requests: int, connections: int) -> list[tuple[int, dict[str, float]]]:
    """The samples, each with the number of requests before it."""
    samples: list[tuple[int, dict[str, float]]] = []
    weights = [weight for weight, _ in KINDS]
    done = 0
    due = iter(range(0, requests, max(1, requests // _SAMPLES)))
    next_due = next(due)

    async def work() -> None:
        nonlocal done, next_due
        while done < requests:
            done += 1
            if done > next_due:
                next_due = next(due, requests + 1)
                samples.append((done, await _sample(soak, pid)))
            await soak.random.choices(KINDS, weights)[0][1](soak)

    await asyncio.gather(*(work() for _ in range(connections)))
    await asyncio.sleep(_SETTLE_S)
    samples.append((requests, await _sample(soak, pid)))
    return samples


def _report(soak: Soak, samples: list[tuple[int, dict[str, float]]], seconds: float) -> list[str]:
    """Prints the figures. Returns what is out of bounds."""
    requests, last = samples[-1]
    faults = [f"unexpected answer: {text}" for text in soak.unexpected[:5]]
    print(f"{requests:,} requests in {seconds:.0f} s")
    for name, count in sorted(soak.statuses.items()):
        print(f"  {count:6,}  {name}")
    for name, bound in BOUNDS.items():
        points = [(float(done), sample[name]) for done, sample in samples[:-1] if done >= _WARM_UP * requests]
        rise = slope(points)
        print(f"{name}: {points[0][1]:,.0f} -> {points[-1][1]:,.0f}, idle {last[name]:,.0f}; "
              f"{rise:+.4g} a request (bound {bound:g})")  # fmt: skip
        if rise > bound:
            faults.append(f"{name} rises by {rise:.4g} a request")
    if last["in flight"]:
        faults.append(f"{last['in flight']:.0f} requests are still in flight")
    return faults


async def soak(requests: int, connections: int, seed: int, folder: Path) -> list[str]:
    """One run in `folder`. Returns what is out of bounds."""
    servers = [await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 24) for _ in range(2)]
    model, site = (f"http://127.0.0.1:{each.sockets[0].getsockname()[1]}" for each in servers)
    toml = f"{upstream_toml(model + '/v1')}{other_models_toml(model)}[web]\nallow_private = ['{site.removeprefix('http://')}']\n"
    timeout = aiohttp.ClientTimeout(total=120)
    async with (
        start_process(folder, toml) as gateway,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session,
    ):
        run = Soak(gateway.url, gateway.ops_url, site, gateway.key, session, random.Random(seed))
        began_s = time.monotonic()
        samples = await _run(run, gateway.process.pid, requests, connections)
        faults = _report(run, samples, time.monotonic() - began_s)
        faults += [f"the log has {event!r}" for event in gateway.events("unexpected")[:3]]
    for server in servers:
        server.close()
    return faults


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.soak")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        faults = asyncio.run(soak(options.requests, options.connections, options.seed, Path(folder)))
    for fault in faults:
        print(f"FAULT {fault}")
    if faults:
        sys.exit(1)


if __name__ == "__main__":
    main()
