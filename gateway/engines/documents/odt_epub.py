"""OpenDocument texts (.odt) and books (.epub) as Markdown.

Of an .odt, text that the document declares as hidden is left out, as are collapsed rows. The chapters of a book are
XHTML, read as pages are, in the order of its spine. Sources: OpenDocument 1.3 (OASIS), EPUB 3.3 (W3C); read 2026-11-22.
"""

import posixpath
import zipfile
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any
from urllib.parse import unquote

from gateway.engines.documents.comments import comment
from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.numbering import Level, Numbers, item
from gateway.engines.documents.office import Package
from gateway.engines.fetch.errors import Unreadable
from gateway.engines.html.cleaning import drop_code, write_formulas
from gateway.engines.html.encoding import decode, text_only
from gateway.engines.html.hidden import drop_hidden
from gateway.engines.html.tree import as_html, parse, text_of
from gateway.engines.markdown.writer import Writer, WriterOptions

_URN = "{urn:oasis:names:tc:opendocument:xmlns:"
TEXT, TABLE, _STYLE, _DRAW = (f"{_URN}{name}:1.0}}" for name in ("text", "table", "style", "drawing"))
_FORM, _CHART = f"{_URN}form:1.0}}", f"{_URN}chart:1.0}}"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_MATHML = "{http://www.w3.org/1998/Math/MathML}math"
_COMMENT, _CREATOR = f"{_URN}office:1.0}}annotation", "{http://purl.org/dc/elements/1.1/}creator"
_TEXT_BOX = f"{_DRAW}text-box"
_DISPLAY = f"{TEXT}display"
_HIDING = frozenset(f"{TEXT}{name}" for name in ("section", "p", "h", "span", "hidden-text", "hidden-paragraph"))
_STYLED = {f"{TEXT}p": "paragraph", f"{TEXT}h": "paragraph", f"{TEXT}span": "text"}
_INDEXES = ("table-of-content", "illustration-index", "table-index", "object-index", "user-index", "alphabetical-index")
_SECTIONS = frozenset(f"{TEXT}{name}" for name in ("section", "index-title", "index-body", "bibliography", *_INDEXES))
_FORMS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
"""The forms of numbers (`style:num-format`), as WordprocessingML names them."""
_NAMES = {"h": "heading", "p": "paragraph"}
MAX_STYLE_DEPTH = 10
"""Styles that a style is based on, one on the other. A file may make a circle of them."""
MAX_REPEATED = 50
"""Repetitions of one cell or blank that are written: a file may state any number."""
CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_CHAPTERS = ("application/xhtml+xml", "text/html")
MAX_BEFORE_TITLE = 20
"""Paragraphs and boxes at the beginning of a chapter among which its title is sought."""
MAX_CHAPTER_BYTES = 5_242_880
"""As much as a fetched page may have; a longer chapter is noted as missing."""


def read_odt(package: Package, out: DocumentText) -> str:
    """Writes an .odt; its title or ""."""
    root, styles = package.root("content.xml", "the end of content.xml"), package.root("styles.xml")
    styled = [each for each in (root, styles) if each is not None]
    _drop_hidden(root, styled, out)
    body = root.find(f".//{_URN}office:1.0}}text")
    writer = _Odt(package, root, styled, out)
    writer.write(body if body is not None else root)
    writer.write_notes()
    return package.title("meta.xml")


def _drop_hidden(root: Any, styled: list[Any], out: DocumentText) -> None:
    """Takes out what the document declares as hidden; what follows it stays. `styled`: the roots with styles."""
    styles = {
        (each.get(f"{_STYLE}family"), each.get(f"{_STYLE}name")): each
        for part in styled
        for each in part.iter(f"{_STYLE}style")
    }
    for part in list(root.iter(*_HIDING, f"{TABLE}table-row")):
        hidden = part if part.get(f"{TABLE}visibility") in ("collapse", "filter") else _declared(part, styles)
        if hidden is not None:
            out.leave_out("".join(hidden.itertext()))
            hidden.clear(keep_tail=True)


def _declared(part: Any, styles: dict[tuple[str, str], Any]) -> Any:
    """The element that the document itself hides: this one, the paragraph that this field hides, or None."""
    is_hidden = part.get(f"{TEXT}is-hidden") == "true" or part.get(_DISPLAY) == "none"
    if part.tag == f"{TEXT}hidden-paragraph":
        paragraph = part.getparent()
        return paragraph if is_hidden and paragraph is not None and paragraph.tag in _HIDING else None
    family = _STYLED.get(part.tag)
    return part if is_hidden or (family and _style_hides(family, part, styles)) else None


def _style_hides(family: str, part: Any, styles: dict[tuple[str, str], Any]) -> bool:
    name = part.get(f"{TEXT}style-name")
    for _ in range(MAX_STYLE_DEPTH):
        style = styles.get((family, name))
        if style is None:
            return False
        properties = style.find(f"{_STYLE}text-properties")
        if properties is not None and (stated := properties.get(_DISPLAY)) is not None:
            return bool(stated == "none")
        name = style.get(f"{_STYLE}parent-style-name")
    return False


class _Odt:
    """Writes the parts of an .odt in order."""

    def __init__(self, package: Package, root: Any, styled: list[Any], out: DocumentText) -> None:
        self._package = package
        self._out = out
        self._root = root
        self._notes = {note: number for number, note in enumerate(root.iter(f"{TEXT}note", _COMMENT), 1)}
        self._controls = {each.get(f"{_FORM}id"): each for each in root.iter() if str(each.tag).startswith(_FORM)}
        lists = [each for part in styled for each in part.iter(f"{TEXT}list-style", f"{TEXT}outline-style")]
        self._levels = {each.get(f"{_STYLE}name"): _levels(each) for each in reversed(lists)}
        outline = next((each for each in lists if each.tag == f"{TEXT}outline-style"), None)
        self._headings = Numbers(_levels(outline) if outline is not None else {})
        self._lists: dict[str | None, Numbers] = {}

    def write(self, parent: Any) -> None:
        """What is directly inside an element."""
        for part in parent:
            if self._out.is_full:
                return
            name = str(part.tag).rpartition("}")[2]
            with self._out.part(_NAMES.get(name, name)):
                if part.tag == f"{TEXT}h":
                    self._write_heading(part, self._headings)
                elif part.tag == f"{TEXT}p":
                    self._out.paragraph(self._text(part))
                    for box in _boxes(part):
                        self.write(box)
                    self._write_charts(part)
                elif part.tag == f"{TEXT}list":
                    self._write_list(part)
                elif part.tag == f"{TABLE}table":
                    self._out.table(self._rows(part))
                elif part.tag in _SECTIONS:
                    self.write(part)

    def write_notes(self) -> None:
        """The foot- and endnotes, and the comments."""
        for note, number in self._notes.items():
            with self._out.part(f"note {number}"):
                text = " ".join(map(self._text, note.iterchildren(f"{TEXT}p", f"{TEXT}list", f"{TEXT}note-body")))
                text = comment(note.findtext(_CREATOR), text) if note.tag == _COMMENT else " ".join(text.split())
                self._out.paragraph(f"[^{number}]: {text}" if text else "")

    def _write_heading(self, part: Any, numbers: Numbers, depth: int | None = None) -> None:
        """A heading with its number: of the outline, or of the list that it is an item of, at a depth."""
        level, text = _count(part.get(f"{TEXT}outline-level")), self._text(part)
        is_numbered = text.strip() and part.get(f"{TEXT}is-list-header") != "true"
        label = numbers.next(level - 1 if depth is None else depth) if is_numbered else ""
        self._out.heading(level, f"{label} {text}")

    def _write_list(self, part: Any) -> None:
        """The items of a list, and the headings that are its items."""
        waiting: list[tuple[int, str, str]] = []
        style = part.get(f"{TEXT}style-name")
        if part.get(f"{TEXT}continue-numbering") != "true" or style not in self._lists:
            self._lists[style] = Numbers(self._levels.get(style, {}))
        self._read_list(part, 0, self._lists[style], waiting)
        self._out.items(waiting)

    def _read_list(self, part: Any, depth: int, numbers: Numbers, waiting: list[tuple[int, str, str]]) -> None:
        for entry in part.iterchildren(f"{TEXT}list-item", f"{TEXT}list-header"):
            paragraphs = [child for child in entry if child.tag != f"{TEXT}list"]
            if start := entry.get(f"{TEXT}start-value"):
                numbers.begin(depth, _count(start))
            heading = next((child for child in paragraphs if child.tag == f"{TEXT}h"), None)
            if heading is not None:
                self._out.items(waiting)
                waiting.clear()
                self._write_heading(heading, numbers, depth)
            elif text := " ".join(map(self._text, paragraphs)).strip():
                label = numbers.next(depth) if entry.tag == f"{TEXT}list-item" else ""
                waiting.append((depth, *item(label, text)))
            for inner in entry.iterchildren(f"{TEXT}list"):
                own = inner.get(f"{TEXT}style-name")
                levels = self._levels.get(own) if own else None
                self._read_list(inner, depth + 1, Numbers(levels) if levels is not None else numbers, waiting)

    def _rows(self, table: Any) -> list[list[str]]:
        """The texts of a table's rows; cells that a merged one covers are empty."""
        rows = []
        for row in table.iter(f"{TABLE}table-row"):
            texts: list[str] = []
            for cell in row:
                if cell.tag in (f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
                    text = self._text(cell) if cell.tag == f"{TABLE}table-cell" else ""
                    texts += [text] * _count(cell.get(f"{TABLE}number-columns-repeated"))
            rows.append(texts)
        return rows

    def _text(self, part: Any) -> str:
        """The text of an element: `s` are spaces, `tab` and `line-break` what they say; of notes and comments
        the mark, by their number. Text boxes are left out."""
        pieces = [part.text or ""]
        for child in part:
            if isinstance(child.tag, str):
                pieces.append(self._piece(child))
            pieces.append(child.tail or "")
        return "".join(pieces)

    def _piece(self, child: Any) -> str:
        tag = child.tag
        if tag == f"{TEXT}s":
            return " " * _count(child.get(f"{TEXT}c"))
        if tag in (f"{TEXT}tab", f"{TEXT}line-break"):
            return "\t" if tag == f"{TEXT}tab" else "\n"
        if tag in (f"{TEXT}note", _COMMENT):
            return f"[^{self._notes[child]}]" if child in self._notes else ""
        if tag == f"{TEXT}a":
            return self._out.link(self._text(child), child.get(_XLINK, ""))
        if tag == f"{_DRAW}object":
            with self._out.part("formula"):
                return self._formula(child)
        if tag == f"{_DRAW}control":
            return self._control(child)
        if tag == _TEXT_BOX:
            return ""
        return self._text(child) + ("\n" if tag == f"{TEXT}p" else "")

    def _write_charts(self, part: Any) -> None:
        """The charts of a paragraph, which are parts of their own: titles, also of their axes, and a table."""
        for held in part.iter(f"{_DRAW}object"):
            with self._out.part("chart"):
                root = self._package.root(posixpath.normpath(f"{held.get(_XLINK, '')}/content.xml"))
                for title in root.iter(f"{_CHART}title") if root is not None else ():
                    self._out.paragraph(" ".join(map(self._text, title)))
                for table in root.iterfind(f".//{_CHART}chart/{TABLE}table") if root is not None else ():
                    self._out.table(self._rows(table))

    def _formula(self, held: Any) -> str:
        """The TeX of an embedded formula, which is MathML inside the element or in a part of its own."""
        formula = held.find(_MATHML)
        name = posixpath.normpath(f"{held.get(_XLINK, '')}/content.xml")
        if formula is None:
            formula = self._package.root(name)
        if formula is None or formula.tag != _MATHML:
            return ""
        for each in formula.iter():
            if isinstance(each.tag, str):
                each.tag = each.tag.rpartition("}")[2]
        holder = self._package.etree.Element("div")
        holder.append(formula)
        write_formulas(holder)
        return self._out.formula("".join(holder.itertext()).strip())

    def _control(self, drawn: Any) -> str:
        """What a field of a form shows: a box, or its text."""
        control = self._controls.get(drawn.get(f"{_DRAW}control"))
        if control is None:
            return ""
        if control.tag in (f"{_FORM}checkbox", f"{_FORM}radio"):
            state = control.get(f"{_FORM}current-state") or control.get(f"{_FORM}state", "")
            is_on = state == "checked" or control.get(f"{_FORM}current-selected") == "true"
            return f"{'☒' if is_on else '☐'} {control.get(f'{_FORM}label', '')}".rstrip()
        return str(control.get(f"{_FORM}current-value") or control.get(f"{_FORM}value") or "")


def _levels(style: Any) -> dict[int, Level]:
    """The levels of a list style or of the outline."""
    found = {}
    for each in style if style is not None else ():
        is_bullet = each.tag == f"{TEXT}list-level-style-bullet"
        level, form = _count(each.get(f"{TEXT}level")), "" if is_bullet else each.get(f"{_STYLE}num-format", "1")
        first = level - _count(each.get(f"{TEXT}display-levels")) + 1
        places = ".".join(f"%{number}" for number in range(max(1, first), level + 1))
        text = f"{each.get(f'{_STYLE}num-prefix', '')}{places}{each.get(f'{_STYLE}num-suffix', '')}"
        found[level - 1] = Level(_FORMS.get(form, "none"), text, _count(each.get(f"{TEXT}start-value")))
    return found


def _count(text: str | None) -> int:
    return min(MAX_REPEATED, int(text)) if text and text.isdigit() else 1


def _boxes(part: Any) -> Iterator[Any]:
    """The text boxes anchored in a paragraph; those of boxes inside them are left to these."""
    for child in part:
        if child.tag == _TEXT_BOX:
            yield child
        else:
            yield from _boxes(child)


def read_epub(package: Package, out: DocumentText) -> str:
    """Writes the chapters; the title or "". A chapter that is missing, damaged or too long is noted. Raises
    Unreadable, AttributeError."""
    path = package.root(CONTAINER).find(".//{*}rootfile").get("full-path")
    book = package.root(path)
    items = {item.get("id"): item for item in book.iter("{*}item")}
    encrypted = package.root(_ENCRYPTION)  # fonts mostly
    references = encrypted.iter("{*}CipherReference") if encrypted is not None else ()
    locked = {unquote(reference.get("URI", "")) for reference in references}
    folder, read, titles = posixpath.dirname(path), set[str](), dict[str, str]()
    with out.part("contents"):
        titles = _titles(package, items.values(), folder)
    for reference in book.iter("{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is None or item.get("media-type") not in _CHAPTERS or "nav" in (item.get("properties") or "").split():
            continue
        if out.is_full:
            break
        name = _beside(folder, item.get("href"))
        if name in locked:
            raise Unreadable("the book is protected against copying")
        if name not in read:  # several references to places in one file are one chapter
            read.add(name)
            with out.part(name):
                _write_chapter(package.archive, name, titles.get(name, ""), out)
    return package.title(path)


def _beside(folder: str, address: str | None) -> str:
    """The path of the part that an address of the book, written in a file of this folder, leads to."""
    return posixpath.normpath(posixpath.join(folder, unquote(address or "").partition("#")[0]))


def _titles(package: Package, items: Iterable[Any], folder: str) -> dict[str, str]:
    """The titles of the chapters, by their paths, in the contents: of EPUB 3 (`nav`), else of EPUB 2 (NCX)."""
    titles: dict[str, str] = {}
    for part in items:
        name = _beside(folder, part.get("href"))
        if "nav" in (part.get("properties") or "").split():
            root = parse(as_html(decode(package.archive.read(name), "application/xhtml+xml")))
            entries = [(link.get("href"), text_of(link)) for link in root.iterfind(".//nav//a")]
        elif part.get("media-type") == "application/x-dtbncx+xml" and not titles:
            points = package.root(name).iter("{*}navPoint")
            entries = [(each.find("{*}content").get("src"), each.findtext("{*}navLabel/{*}text")) for each in points]
        else:
            continue
        for address, title in entries:
            titles.setdefault(_beside(posixpath.dirname(name), address), " ".join((title or "").split()))
    return titles


def _write_chapter(archive: zipfile.ZipFile, name: str, title: str, out: DocumentText) -> None:
    """A chapter; links to files of the book are plain text, since nobody could follow them. `title`: by the contents;
    it is the heading of a chapter that has none."""
    if archive.getinfo(name).file_size > MAX_CHAPTER_BYTES:
        out.miss(name)
        return
    root = parse(as_html(text_only(decode(archive.read(name), "application/xhtml+xml"))))
    body = root.find("body") if root is not None else None
    if root is None or body is None:
        return
    drop_hidden(root)
    drop_code(root)
    for link in body.iter("a"):
        if not (link.get("href") or "").startswith(("http://", "https://")):
            link.attrib.pop("href", None)
    if title and next(body.iter("h1", "h2", "h3", "h4", "h5", "h6"), None) is None:
        named = [each for each in islice(body.iter("p", "div"), MAX_BEFORE_TITLE) if text_of(each) == title]
        if named:
            named[-1].tag = "h1"
        else:
            out.heading(1, title)
    out.paragraph(Writer(WriterOptions("", out.is_plain, pictures=False)).write(body))
