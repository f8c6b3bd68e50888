"""What a search provider says of a failure: for the caller of that very call alone, and not past the sanitizer."""

from collections.abc import AsyncIterator

import orjson
import pytest
from aiohttp import web

from tests.support.asking import OFF, call_tool
from tests.support.gateways import Gateway, Serve
from tests.support.websites import Site, page, serving

CARD = "4539 1488 0343 6467"
QUESTION = "the merger of Alder and Birch"


async def talkative(request: web.Request) -> web.StreamResponse:
    """A provider in trouble that repeats what it was asked."""
    query = orjson.loads(await request.read() or b"{}").get("query", "a look at its health")
    said = {"detail": {"error": f"could not run query: {query} for {CARD}"}}
    return web.json_response(said, status=500, headers={"Retry-After": "0"})


@pytest.fixture
async def provider() -> AsyncIterator[Site]:
    async with serving(Site({"/search": talkative, "/usage": talkative})) as site:
        yield site


async def gateway_over(serve: Serve, provider: Site, fallback: str = "", more: str = "") -> Gateway:
    search = f'[search]\nprovider = "tavily"\nbase_url = "{provider.url}"\nfallback = [{fallback}]\n'
    key = 'api_key = { credential = "SEARCH" }\n'
    return await serve(search + key + more + OFF, GATEWAY_CREDENTIAL_SEARCH="-".join(["a", "fake", "key"]))


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_the_caller_sees_what_the_provider_said_masked_and_is_told_so(
    serve: Serve, provider: Site, accept: str
) -> None:
    server = await gateway_over(serve, provider)
    is_error, data = await call_tool(server, "search", {"query": QUESTION}, accept=accept)
    own = "the search provider tavily is busy or in trouble (500); try again later."
    quoted = f"It says: could not run query: {QUESTION} for [REDACTED:CREDIT_CARD]"
    assert is_error and data["error"]["message"] == f"{own} {quoted}"
    assert data["error"]["type"] == "upstream_error" and data["error"]["retryable"] is True
    assert data["sanitization"] == {"redacted": {"CREDIT_CARD": 1}, "flagged": {}}


async def test_no_other_key_and_no_log_line_learns_what_was_asked(serve: Serve, provider: Site) -> None:
    server = await gateway_over(serve, provider)
    other = server.make_key("web-search")
    await call_tool(server, "search", {"query": QUESTION})
    is_error, status = await call_tool(server, "search_status", key=other)
    own = "the search provider tavily is busy or in trouble (500); try again later."
    assert not is_error and status["last_error"] == status["search_provider"]["error"] == own
    assert QUESTION not in server.log_text() and "It says" not in server.log_text()


@pytest.mark.slow
async def test_the_note_of_results_from_another_provider_is_our_words_alone(serve: Serve, provider: Site) -> None:
    provider.pages["/merger"] = page("A merger", f"All about {QUESTION}, and what followed. " * 5)
    allow = f'[web]\nallow_private = ["{provider.address}"]\n'
    server = await gateway_over(serve, provider, '"local"', more=allow)
    await call_tool(server, "extract", {"urls": [f"{provider.url}/merger"]})
    is_error, data = await call_tool(server, "search", {"query": QUESTION})
    own = "the search provider tavily is busy or in trouble (500); try again later."
    assert not is_error and data["note"].endswith(f"{own} These results come from local.")
    assert "It says" not in data["note"] and "sanitization" not in data


@pytest.mark.slow
async def test_a_fallback_that_finds_nothing_does_not_hide_the_failure(serve: Serve, provider: Site) -> None:
    server = await gateway_over(serve, provider, '"local"')
    for _ in range(2):
        is_error, data = await call_tool(server, "search", {"query": "what no page of an empty index says"})
        assert is_error and data["error"]["message"].startswith("the search provider tavily is busy or in trouble")


async def test_a_quotation_that_the_policy_blocks_is_not_told(serve: Serve, provider: Site) -> None:
    server = await gateway_over(serve, provider, more='[sanitize.actions]\nresponses.CREDIT_CARD = "block"\n')
    is_error, data = await call_tool(server, "search", {"query": QUESTION})
    assert is_error and "It says" not in data["error"]["message"] and CARD not in str(data)
