"""What a remote search provider sends in other types than it documents, and what becomes of it."""

from typing import Any

import pytest
from aiohttp import web

from gateway.domain import CrawlRequest, ExtractRequest, Json, SearchRequest, WebCall
from gateway.errors import UpstreamError
from gateway.providers.brave import Brave
from gateway.providers.exa import Exa
from gateway.providers.linkup import Linkup
from gateway.providers.perplexity import Perplexity
from gateway.providers.search import SearchAdapter
from gateway.providers.search_results import in_shape, web_address
from gateway.providers.searxng import Searxng
from gateway.providers.serper import Serper
from gateway.providers.tavily import Tavily
from tests.support.websites import Site, serving

CALL = WebCall("key1", "req_1")
ADAPTERS = (Tavily, Exa, Serper, Brave, Searxng, Linkup, Perplexity)
ODD: list[Any] = [None, 5, 2**63, True, [1], {"a": {"b": 1}}, "", -1, "a\0b"]
NO_ADDRESSES = [
    "javascript:alert(1)", "file:///etc/passwd", "data:text/html,a", "/a", "a", "http://", "http:///a", "http://a b/",
    "https://a.test/\r\nX: y", "http://a\\@b/", "https://a.test/" + "a" * 2_000, *ODD,
]  # fmt: skip


class Saying(Site):
    """Answers every request with one JSON value."""

    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(self.value)


async def _search(adapter: type[SearchAdapter], answer: object, **arguments: Any) -> Json:
    async with serving(Saying(answer)) as site:
        provider = adapter("key", site.url)
        try:
            return await provider.search(SearchRequest("q", **arguments), CALL)
        finally:
            await provider.close()


def _answer(items: list[Json]) -> Json:
    """Results in the words of every provider."""
    return {"results": items, "organic": items, "images": items, "web": {"results": items}}


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_fields_of_another_type_are_empty_and_never_python_text(adapter: type[SearchAdapter]) -> None:
    names = (
        "title", "name", "content", "snippet", "description", "score", "page_age", "raw_content", "text", "favicon",
    )  # fmt: skip
    urls = [f"https://a.test/{number}" for number in range(len(ODD))]
    items = [{"url": url, "link": url} | dict.fromkeys(names, odd) for url, odd in zip(urls, ODD, strict=True)]
    wanted = {"include_raw_content": True, "include_favicon": True, "include_images": True}
    found = {each["url"]: each for each in (await _search(adapter, _answer(items), **wanted))["results"]}
    assert set(found) == set(urls)
    for url, odd in zip(urls, ODD, strict=True):
        result, text = found[url], odd if isinstance(odd, str) else ""
        assert result["title"] == (text or url) and result["content"] in ("", text)
        assert 0 <= result["score"] <= 1 and not isinstance(result["score"], bool)
        assert isinstance(result.get("raw_content"), str | None) and result.get("favicon") is None


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_a_result_or_an_image_without_a_web_address_is_left_out(adapter: type[SearchAdapter]) -> None:
    names = ("url", "link", "imageUrl", "img_src", "image")
    items = [dict.fromkeys(names, url) | {"properties": {"url": url}} for url in NO_ADDRESSES]
    found = await _search(adapter, _answer(items), include_images=True)
    assert (found["results"], found["images"]) == ([], [])


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("value", [5, "x", {"a": 1}, True])
async def test_an_answer_of_no_results_or_of_no_list_is_a_failure(adapter: type[SearchAdapter], value: Any) -> None:
    error = {"error": "no more credit", "detail": "no more credit"}
    for answer in ({"results": value, "organic": value, "web": {"results": value}}, error):
        with pytest.raises(UpstreamError, match="answered without a list of results"):
            await _search(adapter, answer)


@pytest.mark.parametrize("adapter", [Serper, Brave])
async def test_providers_that_leave_out_empty_lists_have_found_nothing(adapter: type[SearchAdapter]) -> None:
    assert (await _search(adapter, {"query": {"original": "q"}}))["results"] == []


async def test_pages_that_tavily_reads_have_texts_whatever_it_sends() -> None:
    texts = dict(enumerate(ODD))
    pages = [{"url": f"https://a.test/{number}"} | dict.fromkeys(("raw_content", "title", "favicon", "images"), odd)
             for number, odd in texts.items()]  # fmt: skip
    answer = {"results": [*pages, {"url": 5}, {}], "failed_results": [{"url": 5, "error": [1]}, {"url": "u" * 9_000}]}
    request = ExtractRequest(("https://a.test/0",), include_images=True, include_favicon=True)
    async with serving(Saying(answer)) as site:
        tavily = Tavily("key", site.url)
        found = await tavily.extract(request, CALL)
        walked = await tavily.crawl(CrawlRequest("https://a.test/"), CALL)
        await tavily.close()
    for number, odd in texts.items():
        text = odd if isinstance(odd, str) else ""
        page = found["results"][number]
        assert (page["raw_content"], page["title"], page["favicon"], page["images"]) == (text, text, None, [])
        assert walked["results"][number]["raw_content"] == text
    assert len(found["results"]) == len(walked["results"]) == len(ODD)
    assert [each["error"] for each in found["failed_results"]] == ["not extracted"] * 2


async def test_a_map_of_tavily_has_web_addresses_alone() -> None:
    async with serving(Saying({"results": ["https://a.test/", *NO_ADDRESSES]})) as site:
        tavily = Tavily("key", site.url)
        assert (await tavily.map(CrawlRequest("https://a.test/"), CALL))["results"] == ["https://a.test/"]
        await tavily.close()


@pytest.mark.parametrize("answer", [{}, {"error": "no credit"}, {"results": 5}])
async def test_a_reading_of_tavily_without_a_list_is_a_failure(answer: Json) -> None:
    async with serving(Saying(answer)) as site:
        tavily = Tavily("key", site.url)
        for call in (
            tavily.extract(ExtractRequest(("https://a.test/",)), CALL),
            tavily.crawl(CrawlRequest("https://a.test/"), CALL),
            tavily.map(CrawlRequest("https://a.test/"), CALL),
        ):
            with pytest.raises(UpstreamError, match="without a list"):
                await call
        await tavily.close()


def test_an_address_without_a_scheme_is_read_as_browsers_do() -> None:
    assert web_address("//a.test/i.png") == "https://a.test/i.png"


def test_titles_and_descriptions_are_cut_and_lists_bounded() -> None:
    image = {"url": "https://a.test/i", "description": "d" * 5_000}
    result = {"url": "https://a.test/", "title": "t" * 5_000, "images": [image] * 2_000}
    others = [{"url": "https://a.test/"}] * 1_999
    found = in_shape({"results": [result, *others], "images": [image] * 2_000})
    assert len(found["results"]) == len(found["images"]) == len(found["results"][0]["images"]) == 1_000
    assert len(found["results"][0]["title"]) == len(found["images"][0]["description"]) == 1_000
