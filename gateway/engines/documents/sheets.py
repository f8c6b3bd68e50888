"""Sheets (.xlsx) as Markdown, from the elements of SpreadsheetML, with their charts, text boxes and comments.

Sources: ECMA-376, part 1, 18.3.1 and 18.8.30, 20.5 (drawings); read 2026-11-29.
"""

import functools
import re
from dataclasses import dataclass, field
from typing import Any

from gateway.engines.documents.comments import write_comments
from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.drawings import write_drawings
from gateway.engines.documents.number_formats import number_text
from gateway.engines.documents.office import R_ID, Package, address, related

MAX_ROWS, MAX_COLUMNS = 20_000, 200
"""Of one sheet."""
_MAX_LINKS = 20_000
_SHEETS = ("worksheet", "chartsheet")
_LINK_FORMULA = re.compile(r'\s{0,64}+HYPERLINK\(\s{0,64}"([^"]{1,2000})"', re.IGNORECASE)
_BUILT_IN = (
    {9: "0%", 10: "0.00%", 20: "h:mm", 21: "h:mm:ss", 22: "m/d/yy h:mm", 45: "mm:ss", 46: "[h]:mm:ss"}
    | dict.fromkeys((*range(14, 20), *range(27, 37), 47, *range(50, 59)), "yyyy-mm-dd h:mm")
    | dict.fromkeys((5, 6, 42), '"$"#,##0')
    | dict.fromkeys((7, 8, 44), '"$"#,##0.00')
)
"""What the number formats mean that a file names by number alone (18.8.30)."""


def read_xlsx(package: Package, out: DocumentText) -> str:
    """Writes every visible sheet as a heading and a table of values (formulas as last computed); the title or "".
    A sheet that cannot be read is noted as missing. Raises Unreadable."""
    main = package.main("xl/workbook.xml")
    relations, workbook = package.relations(main), package.root(main)
    properties = workbook.find("{*}workbookPr")
    is_1904 = properties is not None and properties.get("date1904") in ("1", "true")
    texts: list[str] = []
    formats: list[str] = []
    with out.part("texts of cells"):
        texts += map(_shared_text, package.each(related(relations, "sharedStrings"), "", "{*}si"))
    with out.part("number formats"):
        formats = _formats(package, related(relations, "styles"))
    for sheet in workbook.iter("{*}sheet"):
        relation = relations.get(sheet.get(R_ID, ""))
        if out.is_full or sheet.get("state", "visible") != "visible" or (relation and relation.kind not in _SHEETS):
            continue
        name = sheet.get("name", "")
        out.heading(2, name)
        with out.part(f"sheet {name}"):
            reader, part = _Sheet(texts, formats, is_1904, out), relation.target if relation is not None else ""
            out.table(reader.rows(package, part, f"sheet {name}"))
            own = package.relations(part)
            _write_drawing(package, related(own, "drawing"), out)
            write_comments(package, relations, own, out)
    return package.title()


def _write_drawing(package: Package, part: str, out: DocumentText) -> None:
    """What is drawn over a sheet: text boxes, charts, diagrams. `part`: its path, "" for none."""
    root = package.root(part) if part else None
    for body in root.iter("{*}txBody") if root is not None else ():
        out.paragraph("\n".join("".join(line.itertext("{*}t")) for line in body.iterchildren("{*}p")))
    if root is not None:
        write_drawings(root, package, package.relations(part), out)


def _shared_text(item: Any) -> str:
    """The text of an `si` or `is` without the readings that stand above Japanese words."""
    return "".join(each.text or "" for each in item.iter("{*}t") if not each.getparent().tag.endswith("}rPh"))


def _formats(package: Package, name: str) -> list[str]:
    """The number format of each style of cells."""
    styles = package.root(name) if name else None
    if styles is None:
        return []
    named = {each.get("numFmtId"): each.get("formatCode", "") for each in styles.iterfind("{*}numFmts/{*}numFmt")}
    ids = [each.get("numFmtId", "") for each in styles.iterfind("{*}cellXfs/{*}xf")]
    return [named[each] if each in named else _BUILT_IN.get(_number(each), "") for each in ids]


@dataclass(slots=True)
class _Sheet:
    """Reads one sheet. `texts` and `formats` are those that cells name by number."""

    texts: list[str]
    formats: list[str]
    is_1904: bool
    out: DocumentText
    links: dict[tuple[int, int], str] = field(default_factory=dict)

    def rows(self, package: Package, part: str, label: str) -> list[list[str]]:
        """The texts of the rows; those of hidden rows and columns are left out."""
        relations, hidden = package.relations(part), set[int]()
        rows: list[tuple[int, dict[int, str]]] = []
        for each in package.each(part, label, "{*}col", "{*}row", "{*}hyperlink"):
            if each.tag.endswith("}col"):
                if _is_hidden(each):
                    hidden |= set(range(_number(each.get("min")), min(_number(each.get("max")), MAX_COLUMNS) + 1))
            elif each.tag.endswith("}hyperlink"):
                self._note_link(_place(each.get("ref")), address(relations, each))
            elif (number := _number(each.get("r")) or (rows[-1][0] + 1 if rows else 1)) <= MAX_ROWS:
                cells = self._cells(each, number)
                if _is_hidden(each):
                    self.out.leave_out(" ".join(cells.values()))
                    cells = {}
                for column in hidden & cells.keys():
                    self.out.leave_out(cells.pop(column))
                rows.append((number, cells))
        by_number = dict(rows)
        for (row, column), url in self.links.items():
            if column in (cells := by_number.get(row, {})):
                cells[column] = self.out.link(cells[column], url)
        return [[cells.get(at, "") for at in range(1, max(cells, default=0) + 1)] for cells in by_number.values()]

    def _note_link(self, place: tuple[int, int] | None, url: str) -> None:
        if place is not None and url and len(self.links) < _MAX_LINKS:
            self.links[place] = url

    def _cells(self, row: Any, number: int) -> dict[int, str]:
        """The texts of a row by their columns, counted from 1."""
        cells: dict[int, str] = {}
        column = 0
        for cell in row.iterchildren("{*}c"):
            place = _place(cell.get("r"))
            column = place[1] if place is not None else column + 1
            text = self._text(cell, (number, column)) if column <= MAX_COLUMNS else ""
            if text:
                cells[column] = text
        return cells

    def _text(self, cell: Any, place: tuple[int, int]) -> str:
        """A cell's value as it is shown; a formula whose value nobody has computed yet, as `=A1+A2`."""
        kind, value = cell.get("t", "n"), cell.findtext("{*}v") or ""
        formula = cell.findtext("{*}f") or ""
        if (match := _LINK_FORMULA.match(formula)) is not None:
            self._note_link(place, match[1])
        if kind == "inlineStr":
            return "".join(map(_shared_text, cell.iterchildren("{*}is")))
        if not value:
            return f"={formula}" if formula else ""
        if kind == "s":
            at = _number(value)
            return self.texts[at] if at < len(self.texts) else ""
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        if kind != "n":
            return value
        style = _number(cell.get("s"))
        return number_text(value, self.formats[style] if style < len(self.formats) else "", is_1904=self.is_1904)


def _place(reference: str | None) -> tuple[int, int] | None:
    """`(row, column)` of `B2`, or of the first cell of `B2:C3`; None for another text."""
    match = re.match(r"\$?([A-Z]{1,3})\$?(\d{1,7})", reference or "")
    if match is None:
        return None
    column = functools.reduce(lambda sum_, letter: sum_ * 26 + ord(letter) - 64, match[1], 0)
    return int(match[2]), column


def _is_hidden(each: Any) -> bool:
    return each.get("hidden") in ("1", "true")


def _number(text: str | None) -> int:
    return int(text[:9]) if text and text.isdecimal() else 0
