"""Background responses over a chat upstream: outliving their client, followed, cancelled, bounded."""

import asyncio
from typing import Any

import openai
import pytest

from tests.support import upstream as up
from tests.support.asking import official, send, toml
from tests.support.gateways import Gateway, Serve
from tests.support.upstream import Held, Upstream

LIMIT_S = 20


async def until(client: Any, response_id: str, *statuses: str) -> Any:
    async with asyncio.timeout(LIMIT_S):
        while (response := await client.responses.retrieve(response_id)).status not in statuses:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return response


async def test_a_run_is_queued_at_once_and_found_when_it_has_ended(client: Any, upstream: Upstream) -> None:
    gate = Held()
    upstream.will(gate)
    queued = await client.responses.create(model="SvcLLM", input="hello", background=True)
    assert queued.status == "queued" and queued.background and queued.output == [] and queued.usage is None
    await asyncio.wait_for(gate.begun.wait(), LIMIT_S)
    running = await until(client, queued.id, "in_progress")
    assert running.output == []
    gate.go_on.set()
    done = await until(client, queued.id, "completed")
    assert done.output_text == "begin end" and done.background and done.usage.total_tokens == 5
    items = await client.responses.input_items.list(queued.id)
    assert [item.type for item in items.data] == ["message"]
    following = client.responses.create(model="SvcLLM", input="next", previous_response_id=queued.id)
    upstream.will(up.answer())
    await following
    assert [message["role"] for message in upstream.last.body["messages"]] == ["user", "assistant", "user"]


async def test_a_stream_is_left_and_taken_up_again_where_it_was(client: Any, upstream: Upstream) -> None:
    gate = Held()
    upstream.will(gate)
    seen: list[Any] = []
    async with asyncio.timeout(LIMIT_S):
        stream = await client.responses.create(model="SvcLLM", input="hello", background=True, stream=True)
        async for event in stream:
            seen.append(event)
            if event.type == "response.output_text.delta":
                break
        await stream.close()
        gate.go_on.set()
        response_id = seen[0].response.id
        rest = await client.responses.retrieve(response_id, stream=True, starting_after=seen[-1].sequence_number)
        seen += [event async for event in rest]
    assert [event.type for event in seen[:3]] == ["response.created", "response.queued", "response.in_progress"]
    assert [event.sequence_number for event in seen] == list(range(len(seen)))
    assert seen[-1].type == "response.completed" and seen[-1].response.output_text == "begin end"
    again = await client.responses.retrieve(response_id, stream=True, starting_after=2)
    assert [event.sequence_number async for event in again] == list(range(3, len(seen)))
    beyond = await client.responses.retrieve(response_id, stream=True, starting_after=len(seen))
    assert [event async for event in beyond] == []


async def test_a_run_without_a_stream_has_no_events(client: Any, upstream: Upstream) -> None:
    upstream.will(up.stream(*up.text_stream()))
    queued = await client.responses.create(model="SvcLLM", input="hello", background=True)
    await until(client, queued.id, "completed")
    with pytest.raises(openai.BadRequestError, match="not kept"):
        await client.responses.retrieve(queued.id, stream=True)


async def test_cancelling_ends_the_upstreams_call_and_may_be_repeated(client: Any, upstream: Upstream) -> None:
    upstream.will(up.silent(upstream, *up.text_stream()[:2]))
    async with asyncio.timeout(LIMIT_S):
        stream = await client.responses.create(model="SvcLLM", input="hello", background=True, stream=True)
        first = await anext(aiter(stream))
        response_id = first.response.id
        with pytest.raises(openai.BadRequestError, match="still running"):
            await client.responses.delete(response_id)
        await upstream.arrived.wait()
        for _ in range(2):
            cancelled = await client.responses.cancel(response_id)
            assert cancelled.status == "cancelled" and cancelled.output == [] and cancelled.error is None
        await upstream.released.wait()
        events = [event async for event in stream]
    assert events[-1].type == "response.failed" and events[-1].response.status == "cancelled"
    await client.responses.delete(response_id)
    with pytest.raises(openai.NotFoundError):
        await client.responses.retrieve(response_id)


async def test_what_cannot_be_cancelled_says_so(client: Any, upstream: Upstream) -> None:
    upstream.will(up.stream(*up.text_stream()))
    queued = await client.responses.create(model="SvcLLM", input="hello", background=True)
    await until(client, queued.id, "completed")
    with pytest.raises(openai.BadRequestError, match="Cannot cancel a completed response"):
        await client.responses.cancel(queued.id)
    upstream.will(up.answer())
    plain = await client.responses.create(model="SvcLLM", input="hello")
    with pytest.raises(openai.BadRequestError, match="not made with background"):
        await client.responses.cancel(plain.id)
    with pytest.raises(openai.NotFoundError):
        await client.responses.cancel("resp_unknown")


async def test_another_keys_run_is_not_there(server: Gateway, client: Any, upstream: Upstream) -> None:
    other = server.make_key("responses")
    gate = Held()
    upstream.will(gate)
    queued = await client.responses.create(model="SvcLLM", input="hello", background=True, stream=True)
    first = await anext(aiter(queued))
    path = f"/v1/responses/{first.response.id}"
    for method, end in (("GET", ""), ("GET", "?stream=true"), ("POST", "/cancel"), ("DELETE", "")):
        assert (await send(server, path + end, method=method, key=other))[0] == 404
    gate.go_on.set()
    await queued.close()


async def test_a_key_has_so_many_runs_and_a_place_becomes_free(serve: Serve, upstream: Upstream) -> None:
    server = await serve(toml(upstream) + "\n[responses]\nbackground = { per_key = 1, max_s = 60 }\n")
    gate = Held()
    upstream.will(gate)
    async with official(server) as client:
        first = await client.responses.create(model="SvcLLM", input="hello", background=True)
        with pytest.raises(openai.RateLimitError) as refused:
            await client.responses.create(model="SvcLLM", input="hello", background=True)
        assert int(refused.value.response.headers["retry-after"]) >= 1
        gate.go_on.set()
        await until(client, first.id, "completed")
        await client.responses.create(model="SvcLLM", input="hello", background=True)


async def test_a_run_that_takes_too_long_has_failed(serve: Serve, upstream: Upstream) -> None:
    server = await serve(toml(upstream) + "\n[responses]\nbackground = { max_s = 1 }\n")
    upstream.will(up.silent(upstream, *up.text_stream()[:2]))
    async with official(server) as client:
        queued = await client.responses.create(model="SvcLLM", input="hello", background=True)
        failed = await until(client, queued.id, "failed")
    assert failed.error is not None and failed.error.code == "max_run_time" and upstream.released.is_set()
