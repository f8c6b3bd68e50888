"""`gateway serve` in the tests' own process, by hand: it serves until it is told to stop."""

import asyncio
import gc
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gateway.cli.main import main
from tests.support import upstream as up
from tests.support.gateway_process import run_command
from tests.support.gateways import upstream_toml
from tests.support.ports import free_port
from tests.support.upstream import Upstream

OFF = "[local_llm]\nenabled = false\n[local_ocr]\nenabled = false\n[ops]\nport = 0\n"


@pytest.fixture(autouse=True)
def _collections_as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


START_S = 60
"""Longest start on a machine with ten times more to do than it has cores."""


def stop_when_it_answers(port: int) -> None:
    """Send this process SIGTERM as soon as the port answers, for then its signal handlers are there, or after START_S:
    whatever happens here, the server must be told to stop, or the test never ends."""
    end = time.monotonic() + START_S
    try:
        while time.monotonic() < end and not answers(port, end - time.monotonic()):
            time.sleep(0.02)  # the start needs this thread's share of the interpreter
    finally:
        os.kill(os.getpid(), signal.SIGTERM)


def answers(port: int, limit_s: float) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), limit_s) as sock:
        sock.sendall(b"GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        return sock.recv(64) != b""
    return False


def test_it_serves_and_welcomes_until_sigterm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    (tmp_path / "gateway.toml").write_text(f"{OFF}[server]\nport = {port}\n")
    stopper = threading.Thread(target=stop_when_it_answers, args=(port,))
    stopper.start()
    try:
        assert main(["serve", "--config", str(tmp_path / "gateway.toml"), "--state-dir", str(tmp_path / "state")]) == 0
    finally:
        stopper.join(START_S)
    said = capsys.readouterr()
    assert f"The gateway answers on http://127.0.0.1:{port}" in said.err
    assert (tmp_path / "state" / "dev-key").exists()
    assert " chat " not in said.err, "no model answers text"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--upstream", "localhost:8000/v1"], 2, "must begin with http:// or https://, such as http://local"),
        (["--upstream", "http://a/v1/chat/completions/"], 2, "the root of its API, http://a/v1 without /chat"),
        (["--upstream", "http://u:p@a/v1", "--upstream-model", "m"], 78, "base_url: must match"),
        (["--upstream", "http://127.0.0.1:1/v1"], 1, "does not tell which models it has (refused); correct it"),
        (["--upstream", "URL"], 1, "has 2 models; name one with --upstream-model: one, two"),
        (["--upstream", "URL/v2"], 1, "(status 404); correct it (most end in /v1)"),
        (["--upstream-model", "m"], 1, "--upstream URL, which is missing"),
        (
            ["--config", "FILE", "--upstream", "URL", "--upstream-model", "m"],
            78,
            "SvcLLM is here and named by --upstream",
        ),
    ],
)
async def test_an_upstream_that_cannot_be_served_is_told_with_what_to_write(
    tmp_path: Path, upstream: Upstream, options: list[str], code: int, said: str
) -> None:
    missing = up.answer({"error": {"message": "no such path"}}, status=404)
    upstream.will(missing if "URL/v2" in options else up.answer({"data": [{"id": "one"}, {"id": "two"}]}))
    file = tmp_path / "gateway.toml"
    own = upstream_toml(upstream.url).replace('"SvcLLM"', '"My"\naliases = ["SvcLLM"]')
    file.write_text(OFF + own)
    words = [each.replace("URL", upstream.url).replace("FILE", str(file)) for each in options]
    done = await asyncio.to_thread(run_command, "serve", *words, "--state-dir", str(tmp_path / "state"))
    assert done.returncode == code and said in done.stderr, done.stderr
