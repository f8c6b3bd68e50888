"""Which letters of a PDF's page people cannot see: invisible, transparent, tiny, or white where nothing is painted.

Letters that are not drawn are kept over a picture: that is the text layer of a scan, and the picture shows the text.
Not known here: text below an opaque picture, layers that are switched off, clipping, and a ground that is painted in
the colour of its letters. Source: PDFium's fpdf_edit.h and fpdf_text.h, read 2026-11-23.
"""

import ctypes
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from gateway.engines.documents.looks import TINY_POINTS, WHITE
from gateway.engines.html.colours import same

_UNDRAWN, _PALE = "undrawn", "pale"
_FILLED = (0, 4)
"""Rendering modes (PDF 1.7, 9.3.6) that fill letters and draw no outline."""
_FAINT_ALPHA = 12
"""Of 255: as the opacity up to which a text of a page is not seen (engines.html.hiding)."""
_THICK_POINTS = 4
"""Width of lines from which they count as painted areas, as bars below headings. At half, frames of tables do; at
double, bars of one line of small print do not."""
_GRID = 64
"""Parts of a page's width and height for which it is known whether something is painted there: a part of A4 is 9 to 13
points, about a line. At half, pages with pictures hide less; at double, filling the grid takes four times as long."""
_MAX_IN_FORM = 200
"""Objects of a form that are looked at; one with more counts as painted. Chosen: a letterhead has some dozen."""


class PageLooks:
    """The looks of one page's letters. `box`: the page's left, bottom, right and top."""

    def __init__(self, raw: Any, page: Any, text: Any, box: tuple[float, float, float, float]) -> None:
        self._raw = raw
        self._page = page
        self._text = text
        self._box = box
        self._verdicts: dict[int, str] = {}
        self._areas: tuple[_Area, _Area] | None = None
        self._was_tiny = False

    def is_unseen(self, index: int, character: str, box: Any) -> bool:
        """Whether people cannot see a character with its loose box (FS_RECTF) in the page's points."""
        if box.top - box.bottom <= TINY_POINTS and (self._was_tiny or character.isalnum()):
            self._was_tiny = True
            return True
        self._was_tiny = False
        owner = self._raw.FPDFText_GetTextObject(self._text, index)
        if not owner:
            return False
        address = ctypes.addressof(owner.contents)
        verdict = self._verdicts.get(address)
        if verdict is None:
            verdict = self._verdicts[address] = self._verdict(owner, index)
        if not verdict:
            return False
        if self._areas is None:
            self._areas = self._painted()
        pictures, painted = self._areas
        x, y = (box.left + box.right) / 2, (box.bottom + box.top) / 2
        return not (pictures if verdict == _UNDRAWN else painted).has(x, y)

    def _verdict(self, owner: Any, index: int) -> str:
        mode = self._raw.FPDFTextObj_GetTextRenderMode(owner)
        if mode == self._raw.FPDF_TEXTRENDERMODE_INVISIBLE:
            return _UNDRAWN
        if mode not in _FILLED:
            return ""
        channels = [ctypes.c_uint() for _ in range(4)]
        if not self._raw.FPDFText_GetFillColor(self._text, index, *channels):
            return ""
        red, green, blue, alpha = (channel.value for channel in channels)
        if alpha <= _FAINT_ALPHA:
            return _UNDRAWN
        return _PALE if same((red, green, blue), WHITE) else ""

    def _painted(self) -> tuple["_Area", "_Area"]:
        """Where pictures lie, and where anything is painted."""
        pictures, painted = _Area(self._box), _Area(self._box)
        for drawn, has_picture in self._drawn():
            sides = [ctypes.c_float() for _ in range(4)]
            if self._raw.FPDFPageObj_GetBounds(drawn, *sides):
                left, bottom, right, top = (side.value for side in sides)
                bounds = (min(left, right), min(bottom, top), max(left, right), max(bottom, top))
                painted.add(bounds)
                if has_picture:
                    pictures.add(bounds)
        return pictures, painted

    def _drawn(self) -> Iterator[tuple[Any, bool]]:
        """What is painted beside text and white areas, with whether it has a picture."""
        raw = self._raw
        for number in range(raw.FPDFPage_CountObjects(self._page)):
            drawn = raw.FPDFPage_GetObject(self._page, number)
            kind = raw.FPDFPageObj_GetType(drawn)
            if kind == raw.FPDF_PAGEOBJ_FORM:
                inside = raw.FPDFFormObj_CountObjects(drawn)
                kinds = {
                    raw.FPDFPageObj_GetType(raw.FPDFFormObj_GetObject(drawn, each))
                    for each in range(min(inside, _MAX_IN_FORM))
                }
                if kinds - {raw.FPDF_PAGEOBJ_TEXT} or inside > _MAX_IN_FORM:
                    yield drawn, bool(kinds & {raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_FORM})
            elif kind == raw.FPDF_PAGEOBJ_IMAGE or kind == raw.FPDF_PAGEOBJ_SHADING:
                yield drawn, kind == raw.FPDF_PAGEOBJ_IMAGE
            elif kind == raw.FPDF_PAGEOBJ_PATH and self._is_painted(drawn):
                yield drawn, False

    def _is_painted(self, path: Any) -> bool:
        fill, is_stroked, width = ctypes.c_int(), ctypes.c_int(), ctypes.c_float()
        if not self._raw.FPDFPath_GetDrawMode(path, fill, is_stroked):
            return False
        if fill.value and self._is_coloured(self._raw.FPDFPageObj_GetFillColor, path):
            return True
        is_thick = self._raw.FPDFPageObj_GetStrokeWidth(path, width) and width.value >= _THICK_POINTS
        return bool(is_stroked.value and is_thick) and self._is_coloured(self._raw.FPDFPageObj_GetStrokeColor, path)

    def _is_coloured(self, colour_of: Any, path: Any) -> bool:
        """Whether a path's colour is another than white; patterns, whose colour is not known, are."""
        channels = [ctypes.c_uint() for _ in range(4)]
        if not colour_of(path, *channels):
            return True
        red, green, blue, alpha = (channel.value for channel in channels)
        return alpha > _FAINT_ALPHA and not same((red, green, blue), WHITE)


class _Area:
    """The parts of a page that boxes touch. Boxes are added first; the sums are made at the first question."""

    def __init__(self, box: tuple[float, float, float, float]) -> None:
        self._x, self._y = box[0], box[1]
        self._width, self._height = (max(1e-6, box[2] - box[0]) / _GRID, max(1e-6, box[3] - box[1]) / _GRID)
        self._changes = [[0] * (_GRID + 1) for _ in range(_GRID + 1)]
        self._counts: list[list[int]] = []

    def add(self, bounds: tuple[float, ...]) -> None:
        """A box: left, bottom, right, top."""
        left, bottom = self._part(bounds[0], bounds[1])
        right, top = self._part(bounds[2], bounds[3])
        self._changes[bottom][left] += 1
        self._changes[bottom][right + 1] -= 1
        self._changes[top + 1][left] -= 1
        self._changes[top + 1][right + 1] += 1

    def has(self, x: float, y: float) -> bool:
        """Whether a box touches the part with this point."""
        if not self._counts:
            above = [0] * (_GRID + 1)
            for changes in self._changes:
                above = [count + more for count, more in zip(above, accumulate(changes), strict=True)]
                self._counts.append(above)
        column, row = self._part(x, y)
        return self._counts[row][column] > 0

    def _part(self, x: float, y: float) -> tuple[int, int]:
        column, row = (x - self._x) / self._width, (y - self._y) / self._height
        return int(max(0, min(_GRID - 1, column))), int(max(0, min(_GRID - 1, row)))
