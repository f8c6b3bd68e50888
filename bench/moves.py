"""How far a request travels through the code: files entered, moves between them, and calls of one warm request.

`python -m bench.moves [--tree NAME=FOLDER ...]`. A move is a call or return from one file of `gateway/` to another. It
runs in a process of its own, which counts between two signals (`_HOOK`); each case is asked ten times before. The
cases of 10 and of 100 deltas, which come one by one, tell together what a further delta costs.
"""

import http.client
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from bench.served import HERE, compared_trees, gateway_serving, one_model, running
from gateway.embedded.child_server import free_port

_HOOK = """
import json, os, signal, sys
_PLACE = os.sep + "gateway" + os.sep
_counts = {}

def _seen(frame, event, argument):
    if event not in ("call", "return"):
        return
    file = frame.f_code.co_filename if event == "call" else (frame.f_back.f_code.co_filename if frame.f_back else "")
    if event == "call":
        _counts["all_calls"] += 1
    if _PLACE not in file:
        return
    if event == "call":
        _counts["calls"] += 1
        _counts["files"].add(file)
    if file != _counts["last"]:
        _counts["moves"] += 1
        _counts["last"] = file

def _toggle(number, frame):
    if _counts:
        sys.setprofile(None)
        path = os.environ["GATEWAY_MOVES"]
        with open(path + ".new", "w") as out:
            json.dump({**_counts, "files": len(_counts["files"]), "last": ""}, out)
        os.rename(path + ".new", path)
        _counts.clear()
    else:
        _counts.update(all_calls=0, calls=0, moves=0, files=set(), last="")
        sys.setprofile(_seen)

if "serve" in sys.argv or "GATEWAY_MOVES" in os.environ:
    signal.signal(signal.SIGRTMIN + 3, _toggle)
"""
_CHAT = {"model": "SvcLLM", "messages": [{"role": "user", "content": "Say it in few words, please."}]}
_ASKED = {"model": "SvcLLM", "input": "Say it in few words, please.", "store": False}
_SEARCHING = {**_ASKED, "stream": True, "tools": [{"type": "web_search"}], "paced": True}
CASES: dict[str, tuple[str, Any]] = {
    "small chat": ("/v1/chat/completions", _CHAT),
    "streamed chat": ("/v1/chat/completions", {**_CHAT, "stream": True}),
    "responses": ("/v1/responses", _ASKED),
    "streamed responses": ("/v1/responses", {**_ASKED, "stream": True}),
    "web_search, 10 deltas": ("/v1/responses", {**_SEARCHING, "seed": 2}),
    "web_search, 100 deltas": ("/v1/responses", _SEARCHING),
}
FIGURES = ("files", "moves", "calls", "all_calls")
_WARM, _TIMES = 10, 5


@contextmanager
def counting(folder: Path, tree: str, upstream: str) -> Iterator[tuple[int, int, str, Path]]:
    """`(pid, port, key, where the counts are written)` of a gateway that counts."""
    (folder / "sitecustomize.py").write_text(_HOOK)
    result = folder / "moves.json"
    before = {name: os.environ.get(name) for name in ("PYTHONPATH", "GATEWAY_MOVES")}
    os.environ["GATEWAY_MOVES"] = str(result)
    try:
        os.environ["PYTHONPATH"] = str(folder)
        with gateway_serving(folder, one_model(upstream), "chat responses web-search", tree=tree) as (pid, port, key):
            yield pid, port, key, result
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def ask(port: int, key: str, path: str, body: Any) -> None:
    """One request, read to its end."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request("POST", path, orjson.dumps(body), headers)
    answer = connection.getresponse()
    answer.read()
    if answer.status != 200:
        raise SystemExit(f"{path} was answered {answer.status}")
    connection.close()


def counted(pid: int, result: Path, work: object, *arguments: object) -> dict[str, int]:
    """What one call of `work` has cost the gateway."""
    result.unlink(missing_ok=True)
    os.kill(pid, signal.SIGRTMIN + 3)
    time.sleep(0.05)
    work(*arguments)  # type: ignore[operator]
    time.sleep(0.1)  # the log line
    os.kill(pid, signal.SIGRTMIN + 3)
    end_s = time.monotonic() + 10
    while not result.exists():
        if time.monotonic() > end_s:
            raise SystemExit("the gateway has not told its counts")
        time.sleep(0.02)
    counts: dict[str, int] = json.loads(result.read_text())
    return counts


def main() -> None:
    """Print a line for each case and tree."""
    trees, port = compared_trees(__doc__), free_port()
    with running([sys.executable, "-m", "bench.upstream", str(port)], port, cwd=HERE):
        for name, tree in trees.items():
            with (
                tempfile.TemporaryDirectory() as folder,
                counting(Path(folder), tree, f"http://127.0.0.1:{port}/v1") as (pid, own_port, key, result),
            ):
                for case, (path, body) in CASES.items():
                    for _ in range(_WARM):
                        ask(own_port, key, path, body)
                    told = [counted(pid, result, ask, own_port, key, path, body) for _ in range(_TIMES)]
                    least = min(
                        told, key=lambda each: each["calls"]
                    )  # what runs by the clock may fall into any of them
                    print(f"{name:12} {case:22}", *(f"{what} {least[what]:6}" for what in FIGURES))


if __name__ == "__main__":
    main()
