"""Pages of the items of a response, and the list of models, over sockets."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from gateway.domain import Json
from tests.support.gateways import Gateway, Serve
from tests.support.upstream import Upstream, answer, completion

EMBEDDING = '[[models]]\nname = "Vectors"\nkind = "embedding"\n[[models.upstreams]]\nbase_url = "{}"\nmodel = "v"\n'


@pytest.fixture
async def session(serve: Serve, upstream: Upstream) -> AsyncIterator[aiohttp.ClientSession]:
    text = f'[[models]]\nname = "SvcLLM"\n[[models.upstreams]]\nbase_url = "{upstream.url}"\nmodel = "scripted"\n'
    gateway: Gateway = await serve(text + EMBEDDING.format(upstream.url))
    async with aiohttp.ClientSession(gateway.url, headers=gateway.headers) as session:
        yield session


async def sent(session: aiohttp.ClientSession, path: str, body: Json) -> tuple[int, Any]:
    async with session.post(path, json={"model": "SvcLLM", **body}) as reply:
        return reply.status, await reply.json()


async def got(session: aiohttp.ClientSession, path: str, method: str = "GET") -> tuple[int, Any]:
    async with session.request(method, path) as reply:
        return reply.status, await reply.json()


async def test_the_items_of_a_response_come_in_pages(session: aiohttp.ClientSession, upstream: Upstream) -> None:
    upstream.will(answer(completion("Paris.")))
    items = [{"role": "user", "content": f"question {number}"} for number in range(3)]
    _, made = await sent(session, "/v1/responses", {"input": items})
    path = f"/v1/responses/{made['id']}/input_items"
    _, page = await got(session, f"{path}?limit=2&order=asc")
    assert [each["content"][0]["text"] for each in page["data"]] == ["question 0", "question 1"] and page["has_more"]
    _, rest = await got(session, f"{path}?order=asc&after={page['last_id']}")
    assert [each["content"][0]["text"] for each in rest["data"]] == ["question 2"] and not rest["has_more"]
    _, newest = await got(session, path)
    assert newest["first_id"] == rest["last_id"] and len(newest["data"]) == 3
    _, past = await got(session, f"{path}?after={newest['last_id']}")
    assert past["data"] == [] and past["first_id"] is None
    for query in ("limit=0", "limit=101", "limit=x", f"limit={'9' * 5_000}", "limit=²", "order=up", "after=none"):
        status, told = await got(session, f"{path}?{query}")
        assert (status, told["error"]["param"]) == (400, query.partition("=")[0]), query[:20]
    assert (await got(session, f"/v1/responses/{made['id']}?stream=true"))[0] == 400
