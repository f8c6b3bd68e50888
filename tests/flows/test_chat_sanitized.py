"""The sanitizer on the model routes: whole and streamed, masked and refused, in each route's own form."""

import asyncio
import json
import re
from typing import Any

import pytest

from tests.support import upstream as up
from tests.support.asking import CHAT, MCP, MESSAGES, RESPONSES, ask, ask_stream, call_tool, said, send, toml
from tests.support.doors import TOOLS, Told, told_by
from tests.support.gateways import Gateway, Serve
from tests.support.upstream import Upstream
from tests.support.web_tools import tool_call

CARD = "4539 1488 0343 6467"
PIECES = ["My card is 4539 ", "1488 03", "43 6467", " you see"]
MASKED = "My card is [REDACTED:CREDIT_CARD] you see"
KEY, MAIL = "AKIA" + "QWERTY7Z" * 2, "jane.doe@posthaus.org"
GUARDED = '[guardrail]\nenabled = "on"\n[sanitize]\nroutes = ["websearch", "chat"]\n'
PATHS = (CHAT, RESPONSES, MESSAGES)
ROUTES = '[guardrail]\nenabled = "off"\n[sanitize]\nroutes = ["chat", "responses"]\n'


@pytest.fixture
async def cleaning(serve: Serve, upstream: Upstream) -> Gateway:
    return await serve(toml(upstream) + ROUTES)


@pytest.fixture
async def blocking(serve: Serve, upstream: Upstream) -> Gateway:
    return await serve(toml(upstream) + ROUTES + '[sanitize.actions.responses]\nCREDIT_CARD = "block"\n')


def user(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


async def test_the_upstream_never_sees_what_was_masked(cleaning: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer(up.completion(f"your key {KEY}")))
    call = up.called("pay", json.dumps({"card": CARD, "n": 1}), "t")
    turns = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t", "content": f"paid by {MAIL}"},
    ]
    _, answer, _ = await ask(cleaning, messages=[*user(f"pay with {CARD}, tell {MAIL}"), *turns])
    sent = upstream.last.body["messages"]
    assert sent[0]["content"] == "pay with [REDACTED:CREDIT_CARD], tell [REDACTED:EMAIL]"
    arguments = json.loads(sent[1]["tool_calls"][0]["function"]["arguments"])
    assert arguments == {"card": "[REDACTED:CREDIT_CARD]", "n": 1}
    assert sent[2]["content"] == "paid by [REDACTED:EMAIL]"
    assert answer["choices"][0]["message"]["content"] == "your key [REDACTED:SECRET]"
    log = cleaning.log_text()
    assert not re.search(r"\b4539\b", log) and MAIL not in log and '"CREDIT_CARD"' in log


@pytest.mark.parametrize("path", PATHS)
async def test_a_whole_answer_is_masked_and_says_so(cleaning: Gateway, upstream: Upstream, path: str) -> None:
    call = up.called("send", json.dumps({"to": CARD}))
    upstream.will(up.answer(up.completion(f"your key {KEY}", "tool_calls", tool_calls=[call])))
    told = await told_by(cleaning, path, f"pay {CARD}", tools=[TOOLS[path]])
    assert upstream.last.body["messages"][0]["content"] == "pay [REDACTED:CREDIT_CARD]"
    assert told.text == "your key [REDACTED:SECRET]" and KEY not in told.shown and CARD not in told.shown
    assert [json.loads(each) for each in told.arguments] == [{"to": "[REDACTED:CREDIT_CARD]"}]
    assert re.search(r'"redacted":\{("CREDIT_CARD":2|"SECRET":1|,)+\}', told.shown)


async def test_chat_is_left_alone_unless_it_is_named_in_routes(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer(up.completion(f"key {KEY}")))
    _, answer, _ = await ask(server, messages=user(f"card {CARD}"))
    assert CARD in str(upstream.last.body) and KEY in str(answer)


async def test_a_blocked_request_is_400_and_says_what_and_where(serve: Serve, upstream: Upstream) -> None:
    server = await serve(toml(upstream) + ROUTES + '[sanitize.actions]\nrequests.CREDIT_CARD = "block"\n')
    status, answer, _ = await ask(server, messages=user(f"pay {CARD}"))
    assert (status, answer["error"]["code"]) == (400, "content_filter")
    assert "CREDIT_CARD" in answer["error"]["message"] and answer["error"]["param"] == "messages[0].content"
    assert upstream.seen == []


async def test_what_was_found_in_any_message_is_told_with_the_answer(cleaning: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer())
    messages = [{"role": "system", "content": f"never say {CARD}"}, {"role": "user", "content": f"pay {CARD}"}]
    _, data, _ = await ask(cleaning, messages=messages)
    assert data["choices"][0]["provider_specific_fields"]["sanitization"] == {
        "redacted": {"CREDIT_CARD": 2},
        "flagged": {},
    }


@pytest.mark.parametrize("by_reference", [False, True])
async def test_what_was_kept_of_earlier_turns_is_masked_before_it_leaves_again(
    cleaning: Gateway, upstream: Upstream, by_reference: bool
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


async def test_an_earlier_turn_that_must_not_pass_is_refused_by_name(serve: Serve, upstream: Upstream) -> None:
    server = await serve(toml(upstream) + ROUTES + '[sanitize.actions.requests]\nCREDIT_CARD = "block"\n')
    upstream.will(up.answer(up.completion(f"Your card is {CARD}")), up.answer())
    _, first, _ = await ask(server, "/v1/responses", input="which card?")
    status, data, _ = await ask(server, "/v1/responses", input="again", previous_response_id=first["id"])
    assert (status, data["error"]["code"], data["error"]["param"]) == (400, "content_filter", "previous_response_id")
    assert len(upstream.seen) == 1


STREAMED: dict[str, list[bytes]] = {
    "text": [up.chunk({"content": piece}) for piece in PIECES],
    "thinking": [up.chunk({"reasoning_content": piece}) for piece in ("4539 14", "88 0343 64", "67 !")],
    "arguments": up.call_chunks(up.called("send", '{"to":"4539 1488 0343 6467"}'), 7),
}  # fmt: skip


@pytest.mark.parametrize("case", STREAMED)
@pytest.mark.parametrize("path", PATHS)
async def test_a_value_split_over_pieces_is_masked(cleaning: Gateway, upstream: Upstream, path: str, case: str) -> None:
    upstream.will(up.stream(*STREAMED[case], up.chunk({}, "stop"), up.DONE))
    more: dict[str, Any] = {"thinking": {"type": "enabled"}} if path == MESSAGES else {}
    told = await told_by(cleaning, path, stream=True, tools=[TOOLS[path]], **more)
    assert told.error is None and not re.search("0343|1488", told.shown)
    assert told.text == (MASKED if case == "text" else "")
    assert told.arguments == (('{"to":"[REDACTED:CREDIT_CARD]"}',) if case == "arguments" else ())
    if path == RESPONSES:
        assert [event["sequence_number"] for event in told.events] == list(range(len(told.events)))
        assert case != "text" or told.answer["output"][0]["content"][0]["text"] == MASKED
    assert all(event.keys() == {"type", "index"} for event in told.events if event.get("type") == "content_block_stop")


async def test_relayed_chunks_keep_their_escapes_and_scripts_beside_what_is_masked(cleaning: Gateway) -> None:
    pieces = ["Grüße, ", "die Karte:\n", "„4539 14", "88 0343 6467“ ", 'und "mehr"\\ ', "größer ", "日本 ", "end"]
    cleaning.upstream.will(up.stream(*up.text_stream(pieces)))
    _, events = await ask_stream(cleaning)
    assert said(events) == "".join(pieces).replace(CARD, "[REDACTED:CREDIT_CARD]")


def end_of(path: str, told: Told) -> Any:
    """The reason for which an answer ended."""
    if path == CHAT:
        chunks = told.events or (told.answer,)
        return [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"]][-1]
    if path == RESPONSES:
        return told.answer["incomplete_details"]["reason"]
    return told.events[-2]["delta"]["stop_reason"] if told.events else told.answer["stop_reason"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", PATHS)
async def test_a_blocked_answer_is_a_good_one_that_ends_before_the_finding_and_says_why(
    blocking: Gateway, upstream: Upstream, path: str, stream: bool
) -> None:
    upstream.will(up.stream(*up.text_stream(PIECES)) if stream else up.answer(up.completion("".join(PIECES))))
    told = await told_by(blocking, path, stream=stream)
    assert (told.status, told.text.rstrip()) == (200, "My card is")
    assert end_of(path, told) == ("refusal" if path == MESSAGES else "content_filter")
    assert '"redacted":{"CREDIT_CARD":1},"flagged":{}' in told.shown
    assert not any(piece in told.shown for piece in PIECES[1:3])
    if stream and path == RESPONSES:
        assert told.events[-1]["type"] == "response.incomplete" and told.answer["usage"]["input_tokens"] > 0
        assert [event["sequence_number"] for event in told.events] == list(range(len(told.events)))
    if stream and path == MESSAGES:
        kinds = [event["type"] for event in told.events]
        assert kinds.count("content_block_start") == kinds.count("content_block_stop") == 1
        assert kinds[-2:] == ["message_delta", "message_stop"]


async def test_a_blocked_chat_stream_tells_its_usage_when_asked(blocking: Gateway, upstream: Upstream) -> None:
    upstream.will(up.stream(*up.text_stream(PIECES)))
    _, events = await ask_stream(blocking, stream_options={"include_usage": True})
    *chunks, ending, told, done = events
    choice = {name: value for name, value in ending["choices"][0].items() if name != "provider_specific_fields"}
    assert done is None
    assert choice == {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "content_filter"}
    for name in ("id", "object", "created", "model"):
        assert {event[name] for event in chunks} == {ending[name]}
    assert all(event["usage"] is None for event in (*chunks, ending))
    usage = told["usage"]
    assert told["choices"] == [] and told["id"] == ending["id"]
    assert usage["prompt_tokens"] in (2, 3) and usage["completion_tokens"] > 0  # estimated, or the upstream's own
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_that_went_on_without_the_guardrail_says_so(serve: Serve, stream: bool) -> None:
    more = '[guardrail]\nenabled = "on"\non_failure = "open"\n[sanitize]\nroutes = ["chat"]\n'
    server = await serve(toml(serve.upstream) + more)
    fine = up.stream(*up.text_stream(["fine"])) if stream else up.answer(up.completion("fine"))
    serve.upstream.will(up.answer(up.completion("I would rather not say.")), fine)
    asked = {"model": "SvcLLM", "stream": stream, "messages": user("who is the patient")}
    status, answer, headers = await send(server, "/v1/chat/completions", asked)
    assert (status, headers["X-Gateway-Guardrail"]) == (200, "unavailable") and "fine" in str(answer)
    async with asyncio.timeout(5):
        told = 'gateway_unguarded_texts_total{endpoint="chat"} 1.0'
        while told not in (await send(server, server.ops_url + "/metrics", method="GET"))[1]:
            pass
    if not stream:
        fields = answer["choices"][0]["provider_specific_fields"]
        assert fields["sanitization"] == {"redacted": {}, "flagged": {}, "guardrail": "unavailable"}


async def test_the_guardrail_judges_what_the_detectors_left_and_is_told_in_the_status(serve: Serve) -> None:
    server = await serve(toml(serve.upstream) + GUARDED.replace("[sanitize]", '[sanitize]\nprofile = "strict"'))
    found = json.dumps({"findings": [{"type": "PERSON", "value": "Ada Private"}]})
    serve.upstream.will(up.answer(up.completion(found)), up.answer(up.completion("fine")))
    status, _, _ = await ask(server, messages=user(f"patient Ada Private pays with {CARD}"))
    judged, sent = (seen.body for seen in serve.upstream.seen[:2])
    assert "[REDACTED:CREDIT_CARD]" in judged["messages"][-1]["content"] and not re.search(r"\b4539\b", str(judged))
    assert sent["messages"][0]["content"] == "patient [REDACTED:PERSON] pays with [REDACTED:CREDIT_CARD]"
    assert status == 200 and (await call_tool(server, "search_status"))[1]["guardrail"]["status"] == "ok"


async def test_a_failing_guardrail_fails_what_needed_it_and_nothing_else(serve: Serve, upstream: Upstream) -> None:
    upstream.will(up.answer(up.completion("I would rather not say.")))
    server = await serve(toml(upstream) + GUARDED)
    calls = [tool_call("search", {"query": "who is the patient"}), tool_call("search_status", {}, call_id=2)]
    status, answers, _ = await send(server, MCP, calls)
    assert status == 200 and [answer["result"]["isError"] for answer in answers] == [True, False]
    error = json.loads(answers[0]["result"]["content"][0]["text"])["data"]["error"]
    assert error["retryable"] is True and "guardrail" in error["message"]
    status, answer, _ = await ask(server, messages=user("who is the patient"))
    assert (status, answer["error"]["code"]) == (503, "sanitizer_failed")


async def test_what_is_flagged_is_counted_once_beside_earlier_turns(serve: Serve, upstream: Upstream) -> None:
    server = await serve(toml(upstream) + ROUTES + '[sanitize.actions.requests]\nEMAIL = "flag"\n')
    upstream.will(up.answer(), up.answer())
    _, first, _ = await ask(server, "/v1/responses", input="hello")
    told = {"input": "write to jane.doe@posthaus.org", "previous_response_id": first["id"]}
    _, data, _ = await ask(server, "/v1/responses", **told)
    assert data["provider_specific_fields"]["sanitization"] == {"redacted": {}, "flagged": {"EMAIL": 1}}


@pytest.mark.parametrize("stream", [False, True])
async def test_what_an_upstream_says_of_a_refused_request_is_masked(cleaning: Gateway, stream: bool) -> None:
    words = {"message": f"card {CARD} is not allowed", "code": "4539148803436467", "param": "4539148803436467"}
    cleaning.upstream.will(up.answer({"error": words}, status=400))
    if stream:
        _, events = await ask_stream(cleaning)
        error = next(event["error"] for event in events if event and "error" in event)
    else:
        error = (await ask(cleaning))[1]["error"]
    assert error["message"] == "card [REDACTED:CREDIT_CARD] is not allowed"
    assert "4539148803436467" not in str(error)
