"""Tells tables of data from layout and writes them as GFM tables (GFM 0.29, 4.10)."""

from collections.abc import Callable
from typing import Any

from gateway.engines.html.tree import text_size

_MAX_COLUMNS = 60  # columns of a table, and rows or columns of one cell: a forged span must not blow up the text
_NESTED_CHARS = 300  # longest nested table beside a text in its cell
_MAX_NESTED = 3  # tables inside cells that are written as rows
_HEADINGS = ("h1", "h2", "h3")
_LAYOUT_CHARS = 1500
"""A table without headings whose longest cell has as many characters lays out a page: a cell of data is no article."""


def rows_of(table: Any) -> list[list[Any]]:
    """The cells of each non-empty row, in document order, without those of nested tables."""
    rows: list[list[Any]] = []
    parts = sorted(table, key=lambda part: part.tag == "tfoot")  # which may stand before the body
    for child in parts:
        if child.tag == "tr":
            rows.append(_cells(child))
        elif child.tag in ("thead", "tbody", "tfoot"):
            rows += [_cells(row) for row in child if row.tag == "tr"]
    return [row for row in rows if row]


def _cells(row: Any) -> list[Any]:
    return [cell for cell in row if cell.tag in ("td", "th")]


def is_data(table: Any, rows: list[list[Any]]) -> bool:
    """False for layout: one row or column, nested tables, headings, articles or code in cells. `rows`: see rows_of.

    Of a table with headings a role that denies it is not believed: shops set it on their specifications."""
    has_heads = any(cell.tag == "th" for row in rows for cell in row)
    if not rows or (not has_heads and (table.get("role") or "").lower() in ("presentation", "none")):
        return False
    if not _is_wide(rows):
        return has_heads and len(rows) > 1
    for inner in table.iter("table", *_HEADINGS):
        if inner is not table and not (has_heads and inner.tag == "table" and _is_small(inner)):
            return False
    if has_heads:
        return True
    programs = sum("\n" in "".join(code.itertext()).strip() for code in table.iter("pre"))
    if programs and 2 * programs >= len(rows):
        return False
    return _are_short(rows)


def _is_small(inner: Any) -> bool:
    return _alone_in_cell(inner) is not None or text_size(inner) <= _NESTED_CHARS


def _alone_in_cell(inner: Any) -> Any | None:
    """The cell of which a nested table is all; None where something else stands beside it."""
    box = inner.getparent()
    while box is not None and box.tag not in ("td", "th"):
        box = box.getparent()
    return box if box is not None and text_size(box) == text_size(inner) else None


def _is_wide(rows: list[list[Any]]) -> bool:
    """True if several cells of a row hold something: some tables part their columns by empty ones."""
    return any(sum(len(cell) > 0 or bool((cell.text or "").strip()) for cell in row) > 1 for row in rows)


def _are_short(rows: list[list[Any]]) -> bool:
    """True for several rows without an article in a cell."""
    return len(rows) > 1 and max(len("".join(cell.itertext())) for row in rows for cell in row) < _LAYOUT_CHARS


def headed_parts(table: Any, rows: list[list[Any]]) -> list[tuple[bool, list[list[Any]]]]:
    """The rows of a table whose headings have rows of their own, as Doxygen lists the members of a class: each heading
    alone, and what is below it with whether that is data. Empty for any other table."""
    if next((inner for inner in table.iter("table") if inner is not table), None) is not None:
        return []
    parts: list[tuple[bool, list[list[Any]]]] = []
    for row in rows:
        if any(next(cell.iter(*_HEADINGS), None) is not None for cell in row):
            if len(row) > 1:
                return []
            parts += [(False, [row]), (True, [])]
        elif parts:
            parts[-1][1].append(row)
        else:
            parts.append((True, [row]))
    if all(is_data for is_data, _ in parts):
        return []
    return [(is_data and _is_wide(part) and _are_short(part), part) for is_data, part in parts if part]


def write(rows: list[list[Any]], cell_text: Callable[[Any], str], plain: bool) -> str:
    """The table as lines: GFM, or tab-separated when `plain`; empty without text.

    `cell_text` gives a cell's lines, joined by line ends. The further places that a spanning cell covers are empty; the
    rows of a table that is all of a cell are rows beside it.
    """
    grid = [[_on_one_line(cell, plain) for cell in row] for row in _grid(rows, cell_text) if any(row)]
    if not grid:
        return ""
    width = max(len(row) for row in grid)
    grid = [row + [""] * (width - len(row)) for row in grid]
    filled = [at for at in range(width) if any(row[at] for row in grid)]
    if len(filled) < width:  # columns that only part others
        grid, width = [[row[at] for at in filled] for row in grid], len(filled)
    if plain:
        return "\n".join("\t".join(row).rstrip("\t") for row in grid)
    lines = [_line([cell.replace("|", "\\|") for cell in row]) for row in grid]
    return "\n".join([lines[0], _line(["---"] * width), *lines[1:]])


def _grid(rows: list[list[Any]], cell_text: Callable[[Any], str], depth: int = 0) -> list[list[str]]:
    grid: list[list[str]] = []
    below: dict[int, int] = {}
    for row in rows:
        line: list[str] = []
        under: list[list[str]] = []
        for cell in row:
            _skip_spanned(line, below)
            inner = next(cell.iter("table"), None) if depth < _MAX_NESTED else None
            if inner is not None and _alone_in_cell(inner) is cell:
                first, *others = _grid(rows_of(inner), cell_text, depth + 1) or [[""]]
                under += [[""] * len(line) + other for other in others]
                line += first
                continue
            text = cell_text(cell)
            columns, height = _span(cell, "colspan"), _span(cell, "rowspan")
            for offset in range(columns):
                if height > 1:
                    below[len(line)] = height - 1
                line.append(text if offset == 0 else "")
            if len(line) > _MAX_COLUMNS:
                break
        _skip_spanned(line, below)
        grid += [line, *under]
    return grid


def _skip_spanned(line: list[str], below: dict[int, int]) -> None:
    while below.get(len(line), 0) > 0:
        below[len(line)] -= 1
        line.append("")


def _span(cell: Any, name: str) -> int:
    value = cell.get(name) or ""
    return min(int(value), _MAX_COLUMNS) if value.isdecimal() and len(value) < 5 and int(value) > 0 else 1


def _on_one_line(text: str, plain: bool) -> str:
    """The lines of a cell on one: `<br>` parts them in Markdown."""
    lines = [line if line.startswith("`") else " ".join(line.split()) for line in text.split("\n")]
    return (" " if plain else "<br>").join(line for line in lines if line)


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
