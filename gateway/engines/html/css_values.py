"""Which values a browser takes for the properties that can hide, and lengths in pixels. Source: CSS Values 4. Pure.

Lengths are read as on a screen of 1,280 by 800 pixels, an em as 16 pixels.
"""

import re

from gateway.engines.html.colours import colour, is_colour

SCREEN_PX = (1280.0, 800.0)
"""Width and height of the screen that pages are read for. Chosen: a small desktop window; at half, pages show the menus
of a telephone, and at double some leave out nothing more."""
_NUMBER = re.compile(r"[+-]?(?:\d{1,12}\.?\d{0,12}|\.\d{1,12})(?:e[+-]?\d{1,2})?")
_LENGTH = re.compile(
    r"([+-]?(?:\d{1,12}(?:\.\d{0,12})?|\.\d{1,12})(?:e[+-]?\d{1,2})?)(px|r?em|ex|ch|lh|rlh|pt|pc|in|cm|mm|q|[sld]?v(?:w|h|i|b|min|max)|%)?"
)
_PIXELS = {
    None: 1.0, "px": 1.0, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "lh": 20.0, "rlh": 20.0, "pt": 1.33,
    "pc": 16.0, "in": 96.0, "cm": 37.8, "mm": 3.78, "q": 0.945, "vw": 12.8, "vi": 12.8, "vmax": 12.8, "vh": 8.0,
    "vb": 8.0, "vmin": 8.0, "%": 10.0,
}  # fmt: skip
_MAX_FORMULA_CHARS = 200
"""Longest `calc()` that is computed. Chosen: pages have up to some 80 characters; at half theirs are near, at double
nothing more is found."""
_TERM = re.compile(r"\s{0,9}([()*/,+-]|(?:calc|min|max|clamp)\(|(?:\d{1,12}(?:\.\d{0,12})?|\.\d{1,12})[a-z%]{0,4})")
_MAX_FORMULA_DEPTH = 8
_GLOBAL = frozenset({"inherit", "initial", "unset", "revert", "revert-layer"})
_KEYWORDS = {
    "display": "none block inline inline-block flex inline-flex grid inline-grid table inline-table table-row "
    "table-cell table-caption table-column table-column-group table-row-group table-header-group table-footer-group "
    "list-item contents flow flow-root run-in ruby ruby-base ruby-text math -webkit-box -webkit-inline-box "
    "-webkit-flex -webkit-inline-flex",
    "visibility": "visible hidden collapse",
    "content-visibility": "visible auto hidden",
    "position": "static relative absolute fixed sticky -webkit-sticky",
    "overflow": "visible hidden clip scroll auto overlay",
    "white-space": "normal nowrap pre pre-wrap pre-line break-spaces wrap collapse preserve preserve-breaks",
    "background-clip": "border-box padding-box content-box text border-area",
    "font-size": "xx-small x-small small medium large x-large xx-large xxx-large smaller larger math",
    "-webkit-text-security": "none disc circle square",
}
_KEYWORDS |= {"overflow-x": _KEYWORDS["overflow"], "overflow-y": _KEYWORDS["overflow"]}
_WORDS = {name: frozenset(words.split()) for name, words in _KEYWORDS.items()}
_LENGTHS = frozenset(
    {
        "left", "top", "right", "bottom", "margin-left", "margin-top", "margin-right", "margin-bottom", "text-indent",
        "width", "height", "max-width", "max-height", "font-size", "line-height",
    }
)  # fmt: skip
_LENGTH_WORDS = re.compile(
    r"auto|none|normal|(?:min|max|fit)-content|stretch|-webkit-fill-available|[a-z-]{1,30}\([^\n]{0,300}\)"
)
_NUMBERS = frozenset({"opacity", "scale", "zoom"})
_COLOURS = frozenset({"color", "background-color", "-webkit-text-fill-color"})
_FUNCTIONS = frozenset({"clip", "clip-path", "transform", "filter", "translate", "background-image", "rotate"})
_ANY_VALUE = frozenset({"text-shadow"})
PROPERTIES = frozenset(_WORDS) | _LENGTHS | _NUMBERS | _COLOURS | _FUNCTIONS | _ANY_VALUE
"""The properties that hiding depends on."""


def is_valid(name: str, value: str) -> bool:
    """False for a value that browsers do not take for the property; a value in doubt is valid."""
    if not value or value in _GLOBAL:
        return bool(value)
    if name in _WORDS and _WORDS[name].issuperset(value.split()):
        return True
    if name in _LENGTHS:
        match = _LENGTH.fullmatch(value)
        if match is None:
            return bool(_LENGTH_WORDS.fullmatch(value))
        return bool(match[2]) or name == "line-height" or float(match[1]) == 0
    if name in _ANY_VALUE:
        return True
    if name in _NUMBERS:
        return value == "none" or "(" in value or all(_NUMBER.fullmatch(part.rstrip("%")) for part in value.split())
    if name in _COLOURS:
        return colour(value) is not None or is_colour(value)
    return name in _FUNCTIONS and (value in ("auto", "none") or "(" in value or name in ("translate", "rotate"))


def pixels(value: str | None) -> float | None:
    """A length in pixels; None for what is none (`auto`)."""
    if not value:
        return None
    match = _LENGTH.fullmatch(value)
    if match:
        return _in_pixels(match)
    return _computed(value) if "(" in value else None


def _in_pixels(length: re.Match[str]) -> float:
    unit = length[2]
    if unit and len(unit) > 2 and unit[0] in "sld" and unit[1] == "v":
        unit = unit[1:]  # the small, large and dynamic viewports are one on a desktop screen
    return float(length[1]) * _PIXELS[unit]


def number(value: str) -> float | None:
    """A number or a percentage as a share of one; None for another value."""
    plain = value.removesuffix("%")
    found = float(plain) if _NUMBER.fullmatch(plain) else _computed(value) if "(" in value else None
    return None if found is None else found / 100 if value.endswith("%") else found


def _computed(text: str) -> float | None:
    """The value of `calc()`, `min()`, `max()` and `clamp()` in pixels; None for what is not understood."""
    if len(text) > _MAX_FORMULA_CHARS:
        return None
    terms: list[str] = []
    at = 0
    while match := _TERM.match(text, at):
        terms.append(match[1])
        at = match.end()
    if text[at:].strip() or not terms:
        return None
    try:
        value = _sum(terms, 0)
    except (ValueError, IndexError, ZeroDivisionError, OverflowError):
        return None
    return None if terms else value


def _sum(terms: list[str], depth: int) -> float:
    value = _product(terms, depth)
    while terms and terms[0] in "+-":
        sign = terms.pop(0)
        value += _product(terms, depth) if sign == "+" else -_product(terms, depth)
    return value


def _product(terms: list[str], depth: int) -> float:
    value = _operand(terms, depth)
    while terms and terms[0] in "*/":
        sign = terms.pop(0)
        other = _operand(terms, depth)
        value = value * other if sign == "*" else value / other
    return value


def _operand(terms: list[str], depth: int) -> float:
    term = terms.pop(0)
    if depth > _MAX_FORMULA_DEPTH:
        raise ValueError(term)
    if term in ("+", "-"):
        return _operand(terms, depth + 1) * (-1 if term == "-" else 1)
    if term.endswith("("):
        values = [_sum(terms, depth + 1)]
        while terms[0] == ",":
            terms.pop(0)
            values.append(_sum(terms, depth + 1))
        if terms.pop(0) != ")":
            raise ValueError(term)
        if term == "clamp(" and len(values) == 3:
            return max(values[0], min(values[1], values[2]))
        return max(values) if term == "max(" else min(values)
    match = _LENGTH.fullmatch(term)
    if match is None:
        raise ValueError(term)
    return _in_pixels(match)
