"""Removing many elements at once, compared with removing one after the other."""

import random
from typing import Any

from lxml import etree

from gateway.engines.html.tree import remove_all


def _remove(element: Any) -> None:
    """The naive form: one element, whose following text stays."""
    parent, before, tail = element.getparent(), element.getprevious(), element.tail or ""
    if before is not None and tail:
        before.tail = (before.tail or "") + tail
    elif tail:
        parent.text = (parent.text or "") + tail
    parent.remove(element)


def _markup(source: random.Random, depth: int = 0) -> str:
    pieces = []
    for _ in range(source.randint(0, 4)):
        tag = source.choice("pbn")
        inside = _markup(source, depth + 1) if depth < 4 else ""
        pieces.append(f"{source.choice(['', 'text '])}<{tag}>{inside}</{tag}>{source.choice(['', 'tail '])}")
    return "".join(pieces)


def test_elements_removed_together_leave_what_they_leave_one_by_one() -> None:
    for seed in range(300):
        markup = f"<r>{_markup(random.Random(seed))}</r>"
        together, one_by_one = etree.fromstring(markup), etree.fromstring(markup)
        remove_all(list(together.iter("n")))
        for element in list(one_by_one.iter("n")):
            _remove(element)
        assert etree.tostring(together) == etree.tostring(one_by_one)
