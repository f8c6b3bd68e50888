"""Every page of `hostile_pages`: none reaches the network, none keeps the browser busy, each costs itself alone."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.engines.render.process import NotRendered
from tests.support.rendering import CountingListener, Rendering, RenderWish, rendering, text_of
from tests.system.render.hostile_pages import MAY_BE_LOST, hostile_pages

pytestmark = pytest.mark.system

PAGES = hostile_pages()
SECONDS = 3.0
AFTER_S = 10.0
"""What a page may take beyond its seconds on a machine under load."""


@pytest.fixture(scope="module")
async def shown(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rendering]:
    async with rendering(RenderWish(tmp_path_factory.mktemp("render"), seconds=SECONDS)) as made:
        yield made


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", PAGES)
async def test_a_hostile_page_reaches_nobody_and_leaves_nothing_behind(shown: Rendering, name: str) -> None:
    canary = CountingListener()
    try:
        await shown.render_html("<p>starts the browser</p>")
        browser, began = processes(shown, "--remote-debugging-pipe"), time.monotonic()
        try:
            page = text_of(await shown.render_html(PAGES[name].replace("INSIDE", f"http://127.0.0.1:{canary.port}/")))
            assert "the text" in page or name in MAY_BE_LOST
            assert "root:x:0" not in page
        except NotRendered:
            assert name in MAY_BE_LOST
        assert time.monotonic() - began < SECONDS + AFTER_S
        assert "alive" in text_of(await shown.render_html("<script>document.write('alive')</script>"))
        assert processes(shown, "--remote-debugging-pipe") == browser
        async with asyncio.timeout(AFTER_S):
            while len(processes(shown, "--type=renderer")) > 1:  # that of the browser's own first window
                await asyncio.sleep(0.05)
        assert canary.connections() == 0
    finally:
        canary.close()


def processes(shown: Rendering, word: str) -> list[int]:
    """The browser's processes whose command line has the word."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words, parents = (folder / "cmdline").read_bytes(), ancestors(int(folder.name))
            if word.encode() in words and shown.process.pid in parents:
                found.append(int(folder.name))
    return sorted(found)


def ancestors(pid: int) -> list[int]:
    """The processes from which a process comes."""
    line = []
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        line.append(pid)
    return line
