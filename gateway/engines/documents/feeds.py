"""Web feeds (RSS, Atom, JSON Feed) as pages, and the addresses that a sitemap lists.

Runs in the parsing processes. Entities, references and files of the XML do nothing. Sources: RSS 2.0, RFC 4287,
RSS 1.0 with its modules content and dc, JSON Feed 1.1, sitemaps.org 0.9. For parts that are missing or misused the
rules follow feedparser (its documentation and source, read 2026-11-23): a guid that is a permalink stands for a missing
link; in RSS, where a text has no type, one with an end tag or a reference is HTML; relative addresses are resolved
against `xml:base`, else against the feed's own.
"""

import html
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from html import unescape
from typing import Any

from gateway.domain import Json
from gateway.engines.fetch.urls import join
from gateway.engines.html.cleaning import drop_code
from gateway.engines.html.head import link_target
from gateway.engines.html.hidden import drop_hidden
from gateway.engines.html.tree import MISSING, parse, text_of
from gateway.engines.markdown.inline import Inline, InlineStyle
from gateway.engines.markdown.writer import Writer, WriterOptions
from gateway.errors import EngineMissing

MAX_ITEMS = 500
"""Items read of one feed."""
HEAD_BYTES = 4_096
"""Beginning of a body in which the signs of a feed are looked for."""
MAX_LOCATIONS, MAX_LOCATION_CHARS = 50_000, 2_048
"""Most addresses taken from one sitemap, and the length from which one is dropped. From the protocol."""
_JSON_VERSION = re.compile(rb'"version"\s{0,20}+:\s{0,20}+"https?:\\?/\\?/jsonfeed\.org\\?/version\\?/')
_MAX_AUTHORS = 5
_MAX_TITLE_CHARS = 300
_MAX_DATE_CHARS = 64
_MAX_TEXT_CHARS = 2_000_000
"""Text after which no further item is written: no page has more (`engines.documents.page`)."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_ITEM_LEVEL = 2
_LEVELS = {f"h{level}": f"h{min(6, level + _ITEM_LEVEL)}" for level in range(1, 7)}
"""Headings inside items stand below those of the items, so that a fragment selects a whole item."""
_REFERENCE = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")
_XML_ROOT = re.compile(
    rb"\A(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*+"
    rb"(?:<(?:!--(?:[^-]|-(?!->)|(?!)){0,1000}+--|!DOCTYPE[^\[>]{0,300}+(?:\[[^\]]{0,3000}+\]\s*+)?|\?[^>]{0,1000}+)>\s*+|(?!)){0,8}+"
    rb"<(?:rss|feed|(?:\w{1,20}+:)?RDF)[\s>]"
)
"""The root element of a feed after declarations, comments and style sheets. The HTML standard has browsers look for the
same in pages served as HTML (MIME Sniffing, section 7.3)."""
_NAMESPACES = {
    "http://purl.org/rss/1.0/": "",
    "http://my.netscape.com/rdf/simple/0.9/": "",
    "http://channel.netscape.com/rdf/simple/0.9/": "",
    "http://backend.userland.com/rss2": "",
    "http://www.w3.org/2005/Atom": "",
    "http://purl.org/atom/ns#": "",
    "http://purl.org/dc/elements/1.1/": "dc:",
    "http://purl.org/dc/terms/": "dcterms:",
    "http://purl.org/rss/1.0/modules/content/": "content:",
}
_FIELDS = {
    "title": "title", "dc:title": "title", "link": "link", "guid": "guid",
    "description": "summary", "dc:description": "summary", "summary": "summary", "subtitle": "summary",
    "tagline": "summary", "content": "content", "content:encoded": "content",
    "pubdate": "published", "published": "published", "issued": "published", "dc:date": "published",
    "dcterms:issued": "published", "updated": "updated", "modified": "updated", "dcterms:modified": "updated",
    "author": "author", "dc:creator": "author",
}  # fmt: skip
"""What an element of a feed or item means, by its name. Those of other namespaces mean nothing here."""
_CONTAINERS = frozenset({"channel", "feed", "item", "entry"})
_ATOM = frozenset({"feed", "entry"})
"""Elements of Atom, where a text without a type is plain."""
_ITEMS = frozenset({"item", "entry"})
_EMPTY = frozenset({"area", "br", "col", "embed", "hr", "img", "input", "source", "track", "wbr"})
_XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_RDF_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_HTML_TYPES = frozenset({"html", "xhtml", "text/html", "application/xhtml+xml"})
_PLAIN_TYPES = frozenset({"text", "text/plain"})
_LIKE_HTML = re.compile(r"</[A-Za-z]|<(?:br|hr|img|p)[\s/>]|&(?:[A-Za-z]{2,8}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")
_WEB_ADDRESS = re.compile(r"https?://[^\s<>\"]{1,2040}", re.IGNORECASE)
_LISTS = {"url": "pages", "urlset": "pages", "sitemap": "sitemaps", "sitemapindex": "sitemaps"}
"""Which list a `<loc>` belongs to, by the element it is in. `<image:loc>` is in `<image:image>`, so it is in neither.
A `<loc>` directly in the root element is no valid sitemap, but means what it says."""


@dataclass(frozen=True, slots=True)
class FeedText:
    """A text of a feed. Relative addresses in HTML are resolved against `base`."""

    value: str = ""
    is_html: bool = False
    base: str = ""


@dataclass(slots=True)
class FeedPart:
    """The feed itself, or one item. `link` is absolute or empty; dates are as written."""

    title: FeedText = FeedText()
    link: str = ""
    guid: str = ""
    summary: FeedText = FeedText()
    content: FeedText = FeedText()
    published: str = ""
    updated: str = ""
    authors: list[str] = field(default_factory=list)

    def add_author(self, text: str) -> None:
        """Add an author, each name once, at most _MAX_AUTHORS. RSS 2.0 has `editor@example.org (Jane Doe)`."""
        address, _, name = text.strip()[:500].partition(" (")
        if "@" in address and name.endswith(")"):
            text = name[:-1]
        name = " ".join(text[:500].split())[:200]
        if name and name not in self.authors and len(self.authors) < _MAX_AUTHORS:
            self.authors.append(name)


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed with its items in document order, at most MAX_ITEMS."""

    about: FeedPart
    items: list[FeedPart]


def address_of(base: str, reference: str) -> str:
    """The absolute web address of a reference; empty for an empty one and for what is no web address."""
    return (join(base, reference) or "") if reference else ""


def is_json_feed(content_type: str, body: bytes) -> bool:
    """Whether a JSON body is called a JSON Feed, or begins as one does."""
    if content_type.partition(";")[0].strip().lower() == "application/feed+json":
        return True
    return _JSON_VERSION.search(body[:HEAD_BYTES]) is not None


def read_json_feed(text: str, url: str) -> Feed | None:
    """The JSON Feed of a document at `url`; None when it is no JSON or no feed."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not isinstance(document.get("items"), list):
        return None
    about = _json_part(document, url)
    about.link = address_of(url, _string(document, "home_page_url"))
    about.summary = FeedText(_string(document, "description"))
    return Feed(about, [_json_part(each, url) for each in document["items"][:MAX_ITEMS] if isinstance(each, dict)])


def _json_part(item: dict[str, Any], url: str) -> FeedPart:
    markup = _string(item, "content_html")
    part = FeedPart(
        title=FeedText(_string(item, "title")),
        link=address_of(url, _string(item, "url")) or address_of(url, _string(item, "external_url")),
        summary=FeedText(_string(item, "summary")),
        content=FeedText(markup, True, url) if markup else FeedText(_string(item, "content_text")),
        published=_string(item, "date_published"),
        updated=_string(item, "date_modified"),
    )
    authors = item.get("authors")
    for author in [*(authors if isinstance(authors, list) else ()), item.get("author")][: _MAX_AUTHORS + 1]:
        if isinstance(author, dict):
            part.add_author(_string(author, "name"))
    return part


def _string(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value.strip() if isinstance(value, str) else ""


def xml_tree(markup: bytes) -> Any:
    """The root of an XML document in UTF-8, up to where it cannot be read any further; None for what is none.

    Every `&` is written as `&#38;` for the parser, so it meets no entity, and a bare `&` as in `?a=1&b=2` is kept:
    texts must be `resolved`. Raises EngineMissing.
    """
    try:
        from lxml import etree  # noqa: PLC0415 - an optional extra, and only in the parsing processes
    except ImportError as error:
        raise EngineMissing(MISSING) from error
    parser = etree.XMLParser(
        encoding="utf-8", recover=True, resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False
    )
    try:
        return etree.fromstring(markup.lstrip().replace(b"&", b"&#38;"), parser)
    except (etree.LxmlError, ValueError):
        return None


def resolved(text: str) -> str:
    """Text of an `xml_tree` with its references resolved once: the characters of numbers and of HTML's names."""
    return _REFERENCE.sub(lambda match: unescape(match[0]), text)


def is_xml_feed(body: bytes) -> bool:
    """Whether a body is RSS or Atom, by its root element."""
    return _XML_ROOT.match(body[:HEAD_BYTES].replace(b"\x00", b"")) is not None  # UTF-16 too


def read_xml_feed(text: str, url: str) -> Feed:
    """The feed of a document at `url`; broken XML gives the items before the fault. Raises EngineMissing."""
    root = xml_tree(text.encode("utf-8", "replace"))
    if root is None:
        return Feed(FeedPart(), [])
    about = FeedPart()
    items: list[FeedPart] = []
    for element in root.iter():
        name = _name_of(element)
        if name in _ITEMS:
            if len(items) >= MAX_ITEMS:
                break
            base = _base_of(element, url)
            item = FeedPart(link=address_of(base, element.get(_RDF_ABOUT, "")))
            _fill(item, element, url)
            item.link = item.link or item.guid
            items.append(item)
        elif name in _CONTAINERS:
            _fill(about, element, url)
    return Feed(about, items)


def _name_of(element: Any) -> str:
    """An element's name in lower case with the usual prefix of its namespace; "" for one of no known namespace."""
    if not isinstance(element.tag, str):
        return ""
    namespace, _, name = element.tag.rpartition("}")
    prefix = _NAMESPACES.get(namespace[1:]) if namespace else ""
    return "" if prefix is None else f"{prefix}{name.lower()}"


def _base_of(element: Any, url: str) -> str:
    """The address that relative ones in an element are resolved against."""
    for each in reversed([element, *element.iterancestors()]):
        if each.get(_XML_BASE):
            url = join(url, each.get(_XML_BASE)) or url
    return url


def _fill(part: FeedPart, element: Any, url: str) -> None:
    """Sets what the children of a feed or item say, the first of each."""
    is_atom = _name_of(element) in _ATOM
    for child in element:
        meaning = _FIELDS.get(_name_of(child))
        if meaning is None:
            continue
        base, said = _base_of(child, url), _text_of(child, url, is_atom=is_atom)
        if meaning == "author":
            part.add_author(_person(child))
        elif meaning == "link" and "href" in child.attrib:
            if child.get("rel", "alternate") == "alternate" and not part.link:
                part.link = address_of(base, child.get("href"))
        elif meaning == "link":
            part.link = (join(base, said.value) if said.value else None) or part.link
        elif meaning == "guid":
            is_link = child.get("isPermaLink", child.get("ispermalink", "true")) != "false"
            part.guid = part.guid or (address_of("", said.value) if is_link else "")
        elif meaning in ("title", "summary", "content"):
            if said.value and not getattr(part, meaning).value:
                setattr(part, meaning, said)
        elif said.value and not getattr(part, meaning):
            setattr(part, meaning, said.value)


def _text_of(element: Any, url: str, *, is_atom: bool) -> FeedText:
    """The text of an element, HTML where it has elements inside, says so, or, in RSS, looks so."""
    kind = str(element.get("type", "")).partition(";")[0].strip().lower() or ("text" if is_atom else "")
    base = _base_of(element, url)
    if any(isinstance(child.tag, str) for child in element):
        return FeedText("".join(_markup(element)), True, base)
    if kind not in _HTML_TYPES | _PLAIN_TYPES | {""}:
        return FeedText()  # a picture, or data in base64
    text = resolved("".join(element.itertext())).strip()
    return FeedText(text, kind in _HTML_TYPES or (not kind and _LIKE_HTML.search(text) is not None), base)


def _markup(element: Any) -> Iterator[str]:
    """What is inside an element as HTML: Atom's XHTML, and HTML that nobody escaped."""
    yield html.escape(resolved(element.text or ""))
    for child in element:
        if isinstance(child.tag, str):
            name = child.tag.rpartition("}")[2].rpartition(":")[2].lower()
            given = child.attrib.items()
            yield f"<{name}"
            yield from (f' {key}="{html.escape(resolved(value))}"' for key, value in given if not key.startswith("{"))
            yield ">"
            yield from _markup(child)
            yield "" if name in _EMPTY else f"</{name}>"
        yield html.escape(resolved(child.tail or ""))


def _person(element: Any) -> str:
    """Atom's name of a person, which has more elements; else the text."""
    name = next((child for child in element if _name_of(child) == "name"), element)
    return resolved("".join(itertools.chain([name.text or ""], (child.tail or "" for child in name))))


def read_sitemap(body: bytes, url: str = "") -> Json:
    """`{pages: [address], sitemaps: [address]}`, at most MAX_LOCATIONS together, in document order: of a sitemap, an
    index of them, a feed, or a text with an address a line. Relative addresses are resolved against `url`.

    Broken XML gives the addresses up to where it cannot be read any further. Raises EngineMissing.
    """
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        body = body.decode("utf-16", "replace").encode()
    found: Json = {"pages": [], "sitemaps": []}
    if not body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        lines = (line.strip() for line in body.decode("utf-8-sig", "replace").splitlines())
        found["pages"] = [line for line in lines if _WEB_ADDRESS.fullmatch(line)][:MAX_LOCATIONS]
        return found
    if is_xml_feed(body):
        items = read_xml_feed(body.decode("utf-8", "replace"), url).items
        found["pages"] = [item.link for item in items if item.link]
        return found
    root, count = xml_tree(body), 0
    for element in root.iter() if root is not None else ():
        if count >= MAX_LOCATIONS:
            break
        kind = _LISTS.get(_local(element.getparent())) if _local(element) == "loc" else None
        location = resolved("".join(element.itertext())).strip() if kind else ""
        if kind and location and len(location) < MAX_LOCATION_CHARS:
            found[kind].append((join(url, location) or location) if url else location)
            count += 1
    return found


def _local(element: Any) -> str:
    tag = element.tag if element is not None and isinstance(element.tag, str) else ""
    return tag.rpartition("}")[2].rpartition(":")[2].lower()


def feed_page(feed: Feed, plain: bool) -> tuple[str, str]:
    """(title or "", text) of a feed, as Markdown or plain text. Raises EngineMissing."""
    inline = Inline(InlineStyle("", plain))
    title = _line_of(feed.about.title)
    authors = ", ".join(feed.about.authors)
    blocks = [_heading(title, 1, "", plain, inline), authors, written(feed.about.summary, plain)]
    size = 0
    for number, item in enumerate(feed.items, 1):
        if size > _MAX_TEXT_CHARS:
            break
        when = _date_of(item.published or item.updated)
        blocks.append(_heading(_line_of(item.title) or when or f"Item {number}", _ITEM_LEVEL, item.link, plain, inline))
        link = item.link if plain else ""
        author = ", ".join(item.authors)
        blocks.append(" · ".join(each for each in (link, when, author if plain else inline.escape(author)) if each))
        blocks.append(written(item.content if item.content.value else item.summary, plain))
        size += len(blocks[-1])
    return title, "\n\n".join(block for block in blocks if block)


def feed_links(feed: Feed) -> list[list[Any]]:
    """The items' pages as `engines.html.head.links_of` has them: `[canonical url, title, True]`, each once."""
    links: Json = {}
    for item in feed.items:
        if item.link and (url := link_target(item.link, item.link)) is not None:
            links.setdefault(url, [url, _line_of(item.title), True])
    return list(links.values())


def _heading(text: str, level: int, link: str, plain: bool, inline: Inline) -> str:
    if plain or not text:
        return text
    heading = f"{'#' * level} {inline.escape(text)}"
    return inline.linked_line(heading, link) or heading


def _line_of(text: FeedText) -> str:
    """A title as one line without markup."""
    value = text.value
    if text.is_html and (root := _tree(value)) is not None:
        value = text_of(root)
    return " ".join(value.split())[:_MAX_TITLE_CHARS]


def written(text: FeedText, plain: bool) -> str:
    """A text of an item as Markdown or plain text."""
    if not text.is_html:
        return text.value
    root = _tree(text.value)
    if root is None:
        return ""
    for heading in root.iter(*_LEVELS):
        heading.tag = _LEVELS[heading.tag]
    body = root.find("body")
    return Writer(WriterOptions(text.base, plain)).write(root if body is None else body)


def _tree(markup: str) -> Any:
    root = parse(markup) if markup.strip() else None
    if root is not None:
        drop_hidden(root)
        drop_code(root)
    return root


def _date_of(text: str) -> str:
    """`2026-11-20 14:05+00:00` for a date of RFC 822 or RFC 3339, the day alone where there is no time; others as
    they are."""
    text = " ".join(text[:_MAX_DATE_CHARS].split())
    if _DAY.fullmatch(text):
        return text
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return read(text).isoformat(" ", "minutes")
        except (ValueError, TypeError, OverflowError):
            continue
    return text
