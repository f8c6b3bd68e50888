"""Slides (.pptx) as Markdown, from the elements of PresentationML.

Slides and shapes that are switched off are left out. Source: ECMA-376, part 1, 19.3, 20.1 and 21.2; read 2026-11-28.
"""

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.equations import M, tex_of
from gateway.engines.documents.office import R_ID, Package, Relation, address, related
from gateway.engines.documents.sheets import number_text

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_CHOICE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Choice"
_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_FOOTERS = ("sldNum", "hdr", "ftr", "dt")
_TITLES = ("title", "ctrTitle")
_ON = ("1", "true")
MAX_DEPTH = 8
"""Groups inside groups on a slide."""
MAX_POINTS = 10_000
"""Rows of a chart's values."""


def read_pptx(package: Package, out: DocumentText) -> str:
    """Writes every slide that is shown: a mark, its title as heading, texts, tables, charts' values, the speaker's
    notes; the deck's title or "". A slide that cannot be read is noted as missing. Raises Unreadable."""
    main = package.main("ppt/presentation.xml")
    relations = package.relations(main)
    for number, listed in enumerate(package.root(main).iter(f"{_P}sldId"), 1):
        if out.is_full:
            break
        relation = relations.get(listed.get(R_ID, ""))
        with out.part(f"slide {number}"):
            root = package.root(relation.target if relation is not None else "", f"slide {number}")
            if root is not None and root.get("show") not in ("0", "false"):
                out.mark(f"slide {number}")
                _Slide(package, relation.target if relation is not None else "", out).write(root)
    return package.title()


class _Slide:
    """Writes the shapes of one slide, the part `name` of the package."""

    def __init__(self, package: Package, name: str, out: DocumentText) -> None:
        self._package = package
        self._relations: dict[str, Relation] = package.relations(name)
        self._out = out

    def write(self, root: Any) -> None:
        """The title, the other shapes in their order, and the notes."""
        shapes = [each for each in _shapes(root.find(f"{_P}cSld/{_P}spTree")) if _placeholder(each) not in _FOOTERS]
        title = next((each for each in shapes if _placeholder(each) in _TITLES), None)
        if title is not None and self._is_shown(title):
            with self._out.part("title"):
                self._out.heading(2, " ".join(map(self._text, title.iterfind(f"{_P}txBody/{_A}p"))))
        for shape in shapes:
            if shape is not title:
                self._write_shape(shape, 0)
        with self._out.part("notes"):
            self._write_notes()

    def _write_notes(self) -> None:
        name = related(self._relations, "notesSlide")
        root = self._package.root(name) if name else None
        for shape in _shapes(root.find(f"{_P}cSld/{_P}spTree")) if root is not None else ():
            if _placeholder(shape) == "body":
                text = "\n".join(map(self._text, shape.iterfind(f"{_P}txBody/{_A}p"))).strip()
                self._out.paragraph(f"Notes: {text}" if text else "")

    def _is_shown(self, shape: Any) -> bool:
        """Whether a shape is not switched off in the selection pane."""
        properties = _properties(shape)
        if properties is None or properties.get("hidden") not in _ON:
            return True
        self._out.leave_out(" ".join(each.text or "" for each in shape.iter(f"{_A}t")))
        return False

    def _write_shape(self, shape: Any, depth: int) -> None:
        """A shape, and those of a group."""
        if not self._is_shown(shape):
            return
        if shape.tag == f"{_P}grpSp":
            for inner in _shapes(shape) if depth < MAX_DEPTH else ():
                self._write_shape(inner, depth + 1)
        elif shape.tag == f"{_P}graphicFrame":
            for table in shape.iter(f"{_A}tbl"):
                with self._out.part("table"):
                    self._out.table(
                        [[self._cell(cell) for cell in row.iterchildren(f"{_A}tc")] for row in table.iter(f"{_A}tr")]
                    )
            for chart in shape.iter(f"{_C}chart"):
                with self._out.part("chart"):
                    relation = self._relations.get(chart.get(R_ID, ""))
                    root = self._package.root(relation.target) if relation is not None else None
                    for plot in root.iterfind(f".//{_C}plotArea/*") if root is not None else ():
                        self._write_plot(plot)
        elif (body := shape.find(f"{_P}txBody")) is not None:
            with self._out.part("text"):
                self._write_paragraphs(body, address(self._relations, shape.find(f"./*/{_P}cNvPr/{_A}hlinkClick")))

    def _cell(self, cell: Any) -> str:
        """The text of a cell; one that another spans has none."""
        if cell.get("hMerge") in _ON or cell.get("vMerge") in _ON:
            return ""
        return "\n".join(map(self._text, cell.iter(f"{_A}p")))

    def _write_paragraphs(self, body: Any, url: str) -> None:
        """The paragraphs of a text: one alone as such, several as items. `url`: where a click on the whole leads."""
        found = []
        for paragraph in body.iterchildren(f"{_A}p"):
            text = self._text(paragraph)
            properties = paragraph.find(f"{_A}pPr")
            level = properties.get("lvl", "0") if properties is not None else "0"
            if text.strip():
                text = self._out.link(text, url) if url else text
                found.append((int(level[:1]) if level.isdecimal() else 0, "-", text))
        if len(found) == 1 and found[0][0] == 0:
            self._out.paragraph(found[0][2])
        else:
            self._out.items(found)

    def _text(self, paragraph: Any) -> str:
        return "".join(self._pieces(paragraph))

    def _pieces(self, paragraph: Any) -> Iterator[str]:
        """The text of runs, with links and equations."""
        for child in paragraph:
            if child.tag in (f"{_A}r", f"{_A}fld"):
                url = address(self._relations, child.find(f"{_A}rPr/{_A}hlinkClick"))
                text = child.findtext(f"{_A}t") or ""
                yield self._out.link(text, url) if url else text
            elif child.tag == f"{_A}br":
                yield "\n"
            elif isinstance(child.tag, str):
                for equation in child.iter(f"{M}oMath"):
                    tex = ""
                    with self._out.part("formula"):
                        tex = tex_of(equation)
                    yield self._out.formula(tex)

    def _write_plot(self, plot: Any) -> None:
        """A chart's values: a row for each category, a column for each series."""
        series = list(plot.iterchildren(f"{_C}ser"))
        if not series:
            return
        names = ["", *(" ".join(each.itertext(f"{_C}v")) for one in series for each in one.iterchildren(f"{_C}tx"))]
        columns = [_points(series[0], "cat", "xVal"), *(_points(one, "val", "yVal") for one in series)]
        self._out.table([names, *(list(row) for row in zip_longest(*columns, fillvalue=""))])


def _shapes(parent: Any) -> Iterator[Any]:
    """The shapes of a slide or group in their order; of alternatives the first, which newer programs show."""
    for child in parent if parent is not None else ():
        if child.tag == _ALTERNATIVES:
            yield from _shapes(child.find(_CHOICE))
        elif child.tag in (f"{_P}sp", f"{_P}grpSp", f"{_P}graphicFrame"):
            yield child


def _properties(shape: Any) -> Any:
    return shape.find(f"./*/{_P}cNvPr")


def _placeholder(shape: Any) -> str:
    """The type of the placeholder that a shape fills, or ""."""
    held = shape.find(f"./*/{_P}nvPr/{_P}ph")
    return str(held.get("type", "body")) if held is not None else ""


def _points(series: Any, *names: str) -> list[str]:
    """The values that a chart keeps of its categories or of a series, in their places."""
    found: dict[int, str] = {}
    for name in names:
        for point in series.iterfind(f"{_C}{name}//{_C}pt"):
            place = point.get("idx", "")
            if place.isdecimal() and int(place[:9]) < MAX_POINTS:
                found[int(place[:9])] = number_text(point.findtext(f"{_C}v") or "")
    return [found.get(place, "") for place in range(max(found, default=-1) + 1)]
