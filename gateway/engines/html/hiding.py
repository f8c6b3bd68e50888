"""Which declarations hide an element from people: a table of ways, each with what of the element is unseen.

Pure; knows CSS values, neither elements nor rules. Lengths are read as pixels, an em as 16 of them.
"""

import re
from typing import Any

from gateway.engines.html.css import Declarations

_LENGTH = re.compile(r"(-?(?:\d+\.?\d*|\.\d+))(px|em|rem|ex|ch|pt|pc|in|cm|mm|vw|vh|vmin|vmax|%)?")
_PIXELS = {
    None: 1.0, "px": 1.0, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "pt": 1.33, "pc": 16.0, "in": 96.0, "cm": 37.8,
    "mm": 3.78, "vw": 12.8, "vh": 8.0, "vmin": 8.0, "vmax": 12.8, "%": 10.0,
}  # fmt: skip
_AWAY_PX = 900.0
"""Distance from which a box is off the screen, and an indent off its box. Chosen: half a screen's width; half
of it moves drawings and badges inside a page, and double lets -1,000 pixels pass, which is usual."""
_TINY_PX = 1.0
"""Size of letters and sides of a box from which nothing is seen. The usual way to hide is 1 pixel; double
takes thin lines of text."""
_FAINT = 0.05
"""Opacity up to which a text is not seen. Chosen: at half .04 passes, at double faint watermarks are lost."""
_NOTHING_CLIPPED = re.compile(
    r"inset\(\s*(?:100|[5-9]\d)%.*|circle\(\s*0(?:px|%)?(?:\s.*)?\)|ellipse\(\s*0(?:px|%)?\s.*|"
    r"polygon\(\s*(?:0(?:px|%)?\s+0(?:px|%)?\s*(?:,\s*)?)+\)|rect\(\s*(?:0(?:px|%)?[\s,]*)+\)"
)
_RECT = re.compile(r"rect\(([^()]*)\)")
_SCALED_AWAY = re.compile(
    r"scale(?:3d|x|y)?\(\s*0?\.?0*\s*[,)]|matrix\(\s*0\s*,\s*0\s*,\s*0\s*,\s*0\s*,|scale\([^,()]*,\s*0\s*\)"
)
_MOVED = re.compile(r"translate(?:3d|x|y)?\(([^()]*)\)")
_SHORTHAND_SIZE = re.compile(r"(?:^|\s)((?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(?:px|pt|em|rem|%)?)\s*(?:/|\s)")
_FAINT_FILTER = re.compile(r"opacity\(\s*(?:0?\.0[0-5]?\d*|0)%?\s*\)")
_VISIBLE_SIZES = frozenset({"xx-small", "x-small", "small", "medium", "large", "x-large", "xx-large", "initial"})


def pixels(value: str | None) -> float | None:
    """A length in pixels; None for what is none (`auto`, `calc(…)`)."""
    match = _LENGTH.fullmatch(value) if value else None
    return float(match[1]) * _PIXELS[match[2]] if match else None


def hides_until_shown(style: Declarations) -> bool:
    """True when the element and all inside it are unseen in a way that a control of the page can undo."""
    opacity = style.get("opacity", "1").removesuffix("%")
    scale = 100.0 if "%" in style.get("opacity", "") else 1.0
    return (
        style.get("display") == "none"
        or style.get("content-visibility") == "hidden"
        or (_is_number(opacity) and float(opacity) / scale <= _FAINT)
        or bool(_FAINT_FILTER.search(style.get("filter", "")))
        or bool(_SCALED_AWAY.search(f"{style.get('transform', '')} {style.get('-webkit-transform', '')}"))
        or style.get("scale") == "0"
        or _is_closed_box(style)
    )


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"\d*\.?\d+", text))


def _is_closed_box(style: Declarations) -> bool:
    """A box without width or height that shows nothing of what overflows."""
    overflow = {style.get(name, "").partition(" ")[0] for name in ("overflow", "overflow-x", "overflow-y")}
    if overflow.isdisjoint({"hidden", "clip"}):
        return False
    sides = [pixels(style.get(name)) for name in ("width", "height", "max-width", "max-height")]
    return any(side is not None and side <= _TINY_PX for side in sides)


def hides_for_good(style: Declarations) -> bool:
    """True when the element and all inside it are outside what people see: off the screen, clipped, indented away."""
    position = style.get("position")
    if position in ("absolute", "fixed", "relative"):
        places = [pixels(style.get(name)) for name in ("left", "right", "top", "bottom")]
        if any(place is not None and place <= -_AWAY_PX for place in places):
            return True
        if any(place is not None and place >= 3 * _AWAY_PX for place in places[:2]):
            return True
    margins = (pixels(style.get("margin-left")), pixels(style.get("margin-top")))
    if any(margin is not None and margin <= -3 * _AWAY_PX for margin in margins):
        return True
    indent = pixels(style.get("text-indent"))
    if indent is not None and (indent <= -_AWAY_PX or indent >= 3 * _AWAY_PX):
        return True
    if position in ("absolute", "fixed") and _is_clipped(style.get("clip", "")):
        return True
    clip_path = style.get("clip-path") or style.get("-webkit-clip-path") or ""
    return bool(_NOTHING_CLIPPED.fullmatch(clip_path)) or _is_moved_away(style)


def _is_clipped(clip: str) -> bool:
    match = _RECT.fullmatch(clip)
    if match is None:
        return False
    sides = [pixels(side) for side in re.split(r"[\s,]+", match[1].strip())]
    if len(sides) != 4 or None in sides:
        return False
    top, right, bottom, left = (side or 0.0 for side in sides)
    return bottom - top <= _TINY_PX or right - left <= _TINY_PX


def _is_moved_away(style: Declarations) -> bool:
    moves = _MOVED.findall(f"{style.get('transform', '')} {style.get('-webkit-transform', '')}")
    distances = [pixels(part.strip()) for move in moves for part in move.split(",")]
    return any(distance is not None and abs(distance) > 1.1 * _AWAY_PX for distance in distances)


def letters_unseen(style: Declarations) -> bool | None:
    """Whether letters are too small to be seen; None when the style does not say. Inherited."""
    size = style.get("font-size")
    if size is None and "font" in style:
        match = _SHORTHAND_SIZE.search(style["font"] + " ")
        size = match[1] if match else None
    if size is None:
        return None
    if size in _VISIBLE_SIZES:
        return False
    length = pixels(size)
    if length is None:
        return None
    if size.endswith("%"):
        length = length * 0.016
    relative = size.endswith(("em", "%")) and not size.endswith("rem")
    return True if length <= _TINY_PX else None if relative else False


def text_invisible(style: Declarations) -> bool | None:
    """Whether `visibility` hides the text; None when the style does not say. Inherited."""
    value = style.get("visibility")
    return None if value is None or value == "inherit" else value in ("hidden", "collapse")


def hidden_by_attribute(element: Any) -> bool:
    """True for an element with an attribute that hides it, or a `popover` or `dialog` that is not open."""
    attributes = element.attrib
    if "hidden" in attributes:
        return bool(attributes["hidden"].strip().lower() != "until-found")
    if (attributes.get("aria-hidden") or "").strip().lower() == "true" or "inert" in attributes:
        return True
    return "popover" in attributes or (element.tag == "dialog" and "open" not in attributes)
