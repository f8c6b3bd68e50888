"""The search providers against servers that answer as theirs do (as their documentation says: no answer is recorded).

What each is sent and what becomes of its answer stands in `tests/golden/search_providers.json`: its key, answer and
results, then a case a line; `data` has what differs from the results alone, `kept` what the service leaves of them, and
`nobody` the parameters that nobody keeps to. A number of domains stands for so many.
The errors follow, with what is raised of each; `SAID` stands for the provider's own words.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any

import orjson
import pytest
from aiohttp import web

from gateway.domain import ExtractRequest, Json, SearchRequest, WebCall
from gateway.errors import UpstreamError, UpstreamRefused, UpstreamTimeout, UpstreamUnavailable
from gateway.providers.search_table import REMOTE_PROVIDERS
from gateway.providers.searxng import Searxng
from gateway.providers.serper import day_of
from gateway.providers.tavily import Tavily
from gateway.services.websearch.filters import apply, ignored
from tests.support.paths import GOLDEN
from tests.support.websites import Site, serving

CALL = WebCall("key1", "req_1")
KEY = "-".join(["fake", "key", "for", "tests"])
TODAY = datetime.now(UTC).date()
RECORDED = json.loads(
    (GOLDEN / "search_providers.json").read_text()
    .replace("{KEY}", KEY).replace("{WEEK_AGO}", (TODAY - timedelta(days=7)).isoformat())
)  # fmt: skip


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


@asynccontextmanager
async def reached(name: str, answer: Json) -> AsyncIterator[tuple[Any, Upstream]]:
    """A provider, and the server that it asks."""
    site = Upstream(answer)
    async with serving(site):
        provider = REMOTE_PROVIDERS[name](KEY, site.url)
        yield provider, site
        await provider.close()


def request_of(**asked: Any) -> SearchRequest:
    for name in asked.keys() & {"include_domains", "exclude_domains"}:
        domains = asked[name]
        asked[name] = tuple(f"domain{n}.test" for n in range(domains)) if isinstance(domains, int) else tuple(domains)
    for name in asked.keys() & {"start_date", "end_date"}:
        asked[name] = date.fromisoformat(asked[name])
    return SearchRequest("q", **asked)


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: case["case"])
async def test_a_search_and_its_answer_are_put_into_the_words_of_each_side(case: Json) -> None:
    recorded, request = RECORDED["providers"][case["provider"]], request_of(**case["asked"])
    async with reached(case["provider"], recorded["answer"]) as (provider, site):
        data = await provider.search(request, CALL)
    assert [[path, query if body is None else body] for path, query, body, _ in site.requests] == case["sent"]
    assert all(recorded["key"].items() <= headers.items() for *_, headers in site.requests)
    assert data == {"results": recorded["results"], "images": [], "ignored": [], **case.get("data", {})}
    kept = apply(data["results"], request, provider.capabilities)
    assert [each["url"] for each in kept] == case.get("kept", [each["url"] for each in data["results"]])
    assert ignored(request, provider.capabilities) == case.get("nobody", [])


@pytest.mark.parametrize(
    ("name", "field", "most"), [("linkup", "excludeDomains", 100), ("perplexity", "search_domain_filter", 20)]
)
async def test_no_list_of_wanted_domains_is_sent_in_part_and_loses_results(name: str, field: str, most: int) -> None:
    async with reached(name, found("https://a.test/")) as (provider, site):
        await provider.search(request_of(include_domains=150, exclude_domains=150), CALL)
    assert len(site.requests[0][2][field]) == most and "includeDomains" not in site.requests[0][2]


@pytest.mark.parametrize("case", RECORDED["errors"], ids=lambda case: f"{case['provider']} {case['status']}")
async def test_a_providers_error_says_what_the_operator_must_do_and_quotes_the_provider_apart(case: Json) -> None:
    kind = {each.__name__: each for each in (UpstreamError, UpstreamRefused, UpstreamUnavailable)}[case["error"]]

    def failing(said: str) -> list[tuple[int, dict[str, str], Json]]:
        return [(case["status"], {"Retry-After": "0"}, json.loads(json.dumps(case["body"]).replace("SAID", said)))] * 2

    async with reached(case["provider"], RECORDED["providers"][case["provider"]]["answer"]) as (provider, site):
        site.failures = failing(f"Max 400 characters {KEY}")
        with pytest.raises(kind) as caught:
            await provider.search(SearchRequest("q"), CALL)
        site.failures = failing("what it was asked")
        assert case["says"] in str(caught.value) and "Max 400" not in str(caught.value) + str(caught.value.message)
        assert type(caught.value) is kind and caught.value.retryable is (kind is UpstreamUnavailable)
        assert (caught.value.quoted or "").startswith("Max 400 characters [hidden]")
        assert await provider.probe() == caught.value.message
        site.failures = []
        assert await provider.probe() is None


BUSY = [("tavily", "Retry-After", "0", "90"), ("brave", "X-RateLimit-Reset", "0, 1419704", "90, 1419704")]


@pytest.mark.parametrize(("name", "header", "now", "later"), BUSY)
async def test_busy_is_tried_again_and_a_long_wait_is_passed_on(name: str, header: str, now: str, later: str) -> None:
    async with reached(name, RECORDED["providers"][name]["answer"]) as (provider, site):
        site.failures = [(429, {header: now}, {})]
        assert (await provider.search(SearchRequest("q"), CALL))["results"]
        site.failures = [(429, {header: later}, {})]
        with pytest.raises(UpstreamUnavailable) as caught:
            await provider.search(SearchRequest("q"), CALL)
    assert caught.value.retry_after_s == 90 and len(site.requests) == 3


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
    async with reached("tavily", answer) as (tavily, site):
        data = await tavily.extract(ExtractRequest(("https://a.test/",), "advanced", True, query="x"), CALL)
    assert data["results"][0]["images"] == ["https://a.test/i"]
    assert data["failed_results"] == answer["failed_results"] and site.requests[0][2]["query"] == "x"
    assert site.requests[0][2]["extract_depth"] == "advanced"


async def test_linkup_calls_it_an_error_when_there_is_no_result() -> None:
    async with reached("linkup", {"balance": 12.5}) as (linkup, site):
        site.failures = [(400, {}, {"statusCode": 400, "error": {"code": "SEARCH_QUERY_NO_RESULT", "message": "no"}})]
        data = await linkup.search(SearchRequest("q", include_images=True), CALL)
        assert await linkup.probe() is None and site.requests[-1][0] == "/v1/credits/balance"
    assert (data["results"], data["images"]) == ([], [])


@pytest.mark.parametrize("name", ["brave", "searxng", "serper"])
async def test_images_that_fail_cost_the_images_alone(name: str) -> None:
    async with reached(name, RECORDED["providers"][name]["answer"]) as (provider, site):
        site.fails_on = "images"
        data = await provider.search(SearchRequest("q", max_results=1, include_images=True), CALL)
    assert data["results"] and data["images"] == []
    assert "There are no images" in data["note"] and site.fails_on not in data["note"].partition(":")[2]


def test_dates_as_google_writes_them() -> None:
    assert day_of("Nov 3, 2026") == date(2026, 11, 3) and day_of("September 12, 2025") == date(2025, 9, 12)
    assert day_of("2 days ago") == TODAY - timedelta(days=2) and day_of("1 week ago") == TODAY - timedelta(days=7)
    assert [day_of(text) for text in ("Feb 30, 2026", "soon", "", None, 5, "Foo 1, 2026", "99 years ago")] == [None] * 7


async def read(body: bytes) -> Json:
    """The first result of an answer of these bytes."""
    async with serving(Site({"/search": (200, {"Content-Type": "application/json"}, body)})) as site:
        searx = Searxng("", site.url)
        try:
            result: Json = (await searx.search(SearchRequest("q"), CALL))["results"][0]
            return result
        finally:
            await searx.close()


async def test_half_a_surrogate_pair_in_an_answer_costs_one_character_not_the_search() -> None:
    body = rb'{"results": [{"title": "a\ud800b \ud83d\ude00", "url": "https://a.test/", "\udc00": 1e3, "score": %b}]}'
    with pytest.raises(UpstreamError, match="did not answer with JSON"):
        await read(body % (b"9" * 400))  # such a number has no place in any answer of ours
    result = await read(body % b"2")
    assert result["title"] == "a\ufffdb \U0001f600" and result["score"] == 1.0


NO_JSON = (
    b"<html>", b"", b"[]",
    rb'{"results": [], "x": "\ud800", "y": NaN}',
    rb'{"results": [], "x": "\ud800", "y": -Infinity}',
    rb'{"results": [], "x": "\ud800", "y": 1e999}',
    rb'{"x": "\ud800", "results": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    rb'{"results": [], "x": "\ud800", "y": "' + b'\xed\xa0\x80"}',
    '{"results": [], "x": "\\ud800"}'.encode("utf-16"),
)  # fmt: skip


async def test_an_answer_that_is_no_json_is_told_as_such() -> None:
    told = await asyncio.gather(*map(read, NO_JSON), return_exceptions=True)  # each is asked for again after a pause
    assert [each for each in told if "did not answer with JSON" not in str(each)] == []


async def test_an_answer_of_more_values_than_any_search_has_is_refused_before_it_is_decoded() -> None:
    with pytest.raises(UpstreamError, match="the limit is 50000"):
        await read(b'{"results": [' + b"{}," * 50_000 + b"{}]}")


async def test_halves_of_surrogate_pairs_all_over_a_long_answer_become_one_character_each() -> None:
    text = "\\\\" + r"\ud83d\ude00\ud83d\\\ude00 \\ud83d " * 4_000 + r"\n"
    result = await read(b'{"results": [{"url": "http://a.example/", "content": "' + text.encode() + b'"}]}')
    assert result["content"] == "\\" + "\U0001f600\ufffd\\\ufffd \\ud83d " * 4_000 + "\n"
