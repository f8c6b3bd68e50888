"""Every page of `hostile_pages`: none reaches the network, none keeps the browser busy, each costs itself alone."""

import asyncio
import contextlib
import time
from pathlib import Path

import pytest

from gateway.engines.render.process import NotRendered
from tests.support.rendering import CountingListener, Rendering, RenderWish, rendering, text_of
from tests.system.render.hostile_pages import MAY_BE_LOST, hostile_pages

pytestmark = pytest.mark.system

SECONDS = 3.0
AFTER_S = 10.0
"""What a page may take beyond its seconds on a machine under load."""
PARTS = 6
"""The pages are shown in so many tests, each with a browser of its own: a failure does not hide the others."""


@pytest.mark.parametrize("part", range(PARTS))
async def test_hostile_pages_reach_nobody_and_leave_nothing_behind(tmp_path: Path, part: int) -> None:
    pages = list(hostile_pages().items())[part::PARTS]
    wrong = {}
    async with rendering(RenderWish(tmp_path, seconds=SECONDS)) as shown:
        for name, html in pages:
            wrong[name] = await faults_of(shown, name, html)
    assert {name: faults for name, faults in wrong.items() if faults} == {}


async def faults_of(shown: Rendering, name: str, html: str) -> list[str]:
    """What a page did that none may do."""
    listener = CountingListener()
    faults = []
    try:
        await shown.render_html("<p>starts the browser</p>")
        browser, began = browsers_of(shown), time.monotonic()
        try:
            page = text_of(await shown.render_html(html.replace("INSIDE", f"http://127.0.0.1:{listener.port}/")))
        except NotRendered as failure:
            page = "the text" if name in MAY_BE_LOST else f"not rendered: {failure}"
        took_s = time.monotonic() - began
        if "the text" not in page and name not in MAY_BE_LOST:
            faults.append(f"was not read: {page[:200]}")
        if "root:x:0" in page:
            faults.append("read a file")
        if took_s > SECONDS + AFTER_S:
            faults.append(f"took {took_s:.1f} s")
        try:
            if "alive" not in text_of(await shown.render_html("<script>document.write('alive')</script>")):
                faults.append("the next page was not rendered")
        except NotRendered as failure:
            faults.append(f"the next page: {failure}")
        if browsers_of(shown) != browser:
            faults.append("took the browser with it")
        if not await is_idle(shown):
            faults.append("left a process behind")
        if listener.connections():
            faults.append("reached the listener")
    finally:
        listener.close()
    return faults


async def is_idle(shown: Rendering) -> bool:
    """Whether no process of a page is left soon, but that of the browser's own first window."""
    for _ in range(200):
        if len(processes(shown, b"--type=renderer")) <= 1:
            return True
        await asyncio.sleep(AFTER_S / 200)
    return False


def processes(shown: Rendering, word: bytes) -> list[int]:
    """The processes of the browser whose command line has the word."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if word in (folder / "cmdline").read_bytes() and shown.process.pid in ancestors(int(folder.name)):
                found.append(int(folder.name))
    return sorted(found)


def browsers_of(shown: Rendering) -> list[int]:
    """The browser's first process, which the render process started."""
    found = []
    for pid in processes(shown, b"--remote-debugging-pipe"):
        with contextlib.suppress(OSError):  # it may have ended meanwhile
            if ancestors(pid)[0] == shown.process.pid:
                found.append(pid)
    return found


def ancestors(pid: int) -> list[int]:
    """The processes from which a process comes."""
    line = []
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        line.append(pid)
    return line
