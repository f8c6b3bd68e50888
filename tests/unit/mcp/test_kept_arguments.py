"""Arguments that came before are known again where nothing in them was sensitive; masked ones go on or are refused."""

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


def masking(desk: Desk, word: str, entity: str = "EMAIL") -> Callable[[RpcBatch], None]:
    """A sanitizer that takes a word for such a value."""

    def mask(exchange: RpcBatch) -> None:
        for unit in desk.dialect.request_units(exchange):
            for slot in unit.slots:
                slot.text = slot.text.replace(word, f"[REDACTED:{entity}]")

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


async def test_masked_arguments_go_to_the_service_masked() -> None:
    desk = Desk()
    desk.sanitize = masking(desk, "4111", "CREDIT_CARD")
    answer = await desk.call("search", {"query": "card 4111"})
    assert not answer.is_error and desk.tools.seen[0][1].query == "card [REDACTED:CREDIT_CARD]"
    answer = await desk.call("search", {"query": "x", "start_date": "4111-01-01"})
    assert answer.is_error and "start_date" in answer.error["message"] and "masked" in answer.error["message"]


async def test_a_mask_that_is_longer_than_its_value_makes_no_argument_too_long() -> None:
    desk = Desk()
    desk.sanitize = masking(desk, "4111", "CREDIT_CARD")
    answer = await desk.call("search", {"query": "4111" * 500, "include_domains": ["a.org"]})
    assert not answer.is_error and desk.tools.seen[0][1].query == "[REDACTED:CREDIT_CARD]" * 500
    answer = await desk.call("map", {"url": "https://example.com/", "instructions": "4111" * 500})
    assert not answer.is_error
    answer = await desk.call("search", {"query": "4111" * 500 + "x"})
    assert answer.is_error and "at most 2000 characters" in answer.error["message"]
