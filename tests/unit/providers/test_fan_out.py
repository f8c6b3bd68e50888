"""Several answers asked for one by one: indexes, token counts, faults, and clients that leave."""

import asyncio

import orjson
import pytest

from gateway.config.settings import Upstream as UpstreamConfig
from gateway.domain import RequestStats
from gateway.errors import UpstreamError
from gateway.providers.openai_compat import OpenAICompatUpstream
from gateway.providers.wrappers import FanOutUpstream
from tests.support import upstream as up
from tests.support.upstream import Upstream

ASK = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "n": 3, "seed": 7}


async def said(upstream: Upstream) -> list[bytes]:
    reached = OpenAICompatUpstream("up", UpstreamConfig(upstream.url, "m"))
    try:
        async with asyncio.timeout(5):
            return [data async for batch in FanOutUpstream(reached).stream(ASK, RequestStats()) for data in batch]
    finally:
        await reached.close()


async def test_each_answer_is_asked_for_alone_and_the_counts_add_up(upstream: Upstream) -> None:
    upstream.will(up.answer())
    reached, account = OpenAICompatUpstream("up", UpstreamConfig(upstream.url, "m")), RequestStats()
    answer = await FanOutUpstream(reached).complete(ASK, account)
    await reached.close()
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2]
    assert answer["usage"]["prompt_tokens"] == 3 and answer["usage"]["completion_tokens"] == 6
    assert sorted(seen.body["seed"] for seen in upstream.seen) == [7, 8, 9]
    assert all("n" not in seen.body for seen in upstream.seen) and account.upstream_s > 0


async def test_a_stream_carries_all_answers_one_usage_and_one_end(upstream: Upstream) -> None:
    upstream.will(up.stream(*up.text_stream(["a", "b"])))
    data = await said(upstream)
    chunks = [orjson.loads(each) for each in data if each != b"[DONE]"]
    texts = {0: "", 1: "", 2: ""}
    for chunk in chunks:
        for choice in chunk["choices"]:
            texts[choice["index"]] += choice["delta"].get("content") or ""
    assert texts == {0: "ab", 1: "ab", 2: "ab"}
    assert [chunk["usage"]["completion_tokens"] for chunk in chunks if chunk.get("usage")] == [6]
    assert data[-1] == b"[DONE]" and data.count(b"[DONE]") == 1


async def test_one_that_fails_ends_the_stream_and_lets_the_others_go(upstream: Upstream) -> None:
    upstream.will(up.silent(upstream, up.chunk({"content": "a"})), up.answer(status=500))
    with pytest.raises(UpstreamError):
        await said(upstream)
    async with asyncio.timeout(2):
        await upstream.released.wait()


async def test_one_that_fails_fails_the_whole_answer(upstream: Upstream) -> None:
    upstream.will(up.answer(), up.answer(status=500))
    reached = OpenAICompatUpstream("up", UpstreamConfig(upstream.url, "m"))
    with pytest.raises(UpstreamError):
        await FanOutUpstream(reached).complete(ASK, RequestStats())
    await reached.close()
