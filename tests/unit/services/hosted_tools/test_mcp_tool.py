"""Tools of an MCP server in the loop, without sockets: what is offered, approved, masked and bounded."""

import asyncio
from typing import Any

import pytest

from gateway.domain import Json
from gateway.errors import UpstreamError
from gateway.services.hosted_tools.loop import LoopLimits
from gateway.services.hosted_tools.mcp_tool import McpGrant, McpTool, OwnTools
from gateway.services.hosted_tools.sources import Sources
from gateway.services.websearch.tools import tool_table
from gateway.wire.hosted_answer import AnswerEnd, CallPhase, HostedCall
from gateway.wire.responses.mcp import ApprovalRule, ApprovedCall
from tests.support.scripted_loop import ScriptedModel, ScriptedWeb, call, calls_of, play, text_of

LOOK: Json = {"name": "look", "description": "Looks.\u200b", "inputSchema": {"type": "object"}}
WIPE: Json = {"name": "wipe", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": False}}
HUGE: Json = {"name": "huge", "inputSchema": {"type": "object", "description": "x" * 40_000}}


class Server:
    """A server of tools. `result`: of every call; `fails`: raised by all. `silent`: tools that never answer, or
    `list`."""

    def __init__(self) -> None:
        self.listed: list[Json] = [LOOK, WIPE, HUGE]
        self.result: tuple[str, bool] = ("a word", False)
        self.fails: UpstreamError | None = None
        self.silent: set[str] = set()
        self.called: list[tuple[str, Json]] = []

    async def tools(self) -> list[Json]:
        if "list" in self.silent:
            await asyncio.Event().wait()
        if self.fails is not None:
            raise self.fails
        return self.listed

    async def call(self, name: str, arguments: Json) -> tuple[str, bool]:
        self.called.append((name, arguments))
        if name in self.silent:
            await asyncio.Event().wait()
        return self.result

    async def close(self) -> None:
        """Nothing is kept."""


def never(label: str = "words", **more: Any) -> McpGrant:
    return McpGrant(label, approval=ApprovalRule("never"), **more)


def listings(events: Any) -> list[HostedCall]:
    return [event.call for event in events if isinstance(event, CallPhase) and event.call.kind == "mcp_list_tools"]


async def test_a_tool_is_listed_offered_called_and_paid_for() -> None:
    web, server = ScriptedWeb(), Server()
    model = ScriptedModel([call("words__look", word="sea")], ["It is a word."])
    events = await play(model, [McpTool(server, never(), web.caller)], Sources())
    listing, made = calls_of(events)
    assert [tool["name"] for tool in listing.results] == ["look", "wipe"], "a schema of 40 KB is left out"
    assert listing.results[0]["description"] == "Looks."
    assert (made.kind, made.name, made.output, made.status) == ("mcp_call", "look", "a word", "completed")
    assert server.called == [("look", {"word": "sea"})] and web.charged == ["mcp:words"]
    assert text_of(events) == "It is a word." and isinstance(events[-1], AnswerEnd)


FAILURES = [(text, ("", False), "must be a JSON object") for text in ("{", "[]", '"' + "x" * 200_001 + '"')]
FAILURES.append(("{}", ("no such word", True), "no such word"))


@pytest.mark.parametrize(("arguments", "result", "words"), FAILURES)
async def test_a_call_that_fails_says_why(arguments: str, result: tuple[str, bool], words: str) -> None:
    web, server = ScriptedWeb(), Server()
    server.result = result
    made = call("words__look")
    made["function"]["arguments"] = arguments
    events = await play(ScriptedModel([made], ["Sorry."]), [McpTool(server, never(), web.caller)], Sources())
    failed = calls_of(events)[1]
    assert failed.status == "failed" and words in failed.error and failed.error == failed.output


async def test_an_approved_call_is_run_before_the_model_is_asked() -> None:
    web, server = ScriptedWeb(), Server()
    messages: list[Json] = [{"role": "assistant", "content": "I ask."}]
    approved = [ApprovedCall("mcpr_1", "words", "look", '{"word":"a"}'), ApprovedCall("mcpr_2", "words", "gone", "{}")]
    grant = McpGrant("words", is_listed=True, approved=approved, messages=messages)
    events = await play(ScriptedModel(["Done."]), [McpTool(server, grant, web.caller)], Sources())
    run, gone = calls_of(events)
    assert listings(events) == [] and run.action["approval_request_id"] == "mcpr_1"
    assert (run.output, gone.status) == ("a word", "failed") and "no tool 'gone'" in gone.error
    assert [message["role"] for message in messages] == ["assistant", "tool", "assistant", "tool"]
    assert messages[0]["content"] == "I ask." and messages[0]["tool_calls"][0]["function"]["name"] == "words__look"


async def test_a_list_that_takes_too_long_is_told_and_the_answer_goes_on() -> None:
    web, server = ScriptedWeb(), Server()
    server.silent = {"list"}
    async with asyncio.timeout(5):
        tool, limits = McpTool(server, never(), web.caller), LoopLimits(total_s=0.1)
        events = await play(ScriptedModel(["Without."]), [tool], Sources(), limits=limits)
    [listing] = calls_of(events)
    assert listing.status == "failed" and "the time for tools" in listing.error and text_of(events) == "Without."


async def test_all_texts_of_a_listed_tool_are_bounded_cleaned_and_masked() -> None:
    web, server = ScriptedWeb(), Server()
    web.secret = "secret"
    field: Json = {"type": "string", "description": "A secret\u200b word."}
    notes = {"title": "secret " + "x" * 1_000, "readOnlyHint": True, "note": "y" * 100_000}
    schema = {"type": "object", "properties": {"word": field}}
    odd: Json = {"name": "odd", "inputSchema": schema, "annotations": notes}
    server.listed = [odd, {"name": "n" * 129}]
    [tool] = calls_of(await play(ScriptedModel(["Ok."]), [McpTool(server, never(), web.caller)], Sources()))[0].results
    assert tool["input_schema"]["properties"]["word"]["description"] == "A [MASKED] word."
    assert tool["annotations"]["title"].startswith("[MASKED] x") and len(tool["annotations"]["title"]) < 250
    assert tool["annotations"].keys() == {"title", "readOnlyHint"}


RULES = [
    (ApprovalRule(), LOOK, True),
    (ApprovalRule("never"), LOOK, False),
    (ApprovalRule("always", never=frozenset({"look"})), LOOK, False),
    (ApprovalRule("never", always=frozenset({"look"})), LOOK, True),
    (ApprovalRule(never_read_only=True), {"name": "x", "annotations": {"readOnlyHint": True}}, False),
    (ApprovalRule(never_read_only=True), WIPE, True),
]


@pytest.mark.parametrize(("rule", "tool", "needed"), RULES)
def test_which_calls_need_approval(rule: ApprovalRule, tool: Json, needed: bool) -> None:
    assert rule.is_needed(tool) is needed


@pytest.mark.parametrize("fails", [True, False])
async def test_the_gateways_own_tools_are_a_server_whose_failures_are_results(fails: bool) -> None:
    web: Any = ScriptedWeb()
    web.fails = UpstreamError("down") if fails else None
    own = OwnTools(tool_table(web), web.calls())
    assert "websearch-search" in [tool["name"] for tool in await own.tools()]
    text, is_error = await own.call("websearch-search", {"query": "a"})
    assert is_error is fails and ("down" if fails else "Paris") in text
    text, is_error = await own.call("websearch-search", {"query": 7})
    assert is_error and "query" in text
    await own.close()
