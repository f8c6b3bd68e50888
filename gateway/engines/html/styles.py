"""Reads the CSS that a page itself holds: `style` attributes, and the simple rules of its `style` elements.

Simple is a selector of types, classes and ids, joined by descendant and child combinators (`main > p.note`); a rule
with anything else is not read, and neither are style sheets in other files. Of at-rules, `@layer`, `@supports` and
those `@media` are read that hold on a desktop screen. Runs in the parsing processes. Sources: CSS Syntax 3, Selectors
4, CSS Cascade 4, CSS Color 4.
"""

import colorsys
import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gateway.engines.html.tree import values_of

Declarations = dict[str, str]  # values in lower case by property, such as `{"display": "none"}`
_Declared = dict[str, tuple[bool, str]]  # (is important, value) by property
Colour = tuple[int, int, int] | str
"""Red, green and blue; or the lower-cased word of a colour whose channels are not known here."""
TRANSPARENT = "transparent"
_SCREEN_PX = 1280.0
_MAX_LOOKS = 300_000  # ancestors compared with selectors on one page
_MAX_SHEET_CHARS = 2_000_000
_REMEMBERED = 4_096  # declarations and values that a process remembers
_NOISE = re.compile(
    r"/\*.*?(?:\*/|\Z)|\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?|url\(\s*+(?![\"'])[^)]*+\)?|<!--|-->",
    re.DOTALL | re.IGNORECASE,
)
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?|\\(.)", re.DOTALL)
_BRACKETS = re.compile(r"[()\[\]{};]")
_BRACE = re.compile(r"[{}]")
_NAME = r"(?:[\w-]|[^\x00-\x7f]|\\[0-9a-fA-F]{1,6}\s?|\\[^\n0-9a-fA-F])++"
_STEP = re.compile(rf"\s*+(>?)\s*+((?:\*|{_NAME})?(?:[.#]{_NAME})*)")
_PART = re.compile(rf"([.#]?)({_NAME}|\*)")
_MAX_STEPS = 6
_FEW = 8  # elements whose descendants are gone through at once
_VARIABLE = re.compile(r"var\(\s*(--[\w-]{1,60})\s*(?:,([^()]{0,200}))?\)")
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
     "transform", "translate", "filter", "font-family"}
)  # fmt: skip
_SHORTHANDS = frozenset({"font", "background", "margin", "inset", "overflow-x", "overflow-y", "-webkit-clip-path"})
_KNOWN = _WORDS.keys() | _LENGTHS | _OTHERS | _SHORTHANDS
_FONT_SIZE = re.compile(r"(?:^|\s)((?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(?:px|pt|em|rem|%)?)\s*(?:/|\s)")
_MEDIA_WIDTH = re.compile(r"\((min|max)-(?:device-)?width\s*:\s*([\d.]+)(px|r?em)\)")
_MEDIA_HOLDS = re.compile(r"(?:only\s+)?(?:screen|all)|\((?:any-)?hover\s*:\s*hover\)|\(orientation\s*:\s*landscape\)")
_HEX = re.compile(r"#([0-9a-f]{3,8})")
_FUNCTION = re.compile(r"(rgb|hsl)a?\(([^()]*)\)")
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


class _Step(NamedTuple):
    """One compound of a selector: `p.a#b`, and whether it must be a child of what the step before it matches."""

    is_child: bool
    tag: str
    ids: tuple[str, ...]
    classes: tuple[str, ...]
    keys: tuple[str, ...]
    """What the element must have, as `tag`, `.class` and `#id`."""


class _Rule(NamedTuple):
    """What one selector of a rule declares, and its rank in the cascade without importance."""

    rank: tuple[int, int, int, int]
    declared: _Declared


class _Index:
    """The elements of a scope by `tag`, `.class` and `#id`."""

    def __init__(self, scope: Any) -> None:
        self._scope = scope
        self._lists: dict[str, list[Any]] = {}
        keys: dict[str, list[list[Any]]] = {}  # by value of `class`, which repeat
        for element in scope.xpath(".//*[@class]"):
            names = element.get("class")
            lists = keys.get(names)
            if lists is None:
                lists = [self._lists.setdefault(f".{name}", []) for name in dict.fromkeys(names.split())]
                keys[names] = lists
            for each in lists:
                each.append(element)
        for element in scope.xpath(".//*[@id]"):
            self._lists.setdefault(f"#{element.get('id')}", []).append(element)

    def get(self, key: str) -> list[Any]:
        found = self._lists.get(key)
        if found is None:
            found = [] if key[0] in "#." else list(self._scope.iter("*" if key == "*" else key))
            self._lists[key] = found
        return found


class Styles:
    """The styles of one document. `is_cut`: its rules were too much work, so not all are known."""

    def __init__(self, root: Any) -> None:
        self._rules: dict[Any, list[_Rule]] = {}
        self._found: list[tuple[_Declared, list[Any]]] = []
        self._attributes = set(values_of("style", root))
        self._looks = _MAX_LOOKS
        self._order = 0
        self.is_cut = False
        self.read_sheets(root)

    def declared(self) -> Iterator[Declarations]:
        """What each rule that holds for an element declares, and each `style` attribute."""
        for declared in (*(declared for declared, _ in self._found), *map(_declared, self._attributes)):
            yield {name: value for name, (_, value) in declared.items()}

    def ruled(self, is_wanted: Callable[[Declarations], bool]) -> Iterator[Any]:
        """The elements for which a rule holds whose declarations are wanted."""
        for declared, elements in self._found:
            if is_wanted({name: value for name, (_, value) in declared.items()}):
                yield from elements

    def own(self, element: Any) -> Declarations:
        """What the `style` attribute of an element says."""
        return {name: value for name, (_, value) in _declared(element.get("style") or "").items()}

    def of(self, element: Any) -> Declarations:
        """What rules and the `style` attribute say of an element, by the cascade."""
        rules = self._rules.get(element)
        if rules is None:
            return self.own(element)
        best: dict[str, tuple[tuple[Any, ...], str]] = {}
        own = _Rule((1 << 30, 0, 0, 0), _declared(element.get("style") or ""))
        for rule in (*rules, own):
            for name, (is_important, value) in rule.declared.items():
                rank = (is_important, *rule.rank)
                if name not in best or rank >= best[name][0]:
                    best[name] = rank, value
        return {name: value for name, (_, value) in best.items()}

    def read_sheets(self, scope: Any, host: Any = None) -> None:
        """Applies the rules of the `style` elements in `scope` to the elements in it, and `:host` to `host`."""
        sheets = [sheet for sheet in scope.iter("style") if _is_screen_sheet(sheet)]
        index: _Index | None = None
        for sheet in sheets:
            for selectors, body in _rules_of((sheet.text or "")[:_MAX_SHEET_CHARS]):
                if not (declared := _declared(body)):
                    continue
                index = index or _Index(scope)
                for selector in selectors.split(","):
                    self._apply(selector.strip(), declared, index, host)

    def _apply(self, selector: str, declared: _Declared, index: _Index, host: Any) -> None:
        self._order += 1
        if selector == ":host" and host is not None:
            self._rules.setdefault(host, []).append(_Rule((0, 0, 0, self._order), declared))
            self._found.append((declared, [host]))
            return
        steps = _steps_of(selector)
        if not steps:
            return
        rank = (
            sum(len(step.ids) for step in steps),
            sum(len(step.classes) for step in steps),
            sum(step.tag != "*" for step in steps),
            self._order,
        )
        rule = _Rule(rank, declared)
        found = self._matched(steps, index)
        if found:
            self._found.append((declared, found))
        for element in found:
            self._rules.setdefault(element, []).append(rule)

    def _matched(self, steps: list[_Step], index: _Index) -> list[Any]:
        """The elements that a selector matches: those of each step that are inside those of the step before."""
        if not all(index.get(key) for step in steps for key in step.keys):
            return []  # most rules of a page speak of what it does not have
        found: list[Any] = []
        for at, step in enumerate(steps):
            fitting = min(map(index.get, step.keys), key=len)
            if len(step.keys) > 1:
                fitting = [each for each in fitting if _fits(each, step)]
            if at:
                fitting = self._inside(fitting, found, step)
            found = fitting
            if not found:
                break
        return found

    def _inside(self, fitting: list[Any], around: list[Any], step: _Step) -> list[Any]:
        """Those of some elements whose parent, or any element around it, is among others."""
        above = set(around)
        if step.is_child:
            return [each for each in fitting if each.getparent() in above]
        if len(above) <= _FEW < len(fitting):
            tags = () if step.tag == "*" else (step.tag,)
            below = {each for box in above for each in box.iterdescendants(*tags)}
            return [each for each in fitting if each in below]
        known: dict[Any, bool] = {}
        return [each for each in fitting if self._is_inside(each, above, known)]

    def _is_inside(self, element: Any, above: set[Any], known: dict[Any, bool]) -> bool:
        box = element.getparent()
        path: list[Any] = []
        found = False
        while box is not None:
            if box in above or box in known:
                found = box in above or known[box]
                break
            path.append(box)
            box = box.getparent()
        self._looks -= len(path)
        self.is_cut = self.is_cut or self._looks < 0
        known.update(dict.fromkeys(path, found))
        return found and not self.is_cut


def _is_screen_sheet(sheet: Any) -> bool:
    if (sheet.get("type") or "text/css").lower() != "text/css" or not _holds(f"@media {sheet.get('media') or 'all'}"):
        return False
    return not any(box.tag in ("noscript", "template") for box in sheet.iterancestors())


def _fits(element: Any, step: _Step) -> bool:
    if step.tag not in ("*", element.tag) or any(element.get("id") != name for name in step.ids):
        return False
    return not step.classes or set(step.classes) <= set((element.get("class") or "").split())


@functools.lru_cache(maxsize=_REMEMBERED)
def _steps_of(selector: str) -> list[_Step]:
    """The steps of a simple selector, left to right; none for any other selector."""
    steps: list[_Step] = []
    at = 0
    while at < len(selector):
        match = _STEP.match(selector, at)
        if match is None or not match[2] or (not steps and match[1]) or len(steps) == _MAX_STEPS:
            return []
        parts = _PART.findall(match[2])
        if "\\" in match[2]:
            parts = [(sign, _ESCAPE.sub(_unescaped, name)) for sign, name in parts]
        tag = next((name.lower() for sign, name in parts if not sign), "*")
        ids, classes = (tuple(name for sign, name in parts if sign == wanted) for wanted in "#.")
        keys = (*(f"#{name}" for name in ids), *(f".{name}" for name in classes))
        steps.append(_Step(bool(match[1]), tag, ids, classes, (*keys, tag) if tag != "*" or not keys else keys))
        at = match.end()
    return steps


def _rules_of(sheet: str) -> Iterator[tuple[str, str]]:
    """(selectors, declarations) of the rules that hold on a desktop screen, without nested ones."""
    text = _NOISE.sub(_without_noise, sheet)
    opened: list[tuple[str, bool]] = []  # (prelude, whether what is inside holds)
    start = 0
    for match in _BRACE.finditer(text):
        before, start = text[start : match.start()], match.end()
        if match[0] == "{":
            prelude = before.rpartition(";")[2].strip()
            is_nested = bool(opened) and not opened[-1][0].startswith("@")
            holds = not is_nested and (not opened or opened[-1][1])
            opened.append((prelude, holds and (not prelude.startswith("@") or _holds(prelude))))
        elif opened:
            prelude, holds = opened.pop()
            if holds and not prelude.startswith("@"):
                yield prelude, before
    if opened and opened[-1][1] and not opened[-1][0].startswith("@"):
        yield opened[-1][0], text[start:]


@functools.lru_cache(maxsize=_REMEMBERED)
def _holds(prelude: str) -> bool:
    """Whether an at-rule holds on a desktop screen; one that is not understood does not."""
    name, _, condition = prelude.lower().partition(" ")
    if name == "@layer":
        return True
    if name == "@supports":
        return "not" not in condition
    return name == "@media" and any(map(_query_holds, condition.split(",")))


def _query_holds(query: str) -> bool:
    for part in re.split(r"\band\b", query):
        part = part.strip()
        if width := _MEDIA_WIDTH.fullmatch(part):
            px = float(width[2]) * (1 if width[3] == "px" else 16)
            if (px > _SCREEN_PX) if width[1] == "min" else (px < _SCREEN_PX):
                return False
        elif not _MEDIA_HOLDS.fullmatch(part):
            return False
    return True


def _without_noise(match: re.Match[str]) -> str:
    return '""' if match[0][0] in "\"'" else "url()" if match[0][0] in "uU" else ""


@functools.lru_cache(maxsize=_REMEMBERED)
def _declared(text: str) -> _Declared:
    """What a `style` attribute or the inside of a rule says. A value that browsers do not know is left out, so that an
    earlier one holds."""
    found: _Declared = {}
    custom: dict[str, str] = {}
    for declaration in _split(_NOISE.sub(_without_noise, text)):
        if "\\" in declaration:
            declaration = _ESCAPE.sub(_unescaped, declaration)
        name, _, value = declaration.partition(":")
        name = name.strip()
        if name not in _KNOWN and name.lower() not in _KNOWN and not name.startswith("--"):
            continue
        value, bang, word = value.rpartition("!")
        if bang and word.strip().lower() != "important":
            continue
        value = " ".join((value if bang else word).split())
        if name.startswith("--"):
            custom[name] = value
            continue
        name = name.lower()
        if "var(" in value:
            value = _VARIABLE.sub(lambda each: custom.get(each[1], each[2] or "var()"), value)
            if "var(" in value:
                if name.startswith("background"):  # some ground that is not known
                    found["background-image"] = bool(bang), "var()"
                continue
        for longhand, part in _longhands(name, value.lower()):
            if bang or not found.get(longhand, (False, ""))[0]:
                found[longhand] = bool(bang), part
    return found


def _split(text: str) -> list[str]:
    """The declarations between the semicolons outside brackets."""
    if not any(bracket in text for bracket in "([{"):
        return text.split(";")
    parts: list[str] = []
    depth = start = 0
    for sign in _BRACKETS.finditer(text):
        if sign[0] == ";":
            if not depth:
                parts.append(text[start : sign.start()])
                start = sign.end()
        else:
            depth = max(0, depth + (1 if sign[0] in "([{" else -1))
    return [*parts, text[start:]]


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
    elif name == "-webkit-clip-path":
        yield "clip-path", value
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


def _unescaped(match: re.Match[str]) -> str:
    if match[2]:
        return match[2]
    number = int(match[1], 16)
    return chr(number) if 0 < number < 0xD800 else "\ufffd"


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
        return _of_function(match[1], re.findall(r"[\d.]+%?", match[2]))
    if text in ("inherit", "initial", "unset", "none", "currentcolor") or "var(" in text:
        return None
    return text if re.fullmatch(r"[a-z]+|(?:lab|lch|oklab|oklch|hwb|color)\([^()]{1,80}\)", text) else None


def _of_function(name: str, parts: list[str]) -> Colour | None:
    shares = [float(part.rstrip("%")) / (100 if part.endswith("%") else 1) for part in parts if part.count(".") < 2]
    if len(shares) == 4 and shares[3] <= _FAINT:
        return TRANSPARENT
    if len(shares) < 3:
        return None
    if name == "hsl":
        hue, saturation, light = shares[0] / 360, *(min(share, 1.0) for share in shares[1:3])
        channels: tuple[float, ...] = colorsys.hls_to_rgb(hue % 1, light, saturation)
    else:
        named = zip(shares[:3], parts[:3], strict=True)
        channels = tuple(share if part.endswith("%") else share / 255 for share, part in named)
    red, green, blue = (round(255 * min(channel, 1.0)) for channel in channels)
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
