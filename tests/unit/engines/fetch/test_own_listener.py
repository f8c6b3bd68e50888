"""Of the gateway's own operations listener, callers reach the documentation and nothing else."""

import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager

import pytest

from gateway.engines.fetch.address_policy import AddressPolicy, OwnListener
from gateway.engines.fetch.errors import FetchFailed
from gateway.engines.fetch.fetcher import Fetcher
from tests.support.fetching import fetching
from tests.support.websites import Site, page, serving
from tests.unit.engines.fetch.test_ssrf import Answers

PAGES = {"/docs/": "contents", "/docs/a-page.md": "a page", "/metrics": "figures", "/docs": "none", "/": "console"}
EVERYTHING = ["127.0.0.0/8", "::1/128", "0.0.0.0/8", "::/128", "::ffff:0:0/96", "10.0.0.0/8", "172.16.0.0/12"]

OTHER_PATHS = [
    "/metrics", "/", "", "/docs", "/readyz", "/docs/../metrics", "/docs/%2e%2e/metrics", "/docs/%2E./metrics",
    "/docs/..%2fmetrics", "/docs/..%5cmetrics", "//docs/", "//metrics", "/./metrics", "/docs/./../metrics",
    "/DOCS/", "/Docs/a-page.md", "/docs//../../metrics", "/docs//..//metrics", "/docs/%252e%252e/metrics",
    "/docs/a/../../metrics", "/docs;/../metrics", "/docs/..;/metrics", "/docs%2f../metrics", "/docs%00/",
    "/docs/\u2025/metrics", "/docs\uff0fmetrics", "/metrics?/docs/", "/metrics#/docs/", "/metrics/docs/", "/xdocs/",
    "/docs/%ff", "/api/keys", "/openapi.json", "/docs/a b", "/docs/...%2f",
]  # fmt: skip
NOT_EVEN_A_URL = ["/docs\\..\\metrics", "/docs/\\metrics", "\\docs/", "/docs/\x00", "/docs/\t../metrics"]


def own_hosts() -> list[str]:
    """Spellings of this machine's own addresses."""
    hosts = ["127.0.0.1", "localhost", "LOCALHOST.", "127.1.2.3", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # a datagram socket sends nothing when it connects
            hosts.append(probe.getsockname()[0])
        except OSError:
            pass  # no network but loopback
    return hosts


@pytest.fixture
async def listener() -> AsyncIterator[Site]:
    async with serving(Site(dict(PAGES))) as site:
        yield site


def beside(
    listener: Site, allow: Sequence[str] = (), *, reads_docs: bool = True, **options: object
) -> AbstractAsyncContextManager[Fetcher]:
    """A fetcher that knows this listener as the gateway's own."""
    return fetching(AddressPolicy(allow, OwnListener(f"127.0.0.1:{listener.port}", reads_docs=reads_docs)), **options)


async def refused(fetcher: Fetcher, url: str) -> None:
    with pytest.raises(FetchFailed) as caught:
        await fetcher.fetch(url)
    assert caught.value.code == "url_refused", (url, caught.value.message)


async def test_the_documentation_can_be_read(listener: Site) -> None:
    async with beside(listener) as fetcher:
        for path in ("/docs/", "/docs/a-page.md", "/docs/../docs/a-page.md", "/docs/?x=/../metrics", "/docs/#part"):
            fetched = await fetcher.fetch(listener.url + path)
            assert fetched.status == 200 and not fetched.public


@pytest.mark.parametrize("reads_docs", [True, False])
@pytest.mark.parametrize("allow", [[], EVERYTHING])
async def test_no_spelling_of_another_path_reaches_it(listener: Site, allow: list[str], reads_docs: bool) -> None:
    async with beside(listener, [*allow, listener.address], reads_docs=reads_docs) as fetcher:
        for host in own_hosts():
            for path in (*OTHER_PATHS, *NOT_EVEN_A_URL):
                await refused(fetcher, f"http://{host}:{listener.port}{path}")
    assert listener.asked == []


async def test_a_connection_kept_from_the_documentation_carries_no_other_path(listener: Site) -> None:
    async with beside(listener, EVERYTHING) as fetcher:
        for host in ("127.0.0.1", "localhost"):
            await fetcher.fetch(f"http://{host}:{listener.port}/docs/")
            await refused(fetcher, f"http://{host}:{listener.port}/metrics")


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2", "0.0.0.0"])
async def test_no_other_name_leads_to_the_listener_even_for_documentation(listener: Site, address: str) -> None:
    allow = [*EVERYTHING, f"rebind.test:{listener.port}"]
    async with beside(listener, allow, resolver=Answers([address])) as fetcher:
        for path in ("/docs/", "/metrics"):
            await refused(fetcher, f"http://rebind.test:{listener.port}{path}")
    assert listener.asked == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_checked_at_every_hop(listener: Site, status: int) -> None:
    hops = ("/metrics", "../metrics", "//127.0.0.1:{p}/metrics", "http://localhost:{p}/docs/..%2fmetrics", "/")
    async with beside(listener, EVERYTHING) as fetcher, serving(Site()) as site:
        for target in hops:
            listener.pages["/docs/away"] = (status, {"Location": target.format(p=listener.port)}, b"")
            await refused(fetcher, f"{listener.url}/docs/away")
        for target in (f"{listener.url}/metrics", f"http://localhost:{listener.port}/healthz"):
            site.pages["/"] = (status, {"Location": target}, b"")
            await refused(fetcher, site.url + "/")
    assert set(listener.asked) == {"/docs/away"}


async def test_the_listener_is_closed_to_callers_where_the_profile_gives_no_leave(listener: Site) -> None:
    async with beside(listener, reads_docs=False) as fetcher:
        await refused(fetcher, listener.url + "/docs/")


async def test_the_operators_list_may_open_the_documentation_and_other_ports(listener: Site) -> None:
    other = Site({"/metrics": page("Another service", "With words of its own")})
    async with serving(other), beside(listener, ["127.0.0.0/8"], reads_docs=False) as fetcher:
        assert (await fetcher.fetch(listener.url + "/docs/")).status == 200
        assert (await fetcher.fetch(other.url + "/metrics")).status == 200


def test_an_ipv6_listener_is_recognised() -> None:
    policy = AddressPolicy(["::1/128"], OwnListener("[::1]:9464", reads_docs=True))
    assert policy.permits("::1", "::1", 9464)
    assert not policy.permits("other.test", "::1", 9464)
    assert policy.permits("other.test", "::1", 9465)
