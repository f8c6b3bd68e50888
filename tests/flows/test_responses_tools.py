"""Tools of every kind on `POST /v1/responses`: namespaces, custom and built-in tools, whole, streamed, stored."""

import asyncio
from typing import Any

import pytest
from openai import AsyncOpenAI

from tests.support import upstream as up
from tests.support.asking import ask, send, toml
from tests.support.gateways import Gateway, Serve
from tests.support.upstream import Upstream

LIMIT_S = 10
LONG = "find_every_document_that_has_anything_to_do_with_it"
SEARCH = {
    "type": "function",
    "name": "search",
    "description": "Finds pages.",
    "parameters": {"type": "object", "properties": {}},
}
NOTHING = {"type": "object", "properties": {}}
NAMESPACE = {
    "type": "namespace", "name": "mcp__websearch", "description": "Web tools.",
    "tools": [SEARCH, {"type": "function", "name": LONG, "parameters": NOTHING}, {"type": "custom", "name": "patch"}],
}  # fmt: skip
PLAIN = {"type": "function", "name": "mcp__websearch__search"}
PATCH = {
    "type": "custom", "name": "apply_patch", "description": "Edits files.",
    "format": {"type": "grammar", "syntax": "lark", "definition": "start: /x/"},
}  # fmt: skip


def calling(name: str, arguments: str, call_id: str = "c1") -> tuple[up.Script, up.Script]:
    """A model's call, as a whole answer and as a stream with the arguments cut in three."""
    call = up.called(name, arguments, call_id)
    whole = up.answer(up.completion(None, "tool_calls", tool_calls=[call]))
    return whole, up.stream(*up.call_stream(call, len(arguments) // 3 + 1))


async def item_of(client: AsyncOpenAI, streamed: bool, **body: Any) -> tuple[Any, list[Any]]:
    """The last item of the response, and its events."""
    async with asyncio.timeout(LIMIT_S):
        answer: Any = await client.responses.create(model="SvcLLM", input="go", stream=streamed, **body)
        if not streamed:
            return answer.output[-1], []
        events: list[Any] = [event async for event in answer]
        done = [event.item for event in events if event.type == "response.output_item.done"]
        assert done[-1] == events[-1].response.output[-1]
        return done[-1], events


def offered(upstream: Upstream) -> dict[str, str]:
    """The functions that the model saw: their descriptions by name."""
    return {tool["function"]["name"]: tool["function"].get("description") for tool in upstream.last.body["tools"]}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_namespaces_tools_are_offered_and_called_by_namespace_and_name(
    client: AsyncOpenAI, upstream: Upstream, streamed: bool
) -> None:
    upstream.will(calling("mcp__websearch__search", '{"q":"x"}')[streamed])
    item, events = await item_of(client, streamed, tools=[NAMESPACE])
    assert (item.type, item.namespace, item.name) == ("function_call", "mcp__websearch", "search")
    assert item.arguments == '{"q":"x"}' and item.call_id == "c1"
    assert offered(upstream)["mcp__websearch__search"] == "Web tools.\n\nFinds pages."
    assert all(len(name) <= 64 for name in offered(upstream)) and len(offered(upstream)) == 3
    if streamed:
        assert "".join(e.delta for e in events if e.type.endswith("arguments.delta")) == item.arguments


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_custom_tool_gets_its_free_text(client: AsyncOpenAI, upstream: Upstream, streamed: bool) -> None:
    text = "*** Begin Patch\n+“ü” 😀\n*** End Patch"
    arguments = '{"input":"*** Begin Patch\\n+“\\u00fc” \\ud83d\\ude00\\n*** End Patch"}'
    upstream.will(calling("apply_patch", arguments)[streamed])
    item, events = await item_of(client, streamed, tools=[PATCH])
    assert (item.type, item.name, item.input, item.call_id) == ("custom_tool_call", "apply_patch", text, "c1")
    assert "lark grammar:\nstart: /x/" in offered(upstream)["apply_patch"]
    if streamed:
        assert [event.type for event in events[2:]] == [
            "response.output_item.added", "response.custom_tool_call_input.delta",
            "response.custom_tool_call_input.done", "response.output_item.done", "response.completed",
        ]  # fmt: skip
        assert events[3].delta == text == events[4].input


async def test_a_conversation_with_such_calls_goes_on_from_the_store(client: AsyncOpenAI, upstream: Upstream) -> None:
    tools: Any = [NAMESPACE, PATCH]
    patch = calling("apply_patch", '{"input":"x"}', "c2")[0]
    upstream.will(calling("mcp__websearch__search", '{"q":1}')[0], patch, up.answer())
    first = await client.responses.create(model="SvcLLM", input="go", tools=tools)
    outputs: Any = [{"type": "function_call_output", "call_id": "c1", "output": "found"}]
    second = await client.responses.create(model="SvcLLM", previous_response_id=first.id, input=outputs, tools=tools)
    outputs = [{"type": "custom_tool_call_output", "call_id": "c2", "output": "done"}]
    await client.responses.create(model="SvcLLM", previous_response_id=second.id, input=outputs, tools=tools)
    sent = upstream.last.body["messages"]
    calls = [message["tool_calls"][0]["function"] for message in sent if message.get("tool_calls")]
    assert [call["name"] for call in calls] == ["mcp__websearch__search", "apply_patch"]
    assert [m["content"] for m in sent if m["role"] == "tool"] == ["found", "done"]
    assert calls[1]["arguments"] == '{"input":"x"}'


async def test_tools_that_an_item_adds_are_offered_and_their_calls_come_back(
    client: AsyncOpenAI, upstream: Upstream
) -> None:
    upstream.will(calling("mcp__websearch__search", "{}")[0])
    added: Any = {"type": "additional_tools", "role": "developer", "tools": [NAMESPACE]}
    response = await client.responses.create(model="SvcLLM", input=[{"role": "user", "content": "go"}, added])
    assert response.output[-1].to_dict()["namespace"] == "mcp__websearch"


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("required", "required"),
        ("auto", "auto"),
        ("none", "none"),
        ({"type": "function", "name": "search", "namespace": "mcp__websearch"}, "mcp__websearch__search"),
        ({"type": "custom", "name": "apply_patch"}, "apply_patch"),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "custom", "name": "apply_patch"}]},
            "required",
        ),
        ({"type": "namespace", "name": "mcp__websearch"}, "required"),
    ],
)
async def test_a_choice_is_sent_in_the_models_names(server: Gateway, choice: Any, sent: str) -> None:
    server.upstream.will(up.answer())
    status, data, _ = await ask(server, "/v1/responses", input="x", tools=[NAMESPACE, PATCH], tool_choice=choice)
    assert status == 200, data
    body = server.upstream.last.body
    chosen = body["tool_choice"]
    assert (chosen if isinstance(chosen, str) else chosen["function"]["name"]) == sent
    if isinstance(choice, dict) and sent == "required":
        assert len(body["tools"]) == (1 if choice["type"] == "allowed_tools" else 3)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_tool_that_nobody_runs_is_told_in_the_answer(
    client: AsyncOpenAI, upstream: Upstream, streamed: bool
) -> None:
    upstream.will(up.stream(*up.text_stream()) if streamed else up.answer())
    tools: Any = [{"type": "image_generation"}]
    answer: Any = await client.responses.create(model="SvcLLM", input="x", tools=tools, stream=streamed)
    response = [event async for event in answer][-1].response if streamed else answer
    [warning] = response.provider_specific_fields["warnings"]
    assert "image_generation" in warning


async def test_client_metadata_reaches_no_upstream(serve: Serve, server: Gateway, upstream: Upstream) -> None:
    native = await serve(toml(upstream, responses="'native'"))
    message = {"type": "message", "id": "m", "role": "assistant", "content": []}
    upstream.will(up.answer(), up.answer({"id": "r", "object": "response", "status": "completed", "output": [message]}))
    for each in (server, native):
        status, data, _ = await ask(each, "/v1/responses", input="x", client_metadata={"workspace": "/home/me"})
        assert status == 200 and "client_metadata" not in upstream.last.body, data


@pytest.mark.parametrize(("path", "status"), [("/compact", 405), ("/input_tokens", 405), ("/compact/input_items", 404)])
@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_an_endpoint_is_no_id_of_a_response(server: Gateway, path: str, status: int, method: str) -> None:
    assert (await send(server, f"/v1/responses{path}", {}, method=method))[0] == status


@pytest.mark.parametrize("authorization", ["Bearer wrong", None])
async def test_a_wrong_key_is_told_in_the_words_that_clients_look_for(
    server: Gateway, authorization: str | None
) -> None:
    body = {"model": "SvcLLM", "input": "x"}
    status, told, headers = await send(server, "/v1/responses", body, Authorization=authorization)
    assert (status, told["error"]["code"]) == (401, "invalid_api_key")
    assert headers["WWW-Authenticate"].startswith("Bearer") and headers["X-Request-Id"]
    assert told["error"]["message"].startswith("Incorrect API key provided: ")


async def test_a_native_upstream_gets_kinds_that_chat_has_not_and_its_calls_come_back(serve: Serve) -> None:
    native = await serve(toml(serve.upstream, responses="'native'"))
    call = {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "x", "namespace": "n"}
    serve.upstream.will(up.answer({"id": "r", "object": "response", "status": "completed", "output": [call]}))
    shell = {"type": "shell_call", "id": "sh_1", "call_id": "s", "action": {"commands": ["ls"]}, "status": "completed"}
    output = {"type": "shell_call_output", "call_id": "s", "output": [{"stdout": "a", "stderr": ""}]}
    status, data, _ = await ask(native, "/v1/responses", input=[shell, output], tools=[NAMESPACE, PATCH])
    assert status == 200 and serve.upstream.last.body["input"] == [shell, output]
    assert serve.upstream.last.body["tools"] == [NAMESPACE, PATCH]
    [item] = data["output"]
    assert item["id"].startswith("ctc_") and {**item, "id": ""} == {**call, "id": ""}
    assert data["provider_specific_fields"]["finish_reason"] == "tool_calls"


async def test_a_stored_prompt_is_for_native_upstreams_alone(serve: Serve, server: Gateway, upstream: Upstream) -> None:
    native = await serve(toml(upstream, responses="'native'"))
    message = {"type": "message", "id": "m", "role": "assistant", "content": []}
    upstream.will(up.answer({"id": "r", "object": "response", "status": "completed", "output": [message]}))
    status, _, _ = await ask(native, "/v1/responses", prompt={"id": "pmpt_1"})
    assert status == 200 and "input" not in upstream.last.body
    status, data, _ = await ask(server, "/v1/responses", prompt={"id": "pmpt_1"})
    assert (status, data["error"]["param"]) == (400, "prompt")
    status, data, _ = await ask(server, "/v1/responses")
    assert (status, data["error"]["param"]) == (400, "input")
