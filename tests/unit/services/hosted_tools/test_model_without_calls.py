"""Tool calls of the embedded model, without sockets: what it is told, and which of its answers are calls."""

from collections.abc import AsyncGenerator
from typing import Any

import orjson
import pytest

from gateway.domain import Json, RequestStats
from gateway.errors import InvalidRequest, UpstreamError
from gateway.services.hosted_tools.model_without_calls import ForcedCalls

CITY: Json = {"type": "object", "properties": {"city": {"$ref": "#/$defs/n"}}, "required": ["city"],
              "$defs": {"n": {"type": "string", "minLength": 2}}}  # fmt: skip
WEATHER: Json = {"type": "function", "function": {"name": "weather", "description": "Tells it.", "parameters": CITY}}
CLOCK: Json = {"type": "function", "function": {"name": "clock"}}
CALL = '{"name": "weather", "arguments": {"city": "Oslo"}}'
NAMED: Json = {"type": "function", "function": {"name": "clock"}}


class Model:
    """An upstream that says `text`, whole or in pieces of three characters."""

    name = "model"

    def __init__(self, text: str, finish: str = "stop") -> None:
        self.text, self.finish = text, finish
        self.sent: Json = {}

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "") -> Json:
        self.sent = body
        return {
            "id": "c",
            "usage": {"total_tokens": 3},
            "choices": [{"index": 0, "message": {"content": self.text}, "finish_reason": self.finish}],
        }

    async def stream(
        self, body: Json, stats: RequestStats, *, route: str = "", relay: object = None
    ) -> AsyncGenerator[list[bytes], None]:
        self.sent = body
        deltas: list[Json] = [{"role": "assistant"}]
        deltas += [{"content": self.text[at : at + 3]} for at in range(0, len(self.text), 3)]
        for delta in deltas:
            yield [orjson.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})]
        yield [orjson.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": self.finish}]}), b"[DONE]"]


async def asked(model: Model, streamed: bool, **body: Any) -> tuple[str, list[Json], str, list[str]]:
    """`(text, calls, finish reason, warnings)`."""
    stats = RequestStats()
    request = {"messages": [{"role": "user", "content": "hi"}], "tools": [WEATHER, CLOCK], **body}
    upstream = ForcedCalls(model)
    if not streamed:
        choice = (await upstream.complete(request, stats))["choices"][0]
        message = choice["message"]
        return message["content"] or "", message.get("tool_calls") or [], choice["finish_reason"], stats.warnings
    text, calls, finish = "", list[Json](), ""
    async for batch in upstream.stream(request, stats):
        for data in batch:
            for choice in orjson.loads(data)["choices"] if data != b"[DONE]" else ():
                text += choice["delta"].get("content") or ""
                calls += choice["delta"].get("tool_calls") or []
                finish = choice["finish_reason"] or finish
    return text, calls, finish, stats.warnings


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_demanded_call_is_forced_by_a_schema(streamed: bool) -> None:
    model = Model('{"name": "clock", "arguments": {}}')
    text, [call], finish, warnings = await asked(model, streamed, tool_choice=NAMED, stop=["}"], stream=streamed)
    assert (text, finish, warnings) == ("", "tool_calls", []) and call["id"].startswith("call_")
    assert call["function"] == {"name": "clock", "arguments": "{}"}
    schema = model.sent["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["name"] == {"const": "clock"} and not {"stop", "tools", "tool_choice"} & set(model.sent)
    assert schema["$defs"]["f0"]["additionalProperties"] is False
    model = Model(CALL)
    await asked(model, streamed, tool_choice="required")
    schema = model.sent["response_format"]["json_schema"]["schema"]
    assert len(schema["anyOf"]) == 2 and schema["$defs"]["f0"]["properties"]["city"]["$ref"] == "#/$defs/f0/$defs/n"
    assert "Tells it." in model.sent["messages"][0]["content"]


async def test_a_forced_call_in_a_stream_comes_with_its_usage_and_end() -> None:
    body = {"messages": [{"role": "user", "content": "hi"}], "tools": [WEATHER], "tool_choice": "required"}
    [batch] = [batch async for batch in ForcedCalls(Model(CALL)).stream(body, RequestStats())]
    assert [orjson.loads(data).get("usage") for data in batch[:-1]] == [None, None, {"total_tokens": 3}]
    assert batch[-1] == b"[DONE]"


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(
    "said", ["It rains.", "", '{"name": "weather", "arguments": {"city": "O"}}', '{"name": "x", "arguments": {}}', "[]"]
)
async def test_a_demanded_call_that_does_not_come_is_an_error(said: str, streamed: bool) -> None:
    with pytest.raises(UpstreamError, match="valid tool call"):
        await asked(Model(said), streamed, tool_choice="required")


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_call_that_is_cut_is_told_as_cut(streamed: bool) -> None:
    text, calls, finish, warnings = await asked(Model('{"name": "we', "length"), streamed, tool_choice="required")
    assert (text, calls, finish) == ("", [], "length") and "cut" in warnings[0]


@pytest.mark.parametrize("streamed", [True, False])
async def test_where_no_call_is_demanded_it_answers_in_words_and_the_caller_is_told(streamed: bool) -> None:
    model = Model("Words.")
    text, calls, _, [warning] = await asked(model, streamed, response_format={"type": "json_object"})
    assert (text, calls) == ("Words.", []) and "tool_choice" in warning
    assert "tools" not in model.sent and model.sent["response_format"] == {"type": "json_object"}
    assert (await asked(model, streamed, tool_choice="none"))[3] == [] and "clock" not in str(model.sent)


async def test_only_allowed_functions_are_described_and_one_that_is_not_there_is_refused() -> None:
    model = Model('{"name": "clock", "arguments": {}}')
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [NAMED]}}
    await asked(model, False, tool_choice=allowed, messages=[{"role": "system", "content": "Be kind."}])
    assert "clock" in model.sent["messages"][0]["content"] and "weather" not in str(model.sent)
    assert model.sent["messages"][0]["content"].startswith("Be kind.")
    with pytest.raises(InvalidRequest, match="tool_choice"):
        await asked(model, False, tool_choice={"type": "function", "function": {"name": "gone"}})


async def test_tools_that_cannot_be_checked_are_left_out_and_told() -> None:
    broken = {"type": "function", "function": {"name": "x", "parameters": {"type": "nonsense"}}}
    tools, model = [broken, {"type": "custom"}, CLOCK], Model('{"name": "clock", "arguments": {}}')
    _, _, _, warnings = await asked(model, False, tools=tools, tool_choice="required")
    assert ["left out" in warning for warning in warnings] == [True, True]


async def test_calls_and_results_of_earlier_turns_become_text() -> None:
    made = {"id": "c1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "time?"},
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}], "tool_calls": [made]},
        {"role": "tool", "tool_call_id": "c1", "content": "noon"},
        {"role": "tool", "tool_call_id": "c2", "content": "other"},
        {"role": "user", "content": "and?"},
    ]
    model = Model("Noon.")
    await asked(model, False, tools=[], messages=history)
    told = [(message["role"], message["content"]) for message in model.sent["messages"]]
    assert told[1] == ("assistant", 'I look.\n{"name": "clock", "arguments": {}}')
    assert told[2] == ("user", "Result of clock:\nnoon\n\nResult of a function:\nother") and told[3] == ("user", "and?")
    await asked(model, False, tools=[], messages=history[:3])
    assert model.sent["messages"][-1]["content"] == "Result of clock:\nnoon"


async def test_a_request_without_tools_passes_as_it_is() -> None:
    model, stats = Model("Words."), RequestStats()
    body = {"messages": [{"role": "user", "content": "hi"}]}
    upstream = ForcedCalls(model)
    await upstream.complete(body, stats)
    assert model.sent is body and upstream.name == "model"
    assert [batch async for batch in upstream.stream(body, stats)][-1][-1] == b"[DONE]"
