"""The life of `gateway serve`: ports, signals, drains, reloads, systemd. Through the real process."""

import asyncio
import queue
import signal
import socket
from pathlib import Path

import aiohttp
import pytest

from tests.flows.test_supervised import heard, notified
from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import start_process, upstream_toml
from tests.support.ports import free_port, is_listening
from tests.support.upstream import Held, Upstream, answer
from tests.support.waiting import until

__all__ = ["notified"]  # a fixture
pytestmark = pytest.mark.slow


async def running_stream(gateway: GatewayProcess, upstream: Upstream) -> tuple[Held, asyncio.Task[tuple[int, str]]]:
    held = Held()
    upstream.will(held)
    task = asyncio.create_task(gateway.chat(stream=True))
    await asyncio.wait_for(held.begun.wait(), 20)
    return held, task


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_stream_that_runs_is_finished_before_the_end(tmp_path: Path, upstream: Upstream, workers: int) -> None:
    async with start_process(tmp_path, f"workers = {workers}\n" + upstream_toml(upstream.url)) as gateway:
        script, task = await running_stream(gateway, upstream)
        gateway.send(signal.SIGTERM)
        await until(lambda: not is_listening(gateway.port), 10)
        status, text = await gateway.get("/readyz", ops=True)
        assert (status, "draining" in text) == (503, True)
        script.go_on.set()
        status, text = await task
        assert status == 200
        assert "end" in text
        assert text.rstrip().endswith("data: [DONE]")
        assert await gateway.wait_exit() == 0
        assert gateway.events("stopped")


async def test_a_terminate_in_the_middle_of_starting_ends_it_too(tmp_path: Path) -> None:
    gateway = GatewayProcess(tmp_path, free_port())
    gateway.write_config("workers = 2\n")
    async with gateway.begun():
        await until(lambda: is_listening(gateway.port), 20)
        gateway.send(signal.SIGTERM)
        assert await gateway.wait_exit() == 0


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_bad_file_at_reload_changes_nothing_and_a_good_one_takes_over(
    tmp_path: Path, upstream: Upstream, workers: int
) -> None:
    toml = f"workers = {workers}\n"
    async with start_process(tmp_path, toml + upstream_toml(upstream.url)) as gateway:
        script, task = await running_stream(gateway, upstream)
        gateway.write_config("max_in_flight = -1\n")
        gateway.send(signal.SIGHUP)
        refused = await gateway.wait_for_event("reload_refused")
        assert "server.max_in_flight" in refused["error"]
        upstream.will(answer())
        assert (await gateway.chat())[0] == 200
        gateway.write_config(toml + upstream_toml(upstream.url).replace("SvcLLM", "Renamed"))
        gateway.send(signal.SIGHUP)
        await gateway.wait_for_event("reloaded")
        await only_models(gateway, {"Renamed"})
        await gateway.wait_until_ready()
        script.go_on.set()  # begun under the old configuration, and finished under it
        _, text = await task
        assert text.rstrip().endswith("data: [DONE]")
        gateway.send(signal.SIGTERM)
        assert await gateway.wait_exit() == 0


async def only_models(gateway: GatewayProcess, names: set[str]) -> None:
    """Until ten connections in a row all see these models: the old workers let go of the port as they drain."""
    alike = 0
    async with asyncio.timeout(20):
        while alike < 10:
            try:
                async with asyncio.timeout(5):
                    status, text = await gateway.get("/v1/models")
            except TimeoutError:
                raise AssertionError("a connection stayed unanswered during a reload") from None
            except aiohttp.ClientError:
                raise AssertionError("a connection was refused or cut during a reload") from None
            assert status == 200
            alike = alike + 1 if all(f'"{name}"' in text for name in names) else 0


@pytest.mark.parametrize("workers", [1, 2])
async def test_no_request_is_lost_in_a_row_of_reloads(tmp_path: Path, upstream: Upstream, workers: int) -> None:
    """Two clients with a connection for each request, two that keep theirs alive."""
    upstream.will(answer())
    async with start_process(tmp_path, f"workers = {workers}\n" + upstream_toml(upstream.url)) as gateway:
        results: list[int] = []
        done = asyncio.Event()

        async def ask() -> None:
            while not done.is_set():
                results.append((await gateway.chat())[0])

        async def ask_on_and_on() -> None:
            body = {"model": "SvcLLM", "messages": [{"role": "user", "content": "hi"}]}
            async with aiohttp.ClientSession(headers=gateway.headers) as session:
                while not done.is_set():
                    async with session.post(gateway.url + "/v1/chat/completions", json=body) as reply:
                        results.append(reply.status)
                        await reply.read()

        clients = [asyncio.create_task(each()) for each in (ask, ask, ask_on_and_on, ask_on_and_on)]
        for count in range(1, 6):
            gateway.send(signal.SIGHUP)
            await gateway.wait_for_event("reloaded", count)
        done.set()
        await asyncio.gather(*clients)
        assert set(results) == {200}


@pytest.mark.parametrize("workers", [1, 2])
async def test_systemd_hears_of_readiness_life_and_the_end(
    tmp_path: Path, notified: queue.Queue[str], workers: int
) -> None:
    told = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "600000"}
    async with start_process(tmp_path, f"workers = {workers}\n", variables=told) as gateway:
        assert f"STATUS=serving on {gateway.url}" in await heard(notified, "READY=1")
        for _ in range(3):
            await heard(notified, "WATCHDOG=1")
        gateway.send(signal.SIGTERM)
        await heard(notified, "STOPPING=1")
        assert await gateway.wait_exit() == 0


async def test_a_socket_handed_over_by_systemd_is_served_and_outlives_the_process(tmp_path: Path) -> None:
    with socket.socket() as kept:
        kept.bind(("127.0.0.1", 0))
        kept.listen()
        gateway = GatewayProcess(tmp_path, kept.getsockname()[1])
        gateway.write_config("workers = 2\n")
        for _ in range(2):  # the second time after a restart
            async with gateway.begun(kept):
                await gateway.wait_for_event("ready")
                assert (await gateway.get("/v1/models"))[0] == 200
                gateway.send(signal.SIGTERM)
                assert await gateway.wait_exit() == 0
        _, writer = await asyncio.open_connection("127.0.0.1", gateway.port)  # waits in the queue, not refused
        writer.close()
