"""Headers of the operator's go to the host that they are for, and to no other."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from gateway.engines.fetch.address_policy import AddressPolicy
from gateway.engines.fetch.errors import FetchFailed
from gateway.engines.fetch.fetcher import Fetcher, HostHeaders
from tests.support.connect_proxy import PrivateAuthority

SECRET = {"Cookie": "session=s3cr3t", "X-Key": "k"}


ASK = """
import asyncio, sys
from gateway.engines.fetch.address_policy import AddressPolicy
from gateway.engines.fetch.fetcher import Fetcher, HostHeaders
async def ask():
    hosts = {sys.argv[1]: HostHeaders({"Cookie": "session=s3cr3t"})}
    fetcher = Fetcher(AddressPolicy((sys.argv[1],)), "test", host_headers=hosts)
    await fetcher.fetch(f"https://{sys.argv[1]}/page")
    await fetcher.close()
asyncio.run(ask())
"""
"""In a process of its own, since the authorities that are trusted are read once in one."""


async def served(seen: list[tuple[str, str | None]], target: str = "", **options: Any) -> TestServer:
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
    await server.start_server(**options)
    return server


async def test_a_named_host_gets_its_headers_and_no_other_does() -> None:
    elsewhere: list[tuple[str, str | None]] = []
    seen: list[tuple[str, str | None]] = []
    other = await served(elsewhere)
    named = await served(seen, str(other.make_url("/page")))
    hosts = {f"127.0.0.1:{named.port}": HostHeaders(SECRET, plain_http=True)}
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


async def test_headers_do_not_go_over_plain_http_unless_that_is_allowed() -> None:
    seen: list[tuple[str, str | None]] = []
    named = await served(seen)
    address = f"127.0.0.1:{named.port}"
    fetcher = Fetcher(AddressPolicy((address,)), "test", host_headers={address: HostHeaders(SECRET)})
    assert (await fetcher.fetch(str(named.make_url("/page")))).status == 200
    with pytest.raises(FetchFailed):  # it is a page, and no image
        await fetcher.fetch_image(str(named.make_url("/gone")), 1)
    assert [cookie for _, cookie in seen] == [None, None]
    await fetcher.close()
    await named.close()


@pytest.mark.slow
async def test_headers_go_over_https(tmp_path: Path) -> None:
    seen: list[tuple[str, str | None]] = []
    authority = await asyncio.to_thread(PrivateAuthority, tmp_path)
    named = await served(seen, ssl=await asyncio.to_thread(authority.server_context, "localhost"))
    variables = {**os.environ, "SSL_CERT_FILE": str(authority.file)}
    asking = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ASK, f"localhost:{named.port}", env=variables, stderr=asyncio.subprocess.PIPE
    )
    _, errors = await asyncio.wait_for(asking.communicate(), 30)
    assert asking.returncode == 0, errors.decode()
    assert seen == [("/page", "session=s3cr3t")]
    await named.close()
