"""A site written into a folder: files and their heads, what a second crawl asks for, hostile names, interrupts."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from gateway.app.web_engine import open_site
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.domain import CrawlRequest, Json, Progress
from gateway.engines.crawl.page_loader import LoadedPage
from gateway.engines.crawl.site_folder import RECORD_FILE, SiteFolder, file_name
from gateway.errors import InvalidRequest
from tests.support.websites import Site, serving


def versioned(text: Callable[[], str]) -> Any:
    """A page with an entity tag; counts whole answers in `sent`."""

    async def answer(request: web.Request) -> web.StreamResponse:
        tag = f'"{hash(text()) & 0xFFFF}"'
        if request.headers.get("If-None-Match") == tag:
            return web.Response(status=304, headers={"ETag": tag})
        answer.sent += 1  # type: ignore[attr-defined]
        return web.Response(text=text(), content_type="text/html", headers={"ETag": tag})

    answer.sent = 0  # type: ignore[attr-defined]
    return answer


def page(title: str, *links: str) -> str:
    text = f"The page {title} tells of the sea, of ships and of the harbour, at some length. " * 6
    anchors = "".join(f'<p>See <a href="{link}">the page {link}</a> for more about it.</p>' for link in links)
    date = '<meta property="article:published_time" content="2026-03-04">'
    return f"<!doctype html><head><title>{title}</title>{date}</head><h1>{title}</h1><p>{text}</p>{anchors}"


async def crawl(site: Site, folder: Path, *, is_jsonl: bool = False, limit: int = 50) -> Json:
    file = folder.parent / "gateway.toml"
    file.write_text(f"[web]\nallow_private = ['{site.address}']\nrespect_robots = false\n[ops]\nport = 0\n")
    config = load_config(file, folder.parent / "state", Environment({}))
    request = CrawlRequest(f"{site.url}/", max_depth=5, max_breadth=50, limit=limit, allow_external=False)
    async with open_site(config, folder, is_jsonl=is_jsonl) as writer:
        return await writer.write(request, 0.0, Progress())


@pytest.mark.slow
async def test_pages_are_files_and_a_second_crawl_asks_only_what_has_changed(tmp_path: Path) -> None:
    text = {"/": page("Start", "/a", "/b/"), "/a": page("Alpha"), "/b/": page("Beta", "/c?x=1"), "/c": page("Gamma")}
    pages = {path: versioned(partial(text.__getitem__, path)) for path in text}
    out = tmp_path / "site"
    async with serving(Site(pages)) as site:
        told = await crawl(site, out)
        assert (told["written"], told["unchanged"], told["failed"]) == (4, 0, [])
        host = out / site.address.replace(":", "-")
        names = sorted(str(path.relative_to(host)) for path in host.rglob("*.md"))
        assert names[:3] == ["a.md", "b/index.md", names[2]] and names[2].startswith("c-") and names[3] == "index.md"
        head, body = (host / "a.md").read_text().split("---\n\n", 1)
        assert f'address: "{site.url}/a"\n' in head and 'title: "Alpha"\n' in head and 'date: "2026-03-04' in head
        assert body.startswith("# Alpha\n") and "harbour" in body

        text["/b/"] = page("Beta, changed", "/c?x=1")
        sent = {path: answer.sent for path, answer in pages.items()}
        told = await crawl(site, out)
        assert (told["written"], told["unchanged"]) == (1, 3)
        assert {path: pages[path].sent - sent[path] for path in pages} == {"/": 0, "/a": 0, "/b/": 1, "/c": 0}
        assert "# Beta, changed" in (host / "b/index.md").read_text()

        (host / "a.md").unlink()
        assert (await crawl(site, out))["written"] == 1 and (host / "a.md").exists()


@pytest.mark.slow
async def test_lines_of_json_hold_the_same_and_resume_too(tmp_path: Path) -> None:
    pages = {"/": versioned(lambda: page("Start", "/a")), "/a": versioned(lambda: page("Alpha"))}
    out = tmp_path / "site"
    async with serving(Site(pages)) as site:
        await crawl(site, out, is_jsonl=True)
        with (out / RECORD_FILE).open("ab") as file:
            file.write(b'{"url": "cut by an inter')
        told = await crawl(site, out, is_jsonl=True)
    lines = [orjson.loads(line) for line in (out / "pages.jsonl").read_bytes().splitlines()]
    assert [line["title"] for line in lines] == ["Start", "Alpha"] and "harbour" in lines[1]["content"]
    assert (told["written"], told["unchanged"]) == (0, 2) and pages["/a"].sent == 1


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://a.example/", "a.example/index.md"),
        ("https://a.example/x/Page.html", "a.example/x/Page.md"),
        ("https://a.example/../../etc/passwd", "a.example/-/-/etc/passwd.md"),
        ("https://a.example/%2e%2e/%2e%2e/.ssh/id", "a.example/-/-/ssh/id.md"),
        ("https://a.example/..%2f..%2froot", "a.example/-/-/root.md"),
        ("https://a.example/a%00b/c d", "a.example/a-b/c-d.md"),
        ("https://a.example:8443/x", "a.example-8443/x.md"),
        ("https://münchen.example/grüße", "münchen.example/grüße.md"),
    ],
)
def test_a_name_is_plain_and_stays_in_the_folder(address: str, name: str) -> None:
    assert file_name(address) == name
    assert not any(part.startswith(".") for part in file_name(address).split("/"))


def test_names_are_bounded_and_queries_tell_pages_apart() -> None:
    assert all(len(part) <= 90 for part in file_name("https://a.example/" + "x" * 5000).split("/"))
    assert len(file_name("https://a.example/" + "d/" * 500).split("/")) <= 16
    assert file_name("https://a.example/p?a=1") != file_name("https://a.example/p?a=2")


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidRequest, match="cannot be used"):
        SiteFolder(tmp_path / "file" / "site", is_jsonl=False).open()


def recorded(out: Path, url: str, file: str, *, is_jsonl: bool = False) -> SiteFolder:
    """A folder whose record says that the page is in this file."""
    record = {"url": url, "address": url, "file": file, "fetched_at": 1.0, "validators": {"etag": "x"}}
    out.mkdir()
    (out / RECORD_FILE).write_bytes(orjson.dumps(record | {"links": [], "data": {"hash": "h"}}) + b"\n")
    return SiteFolder(out, is_jsonl=is_jsonl)


def test_a_record_that_names_a_file_elsewhere_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    folder = recorded(tmp_path / "site", "https://a.example/", "../secret.md")
    folder.open()
    assert folder.page("https://a.example/") is None and folder.page("https://other.example/") is None


@pytest.mark.parametrize(
    "file", ["../x.md", "sub/../../x.md", "/etc/x.md", "out/x.md", ".bashrc", "a.example/.x.md", ""]
)
@pytest.mark.parametrize("is_jsonl", [True, False])
async def test_a_page_is_written_where_its_own_name_says(tmp_path: Path, file: str, is_jsonl: bool) -> None:
    out = tmp_path / "site"
    folder = recorded(out, "https://a.example/x", file, is_jsonl=is_jsonl)
    (out / "out").symlink_to(tmp_path)
    folder.open()
    await folder.take(loaded("https://a.example/x"))
    assert os.listdir(tmp_path) == ["site"]
    assert (out / ("pages.jsonl" if is_jsonl else "a.example/x.md")).is_file()
    assert set(os.listdir(out)) == {"out", RECORD_FILE, "pages.jsonl" if is_jsonl else "a.example"}


@pytest.mark.parametrize(
    ("link", "is_jsonl"), [("a.example", False), (RECORD_FILE, False), (RECORD_FILE, True), ("pages.jsonl", True)]
)
async def test_nothing_is_read_or_written_through_a_link_leading_out(tmp_path: Path, link: str, is_jsonl: bool) -> None:
    out, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    out.mkdir()
    elsewhere.mkdir() if link == "a.example" else elsewhere.write_text("mine")
    (out / link).symlink_to(elsewhere)
    folder = SiteFolder(out, is_jsonl=is_jsonl)
    with pytest.raises((InvalidRequest, OSError), match="leads out"):
        folder.open()
        await folder.take(loaded("https://a.example/x"))
    assert os.listdir(elsewhere) == [] if elsewhere.is_dir() else elsewhere.read_text() == "mine"


async def test_a_link_in_the_place_of_a_page_is_replaced_and_its_target_stays(tmp_path: Path) -> None:
    out, target = tmp_path / "site", tmp_path / "target"
    (out / "a.example").mkdir(parents=True)
    target.write_text("mine")
    (out / "a.example" / "x.md").symlink_to(target)
    folder = SiteFolder(out, is_jsonl=False)
    folder.open()
    await folder.take(loaded("https://a.example/x"))
    assert target.read_text() == "mine" and "Sea." in (out / "a.example" / "x.md").read_text()


def loaded(url: str) -> LoadedPage:
    return LoadedPage(url, {"title": "X", "content": "Sea.", "hash": "h"}, validators={}, fetched_at=1.0)
