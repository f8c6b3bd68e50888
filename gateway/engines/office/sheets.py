"""Sheets and slides as Markdown: .xlsx by openpyxl, .pptx by python-pptx (extra `office`). Knows no network.

Sources: openpyxl 3.1, python-pptx 1.0, read 2026-11-22.
"""

import datetime
import functools
import io
import re
from itertools import zip_longest
from typing import Any

from gateway.engines.office.text import DocumentText

MAX_ROWS, MAX_COLUMNS = 20_000, 200
"""Of one sheet. Chosen: a model reads no longer table with profit. At half, logs of a month are cut; at double, a sheet
takes twice the process's time."""
FOOTERS = (13, 14, 15, 16)
"""Kinds of placeholders (PP_PLACEHOLDER): slide number, header, footer, date."""
_NO_SIGN = re.compile(r'"[^"]*+"|\\.|\[[^\[\]]*+\]')
"""What a number format writes as it is, or as a colour or condition: a `%` in it multiplies nothing. Source: ECMA-376,
part 1, 18.8.31."""
_FORMATS_REMEMBERED = 64
"""Number formats. Chosen: a book has a dozen; at half, one that is made for it takes a scan for each cell sooner."""
MAX_DEPTH = 8
"""Groups inside groups on a slide. Chosen: people nest two or three."""


def read_xlsx(openpyxl: Any, body: bytes, out: DocumentText) -> str:
    """Writes every visible sheet as a heading and a table of values (formulas as last computed); the title or ""."""
    book = openpyxl.load_workbook(io.BytesIO(body), read_only=True, data_only=True, keep_links=False)
    try:
        for sheet in book.worksheets:
            if sheet.sheet_state != "visible" or out.is_full:
                continue
            out.heading(2, sheet.title)
            rows = sheet.iter_rows(max_row=MAX_ROWS, max_col=MAX_COLUMNS)
            out.table([[_text(cell) for cell in row] for row in rows if not _is_blank(row)])
        return str(book.properties.title or "")
    finally:
        book.close()


def _is_blank(row: tuple[Any, ...]) -> bool:
    """Whether a row has no cell: openpyxl fills the gaps between those of the file with one object."""
    return not row or (row[0].value is None and all(cell is row[0] for cell in row))


def _text(cell: Any) -> str:
    """A cell's value; a percentage as one, as the number alone says a hundredth of it."""
    value = cell.value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and _is_percentage(str(cell.number_format)):
        return f"{value * 100:.12g} %"
    return _value(value)


@functools.lru_cache(maxsize=_FORMATS_REMEMBERED)
def _is_percentage(number_format: str) -> bool:
    return "%" in _NO_SIGN.sub("", number_format)


def _value(value: Any) -> str:
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


def read_pptx(pptx: Any, body: bytes, out: DocumentText) -> str:
    """Writes every slide that is shown: a mark, its title as heading, texts, tables, charts' values, the speaker's
    notes; the deck's title or ""."""
    deck = pptx.Presentation(io.BytesIO(body))
    for number, slide in enumerate(deck.slides, 1):
        if out.is_full:
            break
        if slide.element.get("show") in ("0", "false"):
            continue
        out.mark(f"slide {number}")
        title = slide.shapes.title
        if title is not None:
            out.heading(2, title.text_frame.text)
        for shape in slide.shapes:
            if (title is None or shape.shape_id != title.shape_id) and not _is_footer(shape):
                _write_shape(shape, out, 0)
        if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None and frame.text.strip():
            out.paragraph(f"Notes: {frame.text.strip()}")
    return str(deck.core_properties.title or "")


def _is_footer(shape: Any) -> bool:
    """Whether a shape is the slide's number, date, header or footer."""
    return bool(shape.is_placeholder) and shape.placeholder_format.type in FOOTERS


def _write_chart(chart: Any, out: DocumentText) -> None:
    """A chart's values: a row for each category, a column for each series."""
    for plot in chart.plots:
        series = list(plot.series)
        names = [[str(name) for name in plot.categories], *([_value(v) for v in one.values] for one in series)]
        rows = zip_longest(*names, fillvalue="")
        out.table([["", *(str(one.name) for one in series)], *(list(row) for row in rows)])


def _write_shape(shape: Any, out: DocumentText, depth: int) -> None:
    if getattr(shape, "has_table", False):
        out.table([[cell.text for cell in row.cells] for row in shape.table.rows])
    elif getattr(shape, "has_chart", False):
        _write_chart(shape.chart, out)
    elif getattr(shape, "has_text_frame", False):
        paragraphs = [each for each in shape.text_frame.paragraphs if each.text.strip()]
        if len(paragraphs) == 1 and paragraphs[0].level == 0:
            out.paragraph(paragraphs[0].text)
        else:
            out.items([(each.level, "-", each.text) for each in paragraphs])
    elif hasattr(shape, "shapes") and depth < MAX_DEPTH:
        for inner in shape.shapes:
            _write_shape(inner, out, depth + 1)
