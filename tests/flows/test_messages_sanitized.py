"""What `sanitize.routes` = chat does on the messages route: requests, whole answers, streams, blocked streams."""

from typing import Any

import orjson
import pytest

from tests.flows.test_every_place import cases, holds, sent_places
from tests.support import upstream as up
from tests.support.asking import ask, toml
from tests.support.gateways import InProcessGateway, StartGateway
from tests.support.messages_route import ADD, IMAGE, MODEL, raw_stream
from tests.support.rich_bodies import SCHEMA, shown, with_value
from tests.support.upstream import Upstream

SANITIZED = '[guardrail]\nenabled = "off"\n[sanitize]\nroutes = ["chat"]\n'
CARD = "4539 1488 0343 6467"


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


@pytest.mark.slow  # asks for each place
@pytest.mark.parametrize("form", ["chat", "native"])
async def test_no_place_of_a_request_lets_a_secret_out(
    start_gateway: StartGateway, upstream: Upstream, form: str
) -> None:
    upstream.will(up.answer({"type": "message", "content": []}) if form == "native" else up.answer())
    server = await start_gateway(toml(upstream, messages=f"'{form}'") + SANITIZED)
    further = (
        {} if form == "chat" else {"unheard_of": {"deep": ["of it"]}, "context_management": {"edits": [{"a": "b"}]}}
    )
    leaks, reached = await sent_places(server, upstream, "/v1/messages", {**RICH, **further})
    assert leaks == [] and reached > (40 if form == "chat" else 50)


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
}  # fmt: skip


@pytest.mark.parametrize("case", STREAMED)
async def test_a_value_split_over_deltas_is_masked(masking: InProcessGateway, upstream: Upstream, case: str) -> None:
    upstream.will(up.stream(*STREAMED[case], up.chunk({}, "stop"), up.DONE))
    events = await raw_stream(masking, tools=[ADD], thinking={"type": "enabled"})
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    said = "".join(delta.get("text") or delta.get("thinking") or delta.get("partial_json") or "" for delta in deltas)
    assert events[-1]["type"] == "message_stop" and "0343" not in said
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
