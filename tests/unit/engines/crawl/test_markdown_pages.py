"""Sites that have their pages as Markdown are asked for that in the same request; HTML is read where it has more."""

import pytest
from aiohttp import web

from gateway.domain import CrawlRequest, ExtractRequest
from tests.support.websites import Engine, Site, page

pytestmark = pytest.mark.slow  # a parse process
TEXT = "The hive has frames of wax, and bees that build them, all summer long. " * 5


def negotiated(markdown: str) -> Site:
    """A site whose only page is Markdown for those who prefer it, and HTML for others."""
    accepted: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        accepted.append(request.headers["Accept"])
        if accepted[-1].startswith("text/markdown;q=1,text/html;q=0.9"):
            return web.Response(text=markdown, content_type="text/markdown", charset="utf-8")
        return web.Response(text=page("Hives", TEXT, "/wax"), content_type="text/html")

    site = Site({"/": answer})
    site.asked = accepted  # the answers' own notes; paths say nothing here
    return site


async def test_markdown_is_asked_for_first_and_read_as_it_is(site: Site, made: Engine) -> None:
    told = negotiated("# Hives\n\nThey have **frames**.")
    site.pages = told.pages
    (result,) = (await made.service.extract(ExtractRequest((site.url + "/",)), made.call()))["results"]
    assert (result["title"], result["raw_content"]) == ("Hives", "# Hives\n\nThey have **frames**.")
    assert len(told.asked) == 1


async def test_where_it_lacks_the_links_of_a_crawl_the_page_is_read_as_html(site: Site, made: Engine) -> None:
    site.pages = {**negotiated("# Hives\n\nThey have **frames**.").pages, "/wax": page("Wax", f"{TEXT} Of wax.")}
    found = await made.service.crawl(CrawlRequest(site.url + "/", max_depth=1), made.call())
    assert [each["title"] for each in found["results"]] == ["Hives", "Wax"]
