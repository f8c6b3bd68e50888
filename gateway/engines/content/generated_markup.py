"""Gives code and tables that generators of documentation draw with `div` elements the tags that say so.

Doxygen writes each line of code as a `div`, Javadoc (17 and later) each cell of its summaries. Read 2026-11-23. Runs in
the parsing processes, in a document whose names are known already: other pages cost nothing.
"""

from collections.abc import Collection
from typing import Any

from gateway.engines.html.dom import remove_all

_CODE, _LINE, _TOOLTIP = "fragment", "line", "ttc"
"""Doxygen: the box of the code, a line, and what its style sheet shows when the reader points at a name."""
_GRID, _HEAD = "summary-table", "table-header"
"""Javadoc: the box of the cells and the class of those in the first row."""


def retag(root: Any, names: Collection[str]) -> bool:
    """Retags the boxes in place; True if the document has any. `names`: "class id" of the elements of the document."""
    joined = " ".join(names)
    if _CODE not in joined and _GRID not in joined:
        return False
    found = False
    inside: set[Any] = set()
    for box in list(root.iter("div")):
        words = (box.get("class") or "").split()
        if _CODE in words and box not in inside:
            inner = list(box.iter("div"))[1:]
            inside.update(inner)
            found = _write_code(box, inner) or found
        elif _GRID in words:
            found = _write_table(box) or found
    return found


def _write_code(box: Any, inner: list[Any]) -> bool:
    lines = [each for each in inner if each.get("class") == _LINE]
    if not lines:
        return False
    remove_all([each for each in inner if each.get("class") == _TOOLTIP])
    box.tag, box.text = "pre", None
    for each in inner:
        each.tag, each.tail = "span", None
    for line in lines:
        line.tail = "\n"
    return True


def _write_table(box: Any) -> bool:
    cells = [cell for cell in box if isinstance(cell.tag, str)]
    width = 0
    while width < len(cells) and _HEAD in (cells[width].get("class") or "").split():
        width += 1
    if not width or len(cells) % width:
        return False
    box.tag, box.text = "table", None
    row = box
    for at, cell in enumerate(cells):
        if at % width == 0:
            row = box.makeelement("tr")
            box.append(row)
        cell.tag, cell.tail = ("th" if at < width else "td"), None
        row.append(cell)
    return True
