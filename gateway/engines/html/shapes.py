"""Gives elements the tags of what they look like: tables, rows, lists and headings by ARIA roles, and by CSS tables,
blocks and preformatted text; code that has lines is preformatted.

A `div` with `role=row` inside `role=table` becomes a `tr`, a `span` with `display: block` a `div`, a `div` with
`white-space: pre` a `pre`; lines of `white-space: pre-line` end with `br`. So the modules behind this one look at tags
alone. Sources: ARIA 1.2, CSS Display 3, CSS Text 3. Runs in the parsing processes.
"""

import itertools
import re
from typing import Any

from gateway.engines.html.styles import Styles
from gateway.engines.html.tree import BLOCKS, PREFORMATTED, raw_text, text_size

_ROLES = {
    "table": "table", "grid": "table", "treegrid": "table", "rowgroup": "tbody", "row": "tr", "cell": "td",
    "gridcell": "td", "columnheader": "th", "rowheader": "th", "list": "ul", "listitem": "li",
}  # fmt: skip
_DISPLAYS = {
    "table": "table", "inline-table": "table", "table-row-group": "tbody", "table-header-group": "thead",
    "table-footer-group": "tfoot", "table-row": "tr", "table-cell": "td", "table-caption": "caption",
}  # fmt: skip
_NEUTRAL = frozenset(
    {"div", "span", "section", "article", "p", "b", "i", "em", "strong", "label", "ul", "ol", "li", "dl", "dt", "dd",
     "header", "footer", "figure", "a", "h2", "h3", "h4", "h5", "h6"}
)  # fmt: skip
"""Elements of which a role or a display makes another one; a real table stays what it is."""
_BLOCKS = frozenset({"block", "flex", "grid", "list-item", "flow-root", "table", "-webkit-box"})
_BOXES = frozenset({"flex", "grid", "inline-flex", "inline-grid", "-webkit-box"})
"""Displays of which every child is a box of its own."""
_PLAIN_INLINE = frozenset({"span", "label", "font", "small", "big", "time", "bdi", "address"})
_INLINE = frozenset(
    {"a", "abbr", "b", "cite", "code", "del", "em", "i", "ins", "kbd", "mark", "q", "s", "samp", "strong", "sub", "sup",
     "tt", "u", "var"}
)  # fmt: skip
_ONE_LINE = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "dt", "th", "caption", "summary", "legend", "a", "button"})
"""Elements that are written on one line: boxes inside them are only set apart."""
_CODE = frozenset({"code", "code-block", "codeblock"})
_ONE_LINE_OR_CELL = _ONE_LINE | {"td"}
_MAX_LEVELS = 8  # elements around one that are searched for a one-line element
_CELL_CHARS = 1_500  # a longer cell of a CSS table is a column of the page
_MAX_TEXT_CHARS = 100_000  # longest preformatted text
_SHAPING = frozenset({"display", "white-space", "text-decoration", "text-decoration-line"})
_KEEPING = frozenset({"pre", "pre-wrap", "break-spaces", "pre-line"})
_ALIGNED = re.compile(r"^[ \t]{2,}\S|\S {2,}\S", re.MULTILINE)
_LINES = ("div", "p", "li")
_NOT_PREFORMATTED = frozenset({*PREFORMATTED, "textarea", "body", "html", "main", "table", "tr"})


def set_shapes(root: Any, styles: Styles) -> None:
    """Retags the elements of a document in place. `styles`: those of the document."""
    named, styled = root.xpath("descendant::*[@role]"), root.xpath("descendant::*[@style]")
    displays: dict[Any, str] = {}
    ruled = styles.ruled(lambda style: not _SHAPING.isdisjoint(style))
    for element in dict.fromkeys((*styled, *ruled)):
        style = styles.of(element)
        if display := style.get("display", "").replace("!important", ""):
            displays[element] = display
        if style.get("white-space") in _KEEPING:
            _preformat(element, style)
        if "line-through" in f"{style.get('text-decoration')} {style.get('text-decoration-line')}":
            _strike(element)
    _set_roles(named)
    _set_tables(displays)
    for element, display in displays.items():
        if element.tag not in PREFORMATTED:
            _set_block(element, display)
    for element in root.iter("span"):
        _part_from_next(element)
    for code in list(root.iter("code", "samp")):
        _set_code(code)
    for box in root.xpath("descendant::div[@data-lang or @data-language or contains(@class, 'code')]"):
        _set_listing(box)


def _strike(element: Any) -> None:
    """Marks a text that a style strikes out, such as a former price."""
    if next(element.iterdescendants(*BLOCKS), None) is None and raw_text(element).strip():
        struck = element.makeelement("del")
        struck.text, element.text = element.text, None
        struck.extend(list(element))
        element.append(struck)


def _set_roles(named: list[Any]) -> None:
    roles = {each: _ROLES.get(each.get("role", "").strip().lower(), "") for each in named}
    for element, tag in roles.items():
        role = element.get("role", "").strip().lower()
        if role == "heading" and element.tag in _NEUTRAL:
            level = element.get("aria-level", "2")
            element.tag = f"h{level}" if level in ("1", "2", "3", "4", "5", "6") else "h2"
        elif tag in ("ul", "li") and element.tag in ("div", "span", "section"):
            element.tag = tag
    _set_parts({each: tag for each, tag in roles.items() if tag and tag not in ("ul", "li")})
    for element, tag in roles.items():
        for name in ("colspan", "rowspan"):
            if tag in ("td", "th") and element.get(f"aria-{name}"):
                element.set(name, element.get(f"aria-{name}"))


def _set_tables(displays: dict[Any, str]) -> None:
    tags = {each: _DISPLAYS[display] for each, display in displays.items() if display in _DISPLAYS}
    cells = [each for each, tag in tags.items() if tag == "td" and each.tag in _NEUTRAL]
    if len(cells) < 2 or any(text_size(cell) > _CELL_CHARS for cell in cells):
        return
    for cell in cells:  # cells directly inside a table have one row around them
        box = cell.getparent()
        if box is not None and tags.get(box) == "table":
            row = box.makeelement("div")
            box.insert(box.index(cell), row)
            row.extend(list(itertools.takewhile(lambda each: tags.get(each) == "td", row.itersiblings())))
            tags[row] = "tr"
    _set_parts(tags)


def _set_parts(tags: dict[Any, str]) -> None:
    """Makes tables of elements that have the parts of one: rows with cells, below the element that is the table."""
    rows: dict[Any, list[Any]] = {}
    for row, tag in tags.items():
        cells = [each for each in row if tags.get(each) in ("td", "th")]
        if tag == "tr" and row.tag in _NEUTRAL and cells:
            around = row.getparent()
            while around is not None and tags.get(around) not in ("table", "td", "th") and around.tag != "table":
                around = around.getparent()
            if around is not None and tags.get(around) == "table" and around.tag in _NEUTRAL:
                rows.setdefault(around, []).append(row)
                row.tag, row.text = "tr", None
                for cell in cells:
                    cell.tag = tags[cell] if cell.tag in _NEUTRAL else cell.tag
                    cell.tail = None
    for table, members in rows.items():
        if sum(map(text_size, members)) >= text_size(table) - _CELL_CHARS:
            captions = [each for each in table if tags.get(each) == "caption"]
            for each in captions:
                each.tag = "caption"
            table.tag, table.text = "table", None
            table[:] = [*captions, *members]
            for each in table:
                each.tail = None


def _set_block(element: Any, display: str) -> None:
    if display in _BLOCKS:
        _set_apart(element)
    elif display == "inline" and element.tag == "div" and not any(True for _ in element.iterdescendants(*BLOCKS)):
        element.tag = "span"
    if display in _BOXES and element.tag != "tr":
        _drop_blanks(element)
        for child in list(element):
            if isinstance(child.tag, str):
                _set_apart(child)


def _set_apart(element: Any) -> None:
    """Makes an inline element a block; inside an element that is one line, sets it apart by blanks."""
    if element.tag not in _PLAIN_INLINE and element.tag not in _INLINE:
        return
    if element.getparent() is None or not (text_size(element) or (raw_text(element) and _is_in_lines(element))):
        return
    if any(box.tag in _ONE_LINE for box in itertools.islice(element.iterancestors(), _MAX_LEVELS)):
        before = element.getprevious()
        if before is not None:
            before.tail = f"{before.tail or ''} "
        element.tail = f" {element.tail or ''}"
    elif element.tag in _PLAIN_INLINE:
        element.tag = "div"
    else:
        box = element.makeelement("div")
        box.tail, element.tail = element.tail, None
        element.getparent().replace(element, box)
        box.append(element)


def _part_from_next(element: Any) -> None:
    """Puts a blank between a label and its value in bare elements: `<span>Floors</span><span>3</span>`."""
    following, box = element.getnext(), element.getparent()
    if following is None or element.tail or following.tag != "span" or box.tag not in BLOCKS or _is_in_lines(element):
        return
    last, first = raw_text(element)[-1:], raw_text(following)[:1]
    if (last.islower() and (first.isupper() or first.isdecimal())) or (last.isdecimal() and first.isalpha()):
        element.tail = " "


def _preformat(element: Any, style: dict[str, str]) -> None:
    """Keeps the lines of an element whose style does: as code, where they are aligned, else by `br`."""
    text = raw_text(element)
    if element.tag in _NOT_PREFORMATTED or len(text) > _MAX_TEXT_CHARS or _is_in_lines(element):
        return
    if "\n" not in text.strip() and not (style["white-space"] == "pre" and _has_lines(element)):
        return
    inner = {each for code in element.iter(*PREFORMATTED) for each in code.iter()}
    is_code = style["white-space"] == "pre" or "mono" in style.get("font-family", "")
    if not inner and (is_code or (style["white-space"] != "pre-line" and len(_ALIGNED.findall(text)) > 1)):
        element.tag = "pre"
        return
    for each in [element, *element.iterdescendants()]:
        if isinstance(each.tag, str) and each not in inner:
            if each.text and "\n" in each.text.strip():
                _break_lines(each, each.text, is_tail=False)
            if each is not element and each.tail and "\n" in each.tail.strip():
                _break_lines(each, each.tail, is_tail=True)


def _break_lines(element: Any, text: str, *, is_tail: bool) -> None:
    """Puts a `br` for each line end into the text of an element, or into the text behind it."""
    first, *others = text.split("\n")
    box = element.getparent() if is_tail else element
    at = box.index(element) + 1 if is_tail else 0
    breaks = []
    for line in others:
        mark = box.makeelement("br")
        mark.tail = line
        breaks.append(mark)
    box[at:at] = breaks
    if is_tail:
        element.tail = first
    else:
        element.text = first


def _drop_blanks(element: Any) -> None:
    """Removes the blanks between the boxes of a grid or flexible box, which are not shown (CSS Flexbox 1, 4)."""
    if element.text and element.text.isspace():
        element.text = None
    for child in element:
        if child.tail and child.tail.isspace():
            child.tail = None


def _set_code(code: Any) -> None:
    """A `code` with lines of its own, as boxes, by `br` or alone in its box, outside of preformatted text is
    preformatted; so is one whose class says that it is a block."""
    is_block = "block" in (code.get("class") or "").split()
    is_listing = is_block or _has_lines(code) or ("\n" in raw_text(code).strip() and _is_alone(code))
    if is_listing and next(code.iter(*PREFORMATTED), None) is None and not _is_in_lines(code):
        code.tag = "pre"
        if not code.text or code.text.isspace():
            code.text = None


def _set_listing(box: Any) -> None:
    """A `div` that is called code, of several lines and without other blocks than these, is preformatted."""
    is_named = box.get("data-lang") or box.get("data-language") or not _CODE.isdisjoint(box.get("class", "").split())
    others = (each for each in box.iterdescendants(*BLOCKS) if each.tag != "div")
    has_lines = _has_lines(box) or "\n" in raw_text(box).strip()
    if is_named and has_lines and next(others, None) is None and not _is_in_lines(box):
        box.tag = "pre"


def _is_in_lines(element: Any) -> bool:
    return next(element.iterancestors(*PREFORMATTED), None) is not None


def _is_alone(element: Any) -> bool:
    """Whether nothing stands beside an element in its line, which is no cell."""
    box, before, following = element.getparent(), element.getprevious(), element.getnext()
    text = box.text if before is None else before.tail
    if (text or "").strip() or (element.tail or "").strip() or box.tag not in BLOCKS or box.tag in _ONE_LINE_OR_CELL:
        return False
    return all(each is None or each.tag in BLOCKS or each.tag == element.tag for each in (before, following))


def _has_lines(element: Any) -> bool:
    """Whether an element holds several lines: boxes, or texts parted by `br`."""
    lines = sum(1 for _ in itertools.islice(element.iterchildren(*_LINES), 2))
    breaks = next(element.iter("br"), None) is not None
    return lines > 1 or (breaks and text_size(element) > 0)
