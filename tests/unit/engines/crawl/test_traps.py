"""Hostile and broken pages end in bounded time with a reason that says what happened."""

import asyncio
import gzip
import time
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from gateway.domain import CrawlRequest, ExtractRequest, Json
from gateway.engines.documents.parse_pool import ExtractOptions, ParsePool
from gateway.engines.fetch.errors import Unreadable
from gateway.engines.fetch.fetcher import FetchLimits
from tests.support.waiting import until
from tests.support.websites import Engine, Site, engine, page, serving, urls

pytestmark = pytest.mark.slow  # a parse process for each test

TEXT = "A page that says something worth reading about gateways and crawlers. " * 5

_STORY = "What comes after the deep part of a page belongs to it as much as what came before, and is read as well."


@asynccontextmanager
async def made_for(site: Site, state: Path, **limits: float) -> AsyncIterator[Engine]:
    caps = {"max_bytes": 200_000, "max_inflated_bytes": 400_000, "total_s": 2.0} | limits
    async with serving(site), engine(state, (site.address,), limits=FetchLimits(**caps)) as made:  # type: ignore[arg-type]
        yield made


async def why(site: Site, state: Path, path: str = "/", **limits: float) -> str:
    """The reason why the page was not extracted."""
    async with made_for(site, state, **limits) as made:
        async with asyncio.timeout(20):  # what is never given up waits for thirty seconds, or without end
            data = await made.web.extract(ExtractRequest((site.url + path,)), made.call())
    assert data["results"] == []
    return str(data["failed_results"][0]["error"])


async def text(site: Site, state: Path, path: str = "/") -> Json:
    async with made_for(site, state) as made:
        data = await made.web.extract(ExtractRequest((site.url + path,)), made.call())
    assert data["failed_results"] == []
    result: Json = data["results"][0]
    return result


async def test_a_redirect_loop_ends(tmp_path: Path) -> None:
    site = Site({"/": (302, {"Location": "/b"}, b""), "/b": (302, {"Location": "/"}, b"")})
    assert "redirects more than 8 times" in await why(site, tmp_path)
    assert len(site.asked) == 9


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_a_compression_bomb_is_stopped_at_the_cap(tmp_path: Path, coding: str) -> None:
    plain = b"<p>" + b"a" * 50_000_000
    body = gzip.compress(plain) if coding == "gzip" else zlib.compress(plain)
    site = Site({"/": (200, {"Content-Encoding": coding, "Content-Type": "text/html"}, body)})
    assert "larger than 400000 bytes" in await why(site, tmp_path)


async def test_a_huge_page_is_stopped_at_the_cap_whether_announced_or_not(tmp_path: Path) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/html"})
        await response.prepare(request)
        for _ in range(1000):
            await response.write(b"x" * 10_000)
        return response

    site = Site({"/": endless, "/known": b"y" * 300_000})
    assert "larger than 200000 bytes" in await why(site, tmp_path)
    assert "larger than 200000 bytes" in await why(site, tmp_path, "/known")


async def test_a_slow_drip_does_not_outlast_the_total_time(tmp_path: Path) -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/html"})
        await response.prepare(request)
        for _ in range(200):
            await response.write(b"x")
            await asyncio.sleep(0.05)
        return response

    assert "gave up after 0.5 s" in await why(Site({"/": drip}), tmp_path, total_s=0.5)


@pytest.mark.parametrize("levels", [400, 1_900, 2_100, 4_000, 15_000])
async def test_the_text_of_a_deeply_nested_page_is_read(tmp_path: Path, levels: int) -> None:
    deepest = f"<script>never shown</script><h2>Below</h2><p>{TEXT}</p>"
    after = f"<h2>After</h2><p>{_STORY}</p>"
    boxes = "<div>" * levels + deepest + "</div>" * levels + after
    spans = "<p>" + "<b><i>" * (levels // 2) + TEXT
    site = Site({"/boxes": f"<title>Deep</title>{boxes}", "/spans": spans})
    assert "gateways and crawlers" in (await text(site, tmp_path, "/spans"))["raw_content"]
    read = await text(site, tmp_path, "/boxes")
    assert read["title"] == "Deep" and "never shown" not in read["raw_content"]
    assert "Below" in read["raw_content"] and TEXT.strip() in read["raw_content"]
    assert read["raw_content"].endswith(f"## After\n\n{_STORY}")


async def test_an_endless_calendar_ends_by_itself(tmp_path: Path) -> None:
    async def day(request: web.Request) -> web.StreamResponse:
        number = int(request.query.get("day", "0"))
        links = (f"/?day={number + 1}", f"/?day={number + 2}")
        body = page(f"Day {number}", f"Nothing is planned for day {number}. ", *links)
        return web.Response(text=body, content_type="text/html")

    site = Site({"/": day})
    async with made_for(site, tmp_path) as made:
        data = await made.service.crawl(CrawlRequest(site.url + "/", max_depth=5, limit=500), made.call())
    assert len(data["results"]) <= 32


async def test_an_endless_space_is_named_in_the_note(tmp_path: Path) -> None:
    async def deeper(request: web.Request) -> web.StreamResponse:
        links = [f"{request.path}again/", *(f"/events/?day={n}" for n in range(400))]
        return web.Response(text=page(request.path, f"{TEXT} At {request.path}.", *links), content_type="text/html")

    site = Site({"/": deeper, **{"/" + "again/" * n: deeper for n in range(1, 9)}})
    async with made_for(site, tmp_path) as made:
        request = CrawlRequest(site.url + "/", max_depth=5, max_breadth=500, limit=500)
        data = await made.service.map(request, made.call())
    assert site.url + "/again/again/again/" in data["results"]
    assert site.url + "/again/again/again/again/" not in data["results"]
    assert "looks endless" in data["note"] and len(data["results"]) < 320


@pytest.mark.parametrize("odd", ["http://[", "http://a:99999/", "http://a:b/", "//", "\\x00", "http://[::1%25lo]/"])
async def test_malformed_addresses_in_pages_robots_and_sitemaps_harm_nothing(tmp_path: Path, odd: str) -> None:
    head = f'<base href="{odd}"><link rel=canonical href="{odd}"><link rel=icon href="{odd}">'
    site = Site(
        {
            "/": page("Home", TEXT, odd, "/a").replace("</head>", f"{head}</head>"),
            "/a": page("Page A", f"Words of its own. {TEXT}"),
            "/robots.txt": (200, {}, f"User-agent: *\nDisallow: {odd}\nSitemap: {odd}\nSitemap: /s.xml".encode()),
            "/sitemap.xml": (200, {}, f"<sitemapindex><loc>{odd}</loc></sitemapindex>".encode()),
        }
    )
    async with made_for(site, tmp_path) as made:
        for tool in (made.service.crawl, made.service.map):
            assert (await tool(CrawlRequest(site.url + "/"), made.call()))["results"]


async def test_cyclic_canonicals_and_repeated_pages_are_kept_once(tmp_path: Path) -> None:
    def named(title: str, canonical: str, *links: str) -> str:
        whole = page(title, f"{title} has words of its own. {TEXT}", *links)
        return whole.replace("</head>", f'<link rel="canonical" href="{canonical}"></head>')

    site = Site(
        {
            "/": named("Root", "/", "/a", "/b", "/print", "/index.html"),
            "/a": named("Page A", "/b"),
            "/b": named("Page B", "/a"),
            "/print": named("Page A", "/print"),
            "/index.html": named("Root", "/", "/a"),
        }
    )
    async with made_for(site, tmp_path) as made:
        data = await made.service.crawl(CrawlRequest(site.url + "/", max_depth=3), made.call())
    assert len(data["results"]) <= 3 and len(set(urls(data))) == len(data["results"])


async def test_closing_the_pool_ends_what_is_being_read(tmp_path: Path) -> None:
    pool = ParsePool(1, job_limit_s=30)
    body = ("<p>" + "word " * 200) * 20_000  # tens of seconds of work for `advanced`
    task = asyncio.create_task(pool.extract(body.encode(), ExtractOptions("http://a.test/", depth="advanced")))
    async with asyncio.timeout(10):
        await until(lambda: bool(pool._busy), 5)
        await pool.close()
        with pytest.raises(Unreadable):
            await task


async def test_a_retry_after_is_honoured_once(tmp_path: Path) -> None:
    asked: list[float] = []

    async def busy(request: web.Request) -> web.StreamResponse:
        asked.append(time.monotonic())
        if len(asked) == 1:
            return web.Response(status=503, headers={"Retry-After": "1"})
        return web.Response(text=page("Back", TEXT), content_type="text/html")

    assert (await text(Site({"/": busy}), tmp_path))["title"] == "Back"
    assert asked[1] - asked[0] >= 0.9


async def test_a_time_budget_returns_what_it_has_with_a_note(tmp_path: Path) -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(30)
        return web.Response()

    site = Site({"/": page("Home", TEXT, "/slow"), "/slow": slow})
    async with serving(site), engine(tmp_path, (site.address,), crawl_budget_s=3.0) as made:
        while not (await made.web.extract(ExtractRequest((site.url + "/",)), made.call()))["results"]:
            pass  # the first page waits for the start of the process that reads it
        data = await made.service.crawl(CrawlRequest(site.url + "/"), made.call())
        mapped = await made.service.map(CrawlRequest(site.url + "/", max_depth=2), made.call())
        named = await made.web.extract(ExtractRequest((site.url + "/", site.url + "/slow")), made.call())
    assert [result["title"] for result in data["results"]] == ["Home"]
    assert mapped["results"] == [site.url + "/", site.url + "/slow"]
    assert urls(named) == [site.url + "/"] and "not read within 3 s" in named["failed_results"][0]["error"]
    for cut in (data, mapped, named):
        assert cut["truncated"] is True and "time budget" in cut["note"]
