"""Which runs of a .docx people cannot see: hidden by a property or style, tiny, or of their ground's colour.

Works on the elements of WordprocessingML (ECMA-376, part 1, 17.3.2 and 17.7), read 2026-11-23. `w:webHidden` hides
nothing on paper. White is the ground of a page unless the document states another or lays something behind the text;
then only a ground that is stated counts, as in text boxes and tables whose style paints cells.
"""

from typing import Any

from gateway.engines.documents.looks import NOTHING, WHITE, Look
from gateway.engines.html.colours import Colour, colour, same

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
MAX_STYLE_DEPTH = 10
"""Styles that a style is based on, one on the other. Chosen: people make three or four; a file may make a circle."""
_OFF = ("0", "false", "off")
_ANCHOR = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}anchor"
_SHAPES = "{urn:schemas-microsoft-com:vml}*"


def look_of(properties: Any) -> Look:
    """The look that a `w:rPr` or `w:pPr` states; `properties` may be None."""
    look = NOTHING
    for each in properties if properties is not None else ():
        value = each.get(f"{W}val")
        if each.tag == f"{W}vanish":
            look = look._replace(is_hidden=value not in _OFF)
        elif each.tag == f"{W}color":
            look = look._replace(colour=_hex(value))
        elif each.tag == f"{W}sz" and value and value.isdecimal():
            look = look._replace(points=int(value[:4]) / 2)
        elif each.tag == f"{W}shd" and each.get(f"{W}fill", "auto") != "auto":
            is_plain = value in (None, "clear", "nil")
            look = look._replace(has_ground=True, ground=_hex(each.get(f"{W}fill")) if is_plain else None)
        elif each.tag == f"{W}highlight" and value != "none":
            look = look._replace(has_ground=True, ground=colour(value))
    return look


def _hex(value: str | None) -> Colour | None:
    return colour(f"#{value}") if value else None


class Looks:
    """The looks of a document's runs. `styles`: the element `w:styles`; `body`: that of the document; `behind`: those
    of its headers and footers."""

    def __init__(self, styles: Any, body: Any, behind: list[Any]) -> None:
        self._styles = {style.get(f"{W}styleId"): style for style in styles.findall(f"{W}style")}
        self._known: dict[str | None, Look] = {}
        self._painted: dict[str | None, bool] = {}
        default = styles.find(f"{W}docDefaults/{W}rPrDefault/{W}rPr")
        usual = [name for name, style in self._styles.items() if _is_usual(style)]
        self._base = self._named(usual[0] if usual else None).over(look_of(default))
        self.page = _page_ground(body, behind)
        """The colour of the paper, None where something may lie behind the text."""

    def of_paragraph(self, paragraph: Any) -> Look:
        """The look that a paragraph gives to its runs."""
        properties = paragraph.find(f"{W}pPr")
        if properties is None:
            return self._base
        style = properties.find(f"{W}pStyle")
        named = self._named(style.get(f"{W}val")) if style is not None else NOTHING
        own = look_of(properties)
        return own.over(named).over(self._base)

    def of_run(self, run: Any, around: Look) -> Look:
        """The look of a run. `around`: that of its paragraph."""
        properties = run.find(f"{W}rPr")
        if properties is None:
            return around
        style = properties.find(f"{W}rStyle")
        named = self._named(style.get(f"{W}val")) if style is not None else NOTHING
        return look_of(properties).over(named).over(around)

    def of_cell(self, cell: Any, table: Any, under: Colour | None) -> Colour | None:
        """The ground of a table's cell; None where it is not known."""
        look = look_of(cell.find(f"{W}tcPr"))
        if look.has_ground:
            return look.ground
        style = table.find(f"{W}tblPr/{W}tblStyle")
        return None if style is not None and self._paints(style.get(f"{W}val")) else under

    def _named(self, style_id: str | None) -> Look:
        if style_id not in self._known:
            look = NOTHING
            for style in self._chain(style_id):
                look = look.over(look_of(style.find(f"{W}rPr")).over(look_of(style.find(f"{W}pPr"))))
            self._known[style_id] = look
        return self._known[style_id]

    def _paints(self, style_id: str | None) -> bool:
        """Whether a table's style gives grounds to some of its cells."""
        if style_id not in self._painted:
            shades = (shade for style in self._chain(style_id) for shade in style.iter(f"{W}shd"))
            self._painted[style_id] = any(shade.get(f"{W}fill", "auto") != "auto" for shade in shades)
        return self._painted[style_id]

    def _chain(self, style_id: str | None) -> list[Any]:
        """A style and those that it is based on."""
        chain: list[Any] = []
        while style_id in self._styles and len(chain) < MAX_STYLE_DEPTH:
            chain.append(self._styles[style_id])
            base = chain[-1].find(f"{W}basedOn")
            style_id = base.get(f"{W}val") if base is not None else None
        return chain


def _is_usual(style: Any) -> bool:
    """Whether a style is that of paragraphs that name none."""
    return style.get(f"{W}type") == "paragraph" and style.get(f"{W}default") not in (None, *_OFF)


def _page_ground(body: Any, behind: list[Any]) -> Colour | None:
    for part in (body, *behind):
        if any(anchor.get("behindDoc") in ("1", "true") for anchor in part.iter(_ANCHOR)):
            return None
        if any("z-index:-" in shape.get("style", "").replace(" ", "") for shape in part.iter(_SHAPES)):
            return None
    root = body.getparent()
    background = root.find(f"{W}background") if root is not None else None
    if background is None:
        return WHITE
    paper = _hex(background.get(f"{W}color"))
    return paper if paper is not None and same(paper, WHITE) else None
