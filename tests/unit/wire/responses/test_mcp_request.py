"""What a responses request asks of MCP servers: labels, filters, choices, approvals, and what is replayed."""

from typing import Any

import pytest

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.wire.responses import mcp
from gateway.wire.responses.hosted_request import search_wish

WORDS: Json = {"type": "mcp", "server_label": "words"}
ASKED: Json = {"type": "mcp_approval_request", "id": "r1", "server_label": "words", "name": "wipe", "arguments": "{}"}


def answer(approve: Any, **more: Any) -> Json:
    return {"type": "mcp_approval_response", "approval_request_id": "r1", "approve": approve, **more}


def wishes(choice: Any = None, **tool: Any) -> Any:
    return mcp.mcp_wishes({"tools": [{"type": "function"}, {**WORDS, **tool}], "tool_choice": choice})


NOT_TAKEN = [
    ({"server_label": ""}, "tools[1].server_label"),
    ({"server_label": 7}, "tools[1].server_label"),
    ({"allowed_tools": "look"}, "tools[1].allowed_tools"),
    ({"allowed_tools": {"read_only": True}}, "tools[1].allowed_tools"),
    ({"require_approval": "sometimes"}, "tools[1].require_approval"),
]


@pytest.mark.parametrize(("tool", "param"), NOT_TAKEN)
def test_what_is_not_taken_is_refused_by_its_name_and_a_label_may_be_named_once(tool: Json, param: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        wishes(**tool)
    assert refused.value.param in (param, f"{param}.require_approval")
    with pytest.raises(InvalidRequest, match="named twice"):
        mcp.mcp_wishes({"tools": [WORDS, WORDS]})


CHOICES = [
    (None, (True, False, "")),
    ("none", (False, False, "")),
    ({"type": "mcp", "server_label": "words", "name": "look"}, (True, True, "look")),
    ({"type": "mcp", "server_label": "other"}, (True, False, "")),
    ({"type": "allowed_tools", "tools": [WORDS]}, (True, False, "")),
    ({"type": "allowed_tools", "tools": [{"type": "function", "name": "x"}, "y"]}, (False, False, "")),
]


@pytest.mark.parametrize(("choice", "expected"), CHOICES)
def test_a_choice_offers_forbids_or_forces_a_server(choice: Any, expected: tuple[bool, bool, str]) -> None:
    [wish] = wishes(choice)
    assert (wish.is_offered, wish.forced, wish.forced_tool) == expected


APPROVALS = [
    (None, None), ("never", mcp.ApprovalRule("never")),
    ({"never": {"tool_names": ["a"]}}, mcp.ApprovalRule("always", never=frozenset("a"))),
    ({"always": {"tool_names": ["b"]}, "never": {"read_only": True}},
     mcp.ApprovalRule("always", frozenset("b"), never_read_only=True)),
]  # fmt: skip


@pytest.mark.parametrize(("value", "rule"), APPROVALS)
def test_rules_of_approval_are_read(value: Any, rule: mcp.ApprovalRule | None) -> None:
    assert wishes(require_approval=value)[0].approval == rule
    assert wishes(allowed_tools={"tool_names": ["a"]})[0].allowed == frozenset("a")


def test_approved_calls_are_those_that_were_not_run_yet() -> None:
    run = {"type": "mcp_call", "approval_request_id": "r1"}
    call = mcp.ApprovedCall("r1", "words", "wipe", "{}")
    assert mcp.approved_calls([ASKED, answer(True)]) == [call]
    assert mcp.approved_calls([ASKED, answer(True), run]) == mcp.approved_calls([ASKED, answer(False)]) == []
    assert mcp.approved_calls([ASKED, answer(True), answer(True)]) == [call]


def test_calls_that_were_run_or_refused_are_replayed_as_calls_with_outputs() -> None:
    message: Json = {"role": "user", "content": "x"}
    run: Json = {"type": "mcp_call", "id": "m1", "server_label": "words", "name": "look", "arguments": "{}"}
    content = [{"type": "text", "text": "no"}]
    errors: list[tuple[Json, str]] = [({"output": "a word"}, "a word"), ({"error": "gone"}, "gone")]
    errors += [({"error": {"type": "x", "content": content}}, "no"), ({"error": {"code": 5}}, "the call failed")]
    for more, told in errors:
        made, output = mcp.replayed([{**run, **more}], [])
        assert (made["name"], made["call_id"], output["output"]) == ("words__look", "m1", told)
    items = [message, ASKED, answer(False, reason="not now")]
    *kept, made, output = mcp.replayed(items, items)
    assert kept == [message, ASKED] and made["name"] == "words__wipe"
    assert output["output"] == "The user did not approve this call: not now"
    assert list(mcp.replayed([message], items)) == [message]
    assert list(mcp.known_lists([{"type": "mcp_list_tools", "server_label": "words"}, message])) == ["words"]


def test_choices_that_demand_a_call_count_hosted_tools() -> None:
    assert mcp.demands_any_call("required") and mcp.demands_any_call({"type": "allowed_tools", "mode": "required"})
    assert not mcp.demands_any_call("auto") and not mcp.demands_any_call({"type": "mcp"})
    search = {"type": "web_search_preview_2025_03_11"}
    for choice, expected in (
        (None, "auto"), ("none", "none"), ("required", "required"), ({"type": "web_search"}, "forced"),
        ({"type": "function", "name": "x"}, "auto"), ({"type": "allowed_tools", "tools": [WORDS]}, "none"),
        ({"type": "allowed_tools", "mode": "required", "tools": [search]}, "required"),
    ):  # fmt: skip
        wish = search_wish({"tools": [WORDS, search], "tool_choice": choice})
        assert wish is not None and (wish.choice, wish.where) == (expected, "tools[1]")
    assert search_wish({"tools": [WORDS]}) is None
    with pytest.raises(InvalidRequest, match="one web search"):
        search_wish({"tools": [search, search]})
