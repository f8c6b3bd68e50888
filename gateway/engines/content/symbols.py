"""Finds code and terms that consist of symbols alone (`{{ '{{' }}`, `//`) beside content.

A block without words is not measured, and would go with all that was not chosen. Runs in the parsing processes.
"""

import itertools
import re
from collections.abc import Container
from typing import Any

from gateway.engines.content.blocks import WORD
from gateway.engines.html.dom import raw_text

_SYMBOL = re.compile(r"[!-/:-@\[-`{-~]")
_WRAPPERS = 3
"""Boxes around a sample alone that are looked through. Chosen: highlighters have two. At half their samples are lost;
at double nothing more is found."""
_LEVELS = 50
"""A sample with so many elements is skipped, because it is code with words. Chosen: a highlighter wraps each symbol in
an element. At half, long operators are lost; at double, more of a page's code is read for nothing."""


def symbols_beside(body: Any, alive: Container[Any]) -> set[Any]:
    """The elements, without words, of each term and code sample whose neighbour is in `alive`, and their boxes."""
    found: set[Any] = set()
    for element in reversed(list(body.iter("dt", "pre"))):  # of several terms, the last is beside their definition
        if element in alive or next(element.iter("a"), None) is not None:
            continue
        inside = list(itertools.islice(element.iter(), _LEVELS))
        text = "" if len(inside) == _LEVELS else raw_text(element)
        if not _SYMBOL.search(text) or WORD.search(text):
            continue
        boxes = [element]
        while len(boxes) <= _WRAPPERS and len(parent := boxes[-1].getparent()) == 1 and parent not in alive:
            boxes.append(parent)
        near = [boxes[-1].getnext()] if element.tag == "dt" else [boxes[-1].getprevious(), boxes[-1].getnext()]
        if any(each is not None and (each in alive or each in found) for each in near):
            found.update(inside, boxes)
    return found
