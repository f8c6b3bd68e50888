"""The gateway on a machine that misbehaves: nothing can be written, parse processes are killed."""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.asking import call_tool
from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import start_process
from tests.support.paths import ROOT
from tests.support.read_only_state import NOT_PERMITTED
from tests.support.waiting import until
from tests.support.websites import Site, page, serving

pytestmark = pytest.mark.slow
LIMIT_S = 60
TEXT = "A page with some words that are long enough to be read as its text. " * 5


def test_a_state_directory_that_cannot_be_written_costs_what_would_be_stored_and_nothing_else() -> None:
    command = [sys.executable, "-m", "tests.support.read_only_state"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode == NOT_PERMITTED:
        pytest.skip("this machine permits no mount namespaces")
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]


def parse_processes(gateway: GatewayProcess) -> list[int]:
    children = Path(f"/proc/{gateway.process.pid}/task/{gateway.process.pid}/children").read_text().split()
    found = []
    for pid in children:
        with suppress(FileNotFoundError):
            if b"parse_worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(int(pid))
    return found


async def extracted(gateway: GatewayProcess, url: str) -> dict[str, Any]:
    data: dict[str, Any] = (await call_tool(gateway, "extract", {"urls": [url], "extract_depth": "advanced"}))[1]
    return data


async def killed_while_reading(gateway: GatewayProcess, site: Site, path: str, wait_s: float) -> dict[str, Any]:
    """What is told of a page whose parse process is killed; on a busy machine it may get the page after `wait_s`."""
    processes = parse_processes(gateway)
    assert processes
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)  # whatever page one of them gets, it stays in the middle of it
    reading = asyncio.create_task(extracted(gateway, site.url + path))
    await until(partial(site.asked.__contains__, path), LIMIT_S)
    await asyncio.wait({reading}, timeout=wait_s)
    for pid in processes:
        os.kill(pid, signal.SIGKILL)
    return await reading


async def test_a_parse_process_that_is_killed_in_the_middle_of_a_page_costs_that_page_alone(tmp_path: Path) -> None:
    site = Site({f"/{number}": page(f"Page {number}", TEXT) for number in range(12)})
    async with serving(site), start_process(tmp_path, f"[web]\nallow_private = ['{site.address}']\n") as gateway:
        killed = 0
        for number in range(0, 12, 2):
            assert len((await extracted(gateway, f"{site.url}/{number}"))["results"]) == 1
            data = await killed_while_reading(gateway, site, f"/{number + 1}", 0.5 * 2 ** (number // 2 - killed))
            assert len(data["results"]) + len(data["failed_results"]) == 1
            killed += len(data["failed_results"])
            if killed == 3:
                break
        assert killed == 3
        assert len((await extracted(gateway, f"{site.url}/0"))["results"]) == 1
        assert not gateway.events("unexpected")
