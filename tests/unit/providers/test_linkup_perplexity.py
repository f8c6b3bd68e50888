"""Linkup and Perplexity against servers that answer as their documentation says (none of these answers is a recorded
one)."""

from datetime import UTC, date, datetime, timedelta

import pytest

from gateway.domain import Json, SearchRequest
from gateway.errors import UpstreamRefused
from gateway.providers.linkup import Linkup
from gateway.providers.perplexity import Perplexity
from gateway.providers.search import SearchAdapter
from gateway.services.websearch.filters import apply, ignored
from tests.support.websites import serving
from tests.unit.providers.test_search_providers import CALL, KEY, Upstream, asked

LINKUP: Json = {
    "results": [
        {"type": "image", "name": "A drawing", "url": "https://a.test/i.png"},
        {"type": "text", "name": "A text", "url": "https://a.test/", "content": "what it says", "date": "2026-03-15",
         "favicon": "https://a.test/favicon.ico"},
        {"type": "text", "url": "https://b.test/", "name": None, "favicon": ""},
        {"type": "text", "name": "without an address"},
    ]
}  # fmt: skip
PERPLEXITY: Json = {
    "id": "b5947044", "server_time": None,
    "results": [
        {"title": "A text", "url": "https://a.test/", "snippet": "what it says", "date": "2026-03-15",
         "last_updated": "2026-09-19"},
        {"title": None, "url": "https://b.test/", "snippet": 5, "date": None},
        {"title": "without an address"},
    ],
}  # fmt: skip
EVERYTHING = SearchRequest(
    "q", search_depth="advanced", max_results=3, include_domains=("a.test",), exclude_domains=("b.test",),
    topic="news", start_date=date(2026, 1, 2), end_date=date(2026, 11, 3), country="germany", include_raw_content=True,
    include_favicon=True, include_images=True, include_image_descriptions=True, exact_match=True,
)  # fmt: skip
RECENT = SearchRequest("q", time_range="week", exclude_domains=("b.test", "c.test"))
MANY = tuple(f"domain{number}.test" for number in range(150))


async def test_linkup_gets_depth_domains_dates_and_images_in_its_own_terms() -> None:
    (data, *_), sent = await asked(Linkup, LINKUP, EVERYTHING, RECENT, SearchRequest("q"))
    assert sent[0][0] == "/v1/search" and sent[0][3]["Authorization"] == f"Bearer {KEY}"
    assert sent[0][2] == {
        "q": '"q"', "depth": "deep", "outputType": "searchResults", "maxResults": 33, "includeImages": True,
        "includeDomains": ["a.test"], "excludeDomains": ["b.test"], "fromDate": "2026-01-02", "toDate": "2026-11-03",
    }  # fmt: skip
    week = (datetime.now(UTC).date() - timedelta(days=7)).isoformat()
    assert sent[1][2]["excludeDomains"] == ["b.test", "c.test"] and sent[1][2]["fromDate"] == week
    assert sent[2][2] == {"q": "q", "depth": "standard", "outputType": "searchResults", "maxResults": 10}
    assert data["images"] == [{"url": "https://a.test/i.png", "description": "A drawing"}]
    assert data["results"] == [
        {"title": "A text", "url": "https://a.test/", "content": "what it says", "score": 1.0,
         "published_date": "2026-03-15", "raw_content": None, "favicon": "https://a.test/favicon.ico"},
        {"title": "https://b.test/", "url": "https://b.test/", "content": "", "score": 0.5, "raw_content": None,
         "favicon": None},
    ]  # fmt: skip
    assert ignored(EVERYTHING, Linkup.capabilities) == ["topic", "country"]


@pytest.mark.parametrize(
    ("depth", "word"), [("basic", "standard"), ("advanced", "deep"), ("fast", "fast"), ("ultra-fast", "flash")]
)
async def test_every_depth_has_a_word_of_linkups(depth: str, word: str) -> None:
    (data,), sent = await asked(Linkup, LINKUP, SearchRequest("q", search_depth=depth))
    assert sent[0][2]["depth"] == word and data["ignored"] == []


async def test_perplexity_gets_domains_dates_and_country_in_its_own_terms() -> None:
    (data, _, unknown, _), sent = await asked(
        Perplexity, PERPLEXITY, EVERYTHING, RECENT, SearchRequest("q", country="nowhere"), SearchRequest("q")
    )
    assert sent[0][0] == "/search" and sent[0][3]["Authorization"] == f"Bearer {KEY}"
    assert sent[0][2] == {
        "query": '"q"', "max_results": 20, "max_tokens": 10_240, "max_tokens_per_page": 512,
        "search_domain_filter": ["a.test"], "search_after_date_filter": "1/2/2026",
        "search_before_date_filter": "11/3/2026", "country": "DE",
    }  # fmt: skip
    assert sent[1][2]["search_domain_filter"] == ["-b.test", "-c.test"]
    assert sent[1][2]["search_recency_filter"] == "week"
    assert set(sent[3][2]) == {"query", "max_results", "max_tokens", "max_tokens_per_page"}
    assert sent[3][2]["max_results"] == 10 and unknown["ignored"] == ["country"]
    assert [(each["title"], each["content"], each["score"]) for each in data["results"]] == [
        ("A text", "what it says", 1.0),
        ("https://b.test/", "", 0.5),
    ]
    assert data["results"][0]["published_date"] == "2026-03-15" and data["images"] == []
    nobody = ["search_depth", "topic", "include_images", "include_image_descriptions"]
    assert ignored(EVERYTHING, Perplexity.capabilities) == nobody


@pytest.mark.parametrize(("adapter", "answer"), [(Linkup, LINKUP), (Perplexity, PERPLEXITY)])
async def test_what_they_may_not_keep_to_is_applied_to_their_results(
    adapter: type[SearchAdapter], answer: Json
) -> None:
    late = SearchRequest("q", start_date=date(2026, 4, 1), include_domains=("a.test",))
    many = SearchRequest("q", include_domains=MANY, exclude_domains=MANY)
    (data, _), sent = await asked(adapter, answer, late, many)
    assert apply(data["results"], late, adapter.capabilities) == []
    field = {Linkup: "excludeDomains", Perplexity: "search_domain_filter"}[adapter]
    most = {Linkup: 100, Perplexity: 20}[adapter]
    assert len(sent[1][2][field]) == most, "no list of wanted domains is sent in part, it would lose results"


async def test_linkup_calls_it_an_error_when_there_is_no_result() -> None:
    async with serving(Upstream(LINKUP)) as site:
        assert isinstance(site, Upstream)
        linkup = Linkup(KEY, site.url)
        site.failures = [(400, {}, {"statusCode": 400, "error": {"code": "SEARCH_QUERY_NO_RESULT", "message": "no"}})]
        data = await linkup.search(SearchRequest("q", include_images=True), CALL)
        site.failures = [(400, {}, {"statusCode": 400, "error": {"code": "VALIDATION_ERROR", "message": "q is bad"}})]
        with pytest.raises(UpstreamRefused) as refused:
            await linkup.search(SearchRequest("q"), CALL)
        site.answer = {"balance": 12.5}
        assert await linkup.probe() is None and site.requests[-1][0] == "/v1/credits/balance"
        await linkup.close()
    assert (data["results"], data["images"]) == ([], []) and refused.value.quoted == "q is bad"
