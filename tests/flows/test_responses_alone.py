"""An upstream that has the responses route alone answers on every route of the gateway."""

from typing import Any

import pytest

from tests.support import upstream as up
from tests.support.asking import toml
from tests.support.gateways import StartGateway
from tests.support.talks import Talk
from tests.support.upstream import Exchange, Upstream

REASONING = {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}],
             "encrypted_content": "c2VhbA=="}  # fmt: skip
CALL = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{"city": "Mons"}'}
TEXT = {"type": "output_text", "text": "Rain.", "annotations": []}
SAID = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [TEXT]}
USAGE = {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 3, "total_tokens": 12}


def response(*output: Any) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "created_at": 17, "status": "completed", "model": "up-model",
            "output": list(output), "usage": USAGE}  # fmt: skip


def events(*output: Any, deltas: bool = True) -> list[bytes]:
    pieces: list[tuple[str, dict[str, Any]]] = [("response.created", {"response": response()})]
    for index, item in enumerate(output):
        at = {"output_index": index, "item_id": item["id"]}
        bare = {**item, "arguments": ""} if item["type"] == "function_call" else item
        pieces.append(("response.output_item.added", {"output_index": index, "item": bare}))
        if not deltas:
            pass  # LM Studio: a call's arguments come at its end alone (litellm#25321)
        elif item["type"] == "message":
            pieces.append(("response.output_text.delta", {**at, "content_index": 0, "delta": TEXT["text"]}))
        elif item["type"] == "reasoning":
            pieces.append(("response.reasoning_summary_text.delta", {**at, "summary_index": 0, "delta": "Hm."}))
        else:
            pieces.append(("response.function_call_arguments.delta", {**at, "delta": item["arguments"]}))
        pieces.append(("response.output_item.done", {"output_index": index, "item": item}))
    pieces.append(("response.completed", {"response": response(*output)}))
    return [f"event: {kind}\n".encode() + up.frame({"type": kind, **fields}) for kind, fields in pieces]


@pytest.mark.parametrize("stream", [False, True, "without deltas"], ids=["whole", "stream", "stream-without-deltas"])
@pytest.mark.parametrize("route", ["chat", "responses", "messages"])
async def test_a_turn_with_a_call_is_answered_and_its_reasoning_goes_back(
    start_gateway: StartGateway, upstream: Upstream, route: str, stream: bool | str
) -> None:
    async def script(exchange: Exchange) -> None:
        if exchange.seen.path.endswith("chat/completions"):
            await up.answer({"detail": "Not Found"}, status=404)(exchange)
            return
        body = exchange.seen.body
        given = [item.get("type", "message") for item in body["input"]]
        output = [SAID] if "function_call_output" in given else [REASONING, CALL]
        if body.get("stream"):
            await up.stream(*events(*output, deltas=stream is True))(exchange)
        else:
            await up.answer(response(*output))(exchange)

    server = await start_gateway(toml(upstream, responses="'native'"))
    upstream.will(script)
    talk = Talk(server, route, stream=bool(stream))
    first = await talk.say("How is the weather?")
    assert [each[1:] for each in first.calls] == [("weather", {"city": "Mons"})], first.raw
    second = await talk.give("it rains")
    assert (second.status, second.text) == (200, "Rain."), second.raw
    sent = upstream.last.body["input"]
    assert [item.get("type", "message") for item in sent] == [
        "message", "reasoning", "function_call", "function_call_output",
    ]  # fmt: skip
    assert sent[1]["encrypted_content"] == "c2VhbA==" and sent[2]["call_id"] == sent[3]["call_id"]
