"""Reads one sitemap or sitemap index: the addresses of its pages and of further sitemaps.

Runs in the parsing processes. It knows no network, does not judge the addresses, and does not unpack gzip.
Format: sitemaps.org protocol 0.9, read 2026-11-21.
"""

from typing import Any

from gateway.domain import Json
from gateway.engines.documents.xml_events import read_events, resolved

MAX_LOCATIONS = 50_000
"""Most addresses taken from one file. From the protocol: a sitemap lists at most 50,000 URLs."""
MAX_LOCATION_CHARS = 2_048
"""Longer addresses are dropped. From the protocol: a location has fewer than 2,048 characters."""
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
        location = resolved(text).strip()
        if location and len(location) < MAX_LOCATION_CHARS and not self.is_full:
            locations.append(location)


def read_sitemap(body: bytes) -> Json:
    """`{pages: [address], sitemaps: [address]}`, at most MAX_LOCATIONS together, in document order.

    Broken XML gives the addresses up to where it cannot be read any further; what is no XML gives none.
    Raises EngineMissing.
    """
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        body = body.decode("utf-16", "replace").encode()
    target = _LocationTarget()
    read_events(target, body)
    return dict(target.locations)
