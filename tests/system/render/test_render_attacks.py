"""Every page of `hostile_pages`: none reaches the network, none keeps the browser busy, each costs itself alone.

What a page costs is measured as CPU and memory, which a machine under load changes little; how long it takes there is
up to the machine, and the product gives up by itself.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.render import cpu_s
from gateway.engines.render.browser import private_bytes
from gateway.engines.render.renderer import NotRendered
from tests.support.rendering import CountingListener, Rendering, RenderWish, rendering, text_of
from tests.system.render.hostile_pages import MAY_BE_LOST, hostile_pages

pytestmark = pytest.mark.system

SECONDS = 3.0
CPU_S = 10.0
"""CPU of all processes of the browser for one page. The dearest page takes 6: its three seconds, and the three in
which it is read. One whose frames each had a process took 13."""
MEMORY_MAX = 1 << 30
MEMORY_SLACK = 1 << 30
"""What all processes may take beyond the limit until the browser's memory is looked at again, on a machine under load:
the dearest page takes 0.1 GB of it. Two hundred processes took 3 GB."""
IDLE_S = 60.0
"""Until a process that is left counts as left behind."""
PARTS = 6
"""The pages are shown in so many tests, each with a browser of its own: a failure does not hide the others."""


@pytest.mark.parametrize("part", range(PARTS))
async def test_hostile_pages_reach_nobody_and_leave_nothing_behind(tmp_path: Path, part: int) -> None:
    pages = list(hostile_pages().items())[part::PARTS]
    wrong = {}
    async with rendering(RenderWish(tmp_path, seconds=SECONDS, memory_max=MEMORY_MAX)) as shown:
        for name, html in pages:
            wrong[name] = await faults_of(shown, name, html)
    assert {name: faults for name, faults in wrong.items() if faults} == {}


async def faults_of(shown: Rendering, name: str, html: str) -> list[str]:
    """What a page did that none may do."""
    listener = CountingListener()
    faults = []
    try:
        await shown.render_html("<p>starts the browser</p>")
        browser = browsers_of(shown)
        async with cost_of(browser[0]) as cost:
            try:
                page = text_of(await shown.render_html(html.replace("INSIDE", f"http://127.0.0.1:{listener.port}/")))
            except NotRendered as failure:
                page = "the text" if name in MAY_BE_LOST else f"not rendered: {failure}"
                if "does not answer" in str(failure):
                    faults.append("took longer than the product allows")
        if "the text" not in page and name not in MAY_BE_LOST:
            faults.append(f"was not read: {page[:200]}")
        if "root:x:0" in page:
            faults.append("read a file")
        if cost.cpu_s > CPU_S:
            faults.append(f"took {cost.cpu_s:.1f} s of CPU")
        if cost.memory > MEMORY_MAX + MEMORY_SLACK:
            faults.append(f"took {cost.memory >> 20} MB")
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


@dataclass
class Cost:
    """CPU seconds that the processes of a browser took, and the most memory that was theirs alone, in bytes."""

    cpu_s: float = 0.0
    memory: int = 0


@asynccontextmanager
async def cost_of(browser: int) -> AsyncIterator[Cost]:
    """What the browser takes within the block; complete at its end."""
    cost = Cost()

    async def watch() -> None:
        while True:
            cost.memory = max(cost.memory, sum(private_bytes(browser).values()))
            await asyncio.sleep(0.1)

    watching, before = asyncio.create_task(watch()), cpu_s(browser)
    try:
        yield cost
    finally:
        watching.cancel()
        await asyncio.wait([watching])
        cost.cpu_s = cpu_s(browser) - before


async def is_idle(shown: Rendering) -> bool:
    """Whether no process of a page is left soon, but that of the browser's own first window."""
    for _ in range(200):
        if len(processes(shown, b"--type=renderer")) <= 1:
            return True
        await asyncio.sleep(IDLE_S / 200)
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
