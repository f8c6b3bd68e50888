"""A search provider that fails before the local index: callers read the failure, never an empty success."""

from typing import Any

import aiohttp
import orjson
import pytest

from tests.support.gateways import StartGateway
from tests.support.hosted_search import Scene, scene
from tests.support.web_tools_site import PATH


async def _call(found: Scene, tool: str, **arguments: Any) -> tuple[bool, Any]:
    """(`isError`, the outcome in the text) of a tool's answer."""
    params = {"name": f"websearch-{tool}", "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {**found.server.headers, "Accept": "application/json"}
    async with (
        aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(20)) as session,
        session.post(found.server.url + PATH, json=body) as answer,
    ):
        assert answer.status == 200
        result = (await answer.json())["result"]
    return result["isError"], orjson.loads(result["content"][0]["text"])


@pytest.mark.slow
async def test_a_failed_search_whose_fallback_knows_no_page_is_an_error_that_names_the_failure(
    start_gateway: StartGateway,
) -> None:
    async with scene(start_gateway, fallback=["local"]) as found:
        found.provider.answer = found.provider.broken
        for query in ("capital", "capital", "another"):  # the second answer of the fallback may be a remembered one
            is_error, told = await _call(found, "search", query=query)
            assert is_error and told["success"] is False
            assert "searxng" in told["data"]["error"]["message"] and told["data"]["error"]["retryable"] is True


@pytest.mark.slow
async def test_a_failed_search_whose_fallback_knows_pages_gives_these_and_tells_the_failure(
    start_gateway: StartGateway,
) -> None:
    async with scene(start_gateway, fallback=["local"]) as found:
        found.provider.answer = found.provider.broken
        found.site.pages["/a"] = "<title>Paris</title><main><p>Paris is the capital of France, on the Seine.</p></main>"
        assert (await _call(found, "extract", urls=[f"{found.site.url}/a"]))[0] is False
        is_error, told = await _call(found, "search", query="capital of France")
    assert is_error is False and told["data"]["provider"] == "local"
    assert told["data"]["results"] and "searxng" in told["data"]["note"].lower()
