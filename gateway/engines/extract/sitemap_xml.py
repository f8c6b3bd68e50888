"""Reads one sitemap or sitemap index: the addresses of its pages and of further sitemaps.

Runs in the parsing processes. It knows no network, does not judge the addresses, and does not unpack gzip.
Format: sitemaps.org protocol 0.9, read 2026-11-21.
"""

import re
from html import unescape
from typing import Any

from gateway.domain import Json
from gateway.engines.html.tree_builder import MISSING
from gateway.errors import EngineMissing

MAX_LOCATIONS = 50_000
"""Most addresses taken from one file. From the protocol: a sitemap lists at most 50,000 URLs."""
MAX_LOCATION_CHARS = 2_048
"""Longer addresses are dropped. From the protocol: a location has fewer than 2,048 characters."""
_FED_BYTES = 65_536
"""Bytes given to the parser at once. Changes no result; a full list is noticed at most this many bytes late."""
_REFERENCE = re.compile(r"&(?:amp|lt|gt|quot|apos|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")
_PARENTS = {"url": "pages", "urlset": "pages", "sitemap": "sitemaps", "sitemapindex": "sitemaps"}
"""Which list a `<loc>` belongs to, by the element it is in. `<image:loc>` is in `<image:image>`, so it is in neither.
A `<loc>` directly in the root element is no valid sitemap, but means what it says."""


class _LocationTarget:
    """Parser target that builds no tree: it notes the open elements and collects the text of each `<loc>`."""

    def __init__(self) -> None:
        self.locations: dict[str, list[str]] = {"pages": [], "sitemaps": []}
        self._open: list[str] = []
        self._list: list[str] | None = None
        self._text: list[str] = []

    @property
    def is_full(self) -> bool:
        return sum(map(len, self.locations.values())) >= MAX_LOCATIONS

    def start(self, tag: str, _: Any) -> None:
        name = tag.rpartition("}")[2].lower()
        kind = _PARENTS.get(self._open[-1]) if self._open and name == "loc" else None
        self._list = None if kind is None else self.locations[kind]
        self._text = []
        self._open.append(name)

    def end(self, _: str) -> None:
        if self._list is not None:
            self._add(self._list, "".join(self._text))
        self._list = None
        if self._open:
            self._open.pop()

    def data(self, text: str) -> None:
        if self._list is not None:
            self._text.append(text)

    def close(self) -> None:
        """lxml requires the method."""

    def _add(self, locations: list[str], text: str) -> None:
        location = _REFERENCE.sub(lambda match: unescape(match[0]), text).strip()
        if location and len(location) < MAX_LOCATION_CHARS and not self.is_full:
            locations.append(location)


def read_sitemap(body: bytes) -> Json:
    """`{pages: [address], sitemaps: [address]}`, at most MAX_LOCATIONS together, in document order.

    Broken XML gives the addresses up to where it cannot be read any further; what is no XML gives none.
    Raises EngineMissing.
    """
    try:
        from lxml import etree  # noqa: PLC0415 - an optional extra, and only in the parsing processes
    except ImportError as error:
        raise EngineMissing(MISSING) from error
    target = _LocationTarget()
    parser = etree.XMLParser(
        target=target,
        encoding="utf-8",
        recover=True,
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
    )
    markup = _without_references(body)
    try:
        for start in range(0, len(markup), _FED_BYTES):
            parser.feed(markup[start : start + _FED_BYTES])
            if target.is_full:
                break
        parser.close()
    except etree.LxmlError:
        pass  # the addresses before the fault count
    return dict(target.locations)


def _without_references(body: bytes) -> bytes:
    """The document as UTF-8 with every `&` written as `&#38;`.

    So the parser meets no entity: it would expand those of the document (libxml2 does so for a parser target whatever
    `resolve_entities` says) and lose a bare `&` as in `?a=1&b=2`. `_LocationTarget` resolves the standard references.
    """
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        body = body.decode("utf-16", "replace").encode()
    return body.lstrip().replace(b"&", b"&#38;")
