"""Secrets at every place that a web tool's answer has: none comes back, as JSON or as an event, as text or structured.

Each plant stands at one place; a table says which. Values are drawn anew from a seed.
"""

from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from bench.planted import Draw
from gateway.domain import Json
from tests.support.asking import MCP, posting
from tests.support.gateways import Gateway, Serve
from tests.support.web_tools import tool_call
from tests.support.websites import Site, serving
from tests.unit.providers.test_search_providers import Upstream

WAYS = ("application/json", "text/event-stream")
FILL = "<p>" + "The harbour museum shows old ships and the tools of the fishermen who lived there. " * 4 + "</p>"


class Plants:
    """Values by the place where they were planted."""

    def __init__(self) -> None:
        self._draw = Draw(20261123)
        self.values: dict[str, str] = {}

    def key(self, place: str) -> str:
        """A key in its maker's form, which needs no name."""
        return self._add(place, "ghp_" + self._draw.text(36))

    def token(self, place: str) -> str:
        """Random characters, which only their name or their place makes a secret."""
        return self._add(place, "Zq7" + self._draw.text(37))

    def card(self, place: str) -> str:
        return self._add(place, self._draw.card("4539", 16))

    def iban(self, place: str) -> str:
        return self._add(place, self._draw.iban("DE", "37040044" + self._draw.digits(10)))

    def address(self, place: str) -> str:
        """A web address with a secret in its path, its query and its fragment."""
        return (
            f"https://h.test/reset/{self.token(place + ' path')}/x?access_token={self.token(place + ' query')}"
            f"&k={self.key(place + ' value')}#token={self.token(place + ' fragment')}"
        )

    def _add(self, place: str, value: str) -> str:
        assert place not in self.values
        self.values[place] = value
        return value

    def left_in(self, raw: str) -> list[str]:
        """The places whose values are in an answer or log, in an address as they are written there too."""
        plain = unquote(raw)
        return [place for place, value in self.values.items() if value in raw or value in plain]


async def ask(server: Gateway, tool: str, arguments: Json, way: str) -> str:
    headers = {"Accept": way, "MCP-Protocol-Version": "2025-06-18"}
    async with posting(server, MCP, tool_call(tool, arguments, token="t"), **headers) as answer:
        assert answer.status == 200 and answer.content_type == way
        return await answer.text()


async def check(server: Gateway, plants: Plants, calls: list[tuple[str, Json]], masks: int) -> None:
    """Each call both ways: no plant is left, and together they hold at least so many masks."""
    for way in WAYS:
        answers = [await ask(server, tool, arguments, way) for tool, arguments in calls]
        for (tool, arguments), raw in zip(calls, answers, strict=True):
            assert plants.left_in(raw) == [], (way, tool, arguments)
        assert sum(raw.count("REDACTED:") for raw in answers) >= masks, way
    assert plants.left_in(server.log_text()) == []


def provider_toml(folder: Path, name: str, url: str, more: str = "") -> tuple[str, str]:
    (folder / "credentials").mkdir(exist_ok=True)
    (folder / "credentials" / "key").write_text("-".join(["fake", "key", "for", "tests"]))
    search = f'[search]\nprovider = "{name}"\nbase_url = "{url}"\napi_key = {{ credential = "key" }}\nfallback = []\n'
    return search + more, str(folder / "credentials")


SEARCH: Json = {
    "query": "harbour", "include_raw_content": True, "include_images": True, "include_image_descriptions": True,
    "include_favicon": True,
}  # fmt: skip


async def test_what_a_search_provider_finds_holds_no_secret(serve: Serve, tmp_path: Path) -> None:
    plants = Plants()
    result = {
        "title": "T " + plants.key("title"), "url": plants.address("url"), "favicon": plants.address("favicon"),
        "content": f"password = {plants.token('excerpt')} and IBAN {plants.iban('excerpt IBAN')}", "score": 0.5,
        "raw_content": f"card {plants.card('raw')}\nAuthorization: Bearer {plants.token('raw header')}",
        "published_date": "2026-01-02 " + plants.key("date"), "images": [plants.address("result's image")],
        "extra": plants.key("unknown field"), plants.key("unknown name"): "x",
    }  # fmt: skip
    described = {"url": plants.address("image"), "description": "P " + plants.key("description")}
    found: Json = {
        "answer": plants.key("answer"), "results": [result], "images": [described], "request_id": plants.key("id"),
        "follow_up_questions": [plants.key("question")],
    }  # fmt: skip
    async with serving(Upstream(found)) as site:
        assert isinstance(site, Upstream)
        toml, credentials = provider_toml(tmp_path, "tavily", site.url, '[web]\nengine = "provider"\n')
        server = await serve(toml, CREDENTIALS_DIRECTORY=credentials)
        asked = {"query": f"why is password={plants.token('query')} refused"}
        await check(server, plants, [("search", SEARCH), ("search", asked), ("search_status", {})], 40)
        assert all(plants.values["query"] not in str(body) for _, _, body, _ in site.requests)
        page = {"url": plants.address("page"), "title": plants.key("page title"), "images": [plants.address("picture")]}
        failed = {"url": plants.address("failed page"), "error": "bad " + plants.key("failure")}
        site.answer = {"results": [{**page, "raw_content": plants.key("page text")}], "failed_results": [failed]}
        arguments = {"urls": ["https://h.test/"], "include_images": True}
        await check(server, plants, [("extract", arguments), ("crawl", {"url": "https://h.test/"})], 40)
        site.answer = {"results": [plants.address("mapped")]}
        await check(server, plants, [("map", {"url": "https://h.test/"})], 8)


@pytest.mark.parametrize("name", ["tavily", "exa", "serper", "linkup", "perplexity"])
async def test_what_a_search_provider_says_of_a_failure_holds_no_secret(
    serve: Serve, tmp_path: Path, name: str
) -> None:
    plants = Plants()
    async with serving(Upstream({})) as site:
        assert isinstance(site, Upstream)
        toml, credentials = provider_toml(tmp_path, name, site.url)
        server = await serve(toml, CREDENTIALS_DIRECTORY=credentials)
        for status in (400, 401, 500):
            words = f"{plants.key(f'{status}')} is refused, password={plants.token(f'{status} named')}"
            site.failures = [(status, {"Retry-After": "0"}, {"error": {"message": words}})] * 20
            await check(server, plants, [("search", {"query": f"q{status}"}), ("search_status", {})], 2)


async def test_pages_that_the_gateway_read_hold_no_secret_in_any_tools_answer(serve: Serve) -> None:
    plants = Plants()
    root = (
        f"<title>Harbour {plants.key('title')}</title><meta name=description content='{plants.key('description')}'>"
        f"<meta name=author content='{plants.key('author')}'><link rel=icon href='/f.ico?t={plants.key('icon')}'>"
        f"<meta property='article:published_time' content='2026-01-01 {plants.key('time')}'>"
        f"<main><h1>Harbour</h1>{FILL}<p>zebrafish {plants.key('text')}, card {plants.card('card')}</p>"
        f"<a href='/a?access_token={plants.token('query')}'>a {plants.key('anchor')}</a>"
        f"<a href='/reset/{plants.token('path')}'>b</a><a href='/gone?key={plants.key('gone')}'>c</a><a href=/r>d</a>"
        f"<img src='/i.png?sig={plants.key('image')}' alt='{plants.key('alt')}'>"
        f"<pre>DB_PASSWORD={plants.token('code')}</pre>"
        f"<table><tr><th>user<th>password<tr><td>anna<td>{plants.token('cell')}</table></main>"
    )
    away = "/end?access_token=" + plants.token("redirection")
    pages: dict[str, Any] = {"/": root, "/a": FILL, "/end": FILL, "/r": (302, {"Location": away}, b"")}
    async with serving(Site(pages)) as site:
        server = await serve(f'[web]\nallow_private = ["{site.address}"]\n')
        gone = {"url": site.url, "select_paths": ["/gone.*"]}  # a note names what could not be read
        unread = [f"{site.url}/r", f"{site.url}/no?token={plants.token('argument')}"]
        calls: list[tuple[str, Json]] = [
            ("map", {"url": site.url}), ("crawl", {"url": site.url, "include_favicon": True}), ("crawl", gone),
            ("extract", {"urls": [site.url, *unread], "include_images": True, "include_favicon": True}),
            ("search", {**SEARCH, "query": "zebrafish harbour"}),
            ("search", {"query": f'zebrafish "{plants.key("phrase")}"'}),
            ("search_status", {}),
        ]  # fmt: skip
        await check(server, plants, calls, 60)
