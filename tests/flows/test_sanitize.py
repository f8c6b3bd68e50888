"""Nothing sensitive leaves or comes back unseen: through the whole gateway, on real sockets."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from gateway.config.settings import GuardrailSettings, Sanitize, SanitizeActions
from gateway.errors import UpstreamError
from gateway.sanitize.guardrail import Guardrail
from tests.support.gateways import InProcessGateway, StartGateway
from tests.support.upstream import DONE, USAGE, Exchange, Upstream, scripted_upstream
from tests.support.web_tools import tool_call
from tests.support.web_tools_site import web_tools_site

CARD, MAIL, KEY = "4539 1488 0343 6467", "jane.doe@posthaus.org", "AKIA" + "QWERTY7Z" * 2
ROUTES = '[sanitize]\nroutes = ["websearch", "chat", "responses"]\n'


def toml(upstream: Upstream, more: str = "", guardrail: str = "off") -> str:
    return (
        f"[[models]]\nname = 'SvcLLM'\n[[models.upstreams]]\nbase_url = '{upstream.url}'\nmodel = 'm'\n"
        f"[local_llm]\nenabled = false\n[local_ocr]\nenabled = false\n{ROUTES}{more}"
        f"[guardrail]\nenabled = '{guardrail}'\n"
    )


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    async with scripted_upstream() as made:
        yield made


def answering(message: dict[str, Any]) -> Any:
    async def script(exchange: Exchange) -> None:
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
        body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": USAGE}
        raw = orjson.dumps(body)
        await exchange.head(200, Content_Length=str(len(raw)))
        await exchange.raw(raw)

    return script


def streaming(*pieces: str) -> Any:
    async def script(exchange: Exchange) -> None:
        await exchange.stream_head()
        deltas: list[Any] = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces)]
        for delta in deltas:
            await exchange.piece(chunk(delta, None))
        await exchange.piece(chunk({}, "stop"))
        await exchange.piece(DONE)
        await exchange.finish()

    return script


def chunk(delta: Any, reason: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return b"data: " + orjson.dumps({"id": "c", "object": "chat.completion.chunk", "choices": [choice]}) + b"\n\n"


async def post(server: InProcessGateway, body: Any, path: str = "/v1/chat/completions") -> tuple[int, Any]:
    async with (
        asyncio.timeout(10),
        aiohttp.ClientSession() as session,
        session.post(server.url + path, json=body, headers=server.headers) as answer,
    ):
        raw = await answer.read()
        if answer.content_type != "text/event-stream":
            return answer.status, orjson.loads(raw)
        lines = [line[6:] for line in raw.split(b"\n") if line.startswith(b"data: {")]
        return answer.status, [orjson.loads(line) for line in lines]


def ask(content: str, **more: Any) -> Any:
    return {"model": "SvcLLM", "messages": [{"role": "user", "content": content}], **more}


async def test_the_upstream_never_sees_what_was_masked(start_gateway: StartGateway, upstream: Upstream) -> None:
    server = await start_gateway(toml(upstream))
    upstream.will(answering({"content": f"your key {KEY}"}))
    call = {"id": "t", "type": "function", "function": {"name": "pay", "arguments": json.dumps({"card": CARD, "n": 1})}}
    body = ask(f"pay with {CARD}, tell {MAIL}")
    body["messages"] += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t", "content": f"paid by {MAIL}"},
    ]
    status, answer = await post(server, body)
    assert status == 200
    sent = upstream.last.body["messages"]
    assert sent[0]["content"] == "pay with [REDACTED:CREDIT_CARD], tell [REDACTED:EMAIL]"
    arguments = json.loads(sent[1]["tool_calls"][0]["function"]["arguments"])
    assert arguments == {"card": "[REDACTED:CREDIT_CARD]", "n": 1}
    assert sent[2]["content"] == "paid by [REDACTED:EMAIL]"
    assert answer["choices"][0]["message"]["content"] == "your key [REDACTED:SECRET]"
    assert not re.search(r"\b4539\b", server.log_text()) and MAIL not in server.log_text()
    assert '"CREDIT_CARD"' in server.log_text()


@pytest.mark.parametrize("size", [1, 3, 7])
async def test_a_value_split_over_streamed_events_is_masked(
    start_gateway: StartGateway, upstream: Upstream, size: int
) -> None:
    server = await start_gateway(toml(upstream))
    text = f"the card {CARD} and the key {KEY} are here"
    upstream.will(streaming(*(text[start : start + size] for start in range(0, len(text), size))))
    status, events = await post(server, ask("go", stream=True))
    assert status == 200
    choices = [choice for event in events for choice in event.get("choices", [])]
    said = "".join(choice["delta"].get("content") or "" for choice in choices)
    assert said == "the card [REDACTED:CREDIT_CARD] and the key [REDACTED:SECRET] are here"
    assert choices[-1]["finish_reason"] == "stop"
    assert all(choice["finish_reason"] is None for choice in choices[:-1])


async def test_responses_are_masked_whole_and_streamed(start_gateway: StartGateway, upstream: Upstream) -> None:
    server = await start_gateway(toml(upstream))
    upstream.will(answering({"content": f"key {KEY}"}), streaming("the ke", f"y {KEY[:9]}", f"{KEY[9:]} is", " here"))
    status, answer = await post(server, {"model": "SvcLLM", "input": f"card {CARD}"}, "/v1/responses")
    assert status == 200 and KEY not in str(answer) and "[REDACTED:SECRET]" in str(answer)
    assert "[REDACTED:CREDIT_CARD]" in str(upstream.last.body)
    _, events = await post(server, {"model": "SvcLLM", "input": "x", "stream": True}, "/v1/responses")
    deltas = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
    assert deltas == "the key [REDACTED:SECRET] is here"
    assert KEY not in str(events) and events[-1]["type"] == "response.completed"


async def test_a_blocked_request_is_400_and_says_what_and_where(
    start_gateway: StartGateway, upstream: Upstream
) -> None:
    server = await start_gateway(toml(upstream, '[sanitize.actions]\nrequests.CREDIT_CARD = "block"\n'))
    status, answer = await post(server, ask(f"pay {CARD}"))
    assert (status, answer["error"]["code"]) == (400, "content_filter")
    assert "CREDIT_CARD" in answer["error"]["message"] and answer["error"]["param"] == "messages[0].content"
    assert upstream.seen == []


async def test_a_blocked_answer_ends_at_the_finding(start_gateway: StartGateway, upstream: Upstream) -> None:
    server = await start_gateway(toml(upstream, '[sanitize.actions]\nresponses.CREDIT_CARD = "block"\n'))
    upstream.will(answering({"content": f"here: {CARD}"}), streaming("here", ": 4539 1488", " 0343 6467", " more"))
    status, answer = await post(server, ask("x"))
    choice = answer["choices"][0]
    assert (status, choice["finish_reason"]) == (200, "content_filter")
    assert not re.search(r"\b4539\b", str(answer))
    _, events = await post(server, ask("x", stream=True))
    choices = [choice for event in events for choice in event.get("choices", [])]
    assert "".join(choice["delta"].get("content") or "" for choice in choices) == "here: "
    assert choices[-1]["finish_reason"] == "content_filter"


async def test_chat_is_left_alone_unless_it_is_named_in_routes(start_gateway: StartGateway, upstream: Upstream) -> None:
    server = await start_gateway(toml(upstream).replace(ROUTES, ""))
    upstream.will(answering({"content": f"key {KEY}"}))
    _, answer = await post(server, ask(f"card {CARD}"))
    assert CARD in str(upstream.last.body) and KEY in str(answer)


async def test_a_web_tool_sees_masked_arguments_and_its_answer_says_so(tmp_path: Path) -> None:
    async with web_tools_site(tmp_path) as site:
        body = tool_call("search", {"query": f"who is {MAIL}"})
        async with site.post(body, {"Accept": "application/json"}) as answer:
            result = (await answer.json())["result"]
        assert site.tools.seen[0][1].query == "who is [REDACTED:EMAIL]"
        data = json.loads(result["content"][0]["text"])["data"]
        assert data["sanitization"] == {"redacted": {"EMAIL": 1}, "flagged": {}}
        assert MAIL not in str(result)


async def test_a_blocked_tool_call_is_an_error_result_and_the_tool_is_not_called(tmp_path: Path) -> None:
    settings = Sanitize(actions=SanitizeActions(requests={"EMAIL": "block"}))
    async with web_tools_site(tmp_path, sanitize=settings) as site:
        async with site.post(tool_call("search", {"query": MAIL}), {"Accept": "application/json"}) as answer:
            result = (await answer.json())["result"]
        assert result["isError"] is True
        assert "EMAIL" in result["content"][0]["text"] and MAIL not in str(result)
        assert site.tools.seen == []


async def test_a_web_tool_that_went_on_without_the_guardrail_says_so(tmp_path: Path) -> None:
    class Broken:
        async def ask(self, body: Any, timeout_s: float) -> Any:
            raise UpstreamError("it is down")

    guardrail = Guardrail(GuardrailSettings(enabled="on", on_failure="open"), Broken(), "http://x", "m")
    async with web_tools_site(tmp_path, guardrail=guardrail) as site:
        body = tool_call("search", {"query": f"who is {MAIL}"})
        async with site.post(body, {"Accept": "application/json"}) as answer:
            result = (await answer.json())["result"]
            assert answer.headers["X-Gateway-Guardrail"] == "unavailable"
        told = json.loads(result["content"][0]["text"])["data"]["sanitization"]
        assert told == {"redacted": {"EMAIL": 1}, "flagged": {}, "guardrail": "unavailable"}


async def test_a_url_that_was_asked_for_is_fetched_as_it_is(tmp_path: Path) -> None:
    url = "https://example.com/orders/4539148803436467?page=2"
    async with web_tools_site(tmp_path) as site:
        async with site.post(tool_call("extract", {"urls": [url]}), {"Accept": "application/json"}) as answer:
            assert (await answer.json())["result"]["isError"] is False
        assert site.tools.seen[0][1].urls == (url,)


async def test_the_guardrail_judges_what_the_detectors_left_and_is_told_in_the_status(
    start_gateway: StartGateway, upstream: Upstream
) -> None:
    server = await start_gateway(toml(upstream, 'profile = "strict"\n', guardrail="on"))
    found = json.dumps({"findings": [{"type": "PERSON", "value": "Ada Private"}]})
    upstream.will(answering({"content": found}), answering({"content": "fine"}))
    status, _ = await post(server, ask(f"patient Ada Private pays with {CARD}"))
    assert status == 200
    judged, sent = (seen.body for seen in upstream.seen[:2])
    assert "[REDACTED:CREDIT_CARD]" in judged["messages"][-1]["content"] and not re.search(r"\b4539\b", str(judged))
    assert sent["messages"][0]["content"] == "patient [REDACTED:PERSON] pays with [REDACTED:CREDIT_CARD]"
    call = tool_call("search_status")
    status, answer = await post(server, call, "/tools/websearch/mcp")
    assert json.loads(answer["result"]["content"][0]["text"])["data"]["guardrail"]["status"] == "ok"


async def test_a_failing_guardrail_fails_the_tool_call_that_needed_it_and_no_other(
    start_gateway: StartGateway, upstream: Upstream
) -> None:
    upstream.will(answering({"content": "I would rather not say."}))
    server = await start_gateway(toml(upstream, guardrail="on"))
    judged = tool_call("search", {"query": "who is the patient"}, call_id=1)
    free = tool_call("search_status", {}, call_id=2)
    status, answers = await post(server, [judged, free], "/tools/websearch/mcp")
    assert status == 200 and [answer["id"] for answer in answers] == [1, 2]
    assert [answer["result"]["isError"] for answer in answers] == [True, False]
    error = json.loads(answers[0]["result"]["content"][0]["text"])["data"]["error"]
    assert error["retryable"] is True and "guardrail" in error["message"]


async def test_a_failing_guardrail_refuses_requests_unless_it_is_told_not_to(
    start_gateway: StartGateway, upstream: Upstream
) -> None:
    upstream.will(answering({"content": "I would rather not say."}))
    server = await start_gateway(toml(upstream, guardrail="on"))
    status, answer = await post(server, ask("who is the patient"))
    assert (status, answer["error"]["code"]) == (503, "sanitizer_failed")
    server = await start_gateway(toml(upstream, guardrail="on") + "on_failure = 'open'\n")
    status, answer = await post(server, ask("who is the patient"))
    assert status == 200
