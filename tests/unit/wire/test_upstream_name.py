"""What an upstream calls itself, which may be its address, stays out of what callers get."""

from collections.abc import AsyncGenerator
from typing import Any

import orjson

from gateway.wire.chat.answer import AnswerContext, normalise_answer
from gateway.wire.chat.stream import ChatStream
from gateway.wire.responses.native import NativeStream, repair_response

ADDRESS = "http://10.1.2.3:8000"
CONTEXT = AnswerContext("public", "upstream-1", "inner", 0.0)
MESSAGE = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "hi"}]}


def test_a_whole_chat_answer_has_the_configured_name_alone() -> None:
    choice = {"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}
    answer = normalise_answer({"provider": ADDRESS, "choices": [choice]}, CONTEXT)
    assert "provider" not in answer and ADDRESS not in str(answer)
    assert answer["choices"][0]["provider_specific_fields"]["provider"] == "upstream-1"


def test_a_streamed_chat_answer_has_the_configured_name_alone_also_in_relayed_chunks() -> None:
    stream = ChatStream(CONTEXT)

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return orjson.dumps({"id": "c", "provider": ADDRESS, "object": "chat.completion.chunk", "choices": [choice]})

    events, error = stream.take([*(chunk({"content": word}) for word in ("one", "two", "four")), chunk({}, "stop")])
    assert error is None
    sent = " ".join(f"{event.data} {event.raw!r} {event.text} {event.relayed}" for event in [*events, *stream.end()])
    assert "four" in sent and "upstream-1" in sent and ADDRESS not in sent


def test_a_whole_response_has_the_configured_name_alone() -> None:
    answer = {"provider": ADDRESS, "status": "completed", "output": [MESSAGE]}
    response = repair_response(answer, {"model": "public"}, "public", {"provider": "upstream-1"})
    assert ADDRESS not in str(response) and response["provider_specific_fields"]["provider"] == "upstream-1"


async def test_no_event_of_a_streamed_response_has_it() -> None:
    added = {"type": "response.output_item.added", "output_index": 0, "item": MESSAGE}
    delta = {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "delta": "hi"}
    whole = {"provider": ADDRESS, "status": "completed", "output": [MESSAGE]}
    ended = {"type": "response.completed", "response": whole}

    async def payloads() -> AsyncGenerator[list[bytes], None]:
        yield [orjson.dumps({**event, "provider": ADDRESS}) for event in (added, delta, ended)]

    stream = NativeStream({"model": "public"}, lambda response: None)
    sent = [event.data async for batch in stream.pass_through(payloads()) for event in batch]
    assert len(sent) > 4 and ADDRESS not in str(sent)
