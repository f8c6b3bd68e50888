"""Hosted MCP on `POST /v1/responses`: configured servers, the gateway's own tools, approvals, official clients."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.gateways import Serve
from tests.support.hosted_checks import check_type
from tests.support.hosted_mcp import LIMIT_S, WORDS, Stage, kinds, mcp_stage, tool_messages
from tests.support.hosted_search import SEARCH, call, post, round_of, scene
from tests.support.model_clients import python_of
from tests.support.official import run_client
from tests.support.paths import CLIENTS
from tests.support.ports import free_port, is_listening
from tests.support.waiting import until


@pytest.fixture
async def stage(serve: Serve, request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    async with mcp_stage(serve, getattr(request, "param", "never")) as made:
        yield made


def approval_of(request: Any, approve: bool = True, **more: str) -> dict[str, Any]:
    return {"type": "mcp_approval_response", "approval_request_id": request["id"], "approve": approve, **more}


@pytest.mark.parametrize("form", ["json", "events"])
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"])
async def test_a_model_calls_a_servers_tool_in_every_revision(stage: Stage, form: str, revision: str) -> None:
    stage.server.form, stage.server.revision = form, revision
    rounds = (round_of(call("words__lookup", word="sea"), is_stream=False), round_of("It is a word.", is_stream=False))
    status, data = await stage.respond(*rounds)
    assert status == 200 and kinds(data["output"]) == ["mcp_list_tools", "mcp_call", "message"], data
    listing, made, _ = data["output"]
    assert [tool["name"] for tool in listing["tools"]] == ["lookup", "delete"]
    told = {"server_label": "words", "name": "lookup", "output": "a word", "status": "completed"}
    assert made.items() >= told.items()
    assert json.loads(made["arguments"]) == {"word": "sea"} and made["error"] is None
    assert stage.server.calls == [{"name": "lookup", "arguments": {"word": "sea"}}]
    assert tool_messages(stage) == ["a word"]
    last = stage.server.seen[-1][2]
    assert last["Authorization"] == "Bearer SECRET-OF-WORDS" and last["MCP-Protocol-Version"] == revision
    if revision == "2026-07-28":
        assert (last["Mcp-Method"], last["Mcp-Name"]) == ("tools/call", "lookup") and "Mcp-Session-Id" not in last
    else:
        assert last["Mcp-Session-Id"] == "s1"
        async with asyncio.timeout(LIMIT_S):
            await stage.server.ended.wait()
    assert "SECRET" not in json.dumps(data) and "SECRET" not in stage.scene.server.log_text()


async def test_the_events_are_the_recorded_ones(stage: Stage) -> None:
    rounds = (round_of(call("words__lookup", word="sea")), round_of("A word."))
    status, events = await stage.respond(*rounds, stream=True)
    assert status == 200
    for event in events:
        check_type(event)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["type"].removeprefix("response.") for event in events[2:14]] == [
        "output_item.added", "mcp_list_tools.in_progress", "mcp_list_tools.completed", "output_item.done",
        "output_item.added", "mcp_call.in_progress", "mcp_call_arguments.delta", "mcp_call_arguments.done",
        "mcp_call.completed", "output_item.done", "output_item.added", "content_part.added",
    ]  # fmt: skip
    assert events[2]["item"]["tools"] == [] and events[6]["item"]["arguments"] == ""
    assert events[-1]["response"]["output"][:2] == [events[5]["item"], events[11]["item"]]


@pytest.mark.parametrize("stage", ["always"], indirect=True)
@pytest.mark.parametrize("approve", [True, False])
async def test_a_call_waits_for_approval_over_stored_responses(stage: Stage, approve: bool) -> None:
    status, first = await stage.respond(round_of(call("words__lookup", word="sea"), is_stream=False))
    assert status == 200 and kinds(first["output"]) == ["mcp_list_tools", "mcp_approval_request"], first
    request = first["output"][-1]
    assert (request["name"], request["server_label"], stage.server.calls) == ("lookup", "words", [])
    more = {"input": [approval_of(request, approve, reason="no!")], "previous_response_id": first["id"]}
    status, second = await stage.respond(round_of("Done.", is_stream=False), **more)
    assert status == 200, second
    if approve:
        assert kinds(second["output"]) == ["mcp_call", "message"]
        assert second["output"][0]["approval_request_id"] == request["id"] and tool_messages(stage) == ["a word"]
        assert len(stage.server.calls) == 1
    else:
        assert kinds(second["output"]) == ["message"] and "did not approve this call: no!" in tool_messages(stage)[0]
        assert stage.server.calls == []
    more = {"input": "again", "previous_response_id": second["id"]}
    status, third = await stage.respond(round_of("Yes.", is_stream=False), **more)
    assert status == 200 and kinds(third["output"]) == ["message"], "an approved call is run once, lists are told once"
    assert len(stage.server.calls) == int(approve) and len(tool_messages(stage)) == 1


@pytest.mark.parametrize("stage", ["always"], indirect=True)
async def test_an_approval_without_its_server_among_the_tools_is_refused(stage: Stage) -> None:
    _, first = await stage.respond(round_of(call("words__delete"), is_stream=False))
    asked = next(item for item in first["output"] if item["type"] == "mcp_approval_request")
    approval = approval_of(asked)
    for tools in ([], [SEARCH], [{"type": "function", "name": "f", "parameters": {}}]):
        status, answer = await stage.respond(tools=tools, previous_response_id=first["id"], input=[approval])
        assert (status, answer["error"]["param"]) == (400, "tools") and "'words'" in answer["error"]["message"]
    more = {"tools": [], "previous_response_id": first["id"], "input": [{**approval, "approve": False}]}
    status, _ = await stage.respond(round_of("Not deleted.", is_stream=False), **more)
    assert status == 200 and stage.server.calls == []


async def test_an_approval_of_nothing_is_refused(stage: Stage) -> None:
    status, data = await stage.respond(input=[approval_of({"id": "mcpr_0"})])
    assert status == 400 and "mcpr_0" in data["error"]["message"]


@pytest.mark.parametrize("field", ["server_url", "headers", "authorization", "connector_id"])
async def test_an_address_or_credential_of_the_caller_is_refused(stage: Stage, field: str) -> None:
    status, data = await stage.respond(tools=[{**WORDS, field: "https://evil.example"}])
    assert (status, data["error"]["param"]) == (400, f"tools[0].{field}")
    assert "server_label" in data["error"]["message"] and not stage.server.seen


@pytest.mark.parametrize(
    ("label", "words"), [("other", "mcp:other"), ("words", "mcp:words"), ("gateway", "web-search")]
)
async def test_a_key_without_the_scope_is_told_its_name_before_anything_begins(
    stage: Stage, label: str, words: str
) -> None:
    key = stage.scene.server.make_key("responses")
    body = {"model": "SvcLLM", "input": "go", "tools": [{"type": "mcp", "server_label": label}], "stream": True}
    status, data = await post(stage.scene, "/v1/responses", body, key)
    assert (status, data["error"]["param"]) == (403, "tools[0].server_label") and words in data["error"]["message"]
    assert not stage.server.seen and not stage.scene.model.seen


@pytest.mark.parametrize("stage", ["always"], indirect=True)
async def test_the_text_before_an_approved_call_is_of_the_same_message(stage: Stage) -> None:
    _, data = await stage.respond(round_of("Let me see.", call("words__lookup", word="sea"), is_stream=False))
    more = {"input": [approval_of(data["output"][-1])], "previous_response_id": data["id"]}
    status, data = await stage.respond(round_of("Blue.", is_stream=False), **more)
    messages = stage.scene.sent[-1]["messages"]
    assert status == 200 and [each["role"] for each in messages] == ["user", "assistant", "tool"], messages
    assert messages[1]["content"] == "Let me see." and len(messages[1]["tool_calls"]) == 1


@pytest.mark.slow
async def test_a_server_of_the_official_sdk_is_understood(serve: Serve) -> None:
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(CLIENTS / "mcp_server.py"), str(port), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await until(lambda: is_listening(port), 30)
        toml = f"[[mcp_servers]]\nlabel = 'official'\nurl = 'http://127.0.0.1:{port}/mcp'\nrequire_approval = 'never'\n"
        async with scene(serve, toml) as made:
            key = made.server.make_key("responses", "mcp:official")
            both = (call("official__add", a=2, b=3), call("official__fail", "c2", 1))
            made.model.will(round_of(*both, is_stream=False), round_of("5", is_stream=False))
            tools = [{"type": "mcp", "server_label": "official"}]
            status, data = await post(made, "/v1/responses", {"model": "SvcLLM", "input": "x", "tools": tools}, key)
    finally:
        process.terminate()
        await process.wait()
    assert status == 200, data
    listing, added, failed, _ = data["output"]
    assert [tool["name"] for tool in listing["tools"]] == ["add", "fail"]
    assert added["output"] == "5" and "fail" in failed["error"]["content"][0]["text"]


@pytest.mark.slow
async def test_the_agents_sdk_uses_its_hosted_mcp_tool(stage: Stage) -> None:
    rounds, plans, asked = [], [], []
    for streamed in (False, True):
        for approval in ("never", "always"):
            rounds += [round_of(call("words__lookup", word="sea"), is_stream=streamed)]
            rounds += [round_of("Water.", is_stream=streamed)]
            plan = {"url": f"{stage.scene.server.url}/v1", "key": stage.key, "stream": streamed, "approval": approval}
            plans.append({**plan, "tool": "words"})
            asked.append(["lookup"] if approval == "always" else [])
    stage.scene.model.will(*rounds)
    reports = await run_client([python_of("clients"), str(CLIENTS / "agents_sdk.py")], plans)
    assert [(each["output"], each["asked"]) for each in reports] == [("Water.", each) for each in asked]
    assert stage.server.calls == [{"name": "lookup", "arguments": {"word": "sea"}}] * 4


async def test_a_choice_forces_the_servers_tool(stage: Stage) -> None:
    choice = {"type": "mcp", "server_label": "words", "name": "delete"}
    await stage.respond(round_of("x", is_stream=False), tool_choice=choice)
    assert stage.scene.sent[0]["tool_choice"] == {"type": "function", "function": {"name": "words__delete"}}
    await stage.respond(round_of("x", is_stream=False), tool_choice="required")
    assert stage.scene.sent[-1]["tool_choice"] == "required"
    await stage.respond(round_of("x", is_stream=False), tool_choice="none")
    assert not stage.scene.sent[-1].get("tools")


@pytest.mark.parametrize(
    ("rule", "asks"),
    [
        ("always", True),
        ({"never": {"tool_names": ["lookup"]}}, False),
        ({"always": {"tool_names": ["lookup"]}}, True),
        ({"never": {"read_only": True}}, False),
        ({"never": {"tool_names": ["delete"]}}, True),
    ],
)
async def test_a_caller_may_ask_for_more_approvals(stage: Stage, rule: Any, asks: bool) -> None:
    rounds = (round_of(call("words__lookup", word="sea"), is_stream=False), round_of("x", is_stream=False))
    status, data = await stage.respond(*rounds, tools=[{**WORDS, "require_approval": rule}])
    assert status == 200 and ("mcp_approval_request" in kinds(data["output"])) == asks
