"""Which pages of extract, crawl and map are rendered, and what their results say; the browser is scripted."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from gateway.domain import CrawlRequest, ExtractRequest, Json
from gateway.engines.crawl.page_loader import LoadedPage, empty_reason
from gateway.engines.documents.pictures import PictureReader
from gateway.engines.render.renderer import Renderer
from gateway.errors import EngineMissing, GatewayError
from gateway.ports import PictureText
from tests.support.websites import Engine, Site, engine, page, serving
from tests.unit.engines.render.conftest import Wish, running

pytestmark = pytest.mark.slow  # a parse process for each test

SHELL = "<html><body><div id='root'></div><script src='/app.js'></script></body></html>"
WORDS = "Every word of this page stands in its document, so that nobody needs a browser to read it. " * 6
_TEXT = "Text that a script has drawn for its readers. " * 12
DRAWN = f"<main><h1>Drawn</h1><p>{_TEXT}</p><a href='/two'>two</a></main>"


@asynccontextmanager
async def over(
    folder: Path, site: Site, mode: str = "auto", *, does: tuple[str, ...] = (), silent: tuple[str, ...] = ()
) -> AsyncIterator[Engine]:
    """An engine whose browser draws what `/draw` of the site answers."""
    play = {"asks": [{"url": f"{site.url}/draw"}], "does": does, "silent": silent}
    async with running(folder, Wish(play, allow=(site.address,))) as made:
        renderer = Renderer(made.renderer._deps, mode)
        async with engine(folder, (site.address,), renderer=renderer) as built:
            yield built


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    pages = {"/": SHELL, "/whole": page("Whole", WORDS), "/draw": DRAWN}
    async with serving(Site(pages)) as site:
        yield site


@pytest.mark.parametrize(
    ("mode", "path", "depth", "is_rendered"),
    [
        ("auto", "/", "advanced", True),
        ("auto", "/whole", "advanced", False),
        ("always", "/whole", "advanced", True),
        ("auto", "/", "basic", False),
        ("always", "/whole", "basic", False),
    ],
)
async def test_pages_are_rendered_by_mode_depth_and_need(
    tmp_path: Path, site: Site, mode: str, path: str, depth: str, is_rendered: bool
) -> None:
    async with over(tmp_path, site, mode) as made:
        data = await made.web.extract(ExtractRequest((site.url + path,), extract_depth=depth), made.call())
    assert ("/draw" in site.asked) is is_rendered
    if is_rendered or path == "/whole":
        [result] = data["results"]
        assert result.get("rendered", False) is is_rendered
        assert ("a script has drawn" in result["raw_content"]) is is_rendered
    else:
        assert 'extract_depth "advanced"' in data["failed_results"][0]["error"]


async def test_a_route_of_the_client_is_rendered_and_not_indexed(tmp_path: Path, site: Site) -> None:
    async with over(tmp_path, site) as made:
        request = ExtractRequest((f"{site.url}/whole#!/about",), extract_depth="advanced")
        data = await made.web.extract(request, made.call())
        assert data["results"][0]["rendered"] is True and "note" not in data
        assert (await made.index.stats())["pages"] == 0


async def test_a_page_that_cannot_be_rendered_says_why(tmp_path: Path, site: Site) -> None:
    async with over(tmp_path, site, does=("crashes",)) as made:
        data = await made.web.extract(ExtractRequest((site.url + "/",), extract_depth="advanced"), made.call())
    assert "only with JavaScript, and could not be rendered (the page brought" in data["failed_results"][0]["error"]


async def test_what_was_fetched_is_kept_where_the_browser_shows_less(tmp_path: Path, site: Site) -> None:
    site.pages["/draw"] = "<p>Accept?</p>"
    async with over(tmp_path, site, "always", does=("no_text",)) as made:
        data = await made.web.extract(ExtractRequest((site.url + "/whole",), extract_depth="advanced"), made.call())
    assert "rendered" not in data["results"][0] and "nobody needs a browser" in data["results"][0]["raw_content"]


async def test_a_crawl_and_a_map_follow_the_links_that_a_browser_shows(tmp_path: Path, site: Site) -> None:
    site.pages["/two"] = page("Two", WORDS)
    async with over(tmp_path, site) as made:
        data = await made.web.crawl(CrawlRequest(site.url + "/", extract_depth="advanced"), made.call())
        rendered = {result["url"].rpartition("/")[2]: result.get("rendered") for result in data["results"]}
        assert rendered == {"": True, "two": None}
        found = await made.web.map(CrawlRequest(site.url + "/", extract_depth="advanced"), made.call())
        assert any(url.endswith("/two") for url in found["results"])


async def test_a_crawl_follows_the_routes_of_a_client_where_pages_are_rendered(tmp_path: Path, site: Site) -> None:
    drawn = 0

    async def draw(request: web.Request) -> web.Response:
        nonlocal drawn
        drawn += 1
        words = " ".join(f"word{drawn}x{number}" for number in range(80))
        links = "<a href='#!/one'>one</a> <a href='/#!/two'>two</a> <a href='#top'>top</a>"
        return web.Response(text=f"<main><p>{words}</p>{links}</main>", content_type="text/html")

    site.pages["/draw"] = draw
    async with over(tmp_path, site) as made:
        data = await made.web.crawl(CrawlRequest(site.url + "/", extract_depth="advanced"), made.call())
        assert sorted(result["url"].rpartition("/")[2] for result in data["results"]) == ["", "one", "two"]
        assert sum("#!/" in result["url"] for result in data["results"]) == 2
        plain = await made.web.crawl(CrawlRequest(site.url + "/whole", extract_depth="basic"), made.call())
        assert not any("#" in result["url"] for result in plain["results"])


class Ocr:
    """Reads the same in every picture, or fails."""

    def __init__(self, failure: GatewayError | None = None) -> None:
        self._failure = failure

    async def text_of(self, url: str, owner: str, *, plain: bool) -> PictureText:
        assert url.startswith("data:image/png;base64,") and owner == "key1"
        if self._failure is not None:
            raise self._failure
        return PictureText("The harbour in a picture", False)


async def extracted(made: Engine, site: Site, ocr: Ocr) -> Json:
    """The extract of the site's root, whose pictures `ocr` reads."""
    loader = made.parts.loader
    loader._help = replace(loader._help, pictures=PictureReader(made.pool, ocr, max_pages=5, page_timeout_s=20))
    return await made.web.extract(ExtractRequest((site.url + "/",), extract_depth="advanced"), made.call())


async def test_a_page_drawn_on_a_canvas_is_read_by_ocr(tmp_path: Path, site: Site) -> None:
    site.pages["/draw"] = "<canvas width=1280 height=1600></canvas>"
    async with over(tmp_path, site, does=("drawn",)) as made:
        data = await extracted(made, site, Ocr())
    assert data["results"][0]["raw_content"].endswith("\n\nThe harbour in a picture")
    assert "was read by OCR" in data["note"]


async def test_a_page_whose_picture_cannot_be_taken_keeps_its_text_and_says_so(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.engines.render.tab.PICTURE_S", 0.3)
    site.pages["/draw"] = "<p>The few words beside the drawing</p><canvas width=1280 height=1600></canvas>"
    async with over(tmp_path, site, does=("drawn",), silent=("Page.captureScreenshot",)) as made:
        data = await extracted(made, site, Ocr())
        assert "few words beside" in data["results"][0]["raw_content"]
        assert f"{site.url}/ draws as a picture, if any, is missing: the browser gave no picture of it" in data["note"]
    reason = "the browser gave no picture of it"
    page = LoadedPage(site.url, {"content": "", "scripted": True, "undrawn": reason}, public=True)
    assert str(empty_reason(page)).endswith(f"draw its text as a picture, which could not be read: {reason}")


async def test_a_page_whose_picture_ocr_cannot_read_keeps_its_text_and_says_so(tmp_path: Path, site: Site) -> None:
    site.pages["/draw"] = "<p>The few words beside the drawing</p><canvas width=1280 height=1600></canvas>"
    async with over(tmp_path, site, does=("drawn",)) as made:
        data = await extracted(made, site, Ocr(EngineMissing("the model is not there")))
    assert "few words beside" in data["results"][0]["raw_content"]
    assert "is missing: the model is not there" in data["note"]
