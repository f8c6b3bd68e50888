"""Slides (.pptx) as Markdown, by python-pptx (extra `office`).

Shapes that the selection pane switches off are left out. Source: python-pptx 1.0; ECMA-376, part 1, 19.3 and 20.1;
read 2026-11-22.
"""

import io
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.equations import M, tex_of
from gateway.engines.documents.sheets import value_text

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
R_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_CHOICE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Choice"
_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
FOOTERS = (13, 14, 15, 16)
"""Kinds of placeholders (PP_PLACEHOLDER): slide number, header, footer, date."""
MAX_DEPTH = 8
"""Groups inside groups on a slide."""


def read_pptx(pptx: Any, body: bytes, out: DocumentText) -> str:
    """Writes every slide that is shown: a mark, its title as heading, texts, tables, charts' values, the speaker's
    notes; the deck's title or "". A slide that cannot be read is noted as missing."""
    deck = pptx.Presentation(io.BytesIO(body))
    numbers = range(1, len(deck.slides) + 1)
    for number in numbers:
        if out.is_full:
            break
        try:
            slide = deck.slides[number - 1]
            if slide.element.get("show") not in ("0", "false"):
                out.mark(f"slide {number}")
                _write_slide(slide, out)
        except (MemoryError, RecursionError):
            raise
        except Exception:  # python-pptx raises KeyError, ValueError and types of its own on damaged slides
            out.miss(f"slide {number}")
    return str(deck.core_properties.title or "")


def _write_slide(slide: Any, out: DocumentText) -> None:
    title = slide.shapes.title
    if title is not None and _is_shown(title, out):
        out.heading(2, _text_of(title, out))
    for shape in slide.shapes:
        if (title is None or shape.shape_id != title.shape_id) and not _is_footer(shape):
            _write_shape(shape, out, 0)
    for choice in slide.element.iter(f"{_ALTERNATIVES}"):  # shapes with equations, which python-pptx passes over
        for body in choice.iterfind(f"{_CHOICE}/{P}sp/{P}txBody"):
            _write_paragraphs(body, slide.part, out)
    if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None and frame.text.strip():
        out.paragraph(f"Notes: {frame.text.strip()}")


def _is_footer(shape: Any) -> bool:
    """Whether a shape is the slide's number, date, header or footer."""
    return bool(shape.is_placeholder) and shape.placeholder_format.type in FOOTERS


def _is_shown(shape: Any, out: DocumentText) -> bool:
    """Whether a shape is not switched off in the selection pane."""
    names = (each for properties in list(shape.element)[:1] for each in properties.iterchildren(f"{P}cNvPr"))
    if any(each.get("hidden") in ("1", "true") for each in names):
        out.leave_out(" ".join(each.text or "" for each in shape.element.iter(f"{A}t")))
        return False
    return True


def _write_shape(shape: Any, out: DocumentText, depth: int) -> None:
    """A shape, and those of a group."""
    if not _is_shown(shape, out):
        return
    if hasattr(shape, "shapes"):
        for inner in shape.shapes if depth < MAX_DEPTH else ():
            _write_shape(inner, out, depth + 1)
    elif getattr(shape, "has_table", False):
        out.table([[_cell(cell, shape.part, out) for cell in row.cells] for row in shape.table.rows])
    elif getattr(shape, "has_chart", False):
        _write_chart(shape.chart, out)
    elif getattr(shape, "has_text_frame", False):
        _write_paragraphs(shape.text_frame._txBody, shape.part, out, _address(shape))


def _address(shape: Any) -> str:
    """The address that a click on a shape leads to, or ""."""
    click = next(shape.element.iter(f"{P}cNvPr")).find(f"{A}hlinkClick")
    return _target(click, shape.part)


def _target(click: Any, part: Any) -> str:
    relation = part.rels.get(click.get(R_ID)) if click is not None and click.get(R_ID) else None
    return str(relation.target_ref) if relation is not None and relation.is_external else ""


def _cell(cell: Any, part: Any, out: DocumentText) -> str:
    """The text of a cell; one that another spans has none."""
    if cell.is_spanned:
        return ""
    return "\n".join(_paragraph_text(each, part, out) for each in cell._tc.iter(f"{A}p"))


def _text_of(shape: Any, out: DocumentText) -> str:
    return "\n".join(_paragraph_text(each, shape.part, out) for each in shape.text_frame._txBody.iter(f"{A}p"))


def _write_paragraphs(body: Any, part: Any, out: DocumentText, url: str = "") -> None:
    """The paragraphs of a text: one alone as such, several as items. `url`: where a click on the whole leads."""
    found = []
    for paragraph in body.iterchildren(f"{A}p"):
        text = _paragraph_text(paragraph, part, out)
        properties = paragraph.find(f"{A}pPr")
        level = properties.get("lvl", "0") if properties is not None else "0"
        if text.strip():
            found.append((int(level) if level.isdecimal() else 0, "-", out.link(text, url) if url else text))
    if len(found) == 1 and found[0][0] == 0:
        out.paragraph(found[0][2])
    else:
        out.items(found)


def _paragraph_text(paragraph: Any, part: Any, out: DocumentText) -> str:
    return "".join(_pieces(paragraph, part, out))


def _pieces(paragraph: Any, part: Any, out: DocumentText) -> Iterator[str]:
    """The text of runs, with links and equations."""
    for child in paragraph:
        if child.tag in (f"{A}r", f"{A}fld"):
            text = child.findtext(f"{A}t") or ""
            click = child.find(f"{A}rPr/{A}hlinkClick")
            yield out.link(text, _target(click, part)) if click is not None else text
        elif child.tag == f"{A}br":
            yield "\n"
        elif isinstance(child.tag, str):
            for equation in child.iter(f"{M}oMath"):
                yield out.formula(tex_of(equation))


def _write_chart(chart: Any, out: DocumentText) -> None:
    """A chart's values: a row for each category, a column for each series."""
    for plot in chart.plots:
        series = list(plot.series)
        names = [[str(name) for name in plot.categories], *([value_text(v) for v in one.values] for one in series)]
        rows = zip_longest(*names, fillvalue="")
        out.table([["", *(str(one.name) for one in series)], *(list(row) for row in rows)])
