"""Reads RSS 0.9 to 2.0, RSS 1.0 (RDF), Atom 0.3 and 1.0.

Runs in the parsing processes. Knows neither Markdown nor the network. Sources: RSS 2.0, RFC 4287, RSS 1.0 with its
modules content and dc. For parts that are missing or misused the rules follow feedparser (its documentation and source,
read 2026-11-23): a guid that is a permalink stands for a missing link; in RSS, where a text has no type, one with an
end tag or a reference is HTML; relative addresses are resolved against `xml:base`, else against the feed's own.
"""

import html
import itertools
import re
from dataclasses import dataclass, field
from typing import Any

from gateway.engines.documents.feeds import HEAD_BYTES, MAX_ITEMS, Feed, FeedPart, FeedText, address_of
from gateway.engines.documents.xml_events import read_events, resolved
from gateway.engines.fetch.urls import join

_XML_ROOT = re.compile(
    rb"\A(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*+"
    rb"(?:<(?:!--(?:[^-]|-(?!->)){0,1000}+--|!DOCTYPE[^\[>]{0,300}+(?:\[[^\]]{0,3000}+\]\s*+)?|\?[^>]{0,1000}+)>\s*+){0,8}+"
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
_XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_RDF_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_HTML_TYPES = frozenset({"html", "xhtml", "text/html", "application/xhtml+xml"})
_PLAIN_TYPES = frozenset({"text", "text/plain"})
_EMPTY = frozenset({"area", "br", "col", "embed", "hr", "img", "input", "source", "track", "wbr"})
_LIKE_HTML = re.compile(r"</[A-Za-z]|<(?:br|hr|img|p)[\s/>]|&(?:[A-Za-z]{2,8}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")


def is_xml_feed(body: bytes) -> bool:
    """Whether a body is RSS or Atom, by its root element."""
    return _XML_ROOT.match(body[:HEAD_BYTES].replace(b"\x00", b"")) is not None  # UTF-16 too


def read_xml_feed(text: str, url: str) -> Feed:
    """The feed of a document at `url`; broken XML gives the items before the fault. Raises EngineMissing."""
    target = _FeedTarget(url)
    read_events(target, text.encode("utf-8", "replace"))
    for item in target.items:
        item.link = item.link or item.guid
    return Feed(target.about, target.items)


@dataclass(slots=True)
class _Field:
    """The element being read: what it means, its depth inside, its pieces (text, or markup of elements inside)."""

    name: str
    kind: str
    base: str
    depth: int = 0
    pieces: list[tuple[str, bool]] = field(default_factory=list)

    def text(self) -> FeedText:
        if any(is_markup for _, is_markup in self.pieces):
            runs = itertools.groupby(self.pieces, lambda piece: piece[1])  # a reference may come in several pieces
            texts = [("".join(text for text, _ in run), is_markup) for is_markup, run in runs]
            markup = "".join(text if is_markup else html.escape(resolved(text)) for text, is_markup in texts)
            return FeedText(markup, True, self.base)
        if self.kind not in _HTML_TYPES | _PLAIN_TYPES | {""}:
            return FeedText()  # a picture, or data in base64
        text = resolved("".join(text for text, _ in self.pieces)).strip()
        is_html = self.kind in _HTML_TYPES or (not self.kind and _LIKE_HTML.search(text) is not None)
        return FeedText(text, is_html, self.base)

    def person(self) -> str:
        """Atom's name of a person, which has more elements; else the text."""
        pieces = iter(self.pieces)
        if any(is_markup and text.startswith("<name") for text, is_markup in pieces):
            texts = [text for text, _ in itertools.takewhile(lambda piece: not piece[1], pieces)]
        else:
            texts = [text for text, is_markup in self.pieces if not is_markup]
        return resolved("".join(texts))


class _FeedTarget:
    """Parser target that builds no tree. Outside a field it notes the open elements with their bases; inside one it
    collects text, and elements as markup: Atom's XHTML, and HTML that nobody escaped."""

    def __init__(self, url: str) -> None:
        self.about = FeedPart()
        self.items: list[FeedPart] = []
        self._open: list[tuple[str, str]] = [("", url)]
        self._field: _Field | None = None
        self._in_item = self._ended = False

    @property
    def is_full(self) -> bool:
        return self._ended

    def start(self, tag: str, attributes: Any) -> None:
        if self._field is not None:
            self._field.depth += 1
            self._field.pieces.append((_start_tag(tag, attributes), True))
            return
        name, (parent, base) = _name_of(tag), self._open[-1]
        if _XML_BASE in attributes:
            base = join(base, attributes[_XML_BASE]) or base
        if name in _ITEMS:
            self._ended = self._ended or len(self.items) >= MAX_ITEMS
            self._in_item = True
            if not self._ended:
                self.items.append(FeedPart(link=address_of(base, attributes.get(_RDF_ABOUT, ""))))
        meaning = _FIELDS.get(name) if parent in _CONTAINERS else None
        if meaning == "link" and "href" in attributes:
            self._add_link(attributes, base)
        elif meaning == "guid" and attributes.get("ispermalink", attributes.get("isPermaLink", "true")) == "false":
            pass
        elif meaning is not None and not self._ended:
            self._field = _Field(meaning, _kind_of(attributes) or ("text" if parent in _ATOM else ""), base)
        self._open.append((name, base))

    def end(self, tag: str) -> None:
        current = self._field
        if current is not None and current.depth:
            current.depth -= 1
            if (name := _local(tag)) not in _EMPTY:
                current.pieces.append((f"</{name}>", True))
            return
        if current is not None:
            self._set(current)
            self._field = None
        if len(self._open) > 1 and self._open.pop()[0] in _ITEMS:
            self._in_item = False

    def data(self, text: str) -> None:
        if self._field is not None:
            self._field.pieces.append((text, False))

    def close(self) -> None:
        """lxml requires the method."""

    @property
    def _part(self) -> FeedPart:
        return self.items[-1] if self._in_item else self.about

    def _add_link(self, attributes: Any, base: str) -> None:
        if not self._ended and attributes.get("rel", "alternate") == "alternate" and not self._part.link:
            self._part.link = address_of(base, attributes["href"])

    def _set(self, read: _Field) -> None:
        part = self._part
        if read.name == "author":
            part.add_author(read.person())
            return
        text = read.text()
        if not text.value:
            return
        if read.name in ("title", "summary", "content"):
            if not getattr(part, read.name).value:
                setattr(part, read.name, text)
        elif read.name == "link":
            part.link = join(read.base, text.value) or part.link
        elif read.name == "guid":
            part.guid = address_of("", text.value)
        elif not getattr(part, read.name):
            setattr(part, read.name, text.value)


def _name_of(tag: str) -> str:
    """An element's name in lower case with the usual prefix of its namespace; "" for one of no known namespace."""
    namespace, _, name = tag.rpartition("}")
    prefix = _NAMESPACES.get(namespace[1:]) if namespace else ""
    return "" if prefix is None else f"{prefix}{name.lower()}"


def _local(tag: str) -> str:
    return tag.rpartition("}")[2].rpartition(":")[2].lower()


def _start_tag(tag: str, attributes: Any) -> str:
    written = "".join(
        f' {name}="{html.escape(resolved(value))}"' for name, value in attributes.items() if not name.startswith("{")
    )
    return f"<{_local(tag)}{written}>"


def _kind_of(attributes: Any) -> str:
    """The type of a text as Atom 1.0 names it, or its media type, as in Atom 0.3."""
    return str(attributes.get("type", "")).partition(";")[0].strip().lower()
