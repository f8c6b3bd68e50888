"""Cuts a style sheet into rules: nested ones with their whole selector, those of at-rules that hold on a screen.

Of at-rules `@media`, `@supports`, `@container`, `@layer` and `@scope` are read, all others (`@keyframes`, `@font-face`)
are left out. Sheets elsewhere are not fetched. Source: CSS Syntax 3, Nesting 1, Cascading 5. Pure.
"""

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from gateway.engines.html import media_query
from gateway.engines.html.css import structure_only

MAX_CSS_CHARS = 1_000_000
"""Text of a page's `style` elements that is read. Chosen: frameworks put some 300,000 characters into a page. At half
those of two frameworks are cut; at double reading takes twice the 100 ms."""
MAX_SELECTOR_CHARS = 1_000
"""Longest list of selectors that is read; a rule with a longer one is left out. Chosen: nested rules of pages come to
300; at half long lists are lost, at double nested `&` make twice the text."""
UNLAYERED = (1 << 30,)
"""Rank of rules outside of layers: they win against every layer."""
_MAX_LAYERS_DEEP = 8
"""Nested layers that are distinguished. Chosen: pages have two; deeper ones count as the eighth."""
_STRUCTURE = re.compile(r"\\.|[{};]", re.DOTALL)
_AT_NAME = re.compile(r"@([a-z-]+)", re.IGNORECASE)
_NO_BLANK = re.compile(r"\S")
_COMMAS = re.compile(r"[(),\[\]]")
_FLAT_RULE = re.compile(r"(?<![^{};])([^{}\\;@]*+)\{([^{}\\]*+)\}")
"""A rule without escapes and nested rules, as nearly all are: read as a whole, in a fourth of the time by signs. It
begins behind a sign only: a search from every place would take the square of a long text without braces."""


class CssRule(NamedTuple):
    """`selectors`: a list, with strings as `"0"`, their place in the reader's `strings`. `layer`: the rank of its
    layer, of which the higher one wins."""

    selectors: str
    body: str
    layer: tuple[int, ...]
    place: int


@dataclass(slots=True)
class _Block:
    """An open block. `selectors` is None outside style rules; `holds`: its rules count."""

    selectors: str | None
    holds: bool
    layer: str
    place: int
    declarations: list[str] = field(default_factory=list)


def _begin(text: str, at: int) -> str:
    """The first character from a place on that is not blank, or ""."""
    found = _NO_BLANK.search(text, at)
    return found[0] if found else ""


class RuleReader:
    """Reads the sheets of one page in their order."""

    def __init__(self) -> None:
        self.strings: list[str] = []
        self._left = MAX_CSS_CHARS
        self._layers: dict[str, int] = {}
        self._on_screen: dict[str, bool] = {}  # sheets repeat a few conditions
        self._place = 0

    def read(self, css: str) -> Iterator[CssRule]:
        """The rules of one sheet that hold on a screen."""
        text = structure_only(css[: self._left].replace("<!--", "").replace("-->", ""), self.strings)
        self._left -= len(css[: self._left])
        blocks: list[_Block] = []
        at = after = 0  # where a piece starts, and from where its end is looked for
        begins = ""
        while True:
            in_style = bool(blocks) and blocks[-1].selectors is not None
            if at == after and not in_style:
                at = after = yield from self._flat(text, at, blocks)
            sign = _STRUCTURE.search(text, after)
            if sign is None:
                break
            after, mark = sign.end(), sign[0]
            begins = begins or _begin(text, at)
            if mark[0] == "\\":
                continue
            if (mark == ";" and not in_style and begins != "@") or (mark == "}" and not blocks):
                continue  # a sign that browsers take for a part of the next selector, which is not valid then
            piece = text[at : sign.start()]  # each character once, as the next one begins behind it
            at, begins = after, ""
            if mark == "{":
                blocks.append(self._open(piece.strip(), blocks))
            elif mark == "}":
                yield from self._close(blocks.pop(), piece)
            elif in_style:
                blocks[-1].declarations.append(piece)
            else:
                self._statement(piece.strip(), blocks)
        while blocks:  # the end of the sheet closes what is open
            yield from self._close(blocks.pop(), text[at:])
            at = len(text)

    def _flat(self, text: str, at: int, blocks: list[_Block]) -> Generator[CssRule, None, int]:
        """The rules without nested ones that follow one another from a place on, outside of other rules; returns where
        they end."""
        holds = not blocks or blocks[-1].holds
        layer = self._rank(blocks[-1].layer if blocks else "")
        while rule := _FLAT_RULE.match(text, at):
            at = rule.end()
            self._place += 1
            if holds:
                selectors, body = rule[1].strip(), rule[2]
                if selectors and len(selectors) <= MAX_SELECTOR_CHARS and body and not body.isspace():
                    yield CssRule(selectors, body, layer, self._place)
        return at

    def _rank(self, layer: str) -> tuple[int, ...]:
        """Places of a layer and those around it by first mention. A layer wins against those inside it."""
        if not layer:
            return UNLAYERED
        names = layer.split(".")
        return (*(self._layers[".".join(names[: end + 1])] for end in range(len(names))), *UNLAYERED)

    def _open(self, prelude: str, blocks: list[_Block]) -> _Block:
        self._place += 1
        around = blocks[-1] if blocks else _Block(None, True, "", 0)
        match = _AT_NAME.match(prelude)
        if match is None:
            own = _nested(around.selectors, prelude)
            return _Block(own, around.holds and bool(own), around.layer, self._place)
        name, condition = match[1].lower(), prelude[match.end() :].strip()
        selectors, layer, holds = around.selectors, around.layer, around.holds
        if name == "media":
            if condition not in self._on_screen:
                self._on_screen[condition] = media_query.on_screen(condition)
            holds = holds and self._on_screen[condition]
        elif name == "supports":
            holds = holds and media_query.is_supported(condition)
        elif name == "container":
            holds = holds and media_query.in_container(condition)
        elif name == "layer":
            layer = self._layer(layer, condition or f"?{self._place}")
        elif name == "scope":
            start, _, _ = condition.partition(")")
            scope = start[1:] if start.startswith("(") else ":root"
            return _Block(_nested(around.selectors, scope), holds, layer, self._place)
        else:
            holds = False
        return _Block(selectors, holds, layer, self._place)

    def _close(self, block: _Block, last: str) -> Iterator[CssRule]:
        if block.selectors and block.holds:
            body = ";".join((*block.declarations, last))
            if body.strip():
                yield CssRule(block.selectors, body, self._rank(block.layer), block.place)

    def _statement(self, text: str, blocks: list[_Block]) -> None:
        if text[:6].lower() == "@layer":
            for name in text[6:].split(","):
                self._layer(blocks[-1].layer if blocks else "", name.strip())

    def _layer(self, around: str, name: str) -> str:
        """The full name of a layer. It and those around it get their place at the first mention."""
        names = [*(around.split(".") if around else ()), *name.split(".")][:_MAX_LAYERS_DEEP]
        for end in range(len(names)):
            self._layers.setdefault(".".join(names[: end + 1]), len(self._layers))
        return ".".join(names)


def _nested(around: str | None, prelude: str) -> str:
    """The selectors of a rule inside another one; empty when they are too long."""
    if around is None:
        return prelude if len(prelude) <= MAX_SELECTOR_CHARS else ""
    if not around or len(prelude) > MAX_SELECTOR_CHARS:
        return ""
    parts = split_list(prelude)
    size = len(prelude) + (len(around) + 5) * (prelude.count("&") + len(parts))
    if size > MAX_SELECTOR_CHARS:
        return ""
    outer = f":is({around})"
    return ",".join(part.replace("&", outer) if "&" in part else f"{outer} {part.strip()}" for part in parts)


def split_list(selectors: str) -> list[str]:
    """The selectors between the commas outside brackets."""
    if "(" not in selectors and "[" not in selectors:
        return selectors.split(",")
    parts: list[str] = []
    depth = start = 0
    for sign in _COMMAS.finditer(selectors):
        if sign[0] in "([":
            depth += 1
        elif sign[0] in ")]":
            depth -= 1
        elif depth == 0:
            parts.append(selectors[start : sign.start()])
            start = sign.end()
    return [*parts, selectors[start:]]
