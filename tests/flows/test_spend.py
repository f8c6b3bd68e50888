"""What a key may spend is never exceeded: on every route, by stored turns, hosted rounds, streams without an end."""

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from gateway.shared_state.sqlite_state import STATE_FILE
from tests.support import upstream as up
from tests.support.asking import CHAT, MESSAGES, RESPONSES, send
from tests.support.doors import body_for
from tests.support.gateways import Gateway, Serve, upstream_toml
from tests.support.upstream import Exchange, Script, Upstream, chunk, completion
from tests.support.waiting import until

DAY = 8000


def words(count: int) -> str:
    return "word" * count


def honest(text_tokens: int = 10**6) -> Script:
    """Answers whole with as many tokens as it may, of four bytes each, and tells so."""

    async def script(exchange: Exchange) -> None:
        body = exchange.seen.body
        most = body.get("max_tokens") or body.get("max_completion_tokens") or 10**4
        made = min(text_tokens, most)
        said = completion(words(made), "length" if made == most else "stop")
        said["usage"] = {"prompt_tokens": len(json.dumps(body["messages"])) // 4, "completion_tokens": made}
        await up.answer(said)(exchange)

    return script


def endless(upstream: Upstream, piece: bytes | None = None, *head: bytes) -> Script:
    """Streams words until the gateway leaves."""

    async def script(exchange: Exchange) -> None:
        await exchange.stream_head()
        for each in head:
            await exchange.piece(each)
        try:
            while True:
                await exchange.piece(piece or chunk({"content": words(25)}))
                await asyncio.sleep(0)
        finally:
            upstream.released.set()

    return script


def limits_sent(upstream: Upstream) -> list[int]:
    return [seen.body.get("max_tokens") or seen.body.get("max_output_tokens") for seen in upstream.seen]


async def left(gateway: Gateway, key: str) -> int:
    """Tokens of the day that are left, by the refusal of a call that is too large."""
    refused = {"model": "SvcLLM", "messages": [{"role": "user", "content": words(40_000)}], "max_tokens": 10}
    status, _, told = await send(gateway, CHAT, refused, key=key)
    assert status == 429
    return int(told["RateLimit"].split('"tokens-day";r=')[1].split(";")[0])


CHAT_BODY = {"model": "SvcLLM", "messages": [{"role": "user", "content": "hello"}]}


async def test_keys_without_budgets_are_sent_what_they_ask_for(serve: Serve, upstream: Upstream) -> None:
    upstream.will(up.answer())
    gateway = await serve(upstream_toml(upstream.url))
    assert (await send(gateway, CHAT, CHAT_BODY))[0] == 200
    assert "max_tokens" not in upstream.last.body


def text_of(event: Any) -> Any:
    """The text of an event's delta, on whichever route."""
    if event.get("choices"):
        return event["choices"][0]["delta"].get("content")
    delta = event.get("delta")
    return delta.get("text") if isinstance(delta, dict) else delta


def chat_end(events: list[Any]) -> str:
    reasons = [choice["finish_reason"] for event in events for choice in event["choices"]]
    return str(reasons[-1])


def response_end(events: list[Any]) -> str:
    last = events[-1]
    text = last["response"]["output"][0]["content"][0]["text"]
    assert last["type"] == "response.incomplete" and text.startswith("word")
    assert last["response"]["usage"]["output_tokens"] > 0
    return "length" if last["response"]["incomplete_details"] == {"reason": "max_output_tokens"} else ""


def message_end(events: list[Any]) -> str:
    stops = [event["delta"]["stop_reason"] for event in events if event["type"] == "message_delta"]
    return "length" if stops == ["max_tokens"] and events[-1]["type"] == "message_stop" else str(stops)


@pytest.mark.parametrize(
    ("route", "body", "end"),
    [
        (CHAT, {**CHAT_BODY, "max_tokens": 100_000}, chat_end),
        (RESPONSES, {"model": "SvcLLM", "input": "hello", "max_output_tokens": 100_000}, response_end),
        (MESSAGES, {**CHAT_BODY, "max_tokens": 100_000}, message_end),
    ],
)
async def test_a_stream_without_an_end_is_cut_at_the_budget_as_one_that_came_to_its_limit(
    serve: Serve, upstream: Upstream, route: str, body: Any, end: Callable[[list[Any]], str]
) -> None:
    upstream.will(endless(upstream))
    gateway = await serve(upstream_toml(upstream.url))
    key = gateway.make_key(tokens_per_day=DAY)
    status, events, _ = await send(gateway, route, {**body, "stream": True}, key=key)
    assert status == 200 and end(events) == "length"
    assert (await send(gateway, route, {**body, "stream": True}, key=key))[0] == 429
    await asyncio.wait_for(upstream.released.wait(), 10)
    said = sum(len(delta) for event in events if isinstance(delta := text_of(event), str))
    assert 0.9 * 4 * DAY < said < 1.4 * 4 * DAY  # about five bytes a token, as nothing is known of the model
    assert await left(gateway, key) <= 300
    await until(lambda: not len(gateway.in_flight), 10)


async def test_a_stream_of_an_upstream_with_its_own_responses_route_is_cut_too(serve: Serve) -> None:
    head, [delta] = (events := up.response_stream(up.response(words(25))))[:4], events[4:5]
    serve.upstream.will(endless(serve.upstream, delta, *head))
    gateway = await serve(upstream_toml(serve.upstream.url) + 'responses = "native"\n')
    key = gateway.make_key(tokens_per_day=DAY)
    body = {"model": "SvcLLM", "input": "hello", "max_output_tokens": 100_000, "stream": True}
    status, events, _ = await send(gateway, RESPONSES, body, key=key)
    assert status == 200 and response_end(events) == "length"
    assert limits_sent(serve.upstream)[0] < DAY
    await asyncio.wait_for(serve.upstream.released.wait(), 10)
    status, stored, _ = await send(gateway, f"{RESPONSES}/{events[-1]['response']['id']}", method="GET", key=key)
    assert status == 200 and stored["output"][0]["content"][0]["text"].startswith("wordword")


async def test_embeddings_are_reserved_by_their_input(serve: Serve, upstream: Upstream) -> None:
    async def vectors(exchange: Exchange) -> None:
        said = {"data": [{"index": 0, "embedding": [0.1, 0.2]}], "usage": {"prompt_tokens": 100, "total_tokens": 100}}
        await up.answer(said)(exchange)

    upstream.will(vectors)
    toml = upstream_toml(upstream.url).replace('name = "SvcLLM"', 'name = "vectors"\nkind = "embedding"')
    gateway = await serve(toml)
    key = gateway.make_key(tokens_per_day=450)
    body = {"model": "vectors", "input": words(100)}
    outcomes = await asyncio.gather(*(send(gateway, "/v1/embeddings", body, key=key) for _ in range(6)))
    assert [status for status, _, _ in outcomes].count(200) <= 4
    assert (await send(gateway, "/v1/embeddings", {**body, "input": words(1000)}, key=key))[0] == 429


@pytest.mark.parametrize("route", [CHAT, RESPONSES, MESSAGES])
async def test_each_user_within_a_key_has_a_budget_of_its_own(serve: Serve, upstream: Upstream, route: str) -> None:
    upstream.will(honest(300))
    gateway = await serve("[limits]\nreserve_tokens = 300\n" + upstream_toml(upstream.url))
    key = gateway.make_key(per_user_tokens_per_day=500)
    for user in ("ann", "bob"):
        named: dict[str, Any] = {"user": user}
        if route == MESSAGES:
            named = {"max_tokens": 300, "metadata": {"user_id": f"user_0_account_{user}_session_{id(user)}"}}
        statuses = [(await send(gateway, route, body_for(route, **named), key=key))[0] for _ in range(2)]
        assert statuses == [200, 429]
    _, _, told = await send(gateway, CHAT, {**CHAT_BODY, "max_tokens": 10}, key=key)
    assert '"user-tokens-day";q=500' in told["RateLimit-Policy"]
    assert not any("ann" in str(row) or "bob" in str(row) for row in counter_names(gateway))


def counter_names(gateway: Gateway) -> list[Any]:
    with contextlib.closing(sqlite3.connect(gateway.config.state_dir / STATE_FILE)) as file:
        return file.execute("SELECT name FROM counters").fetchall()


async def test_fields_that_the_operator_adds_cannot_raise_the_limit(serve: Serve, upstream: Upstream) -> None:
    upstream.will(up.answer())
    gateway = await serve(upstream_toml(upstream.url) + "extra_body = {max_tokens = 100000}\n")
    status, _, _ = await send(gateway, CHAT, CHAT_BODY, key=gateway.make_key(tokens_per_day=DAY))
    assert status == 200 and 7900 < limits_sent(upstream)[0] < DAY


async def test_thoughts_of_a_streamed_message_are_reserved_at_once_and_their_wish_goes_to_no_upstream(
    serve: Serve, upstream: Upstream
) -> None:
    upstream.will(up.stream(*up.text_stream()))
    gateway = await serve(upstream_toml(upstream.url))
    body = {**CHAT_BODY, "max_tokens": 4000, "stream": True, "thinking": {"type": "enabled", "budget_tokens": 2000}}
    _, _, told = await send(gateway, MESSAGES, body, key=gateway.make_key(tokens_per_day=DAY))
    assert '"tokens-day";r=39' in told["RateLimit"] and "gateway_thinking" not in upstream.last.body
