"""The five tools of a whole gateway through an official client, over the documentation that the gateway serves."""

import asyncio
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web

from tests.support.asking import OFF
from tests.support.gateways import Gateway, Serve
from tests.support.official import client_command, run_client
from tests.support.waiting import until
from tests.support.web_tools import bounded, tool_call
from tests.support.web_tools_site import PATH
from tests.support.websites import Site, serving

pytestmark = pytest.mark.slow


@pytest.fixture
async def server(serve: Serve) -> Gateway:
    return await serve(OFF)


async def outcomes(server: Gateway, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """What the newest Python client gets for each call; it checks every answer against the tool's output schema."""
    asked = [{"name": f"websearch-{word}", "arguments": given} for word, given in calls]
    plan = {"url": server.url + PATH, "key": server.key, "mode": "auto", "calls": asked}
    answers = (await run_client(client_command("python2"), plan))["answers"]
    for answer in answers:
        assert orjson.loads(answer["text"]) == answer["structured"], answer
        assert answer["isError"] is not answer["structured"]["success"]
    return [answer["structured"] for answer in answers]


async def test_an_agent_maps_crawls_reads_and_searches_a_site(server: Gateway) -> None:
    docs = server.ops_url + "/docs/"
    mapped, crawled, found, status = await outcomes(
        server,
        ("map", {"url": docs, "limit": 8}),
        ("crawl", {"url": docs, "limit": "5", "allow_external": "false"}),
        ("search", {"query": "sanitization", "max_results": 3, "include_favicon": True, "exact_match": False}),
        ("search_status", {}),
    )
    assert docs in mapped["data"]["results"] and len(mapped["data"]["results"]) > 3
    pages = crawled["data"]["results"]
    assert 1 < len(pages) <= 5 and pages[0]["depth"] == 0 and all(page["raw_content"] for page in pages)
    assert found["success"] and found["data"]["query"] == "sanitization" and found["data"]["provider"] == "local"
    assert 0 < len(found["data"]["results"]) <= 3
    assert status["data"]["search_provider"]["healthy"] is True and status["data"]["search_provider"]["error"] is None
    assert type(status["data"]["server_version"]) is str and type(status["data"]["guardrail"]["enabled"]) is bool
    assert status["data"]["sanitization"].items() >= {"requests": True, "responses": True}.items()
    assert {type(status["data"]["guardrail"][name]) for name in ("endpoint", "model", "status")} == {str}


async def test_an_agent_reads_pages_and_is_told_which_could_not_be_read(server: Gateway) -> None:
    page, missing = server.ops_url + "/docs/web-tools", server.ops_url + "/docs/nowhere"
    (read,) = await outcomes(server, ("extract", {"urls": [page, missing, "http://10.0.0.1/", "ftp://x/"]}))
    assert [each["url"] for each in read["data"]["results"]] == [page]
    assert len(read["data"]["failed_results"]) == 3 and all(each["error"] for each in read["data"]["failed_results"])


async def test_what_cannot_be_done_is_an_outcome_that_says_so(server: Gateway) -> None:
    scheme, pattern, blank, private = await outcomes(
        server,
        ("map", {"url": "ftp://example.com/"}),
        ("crawl", {"url": server.ops_url + "/docs/", "select_paths": ["("]}),
        ("search", {"query": " "}),
        ("crawl", {"url": "http://10.0.0.1/"}),
    )
    assert private["data"]["results"] == [] and "not public" in private["data"]["failed_results"][0]["error"]
    for failed, param in ((scheme, "url"), (pattern, "select_paths"), (blank, "query")):
        assert failed["success"] is False
        error = failed["data"]["error"]
        assert error["param"].startswith(param) and not error["retryable"], error


async def test_a_crawl_reports_its_progress_to_those_who_ask(server: Gateway) -> None:
    crawl = {"name": "websearch-crawl", "arguments": {"url": server.ops_url + "/docs/", "limit": 8}, "progress": True}
    plan = {"url": server.url + PATH, "key": server.key, "mode": "legacy", "calls": [crawl]}
    (answer,) = (await run_client(client_command("python2"), plan))["answers"]
    pages = len(answer["structured"]["data"]["results"])
    assert pages > 3 and answer["steps"] == sorted(set(answer["steps"])) and answer["steps"][-1] >= pages


async def endless(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(60)
    return web.Response()


@pytest.mark.parametrize("way", ["leaves", "cancels"])
@pytest.mark.parametrize("accept", ["application/json", "application/json, text/event-stream"])
async def test_a_crawl_nobody_waits_for_lets_go_of_its_connections_within_a_second(
    serve: Serve, way: str, accept: str
) -> None:
    async with serving(Site({"/page": endless})) as site, aiohttp.ClientSession() as session:
        server = await serve(f'[web]\nallow_private = ["{site.address}"]\n')
        headers = {**server.headers, "Accept": accept}

        async def post(body: Any) -> bytes:
            async with session.post(server.url + PATH, json=body, headers=headers) as answer:
                return await answer.read()

        crawl = tool_call("crawl", {"url": f"{site.url}/page"}, token="t")
        asking = asyncio.ensure_future(post(crawl))
        await until(lambda: "/page" in site.asked, 8)
        if way == "leaves":
            asking.cancel()
        else:
            params = {"requestId": 1}
            assert await post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}) == b""
        await until(lambda: not site.open_requests, 1)
        if way == "cancels":
            assert b"-32800" in await bounded(asking, 1)
