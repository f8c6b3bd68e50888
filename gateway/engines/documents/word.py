"""Word documents (.docx) as Markdown, from the elements of WordprocessingML.

Deleted text is left out, and text that a property or style declares as hidden. Source: ECMA-376, part 1, 17; read
2026-11-22.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gateway.engines.documents.comments import comment
from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.drawings import described, write_drawings
from gateway.engines.documents.equations import M, tex_of
from gateway.engines.documents.numbering import MAX_NUMBER, Level, Numbers, item
from gateway.engines.documents.office import Package, Relation, address, related

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
MAX_SPAN = 63
"""Columns that one cell may span: the limit of a Word table. A file may state any number."""
MAX_STYLE_DEPTH = 10
"""Styles that a style is based on, one on the other. A file may make a circle of them."""
MAX_LIST_LEVEL = 8
"""Word has nine levels of lists, from 0."""
_HEADING = re.compile(r"heading (\d)$")
_LIST = re.compile(r"list (bullet|number|continue)")
_LINK_FIELD = re.compile(r'\s{0,64}+HYPERLINK\s{1,64}"([^"]{1,2000})"', re.IGNORECASE)
_OFF = ("0", "false", "off")
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_BOX = f"{W}txbxContent"
_LEFT_OUT = frozenset((f"{W}del", f"{W}moveFrom", f"{W}pPr", f"{W}rPr", f"{W}sdtPr", _BOX, _FALLBACK))
"""Deleted text and properties; text boxes are read apart, and their older form never."""
_SIGNS = {f"{W}tab": "\t", f"{W}ptab": "\t", f"{W}br": "\n", f"{W}cr": "\n", f"{W}noBreakHyphen": "-"}
_CONTAINERS = frozenset(f"{W}{name}" for name in ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag"))
_DELETED_END = f"{W}pPr/{W}rPr/{W}del"
_DRAWN = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"
_REFERENCES = frozenset(f"{W}{name}Reference" for name in ("footnote", "endnote", "comment"))
_BLOCKS = (f"{W}p", f"{W}tbl")
_PICTURE_FONTS = {
    "wingdings": {0x6F: "☐", 0x71: "☐", 0x78: "☒", 0xA8: "☐", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
                  0xE0: "→", 0xDF: "←", 0xE8: "→", 0xF0: "⇒", 0xA7: "▪", 0x6E: "■", 0x6C: "●"},
    "wingdings 2": {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0xA3: "☐", 0x30: "☐"},
    "symbol": dict(zip(
        (*range(0x41, 0x5B), *range(0x61, 0x7B), 0xA3, 0xA5, 0xAE, 0xB1, 0xB3, 0xB4, 0xB7, 0xB9, 0xBB),
        "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ≤∞→±≥×•≠≈", strict=True)),
}  # fmt: skip
"""What a character of a font of pictures shows (`w:sym`), by the last byte of its code."""


def read_docx(package: Package, out: DocumentText) -> str:
    """Writes a .docx; its title or "". Raises Unreadable."""
    main = package.main("word/document.xml")
    root = package.root(main, "the end of the text")
    writer = _Docx(package, package.relations(main), out)
    writer.write(_content(root.find(f"{W}body")))
    writer.end()
    return package.title()


class _Style(NamedTuple):
    """What a paragraph's style says: its name, its heading level or 0, its list ("" for none) and level in it."""

    name: str = ""
    level: int = 0
    list_id: str = ""
    depth: int = 0


class _Docx:
    """Writes the paragraphs, tables and notes of a .docx in order."""

    def __init__(self, package: Package, relations: dict[str, Relation], out: DocumentText) -> None:
        self._out = out
        self._package = package
        self._relations = relations
        self._styles, self._numbering = _Styles(None), _Numbering(None)
        with out.part("styles"):
            self._styles = _Styles(self._root("styles"))
        with out.part("numbers of lists"):
            self._numbering = _Numbering(self._root("numbering"))
        self._waiting: list[tuple[int, str, str]] = []
        self._texts = _Texts(self._styles, relations, out)
        self._before = ""  # text that the next paragraph goes on: a large first letter, or one whose end is deleted

    def write(self, parts: Iterable[Any], *, in_box: bool = False) -> None:
        """Paragraphs and tables, as elements, with the drawings of those that are in no text box."""
        counts: Counter[str] = Counter()
        for part in parts:
            if self._out.is_full:
                return
            name = "table" if part.tag == f"{W}tbl" else "paragraph"
            counts[name] += 1
            with self._out.part(f"{name} {counts[name]}"):
                if name == "table":
                    self._end_list()
                    self._out.table(_rows(part, self._text_in_cell))
                else:
                    self._write_paragraph(part)
                    self.write(_boxes(part), in_box=True)
                if not in_box:
                    write_drawings(part, self._package, self._relations, self._out)

    def end(self) -> None:
        """The last list, the notes and the comments."""
        self._out.paragraph(self._before)
        self._end_list()
        texts = {}
        for kind in ("footnotes", "endnotes", "comments") if self._texts.notes else ():
            root = self._root(kind)
            for note in root if root is not None else ():
                with self._out.part("note"):
                    text = " ".join(self._texts.of(part, with_notes=False) for part in _content(note))
                    text = comment(note.get(f"{W}author"), text) if kind == "comments" else text
                    texts[f"{kind[0]}{note.get(f'{W}id')}"] = text
        for number, name in enumerate(self._texts.notes, 1):
            if text := texts.get(name, "").strip():
                self._out.paragraph(f"[^{number}]: {text}")

    def _root(self, kind: str) -> Any:
        """The root element of the part of a kind; None where there is none or it cannot be read."""
        name = related(self._relations, kind)
        return self._package.root(name) if name else None

    def _end_list(self) -> None:
        self._out.items(self._waiting)
        self._waiting = []

    def _text_in_cell(self, paragraph: Any) -> str:
        style, text = self._styles.of(paragraph), self._texts.of(paragraph)
        label = self._numbering.label(style.list_id, style.depth) if text.strip() else ""
        return f"{label} {text}" if label else text

    def _write_paragraph(self, paragraph: Any) -> None:
        style, text = self._styles.of(paragraph), self._before + self._texts.of(paragraph)
        self._before = ""
        if text.strip() and paragraph.find(_DELETED_END) is not None:
            self._before = f"{text} "
        elif (frame := paragraph.find(f"{W}pPr/{W}framePr")) is not None and frame.get(f"{W}dropCap", "none") != "none":
            self._before = text.strip()
        if self._before:
            return
        name = style.name.casefold()
        level = style.level or (int(heading[1]) if (heading := _HEADING.match(name)) else 0)
        listed = style.list_id not in ("", "0") or bool(_LIST.match(name))
        label = self._numbering.label(style.list_id, style.depth) if text.strip() and listed else ""
        if level or name == "title" or not listed:
            self._end_list()
            if level or name == "title":
                self._out.heading(level or 1, f"{label} {text}")
            else:
                self._out.paragraph(text)
        elif text.strip():
            label = label or ("1." if "number" in name and not style.list_id else "")
            named_depth = int(name[-1]) - 1 if _LIST.match(name) and name[-1].isdecimal() else 0
            self._waiting.append((max(named_depth, style.depth), *item(label, text)))


def _content(parent: Any, *tags: str) -> Iterator[Any]:
    """The children of these tags, else the paragraphs and tables, those in content controls and insertions too."""
    for child in parent if parent is not None else ():
        if child.tag in (tags or _BLOCKS):
            yield child
        elif child.tag in _CONTAINERS:
            yield from _content(child, *tags)


def _boxes(element: Any) -> Iterator[Any]:
    """The paragraphs and tables of the text boxes anchored in a paragraph; those of boxes inside them are left to
    these."""
    for child in element:
        if child.tag == _BOX:
            yield from _content(child)
        elif child.tag != _FALLBACK:
            yield from _boxes(child)


def _paragraphs(part: Any) -> Iterator[Any]:
    """A paragraph, or those of a table, each with those of its text boxes."""
    if part.tag == f"{W}p":
        yield part
    for child in part:
        if child.tag != _FALLBACK:
            yield from _paragraphs(child)


def _rows(table: Any, text_of: Callable[[Any], str]) -> list[list[str]]:
    """The texts of a table's rows but for deleted ones; a merged cell's text is in its first place. `text_of`: of a
    paragraph."""
    rows = []
    for row in _content(table, f"{W}tr"):
        if row.find(f"{W}trPr/{W}del") is not None:
            continue
        cells: list[str] = []
        for cell in _content(row, f"{W}tc"):
            inner = (paragraph for part in _content(cell) for paragraph in _paragraphs(part))
            span, merged = cell.find(f"{W}tcPr/{W}gridSpan"), cell.find(f"{W}tcPr/{W}vMerge")
            goes_on = merged is not None and merged.get(f"{W}val", "continue") == "continue"
            cells.append("" if goes_on else "\n".join(map(text_of, inner)))
            cells += [""] * (_number(span.get(f"{W}val"), MAX_SPAN) - 1 if span is not None else 0)
        rows.append(cells)
    return rows


@dataclass(slots=True)
class _Field:
    """A field that has begun: its code, and where its result begins among the pieces (None before that)."""

    code: str = ""
    start: int | None = None


@dataclass(slots=True)
class _ParagraphText:
    """The text of a paragraph as far as it was read."""

    notes: list[str] | None
    pieces: list[str] = field(default_factory=list)
    fields: list[_Field] = field(default_factory=list)

    @property
    def is_in_code(self) -> bool:
        """Whether what comes is the code of a field, which nobody sees."""
        return bool(self.fields) and self.fields[-1].start is None


class _Texts:
    """The visible texts of paragraphs. `notes`: ids of the notes and comments that they name, in order."""

    def __init__(self, styles: "_Styles", relations: dict[str, Relation], out: DocumentText) -> None:
        self.notes: list[str] = []
        self._styles = styles
        self._relations = relations
        self._out = out

    def of(self, paragraph: Any, *, with_notes: bool = True) -> str:
        """The visible text of a paragraph, with marks of its notes."""
        run = _ParagraphText(self.notes if with_notes else None)
        self._read(paragraph, self._styles.hides(paragraph, "pPr", "pStyle", otherwise=False), run)
        return "".join(run.pieces)

    def _read(self, element: Any, is_hidden: bool, run: _ParagraphText) -> None:
        for child in element:
            tag = child.tag
            if tag in _LEFT_OUT or not isinstance(tag, str):
                continue
            if tag == f"{W}r":
                hides = self._styles.hides(child, "rPr", "rStyle", otherwise=is_hidden)
                if hides:
                    self._out.leave_out("".join(each.text or "" for each in child.iter(f"{W}t")))
                else:
                    self._read(child, is_hidden, run)
            elif tag == f"{W}hyperlink" or tag == f"{W}fldSimple":
                self._read_link(child, is_hidden, run)
            elif tag in (f"{M}oMath", f"{M}oMathPara"):
                with self._out.part("formula"):
                    run.pieces.append(self._out.formula(tex_of(child), is_block=tag == f"{M}oMathPara"))
            elif tag == f"{W}fldChar":
                self._read_field(child, run)
            elif tag == f"{W}instrText":
                if run.is_in_code:
                    run.fields[-1].code += child.text or ""
            elif not run.is_in_code:
                self._read_piece(child, is_hidden, run)

    def _read_piece(self, child: Any, is_hidden: bool, run: _ParagraphText) -> None:
        tag = child.tag
        if tag == f"{W}t":
            run.pieces.append(child.text or "")
        elif tag in _SIGNS:
            run.pieces.append("" if child.get(f"{W}type") in ("page", "column") else _SIGNS[tag])
        elif tag == f"{W}sym":
            run.pieces.append(_symbol(child))
        elif tag == _DRAWN:
            run.pieces.append(described(child))
        elif tag in _REFERENCES:
            if run.notes is not None:
                run.notes.append(f"{tag[len(W)]}{child.get(f'{W}id')}")
                run.pieces.append(f"[^{len(run.notes)}]")
        else:
            self._read(child, is_hidden, run)

    def _read_link(self, link: Any, is_hidden: bool, run: _ParagraphText) -> None:
        start = len(run.pieces)
        self._read(link, is_hidden, run)
        code = _LINK_FIELD.match(link.get(f"{W}instr") or "")
        url = code[1] if code else address(self._relations, link)
        if url and (anchor := link.get(f"{W}anchor")):  # Word keeps the fragment of an address apart
            url = f"{url}#{anchor}"
        if url:
            run.pieces[start:] = [self._out.link("".join(run.pieces[start:]), url)]

    def _read_field(self, sign: Any, run: _ParagraphText) -> None:
        """The begin, the separator or the end of a field: `HYPERLINK "https://…"` makes its result a link."""
        kind = sign.get(f"{W}fldCharType")
        if kind == "begin":
            if (box := sign.find(f"{W}ffData/{W}checkBox")) is not None and not run.is_in_code:
                run.pieces.append(_checkbox(box))
            run.fields.append(_Field())
        elif kind == "separate" and run.fields:
            run.fields[-1].start = len(run.pieces)
        elif kind == "end" and run.fields:
            ended = run.fields.pop()
            match = _LINK_FIELD.match(ended.code)
            if match and ended.start is not None:
                run.pieces[ended.start :] = [self._out.link("".join(run.pieces[ended.start :]), match[1])]


def _symbol(element: Any) -> str:
    """The character that a `w:sym` shows; "" for one of a font that is not known here."""
    code = element.get(f"{W}char") or ""
    try:
        number = int(code[:6], 16)
    except ValueError:
        return ""
    font = (element.get(f"{W}font") or "").casefold()
    shown = _PICTURE_FONTS.get(font, {}).get(number & 0xFF)
    is_private = 0xE000 <= number <= 0xF8FF
    return shown or ("" if is_private or not chr(min(number, 0x10FFFF)).isprintable() else chr(number))


def _checkbox(box: Any) -> str:
    state = box.find(f"{W}checked")
    state = box.find(f"{W}default") if state is None else state
    return "☒" if state is not None and state.get(f"{W}val") not in _OFF else "☐"


class _Styles:
    """Styles of a document by their ids, each looked up once. `root`: the element `w:styles`, None without."""

    def __init__(self, root: Any) -> None:
        styles = root.findall(f"{W}style") if root is not None else ()
        self._elements = {style.get(f"{W}styleId"): style for style in styles}
        self._known: dict[str | None, _Style] = {}
        self._hiding: dict[str | None, bool | None] = {}

    def of(self, paragraph: Any) -> _Style:
        """A paragraph's style, with what the paragraph says itself."""
        named = paragraph.find(f"{W}pPr/{W}pStyle")
        style = self._named(named.get(f"{W}val") if named is not None else None)
        own = _list_and_level(paragraph)
        return style._replace(**own) if own else style

    def hides(self, element: Any, properties: str, style: str, *, otherwise: bool) -> bool:
        """Whether a run or paragraph, or its style, declares its text as hidden (`w:vanish`)."""
        stated = element.find(f"{W}{properties}")
        if stated is None:
            return otherwise
        own = _vanishes(stated) if properties == "rPr" else None
        named = stated.find(f"{W}{style}")
        if own is None and named is not None:
            own = self._style_hides(named.get(f"{W}val"))
        return otherwise if own is None else own

    def _style_hides(self, style_id: str | None) -> bool | None:
        if style_id not in self._hiding:
            stated = (_vanishes(style.find(f"{W}rPr")) for style in self._chain(style_id))
            self._hiding[style_id] = next((each for each in stated if each is not None), None)
        return self._hiding[style_id]

    def _named(self, style_id: str | None) -> _Style:
        if style_id not in self._known:
            found: dict[str, Any] = {}
            chain = self._chain(style_id)
            for element in chain:
                found = {**_list_and_level(element), **found}
            name = chain[0].find(f"{W}name") if chain else None
            self._known[style_id] = _Style(name.get(f"{W}val", "") if name is not None else "", **found)
        return self._known[style_id]

    def _chain(self, style_id: str | None) -> list[Any]:
        """A style and those that it is based on."""
        chain: list[Any] = []
        while style_id in self._elements and len(chain) < MAX_STYLE_DEPTH:
            chain.append(self._elements[style_id])
            base = chain[-1].find(f"{W}basedOn")
            style_id = base.get(f"{W}val") if base is not None else None
        return chain


def _vanishes(properties: Any) -> bool | None:
    vanish = properties.find(f"{W}vanish") if properties is not None else None
    return None if vanish is None else vanish.get(f"{W}val") not in _OFF


def _list_and_level(element: Any) -> dict[str, Any]:
    """What the `w:pPr` of a paragraph or style says of its level and list."""
    found: dict[str, Any] = {}
    level = element.find(f"{W}pPr/{W}outlineLvl")
    if level is not None:
        number = _number(level.get(f"{W}val"), MAX_LIST_LEVEL + 1)
        found["level"] = number + 1 if number < MAX_LIST_LEVEL + 1 else 0
    for name, key in (("numId", "list_id"), ("ilvl", "depth")):
        value = element.find(f"{W}pPr/{W}numPr/{W}{name}")
        if value is not None:
            found[key] = value.get(f"{W}val", "") if key == "list_id" else _number(value.get(f"{W}val"), MAX_LIST_LEVEL)
    return found


def _number(text: str | None, most: int) -> int:
    return min(int(text), most) if text and text.isdecimal() else most


class _Numbering:
    """The numbers of lists. `root`: the element `w:numbering`, None without."""

    def __init__(self, root: Any) -> None:
        children = list(root) if root is not None else []
        self._kinds = {each.get(f"{W}abstractNumId"): each for each in children if each.tag == f"{W}abstractNum"}
        self._lists = {each.get(f"{W}numId"): each for each in children if each.tag == f"{W}num"}
        self._counts: dict[str, Numbers] = {}
        self._starts: dict[str, dict[int, int]] = {}

    def label(self, list_id: str, depth: int) -> str:
        """What stands before the next item of a list: `1.2`, or "" for a bullet or nothing."""
        listed = self._lists.get(list_id)
        if listed is None:
            return ""
        kind = _value(listed, "abstractNumId")
        if kind not in self._counts:  # lists of one kind go on counting
            self._counts[kind] = Numbers(self._levels(kind, listed))
        if list_id not in self._starts:
            self._starts[list_id] = {
                _number(each.get(f"{W}ilvl"), MAX_LIST_LEVEL): _number(_value(each, "startOverride"), MAX_NUMBER)
                for each in listed.iterfind(f"{W}lvlOverride[{W}startOverride]")
            }
        if (start := self._starts[list_id].pop(depth, None)) is not None:
            self._counts[kind].begin(depth, start)
        return self._counts[kind].next(depth)

    def _levels(self, kind: str, listed: Any) -> dict[int, Level]:
        abstract = self._kinds.get(kind)
        if abstract is not None and (named := _value(abstract, "numStyleLink")):  # the style's own list has the levels
            abstract = next((each for each in self._kinds.values() if _value(each, "styleLink") == named), abstract)
        levels = {}
        for each in [*(abstract.iterfind(f"{W}lvl") if abstract is not None else ()), *listed.iterfind(f"*/{W}lvl")]:
            levels[_number(each.get(f"{W}ilvl"), MAX_LIST_LEVEL)] = Level(
                _value(each, "numFmt") or "decimal",
                _value(each, "lvlText"),
                _number(_value(each, "start") or "0", MAX_NUMBER),
                _value(each, "lvlRestart") != "0",
                (legal := each.find(f"{W}isLgl")) is not None and legal.get(f"{W}val") not in _OFF,
            )
        return levels


def _value(element: Any, name: str) -> str:
    """The value of a child element, or ""."""
    child = element.find(f"{W}{name}")
    return child.get(f"{W}val", "") if child is not None else ""
