"""The messages route where something is wrong: keys, models, upstreams that fail, text that must not pass, counts."""

import asyncio
from typing import Any

import aiohttp
import anthropic
import orjson
import pytest

from tests.flows.test_every_place import cases, holds, sent_places
from tests.flows.test_messages import ADD, HELLO, IMAGE, LIMIT_S, MODEL, answered, client, streamed
from tests.support import upstream as up
from tests.support.asking import ask, toml
from tests.support.gateways import InProcessGateway, StartGateway
from tests.support.rich_bodies import SCHEMA, shown, with_value
from tests.support.upstream import Upstream

__all__ = ["client"]  # a fixture
SANITIZED = '[guardrail]\nenabled = "off"\n[sanitize]\nroutes = ["chat"]\n'
CARD = "4539 1488 0343 6467"


async def posted(server: InProcessGateway, headers: dict[str, str], body: Any = None) -> tuple[int, Any]:
    async with (
        asyncio.timeout(LIMIT_S),
        aiohttp.ClientSession() as session,
        session.post(f"{server.url}/v1/messages", json=body or {**MODEL, "messages": HELLO}, headers=headers) as answer,
    ):
        return answer.status, orjson.loads(await answer.read())


async def test_the_key_may_stand_in_either_header_or_the_same_in_both(
    server: InProcessGateway, upstream: Upstream
) -> None:
    upstream.will(up.answer())
    bearer, apart = server.headers, {"x-api-key": server.key}
    assert [(await posted(server, each))[0] for each in (bearer, apart, bearer | apart)] == [200, 200, 200]


async def test_two_keys_that_differ_are_refused(server: InProcessGateway) -> None:
    for header in ("Bearer other", "Basic other", "Bearer "):
        status, answer = await posted(server, {"Authorization": header, "x-api-key": server.key})
        assert (status, answer["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize("headers", [{}, {"x-api-key": "wrong"}, {"Authorization": "Bearer wrong"}])
async def test_without_a_valid_key_it_is_an_authentication_error(
    server: InProcessGateway, headers: dict[str, str]
) -> None:
    status, answer = await posted(server, headers)
    assert (status, answer["error"]["type"]) == (401, "authentication_error")


async def test_wrong_keys_in_either_header_count_as_guesses(server: InProcessGateway) -> None:
    for number in range(server.config.access.bad_keys_per_minute):
        name, value = ("x-api-key", f"k{number}") if number % 2 else ("Authorization", f"Bearer k{number}")
        assert (await posted(server, {name: value}))[0] == 401
    status, answer = await posted(server, {"x-api-key": "another"})
    assert (status, answer["error"]["type"]) == (429, "rate_limit_error")


async def test_a_key_without_the_scope_is_a_permission_error(server: InProcessGateway) -> None:
    status, answer = await posted(server, {"x-api-key": server.make_key("web-search")})
    assert (status, answer["error"]["type"]) == (403, "permission_error") and "chat" in answer["error"]["message"]


async def test_an_unknown_model_is_told_what_there_is_and_an_alias_works(
    client: anthropic.AsyncAnthropic, upstream: Upstream
) -> None:
    with pytest.raises(anthropic.NotFoundError, match="available: SvcLLM"):
        await answered(client, model="claude-nothing")
    upstream.will(up.answer())
    assert (await answered(client, model="assistant")).model == "SvcLLM"


STATUSES = {
    429: (anthropic.RateLimitError, "rate_limit_error"),
    400: (anthropic.BadRequestError, "invalid_request_error"),
    413: (anthropic.RequestTooLargeError, "request_too_large"),
    500: (anthropic.InternalServerError, "api_error"),
    503: (anthropic.InternalServerError, "overloaded_error"),
}


@pytest.mark.parametrize("status", STATUSES)
async def test_an_upstreams_error_is_one_of_this_api(
    client: anthropic.AsyncAnthropic, upstream: Upstream, status: int
) -> None:
    kind, name = STATUSES[status]
    upstream.will(up.answer({"error": {"message": "no", "code": "x"}}, status=status))
    with pytest.raises(kind) as caught:
        await answered(client)
    body: Any = caught.value.body
    assert body["error"]["type"] == name and body["request_id"] == caught.value.request_id


async def test_a_prompt_that_is_too_long_is_told_in_the_words_clients_know(
    client: anthropic.AsyncAnthropic, upstream: Upstream
) -> None:
    error = {"message": "the request exceeds the available context size", "type": "exceed_context_size_error"}
    upstream.will(up.answer({"error": error}, status=400))
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
        await answered(client)


async def raw_stream(server: InProcessGateway, **body: Any) -> list[Any]:
    async with (
        asyncio.timeout(LIMIT_S),
        aiohttp.ClientSession(headers=server.headers) as session,
        session.post(f"{server.url}/v1/messages", json={**MODEL, "messages": HELLO, "stream": True, **body}) as answer,
    ):
        frames = [frame for frame in (await answer.read()).decode().split("\n\n") if frame and frame[0] != ":"]
    events = []
    for frame in frames:
        name, data = frame.split("\n")
        events.append(orjson.loads(data.removeprefix("data: ")))
        assert name == f"event: {events[-1]['type']}"
    return events


@pytest.mark.parametrize("fault", ["cut", "error", "silent"])
async def test_an_upstream_that_dies_in_mid_stream_ends_with_an_error_and_no_clean_end(
    server: InProcessGateway, upstream: Upstream, fault: str
) -> None:
    first = up.chunk({"content": "Hel"})
    upstream.will({
        "cut": up.stream(first, end=False),
        "error": up.stream(first, up.frame({"error": {"message": "broken"}})),
        "silent": up.silent(upstream, first),
    }[fault])  # fmt: skip
    events = await raw_stream(server)
    kinds = [event["type"] for event in events]
    assert kinds == ["message_start", "ping", "content_block_start", "content_block_delta", "error"]
    assert events[-1]["error"]["type"] in ("api_error", "timeout_error") and events[-1]["request_id"]


async def test_the_sdk_raises_the_error_of_a_stream_that_died(
    client: anthropic.AsyncAnthropic, upstream: Upstream
) -> None:
    upstream.will(up.stream(up.chunk({"content": "Hel"}), end=False))
    with pytest.raises(anthropic.APIStatusError, match="broke off"):
        await streamed(client)


async def test_an_upstream_that_is_dead_before_the_stream_is_a_status(
    client: anthropic.AsyncAnthropic, upstream: Upstream
) -> None:
    upstream.will(up.answer({"error": "x"}, status=500))
    with pytest.raises(anthropic.InternalServerError):
        await streamed(client)


async def test_a_client_that_leaves_frees_the_upstream(server: InProcessGateway, upstream: Upstream) -> None:
    upstream.will(up.silent(upstream, up.chunk({"content": "Hel"})))
    async with aiohttp.ClientSession(headers=server.headers) as session:
        body = {**MODEL, "messages": HELLO, "stream": True}
        async with session.post(f"{server.url}/v1/messages", json=body) as answer:
            await answer.content.readany()
    async with asyncio.timeout(1):
        await upstream.released.wait()


# --- sanitized ------------------------------------------------------------------------------------------------------


@pytest.fixture
async def masking(start_gateway: StartGateway, upstream: Upstream) -> InProcessGateway:
    return await start_gateway(toml(upstream) + SANITIZED)


RICH: dict[str, Any] = {
    **MODEL,
    "system": [{"type": "text", "text": "Be brief", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": [
            {"type": "text", "text": "What is it?"}, IMAGE,
            {"type": "document", "title": "T", "context": "C", "source": {
                "type": "text", "media_type": "text/plain", "data": "plain words"}},
            {"type": "search_result", "title": "S", "source": "https://example.org", "content": [
                {"type": "text", "text": "found"}]}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2lnbmF0dXJl"}, {"type": "text", "text": "I buy"},
            {"type": "tool_use", "id": "toolu_1", "name": "buy", "input": {"what": "apples", "deep": [{"a": "b"}]}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "bought"}]}]},
        {"role": "system", "content": "Go on"},
    ],
    "tools": [{"name": "buy", "description": "Buys", "input_schema": SCHEMA}],
    "tool_choice": {"type": "tool", "name": "buy"},
    "stop_sequences": ["END"],
    "metadata": {"user_id": "u-1"},
}  # fmt: skip


async def test_no_place_of_a_request_lets_a_secret_out(masking: InProcessGateway, upstream: Upstream) -> None:
    upstream.will(up.answer())
    leaks, reached = await sent_places(masking, upstream, "/v1/messages", RICH)
    assert leaks == [] and reached > 40


async def test_a_whole_answer_is_masked_and_says_so(masking: InProcessGateway, upstream: Upstream) -> None:
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "add", "arguments": orjson.dumps({"a": CARD}).decode()},
    }
    upstream.will(up.answer(up.completion(f"it is {CARD}", "tool_calls", tool_calls=[call])))
    status, answer, _ = await ask(masking, "/v1/messages", **MODEL, tools=[ADD])
    assert status == 200 and not holds(answer) and answer["content"][1]["input"]["a"].startswith("[REDACTED")
    assert answer["provider_specific_fields"]["sanitization"]["redacted"] == {"CREDIT_CARD": 2}


STREAMED: dict[str, list[bytes]] = {
    "text": [up.chunk({"content": piece}) for piece in ("it is 4539 14", "88 0343", " 6467, keep")],
    "thinking": [up.chunk({"reasoning_content": piece}) for piece in ("4539 14", "88 0343 64", "67 !")],
    "arguments": [up.chunk({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "add", "arguments": ""}}]})]
    + [up.chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
       for piece in ('{"a":"4539 14', "88 0343", ' 6467"}')],
    "two texts": [up.chunk({"content": "it is 4539 1488"}), up.chunk({"reasoning_content": "hm"}),
                  up.chunk({"content": " 0343 6467"})],
}  # fmt: skip


@pytest.mark.parametrize("case", STREAMED)
async def test_a_value_split_over_deltas_is_masked(masking: InProcessGateway, upstream: Upstream, case: str) -> None:
    upstream.will(up.stream(*STREAMED[case], up.chunk({}, "stop"), up.DONE))
    events = await raw_stream(masking, tools=[ADD], thinking={"type": "enabled"})
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    said = "".join(delta.get("text") or delta.get("thinking") or delta.get("partial_json") or "" for delta in deltas)
    assert events[-1]["type"] == "message_stop" and "0343" not in said.replace("hm", ""), said
    assert all(event.keys() == {"type", "index"} for event in events if event["type"] == "content_block_stop")


async def test_a_blocked_stream_ends_with_refusal_and_closed_blocks(
    start_gateway: StartGateway, upstream: Upstream
) -> None:
    block = '[sanitize.actions.responses]\nCREDIT_CARD = "block"\n'
    server = await start_gateway(toml(upstream) + SANITIZED + block)
    upstream.will(up.stream(up.chunk({"content": "It is. "}), up.chunk({"content": f"{CARD} x"}), up.chunk({}, "stop"),
                            up.DONE))  # fmt: skip
    events = await raw_stream(server)
    kinds = [event["type"] for event in events]
    assert kinds.count("content_block_start") == kinds.count("content_block_stop") == 1
    assert kinds[-2:] == ["message_delta", "message_stop"] and events[-2]["delta"]["stop_reason"] == "refusal"
    assert not holds(events)


async def test_a_secret_in_any_place_of_an_answer_does_not_come_in(
    masking: InProcessGateway, upstream: Upstream
) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "buy", "arguments": '{"what": "x"}'}}
    sample = up.completion("It is", "tool_calls", reasoning_content="I think", tool_calls=[call])
    leaks = []
    for place, value in cases(sample):
        upstream.will(up.answer(with_value(sample, place, value)))
        thinking = {"type": "enabled", "budget_tokens": 1024}
        _, answer, _ = await ask(masking, "/v1/messages", **MODEL, tools=[ADD], thinking=thinking)
        if holds(answer):
            leaks.append(f"{shown(place)} = {value}")
    assert leaks == []


# --- counts ---------------------------------------------------------------------------------------------------------


async def test_tokens_are_counted_by_the_upstream_that_can(
    client: anthropic.AsyncAnthropic, upstream: Upstream
) -> None:
    upstream.will(up.answer({"input_tokens": 17}))
    counted = await client.messages.count_tokens(model="SvcLLM", messages=HELLO, system="x", tools=[ADD])  # type: ignore[list-item]
    assert counted.input_tokens == 17 and upstream.last.path == "/v1/messages/count_tokens"
    assert upstream.last.body.keys() == {"model", "messages", "system", "tools"}


async def test_another_upstream_is_asked_once_and_the_estimate_says_so(
    server: InProcessGateway, upstream: Upstream
) -> None:
    upstream.will(up.answer({"error": "no such route"}, status=404))
    body = {"messages": [{"role": "user", "content": "x" * 400}]}
    answers = [await ask(server, "/v1/messages/count_tokens", **body) for _ in range(2)]
    for status, answer, _ in answers:
        assert (status, answer["input_tokens"]) == (200, 100)
        assert answer["provider_specific_fields"] == {"usage_estimated": True}
    assert len(upstream.seen) == 1


async def test_an_image_is_sent_to_no_counting_upstream(server: InProcessGateway, upstream: Upstream) -> None:
    inner = {"type": "image", "source": {"type": "url", "url": "http://10.0.0.1/x.png"}}
    status, answer, _ = await ask(server, "/v1/messages/count_tokens", messages=[{"role": "user", "content": [inner]}])
    assert status == 200 and answer["input_tokens"] >= 1 and not upstream.seen
