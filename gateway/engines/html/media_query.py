"""Whether the conditions of `@media`, `@supports` and `@container` hold on a desktop screen.

An unknown feature makes its query false, as in browsers. Source: Media Queries 5. Pure.
"""

import re
from collections.abc import Callable

from gateway.engines.html.css_values import SCREEN_PX, pixels

_MAX_DEPTH = 16
"""Brackets inside one another in a condition. Chosen: pages have three; deeper conditions do not hold."""
_TOKEN = re.compile(r"[()]|[^()\s]+|\s+")
_RATIO = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s*(?:/\s*(\d{1,6}))?")
_COMPARISON = re.compile(r"(<=?|>=?|=)")
_RESOLUTION = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)(dppx|x|dpi|dpcm)")
_DOTS = {"dppx": 1.0, "x": 1.0, "dpi": 96.0, "dpcm": 37.8}
_AMOUNTS = {
    "width": SCREEN_PX[0], "device-width": SCREEN_PX[0], "inline-size": SCREEN_PX[0], "height": SCREEN_PX[1],
    "device-height": SCREEN_PX[1], "block-size": SCREEN_PX[1], "aspect-ratio": SCREEN_PX[0] / SCREEN_PX[1],
    "device-aspect-ratio": SCREEN_PX[0] / SCREEN_PX[1], "resolution": 1.0, "color": 8.0, "monochrome": 0.0,
    "color-index": 0.0, "-webkit-device-pixel-ratio": 1.0,
}  # fmt: skip
_STATES = {
    "orientation": ("landscape",), "hover": ("hover",), "any-hover": ("hover",), "pointer": ("fine",),
    "any-pointer": ("fine",), "scripting": ("enabled",), "update": ("fast",), "grid": ("0",), "scan": ("progressive",),
    "display-mode": ("browser",), "color-gamut": ("srgb",), "dynamic-range": ("standard",), "forced-colors": ("none",),
    "inverted-colors": ("none",), "prefers-color-scheme": ("light",), "prefers-contrast": ("no-preference",),
    "prefers-reduced-motion": ("no-preference",), "prefers-reduced-transparency": ("no-preference",),
    "prefers-reduced-data": ("no-preference",), "overflow-block": ("scroll",), "overflow-inline": ("scroll",),
}  # fmt: skip
_OFF = frozenset({"none", "no-preference", "0"})


def on_screen(queries: str) -> bool:
    """Whether a list of media queries holds. An empty one does."""
    return not queries.strip() or any(_query(query.strip()) for query in queries.lower().split(","))


def is_supported(condition: str) -> bool:
    """Whether a condition of `@supports` holds: whatever pages ask for, browsers of today support, but for the
    properties of single browsers."""
    return bool(_Condition(condition.lower(), _is_property_known).value())


def in_container(condition: str) -> bool:
    """Whether a condition of `@container` holds in a box as wide as the screen. It may begin with a name."""
    start = condition.find("(")
    return start >= 0 and bool(_Condition(condition[start:].lower(), _is_feature).value())


def _query(query: str) -> bool:
    words = query.split(None, 2)
    negated = words[:1] == ["not"] and not query[3:].lstrip().startswith("(")
    if negated or words[:1] == ["only"]:
        words = query.split(None, 1)[1:]
        query = words[0] if words else ""
    kind, _, rest = query.partition(" ")
    if kind.isalpha() and kind not in ("not", "and", "or"):
        rest = rest.strip()
        if rest.startswith("and") and rest[3:4] in (" ", "("):
            found = _Condition(rest[3:], _is_feature).value()
        else:
            found = not rest
        holds = None if found is None else kind in ("all", "screen") and found
    else:
        holds = _Condition(query, _is_feature).value()
    return holds is not None and holds != negated


def _is_property_known(text: str) -> bool | None:
    name = text.partition(":")[0].strip()
    return not name.startswith(("-moz-", "-ms-", "-o-"))


def _is_feature(text: str) -> bool | None:
    """Whether one feature has the asked value; None for an unknown feature."""
    name, colon, value = (part.strip() for part in text.partition(":"))
    if not colon:
        return _in_range(name)
    if name in _STATES:
        return value in _STATES[name]
    own = _AMOUNTS.get(name.replace("min-", "", 1).replace("max-", "", 1))
    sought = _amount(value)
    if own is None or sought is None:
        return None
    return own >= sought if "min-" in name else own <= sought if "max-" in name else own == sought


def _in_range(text: str) -> bool | None:
    """Whether `width`, `width > 1px` or `1px < width <= 2px` holds."""
    parts = [part.strip() for part in _COMPARISON.split(text)]
    if len(parts) == 1:
        if text in _STATES:
            return _STATES[text][0] not in _OFF
        return bool(_AMOUNTS[text]) if text in _AMOUNTS else None
    if len(parts) > 5 or _AMOUNTS.keys().isdisjoint(parts):
        return None
    amounts = [_AMOUNTS[part] if part in _AMOUNTS else _amount(part) for part in parts[::2]]
    found = True
    for left, sign, right in zip(amounts, parts[1::2], amounts[1:], strict=False):
        if left is None or right is None:
            return None
        found = found and _compares(left, sign, right)
    return found


def _compares(own: float, sign: str, sought: float) -> bool:
    if own == sought:
        return "=" in sign
    return sign[0] == ("<" if own < sought else ">")


def _amount(text: str) -> float | None:
    if match := _RESOLUTION.fullmatch(text):
        return float(match[1]) / _DOTS[match[2]]
    if match := _RATIO.fullmatch(text):
        return float(match[1]) / (float(match[2] or 1) or 1.0)
    return pixels(text)


class _Condition:
    """`not`, `and`, `or` and brackets around features. `leaf` judges what is inside the innermost brackets."""

    def __init__(self, text: str, leaf: Callable[[str], bool | None]) -> None:
        self._tokens = [token for token in _TOKEN.findall(text) if not token.isspace()]
        self._leaf = leaf
        self._at = 0

    def value(self) -> bool | None:
        """None for a condition that is not understood."""
        found = self._any(0)
        return found if self._at == len(self._tokens) else None

    def _word(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _any(self, depth: int) -> bool | None:
        negated = self._word() == "not"
        self._at += negated
        found = self._one(depth)
        if negated:
            return None if found is None else not found
        while (word := self._word()) in ("and", "or"):
            self._at += 1
            negated = self._word() == "not"
            self._at += negated
            other = self._one(depth)
            other = None if other is None else other != negated
            is_known = found is not None and other is not None
            found = (found and other if word == "and" else found or other) if is_known else None
        return found

    def _one(self, depth: int) -> bool | None:
        function = self._word() if self._word().isidentifier() or "-" in self._word() else ""
        self._at += bool(function)
        if self._word() != "(" or depth > _MAX_DEPTH:
            self._at = len(self._tokens) + 1
            return None
        self._at += 1
        if not function and self._word() in ("(", "not"):
            found = self._any(depth + 1)
            closed = self._word() == ")"
            self._at = self._at + 1 if closed else len(self._tokens) + 1
            return found
        start, open_now = self._at, 1
        while open_now and self._at < len(self._tokens):
            open_now += {"(": 1, ")": -1}.get(self._tokens[self._at], 0)
            self._at += 1
        inside = " ".join(self._tokens[start : self._at - 1])
        return True if function else self._leaf(inside)
