"""A web feed as it was read, whatever its format, and the reader of JSON Feed 1.0 and 1.1.

Runs in the parsing processes. Knows neither Markdown nor the network. Source: JSON Feed 1.1.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from gateway.engines.fetch.urls import join

MAX_ITEMS = 500
"""Items read of one feed. Chosen: blogs have 10 to 50, archives of podcasts some hundred. At half these are cut; at
double, the longest page is reached by teasers alone. 500 items of 5 KB take 1 s of CPU."""
HEAD_BYTES = 4_096
"""Beginning of a body in which the signs of a feed are looked for."""
_JSON_VERSION = re.compile(rb'"version"\s{0,20}+:\s{0,20}+"https?:\\?/\\?/jsonfeed\.org\\?/version\\?/')
_MAX_AUTHORS = 5


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
