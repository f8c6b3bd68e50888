"""The real `gateway serve` process for tests: free ports, its own state directory, ended with the test."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway.embedded.child_server import free_port
from gateway.embedded.llm_server import is_installed

START_S = 120.0
STOP_S = 60.0
ANSWER_S = 120.0
NEEDS_MODEL = [
    pytest.mark.slow,
    pytest.mark.skipif(not is_installed(), reason="the llm extra is not installed"),
]
"""Marks of tests whose server has the embedded language model."""


@dataclass(frozen=True, slots=True)
class ServeProcess:
    url: str
    ops_url: str
    state_dir: Path
    process: subprocess.Popen[bytes]
    output: Path

    @property
    def key(self) -> str:
        """The key the first start made: every scope."""
        return (self.state_dir / "dev-key").read_text().strip()

    def printed(self) -> str:
        return self.output.read_text(errors="replace")

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Another `gateway` command beside the running server, on the same state directory."""
        return gateway(*arguments, "--state-dir", str(self.state_dir))

    def children(self) -> dict[str, int]:
        """Pids of the embedded servers by name."""
        found = {}
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[1]
                arguments = (folder / "cmdline").read_bytes().decode(errors="replace")
            except (FileNotFoundError, ProcessLookupError):
                continue
            name = re.search(r"\0(\w+)-server\0", arguments)
            if name and int(parent) == self.process.pid:
                found[name[1]] = int(folder.name)
        return found


def gateway(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A `gateway` command, to its end."""
    command = [sys.executable, "-m", "gateway", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@contextmanager
def gateway_serving(folder: Path, toml: str = "", options: Sequence[str] = ()) -> Iterator[ServeProcess]:
    """A started gateway that has said it is ready. `toml` must not hold the tables server and ops."""
    port, ops_port = free_port(), free_port()
    config, state_dir, output = folder / "gateway.toml", folder / "state", folder / "output"
    config.write_text(f"[server]\nport = {port}\n[ops]\nport = {ops_port}\n{toml}")
    command = [sys.executable, "-m", "gateway", "serve", "--config", config, "--state-dir", state_dir, *options]
    with output.open("wb") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    serving = ServeProcess(f"http://127.0.0.1:{port}", f"http://127.0.0.1:{ops_port}", state_dir, process, output)
    try:
        _wait_announced(serving)
        yield serving
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        finally:
            process.kill()
            process.wait()


def _wait_announced(serving: ServeProcess) -> None:
    end = time.monotonic() + START_S
    while "The gateway answers on" not in serving.printed():
        assert serving.process.poll() is None, f"the gateway ended at its start:\n{serving.printed()}"
        assert time.monotonic() < end, f"the gateway was not ready in {START_S:g} s:\n{serving.printed()}"
        time.sleep(0.05)
