"""Sitemaps: which addresses are pages, and that no document does harm."""

import gzip
from pathlib import Path

import pytest

from gateway.domain import CrawlRequest
from gateway.engines.documents.feeds import MAX_LOCATIONS, read_sitemap
from tests.support.paths import GOLDEN
from tests.support.websites import Site, engine, page, serving

SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"


def pages(body: bytes) -> list[str]:
    found = read_sitemap(body)
    assert found["sitemaps"] == []
    listed: list[str] = found["pages"]
    return listed


def test_images_videos_news_and_comments_are_no_pages() -> None:
    extended = (GOLDEN / "feeds" / "sitemap.xml").read_bytes()
    assert pages(extended) == ["https://a.test/one", "https://a.test/two?a=1&b=2"]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b"<urlset><url><loc>u</loc></url></urlset>", ["u"]),
        (b"<s:urlset xmlns:s='x'><s:url><s:loc>u</s:loc></s:url></s:urlset>", ["u"]),
        (b"<s:urlset><s:url><s:loc>u</s:loc><i:image><i:loc>i</i:loc></i:image></s:url></s:urlset>", ["u"]),
        (b"<URLSET><URL><LOC>u</LOC></URL></URLSET>", ["u"]),
        (b"<urlset><loc>u</loc></urlset>", ["u"]),
        (b"\n <?xml version='1.0'?><urlset><url><loc>u</loc></url></urlset>", ["u"]),
        ("<?xml version='1.0' encoding='utf-16'?><urlset><url><loc>\xe9</loc></url></urlset>".encode("utf-16"), ["é"]),
        (b"<urlset><url><loc>u?a=1&amp;b=2&c=3&copy=4&#38;d&#x26;e</loc></url></urlset>", ["u?a=1&b=2&c=3&copy=4&d&e"]),
    ],
)
def test_every_spelling_of_a_sitemap_is_read(body: bytes, found: list[str]) -> None:
    assert pages(body) == found


def test_an_index_lists_sitemaps_and_no_pages() -> None:
    body = f'<sitemapindex xmlns="{SITEMAP}"><sitemap><loc>a</loc></sitemap><sitemap><loc>b</loc></sitemap>'.encode()
    assert read_sitemap(body) == {"pages": [], "sitemaps": ["a", "b"]}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b"<urlset><url><loc>a</loc></url><url><loc>b</loc><lastm", ["a", "b"]),
        (b"<urlset><url><loc>a</url><url><loc>b</loc></url>", ["a", "b"]),
        (b"<urlset><url><loc>a\x00</loc></url><url><loc>\xffb</loc></url></urlset>", ["a"]),
        (b"<urlset><url><loc>a</loc></url></wrong><<<", ["a"]),
        (b"<urlset><url><loc></loc></url><url><loc> </loc></url><url><loc>" + b"x" * 3_000 + b"</loc></url>", []),
        (b"<!doctype html><html><body><p>Not found<br></body>", []),
        (b"\x89PNG\r\n\x00\x00", []),
        (b"", []),
    ],
)
def test_of_broken_xml_the_beginning_is_read(body: bytes, found: list[str]) -> None:
    assert pages(body)[: len(found)] == found


def test_entities_are_not_expanded_and_nothing_outside_is_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret words")
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    document = (
        f'<!DOCTYPE urlset SYSTEM "{secret.as_uri()}" [<!ENTITY l0 "ha">{laughs}<!ENTITY file SYSTEM '
        f'"{secret.as_uri()}"><!ENTITY % dtd SYSTEM "{secret.as_uri()}">%dtd;]>'
        "<urlset><url><loc>a&l9;</loc></url><url><loc>b&file;</loc></url></urlset>"
    )
    assert pages(document.encode()) == ["a&l9;", "b&file;"]


@pytest.mark.slow
@pytest.mark.parametrize("filler", [b"<a>", b"<a/>", b"&", b"x", b"<url x='1'>", b"<!--", b"<![CDATA["])
def test_a_huge_document_costs_little(filler: bytes) -> None:
    assert pages(b"<urlset><url><loc>a</loc></url>" + filler * (1_000_000 // len(filler))) == ["a"]


@pytest.mark.slow
def test_a_list_is_cut_at_the_protocols_limit() -> None:
    body = b"<urlset>" + b"<url><loc>a</loc></url>" * (MAX_LOCATIONS + 10) + b"</urlset>"
    assert len(pages(body)) == MAX_LOCATIONS


@pytest.mark.slow  # a parse process
async def test_a_map_follows_packed_and_nested_indexes_and_takes_no_images(tmp_path: Path) -> None:
    site = Site({"/": page("Home", "The site has pages that no link leads to. " * 5)})
    async with serving(site), engine(tmp_path, (site.address,)) as made:
        image = f"<i:image xmlns:i='i'><i:loc>{site.url}/x.png</i:loc></i:image>"
        listed = f"<url><loc>{site.url}/hidden</loc>{image}</url><url><loc>http://other.test/</loc></url>"
        site.pages["/robots.txt"] = (200, {}, f"Sitemap: {site.url}/index.xml".encode())
        site.pages["/index.xml"] = (200, {}, index(site, "/index.xml", "/none.xml", "/damaged.gz", "/inner.xml"))
        site.pages["/damaged.gz"] = (200, {}, b"\x1f\x8b\x08broken")
        site.pages["/inner.xml"] = (200, {}, index(site, "/pages.xml.gz"))
        site.pages["/pages.xml.gz"] = (200, {}, gzip.compress(f"<urlset>{listed}</urlset>".encode()))
        data = await made.service.map(CrawlRequest(site.url + "/"), made.call())
    assert data["results"] == [site.url + "/", site.url + "/hidden"]
    assert site.asked.count("/index.xml") == 1


def index(site: Site, *paths: str) -> bytes:
    listed = "".join(f"<sitemap><loc>{site.url}{path}</loc></sitemap>" for path in paths)
    return f"<sitemapindex>{listed}</sitemapindex>".encode()


@pytest.mark.slow  # a parse process
async def test_a_sitemap_that_unpacks_to_too_much_is_skipped(tmp_path: Path) -> None:
    site = Site({"/": page("Home", "A site whose sitemap is a bomb. " * 5)})
    async with serving(site), engine(tmp_path, (site.address,)) as made:
        site.pages["/sitemap.xml"] = (200, {}, gzip.compress(b" " * 20_000_000))
        data = await made.service.map(CrawlRequest(site.url + "/"), made.call())
    assert data["results"] == [site.url + "/"]
