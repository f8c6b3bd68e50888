"""Headers of the operator's go to the host that they are for, and to no other."""

from aiohttp import web
from aiohttp.test_utils import TestServer

from gateway.engines.fetch.address_policy import AddressPolicy
from gateway.engines.fetch.fetcher import Fetcher

SECRET = {"Cookie": "session=s3cr3t", "X-Key": "k"}


async def served(seen: list[tuple[str, str | None]], target: str = "") -> TestServer:
    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append((request.path, request.headers.get("Cookie")))
        if request.path == "/away":
            raise web.HTTPFound(target)
        if request.path == "/inside":
            raise web.HTTPFound("/page")
        return web.Response(text="A page.")

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    server = TestServer(app, host="127.0.0.1")
    await server.start_server()
    return server


async def test_a_named_host_gets_its_headers_and_no_other_does() -> None:
    elsewhere: list[tuple[str, str | None]] = []
    seen: list[tuple[str, str | None]] = []
    other = await served(elsewhere)
    named = await served(seen, str(other.make_url("/page")))
    hosts = {f"127.0.0.1:{named.port}": SECRET}
    allowed = tuple(f"127.0.0.1:{server.port}" for server in (named, other))
    fetcher = Fetcher(AddressPolicy(allowed), "test", host_headers=hosts)
    for path in ("/page", "/inside", "/away"):
        fetched = await fetcher.fetch(str(named.make_url(path)))
        assert fetched.status == 200 and not fetched.public
    assert [cookie for _, cookie in seen] == [SECRET["Cookie"]] * 4
    assert elsewhere == [("/page", None)]
    back = await served(elsewhere, str(named.make_url("/page")))
    fetcher_of_all = Fetcher(AddressPolicy((*allowed, f"127.0.0.1:{back.port}")), "test", host_headers=hosts)
    await fetcher_of_all.fetch(str(back.make_url("/away")))
    assert seen[-1] == ("/page", None), "another site cannot make the fetcher use them"
    for each in (fetcher, fetcher_of_all):
        await each.close()
    for server in (named, other, back):
        await server.close()
