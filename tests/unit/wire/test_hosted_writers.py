"""An answer with hosted tools as it is written on each route: items, chunks and blocks of the same events."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import orjson
import pytest

from gateway.domain import Event, EventStream, Json
from gateway.errors import UpstreamRefused
from gateway.wire import hosted_answer, sse
from gateway.wire.chat.hosted_answer import HostedChat
from gateway.wire.hosted_answer import AnswerEnd, HostedCall, HostedEvent, ReasoningPiece, Source, TextPiece
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
    return [hosted_answer.CallPhase(call, phase) for phase in ("in_progress", "searching", status)]


def called(name: str = "add", arguments: str = '{"a":1}') -> list[HostedEvent]:
    head = {"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": ""}}
    return [
        hosted_answer.ClientCall(head),
        hosted_answer.ClientCall({"index": 0, "function": {"arguments": arguments}}),
    ]


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


WITHOUT_A_TEXT = [([*searched(), END], ["web_search_call", "message"]), ([END], ["message"])]
WITHOUT_A_TEXT.append(([*searched("failed"), *called(), END], ["web_search_call", "function_call"]))


@pytest.mark.parametrize(("events", "kinds"), WITHOUT_A_TEXT)
async def test_an_answer_without_text_has_an_empty_one_or_calls(events: list[HostedEvent], kinds: list[str]) -> None:
    response = await writer().whole(played(events))
    assert [item["type"] for item in response["output"]] == kinds
    if kinds[-1] == "message":
        assert message(response)["text"] == ""


async def test_a_failed_stream_says_why_and_what_it_has_sent() -> None:
    stream, error = writer(), UpstreamRefused("no money", status=429, code="insufficient_quota")
    begun = [ReasoningPiece("h"), *searched(), TextPiece("It is "), TextPiece("[1]", (PAGE,)), *called(arguments='{"a')]
    events = await sent(stream.run(played([*begun, *searched_open()])))
    ended = [orjson.loads(sse.encode(event).split(b"data: ")[1]) for event in stream.error_events(error)]
    assert len(events) > 10 and [event["type"] for event in ended] == ["error", "response.failed"]
    failed = ended[1]["response"]
    assert failed["error"]["code"] == "insufficient_quota" and failed["status"] == "failed"
    assert [item["type"] for item in failed["output"]][:2] == ["reasoning", "web_search_call"]


def searched_open() -> list[HostedEvent]:
    """A search that never ends."""
    return [hosted_answer.CallPhase(HostedCall("ws_2", "web_search", "web_search", "{}"), "in_progress")]


@pytest.mark.parametrize("stream", [True, False])
async def test_chat_has_annotations_and_an_empty_line_between_texts(stream: bool) -> None:
    body = {"stream_options": {"include_usage": True}}
    whole_call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
    events = [*WHOLE[:-1], TextPiece("no", is_refusal=True), hosted_answer.ClientCall(whole_call), END]
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
    assert (await HostedChat({}, "m").whole(played([END])))["choices"][0]["message"]["content"] == ""


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
