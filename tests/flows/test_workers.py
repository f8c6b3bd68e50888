"""Several workers: they share the port and the metrics, die alone, and are replaced. Through real processes."""

import asyncio
import os
import signal
from pathlib import Path

import aiohttp
import pytest
from yarl import URL

from gateway.embedded.llm_server import is_installed
from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import start_process, upstream_toml
from tests.support.ports import free_port
from tests.support.upstream import Gate, Upstream, answer
from tests.support.waiting import eventually, until

pytestmark = pytest.mark.slow


async def test_both_workers_answer_and_every_worker_shows_the_metrics_of_all(
    tmp_path: Path, upstream: Upstream
) -> None:
    script = Gate(answer())
    upstream.will(script)
    async with start_process(tmp_path, "workers = 2\n" + upstream_toml(upstream.url)) as gateway:
        assert len(gateway.workers()) == 2
        calls: list[asyncio.Task[tuple[int, str]]] = []
        while not all(connections_of(pid, upstream.url) for pid in gateway.workers()):
            assert len(calls) < 100, "one worker took everything"
            count = len(calls) + 5
            calls += [asyncio.create_task(gateway.chat()) for _ in range(5)]
            await until(lambda count=count: script.waiting == count, 20)  # type: ignore[misc]
        await until_metrics_show(gateway, f"\ngateway_in_flight {len(calls)}.0\n")
        for _ in range(6):  # whichever worker is asked
            assert f"\ngateway_in_flight {len(calls)}.0\n" in (await gateway.get("/metrics", ops=True))[1]
        script.go_on.set()
        assert {status for status, _ in await asyncio.gather(*calls)} == {200}
        line = f'gateway_requests_total{{endpoint="chat",status="2xx"}} {len(calls)}.0'
        await until_metrics_show(gateway, line)
        for _ in range(6):
            assert line in (await gateway.get("/metrics", ops=True))[1]


async def until_metrics_show(gateway: GatewayProcess, text: str) -> None:
    """Gauges are sampled four times a second."""
    await eventually(lambda: told(gateway, "/metrics", text), 5)


async def told(gateway: GatewayProcess, path: str, text: str) -> bool:
    """Whether a page of the operations listener has the text."""
    return text in (await gateway.get(path, ops=True))[1]


def connections_of(pid: int, url: str) -> int:
    """How many connections a process has to the host and port of `url`."""
    port = f"{URL(url).port:04X}"
    inodes = set()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes.add(os.readlink(fd))
        except FileNotFoundError:
            continue
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(1 for row in rows if row[2].endswith(f":{port}") and f"socket:[{row[9]}]" in inodes)


async def test_a_killed_worker_takes_only_its_own_requests_with_it_and_is_replaced(
    tmp_path: Path, upstream: Upstream
) -> None:
    script = Gate(answer())
    upstream.will(script)
    async with start_process(tmp_path, "workers = 2\n" + upstream_toml(upstream.url)) as gateway:
        calls = [asyncio.create_task(gateway.chat()) for _ in range(20)]
        await until(lambda: script.waiting == 20, 20)
        victim, other = gateway.workers()
        lost = connections_of(victim, upstream.url)
        os.kill(victim, signal.SIGKILL)
        await until(lambda: victim not in gateway.workers() and len(gateway.workers()) == 2, 5)
        assert other in gateway.workers()
        script.go_on.set()
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert sum(isinstance(result, aiohttp.ClientError) for result in results) == lost
        assert sum(result[0] == 200 for result in results if isinstance(result, tuple)) == 20 - lost
        assert (await gateway.wait_for_event("worker_ended"))["exit"] == "-9"
        upstream.will(answer())
        for _ in range(10):
            assert (await gateway.chat())[0] == 200
        await until_metrics_show(gateway, "\ngateway_in_flight 0.0\n")  # the dead worker's requests count no more


async def test_a_killed_parent_leaves_no_worker_behind(tmp_path: Path) -> None:
    async with start_process(tmp_path, "workers = 2\n") as gateway:
        pids = gateway.workers()
        gateway.send(signal.SIGKILL)
        await gateway.wait_exit()
        await until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in pids), 15)


async def test_the_whole_gateway_says_why_it_cannot_start(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("no certificate")
    for workers in (1, 2):
        gateway = GatewayProcess(tmp_path, 0)
        gateway.port = 0
        pem = tmp_path / "cert.pem"
        gateway.write_config(f'workers = {workers}\ntls = {{ cert = "{pem}", key = "{pem}" }}\n')
        async with gateway.begun():
            assert await gateway.wait_exit() == 78
        assert "gateway: " in gateway.printed()


async def test_the_workers_share_one_embedded_model_that_their_parent_keeps(tmp_path: Path) -> None:
    if not is_installed():
        pytest.skip("the [llm] extra is not installed")
    gateway = GatewayProcess(tmp_path, free_port())
    gateway.write_config("workers = 2\n[local_ocr]\nenabled = false\n[local_llm]\nthreads = 1\n", embedded=True)
    async with gateway.begun():
        await gateway.wait_for_event("ready")
        await gateway.wait_until_ready()
        for _ in range(4):
            status, text = await gateway.chat()
            assert status == 200, text
        assert len(gateway.events("child_ready")) == 1
        gateway.send(signal.SIGTERM)
        assert await gateway.wait_exit() == 0
