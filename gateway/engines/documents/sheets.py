"""Sheets (.xlsx) as Markdown, by openpyxl (extra `office`). Knows no network.

Source: openpyxl 3.1, read 2026-11-22.
"""

import datetime
import functools
import io
import re
import zipfile
from typing import Any

from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.sheet_looks import CellLooks, SheetLooks, sheet_looks, sheet_parts, shows_nothing

MAX_ROWS, MAX_COLUMNS = 20_000, 200
"""Of one sheet. Chosen: a model reads no longer table with profit. At half, logs of a month are cut; at double, a sheet
takes twice the process's time."""
_NO_SIGN = re.compile(r'"[^"]*+"|\\.|\[[^\[\]]*+\]')
"""What a number format writes as it is, or as a colour or condition: a `%` in it multiplies nothing. Source: ECMA-376,
part 1, 18.8.31."""
_FORMATS_REMEMBERED = 64
"""Number formats. Chosen: a book has a dozen; at half, one that is made for it takes a scan for each cell sooner."""


def read_xlsx(openpyxl: Any, etree: Any, source: tuple[bytes, zipfile.ZipFile], out: DocumentText) -> str:
    """Writes every visible sheet as a heading and a table of values (formulas as last computed); the title or "".
    `etree`: lxml's module; `source`: the file, and its archive."""
    body, archive = source
    parts, cells = sheet_parts(etree, archive), CellLooks()
    book = openpyxl.load_workbook(io.BytesIO(body), read_only=True, data_only=True, keep_links=False)
    try:
        for sheet in book.worksheets:
            if sheet.sheet_state != "visible" or out.is_full:
                continue
            out.heading(2, sheet.title)
            looks = sheet_looks(etree, archive, parts.get(sheet.title, ""), (MAX_ROWS, MAX_COLUMNS))
            writer = _Rows(looks, cells, out)
            rows = enumerate(sheet.iter_rows(max_row=MAX_ROWS, max_col=MAX_COLUMNS), 1)
            out.table([writer.texts(number, row) for number, row in rows if not _is_blank(row)])
        return str(book.properties.title or "")
    finally:
        book.close()


class _Rows:
    """The texts of a sheet's rows, without those that people cannot see."""

    def __init__(self, looks: SheetLooks, cells: CellLooks, out: DocumentText) -> None:
        self._looks = looks
        self._cells = cells
        self._out = out

    def texts(self, number: int, row: tuple[Any, ...]) -> list[str]:
        """Of row `number`, counted from 1; empty for one that is left out."""
        texts = [_text(cell) for cell in row]
        if number in self._looks.rows and self._out.leaves_out(" ".join(texts)):
            return []
        for at, cell in enumerate(row):
            if texts[at] and self._is_unseen(at + 1, cell) and self._out.leaves_out(texts[at]):
                texts[at] = ""
        return texts

    def _is_unseen(self, column: int, cell: Any) -> bool:
        if column in self._looks.columns or self._cells.is_unseen(cell, self._looks.page):
            return True
        return shows_nothing(str(cell.number_format), is_text=isinstance(cell.value, str))


def _is_blank(row: tuple[Any, ...]) -> bool:
    """Whether a row has no cell: openpyxl fills the gaps between those of the file with one object."""
    return not row or (row[0].value is None and all(cell is row[0] for cell in row))


def _text(cell: Any) -> str:
    """A cell's value; a percentage as one, as the number alone says a hundredth of it."""
    value = cell.value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and _is_percentage(str(cell.number_format)):
        return f"{value * 100:.12g} %"
    return value_text(value)


@functools.lru_cache(maxsize=_FORMATS_REMEMBERED)
def _is_percentage(number_format: str) -> bool:
    return "%" in _NO_SIGN.sub("", number_format)


def value_text(value: Any) -> str:
    """A value of a cell or chart."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return f"{value:.15g}"  # as many digits as a sheet keeps
    if isinstance(value, datetime.datetime):
        is_day = value.time() == datetime.time()
        return value.date().isoformat() if is_day else value.isoformat(" ", "seconds")
    return str(value)
