"""What a messages request becomes at the chat upstream: systems, tools, results, images, documents, limits."""

import json
from typing import Any

import pytest

from tests.support import upstream as up
from tests.support.asking import ask
from tests.support.gateways import Gateway
from tests.support.messages_route import ADD, HELLO, IMAGE, MODEL
from tests.support.paths import GOLDEN
from tests.support.upstream import Upstream

USE: dict[str, Any] = {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}}
RESULT: dict[str, Any] = {"type": "tool_result", "tool_use_id": "c1", "content": "2"}


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": value, **more}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def chat(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


MESSAGES: dict[str, Any] = {row["case"]: row for row in json.loads((GOLDEN / "messages_to_chat.json").read_text())}


async def sent(server: Gateway, upstream: Upstream, **body: Any) -> dict[str, Any]:
    upstream.will(up.answer())
    status, answer, _ = await ask(server, "/v1/messages?beta=true", **{**MODEL, "messages": HELLO, **body})
    assert status == 200, answer
    found: dict[str, Any] = upstream.last.body
    return found


@pytest.mark.parametrize("case", MESSAGES)
async def test_messages_become_chat_messages(server: Gateway, upstream: Upstream, case: str) -> None:
    assert (await sent(server, upstream, **MESSAGES[case]["asked"]))["messages"] == MESSAGES[case]["sent"]


async def test_nothing_of_the_request_goes_on_but_what_chat_has(server: Gateway, upstream: Upstream) -> None:
    more = {"context_management": {"edits": []}, "service_tier": "auto", "base_url": "http://10.0.0.1", "speed": "fast"}
    body = await sent(server, upstream, metadata={"user_id": "device 7"}, thinking={"type": "enabled"}, **more)
    assert body.keys() == {"model", "messages", "max_tokens", "user", "service_tier"}
    assert body["user"].startswith("user_") and "device" not in str(body)


CHOICES = {
    "auto": ({"type": "auto"}, "auto", None),
    "any": ({"type": "any", "disable_parallel_tool_use": True}, "required", False),
    "tool": ({"type": "tool", "name": "add"}, {"type": "function", "function": {"name": "add"}}, None),
    "none": ({"type": "none"}, "none", None),
}


@pytest.mark.parametrize("case", CHOICES)
async def test_tools_and_their_choice_have_chats_form(server: Gateway, upstream: Upstream, case: str) -> None:
    choice, wanted, parallel = CHOICES[case]
    body = await sent(server, upstream, tools=[{**ADD, "cache_control": {"type": "ephemeral"}}], tool_choice=choice)
    function = {"name": "add", "description": "adds", "parameters": ADD["input_schema"]}
    assert body["tools"] == [{"type": "function", "function": function}]
    assert body["tool_choice"] == wanted and body.get("parallel_tool_calls") is parallel


async def test_a_long_session_keeps_its_newest_images(server: Gateway, upstream: Upstream) -> None:
    turns = [each for number in range(12) for each in (user(text(str(number)), IMAGE), assistant(text("seen")))]
    body = await sent(server, upstream, messages=[*turns, *HELLO])
    parts = [part for message in body["messages"][:-1:2] for part in message["content"]]
    assert [part["type"] for part in parts[1::2]] == ["text"] * 4 + ["image_url"] * 8


async def test_a_refusal_has_the_form_of_the_interface_and_the_id_of_its_request(server: Gateway) -> None:
    status, answer, headers = await ask(server, "/v1/messages", **MODEL, messages=[])
    assert (status, answer["type"], answer["error"]["type"]) == (400, "error", "invalid_request_error")
    assert answer["request_id"] == headers["request-id"] == headers["x-request-id"]


async def test_a_deferred_tool_is_offered_once_a_result_has_named_it(server: Gateway, upstream: Upstream) -> None:
    tools = [ADD, {**ADD, "name": "later", "defer_loading": True}, {**ADD, "name": "never", "defer_loading": True}]
    before = await sent(server, upstream, tools=tools)
    reference = {**RESULT, "content": [{"type": "tool_reference", "tool_name": "later"}]}
    after = await sent(server, upstream, tools=tools, messages=[user(text("add")), assistant(USE), user(reference)])
    assert [tool["function"]["name"] for tool in before["tools"]] == ["add"]
    assert [tool["function"]["name"] for tool in after["tools"]] == ["add", "later"]


async def test_system_messages_add_and_remove_tools(server: Gateway, upstream: Upstream) -> None:
    changes = [
        {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "add"}},
        {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {**ADD, "name": "new"}}},
    ]
    body = await sent(server, upstream, tools=[ADD], messages=[*HELLO, chat("system", changes)])
    assert [tool["function"]["name"] for tool in body["tools"]] == ["new"]
