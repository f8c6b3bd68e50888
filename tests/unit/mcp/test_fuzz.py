"""Whatever is sent to the web-tools path gets an answer of JSON-RPC's own form, and never an internal error."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway import schemas
from tests.support.web_tools import Desk, modern, request, tool_call

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4))
NAMES = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"])
METHODS = st.sampled_from(["initialize", "ping", "tools/list", "tools/call", "server/discover", "notifications/x"])
MESSAGES = st.dictionaries(NAMES, SCALARS | METHODS | st.just("2.0") | JSON, max_size=6)
CALLS = st.builds(request, METHODS, st.none() | JSON)
HEADERS = st.dictionaries(
    st.sampled_from(["Accept", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"]),
    st.sampled_from(["2024-11-05", "2025-11-25", "2026-07-28", "*/*", "application/json", "tools/call", ""])
    | st.text(),
)
TOOLS = ("search", "extract", "crawl", "map", "search_status")
PARAMETERS = sorted({name for tool in TOOLS for name in schemas.load(f"tools/{tool}")["properties"]})
ARGUMENTS = st.dictionaries(st.sampled_from(PARAMETERS) | st.text(max_size=5), JSON, max_size=5)


def ask(body: Any, headers: Any = ()) -> None:
    status, answer = asyncio.run(Desk().ask(body, headers))
    if status == 202:
        assert answer is None
        return
    assert status in (200, 400, 404, 406)
    for told in answer if isinstance(answer, list) else [answer]:
        assert told["jsonrpc"] == "2.0" and type(told["id"]) in (str, int, type(None))
        assert ("result" in told) != ("error" in told) and told.get("error", {}).get("code") != -32603


@given(st.binary(max_size=200) | JSON | MESSAGES | CALLS | st.lists(MESSAGES | CALLS, max_size=5), HEADERS)
@settings(max_examples=400)
@pytest.mark.slow
def test_any_body_under_any_headers_is_answered_in_form(body: Any, headers: dict[str, str]) -> None:
    ask(body if isinstance(body, bytes) else dumped(body), headers)


@given(st.sampled_from(TOOLS), ARGUMENTS)
@settings(max_examples=400)
@pytest.mark.slow
def test_any_arguments_end_in_an_outcome(tool: str, arguments: dict[str, Any]) -> None:
    ask(dumped(tool_call(tool, arguments)))


@given(METHODS, st.dictionaries(st.text(max_size=5) | st.just("_meta"), JSON, max_size=3))
@settings(max_examples=200)
@pytest.mark.slow
def test_any_modern_params_are_answered_in_form(method: str, params: dict[str, Any]) -> None:
    body, headers = modern(method)
    ask(dumped({**body, "params": {**body["params"], **params}}), headers)


def dumped(value: Any) -> bytes:
    """JSON that may hold what orjson would not write: halves of surrogate pairs, integers beyond 64 bits."""
    return json.dumps(value).encode()
