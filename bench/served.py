"""Servers that are measured: started as processes on the first core, asked when they answer, ended with the block."""

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gateway.embedded.child_server import free_port

HERE = str(Path(__file__).resolve().parent.parent)


def compared_trees(about: str | None) -> dict[str, str]:
    """`{name: folder}` of this tree and of those that the command line names with `--tree NAME=FOLDER`."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--tree", action="append", default=[], metavar="NAME=FOLDER")
    return {"this tree": HERE} | dict(each.split("=", 1) for each in parser.parse_args().tree)


def one_model(upstream: str) -> str:
    """Settings of a gateway whose text model is at one upstream, `http://HOST:PORT/v1`, without the guardrail."""
    return (
        '[guardrail]\nenabled = "off"\n[[models]]\nname = "SvcLLM"\n[[models.upstreams]]\n'
        f'base_url = "{upstream}"\nmodel = "upstream-model"\n'
    )


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"{process.args!r} ended with {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise SystemExit(f"nothing answers on port {port}")


@contextlib.contextmanager
def running(command: list[str], port: int, cores: Iterable[int] = frozenset((0,)), **options: object) -> Iterator[int]:
    """A server process on `cores`, the first, from its first answer to the end of the block. Yields its pid."""
    process = subprocess.Popen(command, **options)  # type: ignore[call-overload]
    try:
        os.sched_setaffinity(process.pid, cores)
        wait_for(port, process)
        yield process.pid
    finally:
        process.terminate()
        process.wait(30)


@contextlib.contextmanager
def gateway_serving(
    folder: Path, settings: str, scope: str, credentials: dict[str, str] | None = None, tree: str = ""
) -> Iterator[tuple[int, int, str]]:
    """`(pid, port, key)` of `gateway serve` with `settings` and no embedded server, its files and log in `folder`.

    `scope`: the key's scopes, with blanks between.
    `tree`: the folder of another version of the package, which is served instead.
    `credentials`: what `{ credential = "NAME" }` in the settings stands for.
    """
    port = free_port()
    config = folder / "gateway.toml"
    own = f"[server]\nport = {port}\n[ops]\nport = 0\n[local_llm]\nenabled = false\n[local_ocr]\nenabled = false\n"
    config.write_text(own + settings)
    state = ["--state-dir", str(folder / "state")]
    create = [sys.executable, "-m", "gateway", "keys", "create", "--name", "bench", *state]
    create += [part for each in scope.split() for part in ("--scope", each)]
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), tree)))
    env = {**os.environ, **({"PYTHONPATH": path} if path else {})}
    place: dict[str, Any] = {"cwd": tree or None}
    made = subprocess.run(create, capture_output=True, text=True, check=True, env=env, **place)
    key = made.stdout.strip()
    serve = [sys.executable, "-m", "gateway", "serve", "--config", str(config), *state]
    named = {f"GATEWAY_CREDENTIAL_{name.upper()}": value for name, value in (credentials or {}).items()}
    with (
        (folder / "gateway.log").open("wb") as log,
        running(serve, port, stdout=log, stderr=log, env={**env, **named}, **place) as pid,
    ):
        yield pid, port, key
