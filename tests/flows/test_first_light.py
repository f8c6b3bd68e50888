"""First light: the real `gateway serve` with its embedded model, spoken to by the clients people use.

One server for the whole file; the embedded model's answers are short because it shares the cores with the tests.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from openai import AuthenticationError, NotFoundError, OpenAI
from openai.types.responses import ResponseOutputMessage

from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import ANSWER_S, NEEDS_MODEL

pytestmark = NEEDS_MODEL

HELLO: list[Any] = [{"role": "user", "content": "Say hello."}]
TOOLS = {f"websearch-{name}" for name in ("search", "extract", "crawl", "map", "search_status")}


@asynccontextmanager
async def mcp_client(gateway: GatewayProcess) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {gateway.key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(f"{gateway.url}/tools/websearch/mcp", http_client=http)
        async with Client(transport) as client:
            yield client


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The data of a successful call."""
    result = await client.call_tool(f"websearch-{tool}", arguments)
    answer: dict[str, Any] = json.loads(result.content[0].text)  # type: ignore[union-attr]
    assert not result.is_error, answer
    assert answer["success"] is True
    assert result.structured_content == answer
    data: dict[str, Any] = answer["data"]
    return data


def status_of(url: str, key: str) -> int:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            status: int = answer.status
    except urllib.error.HTTPError as error:
        with error:
            status = error.code
    return status


def test_the_openai_client_chats(client: OpenAI) -> None:
    answer = client.chat.completions.create(model="SvcLLM", messages=HELLO, max_tokens=6)
    assert answer.model == "SvcLLM"
    assert answer.choices[0].message.role == "assistant"
    assert answer.choices[0].message.content
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert (answer.system_fingerprint or "").startswith("llamacpp-")
    choice: dict[str, Any] = answer.choices[0].to_dict()
    assert {"provider", "model", "latency_ms", "attempts"} <= set(choice["provider_specific_fields"])


def test_the_openai_client_streams_a_chat(client: OpenAI) -> None:
    options: Any = {"include_usage": True}
    chunks = list(
        client.chat.completions.create(
            model="SvcLLM", messages=HELLO, max_tokens=6, stream=True, stream_options=options
        )
    )
    assert len({(chunk.id, chunk.created, chunk.model) for chunk in chunks}) == 1
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    assert "".join(choice.delta.content or "" for choice in choices)
    assert [choice.finish_reason for choice in choices if choice.finish_reason] in (["length"], ["stop"])
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None


def test_json_is_forced_by_response_format(client: OpenAI) -> None:
    form: Any = {
        "type": "json_schema",
        "json_schema": {
            "name": "answer",
            "schema": {
                "type": "object",
                "properties": {"ok": {"type": "boolean"}},
                "required": ["ok"],
                "additionalProperties": False,
            },
        },
    }
    # Without chance: blanks are JSON too, and a small model that draws many of them comes to no end.
    answer = client.chat.completions.create(
        model="SvcLLM", messages=HELLO, max_tokens=60, temperature=0, response_format=form
    )
    assert json.loads(answer.choices[0].message.content or "")["ok"] in (True, False)


def test_the_openai_client_gets_a_response_and_continues_it(client: OpenAI) -> None:
    first = client.responses.create(model="SvcLLM", input="Say hello.", max_output_tokens=6)
    assert first.output_text
    assert first.status in ("completed", "incomplete")
    assert first.usage is not None
    assert first.usage.total_tokens == first.usage.input_tokens + first.usage.output_tokens
    assert client.responses.retrieve(first.id).id == first.id
    more = client.responses.create(
        model="SvcLLM", input="And again.", previous_response_id=first.id, max_output_tokens=4
    )
    assert more.usage is not None
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


def test_models_are_listed_and_an_unknown_one_is_named(client: OpenAI) -> None:
    assert "SvcLLM" in [model.id for model in client.models.list()]
    assert client.models.retrieve("SvcLLM").id == "SvcLLM"
    with pytest.raises(NotFoundError) as refusal:
        client.chat.completions.create(model="svcllm", messages=HELLO)
    assert refusal.value.code == "model_not_found"
    assert "SvcLLM" in refusal.value.message, "another case is told the right name"


def test_a_wrong_key_is_told_so_and_nothing_else(gateway: GatewayProcess) -> None:
    with (
        OpenAI(base_url=f"{gateway.url}/v1", api_key="not-a-key", max_retries=0) as stranger,
        pytest.raises(AuthenticationError) as refusal,
    ):
        stranger.models.list()
    assert refusal.value.code == "invalid_api_key"
    assert "not-a-key" not in refusal.value.message


async def test_the_mcp_client_lists_five_tools_and_calls_each(gateway: GatewayProcess) -> None:
    docs = f"{gateway.ops_url}/docs/"
    async with mcp_client(gateway) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        mapped = await called(client, "map", url=docs)
        assert len(mapped["results"]) >= 3
        crawled = await called(client, "crawl", url=docs, limit=20, allow_external=False)
        assert {page["url"] for page in crawled["results"]} <= {docs, *mapped["results"]}
        assert len(crawled["results"]) >= 3
        page = await called(client, "extract", urls=[f"{docs}keys-and-limits"])
        assert "five seconds" in page["results"][0]["raw_content"]
        found = await called(client, "search", query="revoked key refused seconds", max_results=3)
        assert f"{docs}keys-and-limits" in [each["url"] for each in found["results"]]
        status = await called(client, "search_status")
        assert status["search_provider"]["healthy"] is True


def test_every_printed_command_works_when_pasted(gateway: GatewayProcess) -> None:
    shell, curl = shutil.which("bash"), shutil.which("curl")
    if not (shell and curl):
        pytest.skip("bash or curl is not installed")
    commands = re.findall(r"^curl .*$", gateway.output(), re.MULTILINE)
    assert len(commands) == 3
    answers = [
        subprocess.run([shell, "-c", command], capture_output=True, text=True, timeout=ANSWER_S, check=True).stdout
        for command in commands
    ]
    assert json.loads(answers[0])["choices"][0]["message"]["content"]
    found = json.loads(json.loads(answers[1].splitlines()[-1])["result"]["content"][0]["text"])
    assert found["data"]["results"], "the crawl filled the index that the search reads"
    assert json.loads(answers[2])["result"]["isError"] is False


def test_a_key_is_made_used_rotated_and_refused_within_five_seconds_of_its_end(gateway: GatewayProcess) -> None:
    made = gateway.command("keys", "create", "--name", "robot", "--scope", "chat", "--expires", "90d")
    key = made.stdout.strip()
    assert made.returncode == 0
    assert made.stdout.count("\n") == 1, "standard output is the key alone"
    listed = gateway.command("keys", "list").stdout
    [key_id] = [line.split()[0] for line in listed.splitlines() if "robot" in line]
    assert key not in listed
    models = f"{gateway.url}/v1/models"
    assert reached(models, key, 200)
    rotated = gateway.command("keys", "rotate", key_id).stdout.strip()
    assert reached(models, rotated, 200)
    assert status_of(models, key) == 200, "the old key lives until it is revoked"
    assert gateway.command("keys", "revoke", key_id).returncode == 0
    assert reached(models, key, 401)
    assert status_of(models, rotated) == 200
    assert gateway.command("keys", "revoke", key_id).returncode == 1
    assert key not in gateway.output()
    assert rotated not in gateway.output()


def reached(url: str, key: str, status: int, limit_s: float = 5.0) -> bool:
    end = time.monotonic() + limit_s
    while status_of(url, key) != status:
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def test_the_log_has_one_line_a_request_and_neither_prompt_nor_answer_nor_key(
    gateway: GatewayProcess, client: OpenAI
) -> None:
    canary = "zanzibarflamingo"
    reply = client.chat.completions.with_raw_response.create(
        model="SvcLLM", messages=[{"role": "user", "content": canary}], max_tokens=2, user=f"{canary}-user"
    )
    request_id = reply.headers["x-request-id"]
    end = time.monotonic() + 5
    while request_id not in gateway.output() and time.monotonic() < end:
        time.sleep(0.02)
    assert gateway.output().count(request_id) == 1
    assert canary not in gateway.output()
    assert gateway.key not in gateway.output()


def test_the_models_sudden_death_is_mended_and_costs_nobody_an_answer(gateway: GatewayProcess, client: OpenAI) -> None:
    before = gateway.embedded_servers()["llm"]
    os.kill(before, signal.SIGKILL)
    answer = client.chat.completions.create(model="SvcLLM", messages=HELLO, max_tokens=3)
    assert answer.choices[0].message.content
    assert gateway.embedded_servers()["llm"] != before
