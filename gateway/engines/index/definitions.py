"""Queries that are one name, for which pages that define the name rank before pages that mention it.

Reference pages define a name as a term (a short line of its own with a description below it), in a heading or in their
title. Indexes, tables of contents and guides have it in lists and sentences, often more densely. Runs in a reader
thread.
"""

import re
from functools import partial

from gateway.engines.answer.tokens import fold
from gateway.engines.index.fusion import RankedPage
from gateway.engines.index.reader import Candidate, IndexReader

_SHARE = 1.0
"""By how much a page gains. Chosen on 124 names (settings, functions, classes, directives, fields) over seven sites,
the right page told by the anchor of the definition (`bench.search_quality`): MRR@10 .927 instead of .766, plain FTS5
bm25 .722; with .25 .857, with .5 .894. 128 headings of one or two words, as queries: .669 instead of .631."""
_PAGES, _PASSAGES = 20, 5
"""The best pages that are compared, as in `coverage`, and how many of their best passages are read. Chosen: at half,
guides that repeat a name hide its reference; double costs 15 ms of CPU and finds little."""

_NAME = re.compile(r"([^\W\d][\w.:-]{2,80}+)(?:\(\)|=)?")
_LIST_ITEM = re.compile(r"(?:[-+]|\d{1,9}[.)])\s")
_HEADING_REST_CHARS = 12
"""What may follow a name in its heading, as "directive" does. Chosen: at half such words are lost, at double sentences
in headings define names."""
_TERM_CHARS = 200
_DESCRIPTION_CHARS = 400
"""Longest line that may be a term, as in `passages`, and beginning of its description in which a sentence ends."""
_SENTENCE_END = re.compile(r"[.:!?](?:\s|\Z)")
_MOST_PLACES = 20
"""Occurrences of a name that are checked in one passage: real pages have fewer."""
_BLANKS = re.compile(r"[ \t_]+")


def by_definition(reader: IndexReader, pages: list[RankedPage], text: str) -> list[RankedPage]:
    """The pages, best first, where for a name those gain that define it; the passage that does comes first."""
    found = _NAME.fullmatch(text.strip())
    if found is None:
        return pages
    name = _plain(found[1].rstrip(".:-"))
    best = pages[:_PAGES]
    page_of = {each.row: page for page in best for each in page.passages[:_PASSAGES]}
    defining: dict[int, int] = {}
    for row, title, headings, body in reader.passage_words(list(page_of)):
        if _holds(_plain(title), name) or defines(name, headings, body):
            defining.setdefault(page_of[row].row, row)
    for page in best:
        if first := defining.get(page.row):
            page.rank *= 1 + _SHARE
            page.passages = sorted(page.passages, key=partial(_is_other, first))
    return sorted(best, key=lambda page: -page.rank) + pages[_PAGES:]


def defines(name: str, headings: str, body: str) -> bool:
    """Whether a passage defines the name: in its last heading, or as a term."""
    path = _plain(headings)
    at = path.rfind(name)
    if at >= 0 and len(path) - at - len(name) <= _HEADING_REST_CHARS and _holds(path[max(at - 1, 0) :], name):
        return True
    folded = _plain(body)
    at = -1
    for _ in range(_MOST_PLACES):
        at = folded.find(name, at + 1)
        if at < 0:
            return False
        start, end = folded.rfind("\n", 0, at) + 1, folded.find("\n", at)
        if end < 0:
            return False
        if _is_term(folded[start:end], name) and _is_described(folded[end : end + _DESCRIPTION_CHARS]):
            return True
    return False


def _is_other(row: int, each: Candidate) -> bool:
    return each.row != row


def _plain(text: str) -> str:
    """The text as names are compared in: folded, and without underscores, which the index's texts do not have."""
    return _BLANKS.sub(" ", fold(text))


def _is_term(line: str, name: str) -> bool:
    line = line.strip()
    return len(line) <= _TERM_CHARS and line[-1:] not in ".:;,!?" and not _LIST_ITEM.match(line) and _holds(line, name)


def _is_described(text: str) -> bool:
    """Whether a blank line and a sentence follow."""
    blank, _, below = text[1:].partition("\n")
    sentence = below.lstrip().partition("\n")[0]
    return not blank.strip() and _SENTENCE_END.search(sentence) is not None and not _LIST_ITEM.match(sentence)


def _holds(line: str, name: str) -> bool:
    """Whether the name is in the line as a whole word."""
    before, found, after = line.partition(name)
    return bool(found) and not (before[-1:].isalnum() or after[:1].isalnum())
