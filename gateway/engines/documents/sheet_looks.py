"""What of a sheet people cannot see: hidden rows and columns, formats that show nothing, tiny letters, white on white.

openpyxl reads rows without their properties, so these are read from the XML, and only of sheets that have any. Source:
ECMA-376, part 1, 18.3.1 and 18.8.31, read 2026-11-23.
"""

import functools
import re
import zipfile
from typing import Any, NamedTuple

from gateway.engines.documents.looks import NOTHING, WHITE, Look
from gateway.engines.html.colours import Colour, colour

_QUOTED = re.compile(r'"[^"]*+"|\\.|\[[^\[\]]*+\]')
_FORMATS_REMEMBERED = 64
_TEXT_SECTION = 3
_HIDES = (b"hidden=", b'ht="0', b'width="0', b"ht='0", b"width='0")
_PAINTS = (b"drawing ", b"picture ", b"tablePart", b"conditionalFormatting")
"""Marks of what may give a cell another ground than its format says."""
_PIECE_BYTES, _MARK_BYTES = 1 << 20, 32
_LEAST_SIZES = {"ht": 1.0, "width": 0.2}
"""Height of a row in points, width of a column in letters, below which nothing of it is seen. At double, thin lines
between the parts of a table count, which hold no text."""
_WHITES = (1, 9)
"""The indexed colours that are white."""


class SheetLooks(NamedTuple):
    """Numbers of the hidden `rows` and `columns`, from 1; `page`: the ground of cells that state none, None if not
    known."""

    rows: frozenset[int] = frozenset()
    columns: frozenset[int] = frozenset()
    page: Colour | None = None


def sheet_parts(etree: Any, archive: zipfile.ZipFile) -> dict[str, str]:
    """The part of each sheet by its name. Raises KeyError and what lxml raises."""
    targets = {
        each.get("Id"): each.get("Target", "")
        for each in etree.fromstring(archive.read("xl/_rels/workbook.xml.rels"), _parser(etree))
    }
    parts = {}
    for sheet in etree.fromstring(archive.read("xl/workbook.xml"), _parser(etree)).iter("{*}sheet"):
        target = targets.get(next((sheet.get(name) for name in sheet.keys() if name.endswith("}id")), None), "")  # noqa: SIM118 - an element, no mapping
        parts[sheet.get("name")] = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    return parts


def sheet_looks(etree: Any, archive: zipfile.ZipFile, part: str, most: tuple[int, int]) -> SheetLooks:
    """The looks of a sheet. `most`: rows and columns that are read of it. Raises what lxml raises."""
    if part not in archive.NameToInfo:
        return SheetLooks()
    hides, paints = _marks(archive, part)
    page = None if paints else WHITE
    if not hides:
        return SheetLooks(page=page)
    rows, columns, number = set(), set(), 0
    with archive.open(part) as source:
        for _, each in etree.iterparse(
            source, events=("end",), tag=("{*}row", "{*}col"), resolve_entities=False, no_network=True, load_dtd=False
        ):
            if each.tag.endswith("}col"):
                if _is_hidden(each, "width"):
                    columns |= set(range(_number(each.get("min"), 1), min(_number(each.get("max"), 0), most[1]) + 1))
            else:
                number = _number(each.get("r"), number + 1)
                if number > most[0]:
                    break
                if _is_hidden(each, "ht"):
                    rows.add(number)
                each.clear()
                while each.getprevious() is not None:
                    del each.getparent()[0]
    return SheetLooks(frozenset(rows), frozenset(columns), page)


def _parser(etree: Any) -> Any:
    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)


def _marks(archive: zipfile.ZipFile, part: str) -> tuple[bool, bool]:
    """Whether a sheet may have hidden rows or columns, and something that paints cells."""
    hides, paints, tail = False, False, b""
    with archive.open(part) as source:
        while piece := source.read(_PIECE_BYTES):
            window = tail + piece
            hides = hides or any(mark in window for mark in _HIDES)
            paints = paints or any(mark in window for mark in _PAINTS)
            tail = piece[-_MARK_BYTES:]
    return hides, paints


def _is_hidden(each: Any, size: str) -> bool:
    if each.get("hidden") in ("1", "true"):
        return True
    try:
        return float(each.get(size, "nan")) < _LEAST_SIZES[size]
    except ValueError:
        return False


def _number(text: str | None, otherwise: int) -> int:
    return int(text[:9]) if text and text.isdecimal() else otherwise


@functools.lru_cache(maxsize=_FORMATS_REMEMBERED)
def shows_nothing(number_format: str, *, is_text: bool) -> bool:
    """Whether a format leaves a cell blank: `;;;` all, `0;0;0;` texts."""
    sections = [section.strip() for section in _QUOTED.sub("x", number_format).split(";")]
    if is_text:
        return len(sections) > _TEXT_SECTION and not sections[_TEXT_SECTION]
    return len(sections) > 1 and not any(sections[:_TEXT_SECTION])


class CellLooks:
    """Whether the letters of a book's cells can be seen; each font and fill is judged once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Look] = {}

    def is_unseen(self, cell: Any, page: Colour | None) -> bool:
        """`page`: the ground of cells that state none."""
        font, fill = cell.font, cell.fill
        key = (id(font), id(fill))
        look = self._known.get(key)
        if look is None:
            look = self._known[key] = _look_of(font, fill)
        return look is not NOTHING and look.is_unseen(page)


def _look_of(font: Any, fill: Any) -> Look:
    letters = _colour(font.color) if font is not None else None
    kind = getattr(fill, "fill_type", None)
    ground = _colour(fill.fgColor) if kind == "solid" else None
    points = float(font.sz) if font is not None and font.sz else None
    look = Look(colour=letters, points=points, has_ground=kind is not None, ground=ground)
    return look if look.is_unseen(WHITE) or look.is_unseen(None) else NOTHING


def _colour(value: Any) -> Colour | None:
    """A colour as openpyxl has it; of themes the first alone, which is the paper's."""
    if value is None or value.tint:
        return None
    if value.type == "rgb" and isinstance(value.rgb, str):
        return colour(f"#{value.rgb[-6:]}")
    is_white = (value.type == "theme" and value.theme == 0) or (value.type == "indexed" and value.indexed in _WHITES)
    return WHITE if is_white else None
