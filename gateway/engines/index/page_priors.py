"""What kind of page an address and a title speak of, as far as it says that guides should rank before it.

Listings, general indexes, source listings and release notes repeat the words of the guides that they point to, often
more densely than these. A query that asks for such a page by its own words is served as it asks.
"""

import re

from gateway.engines.answer.tokens import INSTRUCTION_WORDS, terms

_RELEASE_NOTES = re.compile(
    r"\b(?:change ?logs?|changes|release ?notes?|releases?|what ?s ?new|news|history|migration|announcements?)\b"
)
_LISTING = re.compile(
    r"\b(?:gen ?index(?: [a-z]+)?|book ?index|mod ?index|py modindex|index|contents|toc|sitemap|glossary"
    r"|quick ?reference|cross ?ref(?:erence)?|all)$"
)
_SOURCE = re.compile(r"/_modules/|/_sources/|/src/|/source/|\.(?:c|h|cc|cpp|py|rs|go|js|java)\.html?$")
_NOT_WORDS = re.compile(r"[\W_]+")

_PATH_CHARS, _TITLE_CHARS = 400, 200
"""Beginnings of a path and a title that are read: longer ones do not name a kind."""

RELEASE_NOTES_SHARE = 0.8
KIND_WORD_SHARE = 0.5
LISTING_SHARE = 0.7
SOURCE_SHARE = 0.75
"""By how much such pages' scores are lowered. Chosen on 139 questions over 5,500 documentation pages of 13 sites
(`bench.search_quality`): at half, pages that truly answer are lost behind weak guides; near 1, general indexes and
listings of modules come first for one question in twenty. KIND_WORD_SHARE: release notes of whose name the query has
another form ("change the port", the page Changes), since the title's weight then speaks for the kind, not the subject.
"""

NAMED_SITE_SHARE = 1.3
_LEAST_NAME_CHARS = 3
_LEAST_NAME_SHARE = 0.4
"""By how much the pages of a site are raised that a word of the query names: the word is a label of the host or the
first folder of the path, or begins it (`postgres` names www.postgresql.org) and is at least so long. Chosen on 239
questions over four sets of documentation (`bench.search_quality`): MRR@10 .716 instead of .700, questions in other
words than the page's .404 instead of .370, and no kind is below; at 1.1 .704, at 2 .720, where a site's name counts
more than the question."""
_LABEL = re.compile(r"[^\W\d_]\w{0,60}")


def page_prior(url: str, title: str, query: str) -> float:
    """The factor for a page's score, 0.5 to 1.3. `query` is the caller's text."""
    return _kind_share(url, title, query) * (NAMED_SITE_SHARE if _is_named(url, query) else 1.0)


def subject(url: str, title: str, query: str) -> str:
    """The title without the words that name its kind, where these lower the page's rank."""
    is_lowered = _kind_share(url, title, query) in (RELEASE_NOTES_SHARE, KIND_WORD_SHARE)
    return _RELEASE_NOTES.sub(" ", _bare(title[:_TITLE_CHARS])) if is_lowered else title


def asks_for_listing(query: str) -> bool:
    """Whether a query names a listing, such as an index or contents, at its end."""
    return _LISTING.search(_bare(query).strip()) is not None


def _bare(text: str) -> str:
    """The words of a text, one blank between them."""
    return _NOT_WORDS.sub(" ", text.lower())


def _kind_words(names: str) -> set[str]:
    """The stems of the words by which an address or a title is one of release notes."""
    return {stem for match in _RELEASE_NOTES.findall(names) for stem in terms(match)}


def _is_named(url: str, query: str) -> bool:
    """Whether a word of the query names the page's site."""
    host, _, path = url.partition("://")[2][:_PATH_CHARS].lower().partition("/")
    folder, slash, _ = path.partition("/")
    labels = _LABEL.findall(f"{host.rpartition('.')[0]} {folder if slash else ''}")
    words = [word for word in _LABEL.findall(query.lower()) if len(word) >= _LEAST_NAME_CHARS]
    return any(
        label.startswith(word) and len(word) >= len(label) * _LEAST_NAME_SHARE
        for word in words
        if word not in INSTRUCTION_WORDS
        for label in labels
    )


def _kind_share(url: str, title: str, query: str) -> float:
    path = url.partition("://")[2].partition("/")[2].partition("?")[0].lower()
    leaf = _bare(path.rpartition("/")[2].removesuffix(".html").removesuffix(".htm")).strip()
    asked = _bare(query)
    if _SOURCE.search("/" + path) and "source" not in asked:
        return SOURCE_SHARE
    names = f"{_bare(path[:_PATH_CHARS])}. {_bare(title[:_TITLE_CHARS])}"
    if not _RELEASE_NOTES.search(asked) and (kind := _kind_words(names)):
        return KIND_WORD_SHARE if kind & set(terms(asked)) else RELEASE_NOTES_SHARE
    if leaf and leaf != "index" and _LISTING.search(leaf) and not _LISTING.search(asked):
        return LISTING_SHARE
    return 1.0
