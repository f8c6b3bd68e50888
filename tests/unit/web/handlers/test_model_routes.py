"""The routes of models over sockets, before a scripted upstream: what each of them answers, stores and refuses."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import orjson
import pytest

from gateway.domain import Json
from tests.support.gateways import InProcessGateway, StartGateway
from tests.support.upstream import Upstream, answer, completion, stream, text_stream

CALL: Json = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
LOOK: Json = {"type": "function", "name": "look", "parameters": {"type": "object"}}
EMBEDDING = '[[models]]\nname = "Vectors"\nkind = "embedding"\n[[models.upstreams]]\nbase_url = "{}"\nmodel = "v"\n'


@pytest.fixture
async def session(start_gateway: StartGateway, upstream: Upstream) -> AsyncIterator[aiohttp.ClientSession]:
    text = f'[[models]]\nname = "SvcLLM"\n[[models.upstreams]]\nbase_url = "{upstream.url}"\nmodel = "scripted"\n'
    gateway: InProcessGateway = await start_gateway(text + EMBEDDING.format(upstream.url))
    async with aiohttp.ClientSession(gateway.url, headers=gateway.headers) as session:
        yield session


async def sent(session: aiohttp.ClientSession, path: str, body: Json) -> tuple[int, Any]:
    async with session.post(path, json={"model": "SvcLLM", **body}) as reply:
        return reply.status, await reply.json()


async def events(session: aiohttp.ClientSession, path: str, body: Json) -> list[Any]:
    async with session.post(path, json={"model": "SvcLLM", "stream": True, **body}) as reply:
        assert reply.status == 200 and reply.content_type == "text/event-stream"
        lines = (await reply.text()).splitlines()
    return [orjson.loads(line[6:]) for line in lines if line.startswith("data: {")]


async def got(session: aiohttp.ClientSession, path: str, method: str = "GET") -> tuple[int, Any]:
    async with session.request(method, path) as reply:
        return reply.status, await reply.json()


async def test_a_stored_response_is_read_listed_continued_and_deleted(
    session: aiohttp.ClientSession, upstream: Upstream
) -> None:
    upstream.will(answer(completion("Paris.")))
    _, first = await sent(session, "/v1/responses", {"input": "capital?"})
    path = f"/v1/responses/{first['id']}"
    assert (await got(session, path))[1]["output"] == first["output"]
    status, _ = await sent(session, "/v1/responses", {"input": "sure?", "previous_response_id": first["id"]})
    assert status == 200 and [each["role"] for each in upstream.last.body["messages"]] == ["user", "assistant", "user"]
    item = {"type": "item_reference", "id": first["output"][0]["id"]}
    status, _ = await sent(session, "/v1/responses", {"input": [item, {"role": "user", "content": "sure?"}]})
    assert status == 200 and upstream.last.body["messages"][0]["content"] == "Paris."
    assert (await got(session, path, "DELETE"))[1] == {"id": first["id"], "object": "response", "deleted": True}
    for method in ("GET", "DELETE"):
        assert (await got(session, path, method))[0] == 404
    status, told = await sent(session, "/v1/responses", {"input": "x", "previous_response_id": first["id"]})
    assert (status, told["error"]["code"]) == (400, "previous_response_not_found")
    status, told = await sent(session, "/v1/responses", {"input": [{**item, "id": "msg_none"}]})
    assert (status, told["error"]["code"]) == (404, "item_not_found")


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


async def test_responses_stream_the_same_answer_and_name_tools_that_are_left_out(
    session: aiohttp.ClientSession, upstream: Upstream
) -> None:
    upstream.will(stream(*text_stream()))
    told = await events(session, "/v1/responses", {"input": "hi", "store": False})
    assert told[0]["type"] == "response.created" and told[-1]["type"] == "response.completed"
    assert [each["sequence_number"] for each in told] == list(range(len(told)))
    assert told[-1]["response"]["output"][0]["content"][0]["text"] == "Hello there"
    assert (await got(session, f"/v1/responses/{told[-1]['response']['id']}"))[0] == 404
    upstream.will(answer(completion(None, "tool_calls", tool_calls=[CALL])))
    body = {"model": "SvcLLM", "input": "hi", "tools": [LOOK, {"type": "file_search"}]}
    async with session.post("/v1/responses", json=body) as reply:
        (call,) = (await reply.json())["output"]
        assert "file_search" in reply.headers["X-Gateway-Warning"] and call["call_id"] == "c1"


@pytest.mark.slow
async def test_a_model_searches_the_index_on_every_route_that_offers_it(
    session: aiohttp.ClientSession, upstream: Upstream
) -> None:
    search = {"id": "s1", "type": "function", "function": {"name": "web_search", "arguments": '{"query": "sea"}'}}
    asked = completion(None, "tool_calls", tool_calls=[search])
    question = [{"role": "user", "content": "what of the sea?"}]
    for path, body in (
        ("/v1/chat/completions", {"messages": question, "web_search_options": {}}),
        ("/v1/responses", {"input": "what of the sea?", "tools": [{"type": "web_search"}]}),
        ("/v1/messages", {"messages": question, "max_tokens": 50,
                          "tools": [{"type": "web_search_20250305", "name": "web_search"}]}),
    ):  # fmt: skip
        upstream.will(answer(asked), answer(completion("Nothing is known.")))
        status, _ = await sent(session, path, body)
        found = upstream.last.body["messages"][-1]
        assert status == 200 and found["role"] == "tool" and found["content"].startswith("Nothing was found")


@pytest.mark.parametrize("more", [{"n": 2}, {"functions": [{"name": "f"}]}])
async def test_a_hosted_search_refuses_what_it_cannot_combine(session: aiohttp.ClientSession, more: Json) -> None:
    body = {"messages": [{"role": "user", "content": "x"}], "web_search_options": {}, **more}
    status, told = await sent(session, "/v1/chat/completions", body)
    assert (status, told["error"]["param"]) == (400, next(iter(more)))


async def test_messages_are_answered_whole_and_streamed(session: aiohttp.ClientSession, upstream: Upstream) -> None:
    body: Json = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 50}
    upstream.will(answer())
    status, message = await sent(session, "/v1/messages", body)
    assert status == 200 and message["content"] == [{"type": "text", "text": "Hello there"}]
    assert message["stop_reason"] == "end_turn" and message["usage"]["input_tokens"] == 3
    upstream.will(stream(*text_stream()))
    kinds = [each["type"] for each in await events(session, "/v1/messages", body)]
    assert kinds[:3] == ["message_start", "ping", "content_block_start"] and kinds[-1] == "message_stop"
    status, told = await sent(session, "/v1/messages", {**body, "model": "Vectors"})
    assert (status, told["error"]["type"]) == (400, "invalid_request_error")


async def test_tokens_are_counted_by_the_upstream_or_estimated(
    session: aiohttp.ClientSession, upstream: Upstream
) -> None:
    body: Json = {"messages": [{"role": "user", "content": "hi there"}]}
    upstream.will(answer({"input_tokens": 9}), answer({}, status=404))
    assert await sent(session, "/v1/messages/count_tokens", body) == (200, {"input_tokens": 9})
    _, told = await sent(session, "/v1/messages/count_tokens", body)
    assert told == {"input_tokens": 2, "provider_specific_fields": {"usage_estimated": True}}


async def test_embeddings_come_in_the_order_of_their_inputs(session: aiohttp.ClientSession, upstream: Upstream) -> None:
    data = [{"index": 1, "embedding": [0.5, 1]}, {"index": 0, "embedding": [1, 2]}]
    upstream.will(answer({"data": data}), answer({"data": data[:1]}))
    body: Json = {"model": "Vectors", "input": ["a", "b"]}
    status, told = await sent(session, "/v1/embeddings", body)
    assert status == 200 and [each["embedding"] for each in told["data"]] == [[1, 2], [0.5, 1]]
    assert told["provider_specific_fields"]["usage_estimated"] and upstream.last.body["model"] == "v"
    assert (await sent(session, "/v1/embeddings", body))[0] == 502
    for wrong in (["a", [1]], ["a"] * 2049):
        status, told = await sent(session, "/v1/embeddings", {**body, "input": wrong})
        assert (status, told["error"]["param"]) == (400, "input")
    status, told = await sent(session, "/v1/embeddings", {"model": "SvcLLM", "input": "a"})
    assert (status, told["error"]["param"]) == (400, "model")


async def test_models_are_listed_and_found_by_name(session: aiohttp.ClientSession) -> None:
    _, told = await got(session, "/v1/models")
    kinds = {each["id"]: each["kind"] for each in told["data"]}
    assert kinds["SvcLLM"] == "text" and kinds["Vectors"] == "embedding"
    assert (await got(session, "/v1/models/Vectors"))[1]["object"] == "model"
    status, told = await got(session, "/v1/models/svcllm")
    assert status == 404 and "did you mean 'SvcLLM'" in told["error"]["message"]
