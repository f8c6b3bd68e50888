"""Answers that an upstream compresses though it was not asked to: every coding, several members, damage, bombs."""

import asyncio
import gzip
import zlib
from typing import Any

import orjson
import pytest

from gateway.config.settings import Upstream as UpstreamConfig
from gateway.domain import RequestStats
from gateway.errors import UpstreamError
from gateway.providers.openai_compat import OpenAICompatUpstream
from tests.support import upstream as up
from tests.support.upstream import Upstream

ASK = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
PLAIN = orjson.dumps(up.completion())


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


async def complete(upstream: Upstream) -> Any:
    client = OpenAICompatUpstream("up", UpstreamConfig(upstream.url, "m"))
    try:
        async with asyncio.timeout(5):
            return await client.complete(ASK, RequestStats())
    finally:
        await client.close()


COMPRESSED = [
    ("gzip", gzip.compress(PLAIN, mtime=0)),
    ("gzip", gzip.compress(PLAIN[:40], mtime=0) + gzip.compress(PLAIN[40:], mtime=0)),
    ("x-gzip", gzip.compress(PLAIN, mtime=0)),
    ("deflate", zlib.compress(PLAIN)),
    ("deflate", raw_deflate(PLAIN)),
]


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
    client = OpenAICompatUpstream("up", UpstreamConfig(upstream.url, "m"))
    async with asyncio.timeout(5):
        data = [each async for batch in client.stream(ASK, RequestStats()) for each in batch]
    await client.close()
    assert data[-1] == b"[DONE]" and b"".join(data).count(b'"content"') == events.count(b'"content"')
