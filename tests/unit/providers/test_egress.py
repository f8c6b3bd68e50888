"""Requests to upstreams, search providers and MCP servers leave through their proxy, and trust their authorities."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvloop
from aiohttp import web

from gateway.config.environment import Environment
from gateway.config.loader import ConfigError, load_config
from gateway.errors import UpstreamError, UpstreamUnavailable
from gateway.providers.egress import DIRECT, Egress, egress_of
from gateway.providers.http import CERTIFICATE, UNREACHABLE, HttpClient, Timeouts
from gateway.providers.search import ProviderRequest
from gateway.providers.tavily import Tavily
from tests.support.connect_proxy import ConnectProxy, PrivateAuthority

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make certificates")
SECRET = "user-of-proxy:pass:word"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateAuthority]:
    yield PrivateAuthority(tmp_path_factory.mktemp("authority"))


@asynccontextmanager
async def server(authority: PrivateAuthority | None = None) -> AsyncIterator[tuple[str, list[web.Request]]]:
    """Its address, and the requests that it got."""
    got: list[web.Request] = []

    async def answer(request: web.Request) -> web.Response:
        got.append(request)
        return web.json_response({"ok": True})

    app = web.Application()
    app.router.add_route("*", "/v1/it", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=authority.server_context("localhost") if authority else None)
    await site.start()
    assert runner.addresses
    scheme = "https" if authority else "http"
    try:
        yield f"{scheme}://localhost:{runner.addresses[0][1]}/v1/it", got
    finally:
        await runner.cleanup()


async def post(url: str, egress: Egress = DIRECT) -> bytes:
    client = HttpClient(Timeouts(3, 5, 5, 5), egress)
    try:
        answer = await client.post(url, b"{}", {"Authorization": "Bearer of-upstream"})
        try:
            assert answer.status == 200
            return await answer.read()
        finally:
            answer.close()
    finally:
        await client.close()


@pytest.mark.slow
async def test_a_private_authority_is_trusted_where_it_is_named(authority: PrivateAuthority, tmp_path: Path) -> None:
    async with server(authority) as (url, _):
        assert await post(url, Egress(ca_file=str(authority.file))) == b'{"ok": true}'
        for other in (DIRECT, Egress(ca_file=str(PrivateAuthority(tmp_path).file))):
            with pytest.raises(UpstreamError) as refused:
                await post(url, other)
            assert refused.value.code == CERTIFICATE


@pytest.mark.slow
async def test_a_tunnel_shows_the_proxy_its_own_password_and_no_key_or_request(authority: PrivateAuthority) -> None:
    async with server(authority) as (url, got), ConnectProxy(auth=SECRET) as proxy:
        assert await post(url, Egress(proxy.url, SECRET, str(authority.file))) == b'{"ok": true}'
    assert len(proxy.heads) == 1 and proxy.heads[0].startswith("CONNECT localhost:")
    assert "of-upstream" not in proxy.heads[0]
    assert "Proxy-Authorization" not in got[0].headers and got[0].headers["Authorization"] == "Bearer of-upstream"


async def test_a_plain_request_goes_through_the_proxy_too() -> None:
    async with server() as (url, got), ConnectProxy(auth=SECRET) as proxy:
        assert await post(url, Egress(proxy.url, SECRET)) == b'{"ok": true}'
    assert proxy.heads[0].startswith(f"POST {url} ") and len(got) == 1


@pytest.mark.slow
@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_a_proxy_may_speak_tls(authority: PrivateAuthority, loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def ask() -> None:
        async with (
            server(authority) as (secure, _),
            server() as (plain, _),
            ConnectProxy(SECRET, tls=authority.server_context("localhost")) as proxy,
        ):
            egress = Egress(proxy.url, SECRET, str(authority.file))
            assert await post(secure, egress) == await post(plain, egress) == b'{"ok": true}'
            assert [head.split(" ")[0] for head in proxy.heads] == ["CONNECT", "POST"]
            with pytest.raises(UpstreamError) as refused:
                await post(secure, Egress(proxy.url, "user-of-proxy:wrong", str(authority.file)))
            assert refused.value.message == "the proxy before the upstream answered 407"
            with pytest.raises(UpstreamError) as untrusted:
                await post(plain, Egress(proxy.url, SECRET))
            assert untrusted.value.code == CERTIFICATE and len(proxy.heads) == 3

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(asyncio.wait_for(ask(), 20))


@pytest.mark.slow
@pytest.mark.parametrize("password", ["", "user-of-proxy:wrong"])
async def test_a_proxy_that_refuses_is_named_without_its_password(authority: PrivateAuthority, password: str) -> None:
    async with server(authority) as (url, got), ConnectProxy(auth=SECRET) as proxy:
        with pytest.raises(UpstreamError) as refused:
            await post(url, Egress(proxy.url, password, str(authority.file)))
    assert (refused.value.message, refused.value.code) == ("the proxy before the upstream answered 407", UNREACHABLE)
    assert refused.value.__cause__ is None and got == []


async def test_a_proxy_that_is_away_is_an_upstream_that_cannot_be_reached() -> None:
    async with ConnectProxy() as proxy:
        gone = Egress(proxy.url, SECRET)
    with pytest.raises(UpstreamError) as refused:
        await post("https://localhost:1/v1/it", gone)
    assert refused.value.code == UNREACHABLE and "pass:word" not in str(refused.value)


async def test_a_proxy_of_the_environment_is_never_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with server() as (url, _), ConnectProxy() as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        await post(url)
    assert proxy.heads == []


@pytest.mark.slow
async def test_a_search_provider_is_asked_through_its_proxy(authority: PrivateAuthority) -> None:
    async with server(authority) as (url, _), ConnectProxy(auth=SECRET) as proxy:
        provider = Tavily("key", url.removesuffix("/it"), egress=Egress(proxy.url, SECRET, str(authority.file)))
        assert await provider.ask(ProviderRequest("/it", body={})) == {"ok": True}
        await provider.close()
        proxy.refuses = 403
        with pytest.raises(UpstreamUnavailable, match="the proxy before the search provider tavily answered 403"):
            await provider.ask(ProviderRequest("/it", body={}))
        await provider.close()
    assert all(head.startswith("CONNECT localhost:") for head in proxy.heads)


UPSTREAM = '[[models]]\nname = "m"\n[[models.upstreams]]\nbase_url = "https://a.example/v1"\nmodel = "m"\n'
MCP = '[[mcp_servers]]\nlabel = "a"\nurl = "https://a.example/"\n'


@pytest.mark.parametrize("section", [UPSTREAM, "[search]\n", MCP], ids=["upstream", "search", "mcp"])
def test_each_section_has_its_own_way_out(section: str, tmp_path: Path, authority: PrivateAuthority) -> None:
    keys = 'proxy = "http://proxy.example:3128"\nproxy_auth = { credential = "proxy" }\n'
    (tmp_path / "it.toml").write_text(f'{section}{keys}ca_file = "{authority.file}"\n')
    config = load_config(tmp_path / "it.toml", tmp_path, Environment({"GATEWAY_CREDENTIAL_PROXY": SECRET}))
    found = [egress_of(settings) for _, settings in config.egresses() if settings.proxy]
    assert found == [Egress("http://proxy.example:3128", SECRET, str(authority.file))]
    assert "pass:word" not in repr(found) + repr(config)


WRONG = [
    ('proxy = "http://user:word@proxy.example"', "search.proxy"),
    ('proxy = "socks5://proxy.example"', "search.proxy"),
    ('proxy_auth = "a:b"', 'must be { credential = "NAME" }'),
    ('proxy_auth = { credential = "proxy" }', "search.proxy_auth: needs search.proxy"),
    ('proxy = "http://p"\nproxy_auth = { credential = "word" }', "search.proxy_auth: must hold USER:PASSWORD"),
    ('ca_file = "ca.pem"', "search.ca_file"),
    ('ca_file = "/nowhere/ca.pem"', "search.ca_file: /nowhere/ca.pem cannot be used: No such file or directory"),
    ('ca_file = "/dev/null"', "search.ca_file: /dev/null cannot be used: holds no PEM certificates"),
]


@pytest.mark.parametrize(("keys", "said"), WRONG)
def test_a_wrong_way_out_is_refused(keys: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text(f"[search]\n{keys}\n")
    variables = {"GATEWAY_CREDENTIAL_PROXY": SECRET, "GATEWAY_CREDENTIAL_WORD": "no-colon"}
    with pytest.raises(ConfigError) as refused:
        load_config(tmp_path / "it.toml", tmp_path, Environment(variables))
    assert said in str(refused.value) and "pass:word" not in str(refused.value)
