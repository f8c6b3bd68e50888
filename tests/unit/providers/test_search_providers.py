"""Tavily, SearXNG and Brave against servers that answer as theirs do, and the service's chain over them."""

import asyncio
from datetime import date
from typing import Any

import orjson
import pytest
from aiohttp import web

from gateway.domain import ExtractRequest, Json, SearchRequest, WebCall
from gateway.errors import UpstreamError, UpstreamRefused, UpstreamTimeout, UpstreamUnavailable
from gateway.providers.brave import Brave
from gateway.providers.linkup import Linkup
from gateway.providers.perplexity import Perplexity
from gateway.providers.search import SearchAdapter
from gateway.providers.searxng import Searxng
from gateway.providers.tavily import Tavily
from gateway.services.websearch.filters import ignored
from tests.support.websites import Site, serving

CALL = WebCall("key1", "req_1")
KEY = "-".join(["fake", "key", "for", "tests"])


class Upstream(Site):
    """Remembers requests; answers JSON, or a status for a while."""

    def __init__(self, answer: Json) -> None:
        super().__init__()
        self.answer = answer
        self.requests: list[tuple[str, dict[str, str], Any, dict[str, str]]] = []
        self.failures: list[tuple[int, dict[str, str], Json]] = []
        self.hold: asyncio.Event | None = None
        self.fails_on = ""

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read() or b"null")
        self.requests.append((request.path, dict(request.query), body, dict(request.headers)))
        if self.hold is not None:
            await self.hold.wait()
        if self.fails_on and self.fails_on in request.path_qs:
            return web.json_response({"message": f"no {self.fails_on}"}, status=400)
        if self.failures:
            status, headers, said = self.failures.pop(0)
            return web.json_response(said, status=status, headers=headers)
        return web.json_response(self.answer)


def found(*urls: str, **more: Any) -> Json:
    return {
        "results": [{"title": f"T {url}", "url": url, "content": "some words", "score": 0.5, **more} for url in urls]
    }


async def asked(adapter: type[SearchAdapter], answer: Json, *requests: SearchRequest) -> tuple[list[Json], list[Any]]:
    """What the adapter made of the answer to each request, and what it sent, as (path, query, body, headers)."""
    async with serving(Upstream(answer)) as site:
        assert isinstance(site, Upstream)
        provider = adapter(KEY, site.url)
        data = [await provider.search(request, CALL) for request in requests]
        await provider.close()
    return data, site.requests


async def test_tavily_gets_the_arguments_it_knows_and_the_key_as_bearer() -> None:
    request = SearchRequest(
        "q", max_results=3, start_date=date(2026, 1, 2), include_raw_content=True,
        country="france", include_images=True, exact_match=True, exclude_domains=("b.test",),
    )  # fmt: skip
    (data,), sent = await asked(Tavily, found("https://a.test/") | {"images": ["https://a.test/i.png"]}, request)
    path, _, body, headers = sent[0]
    assert path == "/search" and headers["Authorization"] == f"Bearer {KEY}"
    assert body["start_date"] == "2026-01-02" and "time_range" not in body and body["country"] == "france"
    assert body["include_raw_content"] == "markdown" and body["exact_match"] is True and body["query"] == '"q"'
    assert data["results"][0]["url"] == "https://a.test/" and data["images"] == ["https://a.test/i.png"]


@pytest.mark.parametrize(
    ("adapter", "status", "code", "kind", "says"),
    [
        (Tavily, 401, "", UpstreamError, "search.api_key"),
        (Tavily, 432, "", UpstreamError, "no credit left"),
        (Tavily, 433, "", UpstreamError, "pay-as-you-go"),
        (Tavily, 400, "", UpstreamRefused, "did not accept the request"),
        (Tavily, 500, "", UpstreamUnavailable, "in trouble"),
        (Tavily, 418, "", UpstreamError, "search.base_url"),
        (Linkup, 401, "UNAUTHORIZED", UpstreamError, "search.api_key"),
        (Linkup, 429, "INSUFFICIENT_FUNDS_CREDITS", UpstreamError, "no credits left"),
        (Linkup, 429, "TOO_MANY_REQUESTS", UpstreamUnavailable, "try again later"),
        (Perplexity, 401, "", UpstreamError, "search.api_key"),
        (Perplexity, 422, "", UpstreamRefused, "did not accept the request"),
    ],
)
async def test_a_providers_error_says_what_the_operator_must_do_and_quotes_the_provider_apart(
    adapter: type[SearchAdapter], status: int, code: str, kind: type[UpstreamError], says: str
) -> None:
    def body(said: str) -> Json:
        return {"error": {"code": code, "message": said}} if code else {"detail": {"error": said}}

    async with serving(Upstream({})) as site:
        assert isinstance(site, Upstream)
        site.failures = [(status, {"Retry-After": "0"}, body(f"Max 400 characters {KEY}"))] * 2
        provider = adapter(KEY, site.url)
        with pytest.raises(kind) as caught:
            await provider.search(SearchRequest("q"), CALL)
        site.failures = [(status, {"Retry-After": "0"}, body("what it was asked"))] * 2
        assert says in str(caught.value) and "Max 400" not in str(caught.value) + str(caught.value.message)
        assert caught.value.quoted == "Max 400 characters [hidden]"
        assert "asked" not in (await provider.probe() or "asked")
        await provider.close()


async def test_busy_is_tried_once_more_after_the_time_asked_and_a_long_wait_is_passed_on() -> None:
    async with serving(Upstream(found("https://a.test/"))) as site:
        assert isinstance(site, Upstream)
        tavily = Tavily(KEY, site.url)
        site.failures = [(429, {"Retry-After": "0"}, {})]
        assert (await tavily.search(SearchRequest("q"), CALL))["results"]
        site.failures = [(429, {"Retry-After": "60"}, {})]
        with pytest.raises(UpstreamUnavailable) as caught:
            await tavily.search(SearchRequest("q"), CALL)
        await tavily.close()
    assert caught.value.retry_after_s == 60 and len(site.requests) == 3


async def test_a_silent_or_absent_provider_is_named() -> None:
    async with serving(Upstream({})) as site:
        assert isinstance(site, Upstream)
        site.hold = asyncio.Event()
        slow = Tavily(KEY, site.url, timeout_s=0.2)
        with pytest.raises(UpstreamTimeout, match="tavily"):
            await slow.search(SearchRequest("q"), CALL)
        site.hold.set()
        await slow.close()
    absent = Tavily(KEY, site.url)
    with pytest.raises(UpstreamUnavailable, match=r"search\.base_url"):
        await absent.search(SearchRequest("q"), CALL)
    assert "cannot be reached" in str(await absent.probe())
    await absent.close()


async def test_tavily_extract_crawl_and_map_give_the_tools_shapes() -> None:
    answer = {
        "results": [{"url": "https://a.test/", "raw_content": "# A", "images": ["https://a.test/i"]}],
        "failed_results": [{"url": "https://b.test/", "error": "gone"}],
    }
    async with serving(Upstream(answer)) as site:
        assert isinstance(site, Upstream)
        tavily = Tavily(KEY, site.url)
        data = await tavily.extract(ExtractRequest(("https://a.test/",), "advanced", True, query="x"), CALL)
        await tavily.close()
    assert data["results"][0]["images"] == ["https://a.test/i"]
    assert data["failed_results"] == answer["failed_results"] and site.requests[0][2]["query"] == "x"
    assert site.requests[0][2]["extract_depth"] == "advanced"


async def test_searxng_scales_scores_pages_on_and_hints_at_its_settings() -> None:
    raw = {
        "results": [
            {"title": "A", "url": "https://a.test/", "content": "c", "score": 4.0, "publishedDate": "2026-01-01"}
        ]
    }
    async with serving(Upstream(raw)) as site:
        assert isinstance(site, Upstream)
        searx = Searxng("", site.url)
        data = await searx.search(SearchRequest("q", include_domains=("a.test",), topic="news"), CALL)
        site.failures = [(403, {}, {})]
        with pytest.raises(UpstreamError, match=r"search\.formats"):
            await searx.search(SearchRequest("q"), CALL)
        await searx.close()
    assert data["results"] == [
        {"title": "A", "url": "https://a.test/", "content": "c", "score": 1.0, "published_date": "2026-01-01"}
    ]
    assert site.requests[0][1]["q"] == "q (site:a.test)" and site.requests[0][1]["categories"] == "news"
    assert [request[1]["pageno"] for request in site.requests[:3]] == ["1", "2", "3"]


async def test_brave_takes_codes_ranges_and_operators_within_its_bounds() -> None:
    raw = {"web": {"results": [{"title": "<strong>A</strong> &amp; b", "url": "https://a.test/", "description": "x"}]}}
    domains = tuple(f"domain{number}.test" for number in range(60))
    dated = SearchRequest(
        "q", country="germany", start_date=date(2026, 1, 1), end_date=date(2026, 2, 1), exclude_domains=domains
    )
    (data, unknown), sent = await asked(Brave, raw, dated, SearchRequest("q", country="tuvalu"))
    _, params, _, headers = sent[0]
    assert headers["X-Subscription-Token"] == KEY and params["country"] == "DE"
    assert params["freshness"] == "2026-01-01to2026-02-01"
    assert len(params["q"]) <= 400 and len(params["q"].split()) <= 50
    assert data["results"][0]["title"] == "A & b" and unknown["ignored"] == ["country"]


async def test_a_country_that_tavily_takes_for_general_searches_alone_is_told_otherwise() -> None:
    request = SearchRequest("q", country="france", topic="news")
    (data,), sent = await asked(Tavily, found("https://a.test/"), request)
    assert data["ignored"] == ["country"] and "country" not in sent[0][2]


async def test_searxng_describes_its_images_and_asks_for_more_where_results_will_be_dropped() -> None:
    raw = {"results": [{"title": "A", "url": "https://a.test/", "img_src": "https://a.test/i.png"}]}
    request = SearchRequest("q", max_results=1, include_images=True, include_image_descriptions=True)
    (data,), sent = await asked(Searxng, raw, request)
    assert data["images"] == [{"url": "https://a.test/i.png", "description": "A"}] and len(sent) == 2
    assert ignored(request, Searxng.capabilities) == []
    _, sent = await asked(Searxng, raw, SearchRequest("q", max_results=1, exact_match=True))
    assert len(sent) == 3


@pytest.mark.parametrize("provider", [Brave, Searxng])
async def test_images_that_fail_cost_the_images_alone(provider: type[Brave] | type[Searxng]) -> None:
    web_results = {"results": [{"title": "A", "url": "https://a.test/"}]}
    async with serving(Upstream(web_results | {"web": web_results})) as site:
        assert isinstance(site, Upstream)
        made = Brave(KEY, site.url) if provider is Brave else Searxng("", site.url)
        site.fails_on = "images"
        data = await made.search(SearchRequest("q", max_results=1, include_images=True), CALL)
        await made.close()
    assert data["results"] and data["images"] == []
    assert "There are no images" in data["note"] and site.fails_on not in data["note"].partition(":")[2]


async def test_braves_own_header_says_when_to_come_back() -> None:
    raw = {"web": {"results": [{"title": "A", "url": "https://a.test/"}]}}
    async with serving(Upstream(raw)) as site:
        assert isinstance(site, Upstream)
        brave = Brave(KEY, site.url)
        site.failures = [(429, {"X-RateLimit-Reset": "0, 1419704"}, {})]
        assert (await brave.search(SearchRequest("q"), CALL))["results"]
        site.failures = [(429, {"X-RateLimit-Reset": "90, 1419704"}, {})]
        with pytest.raises(UpstreamUnavailable) as caught:
            await brave.search(SearchRequest("q"), CALL)
        await brave.close()
    assert caught.value.retry_after_s == 90


def answered_raw(body: bytes) -> Site:
    return Site({"/search": (200, {"Content-Type": "application/json"}, body)})


async def test_half_a_surrogate_pair_in_an_answer_costs_one_character_not_the_search() -> None:
    body = rb'{"results": [{"title": "a\ud800b \ud83d\ude00", "url": "https://a.test/", "\udc00": 1e3, "score": %b}]}'
    async with serving(answered_raw(body % (b"9" * 400))) as site:  # such a number has no place in any answer of ours
        searx = Searxng("", site.url)
        with pytest.raises(UpstreamError, match="did not answer with JSON"):
            await searx.search(SearchRequest("q"), CALL)
        site.pages["/search"] = (200, {}, body % b"2")
        data = await searx.search(SearchRequest("q"), CALL)
        await searx.close()
    assert data["results"][0]["title"] == "a\ufffdb \U0001f600" and data["results"][0]["score"] == 1.0


NO_JSON = (
    b"<html>",
    b"",
    b"[]",
    rb'{"results": [], "x": "\ud800", "y": NaN}',
    rb'{"results": [], "x": "\ud800", "y": -Infinity}',
    rb'{"results": [], "x": "\ud800", "y": 1e999}',
    rb'{"x": "\ud800", "results": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    rb'{"results": [], "x": "\ud800", "y": "' + b'\xed\xa0\x80"}',
    '{"results": [], "x": "\\ud800"}'.encode("utf-16"),
)


async def test_an_answer_that_is_no_json_is_told_as_such() -> None:
    async def told(body: bytes) -> str:
        async with serving(answered_raw(body)) as site:
            searx = Searxng("", site.url)
            with pytest.raises(UpstreamError) as error:
                await searx.search(SearchRequest("q"), CALL)
            await searx.close()
        return str(error.value)

    said = await asyncio.gather(*map(told, NO_JSON))  # side by side: each is asked for again after a pause
    assert [each for each in said if "did not answer with JSON" not in each] == []


async def test_an_answer_of_more_values_than_any_search_has_is_refused_before_it_is_decoded() -> None:
    async with serving(answered_raw(b'{"results": [' + b"{}," * 50_000 + b"{}]}")) as site:
        searx = Searxng("", site.url)
        with pytest.raises(UpstreamError, match="the limit is 50000"):
            await searx.search(SearchRequest("q"), CALL)
        await searx.close()


async def test_halves_of_surrogate_pairs_all_over_a_long_answer_become_one_character_each() -> None:
    text = "\\\\" + r"\ud83d\ude00\ud83d\\\ude00 \\ud83d " * 4_000 + r"\n"
    raw = b'{"results": [{"url": "http://a.example/", "content": "' + text.encode() + b'"}]}'
    async with serving(answered_raw(raw)) as site:
        searx = Searxng("", site.url)
        data = await searx.search(SearchRequest("q"), CALL)
        await searx.close()
    assert data["results"][0]["content"] == "\\" + "\U0001f600\ufffd\\\ufffd \\ud83d " * 4_000 + "\n"
