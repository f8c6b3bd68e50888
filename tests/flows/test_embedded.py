"""The real `gateway serve` with its embedded language model, spoken to by the clients people use.

One server for the whole file; its answers are short because the model shares the cores with the tests.
"""

import asyncio
import base64
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anthropic
import jsonschema
import orjson
import pytest
from openai import APIError, BadRequestError, NotFoundError, OpenAI
from openai.types.responses import ResponseOutputMessage

from gateway.embedded.llm_server import CONTEXT_TOKENS, SLOTS
from tests.support.asking import CHAT, call_tool, send
from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import ANSWER_S, NEEDS_MODEL, start_process
from tests.support.messages_route import PIXEL
from tests.support.ocr_running import SAMPLE

pytestmark = NEEDS_MODEL

LONG = "word and other words " * CONTEXT_TOKENS
HELLO: list[Any] = [{"role": "user", "content": "Say hello."}]
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
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


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with start_process(tmp_path_factory.mktemp("serving"), embedded=True) as process:
        yield process


@pytest.fixture
def client(gateway: GatewayProcess) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{gateway.url}/v1", api_key=gateway.key, max_retries=0, timeout=ANSWER_S) as made:
        yield made


@pytest.fixture
def claude(gateway: GatewayProcess) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=gateway.url, auth_token=gateway.key, max_retries=0, timeout=ANSWER_S) as made:
        yield made


@both_ways
def test_the_openai_client_chats(client: OpenAI, stream: bool) -> None:
    more: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    answer: Any = client.chat.completions.create(model="SvcLLM", messages=HELLO, max_tokens=6, **more)
    parts = list(answer) if stream else [answer]
    assert len({(part.id, part.created, part.model) for part in parts}) == 1 and parts[0].model == "SvcLLM"
    choices = [part.choices[0] for part in parts if part.choices]
    assert "".join((choice.delta if stream else choice.message).content or "" for choice in choices)
    assert [choice.finish_reason for choice in choices if choice.finish_reason] in (["length"], ["stop"])
    usage, last = parts[-1].usage, choices[-1].to_dict()
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert {"provider", "model", "latency_ms", "attempts"} <= set(last["provider_specific_fields"])
    assert stream or parts[0].system_fingerprint.startswith("llamacpp-")


def test_json_is_forced_by_response_format(client: OpenAI) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    named = {"name": "answer", "schema": {**schema, "additionalProperties": False}}
    form: Any = {"type": "json_schema", "json_schema": named}
    # Without chance: blanks are JSON too, and a small model that draws many of them comes to no end.
    answer = client.chat.completions.create(
        model="SvcLLM", messages=HELLO, max_tokens=60, temperature=0, response_format=form
    )
    assert json.loads(answer.choices[0].message.content or "")["ok"] in (True, False)


def test_the_openai_client_gets_a_response_and_continues_it(client: OpenAI) -> None:
    first = client.responses.create(model="SvcLLM", input="Say hello.", max_output_tokens=6)
    assert first.output_text and first.status in ("completed", "incomplete") and first.usage is not None
    assert first.usage.total_tokens == first.usage.input_tokens + first.usage.output_tokens
    assert client.responses.retrieve(first.id).id == first.id
    again: Any = {"model": "SvcLLM", "input": "And again.", "previous_response_id": first.id}
    more = client.responses.create(**again, max_output_tokens=4)
    assert more.usage.input_tokens > first.usage.input_tokens, "the earlier turn went along"
    client.responses.delete(first.id)
    with pytest.raises(NotFoundError):
        client.responses.retrieve(first.id)


def test_the_openai_client_streams_a_response(client: OpenAI) -> None:
    """`responses.stream` checks the order and the identity of every event itself."""
    with client.responses.stream(model="SvcLLM", input="Say hello.", max_output_tokens=6) as stream:
        events = list(stream)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    last = events[-1]
    assert last.type in ("response.completed", "response.incomplete")
    assert "".join(deltas) == last.response.output_text != ""
    item = last.response.output[-1]
    assert isinstance(item, ResponseOutputMessage) and item.status == last.response.status


# --- what it cannot do, and more than it can at once -----------------------------------------------------------------


def chat(client: OpenAI, content: Any, **more: Any) -> Any:
    """The answer, read to its end."""
    messages: Any = [{"role": "user", "content": content}]
    answer = client.chat.completions.create(model="SvcLLM", messages=messages, max_tokens=4, **more)
    return list(answer) if more.get("stream") else answer


@both_ways
def test_a_prompt_longer_than_the_context_is_told_apart(client: OpenAI, stream: bool) -> None:
    with pytest.raises(BadRequestError) as caught:
        chat(client, LONG, stream=stream)
    assert (caught.value.code, caught.value.param) == ("context_length_exceeded", "messages")


@both_ways
def test_a_response_longer_than_the_context_is_told_apart(client: OpenAI, stream: bool) -> None:
    if stream:  # the status stays 200: Codex shortens its conversation when it reads this event
        with pytest.raises(APIError, match="context"):
            list(client.responses.create(model="SvcLLM", input=LONG, stream=True))
        return
    with pytest.raises(BadRequestError) as caught:
        client.responses.create(model="SvcLLM", input=LONG)
    assert caught.value.code == "context_length_exceeded"


@both_ways
def test_more_choices_than_the_engine_has_slots_are_answered_and_counted(client: OpenAI, stream: bool) -> None:
    more = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    answer = chat(client, "Say hello.", n=2 * SLOTS, **more)
    parts = answer if stream else [answer]
    ended = [choice.index for part in parts for choice in part.choices if choice.finish_reason]
    assert sorted(ended) == list(range(2 * SLOTS))
    assert 2 * SLOTS <= parts[-1].usage.completion_tokens <= 2 * SLOTS * 4


@both_ways
def test_an_image_is_refused(client: OpenAI, stream: bool) -> None:
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
    ]
    with pytest.raises(BadRequestError) as caught:
        chat(client, parts, stream=stream)
    assert "images" in caught.value.message


def test_more_callers_than_slots_wait_their_turn(client: OpenAI) -> None:
    with ThreadPoolExecutor(SLOTS * 2) as pool:
        answers = list(pool.map(lambda number: chat(client, f"Say {number}."), range(SLOTS * 2)))
    assert all(answer.choices[0].finish_reason in ("stop", "length") for answer in answers)


# --- tools -----------------------------------------------------------------------------------------------------------


def checked(name: str, arguments: str) -> Any:
    decoded = orjson.loads(arguments)
    jsonschema.validate(decoded, SCHEMAS[name])
    return decoded


def chat_calls(client: OpenAI, question: str, stream: bool, **more: Any) -> tuple[list[tuple[str, str]], Any]:
    """`(name, arguments)` of the calls, and the final choice."""
    body: Any = {"model": "SvcLLM", "tools": TOOLS, "temperature": 0, "max_tokens": 200, **more}
    body["messages"] = [{"role": "user", "content": question}]
    if stream:
        with client.chat.completions.stream(**body) as events:
            choice: Any = events.get_final_completion().choices[0]
    else:
        choice = client.chat.completions.create(**body).choices[0]
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
    again: Any = {"previous_response_id": response.id, "input": output, "max_output_tokens": 40}
    assert client.responses.create(model="SvcLLM", temperature=0, **again).output_text


# --- the messages route ----------------------------------------------------------------------------------------------


def test_the_embedded_model_streams_a_message(claude: anthropic.Anthropic) -> None:
    asked: Any = [{"role": "user", "content": "Write a long story about a ship."}]
    with claude.messages.stream(model="SvcLLM", max_tokens=12, messages=asked, extra_body={"temperature": 0}) as stream:
        pieces = list(stream.text_stream)
        message = stream.get_final_message()
    assert len(pieces) > 1 and message.stop_reason == "max_tokens"
    read = message.usage.input_tokens + (message.usage.cache_read_input_tokens or 0)
    assert message.usage.output_tokens == 12 and read > 10


def test_its_tokenizer_counts_what_the_answer_counts(claude: anthropic.Anthropic) -> None:
    counted = claude.messages.count_tokens(model="SvcLLM", messages=HELLO)
    message = claude.messages.create(model="SvcLLM", max_tokens=1, messages=HELLO)
    assert isinstance(message, anthropic.types.Message)
    read = message.usage.input_tokens + (message.usage.cache_read_input_tokens or 0)
    assert counted.input_tokens == read and "usage_estimated" not in str(counted.model_extra)


def test_a_prompt_beyond_its_context_is_told_as_too_long(claude: anthropic.Anthropic) -> None:
    long: list[Any] = [{"role": "user", "content": "word " * 6000}]
    with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: 60\d\d tokens > 4096 maximum"):
        claude.messages.create(model="SvcLLM", max_tokens=1, messages=long)


# --- the gateway around it -------------------------------------------------------------------------------------------


async def test_an_agent_maps_crawls_reads_and_searches_the_documentation(gateway: GatewayProcess) -> None:
    docs = f"{gateway.ops_url}/docs/"
    mapped = (await call_tool(gateway, "map", {"url": docs}))[1]["results"]
    crawled = (await call_tool(gateway, "crawl", {"url": docs, "limit": 20, "allow_external": False}))[1]["results"]
    assert {page["url"] for page in crawled} <= {docs, *mapped} and len(crawled) >= 3
    _, page = await call_tool(gateway, "extract", {"urls": [f"{docs}keys-and-limits"]})
    assert "five seconds" in page["results"][0]["raw_content"]
    await call_tool(gateway, "extract", {"urls": [f"{docs}interface", docs]})
    for query in ("revoked key refused seconds", "what a key may do"):
        _, found = await call_tool(gateway, "search", {"query": query, "max_results": 3})
        urls = [each["url"] for each in found["results"]]
        assert f"{docs}keys-and-limits" in urls and not {docs, f"{docs}interface"} & {*urls}, query


def test_the_printed_chat_command_works_when_pasted(gateway: GatewayProcess) -> None:
    command = re.findall(r"^  (gateway chat .*)$", gateway.output(), re.MULTILINE)
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["/bin/sh", "-c", *command], env={"PATH": path}, capture_output=True, text=True, timeout=ANSWER_S, check=True
    )
    assert done.stdout.strip() and not done.stderr


async def test_it_stays_ready_while_the_ocr_engine_loads_for_the_first_picture(gateway: GatewayProcess) -> None:
    picture = base64.b64encode(SAMPLE.read_bytes()).decode()
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}
    content = [{"type": "text", "text": "Free OCR."}, image]
    body = {"model": "SvcOCR", "messages": [{"role": "user", "content": content}]}
    seen, asking = [], asyncio.create_task(send(gateway, CHAT, body))
    while not asking.done():
        seen.append((await gateway.get("/readyz", ops=True))[0])
        await asyncio.sleep(0.05)
    assert "Harbour Street" in str((await asking)[1])
    assert len(seen) > 3 and set(seen) == {200}


async def test_a_key_is_made_used_rotated_and_refused_within_five_seconds_of_its_end(gateway: GatewayProcess) -> None:
    made = gateway.command("keys", "create", "--name", "robot", "--scope", "chat", "--expires", "90d")
    key = made.stdout.strip()
    assert made.returncode == 0 and made.stdout.count("\n") == 1, "standard output is the key alone"
    listed = gateway.command("keys", "list").stdout
    [key_id] = [line.split()[0] for line in listed.splitlines() if "robot" in line]
    assert key not in listed
    assert await reached(gateway, key, 200)
    rotated = gateway.command("keys", "rotate", key_id).stdout.strip()
    assert await reached(gateway, rotated, 200)
    assert await status_of(gateway, key) == 200, "the old key lives until it is revoked"
    assert gateway.command("keys", "revoke", key_id).returncode == 0
    assert await reached(gateway, key, 401)
    assert await status_of(gateway, rotated) == 200
    assert gateway.command("keys", "revoke", key_id).returncode == 1
    assert key not in gateway.output() and rotated not in gateway.output()


async def status_of(gateway: GatewayProcess, key: str) -> int:
    return (await send(gateway, "/v1/models", method="GET", key=key))[0]


async def reached(gateway: GatewayProcess, key: str, status: int) -> bool:
    """Within five seconds. Raises TimeoutError."""
    async with asyncio.timeout(5):
        while await status_of(gateway, key) != status:
            pass
    return True


def test_the_models_sudden_death_is_mended_and_costs_nobody_an_answer(gateway: GatewayProcess, client: OpenAI) -> None:
    before = gateway.embedded_servers()["llm"]
    os.kill(before, signal.SIGKILL)
    answer = client.chat.completions.create(model="SvcLLM", messages=HELLO, max_tokens=3)
    assert answer.choices[0].message.content
    assert gateway.embedded_servers()["llm"] != before
