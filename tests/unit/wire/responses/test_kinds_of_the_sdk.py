"""Every kind of item, tool and field that openai-python knows has a row here: a new one in a newer version fails.

Each row says what becomes of it on an upstream that is reached through chat, and that one which speaks /responses
itself gets it as it is.
"""

import typing
from typing import Any

import pytest
from openai.types.responses import response_create_params
from openai.types.responses.response_input_param import ResponseInputItemParam
from openai.types.responses.tool_param import ToolParam

from gateway import schemas
from gateway.errors import InvalidRequest
from gateway.wire.chat.request import UpstreamOptions
from gateway.wire.responses.native import to_native
from gateway.wire.responses.request import to_chat

USER: dict[str, Any] = {"role": "user", "content": "hi"}
PNG = "data:image/png;base64,AAAA"
PATCH = {"type": "delete_file", "path": "a.txt"}

ITEMS: dict[str, tuple[dict[str, Any], str]] = {
    "message": ({"role": "assistant", "content": "so"}, "assistant: so"),
    "function_call": ({"call_id": "c", "name": "f", "arguments": "{}"}, "call f {}"),
    "custom_tool_call": ({"call_id": "c", "name": "f", "input": "x"}, 'call f {"input":"x"}'),
    "local_shell_call": (
        {"id": "l", "call_id": "c", "status": "completed", "action": {"type": "exec", "command": ["ls"], "env": {}}},
        'call local_shell {"type":"exec","command":["ls"],"env":{}}'),
    "shell_call": ({"call_id": "c", "action": {"commands": ["ls"]}}, 'call shell {"commands":["ls"]}'),
    "apply_patch_call": (
        {"call_id": "c", "operation": PATCH, "status": "completed"},
        'call apply_patch {"type":"delete_file","path":"a.txt"}'),
    "tool_search_call": (
        {"call_id": "c", "arguments": {"query": "mail"}, "execution": "client"}, 'call tool_search {"query":"mail"}'),
    "computer_call": ({"id": "x", "call_id": "c", "action": {"type": "click"}}, 'call computer {"type":"click"}'),
    "function_call_output": ({"call_id": "open", "output": "5"}, "tool: 5"),
    "custom_tool_call_output": ({"call_id": "open", "output": "5"}, "tool: 5"),
    "local_shell_call_output": ({"id": "open", "output": "5"}, "tool: 5"),
    "shell_call_output": ({"call_id": "open", "output": [{"stdout": "5"}]}, 'tool: [{"stdout":"5"}]'),
    "apply_patch_call_output": ({"call_id": "open", "status": "failed", "output": None}, "tool: failed"),
    "tool_search_output": (
        {"call_id": "open", "tools": [{"type": "function", "name": "mail"}]},
        "tool: tools that can be called now: mail"),
    "computer_call_output": (
        {"call_id": "open", "output": {"type": "computer_screenshot", "image_url": PNG}},
        "tool: [images: in the user message that follows]"),
    "item_reference": ({"id": "msg_1"}, "refused id"),
    "compaction": ({"encrypted_content": "x"}, "refused type"),
    "compaction_trigger": ({}, "refused type"),
    "configuration_update": ({"reasoning": {"effort": "low"}}, "nothing"),
    "additional_tools": ({"role": "developer", "tools": []}, "nothing"),
    **dict.fromkeys(
        ("reasoning", "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
         "mcp_list_tools", "mcp_call", "mcp_approval_request", "mcp_approval_response", "program", "program_output"),
        ({"id": "x", "output": None, "arguments": "{}"}, "nothing")),
}  # fmt: skip

NAMED = {"name": "f", "description": "d"}
TOOLS: dict[str, tuple[dict[str, Any], str]] = {
    "function": ({**NAMED, "parameters": {"type": "object", "properties": {}}}, "f"),
    "custom": (NAMED, "f"),
    "namespace": ({**NAMED, "name": "ns", "tools": [{"type": "custom", "name": "f"}]}, "ns__f"),
    "local_shell": ({}, "local_shell"),
    "shell": ({"environment": {"type": "local"}}, "shell"),
    "apply_patch": ({}, "apply_patch"),
    "tool_search": ({"execution": "client", "parameters": {"type": "object"}}, "tool_search"),
    **dict.fromkeys(
        ("file_search", "computer", "computer_use_preview", "web_search", "web_search_2025_08_26", "mcp",
         "code_interpreter", "programmatic_tool_calling", "image_generation", "web_search_preview",
         "web_search_preview_2025_03_11"),
        ({}, "dropped")),
}  # fmt: skip

FIELDS = {
    "translated": {
        "input", "instructions", "max_output_tokens", "text", "tools", "tool_choice", "reasoning", "stream_options",
    },
    "kept by the gateway": {
        "previous_response_id", "store", "metadata", "include", "truncation", "max_tool_calls", "background",
        "conversation",
    },
    "as it is": {
        "model", "temperature", "top_p", "user", "parallel_tool_calls", "prompt_cache_key", "prompt_cache_retention",
        "prompt_cache_options", "safety_identifier", "service_tier", "top_logprobs",
    },
    "refused": {"prompt"},
    "not for chat": {"context_management", "access_programs", "image", "moderation"},
}  # fmt: skip
"""What is done with each field of a request on a chat upstream."""


def types_of(union: Any) -> set[str]:
    """The values of `type` of a union of TypedDicts."""
    found: set[str] = set()
    for member in typing.get_args(union):
        hint = typing.get_type_hints(member)["type"]
        while not all(isinstance(value, str) for value in typing.get_args(hint)):
            hint = typing.get_args(hint)[0]
        found.update(typing.get_args(hint))
    return found


def test_every_item_of_the_sdk_has_a_row() -> None:
    assert set(ITEMS) == types_of(ResponseInputItemParam)


def test_every_tool_of_the_sdk_has_a_row() -> None:
    assert set(TOOLS) == types_of(ToolParam)


def test_every_field_of_the_sdk_has_a_row() -> None:
    rows = [name for names in FIELDS.values() for name in names]
    assert sorted(rows) == sorted(typing.get_type_hints(response_create_params.ResponseCreateParamsBase))


def outcome(kind: str, item: dict[str, Any]) -> str:
    """What becomes of an item after a user's message and an open call."""
    items = [USER]
    if kind.endswith("output"):
        items.append({"type": "function_call", "call_id": "open", "name": "g", "arguments": "{}"})
    try:
        messages = to_chat({"model": "m", "input": [*items, {"type": kind, **item}]}, []).body["messages"][len(items) :]
    except InvalidRequest as error:
        return f"refused {(error.param or '').rpartition('.')[2]}"
    if not messages:
        return "nothing"
    if calls := messages[0].get("tool_calls"):
        return f"call {calls[0]['function']['name']} {calls[0]['function']['arguments']}"
    return f"{messages[0]['role']}: {messages[0]['content']}"


@pytest.mark.parametrize("kind", ITEMS)
def test_an_item_is_translated_as_its_row_says(kind: str) -> None:
    item, expected = ITEMS[kind]
    body = {"model": "m", "input": [{"type": kind, **item}]}
    assert schemas.Checker(schemas.load("responses")).check(body) == []
    assert outcome(kind, item) == expected


@pytest.mark.parametrize("kind", ITEMS)
def test_an_item_reaches_a_native_upstream_as_it_is(kind: str) -> None:
    item = {"type": kind, **ITEMS[kind][0]}
    sent = to_native({"model": "m", "input": [item]}, [], UpstreamOptions("up"), None)["input"][0]
    assert {**item, **sent} == item and item.keys() - sent.keys() <= {"id", "status"}
    if "id" not in sent:
        assert kind in ("message", "reasoning", "function_call", "function_call_output") or "id" not in item


@pytest.mark.parametrize("kind", TOOLS)
def test_a_tool_is_offered_as_its_row_says(kind: str) -> None:
    tool, name = {"type": kind, **TOOLS[kind][0]}, TOOLS[kind][1]
    chat = to_chat({"model": "m", "input": "hi", "tools": [tool]}, [])
    offered = [each["function"]["name"] for each in chat.body.get("tools", ())]
    assert (offered or ["dropped"]) == [name]
    assert bool(chat.dropped) == (name == "dropped") == any(kind in warning for warning in chat.warnings)
    native = to_native({"model": "m", "input": [], "tools": [tool]}, [], UpstreamOptions("up"), None)
    assert native["tools"] == [tool]


@pytest.mark.parametrize("field", sorted(FIELDS["not for chat"] | FIELDS["kept by the gateway"] | FIELDS["as it is"]))
def test_a_field_is_sent_on_or_not_as_its_row_says(field: str) -> None:
    tool = {"type": "function", "name": "f"}
    chat = to_chat({"model": "m", "input": "hi", "tools": [tool], field: "value"}, []).body
    assert (field in chat) == (field in FIELDS["as it is"])


@pytest.mark.parametrize("field", sorted(FIELDS["refused"]))
def test_a_field_for_state_that_is_not_kept_is_refused_by_name(field: str) -> None:
    body = {"model": "m", "input": "hi", field: {"id": "x"}}
    with pytest.raises(InvalidRequest) as caught:
        to_chat(body, [])
    assert caught.value.param == field
