"""Writes a feed as a page: its title and description, then each item below a heading of its own.

Runs in the parsing processes. What an item hides by its own styles is left out, as on other pages.
"""

import re
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from gateway.domain import Json
from gateway.engines.documents.feeds import Feed, FeedText
from gateway.engines.html.dom import parse, text_of
from gateway.engines.html.hidden import drop_hidden
from gateway.engines.html.metadata import link_target
from gateway.engines.html.no_text import drop_code
from gateway.engines.markdown.inline import Inline, InlineStyle
from gateway.engines.markdown.writer import Writer, WriterOptions

_MAX_TITLE_CHARS = 300
_MAX_DATE_CHARS = 64
_MAX_TEXT_CHARS = 2_000_000
"""Text after which no further item is written: no page has more (`engines.documents.page`)."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_ITEM_LEVEL = 2
_LEVELS = {f"h{level}": f"h{min(6, level + _ITEM_LEVEL)}" for level in range(1, 7)}
"""Headings inside items stand below those of the items, so that a fragment selects a whole item."""


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
    """The items' pages as `engines.html.metadata.links_of` has them: `[canonical url, title, True]`, each once."""
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
