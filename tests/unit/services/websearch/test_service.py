"""The search service over scripted providers: what they cannot do is made up for, failures fall to the next one."""

import asyncio
from datetime import date
from pathlib import Path
from typing import Any

import orjson
import pytest

from gateway.domain import CrawlRequest, ExtractRequest, Json, SearchRequest, WebCall
from gateway.engines.index.search_provider import LocalSearch
from gateway.engines.words.excerpt import shorten
from gateway.errors import InvalidRequest, UpstreamUnavailable
from gateway.ports import SearchProvider
from gateway.services.websearch.filters import ignored, on_domain, published
from gateway.services.websearch.search_cache import SearchCache
from gateway.services.websearch.service import WebSearchDeps, WebSearchService, WebSearchSettings
from gateway.wire.preencoded import PackedJson
from tests.support.websites import Site, engine, page, serving

CALL = WebCall("key1", "req_1")


class Scripted:
    """A provider of prepared results, with chosen capabilities."""

    def __init__(self, results: list[Json], capabilities: frozenset[str] = frozenset(), name: str = "scripted") -> None:
        self.results, self._capabilities, self._name, self.asked = results, capabilities, name, 0
        self.per_key = False
        self.fails: Exception | None = None
        self.gate: asyncio.Event | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def capabilities(self) -> frozenset[str]:
        return self._capabilities

    @property
    def results_are_per_key(self) -> bool:
        return self.per_key

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

    crawl = map = extract


async def cut_here(texts: list[str], max_chars: int, owner: str) -> list[str]:
    return [shorten(text, max_chars) for text in texts]


def service(
    *providers: SearchProvider, reader: Any = None, engine: Any = None, budget: int = 80_000
) -> WebSearchService:
    async def stats() -> Json:
        return {"pages": 0}

    engines = (engine or NoEngine(), reader or NoEngine())
    parts = WebSearchDeps(providers, *engines, cut_here, stats, lambda: {"enabled": False}, dict)  # type: ignore[arg-type]
    return WebSearchService(parts, WebSearchSettings("1.0", budget))


def whole(data: Json) -> Json:
    """What `data` is on the wire, free to change."""
    return orjson.loads(orjson.dumps(data))  # type: ignore[no-any-return]


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
    data = whole(await made.search(request, CALL))
    assert [item["url"] for item in data["results"]] == ["https://www.a.test/1", "https://a.test/4"]
    exact = whole(await made.search(SearchRequest('find "Exact Phrase"', exact_match=True), CALL))
    assert [item["url"] for item in exact["results"]] == ["https://a.test/4"]
    nothing = whole(await made.search(SearchRequest("q", include_domains=("elsewhere.test",)), CALL))
    assert nothing["results"] == [] and "None of the 5 results found fits" in nothing["note"]


async def test_what_nobody_can_do_is_told_never_dropped_in_silence() -> None:
    request = SearchRequest("q", country="France ", topic="news", include_images=True)
    data = whole(await service(Scripted([])).search(request, CALL))
    assert data["ignored_parameters"] == ["topic", "include_images", "country"]
    assert data["results"] == [] and data["provider"] == "scripted" and data["request_id"] == "req_1"


def test_the_local_search_says_what_it_cannot_do() -> None:
    asked = SearchRequest(
        *("q", "fast"), topic="news", country="France", include_images=True, include_image_descriptions=True
    )
    nobody = ["topic", "include_images", "include_image_descriptions", "country"]
    assert ignored(asked, LocalSearch.capabilities) == nobody


@pytest.mark.slow  # a parse process
async def test_raw_content_and_favicons_come_from_the_own_engine(tmp_path: Path) -> None:
    site = Site({"/a": page("A", "Words of the page itself. " * 10)})
    async with serving(site), engine(tmp_path, (site.address,)) as made:
        chained = service(Scripted([result(site.url + "/a"), result("https://gone.invalid/")]), reader=made.web)
        data = await chained.search(SearchRequest("q", include_raw_content=True, include_favicon=True), CALL)
    assert "Words of the page itself" in data["results"][0]["raw_content"]
    assert data["results"][0]["favicon"] == f"{site.url}/favicon.ico" and data["results"][1]["raw_content"] is None


async def test_each_page_of_a_crawl_that_is_cut_says_how_to_get_the_rest() -> None:
    class Engine(NoEngine):
        async def crawl(self, request: CrawlRequest, call: WebCall) -> Json:  # type: ignore[override]
            texts = ("short", "word " * 1_000)
            return {"results": [{"url": f"https://a.test/{n}", "raw_content": text} for n, text in enumerate(texts)]}

    made = service(Scripted([]), engine=Engine(), budget=1_000)
    short, long = (await made.crawl(CrawlRequest("https://a.test/"), CALL))["results"]
    assert short["raw_content"] == "short" and "note" not in short
    assert f"{len(long['raw_content'])} of its 5,000 characters" in long["note"] and "websearch-extract" in long["note"]


async def test_a_fallback_that_finds_nothing_gives_way_to_the_next() -> None:
    broken, empty, spare = Scripted([]), Scripted([], name="empty"), Scripted([result("https://a.test/")], name="spare")
    broken.fails = UpstreamUnavailable("the search provider x is in trouble.")
    data = await service(broken, empty, spare).search(SearchRequest("q"), CALL)
    assert data["provider"] == "spare" and data["note"].startswith("the search provider x is in trouble.")


async def test_a_search_that_finds_nothing_without_a_failure_is_a_success() -> None:
    data = await service(Scripted([]), Scripted([result("https://a.test/")], name="spare")).search(
        SearchRequest("q"), CALL
    )
    assert data["provider"] != "spare" and "note" not in data


async def test_the_next_provider_answers_when_one_fails_and_says_so() -> None:
    broken, spare = Scripted([]), Scripted([result("https://a.test/")], name="spare")
    trouble = "the search provider x is in trouble."
    broken.fails = UpstreamUnavailable(trouble)
    broken.fails.quoted = "what somebody asked"
    made = service(broken, spare)
    data = await made.search(SearchRequest("q"), CALL)
    assert data["provider"] == "spare" and data["note"] == f"{trouble} These results come from spare."
    status = await made.status(CALL)
    assert status["search_provider"] == {"name": "scripted", "healthy": False, "error": trouble}
    assert status["last_error"] == trouble
    spare.fails = UpstreamUnavailable("down too")
    with pytest.raises(UpstreamUnavailable, match="in trouble") as caught:
        await made.search(SearchRequest("other"), CALL)
    assert caught.value.quoted == "what somebody asked"


async def test_the_status_is_looked_at_again_when_searches_say_otherwise() -> None:
    provider = Scripted([result("https://a.test/")])
    made = service(provider)

    async def healthy() -> bool:
        return bool((await made.status(CALL))["search_provider"]["healthy"])

    assert await healthy()
    provider.fails = UpstreamUnavailable("down")
    assert await healthy(), "not asked again for a minute"
    with pytest.raises(UpstreamUnavailable):
        await made.search(SearchRequest("q"), CALL)
    assert not await healthy()
    provider.fails = None
    await made.search(SearchRequest("q"), CALL)
    assert await healthy() and (await made.status(CALL))["last_error"] == "down"


async def test_equal_questions_at_once_cost_one_request_and_are_remembered() -> None:
    provider = Scripted([result("https://a.test/")])
    provider.gate = asyncio.Event()
    made = service(provider)
    tasks = [asyncio.create_task(made.search(SearchRequest("q"), CALL)) for _ in range(5)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    provider.gate.set()
    answers = await asyncio.gather(*tasks[1:])
    assert isinstance(answers[0], PackedJson)
    answers[0].unpack()["results"][0]["title"] = "changed by a caller"
    answers[1]["query"] = "changed as well"
    again = whole(await made.search(SearchRequest("q"), CALL))
    assert provider.asked == 1 and again["results"][0]["title"] == "https://a.test/" and again["query"] == "q"


async def test_answers_that_depend_on_the_key_are_not_shared() -> None:
    provider = Scripted([result("https://a.test/")])
    provider.per_key = True
    made = service(provider)
    for _ in range(2):
        await made.search(SearchRequest("q"), CALL)
    assert provider.asked == 2


async def test_what_is_remembered_is_bounded_in_number_and_size() -> None:
    asked: list[object] = []

    def ask(key: object, size: int) -> Any:
        async def answer() -> Json:
            asked.append(key)
            return {"results": ["x" * size]}

        return answer

    few = SearchCache(60, max_entries=2)
    for key in ("a", "b", "a", "c", "b", "a"):  # a, the oldest, is forgotten when c comes
        await few.get(key, ask(key, 10))
    assert asked == ["a", "b", "c", "a"]
    asked.clear()
    small = SearchCache(60, max_bytes=5_000)
    for key in ("a", "b", "c", "a", "huge", "huge"):
        await small.get(key, ask(key, 9_000 if key == "huge" else 2_000))
    assert asked == ["a", "b", "c", "a", "huge", "huge"]


NO_DOMAINS = [
    (SearchRequest("q", include_domains=("a b",)), "include_domains"),
    (SearchRequest("q", exclude_domains=("",)), "exclude_domains"),
]


@pytest.mark.parametrize(("request_", "param"), NO_DOMAINS)
async def test_domains_that_are_none_are_refused_by_name(request_: SearchRequest, param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await service(Scripted([])).search(request_, CALL)
    assert caught.value.param == param


DATES: list[tuple[object, str | None]] = [
    ("2026-03-01", "2026-03-01"),
    ("2026-03-01T10:00:00.123456+01:00", "2026-03-01T10:00:00.123456+01:00"),
    ("2026-03-01 10:00Z", "2026-03-01T10:00:00+00:00"),
    ("2026-03-01T10:00:00.4539148803436467", "2026-03-01"),
    ("Mon, 02 Mar 2026 10:00:00 GMT", "2026-03-02"),
    ("2026-03-01 by jane.doe@posthaus.org", "2026-03-01"),
    ("2026-03-01 4539 1488 0343 6467", "2026-03-01"),
]
NO_DATES = ["2026-02-30T10:00:00", "2026-02-30", "20260301", "4539 1488 0343 6467", "yesterday", None, 17]
NO_DATES += ["4539148803436467" * 3, "1" * 100_000, "Mon, 5 Jan 2026 10:00:00 +99999999999999"]
NO_DATES += ["Mon, 99999999999999999999999 Jan 2026 10:00:00 GMT"]


@pytest.mark.parametrize(("given", "told"), [*DATES, *((each, None) for each in NO_DATES)])
def test_a_date_is_a_date_and_nothing_else(given: object, told: str | None) -> None:
    assert published(given) == told


@pytest.mark.parametrize("url", ["http://[bad", "http://a\u2100b/", "", "no url"])
def test_what_is_no_url_is_on_no_domain(url: str) -> None:
    assert not on_domain(url, ("a.com",))
