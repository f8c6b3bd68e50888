"""Tavily, SearXNG and Brave against servers that answer as theirs do, and the service's chain over them."""

import asyncio
from datetime import date
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from gateway.errors import InvalidRequest, UpstreamError, UpstreamRefused, UpstreamTimeout, UpstreamUnavailable
from gateway.model import ExtractRequest, Json, SearchRequest, WebCall
from gateway.ports import SearchProvider
from gateway.providers.brave import Brave
from gateway.providers.searxng import Searxng
from gateway.providers.tavily import Tavily
from gateway.services.websearch import WebSearchParts, WebSearchService, WebSearchSettings
from tests.websites import Site, engine, page, serving

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

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read() or b"null")
        self.requests.append((request.path, dict(request.query), body, dict(request.headers)))
        if self.hold is not None:
            await self.hold.wait()
        if self.failures:
            status, headers, said = self.failures.pop(0)
            return web.json_response(said, status=status, headers=headers)
        return web.json_response(self.answer)


def found(*urls: str, **more: Any) -> Json:
    return {
        "results": [{"title": f"T {url}", "url": url, "content": "some words", "score": 0.5, **more} for url in urls]
    }


async def test_tavily_gets_the_arguments_it_knows_and_the_key_as_bearer() -> None:
    async with serving(Upstream(found("https://a.test/") | {"images": ["https://a.test/i.png"]})) as site:
        assert isinstance(site, Upstream)
        tavily = Tavily(KEY, site.url)
        request = SearchRequest(
            "q", max_results=3, start_date=date(2026, 1, 2), time_range="day", include_raw_content=True,
            country="france", include_images=True, exact_match=True, exclude_domains=("b.test",),
        )  # fmt: skip
        data = await tavily.search(request, CALL)
        await tavily.close()
    path, _, body, headers = site.requests[0]
    assert path == "/search" and headers["Authorization"] == f"Bearer {KEY}"
    assert body["start_date"] == "2026-01-02" and "time_range" not in body and body["country"] == "france"
    assert body["include_raw_content"] == "markdown" and body["exact_match"] is True and body["query"] == '"q"'
    assert data["results"][0]["url"] == "https://a.test/" and data["images"] == ["https://a.test/i.png"]


@pytest.mark.parametrize(
    ("status", "kind", "says"),
    [
        (401, UpstreamError, "search.api_key"),
        (432, UpstreamError, "no credit left"),
        (433, UpstreamError, "pay-as-you-go"),
        (400, UpstreamRefused, "Max 400 characters"),
        (500, UpstreamUnavailable, "in trouble"),
        (418, UpstreamError, "search.base_url"),
    ],
)
async def test_a_providers_error_says_what_the_operator_must_do(status: int, kind: type, says: str) -> None:
    async with serving(Upstream({})) as site:
        assert isinstance(site, Upstream)
        site.failures = [(status, {"Retry-After": "0"}, {"detail": {"error": f"Max 400 characters {KEY}"}})] * 2
        tavily = Tavily(KEY, site.url)
        with pytest.raises(kind) as caught:
            await tavily.search(SearchRequest("q"), CALL)
        await tavily.close()
    assert says in str(caught.value) and KEY not in str(caught.value)


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
        data = await tavily.extract(ExtractRequest(("https://a.test/",), include_images=True, query="x"), CALL)
        await tavily.close()
    assert data["results"][0]["images"] == ["https://a.test/i"]
    assert data["failed_results"] == answer["failed_results"] and site.requests[0][2]["query"] == "x"


async def test_searxng_scales_scores_pages_on_and_hints_at_its_settings() -> None:
    raw = {
        "results": [
            {"title": "A", "url": "https://a.test/", "content": "c", "score": 4.0, "publishedDate": "2026-01-01"}
        ]
    }
    async with serving(Upstream(raw)) as site:
        assert isinstance(site, Upstream)
        searx = Searxng(site.url)
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
    async with serving(Upstream(raw)) as site:
        assert isinstance(site, Upstream)
        brave = Brave(KEY, site.url)
        domains = tuple(f"domain{number}.test" for number in range(60))
        data = await brave.search(
            SearchRequest(
                "q", country="germany", start_date=date(2026, 1, 1), end_date=date(2026, 2, 1), exclude_domains=domains
            ),
            CALL,
        )
        unknown = await brave.search(SearchRequest("q", country="tuvalu"), CALL)
        await brave.close()
    _, params, _, headers = site.requests[0]
    assert headers["X-Subscription-Token"] == KEY and params["country"] == "DE"
    assert params["freshness"] == "2026-01-01to2026-02-01"
    assert len(params["q"]) <= 400 and len(params["q"].split()) <= 50
    assert data["results"][0]["title"] == "A & b" and unknown["ignored"] == ["country"]


class Scripted:
    """A provider of prepared results, with chosen capabilities."""

    def __init__(self, results: list[Json], capabilities: frozenset[str] = frozenset(), name: str = "scripted") -> None:
        self.results = results
        self._capabilities = capabilities
        self._name = name
        self.asked = 0
        self.fails: Exception | None = None
        self.gate: asyncio.Event | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def capabilities(self) -> frozenset[str]:
        return self._capabilities

    async def search(self, request: SearchRequest, call: WebCall) -> Json:
        self.asked += 1
        if self.gate is not None:
            await self.gate.wait()
        if self.fails is not None:
            raise self.fails
        return {"results": [dict(result) for result in self.results], "images": []}

    async def probe(self) -> str | None:
        return None if self.fails is None else str(self.fails)


class NoEngine:
    async def extract(self, request: ExtractRequest, call: WebCall) -> Json:
        return {"results": [], "failed_results": []}

    crawl = map = extract  # type: ignore[assignment]


def service(*providers: SearchProvider, reader: Any = None, budget: int = 80_000) -> WebSearchService:
    async def stats() -> Json:
        return {"pages": 0}

    parts = WebSearchParts(providers, NoEngine(), reader or NoEngine(), stats, lambda: {"enabled": False}, dict)  # type: ignore[arg-type]
    return WebSearchService(parts, WebSearchSettings("1.0", budget))


def result(url: str, **more: Any) -> Json:
    return {"title": url, "url": url, "content": "plain words here", "score": 0.5, **more}


async def test_what_a_provider_cannot_filter_is_filtered_afterwards() -> None:
    provider = Scripted(
        [
            result("https://www.a.test/1", published_date="2026-03-01"),
            result("https://sub.a.test/2", published_date="2020-03-01"),
            result("https://nota.test/3", published_date="2026-03-01"),
            result("https://a.test/4", content="the exact phrase stands here", published_date="2026-03-02"),
            result("https://b.a.test/5", published_date="Mon, 02 Mar 2026 10:00:00 GMT"),
        ]
    )
    made = service(provider)
    request = SearchRequest(
        "q", include_domains=("https://A.test/",), exclude_domains=("b.a.test",), start_date=date(2026, 1, 1)
    )
    data = await made.search(request, CALL)
    assert [item["url"] for item in data["results"]] == ["https://www.a.test/1", "https://a.test/4"]
    exact = await made.search(SearchRequest('find "Exact Phrase"', exact_match=True), CALL)
    assert [item["url"] for item in exact["results"]] == ["https://a.test/4"]


async def test_what_nobody_can_do_is_told_never_dropped_in_silence() -> None:
    data = await service(Scripted([])).search(
        SearchRequest("q", country="France ", topic="news", include_images=True), CALL
    )
    assert data["ignored_parameters"] == ["topic", "include_images", "country"]
    assert data["results"] == [] and data["provider"] == "scripted" and data["request_id"] == "req_1"


async def test_raw_content_and_favicons_come_from_the_own_engine(tmp_path: Path) -> None:
    site = Site({"/a": page("A", "Words of the page itself. " * 10)})
    async with serving(site), engine(tmp_path, (site.address,)) as made:
        provider = Scripted([result(site.url + "/a"), result("https://gone.invalid/")])
        chained = service(provider, reader=made.web)
        data = await chained.search(SearchRequest("q", include_raw_content=True, include_favicon=True), CALL)
    assert "Words of the page itself" in data["results"][0]["raw_content"]
    assert data["results"][0]["favicon"] == f"{site.url}/favicon.ico"
    assert data["results"][1]["raw_content"] is None


async def test_the_next_provider_answers_when_one_fails_and_says_so() -> None:
    broken, spare = Scripted([]), Scripted([result("https://a.test/")], name="spare")
    broken.fails = UpstreamUnavailable("the search provider x is in trouble.")
    made = service(broken, spare)
    data = await made.search(SearchRequest("q"), CALL)
    assert data["provider"] == "spare" and "in trouble" in data["note"]
    status = await made.status(CALL)
    assert status["search_provider"] == {
        "name": "scripted",
        "healthy": False,
        "error": "the search provider x is in trouble.",
    }
    spare.fails = UpstreamUnavailable("down too")
    with pytest.raises(UpstreamUnavailable, match="in trouble"):
        await made.search(SearchRequest("other"), CALL)


async def test_equal_questions_at_once_cost_one_request_and_are_remembered() -> None:
    provider = Scripted([result("https://a.test/")])
    provider.gate = asyncio.Event()
    made = service(provider)
    tasks = [asyncio.create_task(made.search(SearchRequest("q"), CALL)) for _ in range(5)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    provider.gate.set()
    answers = await asyncio.gather(*tasks[1:])
    answers[0]["results"][0]["title"] = "changed by a caller"
    again = await made.search(SearchRequest("q"), CALL)
    assert provider.asked == 1 and again["results"][0]["title"] == "https://a.test/"


async def test_the_last_asker_that_leaves_takes_the_request_along() -> None:
    provider = Scripted([])
    provider.gate = asyncio.Event()
    made = service(provider)
    task = asyncio.create_task(made.search(SearchRequest("q"), CALL))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    provider.gate.set()
    await made.search(SearchRequest("q"), CALL)
    assert provider.asked == 2


@pytest.mark.parametrize(
    ("request_", "param"),
    [
        (SearchRequest(" "), "query"),
        (SearchRequest("q", country="atlantis"), "country"),
        (SearchRequest("q", include_image_descriptions=True), "include_image_descriptions"),
        (SearchRequest("q", include_domains=("a b",)), "include_domains"),
    ],
)
async def test_arguments_that_make_no_sense_are_refused_by_name(request_: SearchRequest, param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await service(Scripted([])).search(request_, CALL)
    assert caught.value.param == param
