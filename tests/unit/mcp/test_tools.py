"""The five tools as a client sees them: arguments in every dress, outcomes, and the text made of them."""

from datetime import date
from typing import Any

import jsonschema
import orjson
import pytest

from gateway import schemas
from gateway.errors import ContentBlocked
from gateway.mcp.messages import RpcBatch
from tests.support.paths import GOLDEN
from tests.support.web_tools import Desk, modern, request, tool_call

TOOLS_LIST = GOLDEN / "tools_list.json"
REPORT = {"redacted": {}, "flagged": {"EMAIL": 2}}
WORDS = ("search", "extract", "crawl", "map", "search_status")
URL = "https://example.com/"
ARGUMENTS: dict[str, list[Any]] = orjson.loads((GOLDEN / "tool_arguments.json").read_bytes())
REFUSED = [
    ("search", {"query": "x" * 2001}, ["query", "2000"]),
    ("extract", {"urls": [URL] * 21}, ["urls", "20"]),
    ("crawl", {"url": URL, "select_domains": ["a" * 501]}, ["select_domains[0]", "500"]),
    *ARGUMENTS["refused: tool, arguments, words"],
]


async def requested(tool: str, arguments: Any) -> Any:
    desk = Desk()
    answer = await desk.call(tool, arguments)
    assert not answer.is_error, answer.outcome
    return desk.tools.seen[0][1]


@pytest.mark.parametrize(("given", "field", "value"), ARGUMENTS["taken by search: given, field, value"])
async def test_search_arguments_are_taken_as_they_are_meant(given: dict[str, Any], field: str, value: Any) -> None:
    taken = (
        tuple(value) if isinstance(value, list) else value and date.fromisoformat(value) if "date" in field else value
    )
    found = getattr(await requested("search", {"query": "x", **given}), field)
    assert found == taken and type(found) is type(taken)


async def test_other_tools_take_strings_for_lists_and_numbers_too() -> None:
    assert (await requested("extract", {"urls": URL})).urls == (URL,)
    assert (await requested("extract", {"urls": f'["{URL}", "{URL}2"]'})).urls == (URL, URL + "2")
    for objects in ([{"url": URL}, URL + "2"], f'[{{"url": "{URL}"}}, {{"url": "{URL}2", "title": "T"}}]'):
        assert (await requested("extract", {"urls": objects})).urls == (URL, URL + "2")
    assert (await requested("extract", {"urls": {"url": URL}})).urls == (URL,)
    for text in (f"{URL}, {URL}2", f"{URL}\n{URL}2\n", f" {URL} {URL}2", f"{URL},{URL}2 "):
        assert (await requested("extract", {"urls": text})).urls == (URL, URL + "2")
    assert (await requested("extract", {"urls": f"{URL}?a, b"})).urls == (f"{URL}?a, b",)
    assert (await requested("extract", {"urls": [URL], "format": "Text"})).format == "text"
    assert (await requested("crawl", {"url": URL, "select_paths": "/a{1,2}, /b"})).select_paths == ("/a{1,2}, /b",)
    crawl = await requested("crawl", {"url": URL, "limit": "3", "select_paths": "/a/.*", "allow_external": "false"})
    assert (crawl.limit, crawl.select_paths, crawl.allow_external) == (3, ("/a/.*",), False)
    assert (await requested("map", {"url": URL, "max_depth": 2.0})).max_depth == 2


@pytest.mark.parametrize(("tool", "arguments", "named"), REFUSED)
async def test_wrong_arguments_are_refused_naming_field_and_what_is_allowed(
    tool: str, arguments: dict[str, Any], named: list[str]
) -> None:
    desk = Desk()
    answer = await desk.call(tool, arguments)
    assert answer.is_error and answer.error["type"] == "invalid_request_error" and not answer.error["retryable"]
    assert answer.error["param"] and all(word in answer.error["message"] for word in named), answer.error
    assert desk.tools.seen == []


async def test_a_refusal_never_quotes_the_value() -> None:
    answer = await Desk().call("search", {"query": "x", "topic": "4539148803436467", "country": "4539148803436467"})
    assert answer.is_error and "4539" not in answer.error["message"]


@pytest.mark.parametrize("tool", WORDS)
async def test_outcomes_fit_the_output_schema_well_or_ill(tool: str) -> None:
    known: dict[str, dict[str, Any]] = {"search": {"query": "x"}, "extract": {"urls": [URL]}, "search_status": {}}
    schema = schemas.load(f"tools/{tool}")["$defs"]["output"]
    for arguments in (known.get(tool, {"url": URL}), {"nonsense": 1}):
        answer = await Desk().call(tool, arguments)
        assert answer.is_error is ("nonsense" in arguments) and answer.result["structuredContent"] == answer.outcome
        jsonschema.Draft202012Validator(schema).validate(answer.outcome)


@pytest.mark.parametrize(("revision", "structured"), [
    ("2024-11-05", False), ("2025-03-26", False), ("2025-06-18", True), ("2025-11-25", True),
])  # fmt: skip
async def test_structured_content_and_its_schema_come_from_2025_06_18_on(revision: str, structured: bool) -> None:
    assert ("structuredContent" in (await Desk().call("search_status", {}, revision)).result) is structured
    _, listed = await Desk().ask(request("tools/list"), {"MCP-Protocol-Version": revision})
    assert all(("outputSchema" in tool) is structured for tool in listed["result"]["tools"])


async def test_a_failure_of_the_service_is_an_outcome_that_says_when_to_come_back() -> None:
    desk = Desk()
    answer = await desk.call("search", {"query": "fail"})
    told = {"type": "upstream_error", "message": "the search provider does not answer"}
    assert answer.is_error and answer.error == {**told, "retryable": True, "retry_after_s": 7}
    assert desk.account.outcome == "tool_error" and desk.account.tool == "websearch-search"


async def test_an_unexpected_failure_is_an_internal_error_without_its_text() -> None:
    status, answer = await Desk().ask(tool_call("search", {"query": "bug"}))
    assert (status, answer["error"]["code"]) == (200, -32603) and "4539" not in orjson.dumps(answer).decode()


async def test_text_that_is_not_unicode_and_numbers_beyond_json_are_mended() -> None:
    answer = await Desk().call("extract", {"urls": [URL]})
    assert answer.outcome["data"]["results"][0]["raw_content"] == "half a pair: ?"
    assert answer.outcome["data"]["response_time"] == float(2**70)


async def test_a_blocked_call_fails_on_its_own_and_the_rest_of_the_batch_goes_on() -> None:
    desk = Desk()

    def block(exchange: RpcBatch) -> None:
        for unit in desk.dialect.request_units(exchange):
            if "evil" in unit.slots[0].text:
                desk.dialect.refuse_request(exchange, unit, ContentBlocked("it holds a SECRET", param="query"))

    desk.sanitize = block
    _, answers = await desk.ask([tool_call("search", {"query": query}, call_id=query) for query in ("evil", "good")])
    assert [(answer["id"], answer["result"]["isError"]) for answer in answers] == [("evil", True), ("good", False)]
    assert [seen[1].query for seen in desk.tools.seen] == ["good"]


async def test_the_sanitizer_works_on_the_answer_before_its_text_is_made() -> None:
    desk = Desk()

    def mask(data: Any) -> None:
        (unit,) = desk.dialect.reply_units(data)
        assert {slot.where for slot in unit.slots} == {
            "query", "results[0].title", "results[0].url", "results[0].content",
        }  # fmt: skip
        assert {slot.form for slot in unit.slots if slot.where.endswith("url")} == {"url"}
        next(slot for slot in unit.slots if slot.where.endswith("content")).text = "masked"
        desk.dialect.note_findings(unit, REPORT)

    _, answer = await desk.ask(tool_call("search", {"query": "x"}), {"MCP-Protocol-Version": "2025-11-25"}, mask)
    outcome = orjson.loads(answer["result"]["content"][0]["text"])
    assert outcome["data"]["results"][0]["content"] == "masked" and outcome["data"]["sanitization"] == REPORT
    assert answer["result"]["structuredContent"] == outcome


async def test_a_refused_answer_is_a_failed_call() -> None:
    desk = Desk()

    def refuse(data: Any) -> None:
        (unit,) = desk.dialect.reply_units(data)
        desk.dialect.refuse_reply(data, unit, ContentBlocked("the answer holds a SECRET"))

    _, answer = await desk.ask(tool_call("search", {"query": "x"}), {}, refuse)
    assert answer["result"]["isError"] and answer["id"] == 1 and "example.com" not in orjson.dumps(answer).decode()


async def test_the_status_and_our_own_errors_are_not_sanitized() -> None:
    desk = Desk()

    def look(data: Any) -> None:
        assert list(desk.dialect.reply_units(data)) == []

    await desk.ask(tool_call("search_status"), {}, look)
    await desk.ask(tool_call("search", {}), {}, look)
    await desk.ask(tool_call("search", {"query": "fail"}), {}, look)
    await desk.ask(request("tools/list"), {}, look)


async def test_the_list_of_tools_is_the_golden_one() -> None:
    """Descriptions are constants: clients cache them and models were tried with them. Change them on purpose."""
    _, answer = await Desk().ask(*modern("tools/list"))
    found = orjson.dumps(answer["result"]["tools"], option=orjson.OPT_INDENT_2) + b"\n"
    if not TOOLS_LIST.exists():
        TOOLS_LIST.write_bytes(found)
        pytest.fail(f"{TOOLS_LIST} was missing and has been written: look at it")
    kept = orjson.loads(TOOLS_LIST.read_bytes())
    assert orjson.loads(found) == kept, f"delete {TOOLS_LIST} and run again to renew it"


async def test_tools_are_described_well_enough_to_be_chosen() -> None:
    _, answer = await Desk().ask(*modern("tools/list"))
    assert [tool["name"] for tool in answer["result"]["tools"]] == [f"websearch-{word}" for word in WORDS]
    for tool in answer["result"]["tools"]:
        assert (
            len(tool["description"]) > 200 and "Use it " in tool["description"] and "Example: {" in tool["description"]
        )
        assert tool["title"] == tool["annotations"]["title"] and tool["annotations"]["readOnlyHint"] is True
        assert all(len(prop["description"]) > 15 for prop in tool["inputSchema"]["properties"].values())
        example = orjson.loads(tool["description"].partition("Example: ")[2])
        jsonschema.Draft202012Validator(tool["inputSchema"]).validate(example)
