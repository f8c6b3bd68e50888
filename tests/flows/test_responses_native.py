"""Upstreams that speak /responses themselves: passed through and mended, whole and streamed."""

from typing import Any

import orjson
import pytest

from tests.support import upstream as up
from tests.support.asking import ask, send, toml
from tests.support.gateways import Gateway, Serve
from tests.support.upstream import Upstream

DONE = up.response("Hello")
[MESSAGE] = DONE["output"]


@pytest.fixture
async def native(serve: Serve, upstream: Upstream) -> Gateway:
    return await serve(toml(upstream, responses="'native'"))


def good_stream() -> list[bytes]:
    return up.response_stream(DONE, 3)


def bare_stream() -> list[bytes]:
    """As llama.cpp sends it: no numbers, no indexes, another id in each event, a minimal start, no end of items."""
    opened = {"type": "message", "id": "a", "role": "assistant", "content": [], "status": "in_progress"}
    return [
        up.event("response.created", response={"id": "resp_up", "object": "response", "status": "in_progress"}),
        up.event("response.output_item.added", item=opened),
        up.event("response.content_part.added", item_id="b", part={"type": "output_text", "text": ""}),
        up.event("response.output_text.delta", item_id="c", delta="Hel"),
        up.event("response.output_text.delta", item_id="d", delta="lo"),
        up.event("response.completed", response={**DONE, "output": [{**MESSAGE, "id": "e"}]}),
        up.DONE,
    ]


async def read(server: Gateway, **body: Any) -> list[Any]:
    status, events, _ = await send(server, "/v1/responses", {"model": "SvcLLM", "stream": True, **body})
    assert status == 200, events
    return list(events)


async def test_a_whole_answer_is_mended_and_stored_here(native: Gateway, upstream: Upstream) -> None:
    text = '{"a": 1}'
    upstream.will(up.answer(up.response(text)))
    body = {"input": "hi", "user": "me", "response_format": {"type": "json_object"}, "api_key": "no"}
    status, data, _ = await ask(native, "/v1/responses", **body)
    assert status == 200 and data["model"] == "SvcLLM" and data["created"] == data["created_at"] == 17
    assert data["usage"]["output_tokens_details"] == {"reasoning_tokens": 0}
    assert data["provider_specific_fields"]["model"] == "up-model" and data["store"] is True
    seen = upstream.last
    assert seen.path == "/v1/responses" and seen.body["text"] == {"format": {"type": "json_object"}}
    assert seen.body["store"] is False and seen.body["user"].startswith("user_") and "api_key" not in seen.body
    upstream.will(up.answer({**DONE, "id": "resp_two"}))
    await ask(native, "/v1/responses", input="and?", previous_response_id="resp_up")
    texts = [part["text"] for item in upstream.last.body["input"] for part in item["content"]]
    assert texts == ["hi", text, "and?"] and "previous_response_id" not in upstream.last.body


@pytest.mark.parametrize("field", [{"stop": ["x"]}, {"presence_penalty": 1}])
async def test_fields_that_responses_lacks_go_through_chat(native: Gateway, field: dict[str, Any]) -> None:
    native.upstream.will(up.answer())
    status, data, _ = await ask(native, "/v1/responses", input="hi", **field)
    assert status == 200 and native.upstream.last.path == "/v1/chat/completions"
    assert data["output"][0]["content"][0]["text"] == "Hello there"


@pytest.mark.parametrize("pieces", [good_stream(), bare_stream()], ids=["well behaved", "bare"])
async def test_a_stream_has_one_id_an_item_and_numbers_without_gaps(native: Gateway, pieces: list[bytes]) -> None:
    native.upstream.will(up.stream(*pieces))
    events = await read(native, input="hi")
    assert [e["sequence_number"] for e in events] == list(range(len(events)))
    assert [e["type"] for e in events[:2]] == ["response.created", "response.in_progress"]
    ids = {e["item_id"] for e in events if "item_id" in e} | {e["item"]["id"] for e in events if "item" in e}
    assert len(ids) == 1 and {e["output_index"] for e in events if "output_index" in e} == {0}
    assert [e["type"] for e in events].count("response.output_item.done") == 1
    final = events[-1]["response"]
    assert events[-1]["type"] == "response.completed" and final["model"] == "SvcLLM"
    assert {item["id"] for item in final["output"]} == ids and {e["response"]["id"] for e in events if "response" in e}


@pytest.mark.parametrize(
    "tail",
    [
        [],
        [up.event("error", error={"message": "boom", "code": 500})],
        [up.event("response.failed", response={**DONE, "status": "failed", "error": {"message": "boom"}})],
        [b"data: {nonsense\n\n"],
    ],
    ids=["cut", "error", "failed", "nonsense"],
)
async def test_a_late_failure_is_an_error_then_failed(native: Gateway, upstream: Upstream, tail: list[bytes]) -> None:
    upstream.will(up.stream(*good_stream()[:5], *tail))
    events = await read(native, input="hi")
    assert [e["type"] for e in events[-2:]] == ["error", "response.failed"]
    assert [e["sequence_number"] for e in events] == list(range(len(events)))
    assert events[-1]["response"]["status"] == "failed" and events[-1]["response"]["error"]["message"]


async def test_a_blocked_stream_ends_incomplete_in_its_own_numbers(serve: Serve, upstream: Upstream) -> None:
    server = await serve(
        toml(upstream, responses="'native'")
        + '[guardrail]\nenabled = "off"\n[sanitize]\nroutes = ["responses"]\n'
        + '[sanitize.actions.responses]\nCREDIT_CARD = "block"\n'
    )
    upstream.will(up.stream(*up.response_stream(up.response("Pay 4539 1488 0343 6467 now"), 4)))
    events = await read(server, input="x")
    assert "0343 6467" not in orjson.dumps(events).decode()
    assert [each["sequence_number"] for each in events] == list(range(len(events)))
    *_, closed, last = events
    assert closed["type"] == "response.output_item.done" and closed["item"]["status"] == "incomplete"
    response = last["response"]
    assert (last["type"], response["status"]) == ("response.incomplete", "incomplete")
    assert response["incomplete_details"] == {"reason": "content_filter"}
    assert response["provider_specific_fields"]["finish_reason"] == "content_filter"
    assert response["provider_specific_fields"]["model"] == "up-model"
    assert [(item["id"], item["content"][0]["text"]) for item in response["output"]] == [("msg_up", "Pay ")]


OWN = """
[[models]]
name = 'Other'
  [[models.upstreams]]
  base_url = '{url}'
  model = 'other'
  responses = '{how}'
"""


@pytest.mark.parametrize("how", ["native", "translate"])
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_fallback_answers_whichever_way_it_is_asked(serve: Serve, how: str, streamed: bool) -> None:
    async with up.scripted_upstream() as other:
        own = toml(serve.upstream, responses="'native'", more="fallback = ['Other']\n")
        server = await serve(own + OWN.format(url=other.url, how=how))
        serve.upstream.will(up.answer({"error": {"message": "no"}}, status=500))
        good = {
            ("native", False): up.answer(DONE),
            ("native", True): up.stream(*good_stream()),
            ("translate", False): up.answer(up.completion("Hello")),
            ("translate", True): up.stream(*up.text_stream(["Hel", "lo"])),
        }
        other.will(good[how, streamed])
        if streamed:
            events = await read(server, input="hi")
            assert [each["sequence_number"] for each in events] == list(range(len(events)))
            response = events[-1]["response"]
        else:
            _, response, _ = await ask(server, "/v1/responses", input="hi")
        assert response["model"] == "Other" and response["status"] == "completed"
        assert response["output"][0]["content"][0]["text"] == "Hello"
        assert response["provider_specific_fields"]["attempts"] == 2
        assert other.last.path == ("/v1/responses" if how == "native" else "/v1/chat/completions")
