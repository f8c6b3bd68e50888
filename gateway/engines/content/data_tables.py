"""Keeps the tables of data that belong to a text: a table with headings below a sentence that is kept.

Cells are short, and most tables of the pages from which the model learnt are layout, calendars or terms, so that the
model drops the tables for which a list or an article was written. Runs in the parsing processes. Knows neither models
nor page types.
"""

import itertools
from collections.abc import Sequence
from typing import Any

from gateway.engines.content.blocks import CATEGORIES, MASKS, TAG_BITS, TextBlock
from gateway.engines.content.short_pages import SENTENCE_WORDS

_LEAST_ROWS, _LEAST_CELLS = 3, 6
"""Rows and cells with text of such a table. Chosen: headings and two rows of three. At half, boxes of one line count;
at double, short tables of a text are lost."""
_LEAST_HEADINGS = 2
"""Cells at the beginning of a table without `th` that must be marked as headings. Chosen: a table of two columns. At
half, one name in bold makes layout a table; at double, tables of two columns are lost."""
_SENTENCE_REACH = 40
"""Blocks before the table that are searched for a kept sentence in the same box. Chosen: a table of contents, a caption
and a list may come between. At half such tables are lost, at double tables of other sections are kept."""
_WRAPPERS = 4
"""Boxes around a table alone that are looked through. Chosen: themes have up to three. At half some tables are lost; at
double nothing more is found."""
_HEADINGS = frozenset({"h2", "h3", "h4", "h5", "h6"})
_MENU = next(bit for (name, _), (bit, _) in zip(CATEGORIES, MASKS, strict=True) if name == "nav")


def keep_tables(blocks: Sequence[TextBlock], keep: list[bool], others: Sequence[bool]) -> None:
    """Keeps every cell of a table with headings of which some were dropped, and the heading directly above it; further
    tables in the same box follow the first. `others`: the blocks that are known to be no content; a table with one of
    them, or one that is named a menu, stays dropped."""
    cells = [at for at, block in enumerate(blocks) if block.tags & TAG_BITS["table"]]
    if not any(not keep[at] and _is_heading(blocks[at].element) for at in cells):
        return
    tables: dict[Any, list[int]] = {}
    known: dict[Any, Any] = {}
    for at in cells:
        if (table := _table_around(blocks[at].element, known)) is not None:
            tables.setdefault(table, []).append(at)
    after: tuple[Any, int] = (None, 0)
    for table, members in tables.items():
        is_menu = any(others[at] or blocks[at].far & _MENU for at in members)
        kept = sum(keep[at] for at in members)
        if kept == len(members) or is_menu or not _is_data(members, blocks, table):
            continue
        box, first = _box_around(table), members[0]
        follows_table = box is not None and box is after[0] and first - after[1] <= _SENTENCE_REACH
        if 2 * kept > len(members) or follows_table or _follows_sentence(box, first, blocks, keep):
            for at in members:
                keep[at] = True
            if first and blocks[first - 1].element.tag in _HEADINGS and not others[first - 1]:
                keep[first - 1] = True
            after = box, members[-1]


def _table_around(element: Any, known: dict[Any, Any]) -> Any:
    """The innermost table around the element, or None; `known` caches it for every element."""
    path: list[Any] = []
    box = element
    while box is not None and box not in known:
        path.append(box)
        if box.tag == "table":
            known[box] = box
            break
        box = box.getparent()
    table = known.get(box)
    known.update(dict.fromkeys(path, table))
    return table


def _is_data(members: Sequence[int], blocks: Sequence[TextBlock], table: Any) -> bool:
    rows = sum(1 for _ in itertools.islice(table.iter("tr"), _LEAST_ROWS))
    has_headings = any(blocks[at].element.tag == "th" for at in members)
    if not has_headings and 2 * sum(blocks[at].link_words for at in members) < sum(
        len(blocks[at].words) for at in members
    ):
        has_headings = all(_is_heading(blocks[at].element) for at in members[:_LEAST_HEADINGS])
    return has_headings and rows == _LEAST_ROWS and len(members) >= _LEAST_CELLS


def _is_heading(element: Any) -> bool:
    """Whether a cell, or what is in it, is a heading by its tag or class or is all in bold."""
    if element.tag == "th":
        return True
    if "head" in (element.get("class") or ""):
        return True
    bold = element[0] if len(element) == 1 and not (element.text or "").strip() else None
    return bold is not None and bold.tag in ("b", "strong") and not (bold.tail or "").strip()


def _box_around(table: Any) -> Any:
    """The innermost box around the table, or None, that holds something else."""
    box = table.getparent()
    for _ in range(_WRAPPERS):
        if box is None or len(box) > 1:
            break
        box = box.getparent()
    return box


def _follows_sentence(box: Any, first: int, blocks: Sequence[TextBlock], keep: Sequence[bool]) -> bool:
    """True when a sentence is kept before the table in the box around it. `first`: the table's first block."""
    return any(
        keep[at] and len(blocks[at].words) >= SENTENCE_WORDS and blocks[at].element.getparent() is box
        for at in range(max(0, first - _SENTENCE_REACH), first)
    )
