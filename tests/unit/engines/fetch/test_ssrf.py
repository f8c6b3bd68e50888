"""No URL a caller or a page can name leads the fetcher to an address that is not public. A canary counts visits."""

import json
import socket
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from gateway.domain import CrawlRequest, ExtractRequest
from gateway.engines.fetch.address_policy import AddressPolicy
from gateway.engines.fetch.errors import NOT_PUBLIC, FetchFailed
from gateway.engines.fetch.urls import parse_url
from tests.support.fetching import fetching
from tests.support.paths import GOLDEN
from tests.support.websites import Site, engine, page, serving

# Spellings of loopback, private and metadata hosts, parsers' disagreements, schemes; {p} is the canary's port.
VECTORS = json.loads((GOLDEN / "ssrf_vectors.json").read_text())


class Canary(Site):
    def __init__(self) -> None:
        super().__init__({"/": page("Canary", "This must never be read by anybody. " * 5)})


def test_the_table_is_large_enough() -> None:
    assert len(set(VECTORS)) >= 150


async def test_no_vector_reaches_the_canary() -> None:
    async with serving(Canary()) as canary, fetching() as fetcher:
        for vector in VECTORS:
            with pytest.raises(FetchFailed) as caught:
                await fetcher.fetch(vector.replace("{p}", str(canary.port)))
            assert caught.value.code == "url_refused", (vector, caught.value.message)
        assert canary.asked == []


def test_a_refused_port_is_named() -> None:
    with pytest.raises(FetchFailed, match=r"^no web server uses the port 6379 that the URL names$"):
        parse_url("http://a.test:6379/")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_judged_like_the_first_url(status: int) -> None:
    async with serving(Canary()) as canary, serving(Site()) as site:
        targets = [f"http://{host}:{canary.port}/" for host in ("127.0.0.1", "localhost", "0x7f.1", "[::1]")]
        targets += ["http://169.254.169.254/", "file:///etc/passwd", f"//127.0.0.1:{canary.port}/", "gopher://x/"]
        async with fetching([site.address]) as fetcher:
            for target in targets:
                site.pages["/"] = (status, {"Location": target}, b"")
                with pytest.raises(FetchFailed):
                    await fetcher.fetch(site.url + "/")
        assert canary.asked == []


class Answers(AbstractResolver):
    """A name server with prepared answers, one list per question."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.questions = 0
        self.asked: set[str] = set()

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        self.questions += 1
        self.asked.add(host.rstrip("."))
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        known = ResolveResult(hostname=host, host="", port=port, family=socket.AF_INET, proto=0, flags=0)
        return [{**known, "host": ip} for ip in found]

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("answers", [["127.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["10.0.0.1", "8.8.8.8"], []])
async def test_a_name_with_any_private_address_is_refused(answers: list[str]) -> None:
    async with serving(Canary()) as canary, fetching(resolver=Answers(answers)) as fetcher:
        with pytest.raises(FetchFailed, match="not public"):
            await fetcher.fetch(f"http://rebind.test:{canary.port}/")
        assert canary.asked == []


async def test_a_name_is_resolved_once_so_that_a_second_answer_cannot_lead_elsewhere() -> None:
    async with serving(Canary()) as canary, serving(Site({"/": "fine"})) as site:
        names = Answers(["127.0.0.1"], ["127.0.0.9"])
        async with fetching([site.address], resolver=names) as fetcher:
            assert (await fetcher.fetch(f"http://rebind.test:{site.port}/")).body == b"fine"
            assert names.questions == 1
            with pytest.raises(FetchFailed):
                await fetcher.fetch(f"http://rebind.test:{canary.port}/")
        assert canary.asked == []


@pytest.mark.slow  # a parse process
async def test_a_page_cannot_lure_the_engine_inside(tmp_path: Path) -> None:
    """Links, refresh, canonical, base, icons, frames, sitemaps and robots.txt that point inside are not followed."""
    async with serving(Canary()) as canary, serving(Site()) as site:
        inside = canary.url
        site.pages["/"] = (GOLDEN / "page_that_lures_inside.html").read_text().replace("INSIDE", inside)
        site.pages["/refresh"] = f'<meta http-equiv="refresh" content="0; url={inside}/">'
        site.pages["/header"] = (200, {"Refresh": f"0; url={inside}/", "Content-Type": "text/html"}, b"")
        site.pages["/robots.txt"] = (302, {"Location": f"{inside}/robots.txt"}, b"")
        site.pages["/sitemap.xml"] = f"<urlset><url><loc>{inside}/s</loc></url></urlset>"
        async with engine(tmp_path, (site.address,)) as made:
            wanted = (site.url + "/", site.url + "/refresh", site.url + "/header", inside + "/")
            request = ExtractRequest(wanted, include_images=True, include_favicon=True)
            data = await made.service.extract(request, made.call())
            for tool in (made.service.crawl, made.service.map):
                await tool(CrawlRequest(site.url + "/", max_depth=3), made.call())
        assert len(data["results"]) == 1 and len(data["failed_results"]) == 3
        assert canary.asked == []


async def test_a_refusal_says_the_same_for_open_and_closed_ports_and_unknown_names() -> None:
    said = set()
    async with serving(Canary()) as canary, fetching() as fetcher:
        for url in (canary.url, "http://127.0.0.1:59999/", "http://10.0.0.1/", "http://no.invalid/"):
            with pytest.raises(FetchFailed) as caught:
                await fetcher.fetch(url)
            said.add(caught.value.message)
    assert said == {NOT_PUBLIC}


async def test_only_the_exact_host_and_port_or_network_is_allowed() -> None:
    one, two = Site({"/": "one"}), Site({"/": "two"})
    async with serving(one), serving(two), fetching([one.address]) as exact, fetching(["127.0.0.0/8"]) as network:
        assert (await exact.fetch(one.url)).public is False
        with pytest.raises(FetchFailed):
            await exact.fetch(two.url)
        assert (await network.fetch(two.url)).body == b"two"


async def test_a_name_inside_an_allowed_network_is_fetched_but_never_counts_as_public() -> None:
    site, names = Site({"/": "inside"}), Answers(["127.0.0.1"])
    async with serving(site), fetching(["127.0.0.0/8"], resolver=names) as fetcher:
        for _ in range(2):  # the second over the same connection, without a lookup
            fetched = await fetcher.fetch(f"http://wiki.corp.test:{site.port}/")
            assert fetched.body == b"inside" and fetched.public is False


@pytest.mark.parametrize("name", ["bücher.test", "xn--bcher-kva.test", "BÜCHER.test."])
async def test_an_international_name_is_asked_for_in_its_ascii_form(name: str) -> None:
    names = Answers(["127.0.0.1"])
    async with serving(Site({"/": "Bücher"})) as site, fetching(resolver=names) as refusing:
        async with fetching([site.address], resolver=names) as fetcher:
            assert (await fetcher.fetch(f"http://{name}:{site.port}/")).body == "Bücher".encode()
        with pytest.raises(FetchFailed, match="not public"):
            await refusing.fetch(f"http://{name}:{site.port}/")
    assert names.asked == {"xn--bcher-kva.test"}


@pytest.mark.parametrize("entry", ["127.0.0.1", "host", "host:0", "host:99999", "10.0.0.0/33", ":80", "10.0.0.1/8"])
def test_a_malformed_allow_entry_is_refused(entry: str) -> None:
    with pytest.raises(ValueError):
        AddressPolicy([entry])


async def test_an_endpoint_that_is_allowed_sees_no_cookies_or_credentials_of_another() -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers.get("Cookie", "") + request.headers.get("Authorization", ""))
        return web.Response(text="ok")

    async with serving(Site({"/": handler})) as two, serving(Site()) as one:
        one.pages["/"] = (302, {"Location": two.url.replace("127.0.0.1", "localhost") + "/", "Set-Cookie": "a=b"}, b"")
        async with fetching(["127.0.0.0/8", "::1/128"]) as fetcher:
            await fetcher.fetch(one.url + "/")
    assert seen == [""]
