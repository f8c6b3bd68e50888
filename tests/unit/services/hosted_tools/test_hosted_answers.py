"""Hosted tools of one request, without sockets: scopes, what may pass to an upstream, the answer's events."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.calls.call import Call
from gateway.domain import Caller, Json, RequestStats
from gateway.errors import InvalidRequest
from gateway.services.completion.attempts import ModelEntry
from gateway.services.hosted_tools.hosted_responses import HostedResponses
from gateway.services.hosted_tools.hosted_search import HostedSearch, HostedSettings
from gateway.services.hosted_tools.loop import LoopLimits
from gateway.services.hosted_tools.mcp_servers import HostedMcp, McpServerEntry
from gateway.services.websearch.tools import tool_table
from gateway.wire.responses.stream import ResponseStream
from tests.support.scripted_loop import ScriptedModel, ScriptedWeb, call

SEARCH: Json = {"type": "web_search"}
WORDS: Json = {"type": "mcp", "server_label": "words", "require_approval": "never"}
OWN: Json = {"type": "mcp", "server_label": "gateway", "require_approval": "never"}
MODEL = ModelEntry("m", "text", ())
QUESTION: Json = {"role": "user", "content": "capital?"}


class Server:
    """An MCP server of one tool."""

    def __init__(self) -> None:
        self.is_closed = False

    async def tools(self) -> list[Json]:
        return [{"name": "look", "inputSchema": {"type": "object"}}, {"name": "wipe", "inputSchema": {}}]

    async def call(self, name: str, arguments: Json) -> tuple[str, bool]:
        return f"{name} found it", False

    async def close(self) -> None:
        self.is_closed = True


class Desk:
    """The handlers' parts over a scripted model and web, and a configured server `words`."""

    def __init__(self, *rounds: Any, allowed: frozenset[str] = frozenset(), needs_approval: bool = False) -> None:
        self.model, self.web, self.server = ScriptedModel(*rounds), ScriptedWeb(), Server()
        tools = tool_table(cast(Any, self.web))
        settings = HostedSettings(tools, tools, LoopLimits(), {"low": 3, "medium": 5, "high": 10})
        self.search = HostedSearch(self.model.service, settings)
        entry = McpServerEntry(lambda: self.server, allowed, needs_approval, 1_000)
        self.responses = HostedResponses(self.search, HostedMcp({"words": entry}, tools))

    def context(self, body: Json, *scopes: str) -> Call:
        owner = Caller("key1", "name", frozenset(scopes or ("responses", "web-search", "mcp:words")), per_minute=100)
        made = SimpleNamespace(
            body={"model": "m", "input": [QUESTION], **body}, caller=owner, stats=RequestStats(), request_id="req_1",
            charge=self.web.charge, clean_tool_texts=_nothing,
        )  # fmt: skip
        return cast(Call, made)

    async def response(self, entry: ModelEntry = MODEL, earlier: Any = (), **body: Any) -> Json:
        context = self.context(body)
        wishes = self.responses.wishes(context)
        assert wishes is not None
        answer = self.responses.answer(context, entry, list(earlier), wishes)
        stream = ResponseStream(context.body, lambda _: None, answer.chat.names, model="m", kinds=answer.kinds)
        return await stream.whole(answer.events)


async def _nothing(unit: object, direction: object) -> None:
    """Nothing is masked."""


def kinds(response: Json) -> list[str]:
    return [item["type"] for item in response["output"]]


async def test_both_kinds_of_tools_work_in_one_answer_and_servers_are_closed() -> None:
    desk = Desk([call("web_search", query="q"), call("words__look", "c2")], ["Paris [1]."])
    response = await desk.response(tools=[SEARCH, WORDS])
    assert kinds(response) == ["mcp_list_tools", "web_search_call", "mcp_call", "message"]
    assert desk.server.is_closed and desk.web.charged == ["websearch-search", "mcp:words"]
    assert response["tools"][0]["search_context_size"] == "medium"
    assert response["output"][-1]["content"][0]["annotations"][0]["url"] == "https://a.example.com/paris"


async def test_the_operator_narrows_what_a_caller_may_do() -> None:
    desk = Desk([call("words__look")], allowed=frozenset({"look"}), needs_approval=True)
    response = await desk.response(tools=[{**WORDS, "allowed_tools": ["look", "wipe"]}])
    assert kinds(response) == ["mcp_list_tools", "mcp_approval_request"]
    assert [tool["name"] for tool in response["output"][0]["tools"]] == ["look"]
    approval = {"type": "mcp_approval_response", "approval_request_id": response["output"][1]["id"], "approve": True}
    desk = Desk(["Found."])
    done = await desk.response(tools=[WORDS], earlier=[QUESTION, *response["output"]], input=[approval])
    assert kinds(done) == ["mcp_call", "message"] and done["output"][0]["output"] == "look found it"
    with pytest.raises(InvalidRequest, match="'words'"):
        await Desk().response(tools=[OWN], earlier=[QUESTION, *response["output"]], input=[approval])


async def test_the_tools_of_a_deferred_server_are_offered_once_a_search_has_found_them() -> None:
    tools = [{**WORDS, "defer_loading": True}, {"type": "tool_search"}]
    desk = Desk([call("tool_search", query="look")], [call("words__look", "c2")], ["Found."])
    response = await desk.response(tools=tools)
    assert kinds(response) == [
        "mcp_list_tools", "tool_search_call", "tool_search_output", "mcp_call", "message",
    ]  # fmt: skip
    offered = [[tool["function"]["name"] for tool in asked["tools"]] for asked in desk.model.asked]
    assert offered == [["tool_search"], ["words__look", "tool_search"], ["words__look", "tool_search"]]
    assert response["output"][2]["tools"] == [{"type": "mcp", "server_label": "words", "allowed_tools": ["look"]}]
    again = Desk(["Known."])
    await again.response(tools=tools, earlier=[QUESTION, *response["output"]])
    assert [tool["function"]["name"] for tool in again.model.asked[0]["tools"]] == ["words__look", "tool_search"]
    at_once = Desk(["Hello."])
    await at_once.response(tools=tools[:1])
    assert {tool["function"]["name"] for tool in at_once.model.asked[0]["tools"]} == {"words__look", "words__wipe"}


async def test_the_gateways_own_tools_are_a_server_too() -> None:
    desk = Desk([call("gateway__websearch-search", query="q")], ["Found."])
    response = await desk.response(tools=[OWN], tool_choice="required")
    assert kinds(response) == ["mcp_list_tools", "mcp_call", "message"] and desk.web.charged == ["websearch-search"]
    assert desk.model.asked[0]["tool_choice"] == "required"


def test_a_label_that_is_not_configured_is_refused_and_no_hosted_tool_is_none() -> None:
    desk = Desk()
    unknown = desk.context({"tools": [{"type": "mcp", "server_label": "x"}]}, "mcp:x")
    with pytest.raises(InvalidRequest, match="no MCP server"):
        desk.responses.wishes(unknown)
    assert desk.responses.wishes(desk.context({"tools": [{"type": "function", "name": "f"}]})) is None


async def test_an_item_that_is_refused_is_named_by_its_place_in_the_request() -> None:
    run = {"type": "mcp_call", "id": "m1", "server_label": "words", "name": "look", "arguments": "{}", "output": "x"}
    items = [{"role": "user", "content": "a"}, run, {"type": "compaction", "encrypted_content": "x"}]
    with pytest.raises(InvalidRequest) as refused:
        await Desk().response(tools=[WORDS], input=items)
    assert refused.value.param == "input[2].type"
