"""What of a slide people cannot see: hidden shapes, those beside it, tiny, transparent and ground-coloured text.

The ground is the fill of a shape, else the slide's background where nothing else is painted under the shape. Source:
ECMA-376, parts 1, 19.3 and 20.1, read 2026-11-23.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.looks import Look
from gateway.engines.html.colours import TRANSPARENT, Colour, colour

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_POINT = 100
_OPAQUE, _FAINT = 100_000, 5_000
_PLAIN_GROUND = "1001"
"""The first background of a theme, which is one colour."""
_MAX_PAINTED = 300
"""Painted shapes of a slide with its layout and master that are compared; with more, no ground is known. Chosen: at
half crowded diagrams pass unread; double takes twice as long on a slide that is made for it."""
_FILLS = tuple(f"{A}{name}" for name in ("solidFill", "gradFill", "blipFill", "pattFill", "grpFill"))
_THEME = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/theme"
_Box = tuple[float, float, float, float]


class SlideLooks:
    """The looks of one slide. `size`: width and height of the deck's slides; `theme`: the colours of its master."""

    def __init__(self, slide: Any, size: tuple[int, int], theme: dict[str, Colour]) -> None:
        self._size = size
        self._theme = theme
        layout = slide.slide_layout
        around = [slide, layout, layout.slide_master]
        self._background = next((found for each in around if (found := self._ground_of(each)) is not None), None)
        painted = (shape for each in around for shape in each.shapes if _is_painted(shape.element))
        few = list(islice(painted, _MAX_PAINTED + 1))
        self._painted = [(shape.element, _box(shape)) for shape in few] if len(few) <= _MAX_PAINTED else None

    def is_beside(self, shape: Any) -> bool:
        """Whether a shape lies beside the slide."""
        box = _box(shape)
        if box is None:
            return False
        half = max(box[2] - box[0], box[3] - box[1]) / 2 if shape.element.find(f".//{A}xfrm[@rot]") is not None else 0
        x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        left, top = min(box[0], x - half), min(box[1], y - half)
        right, bottom = max(box[2], x + half), max(box[3], y + half)
        return right <= 0 or bottom <= 0 or left >= self._size[0] or top >= self._size[1]

    def blank(self, shape: Any, out: DocumentText) -> None:
        """Takes the runs of a shape that people cannot see out of it, as far as `out` leaves them out."""
        runs = [run for run in shape.element.iter(f"{A}r", f"{A}fld") if run.find(f"{A}rPr") is not None]
        stated = [(run, self._look(run.find(f"{A}rPr"))) for run in runs]
        if not any(look.colour is not None or look.points is not None for _, look in stated):
            return
        ground = self._ground_below(shape)
        for run, look in stated:
            text = run.find(f"{A}t")
            is_unseen = look.colour == TRANSPARENT or look.is_unseen(ground)
            if text is not None and is_unseen and out.leaves_out(text.text or ""):
                text.text = ""

    def _look(self, properties: Any) -> Look:
        size, fill = properties.get("sz", ""), properties.find(f"{A}solidFill")
        letters = self._colour(fill) if fill is not None else None
        if properties.find(f"{A}noFill") is not None and properties.find(f"{A}ln") is None:
            letters = TRANSPARENT
        return Look(colour=letters, points=int(size[:6]) / _POINT if size.isdecimal() else None)

    def _ground_below(self, shape: Any) -> Colour | None:
        element = shape.element
        properties = element.find(f"{P}spPr")
        fill = properties.find(f"{A}solidFill") if properties is not None else None
        if fill is not None:
            return self._colour(fill)
        box = _box(shape)
        if box is None or self._painted is None or _is_painted(element) or properties is None:
            return None
        others = (other for painted, other in self._painted if painted is not element)
        return None if any(other is None or _meet(box, other) for other in others) else self._background

    def _ground_of(self, sheet: Any) -> Colour | None:
        """The background that a slide, layout or master states; transparent for one that is not known."""
        background = sheet.element.find(f"{P}cSld/{P}bg")
        if background is None:
            return None
        reference, fill = background.find(f"{P}bgRef"), background.find(f"{P}bgPr/{A}solidFill")
        if reference is not None and reference.get("idx") == _PLAIN_GROUND:
            fill = reference
        return (self._colour(fill) if fill is not None else None) or TRANSPARENT

    def _colour(self, holder: Any) -> Colour | None:
        for each in holder:
            changes = [change for change in each if isinstance(change.tag, str)]
            alphas = [int(c.get("val", "0")) for c in changes if c.tag == f"{A}alpha" and c.get("val", "").isdecimal()]
            if alphas and alphas[0] <= _FAINT:
                return TRANSPARENT
            if any(change.tag != f"{A}alpha" for change in changes) or any(alpha < _OPAQUE for alpha in alphas):
                return None
            if each.tag == f"{A}schemeClr":
                return self._theme.get(each.get("val", ""))
            return colour(f"#{each.get('val')}") if each.tag == f"{A}srgbClr" else None
        return None


def theme_colours(master: Any, parse: Any) -> dict[str, Colour]:
    """The colours of a master's theme by their names, `bg1` and `tx1` too. `parse`: bytes to an element."""
    try:
        theme = parse(master.part.part_related_by(_THEME).blob)
    except KeyError:
        return {}
    scheme = theme.find(f"{A}themeElements/{A}clrScheme")
    known: dict[str, Colour] = {}
    for entry in scheme if scheme is not None else ():
        value = next((each.get("lastClr") or each.get("val") for each in entry), None)
        if found := colour(f"#{value}"):
            known[entry.tag.removeprefix(A)] = found
    names = master.element.find(f"{P}clrMap")
    renamed = {name: known[to] for name, to in names.attrib.items() if to in known} if names is not None else {}
    return known | renamed


def texts_of(shape: Any) -> str:
    """The texts of a shape and those inside it."""
    return " ".join(each.text or "" for each in shape.element.iter(f"{A}t"))


def is_hidden(shape: Any) -> bool:
    """Whether a shape is switched off in the selection pane."""
    return any(each.get("hidden") in ("1", "true") for each in _names(shape.element))


def _names(element: Any) -> Iterator[Any]:
    for properties in list(element)[:1]:
        yield from properties.iterchildren(f"{P}cNvPr")


def _is_painted(element: Any) -> bool:
    """Whether a shape may give others a ground: it is no text box, or has a fill."""
    if not element.tag.endswith("}sp"):
        return True
    properties = element.find(f"{P}spPr")
    if properties is None or any(properties.find(fill) is not None for fill in _FILLS):
        return True
    reference = element.find(f"{P}style/{A}fillRef")
    is_open = properties.find(f"{A}noFill") is not None
    return reference is not None and reference.get("idx") != "0" and not is_open


def _box(shape: Any) -> _Box | None:
    """Left, top, right and bottom of a shape; None where it is not known, as inside groups."""
    if shape.element.getparent().tag == f"{P}grpSp" or None in (shape.left, shape.top, shape.width, shape.height):
        return None
    return shape.left, shape.top, shape.left + shape.width, shape.top + shape.height


def _meet(box: _Box, other: _Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
