"""Leaves out what a page's style rules say beyond hiding, before their selectors are read and compared.

Most rules of a framework name what the page does not have, match only under a pointer, or set sizes and colours with
which nothing can be hidden. What remains gives the same answer to every question of `hiding` and `colours`. Knows no
cascade. Runs in the parsing processes.
"""

import functools
import re
from collections.abc import Iterable, Iterator

from gateway.engines.html import colours, hiding
from gateway.engines.html.css import LONGHANDS, Declared, expanded
from gateway.engines.html.css_rules import split_list
from gateway.engines.html.marked_elements import MarkedElements
from gateway.engines.html.selectors import NEVER_AT_REST

_VALUES_REMEMBERED, _REMEMBERED_CHARS = 4_096, 64
"""Values of properties that a process remembers, and the longest of them. Chosen: those of a few pages; at half long
sheets judge some twice."""
_NAME = re.compile(r"[.#][A-Za-z][\w-]*")
_TAG = re.compile(r"(?:^|[\s>+~])([A-Za-z][\w-]*)")
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_MAX_NESTING = 6
"""Brackets inside one another that are taken out of a selector. Chosen: pages have three; a selector with more is read
as if it may match."""
_REFERENCE = re.compile(r"var\(\s*+(--[^\s,()]{1,100})", re.IGNORECASE)
_ONE_VARIABLE = re.compile(r"var\(\s*+(--[^\s,()]{1,100})\s*+(?:,([^()]{0,200}))?\)", re.IGNORECASE)
_MOST_VALUES = 200
"""Values of variables that are put in for one property. Chosen: pages have some dozen; at half large sets of sizes are
taken for anything, at double a page made for it takes twice the 50 ms."""
_ANY_VALUE = "var("
_AROUND = {"position": "absolute", "overflow": "hidden"}
"""What the box must have besides for some values to hide it."""
_BESIDE = (
    ({"left", "right", "top", "bottom", "clip", "inset", "inset-inline", "inset-block"}, {"position"}),
    (
        {"width", "height", "max-width", "max-height", "line-height", "text-indent"},
        {"overflow", "overflow-x", "overflow-y"},
    ),
)
"""(properties, those on which it depends whether they hide)."""
_HIDING = hiding.PROPERTIES | {"font", "margin", "margin-inline"} | _BESIDE[0][0]
"""What may hide by itself, whatever its value is; shorthands too."""
_COLOURS = frozenset(
    {
        "color", "-webkit-text-fill-color", "background", "background-color", "background-image", "background-clip",
        "text-shadow",
    }
)  # fmt: skip


class Present:
    """The ids, classes and tags of a document: a rule that names another cannot match."""

    def __init__(self, marked: MarkedElements, is_strict: bool) -> None:
        self._is_strict = is_strict
        names = {f"#{name}" for each in marked.elements if (name := each.get("id")) is not None}
        for text in {each.get("class") for each in marked.elements}:
            names.update(f".{name}" for name in (text or "").split())
        self._names = names if is_strict else {name.lower() for name in names}
        self._tags = marked.tags

    def may_match(self, selectors: str) -> bool:
        """False when each selector of the list names something that is not there, or a state of no page at rest."""
        if "\\" in selectors or "|" in selectors:
            return True
        return any(self._may(part) for part in split_list(selectors))

    def _may(self, selector: str) -> bool:
        for _ in range(_MAX_NESTING):
            if "(" not in selector and "[" not in selector:
                break
            selector = _BRACKETS.sub("", selector)
        else:
            return True
        if ":" in selector and NEVER_AT_REST.search(selector):
            return False
        names = _NAME.findall(selector)
        if not self._names.issuperset(names if self._is_strict else map(str.lower, names)):
            return False
        return self._tags.issuperset(map(str.lower, _TAG.findall(selector)))


def decisive(stated: Iterable[Declared]) -> frozenset[str]:
    """The properties, and custom properties, with which the declarations of a page may hide something. `stated`: of all
    its rules, `style` attributes and attributes for colours."""
    values: dict[str, set[str]] = {}
    for found in stated:
        for name, (_, value) in found.items():
            values.setdefault(name, set()).add(value)
    properties = {name for name, given in values.items() if name[:2] != "--" and _any_hides(name, given, values)}
    for name in list(properties):
        properties.update(LONGHANDS.get(name, ()))
    for hiding_ones, conditions in _BESIDE:
        if properties & hiding_ones:
            properties |= conditions
    if _colours_meet(values):
        properties |= _COLOURS
    return frozenset(properties | set(_referenced(values)))


def _any_hides(name: str, given: set[str], values: dict[str, set[str]]) -> bool:
    """Whether a value of a property may hide; of one with variables, any value that the page gives to them."""
    return any(_may_hide(name, value) for value in _possible(given, values))


def _possible(given: set[str], values: dict[str, set[str]]) -> set[str]:
    """The values with those of variables put in. What is more than one variable stays as it is, and so do variables of
    variables without end."""
    known: set[str] = set()
    waiting = set(given)
    most = len(given) + _MOST_VALUES
    while waiting:
        value = waiting.pop()
        known.add(value)
        if len(known) > most:
            return known | {_ANY_VALUE}
        if match := _ONE_VARIABLE.fullmatch(value):
            others = values.get(match[1], set()) | ({match[2].strip()} if match[2] else set())
            waiting |= others - known
    return {value for value in known if not _ONE_VARIABLE.fullmatch(value)}


def _may_hide(name: str, value: str) -> bool:
    """Whether a value hides in the most favourable surroundings. Long ones are not remembered: a page could fill the
    memory of the process with them."""
    return (_known_to_hide if len(value) <= _REMEMBERED_CHARS else _hides)(name, value)


def _hides(name: str, value: str) -> bool:
    if "var(" in value.lower():
        return name in _HIDING
    style = {**_AROUND, **dict(expanded(name, value.lower()))}
    if hiding.hides_for_good(style) or hiding.hides_until_shown(style):
        return True
    return bool(hiding.letters_unseen(style) or hiding.text_invisible(style))


_known_to_hide = functools.lru_cache(maxsize=_VALUES_REMEMBERED)(_hides)


def _colours_meet(values: dict[str, set[str]]) -> bool:
    """Whether a text that is stated somewhere may have the colour of a ground that is stated somewhere."""
    given = [value for name in _COLOURS for value in values.get(name, ())]
    if any("var(" in value.lower() or value == "currentcolor" for value in given):
        return True
    texts = {colours.colour(value) for name in ("color", "-webkit-text-fill-color") for value in values.get(name, ())}
    grounds = {colours.ground({"background-color": value})[1] for value in values.get("background-color", ())}
    known = colours.near(grounds | {(255, 255, 255)})
    return any(text == colours.TRANSPARENT or colours.rounded(text) in known for text in texts if text is not None)


def _referenced(values: dict[str, set[str]]) -> Iterator[str]:
    """The custom properties that other declarations ask for, those of their values too."""
    waiting = {name for key, given in values.items() if key[:2] != "--" for name in _references(given)}
    known: set[str] = set()
    while waiting:
        name = waiting.pop()
        known.add(name)
        yield name
        waiting.update(_references(values.get(name, set())) - known)


def _references(values: set[str]) -> set[str]:
    return {name for value in values if "var(" in value.lower() for name in _REFERENCE.findall(value)}
