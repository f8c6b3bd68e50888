"""Tools on an upstream whose model has none (`tools = "prompt"`): forced by a schema, offered in a prompt, checked."""

from typing import Any

import orjson
import pytest

from tests.support import upstream as up
from tests.support.asking import ask, ask_stream, said, toml
from tests.support.gateways import InProcessGateway, StartGateway
from tests.support.upstream import Upstream

CITY = {"type": "object", "properties": {"city": {"$ref": "#/$defs/name"}}, "required": ["city"],
        "$defs": {"name": {"type": "string", "minLength": 2}}}  # fmt: skip
WEATHER = {"type": "function", "function": {"name": "weather", "description": "Tells the weather.", "parameters": CITY}}
CLOCK = {"type": "function", "function": {"name": "clock"}}
CALL = '{"name": "weather", "arguments": {"city": "Oslo"}}'


@pytest.fixture
async def server(start_gateway: StartGateway, upstream: Upstream) -> InProcessGateway:
    return await start_gateway(toml(upstream, tools="'prompt'"))


def will_say(upstream: Upstream, text: str, streamed: bool, finish: str = "stop") -> None:
    """The model says this, streamed in pieces of three characters."""
    pieces = [text[index : index + 3] for index in range(0, len(text), 3)]
    script = up.stream(*up.text_stream(pieces, finish)) if streamed else up.answer(up.completion(text, finish))
    upstream.will(script)


async def choice_of(server: InProcessGateway, streamed: bool, **body: Any) -> tuple[int, Any]:
    """Status, and the choice with its message, put together from the chunks; or the error."""
    body = {"tools": [WEATHER, CLOCK], **body}
    if not streamed:
        status, data, _ = await ask(server, **body)
        return status, data["choices"][0] if status == 200 else data["error"]
    status, events = await ask_stream(server, **body)
    if status != 200 or "error" in (events[-1] or {}):
        return status, (events[-1] or {})["error"]
    assert events[-1] is None
    choices = [choice for event in events[:-1] if event for choice in event["choices"]]
    calls = [call for choice in choices for call in choice["delta"].get("tool_calls", ())]
    arguments = "".join(call["function"].get("arguments", "") for call in calls)
    message: dict[str, Any] = {"content": said(events) or None}
    if calls:
        message["tool_calls"] = [{**calls[0], "function": {**calls[0]["function"], "arguments": arguments}}]
    return status, {**choices[-1], "message": message}


both_ways = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


def call_of(choice: Any) -> tuple[str, Any]:
    assert choice["finish_reason"] == "tool_calls" and choice["message"]["content"] is None, choice
    [call] = choice["message"]["tool_calls"]
    assert call["id"].startswith("call_") and call["type"] == "function"
    return call["function"]["name"], orjson.loads(call["function"]["arguments"])


@both_ways
@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "weather"}}])
async def test_a_demanded_call_is_forced_by_a_schema(
    server: InProcessGateway, upstream: Upstream, streamed: bool, choice: Any
) -> None:
    will_say(upstream, CALL, streamed)
    status, answer = await choice_of(server, streamed, tool_choice=choice, stop=["}"], parallel_tool_calls=True)
    assert status == 200 and call_of(answer) == ("weather", {"city": "Oslo"})
    assert "warnings" not in answer["provider_specific_fields"]
    sent = upstream.last.body
    assert not {"tools", "tool_choice", "parallel_tool_calls", "stop"} & sent.keys()
    assert "Tells the weather." in sent["messages"][0]["content"] and sent["messages"][-1]["content"] == "hello"
    schema = sent["response_format"]["json_schema"]["schema"]
    assert schema["$defs"]["f0"]["properties"]["city"] == {"$ref": "#/$defs/f0/$defs/name"}
    names = [branch["properties"]["name"]["const"] for branch in schema.get("anyOf", [schema])]
    assert names == (["weather", "clock"] if choice == "required" else ["weather"])


@both_ways
@pytest.mark.parametrize(
    "text", ["It is cold.", "", '{"name": "weather", "arguments": {"city": "X"}}', '{"name": "other", "arguments": {}}']
)
async def test_a_demanded_call_that_does_not_come_is_an_error(
    server: InProcessGateway, upstream: Upstream, streamed: bool, text: str
) -> None:
    will_say(upstream, text, streamed)
    status, error = await choice_of(server, streamed, tool_choice="required")
    assert (status, error["code"]) == (502, "invalid_json_answer") and "tool call" in error["message"]


@both_ways
async def test_a_call_that_is_cut_is_told_as_cut(server: InProcessGateway, upstream: Upstream, streamed: bool) -> None:
    will_say(upstream, CALL[:20], streamed, "length")
    status, answer = await choice_of(server, streamed, tool_choice="required")
    assert status == 200 and answer["finish_reason"] == "length" and not answer["message"].get("tool_calls")
    assert not answer["message"]["content"] and "cut" in answer["provider_specific_fields"]["warnings"][0]


@both_ways
@pytest.mark.parametrize("form", ["{}", "```json\n{}\n```", "<tool_call>{}</tool_call>", " \n[{}]"])
async def test_a_call_that_the_model_chooses_is_found_in_its_usual_forms(
    server: InProcessGateway, upstream: Upstream, streamed: bool, form: str
) -> None:
    will_say(upstream, form.replace("{}", CALL), streamed)
    status, answer = await choice_of(server, streamed)
    assert status == 200 and call_of(answer) == ("weather", {"city": "Oslo"})
    assert "response_format" not in upstream.last.body


@both_ways
@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("It is <cold>.", "called none"),
        ('{"temperature": 5}', "called none"),
        ('{"name": "weather", "arguments": {"town": "Oslo"}}', "do not fit"),
    ],
)
async def test_words_stay_words_and_the_caller_is_told(
    server: InProcessGateway, upstream: Upstream, streamed: bool, text: str, warning: str
) -> None:
    will_say(upstream, text, streamed)
    status, answer = await choice_of(server, streamed, tool_choice="auto")
    assert status == 200 and answer["message"]["content"] == text and answer["finish_reason"] == "stop"
    [told] = answer["provider_specific_fields"]["warnings"]
    assert warning in told


async def test_words_are_streamed_as_they_come(server: InProcessGateway, upstream: Upstream) -> None:
    will_say(upstream, "It is cold in Oslo today.", True)
    status, events = await ask_stream(server, tools=[WEATHER])
    texts = [choice["delta"]["content"] for event in events if event for choice in event["choices"]
             if choice["delta"].get("content")]  # fmt: skip
    assert status == 200 and len(texts) == 9 and texts[0] == "It "


async def test_earlier_calls_and_results_are_told_as_text(server: InProcessGateway, upstream: Upstream) -> None:
    will_say(upstream, "Cold.", False)
    call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}
    messages = [
        {"role": "user", "content": "cold?"},
        {"role": "assistant", "content": None, "tool_calls": [call, {**call, "id": "d"}]},
        {"role": "tool", "tool_call_id": "c", "content": "-3"},
        {"role": "tool", "tool_call_id": "d", "content": [{"type": "text", "text": "-4"}]},
    ]
    status, _, _ = await ask(server, messages=messages)
    assert status == 200
    _, assistant, results = upstream.last.body["messages"]
    assert assistant["content"].startswith('{"name": "weather", "arguments": {"city":"Oslo"}}')
    assert results == {"role": "user", "content": "Result of weather:\n-3\n\nResult of weather:\n-4"}


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        ({"tools": [{"type": "custom", "custom": {"name": "x"}}, WEATHER]}, "functions only"),
        ({"tools": [{"type": "function", "function": {"name": "r", "parameters": {"$ref": "#"}}}]}, "refers to itself"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
    ],
)
async def test_what_cannot_be_offered_is_told(
    server: InProcessGateway, upstream: Upstream, change: dict[str, Any], warning: str
) -> None:
    will_say(upstream, "{}", False)
    status, answer = await choice_of(server, False, **change)
    assert status == 200 and any(warning in each for each in answer["provider_specific_fields"]["warnings"])


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_choice_without_its_function_is_refused(server: InProcessGateway, streamed: bool) -> None:
    choice = {"type": "function", "function": {"name": "nope"}}
    status, error = await choice_of(server, streamed, tool_choice=choice)
    assert (status, error["param"]) == (400, "tool_choice")


@both_ways
async def test_no_tools_are_described_where_none_may_be_called(
    server: InProcessGateway, upstream: Upstream, streamed: bool
) -> None:
    will_say(upstream, CALL, streamed)
    status, answer = await choice_of(server, streamed, tool_choice="none")
    assert (
        status == 200 and answer["message"]["content"] == CALL and "warnings" not in answer["provider_specific_fields"]
    )
    assert upstream.last.body["messages"] == [{"role": "user", "content": "hello"}]


async def test_each_of_several_answers_may_be_a_call(server: InProcessGateway, upstream: Upstream) -> None:
    upstream.will(up.answer(up.completion(CALL)), up.answer(up.completion("Cold.")))
    status, data, _ = await ask(server, tools=[WEATHER], n=2)
    assert status == 200 and sorted(choice["finish_reason"] for choice in data["choices"]) == ["stop", "tool_calls"]


async def test_the_responses_route_has_the_calls_and_warnings_too(server: InProcessGateway, upstream: Upstream) -> None:
    namespace = {"type": "namespace", "name": "ns", "tools": [{"type": "custom", "name": "patch"}]}
    will_say(upstream, '{"name": "ns__patch", "arguments": {"input": "x"}}', False)
    status, data, _ = await ask(server, "/v1/responses", input="go", tools=[namespace], tool_choice="required")
    assert status == 200 and (data["output"][0]["type"], data["output"][0]["input"]) == ("custom_tool_call", "x")
    will_say(upstream, "No.", False)
    status, data, _ = await ask(server, "/v1/responses", input="go", tools=[namespace])
    assert "called none" in data["provider_specific_fields"]["warnings"][0]
