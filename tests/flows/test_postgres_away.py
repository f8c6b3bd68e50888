"""A gateway whose index is in a PostgreSQL that cannot be reached: it says so, and everything else goes on."""

import pytest

from tests.support.asking import OFF, call_tool, send
from tests.support.gateways import Serve
from tests.support.websites import Site, page, serving

PASSWORD = "-".join(["not", "a", "secret", "really"])


@pytest.mark.slow
async def test_search_says_that_it_can_be_retried_and_pages_are_read_without_being_stored(serve: Serve) -> None:
    async with serving(Site({"/": page("Zebra", "Words about a zebra. " * 9)})) as site:
        toml = f'[web]\nallow_private = ["{site.address}"]\n[index]\nbackend = "postgres"\n'
        server = await serve(
            toml + 'postgres_url = { credential = "PG" }\n' + OFF,
            GATEWAY_CREDENTIAL_PG=f"postgresql://gateway:{PASSWORD}@127.0.0.1:1/gateway",
        )
        read_failed, read = await call_tool(server, "extract", {"urls": [f"{site.url}/"]})
        search_failed, found = await call_tool(server, "search", {"query": "zebra"})
        _, status = await call_tool(server, "search_status", {})
    assert not read_failed and "zebra" in str(read)
    assert "not added to the search index: the index's database cannot be reached" in str(read)
    assert search_failed and "ask again later" in str(found) and found["error"]["retryable"]
    assert "cannot be reached" in str(status) and "vectors" in str(status)
    _, ready, _ = await send(server, f"{server.ops_url}/readyz", method="GET")
    notes = ready["notes"]
    assert notes == ["the index's database cannot be reached, or refuses the connection"]
    log = server.log_text()
    assert log.count("index_unavailable") == 1
    for text in (log, str(read), str(found), str(status), str(notes)):
        assert PASSWORD not in text and "127.0.0.1:1/" not in text
