"""Tools on the embedded language model itself, asked through the official client: calls are forced and valid."""

from typing import Any

import jsonschema
import orjson
import pytest
from openai import OpenAI

from tests.support.gateways import NEEDS_MODEL

pytestmark = NEEDS_MODEL

WEATHER: Any = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 40}, "unit": {"enum": ["celsius", "fahrenheit"]}},
    "required": ["city", "unit"],
    "additionalProperties": False,
}
ADD: Any = {
    "type": "object",
    "properties": {"numbers": {"type": "array", "items": {"$ref": "#/$defs/n"}, "minItems": 2, "maxItems": 3}},
    "required": ["numbers"],
    "$defs": {"n": {"type": "integer", "minimum": 0, "maximum": 99}},
}
SCHEMAS = {"get_weather": WEATHER, "add": ADD, "now": {"type": "object", "properties": {}}}
TOOLS: Any = [
    {"type": "function", "function": {"name": name, "description": f"{name} for the user", "parameters": schema}}
    for name, schema in SCHEMAS.items()
]
FLAT: Any = [{"type": "function", "strict": None, **tool["function"]} for tool in TOOLS]
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def checked(name: str, arguments: str) -> Any:
    decoded = orjson.loads(arguments)
    jsonschema.validate(decoded, SCHEMAS[name])
    return decoded


def chat_calls(client: OpenAI, question: str, stream: bool, **more: Any) -> tuple[list[tuple[str, str]], Any]:
    """`(name, arguments)` of the calls, and the final choice."""
    messages: Any = [{"role": "user", "content": question}]
    if stream:
        with client.chat.completions.stream(
            model="SvcLLM", messages=messages, tools=TOOLS, temperature=0, max_tokens=200, **more
        ) as events:
            choice: Any = events.get_final_completion().choices[0]
    else:
        choice = client.chat.completions.create(
            model="SvcLLM", messages=messages, tools=TOOLS, temperature=0, max_tokens=200, **more
        ).choices[0]
    return [(call.function.name, call.function.arguments) for call in choice.message.tool_calls or ()], choice


@both_ways
@pytest.mark.parametrize("name", SCHEMAS)
def test_a_named_function_is_called_with_valid_arguments(client: OpenAI, stream: bool, name: str) -> None:
    chosen = {"type": "function", "function": {"name": name}}
    [(called, arguments)], choice = chat_calls(client, "What is the weather in Paris?", stream, tool_choice=chosen)
    assert called == name and choice.finish_reason == "tool_calls"
    checked(name, arguments)


@both_ways
def test_a_demanded_call_is_one_of_the_functions(client: OpenAI, stream: bool) -> None:
    [(called, arguments)], choice = chat_calls(client, "What is the weather in Paris?", stream, tool_choice="required")
    assert called in SCHEMAS and choice.finish_reason == "tool_calls" and not choice.message.content
    checked(called, arguments)


@both_ways
def test_a_free_choice_gives_a_valid_call_or_words_and_a_warning(client: OpenAI, stream: bool) -> None:
    messages: Any = [{"role": "user", "content": "What is the weather in Paris?"}]
    answer: Any = client.chat.completions.create(
        model="SvcLLM", messages=messages, tools=TOOLS, temperature=0, max_tokens=60, stream=stream
    )
    choices = [choice for part in (answer if stream else [answer]) for choice in part.choices]
    messages = [choice.delta if stream else choice.message for choice in choices]
    calls = [call for message in messages for call in message.tool_calls or ()]
    if calls:
        checked(calls[0].function.name, "".join(call.function.arguments for call in calls))
    else:
        assert any(message.content for message in messages)
        assert choices[-1].provider_specific_fields["warnings"]


@both_ways
def test_the_responses_route_forces_a_call_and_reads_its_output(client: OpenAI, stream: bool) -> None:
    wanted: Any = {"type": "function", "name": "get_weather"}
    body: Any = {"model": "SvcLLM", "tools": FLAT, "tool_choice": wanted, "temperature": 0, "max_output_tokens": 200}
    if stream:
        with client.responses.stream(input="Weather in Paris?", **body) as events:
            response = events.get_final_response()
    else:
        response = client.responses.create(input="Weather in Paris?", **body)
    item: Any = response.output[-1]
    assert (item.type, item.name, item.status) == ("function_call", "get_weather", "completed")
    checked("get_weather", item.arguments)
    output: Any = [{"type": "function_call_output", "call_id": item.call_id, "output": "12 degrees"}]
    answer = client.responses.create(
        model="SvcLLM", previous_response_id=response.id, input=output, temperature=0, max_output_tokens=40
    )
    assert answer.output_text
