"""Reads CSS declarations as far as hiding needs them: known properties, valid values, shorthands taken apart.

A browser ignores a declaration whose value it does not know, so that an earlier one holds; the same happens here.
Custom properties (`--x`) keep their letters; `var()` is put in by `cascade`. Source: CSS Syntax 3. Pure.
"""

import functools
import re
from collections.abc import Iterator

from gateway.engines.html import css_values

Declarations = dict[str, str]
"""Values in lower case by property."""
Declared = dict[str, tuple[bool, str]]
"""(is important, value) by property."""
_NO_STRUCTURE = re.compile(
    r"/\*.*?(?:\*/|\Z)|\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?|"
    r"u[rR][lL]\(\s*+(?![\"'])[^)]*+\)?|U[rR][lL]\(\s*+(?![\"'])[^)]*+\)?",
    re.DOTALL,
)
"""Each branch begins with one letter, without IGNORECASE: `re` then skips what begins none, in half the time."""
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?|\\(.)", re.DOTALL)
_BRACKETS = re.compile(r"[()\[\]{};]")
_SHORTHAND_SIZE = re.compile(r"(?:^|\s)((?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(?:px|pt|em|rem|%)?)\s*(?:/|\s)")
_SIDES = ("top", "right", "bottom", "left")
_ALIASES = {
    "margin-inline-start": "margin-left", "margin-block-start": "margin-top", "inset-inline-start": "left",
    "inset-inline-end": "right", "inset-block-start": "top", "inset-block-end": "bottom", "inline-size": "width",
    "block-size": "height", "max-inline-size": "max-width", "max-block-size": "max-height",
    "overflow-inline": "overflow-x", "overflow-block": "overflow-y", "-webkit-clip-path": "clip-path",
    "-webkit-transform": "transform", "-webkit-filter": "filter", "-webkit-background-clip": "background-clip",
    "-webkit-opacity": "opacity",
}  # fmt: skip
LONGHANDS = {
    "font": ("font-size",), "background": ("background-color", "background-image", "background-clip"),
    "margin": tuple(f"margin-{side}" for side in _SIDES), "inset": _SIDES, "margin-inline": ("margin-left",),
    "inset-inline": ("left", "right"), "inset-block": ("top", "bottom"),
}  # fmt: skip
"""The single properties that a shorthand sets, as far as `expanded` takes it apart."""
_KNOWN = css_values.PROPERTIES | _ALIASES.keys() | LONGHANDS.keys()
_REMEMBERED, _REMEMBERED_CHARS = 4_096, 64
"""Declarations that a process remembers, and the longest of their values. Chosen: those of a few pages, of up to 40
characters; at half long sheets take some apart twice, double only costs memory."""


def structure_only(text: str, strings: list[str]) -> str:
    """The text without comments, strings as `"0"`, `"1"` … (their places in `strings`, to which they are added)."""

    def replaced(match: re.Match[str]) -> str:
        piece = match[0]
        if piece[0] == "/":
            return ""
        if piece[0] not in "\"'":
            return "url()"
        strings.append(piece[1:-1] if len(piece) > 1 and piece[-1] == piece[0] else piece[1:])
        return f'"{len(strings) - 1}"'

    return _NO_STRUCTURE.sub(replaced, text)


def declared(text: str) -> Declared:
    """The known and the custom properties of the text between two braces or in a `style` attribute."""
    found: Declared = {}
    if "(" in text or '"' in text or "'" in text or "/*" in text:
        text = structure_only(text, [])
    for declaration in _split(text):
        name, colon, value = declaration.partition(":")
        if not colon:
            continue
        name = name.strip()
        if "\\" in declaration:
            name, value = _ESCAPE.sub(unescaped, name), _ESCAPE.sub(unescaped, value)
        if not name.startswith("--"):
            name = name.lower()
            if name not in _KNOWN:
                continue
        value, bang, word = value.rpartition("!")
        if bang and word.strip().lower() != "important":
            continue
        value = " ".join((value if bang else word).split())
        longhands = _longhands if len(value) > _REMEMBERED_CHARS or name[:2] == "--" else _known_longhands
        for longhand, part in longhands(_ALIASES.get(name, name), value):
            if bang or not found.get(longhand, (False, ""))[0]:
                found[longhand] = (bool(bang), part)
    return found


def _split(text: str) -> list[str]:
    """The declarations between the semicolons outside brackets."""
    if not ("(" in text or "[" in text or "{" in text):
        return text.split(";")
    parts: list[str] = []
    depth = start = 0
    for sign in _BRACKETS.finditer(text):
        if sign[0] == ";":
            if not depth:
                parts.append(text[start : sign.start()])
                start = sign.end()
        elif sign[0] in "([{":
            depth += 1
        elif depth:
            depth -= 1
    return [*parts, text[start:]]


def _longhands(name: str, value: str) -> tuple[tuple[str, str], ...]:
    """What a declaration says of single properties: nothing when its value is not valid."""
    if name.startswith("--") or "var(" in value.lower():
        return ((name, value),)  # with variables it is taken apart when their values are known
    return tuple(expanded(name, value.lower()))


_known_longhands = functools.lru_cache(maxsize=_REMEMBERED)(_longhands)


def expanded(name: str, value: str) -> Iterator[tuple[str, str]]:
    """The single properties of a declaration without variables; nothing when its value is not valid."""
    if name == "font":
        match = _SHORTHAND_SIZE.search(f"{value} ")
        yield "font-size", match[1] if match else "medium"
    elif name == "background":
        is_picture = "url(" in value or "gradient(" in value
        yield "background-color", value
        yield "background-image", value if is_picture else "none"
        yield "background-clip", "text" if "text" in value.split() else "border-box"
    elif name in ("margin", "inset"):
        parts = value.split() if "(" not in value else [value]
        sides = [*parts, *parts[1:2], *parts][:4] if len(parts) == 3 else (parts * 4)[:4]
        if all(css_values.is_valid("left", side) for side in sides):
            for side, part in zip(_SIDES, sides, strict=True):
                yield f"margin-{side}" if name == "margin" else side, part
    elif name in ("margin-inline", "inset-inline", "inset-block"):
        first, _, second = value.partition(" ")
        start = {"margin-inline": "margin-left", "inset-inline": "left", "inset-block": "top"}[name]
        if css_values.is_valid("left", first):
            yield start, first
            if name != "margin-inline":
                yield "right" if start == "left" else "bottom", second or first
    elif css_values.is_valid(name, value):
        yield name, value


def unescaped(match: re.Match[str]) -> str:
    """The character that an escape sequence encodes."""
    if match[2]:
        return match[2]
    number = int(match[1], 16)
    return chr(number) if 0 < number < 0xD800 else "\ufffd"
