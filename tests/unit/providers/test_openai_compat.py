"""An upstream of the OpenAI interface: compressed answers, bodies of any size, several answers asked for one by one."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from gateway.config.settings import Upstream as UpstreamConfig
from gateway.domain import RequestStats
from gateway.errors import UpstreamError
from gateway.providers.openai_compat import OpenAICompatUpstream
from gateway.providers.wrappers import FanOutUpstream
from tests.support import upstream as up
from tests.support.upstream import Upstream

ASK = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
SEVERAL = {**ASK, "n": 3, "seed": 7}
PLAIN = orjson.dumps(up.completion())


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


@asynccontextmanager
async def reached(upstream: Upstream) -> AsyncIterator[OpenAICompatUpstream]:
    client = OpenAICompatUpstream("up", UpstreamConfig(upstream.url, "m"))
    try:
        async with asyncio.timeout(10):
            yield client
    finally:
        await client.close()


async def complete(upstream: Upstream) -> Any:
    async with reached(upstream) as client:
        return await client.complete(ASK, RequestStats())


WHOLE, CUT = gzip.compress(PLAIN, mtime=0), gzip.compress(PLAIN[:40], mtime=0) + gzip.compress(PLAIN[40:], mtime=0)
COMPRESSED = [("gzip", WHOLE), ("gzip", CUT), ("x-gzip", WHOLE), ("deflate", zlib.compress(PLAIN))]
COMPRESSED.append(("deflate", raw_deflate(PLAIN)))


@pytest.mark.parametrize(("coding", "body"), COMPRESSED)
async def test_a_compressed_answer_is_read_whole(upstream: Upstream, coding: str, body: bytes) -> None:
    upstream.will(up.answer(body, Content_Encoding=coding))
    assert await complete(upstream) == up.completion()


UNREADABLE = [
    (gzip.compress(PLAIN, mtime=0)[:-12], "broke off"),
    (gzip.compress(PLAIN, mtime=0) + gzip.compress(b" " * 50, mtime=0)[:15], "broke off"),
    (b"plain", "not what its Content-Encoding says"),
    (gzip.compress(b"[" + b" " * 40_000_000), "too large"),
    (gzip.compress(b"", mtime=0) * 5_000, "not what its Content-Encoding says"),
]


@pytest.mark.parametrize(("body", "message"), UNREADABLE)
async def test_what_cannot_be_read_is_the_upstreams_fault(upstream: Upstream, body: bytes, message: str) -> None:
    upstream.will(up.answer(body, Content_Encoding="gzip"))
    with pytest.raises(UpstreamError, match=message):
        await complete(upstream)


async def test_a_stream_of_two_members_is_read_whole(upstream: Upstream) -> None:
    events = b"".join(up.text_stream(["a", "b"]))
    body = gzip.compress(events[:100]) + gzip.compress(events[100:])
    upstream.will(up.answer(body, kind="text/event-stream", Content_Encoding="gzip"))
    async with reached(upstream) as client:
        data = [each async for batch in client.stream(ASK, RequestStats()) for each in batch]
    assert data[-1] == b"[DONE]" and b"".join(data).count(b'"content"') == events.count(b'"content"')


@pytest.mark.parametrize("size", [1_000, (1 << 20) - 100, 1 << 20, 3_500_000])
async def test_a_body_of_any_size_arrives_whole(upstream: Upstream, size: int) -> None:
    """And without a warning of the HTTP library: warnings are errors here."""
    upstream.will(up.answer(up.completion()))
    text = "0123456789" * (size // 10)
    async with reached(upstream) as client:
        await client.complete({"model": "m", "messages": [{"role": "user", "content": text}]}, RequestStats())
    assert upstream.last.body["messages"][0]["content"] == text and upstream.last.headers["content-length"].isdigit()


async def said(upstream: Upstream) -> list[bytes]:
    async with reached(upstream) as client:
        return [data async for batch in FanOutUpstream(client).stream(SEVERAL, RequestStats()) for data in batch]


async def test_each_answer_is_asked_for_alone_and_the_counts_add_up(upstream: Upstream) -> None:
    upstream.will(up.answer())
    account = RequestStats()
    async with reached(upstream) as client:
        answer = await FanOutUpstream(client).complete(SEVERAL, account)
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
    async with reached(upstream) as client:
        with pytest.raises(UpstreamError):
            await FanOutUpstream(client).complete(SEVERAL, RequestStats())
