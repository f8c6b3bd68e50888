"""What `gateway serve` prints to try: a crawl of an address that this configuration lets callers read."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.asking import call_tool
from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import start_process, upstream_toml

pytestmark = pytest.mark.slow

SEARXNG = '\n[search]\nprovider = "searxng"\nbase_url = "http://127.0.0.1:9"\n'
MODELS = upstream_toml("http://127.0.0.1:9/v1")


async def printed_crawl(server: GatewayProcess) -> Any:
    """The arguments of the crawl it prints."""
    await server.wait_for_text('"websearch-search_status"')
    bodies = [json.loads(body) for body in re.findall(r"-d '([^']+)'", server.printed())]
    [crawl] = [body["params"] for body in bodies if body.get("params", {}).get("name") == "websearch-crawl"]
    return crawl["arguments"]


@pytest.mark.parametrize("toml", [MODELS, SEARXNG], ids=["models", "search"])
async def test_where_callers_may_not_read_the_documentation_a_public_address_is_printed(
    tmp_path: Path, toml: str
) -> None:
    async with start_process(tmp_path, toml) as server:
        assert (await printed_crawl(server))["url"] == "https://example.com/"
        assert server.ops_url not in server.printed()
        _, refused = await call_tool(server, "crawl", {"url": f"{server.ops_url}/docs/"})
        assert "error" in refused or not refused["results"]
