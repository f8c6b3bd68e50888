"""The sanitizer on the model routes: whole and streamed, masked and refused, in each route's own form."""

import asyncio
from typing import Any

import aiohttp
import openai
import orjson
import pytest

from tests.support import upstream as up
from tests.support.asking import ask, ask_stream, said, toml
from tests.support.gateways import InProcessGateway, StartGateway
from tests.support.upstream import Upstream

CARD = "4539 1488 0343 6467"
PIECES = ["My card is 4539 ", "1488 03", "43 6467", " you see"]
MASKED = "My card is [REDACTED:CREDIT_CARD] you see"
ROUTES = '[guardrail]\nenabled = "off"\n[sanitize]\nroutes = ["chat", "responses"]\n'


@pytest.fixture
async def cleaning(start_gateway: StartGateway, upstream: Upstream) -> InProcessGateway:
    return await start_gateway(toml(upstream) + ROUTES)


@pytest.fixture
async def blocking(start_gateway: StartGateway, upstream: Upstream) -> InProcessGateway:
    return await start_gateway(toml(upstream) + ROUTES + '[sanitize.actions.responses]\nCREDIT_CARD = "block"\n')


async def responses_stream(server: InProcessGateway) -> list[Any]:
    body = {"model": "SvcLLM", "input": "x", "stream": True}
    async with (
        aiohttp.ClientSession(headers=server.headers) as session,
        session.post(server.url + "/v1/responses", json=body) as answer,
    ):
        raw = (await answer.read()).decode()
    return [orjson.loads(line[6:]) for line in raw.splitlines() if line.startswith("data: {")]


async def metrics_of(session: aiohttp.ClientSession, server: InProcessGateway) -> str:
    async with session.get(server.ops_url + "/metrics") as metrics:
        return await metrics.text()


async def test_what_is_asked_is_masked_before_it_leaves(cleaning: InProcessGateway, upstream: Upstream) -> None:
    upstream.will(up.answer())
    await ask(cleaning, messages=[{"role": "user", "content": f"pay {CARD}"}])
    assert upstream.last.body["messages"][0]["content"] == "pay [REDACTED:CREDIT_CARD]"
    await ask(cleaning, "/v1/responses", input=f"pay {CARD}")
    assert upstream.last.body["messages"][0]["content"] == "pay [REDACTED:CREDIT_CARD]"


async def test_what_was_found_in_any_message_is_told_with_the_answer(
    cleaning: InProcessGateway, upstream: Upstream
) -> None:
    upstream.will(up.answer())
    messages = [{"role": "system", "content": f"never say {CARD}"}, {"role": "user", "content": f"pay {CARD}"}]
    _, data, _ = await ask(cleaning, messages=messages)
    assert data["choices"][0]["provider_specific_fields"]["sanitization"] == {
        "redacted": {"CREDIT_CARD": 2},
        "flagged": {},
    }


@pytest.mark.parametrize("by_reference", [False, True])
async def test_what_was_kept_of_earlier_turns_is_masked_before_it_leaves_again(
    cleaning: InProcessGateway, upstream: Upstream, by_reference: bool
) -> None:
    upstream.will(up.answer(up.completion(f"Your card is {CARD}")), up.answer())
    _, first, _ = await ask(cleaning, "/v1/responses", input="which card?")
    assert CARD not in str(first)
    reference = [{"type": "item_reference", "id": first["output"][0]["id"]}, {"role": "user", "content": "again"}]
    again = {"input": reference} if by_reference else {"input": "again", "previous_response_id": first["id"]}
    status, data, _ = await ask(cleaning, "/v1/responses", **again)
    assert status == 200 and CARD not in str(upstream.last.body)
    assert data["provider_specific_fields"]["sanitization"] == {"redacted": {"CREDIT_CARD": 1}, "flagged": {}}
    assert "Your card is [REDACTED:CREDIT_CARD]" in str(upstream.last.body)


async def test_an_earlier_turn_that_must_not_pass_is_refused_by_name(
    start_gateway: StartGateway, upstream: Upstream
) -> None:
    server = await start_gateway(toml(upstream) + ROUTES + '[sanitize.actions.requests]\nCREDIT_CARD = "block"\n')
    upstream.will(up.answer(up.completion(f"Your card is {CARD}")), up.answer())
    _, first, _ = await ask(server, "/v1/responses", input="which card?")
    status, data, _ = await ask(server, "/v1/responses", input="again", previous_response_id=first["id"])
    assert (status, data["error"]["code"], data["error"]["param"]) == (400, "content_filter", "previous_response_id")
    assert len(upstream.seen) == 1


async def test_a_value_split_over_chunks_is_masked(cleaning: InProcessGateway, upstream: Upstream) -> None:
    upstream.will(up.stream(*up.text_stream(PIECES)))
    _, events = await ask_stream(cleaning)
    assert said(events) == MASKED and events[-1] is None
    assert events[-2]["choices"][0]["finish_reason"] == "stop"


async def test_relayed_chunks_keep_their_escapes_and_scripts_beside_what_is_masked(
    cleaning: InProcessGateway, upstream: Upstream
) -> None:
    pieces = ["Grüße, ", "die Karte:\n", "„4539 14", "88 0343 6467“ ", 'und "mehr"\\ ', "größer ", "日本 ", "end"]
    upstream.will(up.stream(*up.text_stream(pieces)))
    _, events = await ask_stream(cleaning)
    assert said(events) == "".join(pieces).replace(CARD, "[REDACTED:CREDIT_CARD]")


async def test_a_value_split_over_response_events_is_masked_in_all_of_them(
    cleaning: InProcessGateway, upstream: Upstream
) -> None:
    upstream.will(up.stream(*up.text_stream(PIECES)))
    events = await responses_stream(cleaning)
    deltas = "".join(e["delta"] for e in events if e["type"] == "response.output_text.delta")
    done = next(e["text"] for e in events if e["type"] == "response.output_text.done")
    final = events[-1]["response"]["output"][0]["content"][0]["text"]
    assert deltas == done == final == MASKED
    assert [e["sequence_number"] for e in events] == list(range(len(events)))


async def test_a_blocked_chat_stream_ends_with_content_filter(blocking: InProcessGateway, upstream: Upstream) -> None:
    upstream.will(up.stream(*up.text_stream(PIECES)))
    _, events = await ask_stream(blocking)
    assert said(events).strip() == "My card is" and events[-1] is None
    ending = events[-2]
    (choice,) = ending["choices"]
    report = choice.pop("provider_specific_fields")["sanitization"]
    assert report == {"redacted": {"CREDIT_CARD": 1}, "flagged": {}}
    assert choice == {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "content_filter"}
    for name in ("id", "object", "created", "model"):
        assert {event[name] for event in events[:-1]} == {ending[name]}
    assert ending["model"] == "SvcLLM"


async def test_a_blocked_chat_stream_tells_its_usage_when_asked(blocking: InProcessGateway, upstream: Upstream) -> None:
    upstream.will(up.stream(*up.text_stream(PIECES)))
    _, events = await ask_stream(blocking, stream_options={"include_usage": True})
    *chunks, ending, told, done = events
    assert done is None and ending["choices"][0]["finish_reason"] == "content_filter"
    assert all(event["usage"] is None for event in (*chunks, ending))
    usage = told["usage"]
    assert told["choices"] == [] and told["id"] == ending["id"]
    assert usage["prompt_tokens"] in (2, 3) and usage["completion_tokens"] > 0  # estimated, or the upstream's own
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


@pytest.mark.slow  # through the official client
async def test_the_clients_own_accumulator_follows_a_blocked_chat_stream(
    blocking: InProcessGateway, upstream: Upstream
) -> None:
    upstream.will(up.stream(*up.text_stream(PIECES)))
    client = openai.AsyncOpenAI(base_url=blocking.url + "/v1", api_key=blocking.key, max_retries=0, timeout=8)
    async with (
        client,
        client.chat.completions.stream(
            model="SvcLLM", messages=[{"role": "user", "content": "hello"}], stream_options={"include_usage": True}
        ) as stream,
    ):
        kinds = [event.type async for event in stream]
        snapshot = stream.current_completion_snapshot
    assert snapshot.choices[0].finish_reason == "content_filter" and snapshot.usage is not None
    assert kinds[-1] == "chunk" and (snapshot.choices[0].message.content or "").strip() == "My card is"


async def test_a_blocked_responses_stream_ends_incomplete(blocking: InProcessGateway, upstream: Upstream) -> None:
    upstream.will(up.stream(*up.text_stream(PIECES)))
    events = await responses_stream(blocking)
    assert events[-1]["type"] == "response.incomplete"
    assert events[-1]["response"]["incomplete_details"] == {"reason": "content_filter"}
    assert events[-1]["response"]["usage"]["input_tokens"] > 0
    assert [e["sequence_number"] for e in events] == list(range(len(events)))
    assert "1111" not in orjson.dumps(events).decode()


async def test_a_blocked_whole_answer_is_a_200_that_says_so(blocking: InProcessGateway, upstream: Upstream) -> None:
    upstream.will(up.answer(up.completion("".join(PIECES))))
    status, data, _ = await ask(blocking)
    assert status == 200 and data["choices"][0]["finish_reason"] == "content_filter"
    assert data["choices"][0]["message"]["content"] == "My card is ", "the text up to the finding"
    status, answer, _ = await ask(blocking, "/v1/responses", input="x")
    assert status == 200 and answer["incomplete_details"] == {"reason": "content_filter"}
    assert [part["text"] for part in answer["output"][0]["content"]] == ["My card is "]
    assert "1111" not in orjson.dumps([data, answer]).decode()


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_that_went_on_without_the_guardrail_says_so(
    start_gateway: StartGateway, upstream: Upstream, stream: bool
) -> None:
    more = '[guardrail]\nenabled = "on"\non_failure = "open"\n[sanitize]\nroutes = ["chat"]\n'
    server = await start_gateway(toml(upstream) + more)
    no_judgement = up.answer(up.completion("I would rather not say."))
    upstream.will(no_judgement, up.stream(*up.text_stream(["fine"])) if stream else up.answer(up.completion("fine")))
    body = {"model": "SvcLLM", "stream": stream, "messages": [{"role": "user", "content": "who is the patient"}]}
    async with aiohttp.ClientSession(headers=server.headers) as session:
        async with session.post(server.url + "/v1/chat/completions", json=body) as answer:
            raw = await answer.read()
            assert (answer.status, answer.headers["X-Gateway-Guardrail"]) == (200, "unavailable")
        async with asyncio.timeout(5):
            while 'gateway_unguarded_texts_total{endpoint="chat"} 1.0' not in await metrics_of(session, server):
                pass
    assert b"fine" in raw
    if not stream:
        fields = orjson.loads(raw)["choices"][0]["provider_specific_fields"]
        assert fields["sanitization"] == {"redacted": {}, "flagged": {}, "guardrail": "unavailable"}


async def test_what_is_flagged_is_counted_once_beside_earlier_turns(
    start_gateway: StartGateway, upstream: Upstream
) -> None:
    server = await start_gateway(toml(upstream) + ROUTES + '[sanitize.actions.requests]\nEMAIL = "flag"\n')
    upstream.will(up.answer(), up.answer())
    _, first, _ = await ask(server, "/v1/responses", input="hello")
    told = {"input": "write to jane.doe@posthaus.org", "previous_response_id": first["id"]}
    _, data, _ = await ask(server, "/v1/responses", **told)
    assert data["provider_specific_fields"]["sanitization"] == {"redacted": {}, "flagged": {"EMAIL": 1}}


@pytest.mark.parametrize("stream", [False, True])
async def test_what_an_upstream_says_of_a_refused_request_is_masked(
    cleaning: InProcessGateway, upstream: Upstream, stream: bool
) -> None:
    words = {"message": f"card {CARD} is not allowed", "code": "4539148803436467", "param": "4539148803436467"}
    upstream.will(up.answer({"error": words}, status=400))
    if stream:
        _, events = await ask_stream(cleaning)
        error = next(event["error"] for event in events if event and "error" in event)
    else:
        error = (await ask(cleaning))[1]["error"]
    assert error["message"] == "card [REDACTED:CREDIT_CARD] is not allowed"
    assert "4539148803436467" not in str(error)
