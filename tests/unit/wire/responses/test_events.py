"""Streams of responses events: from chat chunks, from an upstream's own events, and their ends when something fails."""

from collections.abc import AsyncGenerator
from typing import Any

import orjson
import pytest

from gateway.domain import Event, EventStream, Json
from gateway.errors import UpstreamError, UpstreamRefused
from gateway.wire import sse
from gateway.wire.hosted_answer import HostedEvents, events_of, events_of_whole
from gateway.wire.responses.native import NativeStream, repair_response
from gateway.wire.responses.object import text_part
from gateway.wire.responses.sent_items import SentItems
from gateway.wire.responses.stream import ResponseStream

USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
BODY: Json = {"model": "m", "input": []}


def delta(finish: str | None = None, **fields: Any) -> Json:
    return {"model": "up", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def call(index: int, **fields: Any) -> Json:
    return {"index": index, "id": f"c{index}", "function": fields}


async def chunks(*data: Json) -> EventStream:
    for each in data:
        yield [Event.from_data(each)]
    yield [Event.from_data({"choices": [], "usage": USAGE}), Event.from_bytes(sse.DONE)]


def answer_of(*data: Json) -> HostedEvents:
    return events_of(chunks(*data))


async def sent(stream: EventStream) -> list[Json]:
    raw = b"".join([sse.encode(event) async for batch in stream for event in batch])
    return [orjson.loads(line[6:]) for line in raw.split(b"\n") if line.startswith(b"data: {")]


def kinds(response: Json) -> list[tuple[str, str]]:
    return [(item["type"], item["status"]) for item in response["output"]]


@pytest.mark.parametrize("text", ["", "Well. "], ids=["alone", "after a text"])
async def test_a_refusal_is_a_part_of_its_own_and_no_text(text: str) -> None:
    ended: list[Json] = []
    deltas = [delta(content=text)] if text else []
    deltas += [delta(reasoning_content="hm"), delta(refusal="I ca"), delta(refusal="nnot."), delta("stop")]
    events = await sent(ResponseStream(BODY, ended.append).run(answer_of(*deltas)))
    parts = [part for item in ended[0]["output"] if item["type"] == "message" for part in item["content"]]
    assert parts == [*([text_part(text)] if text else []), {"type": "refusal", "refusal": "I cannot."}]
    places = {event["output_index"] for event in events if "refusal" in event["type"]}
    order = [event["type"].removeprefix("response.") for event in events if event.get("output_index") in places]
    deltas_of_it = ["refusal.delta", "refusal.delta", "refusal.done"]
    opened, closed = ["output_item.added", "content_part.added"], ["content_part.done", "output_item.done"]
    assert order == [*opened, *deltas_of_it, *closed]
    message = {"role": "assistant", "content": text or None, "refusal": "I cannot."}
    whole = events_of_whole({"choices": [{"message": message, "finish_reason": "stop"}]})
    response = ResponseStream(BODY, ended.append).made_of(whole)
    assert [part for item in response["output"] for part in item["content"]] == parts
    assert response["status"] == ended[0]["status"] == "completed"


def logprobs_in(value: Any) -> list[Any]:
    """Every list of log probabilities in a value that is not empty."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [value["logprobs"]] if isinstance(value, dict) and value.get("logprobs") else []
    return [*own, *(each for member in inner for each in logprobs_in(member))]


async def test_log_probabilities_are_in_each_event_of_their_text_and_masked_in_one_they_stay_in_others() -> None:
    tokens = [{"token": "Yes", "logprob": -1.0, "bytes": [89], "top_logprobs": []}]
    first = delta(content="Yes")
    first["choices"][0]["logprobs"] = {"content": tokens}
    stream = ResponseStream(BODY, lambda response: None).run(answer_of(first, delta("stop")))
    found = [each async for batch in stream for event in batch for each in logprobs_in(event.data)]
    assert found == [tokens] * 5  # the delta, the text, the part, the item and the response
    assert len({id(each[0]) for each in found}) == 5


async def test_reasoning_text_and_calls_are_items_that_are_opened_and_closed_once() -> None:
    ended: list[Json] = []
    answer = [
        delta(reasoning_content="h"), delta(reasoning_content="m"), delta(content="It "), delta(content="is"),
        delta(tool_calls=[call(0, name="add", arguments="")]), delta(tool_calls=[call(1, name="sub", arguments="{}")]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": '{"a":1}'}}]), delta("tool_calls"),
    ]  # fmt: skip
    events = await sent(ResponseStream(BODY, ended.append).run(answer_of(*answer)))
    final = events[-1]["response"]
    assert kinds(final) == [(kind, "completed") for kind in ("reasoning", "message", *["function_call"] * 2)]
    assert final["output"][2]["arguments"] == '{"a":1}' and final["usage"]["total_tokens"] == 5
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    opened = [event["item"]["id"] for event in events if event["type"].endswith("item.added")]
    closed = [event["item"]["id"] for event in events if event["type"].endswith("item.done")]
    assert sorted(opened) == sorted(closed) and len(ended) == 1


async def test_an_answer_of_reasoning_alone_has_an_empty_message() -> None:
    stream = ResponseStream(BODY, lambda _: None)
    events = await sent(stream.run(answer_of(delta(reasoning_content="h"), delta("stop"))))
    assert kinds(events[-1]["response"])[-1] == ("message", "completed")


def failed_after(*data: Json, error: Exception) -> HostedEvents:
    async def failing() -> EventStream:
        for each in data:
            yield [Event.from_data(each)]
        raise error

    return events_of(failing())


async def test_a_stream_that_fails_tells_what_was_sent_as_it_was_sent() -> None:
    stream = ResponseStream(BODY, lambda _: None)
    begun = [
        delta(reasoning_content="h"), delta(content="It "), delta(content="is"),
        delta(tool_calls=[call(0, name="add", arguments='{"a')]),
    ]  # fmt: skip
    error = UpstreamRefused("busy", status=429, code="rate_limit_exceeded")
    with pytest.raises(UpstreamRefused):
        async for batch in stream.run(failed_after(*begun, error=error)):
            for event in batch:
                if event.data and event.data.get("delta") == "is":
                    event.data["delta"] = "[MASKED]"
                sse.encode(event)
    failed = [orjson.loads(sse.encode(event).split(b"data: ")[1]) for event in stream.error_events(error)][-1]
    ended = [("reasoning", "completed"), ("message", "completed"), ("function_call", "incomplete")]
    assert kinds(failed["response"]) == ended and failed["response"]["output"][2]["arguments"] == '{"a'
    assert failed["response"]["error"]["code"] == "rate_limit_exceeded"


def test_unfinished_items_have_the_text_of_every_kind_that_was_sent() -> None:
    items = SentItems()
    for index, kind in enumerate(("message", "custom_tool_call", "web_search_call", "mcp_list_tools")):
        item = {"id": str(index), "type": kind, **({"status": "in_progress"} if kind != "mcp_list_tools" else {})}
        items.note({"type": "response.output_item.added", "output_index": index, "item": item})
    at = {"output_index": 0, "content_index": 0}
    for piece in ("It ", "is [1]"):
        items.note({"type": "response.output_text.delta", **at, "delta": piece})
    items.note({"type": "response.output_text.annotation.added", **at, "annotation": {"url": "u"}})
    items.note({"type": "response.refusal.delta", "output_index": 0, "content_index": 1, "delta": "no"})
    items.note({"type": "response.custom_tool_call_input.delta", "output_index": 1, "delta": "*** x"})
    items.note({"type": "response.audio.delta", "output_index": 1, "delta": {"not": "text"}})
    message, custom, search, listing = items.at_failure()
    assert [part["type"] for part in message["content"]] == ["output_text", "refusal"]
    assert message["content"][0]["text"] == "It is [1]" and message["content"][0]["annotations"] == [{"url": "u"}]
    assert (custom["input"], custom["status"], search["status"]) == ("*** x", "incomplete", "failed")
    assert "status" not in listing


# --- an upstream's own events ----------------------------------------------------------------------------------------


async def payloads(*data: Any) -> AsyncGenerator[list[bytes], None]:
    yield [each if isinstance(each, bytes) else orjson.dumps(each) for each in data]


def native(ended: list[Json] | None = None) -> NativeStream:
    stream = NativeStream(BODY, (ended if ended is not None else []).append)
    stream.model, stream.backend = "m", {"provider": "x"}
    return stream


OPEN = {"type": "response.created", "response": {"id": "resp_up", "created_at": 7}}
ITEM = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}}
DONE = {"id": "resp_up", "output": [{"type": "message", "content": [{"type": "text", "text": "Hi"}]}], "usage": {}}


async def test_events_of_an_upstream_get_our_ids_numbers_and_model() -> None:
    ended: list[Json] = []
    text = {"type": "response.output_text.delta", "delta": "Hi", "output_index": 0}
    odd = {"type": "response.output_text.delta", "delta": "!", "item_id": "nobody", "output_index": 9}
    end = {"type": "response.completed", "response": DONE}
    bad_name = {"type": "evil\nname"}
    events = await sent(native(ended).pass_through(payloads(OPEN, ITEM, text, odd, bad_name, end, b"[DONE]")))
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    final = events[-1]["response"]
    assert (final["id"], final["model"], final["created"]) == ("resp_up", "m", 7) and len(ended) == 1
    assert final["output"][0]["content"][0]["type"] == "output_text" and final["usage"]["total_tokens"] == 0
    assert all("item_id" in event for event in events if event["type"].endswith(".delta"))
    assert not any("evil" in event["type"] for event in events)


FAILURES = [
    ({"type": "error", "error": {"message": "busy", "code": "rate_limit_exceeded"}}, 429),
    ({"type": "response.failed", "response": {"error": {"code": "invalid_prompt", "message": "no"}}}, 400),
    ({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "no"}}}, 502),
    ({"type": "error", "error": {"message": "boom", "code": 503}}, 503),
    (b"[]", 502),
]


@pytest.mark.parametrize(("last", "status"), FAILURES)
async def test_a_failure_of_an_upstream_keeps_what_it_was(last: Any, status: int) -> None:
    with pytest.raises(UpstreamError) as failed:
        await sent(native().pass_through(payloads(OPEN, ITEM, last)))
    assert failed.value.status == status


def test_a_whole_answer_of_an_upstream_is_repaired() -> None:
    made = [{"type": "function_call", "name": "add", "arguments": {"a": 1}}, {"type": "other"}]
    response = repair_response({**DONE, "model": "theirs", "created_at": 9, "extra": 1, "output": made}, BODY, "m", {})
    assert response["output"][0]["arguments"] == '{"a":1}' and response["output"][0]["call_id"]
    assert (response["model"], response["extra"], response["created"]) == ("m", 1, 9)
    assert response["provider_specific_fields"]["finish_reason"] == "tool_calls"
    cut = repair_response({**DONE, "incomplete_details": {"reason": "content_filter"}}, BODY, "m", {})
    assert cut["status"] == "incomplete" and cut["provider_specific_fields"]["finish_reason"] == "content_filter"
    broken: tuple[Any, ...] = ([], {"output": "x"}, {**DONE, "status": "failed", "error": {"message": "no"}})
    for wrong in broken:
        with pytest.raises(UpstreamError):
            repair_response(wrong, BODY, "m", {})


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_the_short_form_for_a_text_alone_gives_what_the_events_give(finish: str) -> None:
    choice = {"message": {"content": "It is"}, "finish_reason": finish, "provider_specific_fields": {"a": 1}}
    answer = {"model": "up", "choices": [choice], "usage": USAGE, "system_fingerprint": "f"}
    short, long = (ResponseStream(BODY, lambda _: None) for _ in range(2))
    made = [short.from_chat(answer), long.made_of(events_of_whole(answer))]
    for response in made:
        response["id"] = response["output"][0]["id"] = response["created"] = response["created_at"] = ""
        response["completed_at"] = bool(response["completed_at"])
    assert made[0] == made[1]
