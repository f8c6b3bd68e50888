"""The filled-in fields of a PDF's form: their values, and the labels that these belong to.

Sources: pypdfium2 5, PDFium's fpdf_annot.h and fpdf_formfill.h; PDF 1.7, 12.7; read 2026-11-22.
"""

import ctypes
from dataclasses import replace
from typing import Any

from gateway.geometry.boxes import Line, Rect, Word
from gateway.geometry.tables import Grid

MAX_ANNOTATIONS = 2_000
_FIELD_HEIGHT = 12.0
"""Height of a line in a field of a form, in points."""
BOXES = "☐☒"
MAX_LABELS, LABEL_GAP, BOX_GAP = 1_000, 20.0, 1.5
"""Lines and fields of a page, each among all others, whose labels are sought; how far at most a label is from its field
and from its box, in heights."""


def form_fields(raw: Any, document: Any, page: Any, height: float) -> list[Word]:
    """The values of a page's filled-in fields in their places; a box that can be ticked is `☒` or `☐`."""
    form, found = document.formenv, list[Word]()
    for number in range(min(raw.FPDFPage_GetAnnotCount(page), MAX_ANNOTATIONS) if form is not None else 0):
        annotation = raw.FPDFPage_GetAnnot(page, number)
        if not annotation:
            continue
        box = raw.FS_RECTF()
        if raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_WIDGET and raw.FPDFAnnot_GetRect(annotation, box):
            value = _value(raw, form, annotation)
            if value.strip():
                found.append(Word(value, upright(box, height)))
        raw.FPDFPage_CloseAnnot(annotation)
    return found


def _value(raw: Any, form: Any, annotation: Any) -> str:
    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
        return BOXES[bool(raw.FPDFAnnot_IsChecked(form, annotation))]
    if kind not in (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX):
        return ""
    size = raw.FPDFAnnot_GetFormFieldValue(form, annotation, None, 0)
    buffer = ctypes.create_string_buffer(max(2, size))
    raw.FPDFAnnot_GetFormFieldValue(form, annotation, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), size)
    return buffer.raw[: max(0, size - 2)].decode("utf-16-le", "replace")


def with_fields(lines: list[Line], fields: list[Word], grids: list[Grid]) -> list[Line]:
    """The lines with the values of fields: a value behind its label, which stands at its left or above it, as
    `Street: Quay 4`, and a box before or behind its own, as `☒ Rope`. A value in a table, one of several below one
    label, and one without a label are lines of their own."""
    labelled, alone = dict(enumerate(lines)), list[Word]()
    places = [line.rect for line in lines] + [each.rect for each in fields]
    for value in fields:
        owner, is_before = _label_of(value, places, len(lines)) if len(places) <= MAX_LABELS else (-1, False)
        if owner < 0 or any(grid.place(value.rect) for grid in grids):
            alone.append(value)
        else:
            labelled[owner] = _labelled(labelled[owner], " ".join(value.text.split()), is_before=is_before)
    return [*labelled.values(), *_field_lines(alone)]


def _label_of(value: Word, places: list[Rect], count: int) -> tuple[int, bool]:
    """The number of a field's label among the first `count` places, -1 for none, and whether the field is before it. A
    label is nearer than any other line or field."""
    rect, is_box = value.rect, value.text in BOXES
    height = min(rect.height, _FIELD_HEIGHT)
    level = [n for n, other in enumerate(places) if other is not rect and _is_level(rect, other)]
    left = max((n for n in level if places[n].x1 < rect.x1), key=lambda n: places[n].x2, default=count)
    right = min((n for n in level if places[n].x1 > rect.x1), key=lambda n: places[n].x1, default=count)
    if is_box:
        near = [
            n
            for n in (right, left)
            if n < count and max(places[n].x1 - rect.x2, rect.x1 - places[n].x2) < BOX_GAP * height
        ]
        return (near[0], near[0] == right) if near else (-1, False)
    above = [n for n, other in enumerate(places) if abs(other.x1 - rect.x1) < height and other.y1 < rect.y1]
    owner = max(above, key=lambda n: places[n].y2, default=count)
    below = [other for other in places[count:] if abs(other.x1 - rect.x1) < height and 0 < other.y1 - rect.y2 < height]
    if owner < count and rect.y1 - places[owner].y2 < height and not below:
        return owner, False
    return (left if left < count and rect.x1 - places[left].x2 < LABEL_GAP * height else -1), False


def _is_level(rect: Rect, other: Rect) -> bool:
    return min(rect.y2, other.y2) - max(rect.y1, other.y1) > min(rect.height, other.height) / 2


def _labelled(line: Line, value: str, *, is_before: bool) -> Line:
    """A line with a value before or behind it, on its own row."""
    x1, y1, x2, y2 = line.rect
    width = len(value) * (y2 - y1) / 2
    rect = Rect(x1 - width, y1, x1, y2) if is_before else Rect(x2, y1, x2 + width, y2)
    words, text = (Word(value, rect), *line.words), f"{value} {line.text}"
    if not is_before:
        words, text = (*line.words, Word(value, rect)), f"{line.text} {value}"
    return replace(line, rect=line.rect.union(rect), text=text, words=words)


def _field_lines(fields: list[Word]) -> list[Line]:
    """The values as lines in their places, one below the other where a value has several."""
    lines = []
    for value in fields:
        texts = [each for each in value.text.splitlines() if each.strip()]
        height = min(_FIELD_HEIGHT, value.rect.height / max(1, len(texts)))
        top = value.rect.center_y - height * len(texts) / 2
        for number, text in enumerate(texts):
            width = min(value.rect.width, len(text) * height / 2)
            y = top + number * height
            rect = Rect(value.rect.x1, y, value.rect.x1 + width, y + height)
            lines.append(Line(rect, text=text, words=(Word(text, rect),), size=height))
    return lines


def upright(box: Any, height: float) -> Rect:
    """A box of PDFium's, which counts from the bottom of a page, counted from the top."""
    x1, x2 = sorted((box.left, box.right))
    y1, y2 = sorted((height - box.top, height - box.bottom))
    return Rect(x1, y1, x2, y2)
