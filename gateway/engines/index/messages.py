"""Queries that are messages of programs: what differs each time is left out, and whole manuals on one page rank lower.

A message is pasted with times, addresses, numbers and names of its own, which no page about it has. A manual on one
page soon has a passage that holds some of these by chance, so of two pages with as good a passage the shorter one is
about the message. `by_length` runs in a reader thread.
"""

import math
import re

from gateway.engines.index.fusion import RankedPage
from gateway.engines.index.reader import IndexReader

_CLOCK = r"\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?"
_STAMP = (
    rf"\b\d{{4}}-\d\d-\d\d[T ]{_CLOCK}(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?|"  # 2025-02-11 09:12:44
    r"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    rf" {{1,2}}\d{{1,2}} {_CLOCK}(?: \d{{4}})?"  # Tue Mar 04 11:20:31 2025
)
_MARK = re.compile(rf"\w[\])]?:\s|[a-z](?:Error|Exception|Warning)\b|{_STAMP}|==\d{{1,10}}==|\w\[\d{{3,10}}\]")
"""What makes a query a message: a label before a text (`FATAL: …`, `app.py:7: error: …`), an exception's name, a time,
or the number of a process (`==4021==`, `worker[311]`)."""

_OWN_PARTS = re.compile(
    rf"{_STAMP}|\b0x[0-9A-Fa-f]{{1,16}}\b|\b\d{{1,3}}\.\d{{1,3}}\.\d{{1,3}}\.\d{{1,3}}(?::\d{{1,5}})?\b"
    r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}"  # an e-mail address
    r"|\[\d{1,10}\]|==\d{1,10}==|\b(?:pid|tid|uid|gid) ?[=:]? ?\d{1,20}\b"
)
_OWN_NUMBER = re.compile(
    r"(?<![\w.(])(?<!rrno )(?<!rror )(?<!ode )(?<!ignal )(?<!tatus )\d{1,2}(?:[.,]\d{1,9}){0,4}(?![\w.]{0,20}\w)"
)
"""Parts of a message that are of one run: times, addresses, processes; and numbers that are, of one or two digits or
with a point, unless a word before them or a parenthesis says that they are a code. Chosen on 93 messages over 23 sites
of documentation (`bench.search_quality`): MRR@10 .836 instead of .802, plain FTS5 bm25 .658; without the parts alone
.820; without paths and addresses of pages as well .81, since these name the program; without all numbers .817."""

_LEAST_WORDS = 2
_WORD = re.compile(r"[^\W\d_]{2,64}")
"""A message that would keep fewer words than this, such as one of numbers alone, is searched for unchanged."""

_LONG_PAGE = 100
_SHARE = 0.2
"""Passages of a page, as manuals on one page have them, from which its rank is lowered, and by what share at each
doubling. Chosen on 61 messages over six sets of documentation (`bench.search_quality`): MRR@10 .895 instead of .871 and
on no set below; from 25 passages on, which is best for 41 of them, long reference pages that answer are lost. Of 243
other questions none has the form of a message; for every query, or for names and lists of words as well, they lose .01
to .05."""

_PAGES = 20
"""The best pages that are compared, as in `coverage`."""


def is_message(text: str) -> bool:
    """Whether a query has the form of a program's message."""
    return _MARK.search(text) is not None


def lasting_text(text: str) -> str:
    """A message without the parts that are of one run alone; any other query as it is."""
    if not is_message(text):
        return text
    lasting = _OWN_NUMBER.sub(" ", _OWN_PARTS.sub(" ", text))
    return lasting if len(_WORD.findall(lasting)) >= _LEAST_WORDS else text


def by_length(reader: IndexReader, pages: list[RankedPage], text: str) -> list[RankedPage]:
    """The pages, best first, where for a message long ones rank lower."""
    if not is_message(text):
        return pages
    best = pages[:_PAGES]
    counts = reader.passage_counts([page.row for page in best])
    for page in best:
        page.rank /= 1 + _SHARE * math.log2(max(counts.get(page.row, 1) / _LONG_PAGE, 1.0))
    return sorted(best, key=lambda page: -page.rank) + pages[_PAGES:]
