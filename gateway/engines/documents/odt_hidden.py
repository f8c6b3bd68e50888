"""Takes out of an .odt what people cannot see: declared as hidden, tiny, of its ground's colour, in collapsed rows.

Works on the elements of OpenDocument 1.3 (OASIS), read 2026-11-23. White is the ground of a page unless the document
states another or lays frames behind the text; inside frames only a ground that is stated counts.
"""

from collections.abc import Iterator
from typing import Any

from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.looks import NOTHING, WHITE, Look
from gateway.engines.html.colours import Colour, colour, same

TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
STYLE_NAME = f"{_STYLE}name"
_DISPLAY = f"{TEXT}display"
_GROUND = f"{_FO}background-color"
_HIDING = frozenset(f"{TEXT}{name}" for name in ("section", "p", "h", "span", "hidden-text", "hidden-paragraph"))
_STYLED = {f"{TEXT}p": "paragraph", f"{TEXT}h": "paragraph", f"{TEXT}span": "text"}
_BOXES = {f"{TABLE}table": "table", f"{TABLE}table-row": "table-row", f"{TABLE}table-cell": "table-cell"}
"""Elements whose styles give grounds, and the families of these."""
MAX_STYLE_DEPTH = 10
"""Styles that a style is based on, one on the other. Chosen: people make three or four; a file may make a circle."""
_COLLAPSED = ("collapse", "filter")


def drop_hidden(root: Any, styled: list[Any], out: DocumentText) -> None:
    """Takes out what `out` leaves out; what follows it stays. `styled`: the roots of elements with styles."""
    styles = _Styles(styled)
    waiting: list[tuple[Any, Look, Colour | None]] = [(root, styles.usual, styles.page)]
    while waiting:
        part, look, ground = waiting.pop()
        hidden = _declared(part, styles)
        if hidden is not None:
            if out.leaves_out("".join(hidden.itertext()), is_declared=True):
                _clear(hidden)
            continue
        if part.get(f"{TABLE}visibility") in _COLLAPSED and out.leaves_out("".join(part.itertext())):
            _clear(part)
            continue
        if part.tag in _STYLED:
            look = styles.look(_STYLED[part.tag], part.get(f"{TEXT}style-name")).over(look)
            text = "".join(_own_text(part)) if look.is_unseen(ground) else ""
            if text.strip() and out.leaves_out(text):
                _blank(part)
        elif part.tag in _BOXES:
            box = styles.look(_BOXES[part.tag], part.get(f"{TABLE}style-name"))
            ground = box.ground if box.has_ground else ground
        elif part.tag == f"{_DRAW}frame":
            ground = None
        waiting += ((child, look, ground) for child in part if isinstance(child.tag, str))


def _declared(part: Any, styles: "_Styles") -> Any:
    """The element that the document itself hides: this one, the paragraph that this field hides, or None."""
    if part.tag not in _HIDING:
        return None
    is_hidden = part.get(f"{TEXT}is-hidden") == "true" or part.get(_DISPLAY) == "none"
    if part.tag == f"{TEXT}hidden-paragraph":
        paragraph = part.getparent()
        return paragraph if is_hidden and paragraph is not None and paragraph.tag in _HIDING else None
    family = _STYLED.get(part.tag)
    if not is_hidden and family is not None:
        is_hidden = bool(styles.look(family, part.get(f"{TEXT}style-name")).is_hidden)
    return part if is_hidden else None


def _own_text(part: Any) -> Iterator[str]:
    yield part.text or ""
    for child in part:
        yield child.tail or ""


def _blank(part: Any) -> None:
    part.text = None
    for child in part:
        child.tail = None


def _clear(part: Any) -> None:
    tail = part.tail
    part.clear()
    part.tail = tail


class _Styles:
    """Looks by family and name of the style, each read once. `page`: the ground of the paper, None if not known."""

    def __init__(self, roots: list[Any]) -> None:
        self._elements = {
            (each.get(f"{_STYLE}family"), each.get(STYLE_NAME)): each
            for root in roots
            for each in root.iter(f"{_STYLE}style")
        }
        self._known: dict[tuple[str | None, str | None], Look] = {}
        usual = [each for root in roots for each in root.iter(f"{_STYLE}default-style")]
        self.usual = next((_stated(each) for each in usual if each.get(f"{_STYLE}family") == "paragraph"), NOTHING)
        papers = [each.get(_GROUND) for root in roots for each in root.iter(f"{_STYLE}page-layout-properties")]
        known = [colour(paper) for paper in papers if paper not in (None, "transparent")]
        layers = (each for root in roots for each in root.iter(f"{_STYLE}graphic-properties"))
        is_white = all(paper is not None and same(paper, WHITE) for paper in known)
        is_alone = all(each.get(f"{_STYLE}run-through") != "background" for each in layers)
        self.page = WHITE if is_white and is_alone else None

    def look(self, family: str, name: str | None) -> Look:
        """What a style says, with those that it is based on; nothing for one that there is not."""
        if (family, name) not in self._known:
            look, element = NOTHING, self._elements.get((family, name))
            for _ in range(MAX_STYLE_DEPTH):
                if element is None:
                    break
                look = look.over(_stated(element))
                element = self._elements.get((family, element.get(f"{_STYLE}parent-style-name")))
            self._known[family, name] = look
        return self._known[family, name]


def _stated(style: Any) -> Look:
    look = NOTHING
    for properties in style:
        ground = properties.get(_GROUND)
        if ground not in (None, "transparent"):
            look = look._replace(has_ground=True, ground=colour(ground))
        if properties.tag == f"{_STYLE}text-properties":
            size = properties.get(f"{_FO}font-size", "")
            look = look._replace(
                is_hidden=properties.get(_DISPLAY) == "none" or None,
                colour=colour(properties.get(f"{_FO}color")),
                points=float(size[:-2]) if size[-2:] == "pt" and size[:-2].replace(".", "", 1).isdecimal() else None,
            )
    return look
