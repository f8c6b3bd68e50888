"""What a messages request becomes for a chat model, and how errors of this API look; without a gateway."""

from typing import Any, get_args

import pytest

from gateway.domain import Json
from gateway.errors import GatewayError, InvalidRequest, Overloaded, RateLimited, UpstreamError, UpstreamRefused
from gateway.wire.chat.presets import rules_of
from gateway.wire.chat.request import UpstreamOptions, to_upstream
from gateway.wire.messages.client_tools import long_names, named_block
from gateway.wire.messages.error import error_object
from gateway.wire.messages.hosted_search import block_id, open_calls, web_wish
from gateway.wire.messages.request import to_chat
from gateway.wire.messages.tools import forced_kind, left_out

USE: Json = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}}
TOOLS: list[Json] = [{"name": "add", "input_schema": {"type": "object"}}, {"name": "sub", "input_schema": {}}]
SEARCH: Json = {"type": "web_search_20250305", "name": "web_search"}
FETCH: Json = {"type": "web_fetch_20250910", "name": "web_fetch"}


def user(*blocks: Any) -> Json:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def text(value: str, **more: Any) -> Json:
    return {"type": "text", "text": value, **more}


def result(use: str, content: Any = "2", **more: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": use, "content": content, **more}


def chat(*messages: Json, **body: Any) -> Json:
    return to_chat({"model": "m", "max_tokens": 9, "messages": list(messages), **body}, 20)


@pytest.mark.parametrize("caches", [True, False])
def test_cache_marks_reach_upstreams_that_take_them_and_no_other(caches: bool) -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    system, tool = [text("Be brief"), text("and kind", **mark)], {"name": "add", "input_schema": {}, **mark}
    history = [user(text("a"), text("b", **mark)), assistant(text("I add"), USE), user(result("t1", **mark), text("c"))]
    body = chat(*history, system=system, tools=[tool])
    sent = to_upstream(body, UpstreamOptions("up", rules=rules_of({"preset": "openrouter" if caches else ""})))
    contents = [message["content"] for message in sent["messages"]]
    if caches:
        assert contents == [
            [text("Be brief\n\nand kind", **mark)], [text("a\n\nb", **mark)], "I add", [text("2", **mark)], "c",
        ]  # fmt: skip
        assert sent["tools"][0]["cache_control"] == mark["cache_control"]
    else:
        assert contents == ["Be brief\n\nand kind", "a\n\nb", "I add", "2", "c"] and "cache" not in str(sent)


def test_stops_and_temperature_go_on_and_a_document_in_base64_does_not() -> None:
    sent = chat(user(text("a")), stop_sequences=["x"], top_k=3, temperature=0.5)
    assert (sent["stop"], sent["temperature"]) == (["x"], 0.5)
    with pytest.raises(InvalidRequest, match="as base64"):
        chat(user({"type": "document", "source": {"type": "base64", "media_type": "application/pdf"}}))


@pytest.mark.parametrize(
    "kind", ["bash_20250124", "text_editor_20250124", "text_editor_20991231", "memory_20250818", "computer_20251124"]
)
def test_a_tool_that_only_has_a_type_is_a_function_that_says_what_it_takes(kind: str) -> None:
    sent = chat(user(text("a")), tools=[{"type": kind, "name": "its_name"}], tool_choice={"type": "any"})
    function = sent["tools"][0]["function"]
    assert function["name"] == "its_name" and len(function["description"]) > 40 and sent["tool_choice"] == "required"
    fields = function["parameters"]["properties"]
    assert {"command", "action"} & set(fields) and set(function["parameters"]["required"]) <= fields.keys()
    assert ("undo_edit" in str(fields)) is (kind == "text_editor_20250124")


def test_a_toolset_is_one_function_a_member_and_its_calls_come_back_under_their_own_names() -> None:
    tools = [{"type": "computer_toolset_20260801", "configs": {"zoom": {"enabled": False}}}]
    call = {"type": "tool_use", "id": "t1", "name": "wait", "toolset_name": "computer", "input": {"duration": 1}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}
    sent = chat(user(text("a")), {"role": "assistant", "content": [call]}, user(result), tools=tools)
    names = {tool["function"]["name"] for tool in sent["tools"]}
    assert {"computer__screenshot", "computer__wait"} <= names and "computer__zoom" not in names
    assert sent["messages"][1]["tool_calls"][0]["function"]["name"] == "computer__wait"
    assert named_block("computer__wait") == {"name": "wait", "toolset_name": "computer"}
    assert named_block("computer__mine") == {"name": "computer__mine"}


def test_a_tool_that_its_makers_server_runs_is_left_out_with_a_warning() -> None:
    tools = [{"type": "code_execution_20250825", "name": "code_execution"}, {"name": "mine", "input_schema": {}}]
    assert [tool["function"]["name"] for tool in chat(user(text("a")), tools=tools)["tools"]] == ["mine"]
    assert "code_execution_20250825" in left_out({"tools": tools})[0] and left_out({"tools": tools[1:]}) == []


@pytest.mark.slow  # types of an official client
def test_the_memory_tool_takes_every_field_of_the_sdks_commands() -> None:
    from anthropic.types.beta import BetaMemoryTool20250818Command

    sent = chat(user(text("a")), tools=[{"type": "memory_20250818", "name": "memory"}])
    fields = sent["tools"][0]["function"]["parameters"]["properties"]
    commands = get_args(get_args(BetaMemoryTool20250818Command)[0])
    assert {name for each in commands for name in each.model_fields} == fields.keys()
    assert {get_args(each.model_fields["command"].annotation)[0] for each in commands} == set(fields["command"]["enum"])


def test_deferred_tools_are_offered_where_the_service_would_search_them() -> None:
    deferred = [{**tool, "defer_loading": True} for tool in TOOLS]
    search = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
    assert "tools" not in chat(user(text("a")), tools=deferred)
    sent = chat(user(text("a")), tools=[search, *deferred])
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["add", "sub"]


def test_the_search_tool_and_its_open_calls_are_found() -> None:
    found = web_wish({"tools": [*TOOLS, SEARCH]})
    assert found == ((SEARCH, "tools[2]"), None, "") and web_wish({"tools": TOOLS}) is None
    with pytest.raises(InvalidRequest, match=r"tools\[1\]: web_search is there already"):
        web_wish({"tools": [SEARCH, SEARCH]})
    made = {"type": "server_tool_use", "id": block_id("ws_1"), "name": "web_search", "input": {"query": "q"}}
    told = {"type": "web_search_tool_result", "tool_use_id": made["id"], "content": []}
    turn = [user(text("a")), assistant(USE, made, told), user(result("t1"))]
    assert open_calls(turn) == [made["id"]] and open_calls([*turn, assistant(text("b")), user(text("c"))]) == []


CHOICES = [
    ([SEARCH], {"type": "tool", "name": "web_search"}, "web_search"), ([SEARCH], {"type": "auto"}, ""),
    ([FETCH, SEARCH], {"type": "tool", "name": "web_fetch"}, "web_fetch"),
    ([FETCH, SEARCH], {"type": "any"}, "web_search"), ([*TOOLS, SEARCH], {"type": "any"}, ""),
    ([*TOOLS, SEARCH], {"type": "tool", "name": "add"}, ""), ([], {"type": "any"}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("tools", "choice", "kind"), CHOICES)
def test_a_choice_may_force_a_hosted_tool(tools: list[Json], choice: Json, kind: str) -> None:
    assert forced_kind({"tools": tools, "tool_choice": choice}) == kind


def test_both_web_tools_may_be_used_as_often_as_each_alone_together() -> None:
    limits: list[tuple[Json, Json]] = [({"max_uses": 2}, {"max_uses": 3}), ({}, {"max_uses": 3})]
    wishes = [web_wish({"tools": [{**SEARCH, **search}, {**FETCH, **fetch}]}) for search, fetch in limits]
    assert [wish.max_uses for wish in wishes if wish is not None] == [5, None]


ERRORS = [
    (InvalidRequest("x"), "invalid_request_error"), (RateLimited("x"), "rate_limit_error"),
    (Overloaded("x"), "overloaded_error"), (UpstreamError("x"), "api_error"),
    (UpstreamRefused("x", status=429, code="rate_limit_exceeded"), "rate_limit_error"),
]  # fmt: skip


@pytest.mark.parametrize(("error", "kind"), ERRORS)
def test_errors_have_the_types_of_this_api(error: GatewayError, kind: str) -> None:
    assert error_object(error)["error"]["type"] == kind


def test_a_long_name_of_a_tool_is_shortened_for_chat_and_comes_back_whole() -> None:
    name = "mcp__" + "a_server_with_a_long_name" * 3 + "__do.it"
    sent = chat(user(text("a")), tools=[{"name": name, "input_schema": {}}], tool_choice={"type": "tool", "name": name})
    short = sent["tools"][0]["function"]["name"]
    assert len(short) == 64 and sent["tool_choice"]["function"]["name"] == short
    assert long_names({"tools": [{"name": name}, {"name": "fine"}]}) == {short: name}
