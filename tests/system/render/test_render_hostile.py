"""Pages that mean harm, rendered by a real browser: nothing leaves, nothing hangs, others are rendered beside them."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from aiohttp import web

from gateway.engines.render.renderer import NotRendered, PageLimits
from tests.support.paths import GOLDEN
from tests.support.rendering import CountingListener, Rendering, RenderWish, rendering, text_of
from tests.support.websites import Answer, Site, serving

pytestmark = pytest.mark.system

VECTORS: list[str] = json.loads((GOLDEN / "ssrf_vectors.json").read_text())
RESTLESS: list[str] = json.loads((GOLDEN / "restless_pages.json").read_text())
WAYS = (GOLDEN / "ways_out_of_a_page.js").read_text()
"""A program that tries all of `URLS` in a few ways, and `FEW` in every way that a page has."""
AFTER_S = 6.0
"""What a page may take beyond its seconds on a machine under load."""


@pytest.fixture
async def shown(tmp_path: Path) -> AsyncIterator[Rendering]:
    async with rendering(RenderWish(tmp_path, seconds=4)) as made:
        yield made


@pytest.fixture
def canary() -> Iterator[CountingListener]:
    listener = CountingListener()
    yield listener
    listener.close()


def ways(urls: list[str], few: list[str], port: int) -> str:
    code = f"const URLS = {json.dumps(urls)}, FEW = {json.dumps(few)};" + WAYS.replace("PORT", str(port))
    return f"<body><div id=app></div><script>{code}</script></body>"


async def test_no_connection_leaves_whatever_a_page_tries(shown: Rendering, canary: CountingListener) -> None:
    urls = [vector.replace("{p}", str(canary.port)) for vector in VECTORS]
    inside = [f"http://127.0.0.1:{canary.port}/", f"http://localhost:{canary.port}/", f"http://[::1]:{canary.port}/"]
    page = await shown.render_html(ways(urls, inside, canary.port))
    assert "all tried" in text_of(page) and canary.connections() == 0


async def test_the_browser_has_neither_an_interface_nor_a_route(shown: Rendering) -> None:
    await shown.render_html("<p>x</p>")
    ours = browsers_of(shown.process.pid)
    assert ours, "the browser is a child of the render process"
    for process in ours:
        interfaces = (process / "net/dev").read_text().splitlines()[2:]
        assert [line.split(":")[0].strip() for line in interfaces] == ["lo"]
        assert not [line for line in (process / "net/route").read_text().splitlines() if not line.startswith("Iface")]
        assert b"--no-sandbox" not in (process / "cmdline").read_bytes()


def browsers_of(parent: int | None) -> list[Path]:
    """The folders in /proc of the browsers that a process started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_browser = b"--remote-debugging-pipe" in (folder / "cmdline").read_bytes()
            if is_browser and f"PPid:\t{parent}\n" in (folder / "status").read_text():
                found.append(folder)
    return found


async def test_an_allowed_private_page_reaches_its_own_hosts_and_a_public_one_none_of_them(tmp_path: Path) -> None:
    async with serving(Site({"/secret": "for the intranet alone"})) as site:
        code = f"fetch('{site.url}/secret').then(r=>r.text()).then(t=>app.append(t))"
        asks = f"<body><div id=app></div><script>{code}</script>"
        site.pages["/"] = asks
        async with rendering(RenderWish(tmp_path, (site.address,))) as shown:
            assert "for the intranet alone" in text_of(await shown.render(site.url + "/"))
            site.asked.clear()
            assert "for the intranet alone</div>" not in text_of(await shown.render_html(asks)) and site.asked == []


@pytest.mark.parametrize("code", RESTLESS, ids=lambda code: code[:40])
async def test_a_restless_page_is_read_in_its_seconds(shown: Rendering, code: str) -> None:
    await shown.render_html("<p>starts the browser</p>")
    began = time.monotonic()
    page = await shown.render_html(f"<body><div id=app>the text</div><script>{code}</script></body>")
    assert "the text" in text_of(page) and time.monotonic() - began < 4 + AFTER_S


async def test_a_page_that_never_lets_go_fails_by_itself_or_is_read(shown: Rendering) -> None:
    began = time.monotonic()
    try:
        page = await shown.render_html("<body>the text<script>while (true) {}</script></body>")
        assert "the text" in text_of(page)
    except NotRendered:
        pass
    assert time.monotonic() - began < 4 + AFTER_S + 3  # and the browser's start
    assert "fine" in text_of(await shown.render_html("<script>document.write('fine')</script>"))


async def test_a_hundred_megabytes_of_script_are_not_read(tmp_path: Path) -> None:
    sent = 0

    async def flood(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse(headers={"Content-Type": "text/javascript"})
        await response.prepare(request)
        for _ in range(1_600):
            await response.write(b"/" * 65_536)
            sent += 65_536
        return response

    pages: dict[str, Answer] = {"/": "<body>the text<script src=/flood.js></script></body>", "/flood.js": flood}
    async with serving(Site(pages)) as site, rendering(RenderWish(tmp_path, (site.address,))) as shown:
        assert "the text" in text_of(await shown.render(site.url + "/"))
    assert sent < 20_000_000


async def test_a_page_has_so_many_requests_and_bytes_and_no_more(tmp_path: Path) -> None:
    big = (200, {"Content-Type": "text/plain"}, b"x" * 100_000)
    asks = "<script>for (let i = 0; i < 60; i++) fetch('/big?' + i)</script><p>the text</p>"
    async with serving(Site({"/": asks, "/big": big})) as site:
        limits = PageLimits(requests=20, total_bytes=1_000_000)
        async with rendering(RenderWish(tmp_path, (site.address,), limits=limits)) as shown:
            assert "the text" in text_of(await shown.render(site.url + "/"))
    assert 2 <= sum(path.startswith("/big") for path in site.asked) <= 20


@pytest.mark.parametrize(
    "bomb",
    [
        "const a = []; while (true) a.push(new Array(1e6).fill(Math.random()))",
        "const a = []; while (true) a.push(new Uint8Array(5e7).fill(1))",
        "let s = 'x'.repeat(1e6); while (true) { document.body.append(s); s += s }",
    ],
    ids=["heap", "buffers", "text"],
)
async def test_a_page_that_kills_its_process_costs_itself_alone(tmp_path: Path, bomb: str) -> None:
    async with rendering(RenderWish(tmp_path, seconds=8, memory_max=900 << 20)) as shown:
        await shown.render_html("<p>starts the browser</p>")

        async def dies() -> None:
            with pytest.raises(NotRendered):
                await shown.render_html(f"<body><script>setTimeout(() => {{ {bomb} }}, 10)</script></body>")

        async def lives() -> None:
            for _ in range(3):
                assert "alive" in text_of(await shown.render_html("<script>document.write('alive')</script>"))

        async with asyncio.timeout(60):
            await asyncio.gather(dies(), lives())
            assert "alive" in text_of(await shown.render_html("<script>document.write('alive')</script>"))


async def test_a_caller_that_leaves_ends_its_page(shown: Rendering) -> None:
    await shown.render_html("<p>starts the browser</p>")
    endless = "<script>setTimeout(() => { while (true) {} }, 10)</script>"
    left = [asyncio.create_task(shown.render_html(endless)) for _ in range(4)]
    await asyncio.wait(left, timeout=1)
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    async with asyncio.timeout(20):
        assert "next" in text_of(await shown.render_html("<script>document.write('next')</script>"))
