"""A revoked key: refused at the next look, its running stream ended with an error, its upstream let go."""

import asyncio

import aiohttp

from gateway.access.keys import KeyFile, KeyRequest
from tests.support.asking import ASK
from tests.support.gateways import InProcessGateway
from tests.support.upstream import Exchange, Upstream

CHUNK = (
    b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}\n\n'
)


async def test_a_running_stream_ends_with_an_error_when_its_key_is_revoked(
    server: InProcessGateway, upstream: Upstream
) -> None:
    async def endless(exchange: Exchange) -> None:
        await exchange.stream_head()
        for _ in range(400):
            await exchange.piece(CHUNK)
            await asyncio.sleep(0.05)

    upstream.will(endless)
    keys = KeyFile(server.config.state_dir / server.config.access.keys_file)
    key, record = keys.create(KeyRequest("robot", ("chat",)))
    url, headers = f"{server.url}/v1/chat/completions", {"Authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        async with session.post(url, json={**ASK, "stream": True}) as answer:
            assert answer.status == 200
            assert await answer.content.readany()
            await asyncio.to_thread(keys.revoke, record.id)
            async with asyncio.timeout(5):
                rest = await answer.read()
        async with session.post(url, json=ASK) as refused:
            assert refused.status == 401
    assert b'"error"' in rest
    assert b"revoked" in rest
    assert b"[DONE]" not in rest
    assert len(server.in_flight) == 0
