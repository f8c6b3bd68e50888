"""What the tools take and say that depends on tables and on the configuration: countries, what is searched."""

from gateway import schemas
from gateway.mcp.tools import tool_table
from tests.support.web_tools import RecordingTools


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
