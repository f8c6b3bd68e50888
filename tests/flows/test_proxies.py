"""nginx and HAProxy with the configurations of docs/proxies.md: TLS, streams event by event, the client's address."""

import asyncio
import re
import shutil
import ssl
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.support.connect_proxy import make_certificate
from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import start_process, upstream_toml
from tests.support.paths import ROOT
from tests.support.ports import free_port, is_listening
from tests.support.upstream import Held, Upstream, answer
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.system]


def documented(language: str) -> str:
    """The configuration in that language on the page."""
    page = (ROOT / "docs" / "proxies.md").read_text(encoding="utf-8")
    found = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
    assert len(found) == 1
    return str(found[0])


def make_certificates(folder: Path) -> None:
    """`gateway.pem` with the chain, `gateway.key`, and both in `both.pem`, as HAProxy wants them."""
    make_certificate(folder)
    certificate, key = (folder / "cert.pem").read_text(), (folder / "key.pem").read_text()
    for name, text in (("gateway.pem", certificate), ("gateway.key", key), ("both.pem", certificate + key)):
        (folder / name).write_text(text)


def nginx(folder: Path, port: int, gateway: int) -> list[str]:
    text = documented("nginx").replace("127.0.0.1:8080", f"127.0.0.1:{gateway}")
    text = text.replace("listen 8443", f"listen 127.0.0.1:{port}")
    text = text.replace("/etc/nginx/gateway", f"{folder}/gateway")
    names = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{each}_temp_path {folder}/{each};\n" for each in names)
    head = f"daemon off;\npid {folder}/pid;\nerror_log stderr;\nevents {{}}\n"
    (folder / "nginx.conf").write_text(f"{head}http {{\naccess_log off;\n{paths}{text}}}\n")
    return ["nginx", "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf")]


def haproxy(folder: Path, port: int, gateway: int) -> list[str]:
    text = documented("haproxy").replace("127.0.0.1:8080", f"127.0.0.1:{gateway}")
    text = text.replace("bind :8443", f"bind 127.0.0.1:{port}")
    (folder / "haproxy.cfg").write_text(text.replace("/etc/haproxy/gateway.pem", f"{folder}/both.pem"))
    return ["haproxy", "-db", "-f", str(folder / "haproxy.cfg")]


PROXIES = {"nginx": nginx, "haproxy": haproxy}


@asynccontextmanager
async def proxied(name: str, folder: Path, gateway: GatewayProcess) -> AsyncIterator[aiohttp.ClientSession]:
    """A session with the proxy in front of a gateway."""
    port, home = free_port(), folder / "proxy"
    home.mkdir()
    make_certificates(home)
    with (folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen(PROXIES[name](home, port, gateway.port), stdout=log, stderr=log)  # noqa: ASYNC220 - at once
    try:
        trusted = ssl.create_default_context(cafile=str(home / "gateway.pem"))
        trusted.check_hostname = False
        connector = aiohttp.TCPConnector(ssl=trusted)
        timeout = aiohttp.ClientTimeout(total=60)
        base = f"https://127.0.0.1:{port}"
        async with aiohttp.ClientSession(
            base, connector=connector, headers=gateway.headers, timeout=timeout
        ) as session:
            await until(lambda: is_listening(port) or process.poll() is not None, 20)
            assert process.poll() is None, (folder / "proxy.log").read_text()
            yield session
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(params=sorted(PROXIES))
def proxy(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if shutil.which(name) is None or shutil.which("openssl") is None:
        pytest.skip(f"{name} or openssl is not installed")
    return name


def gateway_behind(folder: Path, upstream: Upstream) -> GatewayProcess:
    return start_process(folder, 'trusted_proxies = ["127.0.0.1"]\n' + upstream_toml(upstream.url))


BODY = {"model": "SvcLLM", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}


async def test_an_answer_comes_through_and_the_log_names_the_client(
    tmp_path: Path, upstream: Upstream, proxy: str
) -> None:
    upstream.will(answer())
    async with gateway_behind(tmp_path, upstream) as gateway, proxied(proxy, tmp_path, gateway) as session:
        headers = {"X-Forwarded-For": "203.0.113.7"}  # the proxy appends 127.0.0.1, which is trusted too
        async with session.post("/v1/chat/completions", json=BODY, headers=headers) as reply:
            assert reply.status == 200, await reply.text()
        await gateway.wait_for_event("request")
        assert gateway.events("request")[-1]["client"] == "203.0.113.7"


async def test_each_event_of_a_stream_comes_through_at_once(tmp_path: Path, upstream: Upstream, proxy: str) -> None:
    held = Held()
    upstream.will(held)
    async with gateway_behind(tmp_path, upstream) as gateway, proxied(proxy, tmp_path, gateway) as session:
        async with session.post("/v1/chat/completions", json={**BODY, "stream": True}) as reply:
            text = b""
            async with asyncio.timeout(20):
                while b"begin" not in text:  # while the upstream still holds the rest back
                    text += await reply.content.readany()
            held.go_on.set()
            text += await reply.read()
        assert text.rstrip().endswith(b"data: [DONE]")


async def test_a_restart_of_the_gateway_behind_it_is_answered_again(
    tmp_path: Path, upstream: Upstream, proxy: str
) -> None:
    upstream.will(answer())
    async with gateway_behind(tmp_path, upstream) as gateway, proxied(proxy, tmp_path, gateway) as session:
        end = time.monotonic() + 30
        async with session.get("/v1/models") as reply:
            assert reply.status == 200
        gateway.process.terminate()
        assert await gateway.wait_exit() == 0
        gateway.start()
        status = 0
        while status != 200:
            assert time.monotonic() < end
            async with session.get("/v1/models") as reply:
                status = reply.status
                assert status in (200, 502, 503)
