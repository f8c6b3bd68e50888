"""Turns one fetched body into a page: title, content, links, images, what it says of itself.

Runs in the parsing processes; plain data in, plain data out. It knows no network and no index.
"""

from dataclasses import dataclass
from typing import Any, Literal

from gateway.domain import Json
from gateway.engines.content.prune import main_content
from gateway.engines.extract import chunks, documents, simhash
from gateway.engines.html.charset import decode
from gateway.engines.html.dom import parse
from gateway.engines.html.metadata import Head, images_of, links_of, read_head, title_from_url
from gateway.engines.markdown.writer import Writer, WriterOptions

MAX_TEXT_CHARS = 2_000_000
_THIN_CHARS = 200


@dataclass(frozen=True, slots=True)
class ExtractOptions:
    """A job for a parsing process: what to read from one body.

    `task` "page" reads a page (see `extract`), "sitemap" a sitemap (see engines.extract.sitemap_xml), for which the
    other fields mean nothing. `depth` is basic or advanced, `format` markdown or text. `query` asks for the
    `max_chunks` best pieces of the page, `links` and `images` for those lists.
    """

    url: str
    content_type: str = "text/html"
    depth: str = "basic"
    format: str = "markdown"
    query: str | None = None
    max_chunks: int = 3
    links: bool = False
    images: bool = False
    task: Literal["page", "sitemap"] = "page"


def extract(body: bytes, options: ExtractOptions) -> Json:
    """The page as JSON: title, content, kind, and what was asked for. Raises FetchFailed, EngineMissing.

    `content` is empty for a page without text; `scripted` tells that the page needs JavaScript to show any.
    """
    kind = documents.kind_of(options.content_type, body)
    if kind == "html":
        return _html(decode(body, options.content_type), options)
    title, text = documents.read(kind, body, options.content_type, options.format == "text")
    return _page(text, options, {"title": title or title_from_url(options.url), "kind": kind})


def _html(markup: str, options: ExtractOptions) -> Json:
    root = parse(markup)
    if root is None:
        return _page("", options, {"title": title_from_url(options.url), "kind": "html"})
    head = read_head(root, options.url)
    scripted = root.find(".//script") is not None
    page = _head_fields(head)
    links = links_of(root, None, head) if options.links else []
    content = main_content(root, markup, head, options.depth)
    page["page_type"] = content.page_type
    if options.images:
        page["images"] = images_of(content.region, head)
    if options.links:
        page["links"] = _main_first(links, content.region, head)
    text = Writer(WriterOptions(head.base, options.format == "text")).write(content.region)
    if len(text) < _THIN_CHARS and len(head.described) > 2 * _THIN_CHARS:
        text = f"{text}\n\n{head.described}".strip()  # drawn by scripts, but told to search engines
    page["scripted"] = scripted and len(text) < 300
    return _page(text, options, page)


def _head_fields(head: Head) -> Json:
    return {
        "kind": "html",
        "title": head.title,
        "canonical": head.canonical,
        "refresh": head.refresh,
        "published": head.published,
        "noindex": head.noindex,
        "lang": head.lang,
        "favicon": head.favicon,
        "description": head.description[:500],
    }


def _main_first(links: list[list[Any]], region: Any, head: Head) -> list[list[Any]]:
    """Links of the content region before those around it, each part in document order."""
    here = {link[0] for link in links_of(region, region, head)}
    marked = [[url, anchor, url in here] for url, anchor, _ in links]
    return sorted(marked, key=lambda link: not link[2])


def _page(text: str, options: ExtractOptions, page: Json) -> Json:
    text = _valid(text[:MAX_TEXT_CHARS])
    page["title"] = _valid(page["title"])
    page["content"] = text
    page["hash"] = simhash.exact(text)
    page["simhash"] = f"{simhash.simhash(text):016x}"
    if options.query:
        page["chunks"] = chunks.best(text, options.query, options.max_chunks)
    return page


def _valid(text: str) -> str:
    """Without lone surrogates: JSON and PDF can name them, and UTF-8 has no form for them."""
    return text.encode("utf-8", "replace").decode()
