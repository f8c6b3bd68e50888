"""What the usual request skips changes nothing: arguments that need no conversion, headers that all agree."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain import Json
from gateway.mcp.tools import tool_table
from tests.support.web_tools import Desk, RecordingTools, modern

VALUES: Any = st.one_of(st.none(), st.booleans(), st.integers(-3, 9), st.sampled_from(["x", "5", "true", "", "France"]))
NAMES = ["query", "max_results", "topic", "include_images", "country", "include_domains", "unknown"]


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(NAMES), VALUES | st.lists(VALUES, max_size=2)))
def test_arguments_are_coerced_as_by_the_full_conversion(arguments: Json) -> None:
    checked = tool_table(RecordingTools())["websearch-search"].arguments
    assert checked.coerce(arguments) == checked._convert(arguments)


@pytest.mark.parametrize("blank", ["", " ", "\t"])
async def test_headers_that_agree_but_for_blanks_are_accepted(blank: str) -> None:
    """The naive form strips and decodes each header; equal ones are compared first."""
    body, headers = modern("tools/call", {"name": "websearch-search_status"})
    headers = {name: blank + value for name, value in headers.items()}
    status, answer = await Desk().ask(body, headers)
    assert status == 200 and "result" in answer
