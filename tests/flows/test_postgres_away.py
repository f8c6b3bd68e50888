"""A gateway whose index is in a PostgreSQL that cannot be reached: it says so, and everything else goes on."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from tests.support.gateways import InProcessGateway, StartGateway
from tests.support.web_tools import tool_call
from tests.support.websites import Site, page, serving

OFF = "\n[local_llm]\nenabled = false\n[local_ocr]\nenabled = false\n"
PASSWORD = "-".join(["not", "a", "secret", "really"])


async def called(server: InProcessGateway, tool: str, arguments: Any) -> tuple[bool, Any]:
    """Whether it is an error, and `data`."""
    async with (
        asyncio.timeout(20),
        aiohttp.ClientSession(headers={**server.headers, "Accept": "application/json"}) as session,
        session.post(f"{server.url}/tools/websearch/mcp", json=tool_call(tool, arguments)) as answer,
    ):
        result = (await answer.json())["result"]
    return result["isError"], json.loads(result["content"][0]["text"])


@pytest.mark.slow
async def test_search_says_that_it_can_be_retried_and_pages_are_read_without_being_stored(
    start_gateway: StartGateway,
) -> None:
    async with serving(Site({"/": page("Zebra", "Words about a zebra. " * 9)})) as site:
        toml = f'[web]\nallow_private = ["{site.address}"]\n[index]\nbackend = "postgres"\n'
        server = await start_gateway(
            toml + 'postgres_url = { credential = "PG" }\n' + OFF,
            GATEWAY_CREDENTIAL_PG=f"postgresql://gateway:{PASSWORD}@127.0.0.1:1/gateway",
        )
        read_failed, read = await called(server, "extract", {"urls": [f"{site.url}/"]})
        search_failed, found = await called(server, "search", {"query": "zebra"})
        _, status = await called(server, "search_status", {})
    assert not read_failed and "zebra" in str(read)
    assert "not added to the search index: the index's database cannot be reached" in str(read)
    assert search_failed and "ask again later" in str(found) and "True" in str(found)
    assert "cannot be reached" in str(status) and "vectors" in str(status)
    async with aiohttp.ClientSession() as session, session.get(f"{server.ops_url}/readyz") as ready:
        notes = (await ready.json())["notes"]
    assert notes == ["the index's database cannot be reached, or refuses the connection"]
    log = server.log_text()
    assert log.count("index_unavailable") == 1
    for text in (log, str(read), str(found), str(status), str(notes)):
        assert PASSWORD not in text and "127.0.0.1:1/" not in text
