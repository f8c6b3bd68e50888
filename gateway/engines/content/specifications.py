"""Keeps the data of goods that a page tells in pairs: description lists and tables of names and short values.

Runs in the parsing processes. Knows neither models nor page types.
"""

import itertools
from collections.abc import Sequence
from typing import Any

from gateway.engines.content.blocks import TextBlock

_FIELD_WORDS = 16
"""Most words of a field, in the mean of a list. Chosen: "1x EN-EL15 rechargeable lithium-ion, 7 VDC, 1900 mAh" has
nine. At half, such lists are lost; at double, questions with their answers pass for data."""
_LEAST_FIELDS = 3
"""Fields of such a list. Chosen: a pair and one more; at half a caption is one, at double short lists are lost."""
_KEPT_SHARE = 0.1
"""Share of a table's words that the model must keep for the rest. Measured (bench.extract --cross-validate): without it
products lose .003 of word F1, as tables of sizes and of nutrients are no part of the labelled text; with it, .001.
At double nothing changes."""
_CELLS = frozenset({"dt", "dd", "th", "td"})
_CELL_DEPTH, _LIST_DEPTH = 4, 4
"""Elements from a text to its cell, and from a list of one pair to the box of all. Chosen: shops have up to three. At
half these are lost; at double nothing more is found."""
_NO_BOXES = ("body", "main")


def keep_specifications(blocks: Sequence[TextBlock], keep: list[bool], others: Sequence[bool]) -> None:
    """Keeps every field of a description list of short values without links, and of a table of which a part is kept.

    Lists of one pair each, in boxes of one shape side by side, are one list. `others`: the blocks that are known to be
    no content.
    """
    lists: dict[Any, list[int]] = {}
    for at, block in enumerate(blocks):
        box = _list_around(block.element)
        if box is not None:
            lists.setdefault(_box_of_pairs(box), []).append(at)
    for members in lists.values():
        words = sum(len(blocks[at].words) for at in members)
        kept = sum(len(blocks[at].words) for at in members if keep[at])
        is_linked = 2 * sum(blocks[at].link_words for at in members) > words
        if is_linked or len(members) < _LEAST_FIELDS or words > _FIELD_WORDS * len(members):
            continue
        if kept >= _KEPT_SHARE * words or _list_around(blocks[members[0]].element).tag == "dl":
            for at in members:
                keep[at] = keep[at] or not others[at]


def _list_around(element: Any) -> Any:
    """The table or description list in one of whose cells the element is; else None."""
    cells = itertools.islice(itertools.chain((element,), element.iterancestors()), _CELL_DEPTH)
    cell = next((each for each in cells if each.tag in _CELLS), None)
    return None if cell is None else next(cell.iterancestors("dl" if cell.tag in ("dt", "dd") else "table"), None)


def _box_of_pairs(box: Any) -> Any:
    """The box around lists of one pair each, or the list itself."""
    if box.tag == "table" or len(box) > 2:
        return box
    inner = box
    for _ in range(_LIST_DEPTH):
        outer = inner.getparent()
        if outer is None or outer.tag in _NO_BOXES:
            break
        shape = (inner.tag, inner.get("class"))
        if sum((each.tag, each.get("class")) == shape for each in outer) >= _LEAST_FIELDS:
            return outer
        inner = outer
    return box
