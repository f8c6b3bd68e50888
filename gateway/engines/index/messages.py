"""Queries that are messages of programs, for which whole manuals on one page rank lower.

A message is pasted with names, paths and numbers of its own. A manual on one page soon has a passage that holds some of
these by chance, so of two pages with as good a passage the shorter one is about the message. Runs in a reader thread.
"""

import math
import re

from gateway.engines.index.fusion import RankedPage
from gateway.engines.index.reader import IndexReader

_LABEL = re.compile(r"\w[\])]?:\s")
_NAME = re.compile(r"[a-z](?:Error|Exception|Warning)\b")
"""What makes a query a message: a label before a text (`FATAL: …`, `app.py:7: error: …`) or an exception's name."""

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
    return _LABEL.search(text) is not None or _NAME.search(text) is not None


def by_length(reader: IndexReader, pages: list[RankedPage], text: str) -> list[RankedPage]:
    """The pages, best first, where for a message long ones rank lower."""
    if not is_message(text):
        return pages
    best = pages[:_PAGES]
    counts = reader.passage_counts([page.row for page in best])
    for page in best:
        page.rank /= 1 + _SHARE * math.log2(max(counts.get(page.row, 1) / _LONG_PAGE, 1.0))
    return sorted(best, key=lambda page: -page.rank) + pages[_PAGES:]
