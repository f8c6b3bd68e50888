"""Streams of many upstreams, in one normal form. They stand in `tests/golden/chat_streams.json`, a stream a line."""

import json
import re
from typing import Any

import orjson
import pytest

from gateway.domain import EventBatch
from gateway.errors import UpstreamError
from gateway.wire import sse
from gateway.wire.chat.answer import AnswerContext, normalise_answer
from gateway.wire.chat.stream import ChatStream
from tests.support.paths import GOLDEN

BASE = {"id": "up1", "object": "chat.completion.chunk", "created": 17, "model": "up-model"}


def chunk(delta: Any, finish: str | None = None, index: int | None = 0, **more: Any) -> dict[str, Any]:
    choice: dict[str, Any] = {"delta": delta, "finish_reason": finish}
    if index is not None:
        choice["index"] = index
    return {**BASE, "choices": [choice], **more}


def new_stream(**marks: Any) -> ChatStream:
    return ChatStream(AnswerContext("SvcLLM", "p", "up-model", 0.0, **marks))


def taken(stream: ChatStream, *batch: bytes) -> EventBatch:
    events, fault = stream.take(list(batch))
    if fault is not None:
        raise fault
    return events


def run(*chunks: Any, done: bool = True, **marks: Any) -> list[dict[str, Any]]:
    """Our decoded events for theirs; checks what holds for every stream."""
    stream, events = new_stream(**marks), []
    for each in chunks:
        events += taken(stream, each if isinstance(each, bytes) else orjson.dumps(each))
    if done:
        taken(stream, b"[DONE]")
    frames = [sse.encode(event) for event in [*events, *stream.end()]]
    assert frames[-1] == sse.DONE and all(frame.startswith(b"data: ") for frame in frames)
    decoded = [orjson.loads(frame[6:]) for frame in frames[:-1]]
    [(made, created, model)] = {(each["id"], each["created"], each["model"]) for each in decoded}
    assert made and created > 0 and model == "SvcLLM"
    choices = [choice for each in decoded for choice in each["choices"]]
    for index in {choice["index"] for choice in choices}:
        mine = [choice for choice in choices if choice["index"] == index]
        assert mine[0]["delta"] == {"role": "assistant", "content": ""}
        assert [choice["finish_reason"] for choice in mine[:-1]] == [None] * (len(mine) - 1)
        assert mine[-1]["finish_reason"] and mine[-1]["provider_specific_fields"]["provider"] == "p"
        assert not any("role" in choice["delta"] for choice in mine[1:])
    return decoded


def text(events: list[dict[str, Any]], index: int = 0) -> str:
    deltas = [c["delta"] for e in events for c in e["choices"] if c["index"] == index]
    return "".join(delta.get("content") or "" for delta in deltas)


def finish(events: list[dict[str, Any]]) -> str:
    reason: str = [c["finish_reason"] for e in events for c in e["choices"]][-1]
    return reason


def calls(events: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """As SDK accumulators do: names and arguments are concatenated."""
    found: dict[int, dict[str, Any]] = {}
    deltas = [choice["delta"] for event in events for choice in event["choices"]]
    for call in [call for delta in deltas for call in delta.get("tool_calls") or ()]:
        mine = found.setdefault(call["index"], {"id": "", "name": "", "arguments": "", "type": ""})
        for name, value in {**call, **call["function"]}.items():
            if name in mine:
                mine[name] += value
    return found


HELLO, HEL, LO, STOP = *(chunk({"content": text}) for text in ("Hello", "Hel", "lo")), chunk({}, "stop")
RECORDED: dict[str, list[Any]] = json.loads((GOLDEN / "chat_streams.json").read_text())
VARIATIONS = dict(RECORDED["texts: each says 'Hello'"])


@pytest.mark.parametrize("chunks", VARIATIONS.values(), ids=VARIATIONS)
@pytest.mark.parametrize("done", [True, False])
def test_text_arrives_whole_in_normal_form(chunks: list[Any], done: bool) -> None:
    events = run(*chunks, done=done)
    assert text(events) == "Hello" and finish(events) == "stop"
    assert all(event["choices"] for event in events)  # no usage chunk unless asked


@pytest.mark.parametrize("chunks", VARIATIONS.values(), ids=VARIATIONS)
def test_usage_is_told_once_when_asked_and_always_adds_up(chunks: list[Any]) -> None:
    events = run(*chunks, include_usage=True, request={"messages": [{"content": "nine char"}]})
    assert [event["choices"] for event in events].count([]) == 1 and events[-1]["choices"] == []
    usage = events[-1]["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0
    assert all(event["usage"] is None for event in events[:-1])


def test_several_choices_each_have_role_and_finish() -> None:
    events = run(
        chunk({"role": "assistant", "content": None}), chunk({"content": "a"}), chunk({"content": "b"}, index=1),
        chunk({"content": "A"}), chunk({"content": "B"}, index=1), chunk({}, "stop", index=1), chunk({}, "length"),
    )  # fmt: skip
    assert (text(events, 0), text(events, 1)) == ("aA", "bB")


def part(arguments: Any = None, **call: Any) -> dict[str, Any]:
    function = {k: v for k, v in {"name": call.pop("name", None), "arguments": arguments}.items() if v is not None}
    return {**call, "function": function}


CALLS = dict(RECORDED["calls: each is of f with 1 for 'a'"])


@pytest.mark.parametrize("deltas", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("reason", ["tool_calls", "stop", "function_call"])
def test_a_tool_call_arrives_repaired(deltas: list[Any], reason: str) -> None:
    events = run(*[chunk({"tool_calls": each}) for each in deltas], chunk({}, reason))
    (call,) = calls(events).values()
    assert orjson.loads(call["arguments"]) == {"a": 1} and call["name"] == "f" and call["type"] == "function"
    assert call["id"] == "c1" or re.fullmatch("call_[0-9a-f]{24}", call["id"])
    assert finish(events) == "tool_calls"


@pytest.mark.parametrize("indexed", [True, False])
def test_parallel_calls_stay_apart(indexed: bool) -> None:
    made = [part(f'{{"a":{n}}}', id=f"c{n}", name="f", **({"index": n} if indexed else {})) for n in (0, 1)]
    events = run(*(chunk({"tool_calls": [each]}) for each in made), chunk({}, "tool_calls"))
    assert [orjson.loads(call["arguments"])["a"] for call in calls(events).values()] == [0, 1]


def test_legacy_callers_get_function_call() -> None:
    events = run(*[chunk({"tool_calls": each}) for each in CALLS["as OpenAI"]], chunk({}, "tool_calls"), legacy=True)
    deltas = [c["delta"]["function_call"] for e in events for c in e["choices"] if "function_call" in c["delta"]]
    assert "".join(d.get("name", "") for d in deltas) == "f" and finish(events) == "function_call"
    assert orjson.loads("".join(d.get("arguments", "") for d in deltas)) == {"a": 1}


WITHOUT_AN_END = [
    [], [HELLO], [HELLO, chunk({"content": "b"}, index=1), STOP], [HELLO, b"<html>"], [HELLO, b'{"choices": 5}'],
    [HELLO, {"error": {"message": "boom", "code": 500}}], [HELLO, b'{"choices": [7]}'], [HELLO, chunk({}, "error")],
    [b"[1]"],
]  # fmt: skip


@pytest.mark.parametrize("chunks", WITHOUT_AN_END)
@pytest.mark.parametrize("done", [True, False])
def test_a_stream_without_a_proper_end_is_an_error_never_a_clean_end(chunks: list[Any], done: bool) -> None:
    with pytest.raises(UpstreamError):
        run(*chunks, done=done)


TEXTS = [
    "plain", 'quote " and \\ backslash', "line\nfeed\ttab", "é ü 漢字 😀", "\u2028\u2029\x7f", '"content": "x"',
    '"}}],"choices":[{"delta":{"content":"', " ", "a" * 5000, "\x00\x1f", "[DONE]", "data: x",
]  # fmt: skip


@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize("first", TEXTS)
def test_relayed_bytes_say_what_the_upstream_said(first: str, escaped: bool) -> None:
    said = [first, *TEXTS, *reversed(TEXTS)]
    frames = [json.dumps(chunk({"content": each}), ensure_ascii=escaped).encode() for each in said]
    assert text(run(*frames, STOP)) == "".join(said)


def test_plain_chunks_are_relayed_by_their_bytes_and_others_are_not() -> None:
    stream = new_stream()
    taken(stream, orjson.dumps(HEL))
    (event,) = taken(stream, orjson.dumps(LO))
    assert event.raw is not None and not event.opaque
    assert (sse.decode(event) or {})["choices"][0]["delta"] == {"content": "lo"}
    (event,) = taken(stream, orjson.dumps(chunk({"content": "c"}, x=1)))
    assert event.raw is None


def test_an_answer_without_end_ends_at_a_bound_whatever_it_consists_of() -> None:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "a" * 500_000}}
    for delta in ({"content": "a" * 500_000}, {"reasoning_content": "a" * 500_000}, {"tool_calls": [call]}):
        stream, data = new_stream(), orjson.dumps(chunk(delta))
        faults = [fault for _ in range(20) if (fault := stream.take([data])[1]) is not None]
        assert len(faults) > 10 and "too long" in faults[0].message


def test_more_choices_than_anybody_asks_for_are_refused_before_any_work() -> None:
    one = {"index": 0, "delta": {"content": "a"}}
    events, fault = new_stream().take([orjson.dumps({**BASE, "choices": [one] * 129})])
    assert not events and fault is not None and "too many choices" in fault.message


def test_more_tool_calls_than_tools_can_be_offered_are_refused_in_a_whole_answer_as_in_a_stream() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    context = AnswerContext("SvcLLM", "p", "up-model", 0.0)
    with pytest.raises(UpstreamError, match="too many tool calls; the limit is 128"):
        normalise_answer({"choices": [{"message": {"tool_calls": [call] * 129}}]}, context)
    assert normalise_answer({"choices": [{"message": {"tool_calls": [call] * 128}}]}, context)["choices"]


FAILURES = [
    ({"error": {"code": 429, "message": "Worker limit reached"}, "finish_reason": "error"}, 429),
    ({"native_finish_reason": "network_error", "finish_reason": "stop"}, 502),
    ({"native_finish_reason": "MALFORMED_FUNCTION_CALL", "finish_reason": "stop"}, 502),
]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("told", "status"), FAILURES)
def test_a_failure_beside_a_finish_reason_is_no_answer(told: dict[str, Any], status: int, stream: bool) -> None:
    choice = {"index": 0, "delta" if stream else "message": {"content": ""}, **told}
    with pytest.raises(UpstreamError) as failed:
        if stream:
            run({**BASE, "choices": [choice]})
        else:
            normalise_answer({"choices": [choice]}, AnswerContext("m", "p", "u", 0.0))
    assert failed.value.status == status


# --- batches that are relayed -----------------------------------------------------------------------------------------


def test_the_short_way_for_relayed_chunks_gives_what_the_long_way_gives() -> None:
    lone = [[orjson.dumps(chunk({"content": each}))] for each in [*TEXTS, *TEXTS]]
    halves = [lone[0][0].replace(b"plain", half) for half in (b"\xc3", b"\xa9")]  # of one character
    in_lines = [lone[0][0].replace(b'{"delta"', b'{\n"delta"'), lone[0][0]]
    last = [[orjson.dumps(chunk({"content": "c"}, x=1))], [orjson.dumps(STOP)]]
    batches = [*lone, [], [each for [each] in lone], [*lone[0], *lone[1]], halves, in_lines, *last]
    long_way, short_way, relayed = new_stream(), new_stream(), 0
    for batch in batches:
        frames = short_way.relayed(batch)
        relayed += frames is not None
        ours = sse.encode_all(taken(short_way, *batch)) if frames is None else frames
        assert ours == sse.encode_all(taken(long_way, *batch))
    assert relayed > len(TEXTS) and short_way.usage == long_way.usage


def test_the_short_way_for_one_relayed_chunk_ends_at_the_same_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.wire.chat.stream.MAX_STREAM_CHARS", 1_000)
    stream, data = new_stream(), orjson.dumps(chunk({"content": "a" * 100}))
    taken(stream, data)
    ways: list[bool] = []
    for _ in range(9):
        ways.append(stream.relayed([data]) is not None)
        assert ways[-1] or stream.take([data])[1] is None
    assert ways[:5] == [True] * 5 and ways[-1] is False and stream.relayed([data]) is None
    _, fault = stream.take([data])
    assert fault is not None and "too long" in fault.message
