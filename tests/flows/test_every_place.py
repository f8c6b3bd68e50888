"""A secret at every string and every property name of a body never reaches the upstream, nor the client."""

import re
from typing import Any

import aiohttp
import orjson
import pytest

from tests.support import upstream as up
from tests.support.asking import ask, toml
from tests.support.gateways import InProcessGateway, StartGateway
from tests.support.rich_bodies import (
    CHAT_ANSWER,
    CHAT_REQUEST,
    RESPONSE_ANSWER,
    RESPONSES_REQUEST,
    Path,
    places,
    shown,
    with_value,
)
from tests.support.upstream import Upstream

pytestmark = pytest.mark.slow  # each asks some hundred times

CARD = "4539 1488 0343 6467"
TOKEN = "ghp_" + "x8Kq2mZ7vR4tB9nW1cY6pL3sD5fG0hJaQeUi"  # a made-up key of a real form
SETTINGS = '[guardrail]\nenabled = "off"\n[sanitize]\nroutes = ["chat", "responses"]\n'
OPAQUE = re.compile(r"\.(encrypted_content|signature)$|\.(reasoning_details\[1\]|thinking_blocks\[1\])\.data$")
"""Places of tokens that a model service made: one word passes there, a text does not."""


@pytest.fixture
async def chat_only(start_gateway: StartGateway, upstream: Upstream) -> InProcessGateway:
    return await start_gateway(toml(upstream) + SETTINGS)


@pytest.fixture
async def native(start_gateway: StartGateway, upstream: Upstream) -> InProcessGateway:
    return await start_gateway(toml(upstream, responses="'native'") + SETTINGS)


def cases(body: Any) -> list[tuple[Path, str]]:
    found = [(path, value) for path in places(body) for value in (CARD, TOKEN, f"it is {CARD}, keep it")]
    return [(path, value) for path, value in found if value != TOKEN or not OPAQUE.search(shown(path))]


def holds(raw: Any) -> bool:
    text = raw if isinstance(raw, str) else orjson.dumps(raw).decode()
    return CARD in text or TOKEN in text


async def sent_places(server: InProcessGateway, upstream: Upstream, path: str, body: Any) -> tuple[list[str], int]:
    """The places whose secret reached the upstream, and how many requests did reach it."""
    leaks = []
    for place, value in cases(body):
        before = len(upstream.seen)
        status, answer, _ = await ask(server, path, **with_value(body, place, value))
        assert status < 500, (shown(place), answer)
        if any(holds(each.body) for each in upstream.seen[before:]):
            leaks.append(f"{shown(place)} = {value}")
        if status == 400:
            assert not holds(answer), f"the refusal quotes {shown(place)}"
    return leaks, len(upstream.seen)


async def test_no_place_of_a_chat_request_lets_a_secret_out(chat_only: InProcessGateway, upstream: Upstream) -> None:
    upstream.will(up.answer(up.completion("{}")))
    assert len(list(places(CHAT_REQUEST))) > 200
    leaks, reached = await sent_places(chat_only, upstream, "/v1/chat/completions", CHAT_REQUEST)
    assert leaks == [] and reached > 100


@pytest.mark.parametrize("form", ["translated", "native"])
async def test_no_place_of_a_responses_request_lets_a_secret_out(
    start_gateway: StartGateway, upstream: Upstream, form: str
) -> None:
    is_native = form == "native"
    server = await start_gateway(toml(upstream, responses="'native'" if is_native else "'translate'") + SETTINGS)
    upstream.will(up.answer(RESPONSE_ANSWER if is_native else up.completion("{}")))
    # A translated model keeps no stored prompts: the field is refused there, with or without a secret.
    body = RESPONSES_REQUEST if is_native else {k: v for k, v in RESPONSES_REQUEST.items() if k != "prompt"}
    leaks, reached = await sent_places(server, upstream, "/v1/responses", body)
    assert leaks == [] and reached > 60


async def test_the_rich_bodies_pass_unchanged(chat_only: InProcessGateway, upstream: Upstream) -> None:
    upstream.will(up.answer(CHAT_ANSWER))
    status, answer, _ = await ask(chat_only, **CHAT_REQUEST)
    assert status == 200 and "REDACTED" not in str(upstream.last.body) and "REDACTED" not in str(answer)
    assert answer["choices"][0]["logprobs"] == CHAT_ANSWER["choices"][0]["logprobs"]


@pytest.mark.parametrize(
    "place",
    [".messages[0].name", ".messages[4].tool_call_id", ".tools[0].function.name", ".stop[0]", ".metadata.customer!"],
)
async def test_a_name_that_cannot_be_masked_refuses_the_request_by_its_place(
    chat_only: InProcessGateway, upstream: Upstream, place: str
) -> None:
    upstream.will(up.answer())
    path = next(path for path in places(CHAT_REQUEST) if shown(path) == place)
    status, answer, _ = await ask(chat_only, **with_value(CHAT_REQUEST, path, TOKEN))
    assert (status, answer["error"]["code"]) == (400, "content_filter")
    assert answer["error"]["param"] == (place[1:] if "!" not in place else "metadata: a property name")
    assert not upstream.seen


async def raw_answer(server: InProcessGateway, path: str, body: Any) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession(headers=server.headers) as session,
        session.post(server.url + path, json=body) as answer,
    ):
        return answer.status, (await answer.read()).decode()


async def leaking_answers(server: InProcessGateway, upstream: Upstream, path: str, sample: Any, body: Any) -> list[str]:
    leaks = []
    for place, value in cases(sample):
        upstream.will(up.answer(with_value(sample, place, value)))
        _, raw = await raw_answer(server, path, body)
        if holds(raw):
            leaks.append(f"{shown(place)} = {value}")
    return leaks


async def test_no_place_of_a_chat_answer_lets_a_secret_in(chat_only: InProcessGateway, upstream: Upstream) -> None:
    body = {"model": "SvcLLM", "messages": [{"role": "user", "content": "x"}]}
    assert await leaking_answers(chat_only, upstream, "/v1/chat/completions", CHAT_ANSWER, body) == []
    response = {"model": "SvcLLM", "input": "x"}
    assert await leaking_answers(chat_only, upstream, "/v1/responses", CHAT_ANSWER, response) == []


async def test_no_place_of_a_native_response_lets_a_secret_in(native: InProcessGateway, upstream: Upstream) -> None:
    body = {"model": "SvcLLM", "input": "x"}
    assert await leaking_answers(native, upstream, "/v1/responses", RESPONSE_ANSWER, body) == []


def chat_chunks() -> list[dict[str, Any]]:
    """A stream with every kind of chunk: role, text, odd fields, calls, end."""
    message = CHAT_ANSWER["choices"][0]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": text} for text in ("Hello ", "there ", "my ", "friend")]
    deltas += [{"reasoning_content": "I think"}, {"refusal": "no"}, {"odd": "words", "content": "x"}]
    deltas += [{"tool_calls": [{"index": 0, **message["message"]["tool_calls"][0]}]}, {"content": " end"}]
    head = {"id": "chatcmpl-up1", "object": "chat.completion.chunk", "created": 1700000000, "model": "up-model"}
    chunks: list[Any] = [
        {**head, "system_fingerprint": "fp_1", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    chunks[2]["choices"][0]["logprobs"] = message["logprobs"]
    last = {"index": 0, "delta": {}, "finish_reason": "stop", "matched_stop": "END"}
    return [*chunks, {**head, "choices": [last], "x_info": {"a": "b"}}]


def response_events() -> list[dict[str, Any]]:
    item = RESPONSE_ANSWER["output"][1]
    part = item["content"][0]
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    return [
        {"type": "response.created", "response": {**RESPONSE_ANSWER, "output": [], "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.content_part.added", **at, "part": {"type": "output_text", "text": ""}},
        {"type": "response.output_text.delta", **at, "delta": "It ", "logprobs": part["logprobs"], "obfuscation": "xy"},
        {"type": "response.output_text.delta", **at, "delta": "is"},
        {"type": "response.output_text.annotation.added", **at, "annotation": part["annotations"][0]},
        {"type": "response.output_text.done", **at, "text": "It is", "logprobs": part["logprobs"]},
        {"type": "response.content_part.done", **at, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.code_interpreter_call_code.delta", "item_id": "ci_1", "output_index": 1, "delta": "print"},
        {"type": "response.strange.thing", "thing": {"deep": ["one"]}, "Odd-Field": "x"},
        {"type": "response.completed", "response": {**RESPONSE_ANSWER, "output": [item]}},
    ]


def frames(events: list[dict[str, Any]]) -> list[bytes]:
    return [b"data: " + orjson.dumps(event) + b"\n\n" for event in events] + [b"data: [DONE]\n\n"]


async def leaking_streams(server: InProcessGateway, upstream: Upstream, path: str, sample: Any, body: Any) -> list[str]:
    leaks = []
    for place, value in cases(sample):
        upstream.will(up.stream(*frames(with_value(sample, place, f" {value} "))))  # apart from its neighbours
        _, raw = await raw_answer(server, path, {**body, "stream": True})
        if holds(raw):
            leaks.append(f"{shown(place)} = {value}")
    return leaks


async def test_no_place_of_a_chat_stream_lets_a_secret_in(chat_only: InProcessGateway, upstream: Upstream) -> None:
    body = {"model": "SvcLLM", "messages": [{"role": "user", "content": "x"}]}
    assert await leaking_streams(chat_only, upstream, "/v1/chat/completions", chat_chunks(), body) == []


async def test_no_place_of_a_native_stream_lets_a_secret_in(native: InProcessGateway, upstream: Upstream) -> None:
    body = {"model": "SvcLLM", "input": "x"}
    assert await leaking_streams(native, upstream, "/v1/responses", response_events(), body) == []
