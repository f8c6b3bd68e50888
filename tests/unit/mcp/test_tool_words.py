"""What the tools take and say that depends on tables and on the configuration: countries, names, what is searched."""

import inspect
from typing import Any

import jsonschema
import pytest

from gateway import schemas
from gateway.domain import CrawlRequest, ExtractRequest, Json, SearchRequest, WebCall
from gateway.errors import InvalidRequest
from gateway.mcp.dispatcher import Dispatcher
from gateway.mcp.running_calls import RunningCalls
from gateway.services.websearch.tools import tool_table
from gateway.web.handlers.mcp import WebSearchHandler
from tests.support.web_tools import Desk, RecordingTools, tool_call


def test_every_country_has_its_codes_and_no_name_means_two() -> None:
    schema = schemas.load("country")
    assert list(schema["x-codes"]) == schema["enum"]
    assert all(len(two) == 2 and len(three) == 3 for two, three in schema["x-codes"].values())
    others = [
        *schema["enum"],
        *(name for table in ("x-codes", "x-also") for row in schema[table].values() for name in row),
    ]
    assert len(others) == len(set(others)) and set(schema["x-also"]) <= set(schema["enum"])


def test_the_search_tool_says_what_is_searched() -> None:
    local = tool_table(RecordingTools(), "local")["websearch-search"].descriptor
    remote = tool_table(RecordingTools(), "web")["websearch-search"].descriptor
    assert "does not search the web" in local["description"] and local["title"] == local["annotations"]["title"]
    assert remote["description"].startswith("Search the web") and local["inputSchema"] == remote["inputSchema"]


class NothingRead(RecordingTools):
    async def extract(self, request: ExtractRequest, call: WebCall) -> Json:
        error = InvalidRequest("none of the pages could be read", param="urls")
        error.partial = {"results": [], "failed_results": [{"url": request.urls[0], "error": "gone"}]}
        raise error


async def test_a_failure_that_has_a_part_of_the_answer_gives_both_and_is_sanitized_like_one() -> None:
    desk = Desk()
    desk.dispatcher = Dispatcher(NothingRead(), RunningCalls())
    desk.handler = WebSearchHandler(desk.dispatcher)
    seen: list[str] = []

    def scan(data: Any) -> None:
        seen.extend(slot.where for unit in desk.dialect.reply_units(data) for slot in unit.slots)

    headers = {"MCP-Protocol-Version": "2025-11-25"}
    _, answer = await desk.ask(tool_call("extract", {"urls": ["https://a.test/"]}), headers, scan)
    result = answer["result"]
    data = result["structuredContent"]["data"]
    assert result["isError"] is True and "failed_results[0].error" in seen
    assert data["failed_results"][0]["error"] == "gone" and data["error"]["param"] == "urls"
    schema = tool_table(RecordingTools())["websearch-extract"].descriptor["outputSchema"]
    jsonschema.validate(result["structuredContent"], schema)


UNKNOWN_TOOLS = [
    ("websearch_search", "no such tool: 'websearch_search'; did you mean websearch-search? There are websearch-se"),
    ("WebSearch-Extract", "'WebSearch-Extract'; did you mean websearch-extract? There are websearch-search, "),
    ("search", "no such tool: 'search'; did you mean websearch-search? There are "),
    ("bash", "no such tool: 'bash'; there are websearch-search, "),
    ("x" * 65, "params.name: no such tool; there are websearch-search, "),
    ("a\nb", "params.name: no such tool; there are websearch-search, "),
    ("", "params.name: no such tool; there are websearch-search, "),
    ("sk-" + "a1B2" * 10, "no such tool: 'sk-[hidden]'; there are "),
]


@pytest.mark.parametrize(("name", "told"), UNKNOWN_TOOLS)
async def test_an_unknown_tool_is_named_with_the_nearest_one(name: str, told: str) -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": {}}}
    _, answer = await Desk().ask(asked, {"MCP-Protocol-Version": "2025-11-25"})
    assert answer["error"]["code"] == -32602 and told in answer["error"]["message"]


TOOLS = [
    ("search", SearchRequest, set()), ("extract", ExtractRequest, set()), ("crawl", CrawlRequest, set()),
    ("map", CrawlRequest, {"extract_depth", "format", "include_favicon"}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "kind", "optional_extras"), TOOLS)
def test_defaults_of_the_schema_are_those_of_the_request(tool: str, kind: Any, optional_extras: set[str]) -> None:
    properties = schemas.load(f"tools/{tool}")["properties"]
    parameters = inspect.signature(kind).parameters
    assert set(properties) == set(parameters) - optional_extras
    for name, prop in properties.items():
        default = parameters[name].default
        if default is inspect.Parameter.empty:
            assert name in schemas.load(f"tools/{tool}")["required"]
        else:
            assert prop["default"] == (None if default == () else default)
            assert ({"type": "null"} in prop.get("anyOf", ())) is (prop["default"] is None)
