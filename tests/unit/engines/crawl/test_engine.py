"""Extract, crawl, map and search over a real site on loopback."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from gateway.domain import CrawlRequest, ExtractRequest, Progress, SearchRequest
from gateway.engines.crawl.site_folder import IndexFiller
from gateway.errors import InvalidRequest
from tests.support.websites import Answer, Engine, Site, engine, page, serving, urls

pytestmark = pytest.mark.slow  # a parse process for each test

WORDS = "The gateway crawls politely and keeps what it reads. "


@pytest.fixture
def pages() -> dict[str, Answer]:
    return {
        "/": page("Home", WORDS * 3, "/a", "/b", "/a?utm_source=x", "/missing"),
        "/a": page("Apples", "Apples grow on trees in the orchard of the north. " * 3, "/c", "/"),
        "/b": page("Bananas", "Bananas are berries, botanically speaking, and quite yellow. " * 3, "/d"),
        "/c": page("Cherries", "Cherries are small stone fruits that birds like to eat. " * 3),
        "/d": page("Dates", "Dates are sweet fruits of a palm that stands in deserts. " * 3),
    }


async def test_crawl_counts_hops_from_the_root_and_each_page_once(site: Site, made: Engine) -> None:
    data = await made.service.crawl(CrawlRequest(site.url + "/", max_depth=2), made.call())
    found = {result["url"].removeprefix(site.url): result["depth"] for result in data["results"]}
    assert found == {"/": 0, "/a": 1, "/b": 1, "/c": 2, "/d": 2}
    assert site.asked.count("/a") + site.asked.count("/a?utm_source=x") == 1
    [failure] = data["failed_results"]
    assert failure == {"url": f"{site.url}/missing", "error": "the site answered 404: there is no such page"}


async def test_a_page_is_found_by_the_key_that_fetched_it_and_by_no_other(site: Site, made: Engine) -> None:
    await made.service.crawl(CrawlRequest(site.url + "/", max_depth=2), made.call("key1"))
    mine = await made.service.search(SearchRequest("orchard apple"), made.call("key1"))
    theirs = await made.service.search(SearchRequest("orchard apple"), made.call("key2"))
    assert urls(mine)[0] == f"{site.url}/a" and mine["results"][0]["score"] > 0.5
    assert "orchard" in mine["results"][0]["content"] and mine["provider"] == "local"
    assert theirs["results"] == [] and "gateway index add" in theirs["note"]


async def test_a_bad_regular_expression_is_refused_by_name(tmp_path: Path) -> None:
    async with engine(tmp_path) as made:
        with pytest.raises(InvalidRequest, match=r"select_paths: '\(a' is not a valid") as caught:
            await made.service.crawl(CrawlRequest("https://example.com/", select_paths=("(a",)), made.call())
    assert caught.value.param == "select_paths"


async def test_a_shared_index_shares_public_pages_only(tmp_path: Path, site: Site) -> None:
    """Pages from private addresses stay with the key that fetched them, whatever the scope."""
    async with engine(tmp_path, (site.address,), index_scope="shared") as made:
        await made.service.extract(ExtractRequest((site.url + "/a",)), made.call("key1"))
        theirs = await made.service.search(SearchRequest("orchard"), made.call("key2"))
        mine = await made.service.search(SearchRequest("orchard"), made.call("key1"))
    assert theirs["results"] == [] and len(mine["results"]) == 1


async def test_what_a_budget_cuts_from_a_crawl_is_searchable_in_full(tmp_path: Path) -> None:
    site = Site({"/": page("Long", " ".join(f"word{n}" for n in range(9_000)) + " omega")})
    async with serving(site), engine(tmp_path, (site.address,), result_budget_chars=1_000) as made:
        data = await made.service.crawl(CrawlRequest(site.url + "/"), made.call())
        found = await made.search.search(SearchRequest("omega", include_raw_content=True), made.call())
    assert len(data["results"][0]["raw_content"]) <= 1_000 and data["truncated"] is True
    assert "omega" not in data["results"][0]["raw_content"]
    assert found["results"][0]["raw_content"].rstrip().endswith("omega")


async def test_a_page_that_asks_not_to_be_indexed_is_given_but_not_kept(site: Site, made: Engine) -> None:
    site.pages |= {"/": page("Home", WORDS * 5).replace("<head>", '<head><meta name="robots" content="noindex">')}
    data = await made.service.extract(ExtractRequest((site.url + "/",)), made.call())
    assert len(data["results"]) == 1 and (await made.index.stats())["pages"] == 0


async def test_a_query_gives_the_best_chunks_and_icons_and_images_come_when_asked(site: Site, made: Engine) -> None:
    request = ExtractRequest((site.url + "/a",), query="orchard", include_images=True, include_favicon=True)
    data = await made.service.extract(request, made.call())
    text = await made.service.extract(ExtractRequest((site.url + "/a",), format="text"), made.call())
    result = data["results"][0]
    assert "orchard" in result["raw_content"] and len(result["raw_content"]) <= 3 * 520
    assert result["images"] == [] and result["favicon"] == site.url + "/favicon.ico"
    assert text["results"][0]["raw_content"].startswith("Apples\n\nApples grow")


async def test_a_folder_and_a_site_fill_the_index_for_everybody(tmp_path: Path, site: Site, made: Engine) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.html").write_text(page("Handbook", "The handbook of the orchard. " * 5))
    (docs / "b.md").write_text("# Notes\n\nNotes on orchards.")
    (docs / "c.bin").write_bytes(b"\x00")
    (docs / "folder.html").mkdir()
    os.mkfifo(docs / "pipe.md")
    (docs / "gone.html").symlink_to(docs / "nowhere.html")
    (tmp_path / "secret.md").write_text("# Secret\n\nThe orchard's secret.")
    (docs / "out.md").symlink_to(tmp_path / "secret.md")
    (docs / "same.md").symlink_to(docs / "b.md")
    steps: list[int] = []
    filler = IndexFiller(made.parts, made.pool, made.settings)
    folder = await filler.add(str(docs), 100, Progress(on_change=lambda each: steps.append(each.done)))
    crawled = await filler.add(site.url + "/", 100, Progress())
    found = await made.service.search(SearchRequest("orchard"), made.call("anyone"))
    removed = await filler.remove(site.url + "/")
    left = await filler.stats()
    assert [failure["url"] for failure in folder["failed"]] == [
        (docs / "gone.html").as_uri(),
        (docs / "out.md").as_uri(),
    ]
    assert "leads out" in folder["failed"][1]["error"]
    assert folder["added"] == 3 and crawled["added"] == 5 and removed == 5 and left["pages"] == 2
    assert len(found["results"]) == 3 and steps == [1, 2, 3, 4, 5]


async def test_the_server_process_never_loads_the_parsers(tmp_path: Path) -> None:
    script = "import sys, gateway.engines.crawl.engine, gateway.engines.crawl.site_folder; "
    script += "import gateway.engines.index.search_provider; "
    script += "print([name for name in ('lxml', 'selectolax', 'trafilatura', 'pypdfium2') if name in sys.modules])"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    assert out.strip() == b"[]"
