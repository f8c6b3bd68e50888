"""Gives code and tables that generators of documentation draw with `div` elements the tags that say so.

Doxygen writes each line of code as a `div`, gitweb each line of a file, Javadoc (17 and later) each cell of its
summaries. VitePress names the language in a corner of each sample. Scaladoc has the first sentence of each description
once more, for readers who fold it. LaTeXML writes each note in the middle of its sentence. Read 2026-11-23. Runs in the
parsing processes, in a document whose names are known already: other pages cost nothing.
"""

import itertools
from collections.abc import Collection
from typing import Any

from gateway.engines.html.dom import remove_all, text_of

_CODE, _LINE, _TOOLTIP = "fragment", "line", "ttc"
"""Doxygen: the box of the code, a line, and what its style sheet shows when the reader points at a name."""
_GRID, _HEAD = "summary-table", "table-header"
"""Javadoc: the box of the cells and the class of those in the first row."""
_SHORT, _FULL, _CHOICE = "shortcomment", "fullcomment", "mbrsel"
"""Scaladoc: the first sentence of a description, the description, and the box to choose which members are shown."""
_PLAIN, _NUMBER = "pre", "linenr"
"""gitweb: a line of a file, and the link in it that is its number."""
_LEAST_LINES = 2
_SAMPLE = "language-"
"""VitePress: the beginning of the class of a sample's box, before the name of its language."""
_NOTE, _NOTE_TEXT, _NOTE_MARKS = "ltx_note", "ltx_note_content", frozenset({"ltx_note_mark", "ltx_tag"})
"""LaTeXML: a note, the text that it shows to who points at its number, and the numbers outside and inside of it."""
_LATEXML = "ltx_p"
_ANY = (_CODE, _GRID, _FULL, _SAMPLE, _LATEXML)
_MAX_PIECES = 100
"""Pieces of a description that are compared with its first sentence. Chosen: its names are in code or links. At half
long sentences with many names stand twice, at double nothing more is found."""


def retag(root: Any, names: Collection[str]) -> bool:
    """Retags the boxes in place; True if the document has any. `names`: "class id" of the elements of the document."""
    joined = " ".join(names)
    if not any(name in joined for name in _ANY) and f"{_PLAIN} " not in names:  # a class without an id
        return False
    found = False
    inside: set[Any] = set()
    for box in list(root.iter("div")):
        words = (box.get("class") or "").split()
        if _CODE in words and box not in inside:
            inner = list(box.iter("div"))[1:]
            inside.update(inner)
            found = _write_code(box, inner) or found
        elif _GRID in words:
            found = _write_table(box) or found
        elif _FULL in words:
            found = _drop_beginning(box) or found
        elif box.get("id") == _CHOICE:
            remove_all([box])
            found = True
        elif box.get("class") == _PLAIN and box.tag == "div":
            found = _write_lines(box) or found
        elif words and words[0].startswith(_SAMPLE):
            found = _drop_language(box, words[0]) or found
    return (_LATEXML in joined and _write_notes(root)) or found


def _write_notes(root: Any) -> bool:
    """Puts the text of each note into parentheses, without its number."""
    notes = [each for each in root.iter("span") if _NOTE in (each.get("class") or "").split()]
    outermost: list[Any] = []
    inside: set[Any] = set()
    for note in notes:
        if note not in inside:
            inside.update(note.iter("span"))
            outermost.append(note)
    for note in outermost:
        marks = [each for each in note.iter("sup", "span") if _NOTE_MARKS & set((each.get("class") or "").split())]
        remove_all(marks)
        text = next((each for each in note.iter("span") if each.get("class") == _NOTE_TEXT), None)
        if text is not None:
            text.text = f" ({text.text or ''}"
            note.tail = f"){note.tail or ''}"
    return bool(outermost)


def _drop_beginning(box: Any) -> bool:
    """Removes the short description before a full one."""
    short = box.getprevious()
    is_short = short is not None and short.tag == "p" and _SHORT in (short.get("class") or "").split()
    pieces = itertools.islice(box.itertext(), _MAX_PIECES) if is_short else ()
    if is_short and " ".join("".join(pieces).split()).startswith(text_of(short).rstrip(".… ")):
        remove_all([short])
        return True
    return False


def _drop_language(box: Any, name: str) -> bool:
    label = next((each for each in box if each.tag == "span" and each.get("class") == "lang"), None)
    if label is None or label.text != name.removeprefix(_SAMPLE):
        return False
    remove_all([label])
    return True


def _write_lines(first: Any) -> bool:
    """Makes one block of code of the lines of a file, each a box that begins with a link to itself."""
    lines: list[Any] = []
    line = first
    while line is not None and line.tag == "div" and line.get("class") == _PLAIN and _is_numbered(line):
        lines.append(line)
        line = line.getnext()
    if len(lines) < _LEAST_LINES:
        return False
    remove_all([line[0] for line in lines])
    code = first.makeelement("pre")
    first.addprevious(code)
    for line in lines:
        line.tag, line.tail = "span", "\n"
        if line.text:
            line.text = line.text.removeprefix(" ")  # what parts the number and the line
        code.append(line)
    return True


def _write_code(box: Any, inner: list[Any]) -> bool:
    lines = [each for each in inner if each.get("class") == _LINE]
    if not lines:
        return False
    remove_all([each for each in inner if each.get("class") == _TOOLTIP])
    box.tag, box.text = "pre", None
    for each in inner:
        each.tag, each.tail = "span", None
    for line in lines:
        line.tail = "\n"
    return True


def _is_numbered(line: Any) -> bool:
    return len(line) > 0 and line[0].get("class") == _NUMBER and not (line.text or "").strip()


def _write_table(box: Any) -> bool:
    cells = [cell for cell in box if isinstance(cell.tag, str)]
    width = 0
    while width < len(cells) and _HEAD in (cells[width].get("class") or "").split():
        width += 1
    if not width or len(cells) % width:
        return False
    box.tag, box.text = "table", None
    row = box
    for at, cell in enumerate(cells):
        if at % width == 0:
            row = box.makeelement("tr")
            box.append(row)
        cell.tag, cell.tail = ("th" if at < width else "td"), None
        row.append(cell)
    return True
