"""Chat completions through the whole gateway, against a scripted upstream: answers, streams, refused requests."""

import asyncio
from typing import Any

import pytest

from tests.support import upstream as up
from tests.support.asking import ASK, CHAT, MESSAGES, RESPONSES, ask, ask_stream, said, send, toml
from tests.support.gateways import Gateway, Serve
from tests.support.upstream import Upstream

# --- answers ----------------------------------------------------------------------------------------------------------


async def test_a_whole_answer_has_the_public_model_usage_and_where_it_came_from(server: Gateway) -> None:
    server.upstream.will(up.answer())
    status, data, headers = await ask(server, model="assistant", user="someone@posthaus.org", api_base="http://evil/")
    assert status == 200
    assert (data["model"], data["object"]) == ("SvcLLM", "chat.completion")
    assert data["id"].startswith("chatcmpl-") and type(data["created"]) is int
    [choice] = data["choices"]
    assert choice["index"] == 0
    assert choice["message"] == {"role": "assistant", "content": "Hello there", "refusal": None}
    assert choice["finish_reason"] == "stop"
    fields = choice["provider_specific_fields"]
    assert fields["model"] == "up-model" and fields["attempts"] == 1 and fields["latency_ms"] > 0
    assert data["usage"] == {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    assert float(headers["x-gateway-overhead-ms"]) >= 0 and headers["openai-processing-ms"].isdigit()
    sent = server.upstream.last.body
    assert sent["model"] == "up-model" and "api_base" not in sent
    assert sent["user"].startswith("user_") and "someone" not in sent["user"]
    assert "Bearer" not in server.upstream.last.headers.get("authorization", "")
    assert "someone" not in server.log_text() and sent["user"] in server.log_text()


async def test_a_stream_is_relayed_and_cleanly_ended(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.stream(*up.text_stream([f"w{n} " for n in range(100)])))
    status, events = await ask_stream(server)
    assert status == 200 and events[-1] is None
    assert said(events) == "".join(f"w{n} " for n in range(100))
    assert [e["choices"][0]["finish_reason"] for e in events[:-1]] == [None] * (len(events) - 2) + ["stop"]
    assert upstream.last.body["stream_options"] == {"include_usage": True}
    upstream.will(up.stream(*up.text_stream()))
    status, events = await ask_stream(server, stream_options={"include_usage": True})
    assert events[-2]["usage"]["total_tokens"] == 5 and events[-2]["choices"] == []


async def test_json_is_forced_where_the_upstream_cannot(serve: Serve, upstream: Upstream) -> None:
    server = await serve(toml(upstream, json_object=False))
    wanted = {"type": "json_object"}
    upstream.will(up.answer(up.completion('{"a": 1}')))
    status, data, _ = await ask(server, response_format=wanted)
    assert status == 200 and data["choices"][0]["message"]["content"] == '{"a": 1}'
    assert "response_format" not in upstream.last.body and "JSON" in upstream.last.body["messages"][0]["content"]
    status, data, _ = await ask(server, RESPONSES, input="x", response_format=wanted)
    assert status == 200 and "JSON" in upstream.last.body["messages"][0]["content"]


JSON_FORMS: dict[str, dict[str, Any]] = {
    CHAT: {"response_format": {"type": "json_object"}},
    RESPONSES: {"input": "hi", "text": {"format": {"type": "json_schema", "name": "x", "schema": {"type": "object"}}}},
    MESSAGES: {"max_tokens": 9, "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
}


def json_text(path: str, data: Any) -> str:
    if path == CHAT:
        return str(data["choices"][0]["message"]["content"])
    return str(data["content"][0]["text"] if path == MESSAGES else data["output"][-1]["content"][0]["text"])


JSON_DOORS = [*((path, "chat") for path in JSON_FORMS), (RESPONSES, "native"), (MESSAGES, "native")]


async def json_door(serve: Serve, upstream: Upstream, path: str, speaks: str) -> Gateway:
    """A gateway whose upstream speaks chat, or the interface of the path itself."""
    name = path.rpartition("/")[2]
    return await serve(toml(upstream, **({name: "'native'"} if speaks == "native" else {})))


def json_answer(path: str, speaks: str, text: str, finish: str = "stop") -> up.Script:
    if speaks == "chat":
        return up.answer(up.completion(text, finish))
    is_cut = finish == "length"
    if path == MESSAGES:
        return up.answer(up.message(text, stop="max_tokens" if is_cut else "end_turn"))
    cut = {"incomplete_details": {"reason": "max_output_tokens"}} if is_cut else {}
    whole = up.response({"type": "reasoning", "summary": []}, text, **cut)
    whole["output"][-1]["content"][0]["logprobs"] = [{"token": text}]
    return up.answer(whole)


@pytest.mark.parametrize(("path", "speaks"), JSON_DOORS)
@pytest.mark.parametrize(
    "text",
    ['{"a": 1}', '```json\n{"a": 1}\n```', 'Sure! Here it is:\n\n{"a": 1}\n\nAnything else?', 'x {y} ```\n{"a": 1}```'],
)
async def test_what_is_around_json_goes(serve: Serve, upstream: Upstream, path: str, speaks: str, text: str) -> None:
    server = await json_door(serve, upstream, path, speaks)
    upstream.will(json_answer(path, speaks, text))
    status, data, _ = await ask(server, path, **JSON_FORMS[path])
    assert status == 200 and json_text(path, data) == '{"a": 1}' and len(upstream.seen) == 1
    assert ("words around its JSON" in str(data)) == (text != '{"a": 1}')


@pytest.mark.parametrize(("path", "speaks"), JSON_DOORS)
async def test_an_answer_that_is_no_json_is_asked_for_once_more(serve: Serve, path: str, speaks: str) -> None:
    server = await json_door(serve, serve.upstream, path, speaks)
    none = json_answer(path, speaks, "Sure! {Here} it is")
    serve.upstream.will(none, json_answer(path, speaks, '{"a": 1}'))
    status, data, _ = await ask(server, path, **JSON_FORMS[path])
    assert status == 200 and json_text(path, data) == '{"a": 1}' and len(serve.upstream.seen) == 2
    serve.upstream.will(none, none)
    status, data, _ = await ask(server, path, **JSON_FORMS[path])
    assert (status, data["error"]["code"]) == (502, "invalid_json_answer") and len(serve.upstream.seen) == 4
    serve.upstream.will(json_answer(path, speaks, "cut {", "length"))
    assert (await ask(server, path, **JSON_FORMS[path]))[0] == 200


async def test_there_is_no_second_try_without_a_budget_for_it(serve: Serve, upstream: Upstream) -> None:
    server = await serve(toml(upstream) + "\n[limits]\ntokens_per_day = 1500\n")
    spent = {"prompt_tokens": 1000, "completion_tokens": 200, "total_tokens": 1200}
    upstream.will(up.answer({**up.completion("no " * 400), "usage": spent}))
    status, data, _ = await ask(server, **JSON_FORMS[CHAT], max_tokens=600)
    assert (status, data["error"]["code"]) == (502, "invalid_json_answer") and len(upstream.seen) == 1


def json_stream(path: str, speaks: str, text: str) -> up.Script:
    if speaks == "chat":
        return up.stream(*up.text_stream([text[:3], text[3:]]))
    if path == RESPONSES:
        return up.stream(*up.response_stream(up.response(text), 3))
    return up.stream(*up.message_stream(up.message(text), 3))


@pytest.mark.parametrize(("path", "speaks"), JSON_DOORS)
@pytest.mark.parametrize("text", ['{"a": 1}', 'Here: {"a": 1}', "nope"])
async def test_a_stream_says_where_it_is_no_json(serve: Serve, path: str, speaks: str, text: str) -> None:
    server = await json_door(serve, serve.upstream, path, speaks)
    serve.upstream.will(json_stream(path, speaks, text))
    status, events, _ = await send(server, path, {**ASK, "stream": True, **JSON_FORMS[path]})
    assert status == 200 and ("is no JSON, or has words" in str(events[-3:])) == (text != '{"a": 1}')


async def test_an_answer_without_a_reason_has_null_and_says_so(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer(up.completion(finish=None)))
    _, data, _ = await ask(server)
    [choice] = data["choices"]
    assert choice["finish_reason"] is None
    assert choice["provider_specific_fields"]["error"] == "the upstream did not say why the answer ended"


async def test_legacy_functions_work_and_end_with_function_call(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer(up.completion(None, "tool_calls", tool_calls=[up.called("add", '{"a":1}')])))
    messages = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "function_call": {"name": "add", "arguments": "{}"}},
        {"role": "function", "name": "add", "content": "2"},
    ]
    status, data, _ = await ask(server, messages=messages, functions=[{"name": "add"}], function_call={"name": "add"})
    choice = data["choices"][0]
    assert status == 200 and choice["finish_reason"] == "function_call"
    assert choice["message"]["function_call"] == {"name": "add", "arguments": '{"a":1}'}
    sent = upstream.last.body
    assert sent["tools"][0]["function"]["name"] == "add" and sent["tool_choice"]["function"]["name"] == "add"
    asked, told = sent["messages"][1:]
    assert told["role"] == "tool" and told["tool_call_id"] == asked["tool_calls"][0]["id"]


async def test_a_text_model_needs_the_chat_scope_though_ocr_opens_the_route(server: Gateway) -> None:
    status, answer, _ = await send(server, CHAT, ASK, key=server.make_key("ocr"))
    assert status == 403 and "'chat'" in answer["error"]["message"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
async def test_a_stream_tells_in_its_headers_what_its_first_event_took(server: Gateway, path: str) -> None:
    server.upstream.will(up.stream(*up.text_stream()))
    body = {"model": "SvcLLM", "stream": True, "messages": [{"role": "user", "content": "x"}], "input": "x"}
    del body["input" if "chat" in path else "messages"]
    status, _, headers = await send(server, path, body)
    assert status == 200 and headers["x-request-id"] and headers["openai-processing-ms"].isdigit()
    assert float(headers["x-gateway-overhead-ms"]) >= 0


async def test_streams_one_after_another_use_one_connection(server: Gateway, upstream: Upstream) -> None:
    """The end of a body comes after `[DONE]`, in a read of its own: it is waited for, but by nobody's client."""
    upstream.will(up.stream(*up.text_stream()))
    for _ in range(5):
        status, _ = await ask_stream(server)
        assert status == 200
        await asyncio.sleep(0.05)  # the upstream writes the end of its body
    assert upstream.connections == 1


async def test_an_upstream_that_talks_on_after_its_finish_is_left(server: Gateway, upstream: Upstream) -> None:
    async def endless(exchange: up.Exchange) -> None:
        await exchange.stream_head()
        for piece in up.text_stream()[:4]:  # role, two texts, finish
            await exchange.piece(piece)
        while True:
            await exchange.piece(up.chunk({"content": "and on "}))

    upstream.will(endless)
    status, events = await ask_stream(server)
    assert status == 200 and events[-1] is None and said(events).startswith("Hello there")
    assert len(events) < 2_000


async def test_what_an_upstream_sends_behind_its_end_reaches_nobody(server: Gateway, upstream: Upstream) -> None:
    late = up.chunk({"content": "LATE"})
    upstream.will(up.stream(b"".join([*up.text_stream(), up.DONE, late, late])))  # one read, one batch of events
    status, events = await ask_stream(server)
    assert status == 200 and events[-1] is None
    assert said(events) == "Hello there"
