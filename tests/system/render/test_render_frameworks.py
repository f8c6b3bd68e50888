"""Pages made by real frameworks, bundled here from a lock: React, Vue, Svelte, Angular and Next, with fetched data."""

import json
import mimetypes
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.domain import CrawlRequest, ExtractRequest
from tests.support.official import fetch_modules, fetching
from tests.support.rendering import RenderWish, need_chromium, rendering
from tests.support.websites import Engine, Site, engine, page, serving

pytestmark = pytest.mark.system

_FOLDER = Path(__file__).parent / "frameworks"
_NEXT = Path(__file__).parent / "next"
_FRAMEWORKS = ("react", "vue", "svelte", "angular")
_ITEMS = [f"Item {number} tells about river {number * 7} and the towns on its banks." for number in range(30)]


def built_by_node(folder: Path, *command: str) -> None:
    """Run a program of a folder with its packages beside it."""
    need_chromium()
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("npm or node is not installed: nothing can be built")
    with fetching():
        fetch_modules(npm, folder, folder / "package-lock.json")
    environment = {**os.environ, "NEXT_TELEMETRY_DISABLED": "1"}
    subprocess.run([node, *command], cwd=folder, check=True, timeout=300, capture_output=True, env=environment)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Name of a framework -> its page's script."""
    out = tmp_path_factory.mktemp("bundles")
    built_by_node(_FOLDER, "build.mjs", str(out))
    return {name: (out / f"{name}.js").read_bytes() for name in _FRAMEWORKS}


@pytest.fixture(scope="module")
def exported() -> dict[str, bytes]:
    """The files of a site that Next has exported, by path."""
    built_by_node(_NEXT, "node_modules/next/dist/bin/next", "build")
    out = _NEXT / "out"
    return {f"/{path.relative_to(out)}": path.read_bytes() for path in out.rglob("*") if path.is_file()}


@pytest.fixture
async def site(bundles: dict[str, bytes]) -> AsyncIterator[Site]:
    site = Site({"/items.json": (200, {"Content-Type": "application/json"}, json.dumps(_ITEMS).encode())})
    for name, code in bundles.items():
        mount = "<app-root></app-root>" if name == "angular" else "<div id=root></div>"
        site.pages[f"/{name}"] = f"<!doctype html><title>{name}</title><body>{mount}<script src=/{name}.js></script>"
        site.pages[f"/{name}.js"] = (200, {"Content-Type": "text/javascript"}, code)
    site.pages["/next"] = page("Next", "A page that only the framework's link leads to. " * 8)
    async with serving(site):
        yield site


@pytest.fixture
async def built(site: Site, tmp_path: Path) -> AsyncIterator[Engine]:
    async with (
        rendering(RenderWish(tmp_path, (site.address,))) as made,
        engine(tmp_path, (site.address,), renderer=made.renderer) as built,
    ):
        yield built


@pytest.mark.parametrize("name", _FRAMEWORKS)
async def test_an_applications_text_and_links_are_read(built: Engine, site: Site, name: str) -> None:
    url = f"{site.url}/{name}"
    data = await built.web.extract(ExtractRequest((url,), extract_depth="advanced"), built.call())
    assert data["results"], data["failed_results"]
    result = data["results"][0]
    assert result["rendered"] is True
    wanted = {word for item in _ITEMS for word in re.findall(r"\w+", item)}
    found = set(re.findall(r"\w+", result["raw_content"]))
    assert len(wanted & found) >= 0.95 * len(wanted) and "The framework's heading" in result["raw_content"]
    crawled = await built.web.crawl(CrawlRequest(url, extract_depth="advanced"), built.call())
    assert f"{site.url}/next" in {each["url"] for each in crawled["results"]}


async def test_a_site_exported_by_next_is_read_with_what_it_fetches(
    built: Engine, site: Site, exported: dict[str, bytes]
) -> None:
    for path, body in exported.items():
        site.pages[path] = (200, {"Content-Type": mimetypes.guess_type(path)[0] or "text/plain"}, body)
    data = await built.web.extract(ExtractRequest((f"{site.url}/index.html",), extract_depth="advanced"), built.call())
    assert data["results"], data["failed_results"]
    text = data["results"][0]["raw_content"]
    wanted = {word for item in _ITEMS for word in re.findall(r"\w+", item)}
    assert len(wanted & set(re.findall(r"\w+", text))) >= 0.95 * len(wanted) and "The framework's heading" in text


async def test_without_the_browser_the_caller_is_told_what_to_ask_for(built: Engine, site: Site) -> None:
    data = await built.web.extract(ExtractRequest((f"{site.url}/react",)), built.call())
    assert 'extract_depth "advanced"' in data["failed_results"][0]["error"]
