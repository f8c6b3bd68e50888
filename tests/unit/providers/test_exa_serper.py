"""Exa and Serper against servers that answer as their documentation says (none of these answers is a recorded one)."""

from datetime import UTC, date, datetime, timedelta

import pytest

from gateway.domain import Json, SearchRequest
from gateway.errors import UpstreamError, UpstreamRefused
from gateway.providers.exa import Exa
from gateway.providers.serper import MAX_QUERY_WORDS, Serper, day_of
from gateway.services.websearch.filters import apply, ignored
from tests.support.websites import serving
from tests.unit.providers.test_search_providers import CALL, KEY, Upstream, asked

EXA: Json = {
    "requestId": "b5947044c4b78efa9552a7c89b306d95",
    "results": [
        {
            "title": "A Comprehensive Overview",
            "url": "https://a.test/overview",
            "publishedDate": "2026-11-16T01:36:32.547Z",
            "author": "H. N.",
            "id": "https://a.test/overview",
            "image": "https://a.test/i.png",
            "favicon": "https://a.test/favicon.ico",
            "text": "The whole text",
            "highlights": ["First words", "second words"],
            "highlightScores": [0.46, 0.2],
        },
        {"url": "https://b.test/", "title": None, "score": 7, "highlights": "no list"},
        {"title": "without an address"},
    ],
}
SERPER: Json = {
    "searchParameters": {"q": "apple", "gl": "us", "hl": "en", "type": "search", "engine": "google"},
    "organic": [
        {"title": "A", "link": "https://a.test/", "snippet": "words", "date": "Nov 3, 2026", "position": 1},
        {"title": "B", "link": "https://b.test/", "position": 2},
        {"title": "no link"},
    ],
    "news": [{"title": "N", "link": "https://n.test/", "snippet": "s", "date": "5 hours ago", "source": "N"}],
    "images": [{"title": "I", "imageUrl": "https://a.test/i.png", "link": "https://a.test/", "position": 1}],
}


async def test_exa_gets_filters_dates_country_and_topic_in_its_own_terms() -> None:
    request = SearchRequest(
        "q", search_depth="advanced", max_results=3, include_domains=("a.test",), exclude_domains=("b.test",),
        topic="news", start_date=date(2026, 1, 2), end_date=date(2026, 2, 3), country="germany",
        include_raw_content=True, include_favicon=True, include_images=True, include_image_descriptions=True,
    )  # fmt: skip
    (data,), sent = await asked(Exa, EXA, request)
    path, _, body, headers = sent[0]
    assert path == "/search" and headers["x-api-key"] == KEY
    assert body["type"] == "deep" and body["numResults"] == 3 and body["category"] == "news"
    assert body["includeDomains"] == ["a.test"] and body["excludeDomains"] == ["b.test"]
    assert body["startPublishedDate"] == "2026-01-02T00:00:00.000Z"
    assert body["endPublishedDate"] == "2026-02-03T23:59:59.999Z" and body["userLocation"] == "DE"
    assert body["contents"]["text"] is True and body["contents"]["highlights"]["query"] == "q"
    first, second = apply(data["results"], request, Exa.capabilities)
    assert first["content"] == "First words [...] second words" and first["raw_content"] == "The whole text"
    assert first["published_date"].startswith("2026-11-16T01:36:32") and first["favicon"].endswith("favicon.ico")
    assert (first["score"], second["score"], second["content"]) == (1.0, 0.5, "")
    assert second["title"] == "https://b.test/"
    assert data["images"] == [{"url": "https://a.test/i.png", "description": "A Comprehensive Overview"}]
    assert ignored(request, Exa.capabilities) == []


async def test_exa_is_asked_for_no_more_than_the_caller_set() -> None:
    recent = SearchRequest("q", time_range="week", exact_match=True, country="tuvalu")
    (data, ranged), sent = await asked(Exa, EXA, SearchRequest("q"), recent)
    assert set(sent[0][2]) == {"query", "type", "numResults", "contents"} and data["images"] == []
    assert sent[1][2]["startPublishedDate"] and "endPublishedDate" not in sent[1][2]
    assert sent[1][2]["numResults"] == 30 and ranged["ignored"] == ["country"]


async def test_serper_takes_codes_ranges_and_operators_within_its_bounds() -> None:
    domains = tuple(f"domain{number}.test" for number in range(60))
    dated = SearchRequest("q", start_date=date(2026, 1, 2), end_date=date(2026, 11, 3), exclude_domains=domains)
    recent = SearchRequest("q", time_range="month", country="united kingdom", exact_match=True)
    nowhere = SearchRequest("q", country="tuvalu", include_favicon=True)
    (data, _, unknown), sent = await asked(Serper, SERPER, dated, recent, nowhere)
    path, _, body, headers = sent[0]
    assert path == "/search" and headers["X-API-KEY"] == KEY
    assert body["tbs"] == "cdr:1,cd_min:1/2/2026,cd_max:11/3/2026" and body["num"] == 20
    assert len(body["q"].split()) <= MAX_QUERY_WORDS and "-site:domain0.test" in body["q"]
    assert sent[1][2] == {"q": '"q"', "num": 20, "gl": "gb", "tbs": "qdr:m"}
    assert unknown["ignored"] == ["country"] and sent[2][2] == {"q": "q", "num": 10}
    assert [(result["url"], result["score"]) for result in data["results"]] == [
        ("https://a.test/", 1.0),
        ("https://b.test/", 0.5),
    ]
    assert data["results"][0]["published_date"] == "2026-11-03" and data["results"][1]["content"] == ""


async def test_serper_has_news_and_images_of_their_own() -> None:
    async with serving(Upstream(SERPER)) as site:
        assert isinstance(site, Upstream)
        serper = Serper(KEY, site.url)
        request = SearchRequest("q", topic="news", include_images=True, include_image_descriptions=True)
        data = await serper.search(request, CALL)
        site.fails_on = "images"
        without = await serper.search(request, CALL)
        await serper.close()
    assert [request[0] for request in site.requests[:2]] == ["/news", "/images"]
    assert data["results"][0]["url"] == "https://n.test/"
    assert data["images"] == [{"url": "https://a.test/i.png", "description": "I"}]
    assert without["images"] == [] and "There are no images" in without["note"]


def test_dates_as_google_writes_them() -> None:
    today = datetime.now(UTC).date()
    assert day_of("Nov 3, 2026") == date(2026, 11, 3) and day_of("September 12, 2025") == date(2025, 9, 12)
    assert day_of("2 days ago") == today - timedelta(days=2) and day_of("1 week ago") == today - timedelta(days=7)
    assert [day_of(text) for text in ("Feb 30, 2026", "soon", "", None, 5, "Foo 1, 2026", "99 years ago")] == [None] * 7


@pytest.mark.parametrize(
    ("provider", "status", "said", "told"),
    [
        (Exa, 401, {"requestId": "r", "error": "Invalid API key", "tag": "INVALID_API_KEY"}, "search.api_key"),
        (Exa, 402, {"error": "No more credits", "tag": "NO_MORE_CREDITS"}, "credits"),
        (Serper, 403, {"message": "Unauthorized.", "statusCode": 403}, "search.api_key"),
        (Serper, 400, {"message": "Not enough credits", "statusCode": 400}, "no credits left"),
    ],
)
async def test_what_only_the_operator_can_mend_is_told_and_ends_neither_chain_nor_secret(
    provider: type[Exa] | type[Serper], status: int, said: Json, told: str
) -> None:
    async with serving(Upstream(SERPER)) as site:
        assert isinstance(site, Upstream)
        made = provider(KEY, site.url)
        site.failures = [(status, {}, said)] * 2
        with pytest.raises(UpstreamError, match=told) as caught:
            await made.search(SearchRequest("q"), CALL)
        problem = await made.probe()
        healthy = await made.probe()
        await made.close()
    assert not isinstance(caught.value, UpstreamRefused) and not caught.value.retryable
    assert KEY not in f"{caught.value.message} {caught.value.quoted}"
    assert problem == caught.value.message and healthy is None
