"""Sets the label of a tab before the code that the tab shows: which language or tool each of several samples is for.

The labels stand in a row of their own, as buttons that are no text of the page. Read 2026-11-23: Material for MkDocs,
Docusaurus, VitePress, sphinx-tabs, Bootstrap. Runs in the parsing processes.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from gateway.engines.html.dom import remove_all, text_of, text_size

_LEVELS = 6
"""Boxes around a sample among which the shown one of a tab is looked for. Chosen: highlighters take two or three. At
half most are not found, at double nothing more is."""
_MAX_TABS = 20
"""Tabs of a row. Chosen: samples in ten languages exist. At half long rows lose their labels, at double menus are
rows."""
_ROW = re.compile(r"(?<![a-z])(?:code)?tab(?:s|bed|list)?(?![a-z])")
_LABEL_CHARS = 40
"""Longest label. Chosen: a language, or a system with its version. At half some are lost, at double sentences count."""


class TabRow(NamedTuple):
    """The element with the labels, and the (shown box, label) of each tab."""

    row: Any
    tabs: list[tuple[Any, str]]


def tab_rows(body: Any) -> list[TabRow]:
    """The rows of tabs of which one shows code. `body`: before anything is removed from it."""
    found: list[TabRow] = []
    seen: set[Any] = set()
    for pre in body.iter("pre"):
        box = pre
        for _ in range(_LEVELS):
            parent = box.getparent()
            if parent is None or parent in seen:
                break
            seen.add(parent)
            row = _row_of(box, parent)
            if row is not None:
                found.append(row)
                break
            box = parent
    return found


def set_labels(rows: list[TabRow]) -> None:
    """Writes the labels before the code that was kept, and removes their row."""
    for row, tabs in rows:
        kept = [(box, label) for box, label in tabs if next(box.iter("pre"), None) is not None]
        for box, label in kept:
            title = box.makeelement("p")
            title.append(strong := box.makeelement("strong"))
            strong.text, title.tail, box.text = label, box.text, None
            box.insert(0, title)
        if kept and row.getparent() is not None:
            remove_all([row])


def _row_of(box: Any, parent: Any) -> TabRow | None:
    name = box.get("class")
    boxes = [each for each in parent if each.tag == box.tag and _is_like(each, box, name)]
    if not 2 <= len(boxes) <= _MAX_TABS:
        return None
    for row in (boxes[0].getprevious(), parent.getprevious()):
        if row is not None and isinstance(row.tag, str) and _is_row(row):
            labels = list(itertools.islice(_labels(row), _MAX_TABS + 1))
            if len(labels) == len(boxes):
                return TabRow(row, list(zip(boxes, labels, strict=True)))
    return None


def _is_like(each: Any, box: Any, name: str | None) -> bool:
    """Whether two boxes are shown by tabs of one row: their classes differ in what the chosen one has besides."""
    role = box.get("role")
    if role == "tabpanel" or each is box:
        return each is box or each.get("role") == role
    return bool(name) and (each.get("class") or "").split()[:1] == (name or "").split()[:1]


def _is_row(row: Any) -> bool:
    return row.get("role") == "tablist" or _ROW.search((row.get("class") or "").lower()) is not None


def _labels(row: Any) -> Iterator[str]:
    for each in row.iter("button", "label", "li", "a"):
        inner = next(itertools.islice(each.iter("button", "label", "li", "a"), 1, None), None)
        if inner is None and 0 < text_size(each) <= _LABEL_CHARS:
            yield text_of(each)
