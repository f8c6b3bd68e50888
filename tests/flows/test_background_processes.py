"""Background responses through real processes: a reload, other workers, a stop and a crash."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.asking import posting, send
from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import start_process, upstream_toml
from tests.support.upstream import Held, Upstream

pytestmark = pytest.mark.slow

LIMIT_S = 40


async def call(gateway: GatewayProcess, method: str, path: str, body: Any = None) -> Any:
    return (await send(gateway, path, body, method=method))[1]


async def begin(gateway: GatewayProcess, held: Held, **more: Any) -> str:
    """The id of a run that has begun."""
    body = {"model": "SvcLLM", "input": "hello", "background": True, **more}
    response = await call(gateway, "POST", "/v1/responses", body)
    await asyncio.wait_for(held.begun.wait(), LIMIT_S)
    assert response["status"] == "queued"
    return str(response["id"])


async def status_of(gateway: GatewayProcess, response_id: str, *wanted: str) -> Any:
    async with asyncio.timeout(LIMIT_S):
        while True:
            response = await call(gateway, "GET", f"/v1/responses/{response_id}")
            if response["status"] in wanted:
                return response
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_run_outlives_a_reload_and_two_more_end_it(tmp_path: Path, upstream: Upstream, workers: int) -> None:
    held = Held()
    upstream.will(held)
    toml = f"workers = {workers}\ndrain_s = 1\n" + upstream_toml(upstream.url)
    async with start_process(tmp_path, toml) as gateway:
        first = await begin(gateway, held)
        gateway.send(signal.SIGHUP)
        await gateway.wait_for_event("reloaded")
        assert (await status_of(gateway, first, "in_progress"))["output"] == []
        held.go_on.set()
        assert (await status_of(gateway, first, "completed"))["output"][0]["content"][0]["text"] == "begin end"
        held.go_on.clear()
        others = []
        for number in range(2, 5):  # each generation has a run
            others.append(await begin(gateway, held))
            gateway.send(signal.SIGHUP)
            await gateway.wait_for_event("reloaded", number)
        failed = await status_of(gateway, others[0], "failed")
        assert failed["error"]["code"] == "server_stopped"
        for each in others[1:]:
            assert await status_of(gateway, each, "in_progress")
        held.go_on.set()


async def test_any_worker_shows_follows_and_cancels_a_run(tmp_path: Path, upstream: Upstream) -> None:
    held = Held()
    upstream.will(held)
    async with start_process(tmp_path, "workers = 2\n" + upstream_toml(upstream.url)) as gateway:
        body = {"model": "SvcLLM", "input": "hello", "background": True, "stream": True}
        async with posting(gateway, "/v1/responses", body) as answer:
            line = await answer.content.readline()
            response_id = (await answer.content.readline()).decode().split('"id":"')[1].split('"')[0]
            assert line == b"event: response.created\n"
        await asyncio.wait_for(held.begun.wait(), LIMIT_S)
        path = f"/v1/responses/{response_id}?stream=true"
        following = [asyncio.create_task(call(gateway, "GET", path)) for _ in range(6)]
        for _ in range(6):
            await status_of(gateway, response_id, "in_progress")
        for _ in range(6):
            assert (await call(gateway, "POST", f"/v1/responses/{response_id}/cancel"))["status"] == "cancelled"
        for events in await asyncio.gather(*following):
            assert [event["type"] for event in events].count("response.output_text.delta") == 1
            assert events[-1]["response"]["status"] == "cancelled"


async def test_after_a_crash_a_run_is_told_failed(tmp_path: Path, upstream: Upstream) -> None:
    held = Held()
    upstream.will(held)
    async with start_process(tmp_path, upstream_toml(upstream.url)) as gateway:
        response_id = await begin(gateway, held)
        os.kill(gateway.process.pid, signal.SIGKILL)
        await gateway.wait_exit()
        gateway.start()
        await gateway.wait_for_text("The gateway answers on")
        failed = await status_of(gateway, response_id, "failed")
        assert failed["error"]["code"] == "server_stopped" and failed["background"] is True
