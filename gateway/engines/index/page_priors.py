"""What kind of page an address and a title speak of, as far as it says that guides should rank before it.

Listings, general indexes, source listings and release notes repeat the words of the guides that they point to, often
more densely than these. A query that asks for such a page by its own words is served as it asks.
"""

import re

_RELEASE_NOTES = re.compile(
    r"\b(?:change ?logs?|changes|release ?notes?|releases?|what ?s ?new|news|history|migration|announcements?)\b"
)
_LISTING = re.compile(
    r"\b(?:gen ?index|book ?index|mod ?index|py modindex|index|contents|toc|sitemap|glossary|quick ?reference|all)$"
)
_SOURCE = re.compile(r"/_modules/|/_sources/|/src/|/source/|\.(?:c|h|cc|cpp|py|rs|go|js|java)\.html?$")
_NOT_WORDS = re.compile(r"[\W_]+")

_PATH_CHARS, _TITLE_CHARS = 400, 200
"""Beginnings of a path and a title that are read: longer ones do not name a kind."""

RELEASE_NOTES_SHARE = 0.8
LISTING_SHARE = 0.7
SOURCE_SHARE = 0.75
"""By how much such pages' scores are lowered. Chosen on 139 questions over 5,500 documentation pages of 13 sites
(`bench.search_quality`): at half, pages that truly answer are lost behind weak guides; near 1, general indexes and
listings of modules come first for one question in twenty."""


def page_prior(url: str, title: str, query: str) -> float:
    """The factor for a page's score, 0.5 to 1. `query` is the caller's text."""
    path = url.partition("://")[2].partition("/")[2].partition("?")[0].lower()
    leaf = _NOT_WORDS.sub(" ", path.rpartition("/")[2].removesuffix(".html").removesuffix(".htm")).strip()
    asked = query.lower()
    if _SOURCE.search("/" + path) and "source" not in asked:
        return SOURCE_SHARE
    folders = _NOT_WORDS.sub(" ", path[:_PATH_CHARS])
    if (_RELEASE_NOTES.search(folders) or _RELEASE_NOTES.search(title.lower()[:200])) and not _RELEASE_NOTES.search(
        asked
    ):
        return RELEASE_NOTES_SHARE
    if leaf and leaf != "index" and _LISTING.search(leaf) and not _LISTING.search(asked):
        return LISTING_SHARE
    return 1.0
