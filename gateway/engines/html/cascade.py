"""What the rules of a page's `style` elements and its `style` attributes say of each element, variables put in.

Source: CSS Cascading 5, Custom Properties 1. Runs in the parsing processes.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from gateway.engines.html import rule_filter
from gateway.engines.html.css import Declarations, Declared, declared, expanded
from gateway.engines.html.css_rules import CssRule, RuleReader
from gateway.engines.html.marked_elements import MarkedElements
from gateway.engines.html.selector_matcher import SelectorMatcher
from gateway.engines.html.selectors import NotValidError, read_selectors
from gateway.engines.html.style_sheets import sheets

MAX_WORK = 1_000_000
"""Rules and variables looked up for one page, about 1 µs each. Measured: pages of bench.extract come to 60,000. At half
large tables of styled cells are near; at double a hostile page takes another second."""
_MAX_VALUE_CHARS = 200
"""Longest value with its variables put in. Chosen: values that hide have up to 60; variables of variables double it."""
_MAX_NESTING = 8
"""Variables inside variables. Chosen: pages have three; at double a chain made to cost time costs twice as much."""
_VARIABLE = re.compile(r"var\(\s*+(--[^\s,()]{1,100})\s*+(?:,((?:[^()]|\([^()]{0,100}\)){0,200}))?\)", re.IGNORECASE)
_STRICT = re.compile(
    r"<!DOCTYPE\s+html(?:\s+PUBLIC\s+\"-//W3C//DTD\s+(?:XHTML|HTML 4\.01)[^>]{0,300}|\s+SYSTEM[^>]{0,300})?\s*>", re.I
)
_NO_VALUE = "\x00"
"""A variable without a value: the fallback of the enclosing `var()` is used."""
_CLOSED = frozenset({"hidden", "popover"})
"""Attributes for which the browser's own sheet says `display: none`."""
_Order = tuple[tuple[int, ...], tuple[int, int, int], int]


class Cascade:
    """The styles of one document. `marked`: its elements with attributes that count here. With `rules` false the
    `style` attributes alone count; with `whole` rules keep the declarations that can hide nothing in this document by
    themselves. `read`: all rules of its `sheets` that hold on a screen, with their `strings`; `present` tells which of
    them may match."""

    def __init__(self, root: Any, marked: MarkedElements, rules: bool = True, whole: bool = False) -> None:
        self.is_cut = False
        self._root = root
        self._rules: list[tuple[_Order, Declared]] = []
        self._found: dict[Any, int] = {}
        self._groups: list[tuple[int, ...]] = []
        self._merged: dict[int, _Stated] = {}
        self._variables: dict[tuple[Any, str], str | None] = {}
        self._inline: dict[str, _Stated] = {}
        self._together: dict[tuple[int, str], _Stated] = {}
        self._whole: dict[tuple[int, int, str], Declarations] = {}
        self._scopes: dict[Any, int] = {}
        self._numbers: dict[tuple[int, int, str], int] = {}
        self._work = MAX_WORK
        self.sheets: list[str] = []
        self.read: list[CssRule] = []
        self.strings: list[str] = []
        self.present: rule_filter.Present | None = None
        if rules:
            self._read(marked, whole)

    def __bool__(self) -> bool:
        return bool(self._found)

    def style(self, element: Any) -> Declarations:
        """What rules and the `style` attribute say of an element."""
        return self._put_in(element, self._found.get(element, -1), element.get("style") or "")

    def own_style(self, element: Any) -> Declarations:
        """What the `style` attribute alone says."""
        return self._put_in(element, -1, element.get("style") or "")

    def as_attribute(self, element: Any) -> str:
        """The rules of an element and its `style` attribute as one attribute, with variables as they are; empty where
        no rule holds."""
        ruled, own = self._of_rules(self._found.get(element, -1)), self._of_attribute(element.get("style") or "")
        merged = ruled.styles | ruled.variables
        if not merged:
            return ""
        for name, entry in (own.styles | own.variables).items():
            if entry[0] or not merged.get(name, entry)[0]:
                merged[name] = entry
        return ";".join(f"{name}:{value}!important" for name, (_, value) in merged.items())

    def suspects(self, test: Callable[[Declarations], bool]) -> set[Any]:
        """The elements whose rules together pass the test, or depend on variables."""
        verdicts = []
        for group in range(len(self._groups)):
            ruled = self._of_rules(group)
            verdicts.append(ruled.varies or test(ruled.plain))
        return {element for element, group in self._found.items() if verdicts[group]}

    def declarations(self) -> Iterator[Declarations]:
        """What the rules say of each kind of element."""
        for group in range(len(self._groups)):
            yield self._of_rules(group).plain

    def _read(self, marked: MarkedElements, whole: bool) -> None:
        reader = RuleReader()
        self.sheets = list(sheets(self._root))
        if not self.sheets:
            return
        is_strict = bool(_STRICT.fullmatch(self._root.getroottree().docinfo.doctype or ""))
        matcher = SelectorMatcher(quirks=not is_strict)
        self.present = present = rule_filter.Present(marked, is_strict)
        self.strings = reader.strings
        self.read = [rule for css in self.sheets for rule in reader.read(css)]
        rules = [rule for rule in self.read if present.may_match(rule.selectors)]
        bodies = {body: declared(body) for body in {rule.body for rule in rules}}
        stated = [bodies[rule.body] for rule in rules]
        wanted = rule_filter.decisive([*bodies.values(), *self._in_attributes(marked)])
        for rule, found in zip(rules, stated, strict=True):
            if not whole:
                found = {name: entry for name, entry in found.items() if name in wanted}
            if found:
                self._add(rule, found, reader.strings, matcher)
        if self._rules:
            self._found, self._groups = matcher.match(marked.elements)
        self.is_cut = matcher.is_cut

    def _in_attributes(self, marked: MarkedElements) -> Iterator[Declared]:
        """What `style` attributes, `bgcolor` and `color` say, and `display` of the browser's own sheet."""
        if any(element.tag == "dialog" or not _CLOSED.isdisjoint(element.keys()) for element in marked.suspects):
            yield {"display": (False, "none")}
        for text in marked.values("style"):
            own = self._of_attribute(text)
            yield own.styles
            yield own.variables
        for attribute, name in (("bgcolor", "background-color"), ("color", "color")):
            for value in marked.values(attribute):
                yield {name: (False, value)}

    def _add(self, rule: CssRule, found: Declared, strings: list[str], matcher: SelectorMatcher) -> None:
        try:
            selectors = read_selectors(rule.selectors, strings)
        except NotValidError:
            return
        for selector in selectors:
            self._rules.append(((rule.layer, selector.specificity, rule.place), found))
            matcher.add(selector, len(self._rules) - 1)

    def _of_rules(self, group: int) -> "_Stated":
        """What a group of rules says together, in the order of the cascade; nothing for -1."""
        known = self._merged.get(group)
        if known is not None:
            return known
        merged: Declared = {}
        rules = self._groups[group] if group >= 0 else ()
        self._spend(len(rules))
        if self._work > 0:
            ordered = sorted((self._rules[rule] for rule in rules), key=lambda each: each[0])
            for is_important in (False, True):
                if is_important:  # among important declarations the lower layer wins
                    ordered.sort(key=lambda each: [-rank for rank in each[0][0]])
                for _, found in ordered:
                    merged.update((name, entry) for name, entry in found.items() if entry[0] == is_important)
        known = self._merged[group] = _Stated(merged)
        return known

    def _of_attribute(self, text: str) -> "_Stated":
        known = self._inline.get(text)
        if known is None:
            known = self._inline[text] = _Stated(declared(text))
        return known

    def _stated(self, group: int, inline: str) -> "_Stated":
        """What a group of rules and a `style` attribute say together."""
        ruled, own = self._of_rules(group), self._of_attribute(inline)
        if not own.styles or not ruled.styles:
            return own if own.styles else ruled
        merged = dict(ruled.styles)
        for name, entry in own.styles.items():
            if entry[0] or not merged.get(name, entry)[0]:
                merged[name] = entry
        return _Stated(merged)

    def _put_in(self, element: Any, group: int, inline: str) -> Declarations:
        """The declarations with their variables, once for all elements for which they say the same; a declaration with
        a variable that has no value counts for nothing."""
        stated = self._together.get((group, inline))
        if stated is None:
            stated = self._together[group, inline] = self._stated(group, inline)
        if not stated.varies:
            return stated.plain
        key = (self._scope(element), group, inline)
        found = self._whole.get(key)
        if found is not None:
            return found
        found = self._whole[key] = {}
        for name, value in stated.plain.items():
            if "var(" not in value.lower():
                found[name] = value
                continue
            whole = self._with_variables(element, value, 0)
            if whole is not None:
                found.update(expanded(name, " ".join(whole.lower().split())))
        return found

    def _scope(self, element: Any) -> int:
        """A number that is equal for elements in which all variables have the same values, as they and those around
        them set them alike."""
        path = []
        box = element
        while box is not None and box not in self._scopes:
            path.append(box)
            box = box.getparent()
        scope = 0 if box is None else self._scopes[box]
        for box in reversed(path):
            group, inline = self._found.get(box, -1), box.get("style") or ""
            sets = (
                group if self._of_rules(group).variables else -1,
                inline if self._of_attribute(inline).variables else "",
            )
            if sets != (-1, ""):
                scope = self._numbers.setdefault((scope, *sets), len(self._numbers) + 1)
            self._scopes[box] = scope
        return scope

    def _with_variables(self, element: Any, value: str, depth: int) -> str | None:
        while match := _VARIABLE.search(value):
            given = self._variable(element, match[1], depth)
            given = given if given is not None else match[2]
            given = given if given is not None else _NO_VALUE
            if len(value) + len(given) > _MAX_VALUE_CHARS:
                return None
            value = value[: match.start()] + given + value[match.end() :]
            self._spend(1)
            if self._work <= 0:
                return None
        return None if _NO_VALUE in value else value

    def _variable(self, element: Any, name: str, depth: int) -> str | None:
        """The value of a custom property: an element's own, or that of the nearest element around it."""
        path = []
        box, value = element, None
        while box is not None and depth < _MAX_NESTING:
            if (box, name) in self._variables:
                value = self._variables[box, name]
                break
            path.append(box)
            self._spend(1)
            own = self._of_attribute(box.get("style") or "").variables.get(name)
            ruled = self._of_rules(self._found.get(box, -1)).variables.get(name)
            entry = ruled if own is None or (ruled and ruled[0] and not own[0]) else own
            if entry is not None and entry[1] not in ("inherit", "unset"):
                value = None if entry[1] == "initial" else self._with_variables(box, entry[1], depth + 1)
                break
            box = None if self._work <= 0 else box.getparent()
        if depth < _MAX_NESTING:
            self._variables.update(((each, name), value) for each in path)
        return value

    def _spend(self, units: int) -> None:
        self._work -= units
        self.is_cut = self.is_cut or self._work <= 0


class _Stated:
    """Declarations: `styles` of known properties, `plain` without importance, `variables` of custom properties;
    `varies`: styles depend on variables."""

    def __init__(self, found: Declared) -> None:
        self.variables = {name: entry for name, entry in found.items() if name.startswith("--")}
        self.styles = found
        if self.variables:
            self.styles = {name: entry for name, entry in found.items() if name not in self.variables}
        self.plain = _plain(self.styles)
        self.varies = any("var(" in value.lower() for value in self.plain.values())


def _plain(styles: Declared) -> Declarations:
    return {name: value for name, (_, value) in styles.items()}
