"""What kinds of page are read: encodings, text and data formats, PDF; what cannot be read is named."""

import gzip
from pathlib import Path

import pytest

from gateway.engines.documents.sniff import kind_of
from gateway.engines.fetch.errors import Unreadable
from tests.support.pdfs import drawn_pdf
from tests.support.read_pages import content_of, page_of
from tests.support.websites import Site
from tests.unit.engines.crawl.test_traps import TEXT, text, why

pytestmark = pytest.mark.slow  # a parse process for each test


LATIN = f"<title>Caf\xe9</title><p>{TEXT} d\xe9j\xe0 vu</p>".encode("latin-1")


@pytest.mark.parametrize(
    ("kind", "body", "words"),
    [
        ("text/html", LATIN, "Café"),
        ("text/html; charset=nonsense", LATIN, "déjà vu"),
        ("text/html; charset=Shift_JIS", f"<p>{'日本語の文章です。' * 20}</p>".encode("shift_jis"), "日本語の文章です"),
        ("text/html; charset=latin-1", f"\ufeff<p>{TEXT} déjà</p>".encode(), "déjà"),
        ("text/html", b"<p>\x00" + TEXT.encode() + b"\xff\xfe</p><table><tr><td>", "gateways and crawlers"),
    ],
)
def test_broken_encodings_and_markup_are_read_as_well_as_they_can_be(kind: str, body: bytes, words: str) -> None:
    page = page_of(body, content_type=kind)
    assert words in f"{page['title']} {page['content']}"


@pytest.mark.parametrize(
    ("kind", "body", "shown"),
    [
        # Half of a pair, which no text may hold.
        ("application/json", b'{"a": "\\ud83d"}', '```json\n{\n  "a": "?"\n}\n```'),
        ("application/json", b'{"a": [1, 2]}', '```json\n{\n  "a": [\n    1,\n    2\n  ]\n}\n```'),
        ("text/plain", b"just <b>text</b>", "just <b>text</b>"),
        ("text/markdown", b"# Head\n\ntext", "# Head\n\ntext"),
        ("application/rss+xml", b"<rss><title>Feed</title></rss>", "```xml\n<rss><title>Feed</title></rss>\n```"),
    ],
)
async def test_other_kinds_of_text_are_read(tmp_path: Path, kind: str, body: bytes, shown: str) -> None:
    assert (await text(Site({"/x": (200, {"Content-Type": kind}, body)}), tmp_path, "/x"))["raw_content"] == shown


def pdf(title: bytes) -> bytes:
    return drawn_pdf("BT /F 12 Tf 72 720 Td (Words that stand in a document.) Tj ET", title)


async def test_a_pdf_is_read_whatever_it_is_called_and_a_broken_one_says_so(tmp_path: Path) -> None:
    body = pdf(b"(The report)")
    site = Site(
        {
            "/r.pdf": (200, {"Content-Type": "application/pdf"}, body),
            "/download": (200, {"Content-Type": "application/octet-stream"}, body),
            "/broken": (200, {"Content-Type": "application/pdf"}, b"%PDF-1.4 nothing of a document"),
        }
    )
    for path in ("/r.pdf", "/download"):
        found = await text(site, tmp_path, path)
        assert found["title"] == "The report" and "Words that stand in a document." in found["raw_content"]
    assert "PDF is damaged" in await why(site, tmp_path, "/broken")


@pytest.mark.parametrize(
    ("kind", "body", "shown"),
    [
        ("application/gzip", b"Subject: tides\n\nHigh water at noon.", "Subject: tides\n\nHigh water at noon."),
        ("application/x-gzip", f"<html><title>T</title><p>{TEXT}</p></html>".encode(), TEXT.strip()),
        ("application/octet-stream", b"plain words", "plain words"),
        ("text/html; charset=utf-8", f"<title>T</title><p>{TEXT}</p>".encode(), TEXT.strip()),  # compressed twice
        ("application/gzip", pdf(b"(T)"), "Words that stand in a document."),
    ],
)
def test_a_gzip_file_is_read_as_what_it_holds(kind: str, body: bytes, shown: str) -> None:
    assert content_of(gzip.compress(body), "https://a.test/2024-May.txt.gz", kind).strip() == shown


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (gzip.compress(b"usr/bin\x00" * 99, mtime=0), "cannot be read"),
        (gzip.compress(b"words", mtime=0)[:-9], "damaged|ends"),
        (gzip.compress(bytes(20_000_000), mtime=0), "larger than"),
    ],
)
def test_a_gzip_file_of_anything_else_is_refused(body: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        content_of(body, "https://a.test/x.tar.gz", "application/gzip")


async def test_a_type_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    site = Site({"/": (200, {"Content-Type": "image/png"}, b"\x89PNG")})
    assert "image/png cannot be read" in await why(site, tmp_path)


async def test_a_script_only_page_says_so(tmp_path: Path) -> None:
    site = Site({"/": "<html><body><div id=root></div><script src=/app.js></script></body></html>"})
    assert "JavaScript" in await why(site, tmp_path)


def test_json_that_is_called_html_is_json_and_html_that_begins_like_it_is_not() -> None:
    assert kind_of("text/html; charset=utf-8", b' {"a": ["<b>one</b>", 2]}') == "json"
    assert kind_of("text/html", b"[an error] <p>words</p>") == "html"


def test_text_of_a_declared_wide_charset_is_text_and_a_binary_one_is_told_as_it_is() -> None:
    assert kind_of("text/plain; charset=UTF-16LE", "words".encode("utf-16-le")) == "text"
    with pytest.raises(Unreadable, match="is not text, whatever its Content-Type says"):
        kind_of("text/plain", b"\x00\x01\x02words")
