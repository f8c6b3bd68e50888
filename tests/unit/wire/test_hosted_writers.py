"""An answer with hosted tools as it is written on each route: items, chunks and blocks of the same events."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import orjson
import pytest

from gateway.domain import Event, EventStream, Json
from gateway.errors import UpstreamRefused, UpstreamTimeout
from gateway.wire import sse
from gateway.wire.chat.hosted_answer import HostedChat
from gateway.wire.hosted_answer import (
    AnswerEnd,
    CallPhase,
    ClientCall,
    HostedCall,
    HostedEvent,
    ReasoningPiece,
    Source,
    TextPiece,
)
from gateway.wire.messages.stream import MessageStream
from gateway.wire.responses.hosted_items import hosted_items
from gateway.wire.responses.stream import ResponseStream

PAGE = Source(1, "https://a.example.com/p", "A page")
USAGE: Json = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
END = AnswerEnd("stop", USAGE, {"attempts": 1}, {"model": "Public", "system_fingerprint": "fp", "id": "theirs"})
INCLUDE = ["web_search_call.action.sources", "web_search_call.results"]


def searched(status: str = "completed") -> list[HostedEvent]:
    action = {"type": "search", "query": "q", "queries": ["q"]}
    found = [{"title": "A page", "url": PAGE.url, "content": "text"}]
    call = HostedCall("ws_1", "web_search", "web_search", '{"query":"q"}', status, action, [PAGE], found, "out")
    return [CallPhase(call, phase) for phase in ("in_progress", "searching", status)]


def called(name: str = "add", arguments: str = '{"a":1}') -> list[HostedEvent]:
    head = {"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": ""}}
    return [ClientCall(head), ClientCall({"index": 0, "function": {"arguments": arguments}})]


WHOLE: list[HostedEvent] = [
    ReasoningPiece("hm"), TextPiece("Let me 🎉 look."), *searched(), TextPiece("It is "), TextPiece("[1]", (PAGE,)),
    TextPiece(" 北."), END,
]  # fmt: skip


async def played(events: Sequence[HostedEvent]) -> AsyncGenerator[list[HostedEvent], None]:
    for event in events:
        yield [event]


async def sent(stream: EventStream) -> list[Json]:
    """The data of the events as they leave, numbered and placed."""
    raw = b"".join([sse.encode(event) async for batch in stream for event in batch])
    lines = [line for line in raw.split(b"\n") if line.startswith(b"data: {")]
    return [orjson.loads(line[6:]) for line in lines]


def writer(stored: list[Json] | None = None, **body: Any) -> ResponseStream:
    kept = stored if stored is not None else []
    kinds = hosted_items(body.get("include"))
    return ResponseStream({"model": "m", "input": [], **body}, kept.append, model="m", kinds=kinds)


def message(response: Json) -> Json:
    return [item for item in response["output"] if item["type"] == "message"][-1]["content"][0]  # type: ignore[no-any-return]


async def test_responses_have_an_item_for_each_call_and_places_in_code_points() -> None:
    stored: list[Json] = []
    events = await sent(writer(stored, include=INCLUDE).run(played(WHOLE)))
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    response = events[-1]["response"]
    assert [item["type"] for item in response["output"]] == ["reasoning", "message", "web_search_call", "message"]
    search = response["output"][2]
    assert search["action"]["sources"] == [{"type": "url", "url": PAGE.url}] and search["results"][0]["url"] == PAGE.url
    part = message(response)
    [note] = part["annotations"]
    assert part["text"][note["start_index"] : note["end_index"]] == "[1]" and note["url"] == PAGE.url
    assert (response["model"], response["system_fingerprint"], response["status"]) == ("Public", "fp", "completed")
    assert response["usage"]["total_tokens"] == 5 and message(stored[0])["annotations"] == [note]
    kinds = [event["type"] for event in events if event.get("item_id") == "ws_1"]
    assert kinds == [f"response.web_search_call.{phase}" for phase in ("in_progress", "searching", "completed")]


async def test_a_whole_response_has_what_a_streamed_one_has() -> None:
    streamed = (await sent(writer().run(played(WHOLE))))[-1]["response"]
    whole = await writer().whole(played(WHOLE))
    for response in (streamed, whole):
        for item in response["output"]:
            item["id"] = ""
    assert whole["output"] == streamed["output"] and whole["usage"] == streamed["usage"]
    assert "results" not in whole["output"][2] and "sources" not in whole["output"][2]["action"]


async def test_places_follow_a_text_that_was_masked_after_it_was_written() -> None:
    stream = writer()
    events: list[Event] = [event async for batch in stream.run(played(WHOLE)) for event in batch]
    data = []
    for event in events:
        if event.data and event.data["type"].endswith("text.delta") and "It is" in event.data["delta"]:
            event.data["delta"] = "It was masked: "
        if event.data is not None:
            data.append(orjson.loads(sse.encode(event).split(b"data: ")[1]))
    note = next(each for each in data if each["type"].endswith("annotation.added"))["annotation"]
    assert (note["start_index"], note["end_index"]) == (15, 18)


@pytest.mark.parametrize(
    ("events", "kinds"),
    [
        ([*searched(), END], ["web_search_call", "message"]),
        ([*searched("failed"), *called(), END], ["web_search_call", "function_call"]),
        ([END], ["message"]),
    ],
)
async def test_an_answer_without_a_text_has_an_empty_one_unless_it_calls(
    events: list[HostedEvent], kinds: list[str]
) -> None:
    response = await writer().whole(played(events))
    assert [item["type"] for item in response["output"]] == kinds
    if kinds[-1] == "message":
        assert message(response)["text"] == ""


async def test_mcp_items_are_written_with_their_events() -> None:
    listing = HostedCall("mcpl_1", "mcp_list_tools", "", "", action={"server_label": "w"}, results=[{"name": "t"}])
    made = HostedCall("mcp_1", "mcp_call", "t", "{}", action={"server_label": "w"}, output="out")
    failed = HostedCall("mcp_2", "mcp_call", "t", "{}", "failed", {"server_label": "w"}, output="no", error="no")
    asked = HostedCall("mcpr_1", "mcp_approval_request", "t", "{}", action={"server_label": "w"}, ends_turn=True)
    for each in (listing, made, asked):
        each.status = "completed"
    phases: list[HostedEvent] = [CallPhase(listing, "in_progress"), CallPhase(listing, "completed")]
    for each in (made, failed, asked):
        phases += [CallPhase(each, phase) for phase in ("in_progress", "arguments", each.status)]
    events = await sent(writer().run(played([*phases, END])))
    output = events[-1]["response"]["output"]
    assert [item["type"] for item in output] == ["mcp_list_tools", "mcp_call", "mcp_call", "mcp_approval_request"]
    assert output[0]["tools"] == [{"name": "t"}] and output[1]["output"] == "out" and output[2]["error"]
    kinds = {event["type"] for event in events}
    assert {
        "response.mcp_list_tools.completed",
        "response.mcp_call.failed",
        "response.mcp_call_arguments.done",
    } <= kinds


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UpstreamRefused("busy", status=429, code="whatever"), "rate_limit_exceeded"),
        (UpstreamRefused("no money", status=429, code="insufficient_quota"), "insufficient_quota"),
        (UpstreamRefused("long", status=400, code="context_length_exceeded"), "context_length_exceeded"),
        (UpstreamRefused("bad", status=400, code="invalid_value"), "invalid_prompt"),
        (UpstreamTimeout("late"), "server_error"),
    ],
)
async def test_a_failed_stream_says_why_and_what_it_has_sent(error: Any, code: str) -> None:
    stream = writer()
    begun = [ReasoningPiece("h"), *searched(), TextPiece("It is "), TextPiece("[1]", (PAGE,)), *called(arguments='{"a')]
    events = await sent(stream.run(played([*begun, *searched_open()])))
    ended = [orjson.loads(sse.encode(event).split(b"data: ")[1]) for event in stream.error_events(error)]
    assert len(events) > 10 and [event["type"] for event in ended] == ["error", "response.failed"]
    failed = ended[1]["response"]
    assert failed["error"]["code"] == code and failed["status"] == "failed"
    assert [item["type"] for item in failed["output"]][:2] == ["reasoning", "web_search_call"]


def searched_open() -> list[HostedEvent]:
    """A search that never ends."""
    call = HostedCall("ws_2", "web_search", "web_search", "{}")
    return [CallPhase(call, "in_progress")]


@pytest.mark.parametrize("stream", [True, False])
async def test_chat_has_annotations_and_an_empty_line_between_texts(stream: bool) -> None:
    body = {"stream_options": {"include_usage": True}}
    whole_call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
    events = [*WHOLE[:-1], TextPiece("no", is_refusal=True), ClientCall(whole_call), END]
    if stream:
        chunks = await sent(HostedChat(body, "m").run(played(events)))
        deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
        text = "".join(delta.get("content") or "" for delta in deltas)
        notes = [note for delta in deltas for note in delta.get("annotations") or ()]
        assert chunks[-1]["usage"] == USAGE and len({chunk["id"] for chunk in chunks}) == 1
        assert "".join(delta.get("reasoning_content") or "" for delta in deltas) == "hm"
    else:
        answer = await HostedChat({}, "m").whole(played(events))
        made = answer["choices"][0]["message"]
        text, notes = made["content"], made["annotations"]
        assert made["refusal"] == "no" and made["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a":1}'}
        assert answer["model"] == "Public" and answer["id"] != "theirs"
    assert text == "Let me 🎉 look.\n\nIt is [1] 北."
    place = notes[0]["url_citation"]
    assert text[place["start_index"] : place["end_index"]] == "[1]" and place["title"] == "A page"


async def test_an_empty_chat_answer_has_an_empty_text() -> None:
    answer = await HostedChat({}, "m").whole(played([END]))
    assert answer["choices"][0]["message"]["content"] == ""


@pytest.mark.parametrize("stream", [True, False])
async def test_messages_have_two_blocks_for_a_search_and_cite_what_they_cite(stream: bool) -> None:
    body = {"model": "m", "messages": [], "max_tokens": 9, "thinking": {"type": "enabled"}}
    events: list[HostedEvent] = [*WHOLE[:-1], *searched("failed"), *called(), END]
    if stream:
        data = await sent(MessageStream(body, 3).run(played(events)))
        kinds = [each["content_block"]["type"] for each in data if each["type"] == "content_block_start"]
        assert data[0]["type"] == "message_start" and data[-1]["type"] == "message_stop"
        assert [each["type"] for each in data].count("message_delta") == 1
    else:
        answer = await MessageStream(body, 3).whole(played(events))
        kinds = [block["type"] for block in answer["content"]]
        assert answer["usage"]["server_tool_use"]["web_search_requests"] == 2
        assert answer["content"][-1]["input"] == {"a": 1}
    search = ["server_tool_use", "web_search_tool_result"]
    assert kinds == ["thinking", "text", *search, "text", "text", "text", *search, "tool_use"]


async def test_a_writer_that_is_left_closes_what_it_reads() -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncGenerator[list[HostedEvent], None]:
        try:
            while True:
                yield [TextPiece("a")]
        finally:
            closed.set()

    stream = writer().run(endless())
    await anext(stream)
    await stream.aclose()
    assert closed.is_set()
