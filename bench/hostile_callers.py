"""What one caller can do to another: `python -m bench.hostile_callers`. Rows of docs/benchmarks.md beside 0.1's.

A real `gateway serve` with two keys, before an upstream that fails on one prompt and gives long answers to another.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import aiohttp

from bench.served import gateway_serving

_LONG = "A sentence of a long answer. " * 500_000
"""14.5 MB: an answer of 20 MB, as in 0.1, is refused now."""
_POISON, _WANTS_LONG = "poison", "long"


class _Upstream(BaseHTTPRequestHandler):
    """500 for a poisoned prompt, _LONG for a long one, else a word."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][-1]["content"]
        text = _LONG if said == _WANTS_LONG else "Yes."
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        body = json.dumps({"id": "1", "object": "chat.completion", "model": "m", "choices": [choice]}).encode()
        self.send_response(500 if said == _POISON else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def _settings(port: int) -> str:
    model = f'[[models]]\nname = "M"\n[[models.upstreams]]\nbase_url = "http://127.0.0.1:{port}/v1"\nmodel = "m"\n'
    return f"[sanitize]\nroutes = []\n{model}"


def _second_key(folder: Path) -> str:
    command = [sys.executable, "-m", "gateway", "keys", "create", "--name", "second", "--scope", "chat", "--scope"]
    command += ["responses", "--state-dir", str(folder / "state")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


Ask = Callable[[str, str, str], tuple[int, dict[str, Any]]]
"""Status and body for a key, a path (with a method before it) and what is asked."""


def poisoned(ask: Ask, attacker: str, other: str) -> str:
    """50 requests that the upstream answers with 500, each with one of another caller behind it."""
    statuses = [
        (ask(attacker, "chat/completions", _POISON)[0], ask(other, "chat/completions", "hi")[0]) for _ in range(50)
    ]
    served = sum(status == 200 for _, status in statuses)
    own = sorted({each for each, _ in statuses})
    return f"50 poisoned prompts: the caller gets {own}, another's {served} of 50 are answered"


def evicted(ask: Ask, attacker: str, other: str) -> str:
    """Six answers of 14.5 MB, stored, and whether another's stored answer is still there."""
    before = [ask(other, "responses", "hi")[1]["id"] for _ in range(20)]
    began = time.monotonic()
    large = [ask(attacker, "responses", _WANTS_LONG)[1].get("id", "") for _ in range(6)]
    took_s = time.monotonic() - began
    kept = sum(ask(other, f"responses/{each}", "")[0] == 200 for each in before)
    own = sum(ask(attacker, f"responses/{each}", "")[0] == 200 for each in large if each)
    return f"six stored answers of 14.5 MB in {took_s:.1f} s: {kept} of 20 of another's are kept, {own} of its own"


def main() -> None:
    """Print both."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with gateway_serving(folder, _settings(server.server_port), "chat responses") as (_, port, key):
            second = _second_key(folder)

            def ask(who: str, path: str, said: str) -> tuple[int, dict[str, Any]]:
                return _asked(f"http://127.0.0.1:{port}/v1/{path}", who, said)

            time.sleep(2)  # the second key is read
            print(poisoned(ask, key, second), flush=True)
            print(evicted(ask, key, second), flush=True)


def _asked(url: str, key: str, said: str) -> tuple[int, dict[str, Any]]:
    async def asked() -> tuple[int, dict[str, Any]]:
        body = {"model": "M", "messages": [{"role": "user", "content": said}], "input": said}
        body.pop("messages" if "responses" in url else "input")
        headers = {"Authorization": f"Bearer {key}"}
        async with (
            aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=120)) as session,
            session.request("POST" if said else "GET", url, json=body if said else None) as answer,
        ):
            return answer.status, await answer.json()

    return asyncio.run(asked())


if __name__ == "__main__":
    main()
