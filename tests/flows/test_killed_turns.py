"""A turn that a client has seen completed outlives `kill -9` of its process, over SQLite and over Redis."""

import contextlib
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from tests.support import upstream as up
from tests.support.asking import posting
from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import start_process, upstream_toml
from tests.support.redis_server import running_redis
from tests.support.upstream import Upstream

pytestmark = [pytest.mark.slow, pytest.mark.system]


async def completed_then_killed(gateway: GatewayProcess, **body: Any) -> str:
    """The id of a streamed response; its process is killed as soon as the event of its end is read."""
    async with posting(gateway, "/v1/responses", {"model": "SvcLLM", "stream": True, **body}) as answer:
        with contextlib.suppress(aiohttp.ClientError):
            async for line in answer.content:
                if line.startswith(b"data: ") and b'"type":"response.completed"' in line:
                    os.kill(gateway.process.pid, signal.SIGKILL)
                    return str(orjson.loads(line.removeprefix(b"data: "))["response"]["id"])
    raise AssertionError("the response did not complete")


def forget_state(folder: Path) -> None:
    for path in folder.rglob("state.sqlite*"):
        path.unlink()


async def started_again(gateway: GatewayProcess) -> None:
    await gateway.wait_exit()
    gateway.start()
    await gateway.wait_for_text("The gateway answers on")


@asynccontextmanager
async def no_redis(folder: Path) -> AsyncIterator[None]:
    yield None


@pytest.mark.parametrize("has_redis", [False, True], ids=["sqlite", "redis"])
async def test_a_turn_that_was_seen_completed_goes_on_after_its_process_was_killed(
    tmp_path: Path, upstream: Upstream, has_redis: bool
) -> None:
    if has_redis and shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    async with (running_redis if has_redis else no_redis)(tmp_path) as redis:
        shared = '[shared]\nredis_url = { credential = "redis" }\n' if redis is not None else ""
        variables = {"GATEWAY_CREDENTIAL_REDIS": redis.url} if redis is not None else {}
        async with start_process(tmp_path, shared + upstream_toml(upstream.url), variables=variables) as gateway:
            async with posting(gateway, "/v1/conversations", {}) as answer:
                talk = (await answer.json())["id"]
            response_id = ""
            for turn in range(4):
                said = f"answer {turn}"
                upstream.will(up.stream(*up.text_stream([said])))
                asked = {"conversation": talk} if turn % 2 else {"previous_response_id": response_id or None}
                response_id = await completed_then_killed(gateway, input=f"question {turn}", **asked)
                if redis is not None:  # nothing is left but Redis
                    forget_state(tmp_path)
                await started_again(gateway)
                upstream.will(up.answer(up.completion("done")))
                following = {"conversation": talk} if turn % 2 else {"previous_response_id": response_id}
                body = {"model": "SvcLLM", "input": "and then?", "store": False, **following}
                async with posting(gateway, "/v1/responses", body) as answer:
                    assert answer.status == 200, await answer.text()
                shown = str(upstream.last.body["messages"])
                assert f"question {turn}" in shown and said in shown
