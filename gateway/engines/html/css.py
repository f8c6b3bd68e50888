"""Reads CSS as far as hiding needs it: declarations, and the rules of `style` elements with simple selectors.

A selector is simple when it has a tag, an id and classes of one element alone, or is a list of these; all other rules
are left out. Of at-rules `@media` is read for `all` and `screen`, `@layer` always, `@supports` unless it says `not`.
Source: CSS Syntax 3, Cascading 5.
"""

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

Declarations = dict[str, str]
"""Values in lower case by property."""
MAX_CSS_CHARS = 1_000_000
"""Text of a page's `style` elements that is read. Chosen: frameworks put some 300,000 characters into a page. At half
those of two frameworks are cut; at double reading takes twice the 100 ms."""
_STYLES_REMEMBERED = 1_024
"""Values of `style` that a process remembers. Chosen: those of a few pages; at half long pages parse some twice."""
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_STRING = re.compile(r"\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?")
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?|\\(.)")
_BRACE = re.compile(r"[{}]")
_COMPOUND = re.compile(r"(\*|[a-z][a-z0-9-]*)?((?:[.#][\w-]+)*)", re.IGNORECASE)
_PART = re.compile(r"([.#])([\w-]+)")
_HOLDS = re.compile(r"@media\s+(?:only\s+)?(?:all|screen)\s*|@layer\b[\w\s.-]*|@supports\s*(?!not\b|\s).*", re.DOTALL)
"""Preludes whose rules hold on a screen: whatever pages ask with `@supports`, browsers of today support."""
_KNOWN = frozenset(
    {
        "display", "visibility", "content-visibility", "opacity", "filter", "font-size", "font", "clip", "clip-path",
        "position", "left", "top", "right", "bottom", "margin-left", "margin-top", "text-indent", "width", "height",
        "max-width", "max-height", "overflow", "overflow-x", "overflow-y", "transform", "scale", "color", "background",
        "background-color", "background-image", "background-clip", "-webkit-background-clip", "-webkit-clip-path",
        "-webkit-transform", "-webkit-text-fill-color",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Rule:
    """`tag` and `identity` may be empty; `order` is (specificity, place)."""

    tag: str
    identity: str
    classes: frozenset[str]
    order: tuple[int, int, int, int]
    declared: dict[str, tuple[bool, str]]

    def matches(self, tag: str, identity: str, classes: frozenset[str]) -> bool:
        return (
            self.tag in ("", tag) and self.identity in ("", identity) and self.classes <= classes
        )  # every part that is named


@dataclass(slots=True)
class StyleSheet:
    """Rules found by the rarest part of their selector."""

    _by_name: dict[str, list[_Rule]] = field(default_factory=dict)
    _known: dict[tuple[str, str, str], tuple[dict[str, tuple[bool, str]], Declarations]] = field(default_factory=dict)

    def add(self, css: str) -> None:
        """Reads the text of one `style` element. Later sheets win over earlier ones."""
        place = sum(map(len, self._by_name.values()))
        for selectors, body in _rules(css):
            declared = _declared(body)
            if not declared:
                continue
            for selector in selectors.split(","):
                place += 1
                rule = _rule(selector.strip(), place, declared)
                if rule is not None:
                    key = (
                        f"#{rule.identity}" if rule.identity else f".{min(rule.classes)}" if rule.classes else rule.tag
                    )
                    self._by_name.setdefault(key, []).append(rule)

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def declarations(self) -> Iterator[Declarations]:
        """The declarations of every rule."""
        for rules in self._by_name.values():
            for rule in rules:
                yield {name: value for name, (_, value) in rule.declared.items()}

    def names_where(self, test: Callable[[Declarations], bool]) -> tuple[set[str], set[str], set[str]]:
        """(tags, ids, classes) of which one is named by every rule whose declarations pass the test."""
        tags: set[str] = set()
        identities: set[str] = set()
        classes: set[str] = set()
        for rules in self._by_name.values():
            for rule in rules:
                if test({name: value for name, (_, value) in rule.declared.items()}):
                    if rule.identity:
                        identities.add(rule.identity)
                    elif rule.classes:
                        classes.add(min(rule.classes))
                    else:
                        tags.add(rule.tag)
        return tags, identities, classes

    def style(self, tag: str, identity: str, names: str, inline: str) -> Declarations:
        """What rules and the `style` attribute say of one element. `names`: its `class`."""
        key = (tag, identity, names)
        known = self._known.get(key)
        if known is None:
            ruled = self._cascade(tag, identity, frozenset(names.split()))
            known = self._known[key] = (ruled, {name: value for name, (_, value) in ruled.items()})
        ruled, plain = known
        if not inline:
            return plain
        merged = dict(ruled)
        for name, entry in _declared(inline).items():
            if entry[0] or not merged.get(name, entry)[0]:
                merged[name] = entry
        return {name: value for name, (_, value) in merged.items()}

    def _cascade(self, tag: str, identity: str, classes: frozenset[str]) -> dict[str, tuple[bool, str]]:
        keys = [tag, "", f"#{identity}", *(f".{name}" for name in classes)]
        found = [rule for key in keys for rule in self._by_name.get(key, ()) if rule.matches(tag, identity, classes)]
        merged: dict[str, tuple[bool, str]] = {}
        for rule in sorted(found, key=lambda rule: rule.order):
            for name, entry in rule.declared.items():
                if entry[0] or not merged.get(name, entry)[0]:
                    merged[name] = entry
        return merged


@functools.lru_cache(maxsize=_STYLES_REMEMBERED)
def inline_style(text: str) -> Declarations:
    """The declarations of a `style` attribute. Not to be changed."""
    return {name: value for name, (_, value) in _declared(text).items()}


def _declared(text: str) -> dict[str, tuple[bool, str]]:
    """(is important, value) of the known properties."""
    found: dict[str, tuple[bool, str]] = {}
    if "/*" in text:
        text = _COMMENT.sub("", text)
    if "\\" in text:
        text = _ESCAPE.sub(_unescaped, text)
    for declaration in text.lower().split(";"):
        name, colon, value = declaration.partition(":")
        name = name.strip()
        if not colon or name not in _KNOWN:
            continue
        value, bang, _ = value.partition("!")
        value = " ".join(value.split())
        if value and (bang or not found.get(name, (False, ""))[0]):
            found[name] = (bool(bang), value)
    return found


def _unescaped(match: re.Match[str]) -> str:
    if match[2]:
        return match[2]
    number = int(match[1], 16)
    return chr(number) if 0 < number < 0xD800 else " "


def _name_character(match: re.Match[str]) -> str:
    """The escaped character of a name; a backslash, which no simple selector has, for any sign."""
    character = _unescaped(match)
    return character if character.isalnum() or character in "-_" else "\\"


def _rules(css: str) -> Iterator[tuple[str, str]]:
    """(selectors, declarations) of the rules that hold on a screen."""
    css = _STRING.sub("", _COMMENT.sub(" ", css[:MAX_CSS_CHARS]))
    open_blocks: list[str] = []
    at = 0
    for brace in _BRACE.finditer(css):
        piece = css[at : brace.start()].rpartition(";")[2].strip() if brace[0] == "{" else css[at : brace.start()]
        at = brace.end()
        if brace[0] == "{":
            open_blocks.append(piece)
        elif open_blocks:
            prelude = open_blocks.pop()
            if not prelude.startswith("@") and _on_screen(open_blocks):
                yield prelude, piece


def _on_screen(preludes: Sequence[str]) -> bool:
    return all(_HOLDS.fullmatch(prelude.lower() + " ") for prelude in preludes)


def _rule(selector: str, place: int, declared: dict[str, tuple[bool, str]]) -> _Rule | None:
    match = _COMPOUND.fullmatch(_ESCAPE.sub(_name_character, selector))
    if match is None or not selector:
        return None
    parts = _PART.findall(match[2])
    identities = [name for mark, name in parts if mark == "#"]
    classes = frozenset(name for mark, name in parts if mark == ".")
    tag = "" if match[1] in (None, "*") else match[1].lower()
    if len(identities) > 1 or not (tag or parts):
        return None  # `*` styles everything and hides nothing
    order = (len(identities), len(classes), int(bool(tag)), place)
    return _Rule(tag, identities[0] if identities else "", classes, order, declared)
