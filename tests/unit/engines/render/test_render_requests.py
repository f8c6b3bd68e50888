"""What a page in the browser may ask for, and what it gets, over real sockets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

import pytest
from aiohttp import web

from gateway.domain import Json
from gateway.engines.fetch.address_policy import AddressPolicy, OwnListener
from gateway.engines.fetch.fetcher import Fetched, Fetcher
from gateway.engines.fetch.host_slots import HostSlots
from gateway.engines.fetch.robots import RobotsCache
from gateway.engines.render.renderer import PageLimits, PageRequests, Reach, _is_own_site
from tests.support.websites import Site, serving

TEXT = {"Content-Type": "text/plain"}


@asynccontextmanager
async def asking(
    site: Site, document: Fetched, *, limits: PageLimits | None = None, robots: bool = False, own: str = ""
) -> AsyncIterator[PageRequests]:
    wide = Fetcher(AddressPolicy([site.address], OwnListener(own, reads_docs=True) if own else None), "test-agent")
    narrow = wide.public_only()
    reaches = [Reach(each, RobotsCache(each, "test-agent") if robots else None) for each in (narrow, wide)]
    requests = PageRequests(document, (reaches[0], reaches[1]), HostSlots(6), "key1", limits or PageLimits())
    requests.begin(5.0, pictures=False)
    yield requests
    await narrow.close()
    await wide.close()


def page(url: str, *, public: bool) -> Fetched:
    return Fetched(url, 200, "text/html", b"<p>the document</p>", MappingProxyType({}), public)


def ask(url: str, kind: str = "Fetch", method: str = "GET", **more: Any) -> Json:
    return {"url": url, "kind": kind, "method": method, "accept": "*/*", "origin": "", "sends": "", **more}


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving(Site({"/": "<p>", "/data": (200, TEXT, b"the data")})) as site:
        yield site


@pytest.fixture
async def requests(site: Site) -> AsyncIterator[PageRequests]:
    """Those of a page of the site, which the operator allows."""
    async with asking(site, page(site.url + "/", public=False)) as requests:
        yield requests


async def test_the_first_document_is_the_fetched_one_and_later_ones_are_new(site: Site, requests: PageRequests) -> None:
    first = await requests.answer(ask(site.url + "/", "Document", is_main=True), b"")
    assert first is not None and first[1] == b"<p>the document</p>" and site.asked == []
    again = await requests.answer(ask(site.url + "/", "Document", is_main=True), b"")
    assert again is not None and again[1] == b"<p>" and site.asked == ["/"]


@pytest.mark.parametrize("kind", ["Document", "Stylesheet", "Script", "XHR", "Fetch", "Other"])
async def test_documents_scripts_styles_and_data_are_fetched(site: Site, requests: PageRequests, kind: str) -> None:
    assert await requests.answer(ask(site.url + "/data", kind), b"") is not None


@pytest.mark.parametrize(
    "refused",
    [
        *(
            {"kind": kind}
            for kind in ("Image", "Font", "Media", "WebSocket", "Ping", "Prefetch", "EventSource", ["Fetch"])
        ),
        *({"method": method} for method in ("PUT", "DELETE", "OPTIONS", None)),
        *(
            {"url": url}
            for url in (None, "file:///etc/passwd", "chrome://version/", "http://u:p@127.0.0.1/", "http://[::1")
        ),
        {"accept": "image/avif,image/webp,*/*;q=0.8"},
    ],
    ids=str,
)
async def test_anything_else_is_refused_without_a_connection(site: Site, requests: PageRequests, refused: Json) -> None:
    assert await requests.answer({**ask(site.url + "/data"), **refused}, b"") is None
    assert site.asked == []


async def test_a_picture_that_is_asked_for_as_data_does_not_reach_the_page(site: Site, requests: PageRequests) -> None:
    site.pages["/hidden"] = (200, {"Content-Type": " Image/PNG"}, b"x")
    assert await requests.answer(ask(site.url + "/hidden"), b"") is None
    requests.begin(5.0, pictures=True)
    assert await requests.answer(ask(site.url + "/hidden", "Image"), b"") is not None


async def test_a_page_posts_to_its_own_site_a_little_and_once(site: Site, requests: PageRequests) -> None:
    posted: list[tuple[bytes, str]] = []

    async def take(request: web.Request) -> web.Response:
        posted.append((await request.read(), request.headers["Content-Type"]))
        raise ConnectionResetError  # the connection ends without an answer

    site.pages["/post"] = take
    wish = ask(site.url + "/post", method="POST", sends="application/json; charset=utf-8")
    assert await requests.answer(wish, b"x" * 65_537) is None
    await requests.answer(wish, b"{}")
    assert posted == [(b"{}", "application/json; charset=utf-8")]
    async with asking(site, page("http://www.example.org/", public=False)) as others:
        assert await others.answer(wish, b"{}") is None
    assert len(posted) == 1


OWN_HOSTS = ("example.org", "www.example.org", "api.example.org", "example.org.")


@pytest.mark.parametrize("host", [*OWN_HOSTS, "notexample.org", "example.org.evil.test", "org"])
def test_the_pages_own_site_is_its_host_and_those_below_it(host: str) -> None:
    assert _is_own_site(f"https://{host}/post", "www.example.org") is (host in OWN_HOSTS)


async def test_a_redirect_goes_to_the_browser_which_asks_for_its_end_anew(site: Site, requests: PageRequests) -> None:
    site.pages["/away"] = (302, {"Location": "http://10.0.0.1/", "Set-Cookie": "a=1", "X-Other": "1"}, b"")
    answer = await requests.answer(ask(site.url + "/away"), b"")
    assert answer is not None and answer[0]["status"] == 302
    assert dict(answer[0]["headers"])["location"] == "http://10.0.0.1/"
    assert not {"set-cookie", "x-other"} & set(dict(answer[0]["headers"]))
    assert await requests.answer(ask("http://10.0.0.1/"), b"") is None


async def test_a_public_page_reaches_no_address_of_the_operators_list(site: Site) -> None:
    async with asking(site, page("http://93.184.216.34/", public=True)) as requests:
        assert await requests.answer(ask(site.url + "/data"), b"") is None
        assert requests.state.public and site.asked == []
    async with asking(site, page(site.url + "/", public=False), robots=True) as requests:
        assert not requests.state.public
        requests.state.private = False  # as after the first answer from a public address
        assert await requests.answer(ask(site.url + "/data"), b"") is None
        assert site.asked == [], "robots.txt neither"


async def test_a_public_answer_closes_the_operators_list_for_the_page(site: Site, requests: PageRequests) -> None:
    requests._record(page("http://93.184.216.34/", public=True), is_main=True)
    assert requests.state.site == "93.184.216.34"
    assert await requests.answer(ask(site.url + "/data"), b"") is None
    assert not requests.state.public, "what was read first stays what it is"


async def test_no_page_reads_the_operations_listener(site: Site) -> None:
    async with serving(Site({"/docs/": "contents", "/metrics": "figures"})) as own:
        for document in (page("http://93.184.216.34/", public=True), page(site.url + "/", public=False)):
            async with asking(site, document, own=own.address) as requests:
                assert await requests.answer(ask(f"{own.url}/metrics"), b"") is None
        async with asking(site, page("http://93.184.216.34/", public=True), own=own.address) as requests:
            assert await requests.answer(ask(f"{own.url}/docs/"), b"") is None
        assert own.asked == []


@pytest.mark.parametrize(
    ("limits", "kind", "answered"),
    [
        (PageLimits(requests=3), "Fetch", 3),
        (PageLimits(total_bytes=20), "Fetch", 2),
        (PageLimits(answer_bytes=7), "Fetch", 0),
        (PageLimits(documents=2), "Document", 2),
    ],
)
async def test_what_a_page_asks_for_is_bounded(site: Site, limits: PageLimits, kind: str, answered: int) -> None:
    async with asking(site, page(site.url + "/", public=False), limits=limits) as requests:
        path = "/" if kind == "Document" else "/data"
        got = [await requests.answer(ask(f"{site.url}{path}?{at}", kind), b"") for at in range(5)]
    assert [answer is not None for answer in got] == [True] * answered + [False] * (5 - answered)


async def test_a_page_whose_seconds_are_over_asks_for_nothing(site: Site, requests: PageRequests) -> None:
    requests.begin(0.0, pictures=False)
    assert await requests.answer(ask(f"{site.url}/data"), b"") is None


async def test_a_slow_answer_ends_with_the_pages_seconds(site: Site, requests: PageRequests) -> None:
    async def never(_: web.Request) -> web.Response:
        await asyncio.sleep(60)
        raise AssertionError

    site.pages["/never"] = never
    requests.begin(0.3, pictures=False)
    async with asyncio.timeout(5):
        assert await requests.answer(ask(f"{site.url}/never"), b"") is None


async def test_robots_txt_is_kept_to(site: Site) -> None:
    site.pages["/robots.txt"] = (200, TEXT, b"User-agent: *\nDisallow: /no")
    site.pages["/no"] = "x"
    async with asking(site, page(site.url + "/", public=False), robots=True) as requests:
        assert await requests.answer(ask(site.url + "/no"), b"") is None
        assert await requests.answer(ask(site.url + "/data"), b"") is not None
        assert "/no" not in site.asked


async def test_only_a_well_formed_origin_goes_out(site: Site, requests: PageRequests) -> None:
    origins: list[str | None] = []

    async def note(request: web.Request) -> web.Response:
        origins.append(request.headers.get("Origin"))
        return web.Response(text="x")

    site.pages["/note"] = note
    for origin in ("https://example.org", "null", "https://example.org/secret?key=1", "x\r\nX-Key: 1", 5):
        assert await requests.answer(ask(site.url + "/note", origin=origin), b"") is not None
    assert origins == ["https://example.org", "null", None, None, None]
