"""Slides (.pptx) as Markdown, from the elements of PresentationML.

Slides and shapes that are switched off are left out. Source: ECMA-376, part 1, 19.3 and 20.1; read 2026-11-28.
"""

from collections.abc import Iterator
from typing import Any

from gateway.engines.documents.comments import write_comments
from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.drawings import described, write_drawings
from gateway.engines.documents.equations import M, tex_of
from gateway.engines.documents.office import R_ID, Package, Relation, address, related
from gateway.geometry.boxes import Rect
from gateway.geometry.reading_order import order_of_boxes

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_CHOICE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Choice"
_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_FOOTERS = ("sldNum", "hdr", "ftr", "dt")
_TITLES = ("title", "ctrTitle")
_ON = ("1", "true")
MAX_DEPTH = 8
"""Groups inside groups on a slide."""
Layouts = dict[str, tuple[Any, dict[str, Relation]]]
"""The roots and relations of layouts and masters, by their paths, each read once."""


def read_pptx(package: Package, out: DocumentText) -> str:
    """Writes every slide that is shown: a mark, its title as heading, texts, tables, charts' values, the speaker's
    notes and readers' comments; the deck's title or "". A slide that cannot be read is noted as missing. Raises
    Unreadable."""
    main = package.main("ppt/presentation.xml")
    relations, layouts = package.relations(main), Layouts()
    for number, listed in enumerate(package.root(main).iter(f"{_P}sldId"), 1):
        if out.is_full:
            break
        relation = relations.get(listed.get(R_ID, ""))
        with out.part(f"slide {number}"):
            root = package.root(relation.target if relation is not None else "", f"slide {number}")
            if root is not None and root.get("show") not in ("0", "false"):
                out.mark(f"slide {number}")
                name = relation.target if relation is not None else ""
                _Slide(package, name, layouts, out).write(root)
                write_comments(package, relations, package.relations(name), out)
    return package.title()


class _Slide:
    """Writes the shapes of one slide, the part `name` of the package."""

    def __init__(self, package: Package, name: str, layouts: Layouts, out: DocumentText) -> None:
        self._package = package
        self._layouts = layouts
        self._relations: dict[str, Relation] = package.relations(name)
        self._out = out

    def write(self, root: Any) -> None:
        """The title, the other shapes in reading order, and the notes."""
        tree = root.find(f"{_P}cSld/{_P}spTree")
        shapes = [each for each in self._in_order(tree) if _placeholder(each) not in _FOOTERS]
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

    def _in_order(self, parent: Any) -> list[Any]:
        """The shapes of a slide or group as they are read; those without a place come first."""
        shapes = list(_shapes(parent))
        places = [self._place(shape) for shape in shapes]
        placed = [(shape, place) for shape, place in zip(shapes, places, strict=True) if place is not None]
        order = order_of_boxes([place for _, place in placed])
        unplaced = [shape for shape, place in zip(shapes, places, strict=True) if place is None]
        return unplaced + [placed[at][0] for at in order]

    def _place(self, shape: Any) -> Rect | None:
        """Where a shape stands; a placeholder may leave that to its layout, and this to its master."""
        held = shape.find(f"./*/{_P}nvPr/{_P}ph")
        same = [shape, *(self._patterns(held.get("idx"), held.get("type", "body")) if held is not None else ())]
        for each in same:
            frame = next(each.iter(f"{_A}xfrm", f"{_P}xfrm"), None)
            corner, extent = (frame.find(f"{_A}off"), frame.find(f"{_A}ext")) if frame is not None else (None, None)
            if corner is not None and extent is not None:
                x, y = _number(corner.get("x")), _number(corner.get("y"))
                return Rect(x, y, x + _number(extent.get("cx")), y + _number(extent.get("cy")))
        return None

    def _patterns(self, number: str | None, kind: str) -> Iterator[Any]:
        """The placeholders of the layout and the master that one of a slide is like: of its number, or of its type."""
        relations = self._relations
        for level in ("slideLayout", "slideMaster"):
            name = related(relations, level)
            if not name:
                return
            if name not in self._layouts:
                self._layouts[name] = (self._package.root(name), self._package.relations(name))
            root, relations = self._layouts[name]
            held = list(root.iter(f"{_P}ph")) if root is not None else []
            same = [each for each in held if number is not None and each.get("idx") == number]
            for each in same or [each for each in held if each.get("type", "body") == kind]:
                yield each.getparent().getparent().getparent()

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
            for inner in self._in_order(shape) if depth < MAX_DEPTH else ():
                self._write_shape(inner, depth + 1)
        elif shape.tag == f"{_P}graphicFrame":
            for table in shape.iter(f"{_A}tbl"):
                with self._out.part("table"):
                    self._out.table(
                        [[self._cell(cell) for cell in row.iterchildren(f"{_A}tc")] for row in table.iter(f"{_A}tr")]
                    )
            write_drawings(shape, self._package, self._relations, self._out)
        elif shape.tag == f"{_P}pic":
            self._out.paragraph(described(_properties(shape)))
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


def _shapes(parent: Any) -> Iterator[Any]:
    """The shapes of a slide or group in their order; of alternatives the first, which newer programs show."""
    for child in parent if parent is not None else ():
        if child.tag == _ALTERNATIVES:
            yield from _shapes(child.find(_CHOICE))
        elif child.tag in (f"{_P}sp", f"{_P}grpSp", f"{_P}graphicFrame", f"{_P}pic"):
            yield child


def _number(text: str | None) -> int:
    """A coordinate in EMU, 0 for what is none."""
    return int(text[:12]) if text and text.removeprefix("-").isdecimal() else 0


def _properties(shape: Any) -> Any:
    return shape.find(f"./*/{_P}cNvPr")


def _placeholder(shape: Any) -> str:
    """The type of the placeholder that a shape fills, or ""."""
    held = shape.find(f"./*/{_P}nvPr/{_P}ph")
    return str(held.get("type", "body")) if held is not None else ""
