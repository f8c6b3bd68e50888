"""Bodies of any size reach the upstream whole, without a warning of the HTTP library (warnings are errors here)."""

import asyncio

import pytest

from gateway.config.settings import Upstream as UpstreamConfig
from gateway.domain import RequestStats
from gateway.providers.openai_compat import OpenAICompatUpstream
from tests.support import upstream as up
from tests.support.upstream import Upstream


@pytest.mark.parametrize("size", [1_000, (1 << 20) - 100, 1 << 20, 3_500_000])
async def test_a_body_of_any_size_arrives_whole(upstream: Upstream, size: int) -> None:
    upstream.will(up.answer(up.completion()))
    text = "0123456789" * (size // 10)
    client = OpenAICompatUpstream("up", UpstreamConfig(upstream.url, "m"))
    try:
        async with asyncio.timeout(10):
            await client.complete({"model": "m", "messages": [{"role": "user", "content": text}]}, RequestStats())
    finally:
        await client.close()
    assert upstream.last.body["messages"][0]["content"] == text and upstream.last.headers["content-length"].isdigit()
