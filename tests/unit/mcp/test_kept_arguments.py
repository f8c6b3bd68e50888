"""Arguments that came before: known again where nothing in them was sensitive, and never confused or changed."""

from collections.abc import Callable
from typing import Any

import pytest

from gateway.domain import Json
from gateway.mcp.messages import RpcBatch
from gateway.services.websearch.tool_calls import ToolCall
from gateway.services.websearch.tools import Tool, tool_table
from tests.support.web_tools import Desk, RecordingTools

SEARCH: Json = {"query": "one", "max_results": 5, "include_domains": "example.com", "start_date": "2026-01-31"}


def search_tool() -> Tool:
    return tool_table(RecordingTools())["websearch-search"]


def kept(tool: Tool, arguments: Json) -> ToolCall:
    call = tool.prepare(arguments)
    tool.remember(call)
    return call


def masking(desk: Desk, word: str) -> Callable[[RpcBatch], None]:
    def mask(exchange: RpcBatch) -> None:
        for unit in desk.dialect.request_units(exchange):
            for slot in unit.slots:
                slot.text = slot.text.replace(word, "[REDACTED:EMAIL]")

    return mask


@pytest.mark.parametrize("other", [True, 5.0, "5", 5.5, None, [5], {"5": 5}, 50])
def test_a_value_of_another_type_or_size_is_another_argument(other: Any) -> None:
    fresh, used = search_tool(), search_tool()
    kept(used, {"query": "q", "max_results": 5})
    got, wanted = (tool.prepare({"query": "q", "max_results": other}) for tool in (used, fresh))
    assert (got.request, str(got.error)) == (wanted.request, str(wanted.error))


async def test_masked_arguments_are_not_kept_and_those_that_were_stay_as_they_came() -> None:
    desk = Desk()
    arguments = {"query": "mail ada@posthaus.org", "include_domains": ["example.org"]}
    await desk.call("search", arguments)
    await desk.call("search", arguments)
    desk.sanitize = masking(desk, "ada@posthaus.org")  # as when the guardrail finds at once what it missed before
    await desk.call("search", arguments)
    await desk.call("search", {"query": "write to ada@posthaus.org"})
    desk.sanitize = lambda exchange: None
    await desk.call("search", arguments)
    asked = [request.query for _, request, _ in desk.tools.seen]
    sent = "mail ada@posthaus.org"
    assert asked == [sent, sent, "mail [REDACTED:EMAIL]", "write to [REDACTED:EMAIL]", sent]


def test_what_is_kept_is_bounded_and_the_oldest_goes_first() -> None:
    tool = search_tool()
    kept(tool, {"query": "x" * 3000})
    assert not tool.prepare({"query": "x" * 3000}).is_shared, "too long to be kept"
    for number in range(300):
        kept(tool, {"query": f"q{number}"})
    assert not tool.prepare({"query": "q0"}).is_shared and tool.prepare({"query": "q299"}).is_shared
