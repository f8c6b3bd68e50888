"""Tool calls of the embedded model, without sockets: what it is told, and which of its answers are calls.

They stand in `tests/golden/model_without_calls.json`: the tools that are offered, then a case a line, with what is
asked beside them, what the model says, what the caller is told and what the model was sent.
"""

import json
from typing import Any

import orjson
import pytest

from gateway.domain import Json, RequestStats
from gateway.errors import InvalidRequest, UpstreamError
from gateway.services.hosted_tools.model_without_calls import ForcedCalls
from tests.support.batches import Batches
from tests.support.paths import GOLDEN

RECORDED = json.loads((GOLDEN / "model_without_calls.json").read_text())


class Model:
    """An upstream that says `text`, whole or in pieces of three characters."""

    name = "model"

    def __init__(self, text: str, finish: str = "stop") -> None:
        self.text, self.finish = text, finish
        self.sent: Json = {}

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "") -> Json:
        self.sent = body
        choice = {"index": 0, "message": {"content": self.text}, "finish_reason": self.finish}
        return {"id": "c", "usage": {"total_tokens": 3}, "choices": [choice]}

    async def stream(self, body: Json, stats: RequestStats, *, route: str = "", relay: object = None) -> Batches:
        self.sent = body
        deltas: list[Json] = [{"role": "assistant"}]
        deltas += [{"content": self.text[at : at + 3]} for at in range(0, len(self.text), 3)]
        for delta in deltas:
            yield [orjson.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})]
        yield [orjson.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": self.finish}]}), b"[DONE]"]


async def asked(model: Model, streamed: bool, **body: Any) -> tuple[str, list[Json], str, list[str]]:
    """`(text, calls, finish reason, warnings)`."""
    stats = RequestStats()
    request = {"messages": [{"role": "user", "content": "hi"}], "tools": RECORDED["tools"], **body}
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
@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: case["case"])
async def test_a_request_with_tools_and_its_answer_are_put_into_words(case: Json, streamed: bool) -> None:
    model = Model(case["says"], case.get("finish", "stop"))
    text, calls, finish, warnings = await asked(model, streamed, **case["asked"])
    functions = [call["function"] for call in calls]
    assert {"text": text, "calls": functions, "finish": finish, "warnings": warnings} == case["told"]
    assert all(call["id"].startswith("call_") for call in calls) and model.sent == case["sent"]


async def test_a_forced_call_in_a_stream_comes_with_its_usage_and_end() -> None:
    model = Model('{"name": "clock", "arguments": {}}')
    body = {"messages": [{"role": "user", "content": "hi"}], "tools": RECORDED["tools"], "tool_choice": "required"}
    [batch] = [batch async for batch in ForcedCalls(model).stream(body, RequestStats())]
    assert [orjson.loads(data).get("usage") for data in batch[:-1]] == [None, None, {"total_tokens": 3}]
    assert batch[-1] == b"[DONE]"


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(
    "said", ["It rains.", "", '{"name": "weather", "arguments": {"city": "O"}}', '{"name": "x", "arguments": {}}', "[]"]
)
async def test_a_demanded_call_that_does_not_come_is_an_error(said: str, streamed: bool) -> None:
    with pytest.raises(UpstreamError, match="valid tool call"):
        await asked(Model(said), streamed, tool_choice="required")


async def test_a_demanded_function_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="tool_choice"):
        await asked(Model(""), False, tool_choice={"type": "function", "function": {"name": "gone"}})


async def test_a_request_without_tools_passes_as_it_is() -> None:
    model, stats = Model("Words."), RequestStats()
    body = {"messages": [{"role": "user", "content": "hi"}]}
    upstream = ForcedCalls(model)
    await upstream.complete(body, stats)
    assert model.sent is body and upstream.name == "model"
    assert [batch async for batch in upstream.stream(body, stats)][-1][-1] == b"[DONE]"
