"""Reads the CSS that a page itself holds: `style` attributes, and the plainest rules of its `style` elements.

A plain rule has selectors of a type and classes with at most one descendant step (`p.note`, `.menu li`); of it are read
display, visibility, position, left, top, white-space, text-decoration and colours. The last rule holds. Rules inside
at-rules and style sheets in other files are not read. Runs in the parsing processes. Sources: CSS Syntax 3, Color 4.
"""

import functools
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

from gateway.engines.html.tree import values_of

Declarations = dict[str, str]  # values in lower case by property, such as `{"display": "none"}`
Colour = tuple[int, int, int] | str
"""Red, green and blue; or the lower-cased word of a colour whose channels are not known here."""
TRANSPARENT = "transparent"
_MAX_LOOKS = 300_000  # elements compared with selectors on one page
_MAX_SHEET_CHARS = 2_000_000
_REMEMBERED = 4_096  # declarations and values that a process remembers
_URL = r"[rR][lL]\(\s*+(?![\"'])[^)]*+\)?"
_NOISE = re.compile(  # each begins with one letter or sign, so that the search skips all others
    rf"/\*.*?(?:\*/|\Z)|\"(?:[^\"\\\n]|\\.|(?!))*+\"?|'(?:[^'\\\n]|\\.|(?!))*+'?|u{_URL}|U{_URL}|<!--|-->", re.DOTALL
)
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?")
_STATEMENTS = re.compile(r"\A(?:\s*+@[^;]*+;|(?!))++")  # such as `@import "x";`
_SELECTOR = re.compile(r"(?:([\w-]*+)((?:\.[\w-]++|(?!))*+)\s++)?([\w-]*+)((?:\.[\w-]++|(?!))*+)")
_LENGTH = re.compile(r"([+-]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(?:e[+-]?\d)?)([a-z%]{0,5})")
_CALC = re.compile(r"calc\(([^()]*)\)")
_PIXELS = {
    "px": 1.0, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "lh": 20.0, "pt": 1.33, "pc": 16.0, "in": 96.0,
    "cm": 37.8, "mm": 3.78, "vw": 12.8, "vh": 8.0, "vmin": 8.0, "vmax": 12.8, "dvh": 8.0, "%": 10.0,
}  # fmt: skip
_DISPLAYS = (
    "none block inline inline-block flex inline-flex grid inline-grid table inline-table table-row table-cell "
    "table-caption table-column table-column-group table-row-group table-header-group table-footer-group list-item "
    "contents flow flow-root run-in ruby ruby-text math -webkit-box -webkit-flex -webkit-inline-box -webkit-inline-flex"
)
_WORDS = {
    name: frozenset(f"{words} inherit initial unset revert".split())
    for name, words in {
        "display": _DISPLAYS,
        "visibility": "visible hidden collapse",
        "content-visibility": "visible auto hidden",
        "position": "static relative absolute fixed sticky",
        "overflow": "visible hidden clip scroll auto",
        "white-space": "normal nowrap pre pre-wrap pre-line break-spaces",
    }.items()
}
_SIDES = ("top", "right", "bottom", "left")
_LENGTHS = frozenset(
    {"top", "right", "bottom", "left", "margin-left", "margin-top", "text-indent", "width", "height", "max-width",
     "max-height", "font-size", "line-height"}
)  # fmt: skip
_OTHERS = frozenset(
    {"opacity", "color", "background-color", "background-image", "background-clip", "text-shadow", "clip", "clip-path",
     "transform", "translate", "filter", "font-family", "text-decoration", "text-decoration-line"}
)  # fmt: skip
_SHORTHANDS = frozenset({"font", "background", "margin", "inset", "overflow-x", "overflow-y"})
_KNOWN = _WORDS.keys() | _LENGTHS | _OTHERS | _SHORTHANDS
_FONT_SIZE = re.compile(r"(?:^|\s)((?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(?:px|pt|em|rem|%)?)\s*(?:/|\s)")
_RULED = frozenset(
    {"display", "visibility", "position", "left", "top", "white-space", "text-decoration", "text-decoration-line",
     "color", "background-color", "background-image", "background-clip", "text-shadow"}
)  # fmt: skip
"""Properties that are read of rules; of `style` attributes all are."""
_HEX = re.compile(r"#([0-9a-f]{3,8})")
_FUNCTION = re.compile(r"rgba?\(([^()]*)\)")
_COLOUR_WORDS = re.compile(r"[a-z]+\([^()]*\)|[^\s()]+")
_FAINT = 0.05  # opacity up to which nothing is seen
_SAME = 8  # steps of 255 in a channel up to which people do not see a difference
_TABLE = (
    "white ffffff black 000000 snow fffafa ivory fffff0 ghostwhite f8f8ff whitesmoke f5f5f5 floralwhite fffaf0 "
    "mintcream f5fffa azure f0ffff aliceblue f0f8ff seashell fff5ee linen faf0e6 lightyellow ffffe0 silver c0c0c0 "
    "gray 808080 grey 808080 red ff0000 maroon 800000 yellow ffff00 olive 808000 lime 00ff00 green 008000 aqua 00ffff "
    "cyan 00ffff teal 008080 blue 0000ff navy 000080 fuchsia ff00ff magenta ff00ff purple 800080"
)
"""The sixteen colours of HTML 4 and those near white; of other words only whether they are equal is known."""
_NAMED = _TABLE.split()
_NAMES: dict[str, Colour] = {
    name: (int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16))
    for name, digits in zip(_NAMED[::2], _NAMED[1::2], strict=True)
}


class Styles:
    """The styles of one document. `is_cut`: its rules were too much work, so not all are known."""

    def __init__(self, root: Any) -> None:
        self._rules: dict[Any, Declarations] = {}
        self._found: list[tuple[Declarations, list[Any]]] = []
        self._attributes = set(values_of("style", root))
        self._looks = _MAX_LOOKS
        self._members: dict[str, list[Any]] = {}  # elements by type and by `.class`
        self.is_cut = False
        sheets = [(sheet.text or "")[:_MAX_SHEET_CHARS] for sheet in root.iter("style") if _is_read(sheet)]
        lists: dict[str, list[list[Any]]] = {}  # those of a value of `class`, which many elements share
        for element in root.iterdescendants() if any(sheets) else ():
            if names := element.get("class"):
                if names not in lists:
                    lists[names] = [self._members.setdefault(f".{name}", []) for name in dict.fromkeys(names.split())]
                for members in lists[names]:
                    members.append(element)
        for sheet in sheets:
            self._read(root, sheet)

    def declared(self) -> Iterator[Declarations]:
        """What each rule that holds for an element declares, and each `style` attribute."""
        return itertools.chain((declared for declared, _ in self._found), map(_declared, self._attributes))

    def ruled(self, is_wanted: Callable[[Declarations], bool]) -> Iterator[Any]:
        """The elements for which a rule holds whose declarations are wanted."""
        for declared, elements in self._found:
            if is_wanted(declared):
                yield from elements

    def own(self, element: Any) -> Declarations:
        """What the `style` attribute of an element says."""
        return _declared(element.get("style") or "")

    def of(self, element: Any) -> Declarations:
        """What rules and the `style` attribute say of an element; the last one holds."""
        rules = self._rules.get(element)
        return self.own(element) if rules is None else rules | self.own(element)

    def _read(self, root: Any, sheet: str) -> None:
        for selectors, body in _rules_of(sheet):
            if selectors.startswith("@") or "{" in body:
                continue
            matches = (_SELECTOR.fullmatch(selector.strip()) for selector in selectors.split(","))
            present = [match for match in matches if match and self._may_fit(*match.group(3, 4))]
            declared = {name: value for name, value in _declared(body).items() if name in _RULED} if present else {}
            for match in present if declared else ():
                found = self._fitting(root, match[3].lower(), match[4])
                if found and (match[1] or match[2]):
                    found = self._inside(found, set(self._fitting(root, match[1].lower(), match[2])))
                if found:
                    self._found.append((declared, found))
                for element in found:
                    self._rules[element] = self._rules.get(element, {}) | declared

    def _may_fit(self, tag: str, classes: str) -> bool:
        """Whether a selector asks for something, and the page has its first class. Pages use little of most sheets."""
        return f".{classes.split('.', 2)[1]}" in self._members if classes else tag != ""

    def _fitting(self, root: Any, tag: str, classes: str) -> list[Any]:
        """The elements of a type and with classes, such as `p` and `.note.big`; none where the work is too much."""
        names = [f".{name}" for name in classes.split(".")[1:]]
        found = self._members.get(names[0], []) if names else self._members.setdefault(tag, list(root.iter(tag)))
        self._looks -= len(found)
        self.is_cut = self.is_cut or self._looks < 0
        if self.is_cut:
            return []
        wanted = {name[1:] for name in names[1:]}
        if tag and names:
            found = [each for each in found if each.tag == tag]
        return [each for each in found if wanted <= set(each.get("class").split())] if wanted else found

    def _inside(self, elements: list[Any], above: set[Any]) -> list[Any]:
        """Those of some elements that are inside one of others."""
        known: dict[Any, bool] = {}
        found = []
        for element in elements if above else ():
            path = []
            box = element.getparent()
            while box is not None and box not in above and box not in known:
                path.append(box)
                box = box.getparent()
            is_inside = box is not None and (box in above or known[box])
            known.update(dict.fromkeys(path, is_inside))
            self._looks -= len(path)
            if is_inside:
                found.append(element)
        return found


def _is_read(sheet: Any) -> bool:
    is_css = (sheet.get("type") or "text/css").lower() == "text/css"
    is_general = (sheet.get("media") or "all").lower() in ("all", "screen")
    return is_css and is_general and next(sheet.iterancestors("noscript", "template"), None) is None


def _rules_of(sheet: str) -> Iterator[tuple[str, str]]:
    """(selectors, declarations) of the rules, and (prelude, rules) of the at-rules, that stand in no other one."""
    text = _NOISE.sub(_without_noise, sheet)
    start = 0
    while (opened := text.find("{", start)) >= 0:
        prelude = _STATEMENTS.sub("", text[start:opened]).strip()
        depth, end = 1, opened + 1
        while depth and (closed := text.find("}", end)) >= 0:
            depth += text.count("{", end, closed) - 1
            end = closed + 1
        if depth:
            if depth + text.count("{", end) == 1:
                yield prelude, text[opened + 1 :]
            return
        yield prelude, text[opened + 1 : end - 1]
        start = end


def _without_noise(match: re.Match[str]) -> str:
    return '""' if match[0][0] in "\"'" else "url()" if match[0][0] in "uU" else ""


@functools.lru_cache(maxsize=_REMEMBERED)
def _declared(text: str) -> Declarations:
    """What a `style` attribute or the inside of a rule says. A value that browsers do not know is left out, so that an
    earlier one holds."""
    found: Declarations = {}
    text = _ESCAPE.sub(lambda sign: chr(min(int(sign[1], 16), 0x10FFFF)), _NOISE.sub(_without_noise, text))
    for declaration in text.split(";"):
        name, _, value = declaration.partition(":")
        name, value = name.strip().lower(), " ".join(value.partition("!")[0].lower().split())
        if name in _KNOWN and "var(" not in value:
            found |= _longhands(name, value)
        elif name.startswith("background") and value:  # some ground that is not known
            found["background-image"] = "var()"
    return found


def _longhands(name: str, value: str) -> Iterator[tuple[str, str]]:
    """The single properties that a declaration sets; none when its value is not valid."""
    if name == "font":
        match = _FONT_SIZE.search(f"{value} ")
        yield "font-size", match[1] if match else "medium"
    elif name == "background":
        yield "background-color", value
        yield "background-image", value if "url(" in value or "gradient(" in value else "none"
        yield "background-clip", "text" if "text" in value.split() else "border-box"
    elif name in ("margin", "inset"):
        parts = value.split()
        if parts and all(pixels(part) is not None or part == "auto" for part in parts):
            sides = (parts * 4)[:4] if len(parts) != 3 else [*parts, parts[1]]
            for side, part in zip(_SIDES, sides, strict=True):
                yield f"margin-{side}" if name == "margin" else side, part
    elif name.startswith("overflow-"):
        yield "overflow", value
    elif name in _WORDS:
        if value and _WORDS[name].issuperset(value.split()):
            yield name, value
    elif name in _LENGTHS:
        if pixels(value) is not None or re.fullmatch(r"[a-z][a-z-]{0,40}(?:\([^()]{0,200}\))?", value):
            yield name, value
    elif name not in ("color", "background-color") or colour(value) is not None or value in ("inherit", "currentcolor"):
        yield name, value


@functools.lru_cache(maxsize=_REMEMBERED)
def pixels(value: str | None) -> float | None:
    """A length as on a screen of 1,280 by 800 pixels; None for `auto` and formulas. `1em` is 16, `50%` is 500."""
    value = _CALC.sub(r"\1", value or "").strip()
    match = _LENGTH.fullmatch(value)
    if match is None:
        return None
    if not match[2]:
        return 0.0 if float(match[1]) == 0 else None
    return float(match[1]) * _PIXELS[match[2]] if match[2] in _PIXELS else None


@functools.lru_cache(maxsize=_REMEMBERED)
def number(value: str) -> float | None:
    """A number, or a percentage as a share of one; None for another value."""
    value = _CALC.sub(r"\1", value).strip()
    match = _LENGTH.fullmatch(value)
    if match is None or match[2] not in ("", "%"):
        return None
    return float(match[1]) / (100 if match[2] else 1)


@functools.lru_cache(maxsize=_REMEMBERED)
def colour(value: str | None) -> Colour | None:
    """A colour of CSS or of an HTML attribute; None for what is none. `#fff` is (255, 255, 255), `tomato` itself."""
    text = (value or "").strip().lower()
    if text in _NAMES:
        return _NAMES[text]
    if match := _HEX.fullmatch(text):
        digits = match[1] if len(match[1]) > 4 else "".join(digit * 2 for digit in match[1])
        if len(digits) == 8 and int(digits[6:], 16) <= 255 * _FAINT:
            return TRANSPARENT
        return (int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)) if len(digits) in (6, 8) else None
    if match := _FUNCTION.fullmatch(text):
        return _of_channels(re.findall(r"[\d.]+%?", match[1]))
    if text in ("inherit", "initial", "unset", "none", "currentcolor") or "var(" in text:
        return None
    return text if re.fullmatch(r"[a-z]+|(?:hsla?|lab|lch|oklab|oklch|hwb|color)\([^()]{1,80}\)", text) else None


def _of_channels(parts: list[str]) -> Colour | None:
    shares = [float(part.rstrip("%")) / (100 if part.endswith("%") else 255) for part in parts if part.count(".") < 2]
    if len(parts) == 4 and (number(parts[3]) or 0.0) <= _FAINT:
        return TRANSPARENT
    if len(shares) < 3:
        return None
    red, green, blue = (round(255 * min(share, 1.0)) for share in shares[:3])
    return red, green, blue


def first_colour(value: str) -> Colour | None:
    """The first colour of a background or a shadow: `0 0 2px #fff` is white."""
    words = (word for word in _COLOUR_WORDS.findall(value) if not word[0].isdigit() and word[0] not in ".-+")
    known = [found for word in words if (found := colour(word)) is not None]
    return next((found for found in known if not isinstance(found, str) or found == TRANSPARENT), None) or (
        known[0] if known else None
    )


def same(text: Colour, under: Colour) -> bool:
    """Whether people cannot tell the text from its ground."""
    if isinstance(text, str) or isinstance(under, str):
        return text == under
    return all(abs(one - other) <= _SAME for one, other in zip(text, under, strict=True))
