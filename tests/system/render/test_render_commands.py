"""The commands that read sites render pages by the same rule as the server does."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.support.rendering import need_chromium
from tests.support.websites import Answer, Site, serving

pytestmark = pytest.mark.system

SENTENCE = "The orchard keeps forty kinds of apples, and every one of them was planted by hand."
SHELL = "<!doctype html><title>Orchard</title><body><div id=root></div><script src=/app.js></script>"
PROGRAM = (
    "for (let i = 0; i < 8; i++) { const p = document.createElement('p');"
    " p.textContent = ['The orchard keeps', 'forty kinds of apples, and every one of them was planted', 'by hand.']"
    ".join(' '); document.getElementById('root').append(p) }"
)
PAGES: dict[str, Answer] = {"/": SHELL, "/app.js": (200, {"Content-Type": "text/javascript"}, PROGRAM.encode())}


async def run(folder: Path, site: Site, mode: str, *words: str) -> tuple[int | None, str]:
    """Exit code and output of a command of the gateway, whose state is below `folder`."""
    config = folder / "gateway.toml"
    config.write_text(f'[web]\nallow_private = ["{site.address}"]\n[render]\nmode = "{mode}"\n[ops]\nport = 0\n')
    state = ["--config", str(config), "--state-dir", str(folder)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gateway", *words, *state,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        async with asyncio.timeout(120):
            output, _ = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    return process.returncode, output.decode()


@pytest.mark.parametrize(
    ("mode", "depth", "is_rendered"), [("auto", "advanced", True), ("auto", "basic", False), ("off", "advanced", False)]
)
async def test_a_crawl_into_a_folder_renders_as_the_server_does(
    tmp_path: Path, mode: str, depth: str, is_rendered: bool
) -> None:
    need_chromium()
    out = tmp_path / "out"
    async with serving(Site(PAGES)) as site:
        code, output = await run(tmp_path, site, mode, "crawl", f"{site.url}/", "--out", str(out), "--depth", depth)
    assert (code == 0) is is_rendered, output
    assert any(SENTENCE in page.read_text() for page in out.rglob("*.md")) is is_rendered


async def test_a_site_in_the_index_was_rendered(tmp_path: Path) -> None:
    need_chromium()
    async with serving(Site(PAGES)) as site:
        code, output = await run(tmp_path, site, "auto", "index", "add", f"{site.url}/")
    assert (code, output.splitlines()[-1]) == (0, "1 pages added"), output
