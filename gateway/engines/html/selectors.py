"""Reads selectors of CSS into steps that `selector_matcher` compares with elements. Source: Selectors 4. Pure.

A list with a selector that browsers do not know is not valid as a whole and matches nothing. A valid selector that
nothing in a page at rest matches (`:hover`, `::before`), and one that is not read here (very long or deep), is left
out alone.
"""

import re
from dataclasses import replace

from gateway.engines.html.css import unescaped
from gateway.engines.html.css_rules import split_list
from gateway.engines.html.selector_parts import (
    AttributeTest,
    Combinator,
    HasTest,
    ListTest,
    PlaceTest,
    Selector,
    StateTest,
    Step,
    Test,
)

MAX_COMPOUNDS = 64
"""Steps of one selector. Chosen: pages have ten; a longer selector is left out."""
_MAX_DEPTH = 6
"""`:is()` and the like inside one another. Chosen: nested rules of pages come to four; deeper ones are left out."""
_IDENT = r"(?:[A-Za-z0-9_-]|[^\x00-\x7f]|\\(?:[0-9a-fA-F]{1,6}\s?|[^\n0-9a-fA-F]))++"
_PART = re.compile(rf"(?:[A-Za-z0-9_*-]{{0,32}}\|)?({_IDENT}|\*)|([.#])({_IDENT})|(::?)({_IDENT})(\(?)|(\[)")
_ATTRIBUTE = re.compile(
    rf"\[\s*+(?:[A-Za-z0-9_*-]{{0,32}}\|(?!=))?({_IDENT})\s*+"
    rf"(?:([~|^$*]?=)\s*+(?:\"(\d{{1,7}})\"|({_IDENT}))\s*+(?:([isIS])\s*+)?)?\]"
)
_COMBINATOR = re.compile(r"\s*+([>+~])\s*+|\s++")
_NTH = re.compile(r"([+-]?\d{0,6})n(?:([+-])(\d{1,6}))?|([+-]?\d{1,6})")
_ROUND = re.compile(r"[()]")
_OF = re.compile(r"(?<!\s)\s++of\s++", re.IGNORECASE)
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?|\\(.)", re.DOTALL)
_AT_REST = frozenset(
    {
        "root", "empty", "first-child", "last-child", "only-child", "first-of-type", "last-of-type", "only-of-type",
        "link", "any-link", "checked", "disabled", "enabled", "required", "optional", "read-only", "read-write",
        "default", "defined", "open", "scope",
    }
)  # fmt: skip
_NEVER = frozenset(
    {
        "hover", "active", "focus", "focus-within", "focus-visible", "visited", "local-link", "target",
        "target-within", "current", "past", "future", "playing", "paused", "seeking", "buffering", "stalled", "muted",
        "volume-locked", "fullscreen", "modal", "picture-in-picture", "popover-open", "autofill", "user-valid",
        "user-invalid", "valid", "invalid", "in-range", "out-of-range", "indeterminate", "placeholder-shown", "blank",
        "host", "host-context", "state", "slotted", "part", "selection", "before", "after", "first-line",
        "first-letter", "active-view-transition",
    }
)  # fmt: skip
NEVER_AT_REST = re.compile(rf"::|:(?:{'|'.join(sorted(_NEVER))})(?![\w-])", re.IGNORECASE)
"""Finds, in a selector without what its brackets hold, what nothing in a page at rest matches."""
_LISTS = frozenset({"is", "where", "not", "matches", "any", "-webkit-any", "-moz-any", "has"})
_NTHS = frozenset({"nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type"})
_ANY_CASE = frozenset(
    {
        "accept", "align", "axis", "bgcolor", "charset", "checked", "clear", "color", "compact", "dir", "direction",
        "disabled", "enctype", "face", "frame", "hreflang", "http-equiv", "lang", "language", "link", "media",
        "method", "multiple", "nohref", "noresize", "noshade", "nowrap", "readonly", "rel", "rev", "rules", "scope",
        "scrolling", "selected", "shape", "target", "text", "type", "valign", "valuetype",
    }
)  # fmt: skip
"""Attributes of HTML whose values are compared without case."""


class NotValidError(ValueError):
    """Browsers do not know the selector; the whole list counts for nothing."""


class _MatchesNothingError(ValueError):
    """The selector is valid and matches nothing in a page at rest."""


class _NotReadError(ValueError):
    """The selector is valid but not read here, nor is any that holds it."""


def read_selectors(
    text: str, strings: list[str], depth: int = 0, relative: bool = False, in_has: bool = False
) -> list[Selector]:
    """The selectors of a list that can match. Raises NotValidError."""
    found = []
    for part in split_list(text):
        try:
            found.append(_Reader(part.strip(), strings, depth, in_has).selector(relative))
        except _MatchesNothingError:
            continue
        except _NotReadError:
            if depth:
                raise
    return found


class _Reader:
    def __init__(self, text: str, strings: list[str], depth: int, in_has: bool) -> None:
        self._text = text
        self._strings = strings
        self._depth = depth
        self._in_has = in_has
        self._at = 0
        self._weight = [0, 0, 0]

    def selector(self, relative: bool) -> Selector:
        steps: list[Step] = []
        combinator: Combinator = " " if relative else ""
        if relative and (match := _COMBINATOR.match(self._text)):
            combinator, self._at = _sign(match), match.end()
        while True:
            steps.append(self._step(combinator))
            if self._at == len(self._text):
                break
            match = _COMBINATOR.match(self._text, self._at)
            if match is None:
                raise NotValidError(self._text)
            combinator, self._at = _sign(match), match.end()
        if len(steps) > MAX_COMPOUNDS:
            raise _NotReadError(self._text)
        return Selector(tuple(steps), (self._weight[0], self._weight[1], self._weight[2]))

    def _step(self, combinator: Combinator) -> Step:
        start, tag = self._at, ""
        names: list[str] = []
        tests: list[Test] = []
        while match := _PART.match(self._text, self._at):
            self._at = match.end()
            if match[1]:
                tag = "" if match[1] == "*" else _plain(match[1]).lower()
                self._weight[2] += bool(tag)
            elif match[2]:
                names.append(match[2] + _plain(match[3]))
                self._weight[0 if match[2] == "#" else 1] += 1
            elif match[4]:
                self._pseudo(match, tests)
            else:
                self._at -= 1
                self._attribute(names, tests)
        if self._at == start:
            raise NotValidError(self._text)
        return Step(combinator, tag, tuple(dict.fromkeys(names)), tuple(tests))

    def _attribute(self, names: list[str], tests: list[Test]) -> None:
        match = _ATTRIBUTE.match(self._text, self._at)
        if match is None:
            raise NotValidError(self._text)
        self._at = match.end()
        self._weight[1] += 1
        name = _plain(match[1]).lower()
        names.append(f"[{name}]")
        if match[2]:
            number = int(match[3]) if match[3] else -1
            value = _plain(self._strings[number] if 0 <= number < len(self._strings) else match[4] or "")
            folded = (match[5] or "").lower() == "i" or (name in _ANY_CASE and not match[5])
            tests.append(AttributeTest(name, match[2], value.lower() if folded else value, folded))

    def _pseudo(self, match: re.Match[str], tests: list[Test]) -> None:
        name = _plain(match[5]).lower()
        inside = self._brackets() if match[6] else ""
        if match[4] == "::" or name in _NEVER or (name.startswith("-") and name not in _LISTS):
            raise _MatchesNothingError(self._text)
        if name in ("lang", "dir") and inside.isalpha():
            with_value = f"[{name}|={inside}],[{name}|={inside}] *"
            none_given = ",:not([dir],[dir] *)" if (name, inside) == ("dir", "ltr") else ""
            self._list("is", with_value + none_given, tests)
        elif name in _LISTS:
            self._list(name, inside, tests)
        elif name in _NTHS:
            self._place(name, inside, tests)
        elif name in _AT_REST:
            self._weight[1] += 1
            tests += _at_rest(name)
        else:
            raise NotValidError(self._text)

    def _brackets(self) -> str:
        start, depth = self._at, 1
        self._at = len(self._text)
        for sign in _ROUND.finditer(self._text, start):
            depth += 1 if sign[0] == "(" else -1
            if not depth:
                self._at = sign.end()
                break
        return self._text[start : self._at - (not depth)].strip()

    def _list(self, name: str, inside: str, tests: list[Test]) -> None:
        if self._depth >= _MAX_DEPTH:
            raise _NotReadError(self._text)
        if name == "has" and self._in_has:
            raise NotValidError(self._text)
        forgiving = name not in ("not", "has")
        selectors: list[Selector] = []
        for part in split_list(inside):
            try:
                in_has = self._in_has or name == "has"
                selectors += read_selectors(part, self._strings, self._depth + 1, name == "has", in_has)
            except NotValidError:
                if not forgiving:
                    raise
        if name != "where":
            self._add_weight(selectors)
        tests.append(HasTest(tuple(selectors)) if name == "has" else ListTest(tuple(selectors), name == "not"))

    def _place(self, name: str, inside: str, tests: list[Test]) -> None:
        """Adds the test of an `:nth-…()`, which may name what is counted (`2 of p.x`)."""
        self._weight[1] += 1
        place, *listed = _OF.split(inside, 1)
        test = _place(name, place)
        if listed:
            if test.of_type:
                raise NotValidError(self._text)
            if self._depth >= _MAX_DEPTH:
                raise _NotReadError(self._text)
            of = read_selectors(listed[0], self._strings, self._depth + 1, in_has=self._in_has)
            if not of:
                raise _MatchesNothingError(self._text)
            self._add_weight(of)
            test = replace(test, of=tuple(of))
        tests.append(test)

    def _add_weight(self, selectors: list[Selector]) -> None:
        """Adds the specificity of the most specific one of a list."""
        most = max((each.specificity for each in selectors), default=(0, 0, 0))
        self._weight = [own + more for own, more in zip(self._weight, most, strict=True)]


def _sign(match: re.Match[str]) -> Combinator:
    found: dict[str, Combinator] = {">": ">", "+": "+", "~": "~"}
    return found.get(match[1] or "", " ")


def _plain(text: str) -> str:
    return _ESCAPE.sub(unescaped, text) if "\\" in text else text


def _place(name: str, inside: str) -> PlaceTest:
    """The test of an `:nth-…()`. Raises NotValidError."""
    text = inside.strip().lower()
    text = {"odd": "2n+1", "even": "2n"}.get(text, text)
    match = _NTH.fullmatch(text.replace(" ", ""))
    if match is None:
        raise NotValidError(text)
    if match[4]:
        step, first = 0, int(match[4])
    else:
        step = int(match[1] + "1") if match[1] in ("", "+", "-") else int(match[1])
        first = int((match[2] or "") + (match[3] or "0"))
    return PlaceTest(step, first, "type" in name, "last" in name)


def _at_rest(name: str) -> list[Test]:
    if name.startswith(("first-", "last-", "only-")):
        of_type = name.endswith("type")
        ends = {"first": (False,), "last": (True,), "only": (False, True)}[name.partition("-")[0]]
        return [PlaceTest(0, 1, of_type, from_end) for from_end in ends]
    return [] if name == "defined" else [StateTest(name)]
