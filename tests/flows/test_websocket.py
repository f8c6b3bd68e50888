"""Responses over WebSocket: the events of a stream, lanes, the connection's memory, limits, keys and drains."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from tests.support import upstream as up
from tests.support.asking import toml
from tests.support.gateways import Gateway, Serve
from tests.support.sockets import LIMIT_S, TEXT_EVENTS, opened
from tests.support.upstream import Exchange, Script, Upstream


def echo() -> Script:
    """Says what the last message of the request said."""

    async def script(exchange: Exchange) -> None:
        await up.stream(*up.text_stream([str(exchange.seen.body["messages"][-1]["content"])]))(exchange)

    return script


async def test_a_response_has_the_events_of_a_stream_one_a_message(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.stream(*up.text_stream(["Hel", "lo"])))
    async with opened(server) as socket:
        events = await socket.turn(input="hello", stream=True)
        again = await socket.turn(input="hello")
    assert [event["type"] for event in events] == TEXT_EVENTS
    for turn in (events, again):
        assert [event["sequence_number"] for event in turn] == list(range(10))
        assert all("stream_id" not in event for event in turn)
    assert events[-1]["response"]["usage"]["total_tokens"] == 5


async def test_a_turn_that_is_not_stored_is_continued_from_the_connections_memory(server: Gateway) -> None:
    server.upstream.will(echo())
    async with opened(server) as socket:
        first = await socket.answer(input="one", store=False)
        second = await socket.answer(input="two", store=False, previous_response_id=first["id"])
        said = [message["content"] for message in server.upstream.last.body["messages"]]
        assert said == ["one", "one", "two"]
        stale = await socket.turn(input="three", store=False, previous_response_id=first["id"])
        assert stale[-1]["error"]["code"] == "previous_response_not_found"  # the lane's latest alone is remembered
        await socket.answer(input="three", store=False, previous_response_id=second["id"])
    async with opened(server) as socket:
        lost = await socket.turn(input="four", store=False, previous_response_id=second["id"])
        assert (lost[-1]["status"], lost[-1]["error"]["param"]) == (400, "previous_response_id")
        await socket.answer(input="clean", store=False)


async def test_a_failed_continuation_lets_go_of_what_it_continued_but_a_fork_does_not(server: Gateway) -> None:
    server.upstream.will(echo())
    orphan = [{"type": "function_call_output", "call_id": "call_none", "output": "x"}]
    async with opened(server) as socket:
        first = await socket.answer(input="one", store=False)
        fork = await socket.turn(input=orphan, store=False, previous_response_id=first["id"], stream_id="b")
        assert fork[-1]["type"] == "error" and fork[-1]["stream_id"] == "b"
        await socket.answer(input="fork", store=False, previous_response_id=first["id"], stream_id="b")
        failed = await socket.turn(input=orphan, store=False, previous_response_id=first["id"])
        assert failed[-1]["type"] == "error" and failed[-1]["status"] == 400
        retry = await socket.turn(input="stale", store=False, previous_response_id=first["id"])
        assert retry[-1]["error"]["code"] == "previous_response_not_found"


async def test_a_warm_up_asks_no_model_and_can_be_continued(server: Gateway, upstream: Upstream) -> None:
    upstream.will(echo())
    async with opened(server) as socket:
        warm = await socket.turn(input=[{"role": "developer", "content": "be exact"}], generate=False, store=False)
        assert [event["type"] for event in warm] == ["response.created", "response.in_progress", "response.completed"]
        assert warm[-1]["response"]["output"] == [] and not upstream.seen
        await socket.answer(input="go", store=False, previous_response_id=warm[-1]["response"]["id"])
    assert [message["content"] for message in upstream.last.body["messages"]] == ["be exact", "go"]


async def test_lanes_run_beside_each_other_and_each_in_its_order(server: Gateway, upstream: Upstream) -> None:
    gate = up.Gate(echo())
    upstream.will(gate, echo(), echo(), echo())
    async with opened(server) as socket:
        await socket.create(input="slow", stream_id="a")
        await asyncio.wait_for(upstream.arrived.wait(), LIMIT_S)
        await socket.create(input="behind", stream_id="a")
        fast = await socket.turn(input="fast", stream_id="b")
        assert {event["stream_id"] for event in fast} == {"b"} and len(upstream.seen) == 2
        gate.go_on.set()
        events: list[Any] = []
        while sum(event["type"] == "response.completed" for event in events) < 2:
            events.append(await socket.event())
    said = [event["delta"] for event in events if event["type"] == "response.output_text.delta"]
    assert said == ["slow", "behind"] and {event["stream_id"] for event in events} == {"a"}


async def test_wrong_lanes_messages_and_fields_are_errors_and_the_connection_stays_open(server: Gateway) -> None:
    server.upstream.will(echo())
    async with opened(server) as socket:
        for lane in ("", "a b", "x" * 257, 7):
            wrong = (await socket.turn(input="hi", stream_id=lane))[-1]
            assert wrong["error"]["code"] == "invalid_stream_id" and "stream_id" not in wrong
        for number in range(32):
            await socket.answer(input="hi", stream_id=f"lane-{number}", generate=False)
        many = (await socket.turn(input="hi", stream_id="one-more"))[-1]
        assert many["error"]["code"] == "websocket_stream_limit_reached" and many["stream_id"] == "one-more"
        for text in ("{", "[]", '{"type":"unknown"}', '{"type":"response.create"}'):
            await socket.raw.send_str(text)
            assert (await socket.event())["status"] == 400
        await socket.raw.send_bytes(b"x")
        assert (await socket.event())["status"] == 400
        background = await socket.turn(input="hi", background=True)
        assert background[-1]["error"]["param"] == "background"
        await socket.raw.send_str('{"type":"response.processed","response_id":"resp_1"}')
        unknown = await socket.turn(input="hi", model="other")
        assert (unknown[-1]["status"], unknown[-1]["error"]["code"]) == (404, "model_not_found")
        await socket.answer(input="still here")


async def test_steering_is_declined_and_a_cancelled_response_says_so(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.silent(upstream, *up.text_stream()[:2]), echo())
    async with opened(server) as socket:
        await socket.create(input="hi")
        while (event := await socket.event())["type"] != "response.output_text.delta":
            pass
        steer = {"type": "response.steer", "previous_response_id": "resp_1", "input": "faster"}
        await socket.raw.send_str(json.dumps(steer))
        declined = await socket.event()
        assert declined["type"] == "response.steer.failed" and declined["error"]["code"] == "steering_not_supported"
        assert declined["steer"] == {"previous_response_id": "resp_1", "input": "faster"}
        await socket.raw.send_str('{"type":"response.cancel"}')
        event = await socket.event()
        assert event["type"] == "response.failed" and event["response"]["status"] == "cancelled"
        await asyncio.wait_for(upstream.released.wait(), LIMIT_S)
        await socket.answer(input="next")


async def test_a_failure_after_the_first_event_is_one_failed_response(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.stream(*up.text_stream()[:2], up.frame({"error": {"message": "broken"}})), echo())
    async with opened(server) as socket:
        events = await socket.turn(input="hi")
        assert events[-1]["type"] == "response.failed" and events[-1]["response"]["status"] == "failed"
        assert await socket.answer(input="next")


async def test_the_key_stands_in_a_header_alone_and_its_scope_is_checked_before_the_handshake(server: Gateway) -> None:
    chat = server.make_key("chat")
    url = server.url.replace("http", "ws", 1) + "/v1/responses"
    async with aiohttp.ClientSession() as session:
        for query, headers, protocols, status in (
            ("", {}, (), 401),
            (f"?api_key={server.key}", {}, (), 401),
            ("", {}, ("realtime", f"openai-insecure-api-key.{server.key}"), 401),
            ("", {"Authorization": f"Bearer {chat}"}, (), 403),
            ("", {**server.headers, "Origin": "https://evil.example"}, (), 403),
        ):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await session.ws_connect(url + query, headers=headers, protocols=protocols)
            assert refused.value.status == status


async def test_sockets_can_be_off_which_is_426_and_are_not_below_the_ops_listener(serve: Serve) -> None:
    off = await serve(toml(serve.upstream).replace("[server]", "[server]\nwebsocket = false", 1))
    on = await serve(toml(serve.upstream))
    async with aiohttp.ClientSession() as session:
        for url, server, status in ((off.url, off, 426), (on.ops_url + "/api", on, 405)):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await session.ws_connect(f"{url.replace('http', 'ws', 1)}/v1/responses", headers=server.headers)
            assert refused.value.status == status
            if status == 426:
                assert refused.value.headers is not None and refused.value.headers["Upgrade"] == "websocket"
        async with session.get(on.url + "/v1/responses", headers=on.headers) as answer:
            assert answer.status == 405 and answer.headers["Allow"] == "POST"


async def test_a_key_has_so_many_sockets_and_a_place_becomes_free(serve: Serve, upstream: Upstream) -> None:
    server = await serve(toml(upstream).replace("[server]", "[server]\nwebsocket_per_key = 1", 1))
    async with opened(server):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with opened(server):
                pass
        assert refused.value.status == 429
    async with asyncio.timeout(LIMIT_S):
        while True:
            try:
                async with opened(server):
                    break
            except aiohttp.WSServerHandshakeError:
                await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_a_drain_lets_turns_finish_says_so_and_closes(server: Gateway, upstream: Upstream) -> None:
    gate = up.Gate(echo())
    upstream.will(gate)
    async with opened(server) as busy, opened(server) as idle:
        await busy.create(input="slow")
        await asyncio.wait_for(upstream.arrived.wait(), LIMIT_S)
        drain = asyncio.create_task(server.listener.drain(LIMIT_S))
        told = await idle.event()
        assert (told["status"], told["error"]["code"], told["headers"]["retry-after"]) == (503, "shutting_down", "1")
        assert await idle.event() is None and idle.raw.close_code == 1012
        await busy.create(input="late", stream_id="b")
        late = await busy.event()
        assert late["stream_id"] == "b" and late["error"]["code"] == "shutting_down"
        gate.go_on.set()
        while (event := await busy.event())["type"] != "response.completed":
            pass
        assert (await busy.event())["error"]["code"] == "shutting_down" and event["response"]["status"] == "completed"
        assert await busy.event() is None and busy.raw.close_code == 1012
        assert await asyncio.wait_for(drain, LIMIT_S) == 0


async def test_a_placeholder_of_a_turn_that_is_not_stored_becomes_its_value_in_the_next(serve: Serve) -> None:
    more = "\n[sanitize]\nroutes = ['responses']\nprofile = 'reversible'\n[guardrail]\nenabled = 'off'\n"
    server = await serve(toml(serve.upstream) + more)
    serve.upstream.will(up.stream(*up.text_stream(["I wrote to [EMA", "IL_1]."])))
    async with opened(server) as socket:
        first = await socket.answer(input="write to jane@posthaus.org", store=False)
        second = await socket.answer(input="to whom?", store=False, previous_response_id=first["id"])
    said = [answer["output"][0]["content"][0]["text"] for answer in (first, second)]
    assert said == ["I wrote to jane@posthaus.org."] * 2
    assert "jane@" not in json.dumps([seen.body for seen in serve.upstream.seen])
