"""A gateway that asks several search engines at once: Brave's interface and SearXNG's, scripted on loopback."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
from aiohttp import web

from gateway.config.dump import config_text
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from tests.support.asking import OFF, call_tool
from tests.support.gateways import Gateway, Serve
from tests.support.websites import Site, serving

BRAVE = "/res/v1/web/search"
KEYS: dict[str, Any] = {"GATEWAY_CREDENTIAL_BRAVE": "-".join(["brave", "fake", "key"])}


def answer(*results: dict[str, str]) -> web.Response:
    return web.json_response({"web": {"results": results}, "results": results})


async def of_brave(request: web.Request) -> web.StreamResponse:
    one = {"title": "One", "url": "https://one.test/?utm_source=b"}
    return answer(one, {"title": "Two", "url": "https://two.test"})


async def of_searxng(request: web.Request) -> web.StreamResponse:
    return answer({"title": "Two", "url": "http://www.two.test/"}, {"title": "Three", "url": "https://three.test/"})


async def silence(request: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


async def no_key(request: web.Request) -> web.StreamResponse:
    return web.json_response({"error": {"detail": "who are you"}}, status=401)


@pytest.fixture
async def brave() -> AsyncIterator[Site]:
    async with serving(Site({BRAVE: of_brave})) as site:
        yield site


@pytest.fixture
async def searxng() -> AsyncIterator[Site]:
    async with serving(Site({"/search": of_searxng})) as site:
        yield site


async def gateway_over(serve: Serve, brave: Site, searxng: Site, timeout_s: float = 10, who: str = "") -> Gateway:
    toml = f"""
[search]
{who or 'provider = ["brave", "searxng"]'}
[search.brave]
base_url = "{brave.url}"
api_key = {{ credential = "brave" }}
timeout_s = {timeout_s}
[search.searxng]
base_url = "{searxng.url}"
"""
    return await serve(toml + OFF, **KEYS)


async def test_results_of_both_are_one_answer(serve: Serve, brave: Site, searxng: Site) -> None:
    server = await gateway_over(serve, brave, searxng)
    is_error, data = await call_tool(server, "search", {"query": "q", "max_results": 5})
    assert not is_error and data["provider"] == "brave, searxng" and "note" not in data
    assert [each["title"] for each in data["results"]] == ["Two", "One", "Three"]
    asked = [len(brave.asked), len(searxng.asked)]
    await call_tool(server, "search", {"query": "q", "max_results": 5})
    assert [len(brave.asked), len(searxng.asked)] == asked, "each one's answer is remembered"
    _, status = await call_tool(server, "search_status", {})
    assert [each["name"] for each in status["search_provider"]["engines"]] == ["brave", "searxng"]
    assert status["search_provider"]["healthy"] is True


async def test_one_that_hangs_is_named_and_the_other_answers(serve: Serve, brave: Site, searxng: Site) -> None:
    brave.pages[BRAVE] = silence
    server = await gateway_over(serve, brave, searxng, 0.2)
    is_error, data = await call_tool(server, "search", {"query": "q"})
    assert not is_error and [each["title"] for each in data["results"]] == ["Two", "Three"]
    assert data["note"] == "the search provider brave did not answer in time. These results come from searxng."
    failed = [line for line in server.log_text().splitlines() if '"search_provider_failed"' in line]
    assert len(failed) == 1 and '"provider":"brave"' in failed[0] and "did not answer in time" in failed[0]
    searxng.pages["/search"] = no_key
    is_error, data = await call_tool(server, "search", {"query": "other"})
    assert is_error and data["error"]["message"].startswith("the search provider brave did not answer in time")


async def test_the_whole_configuration_is_written_so_that_it_is_read_back(
    serve: Serve, brave: Site, searxng: Site
) -> None:
    config = (await gateway_over(serve, brave, searxng)).config
    text = config_text(config)
    assert "\n[search.brave]\n" in text and KEYS["GATEWAY_CREDENTIAL_BRAVE"] not in text
    file = config.state_dir / "again.toml"
    file.write_text(text)
    assert load_config(file, config.state_dir, Environment(KEYS)) == config
    assert orjson.dumps(config.search.providers) == b'["brave","searxng"]'


async def test_a_fallback_has_settings_of_its_own_too(serve: Serve, brave: Site, searxng: Site) -> None:
    brave.pages[BRAVE] = no_key
    server = await gateway_over(serve, brave, searxng, who='provider = "brave"\nfallback = ["searxng"]')
    is_error, data = await call_tool(server, "search", {"query": "q"})
    assert not is_error and data["provider"] == "searxng" and len(data["results"]) == 2
    assert data["note"].startswith("the search provider brave refused the gateway's key (401);")
