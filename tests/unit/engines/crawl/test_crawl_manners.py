"""How a crawl behaves towards sites: robots.txt, redirects, pace, and what it says of it."""

import asyncio
import itertools
import re
import time
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from gateway.domain import CrawlRequest, ExtractRequest
from gateway.engines.fetch.errors import FetchFailed
from gateway.engines.fetch.host_slots import HostSlots
from gateway.engines.fetch.robots import parse
from tests.support.fetching import fetching
from tests.support.websites import Engine, Site, engine, page, serving

pytestmark = pytest.mark.slow  # a parse process for each test

WORDS = "A page that says something worth reading about manners on the web. "


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("Disallow: /private", "/private/x", False),
        ("Disallow: /private", "/public", True),
        ("Disallow:", "/anything", True),
        ("Disallow: /\nAllow: /docs", "/docs/a", True),
        ("Allow: /docs\nDisallow: /docs/secret", "/docs/secret/1", False),
        ("Disallow: /p\nAllow: /p", "/page", True),  # two as long: allowed
        ("Disallow: /*.pdf$", "/a/b.pdf", False),
        ("Disallow: /*.pdf$", "/a/b.pdf?x=1", True),
        ("Disallow: /*?print", "/a?print=1", False),
        ("Disallow: /a*b*c", "/axxbyyc", False),
        ("Disallow: /caf%C3%A9", "/caf\u00e9", False),
        ("Disallow: /%7Euser", "/~user/", False),
        ("disallow : /x # why\n", "/x", False),
    ],
)
def test_the_longest_rule_decides_with_wildcards_and_ends(rules: str, path: str, allowed: bool) -> None:
    assert parse(f"User-agent: *\n{rules}", "gateway-fetcher").allows(f"https://a.test{path}") is allowed


def test_the_own_group_comes_before_everybodys_and_groups_of_one_name_are_one() -> None:
    text = (
        "User-agent: other\nUser-agent: Gateway-Fetcher\nDisallow: /a\nCrawl-delay: 2\n\nUser-agent: *\nDisallow: /\n"
        "User-agent: gateway-fetcher/2.0\nDisallow: /b\nSitemap: https://a.test/s.xml\n"
    )
    robots = parse(text, "gateway-fetcher")
    assert not robots.allows("https://a.test/a") and not robots.allows("https://a.test/b")
    assert robots.allows("https://a.test/c") and robots.delay_s == 2 and robots.sitemaps == ("https://a.test/s.xml",)
    assert not parse(text, "somebody").allows("https://a.test/c")
    assert parse("User-agent: *\nCrawl-delay: 86400", "x").delay_s == 5


async def test_a_crawl_delay_spaces_the_requests_of_all_callers(site: Site, made: Engine) -> None:
    asked: list[float] = []

    async def timed(request: web.Request) -> web.StreamResponse:
        asked.append(time.monotonic())
        return web.Response(text=page(request.path, f"{WORDS} {request.path}"), content_type="text/html")

    site.pages |= {f"/{n}": timed for n in range(3)}
    site.pages["/"] = page("Home", WORDS, "/0", "/1", "/2")
    site.pages["/robots.txt"] = (200, {}, b"User-agent: *\nCrawl-delay: 0.2")
    await made.service.crawl(CrawlRequest(site.url + "/"), made.call())
    assert len(asked) == 3 and all(later - sooner >= 0.19 for sooner, later in itertools.pairwise(asked))


async def test_one_host_gets_so_many_requests_at_once_and_all_hosts_together_too() -> None:
    slots = HostSlots(2, total=3)
    running: dict[str, int] = {}
    most: dict[str, int] = {}

    async def visit(host: str) -> None:
        async with slots.hold(host):
            for name in (host, "all"):
                running[name] = running.get(name, 0) + 1
                most[name] = max(most.get(name, 0), running[name])
            for _ in range(5):
                await asyncio.sleep(0)
            for name in (host, "all"):
                running[name] -= 1

    await asyncio.gather(*(visit(f"h{n % 2}") for n in range(40)))
    assert most["all"] == 3 and max(most["h0"], most["h1"]) == 2 and not slots._hosts


@pytest.mark.parametrize(("headers", "pause_s"), [({"Retry-After": "120"}, 120), ({}, 30)])
async def test_a_site_that_says_429_is_left_alone_by_that_call_and_by_no_other(
    tmp_path: Path, headers: dict[str, str], pause_s: int
) -> None:
    async def busy(request: web.Request) -> web.StreamResponse:
        return web.Response(status=429, headers=headers)

    site = Site({"/": page("Home", WORDS * 5, *(f"/{n}" for n in range(40)))} | {f"/{n}": busy for n in range(40)})
    async with serving(site), engine(tmp_path, (site.address,), per_host_concurrency=2) as made:
        data = await made.service.crawl(CrawlRequest(site.url + "/", max_breadth=100), made.call())
        asked = [path for path in site.asked if path != "/robots.txt"]
        later = await made.service.extract(ExtractRequest((site.url + "/",)), made.call("key2"))
    assert len(asked) <= 4 and len(later["results"]) == 1
    assert len(data["results"]) == 1 and "429" in data["failed_results"][0]["error"]
    told = re.search(r"try again in (\d+) s$", data["failed_results"][-1]["error"])
    assert told is not None and pause_s - 20 < int(told[1]) <= pause_s
    assert pause_s - 20 < data["failed_results"][-1]["retry_after_s"] <= pause_s


async def test_hosts_elsewhere_that_hang_do_not_hold_up_the_site(tmp_path: Path) -> None:
    async def hang(request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        return web.Response()

    async with serving(Site()) as site, serving(Site({f"/{n}": hang for n in range(30)})) as other:
        away = [f"{other.url}/{n}" for n in range(30)]
        home = [f"/{n}" for n in range(15)]
        site.pages |= {path: page(f"Page {path}", f"{WORDS} Number {path} of them. " * 3) for path in home}
        site.pages["/"] = page("Home", WORDS * 12, *away, *home)
        async with engine(tmp_path, (site.address, other.address), crawl_budget_s=10.0) as made:
            data = await made.service.crawl(CrawlRequest(site.url + "/", max_breadth=100, limit=100), made.call())
    assert len(data["results"]) == 16 and "time budget" in data["note"]


async def test_a_name_nobody_knows_is_asked_for_once() -> None:
    class Nobody(AbstractResolver):
        asked = 0

        async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
            self.asked += 1
            raise OSError

        async def close(self) -> None:
            pass

    names = Nobody()
    async with fetching(resolver=names) as fetcher:
        for path in range(5):
            with pytest.raises(FetchFailed, match="does not exist"):
                await fetcher.fetch(f"http://dead.example.com/{path}")
    assert names.asked == 1


async def test_failures_beyond_those_told_are_counted(site: Site, made: Engine) -> None:
    site.pages |= {"/": page("Home", WORDS, *(f"/missing{n}" for n in range(60)))}
    data = await made.service.crawl(CrawlRequest(site.url + "/", max_breadth=100, limit=100), made.call())
    assert len(data["failed_results"]) == 50 and "10 more pages could not be read" in data["note"]
