"""Which declarations hide an element from people: a table of ways, each with what of the element is unseen.

Pure; knows CSS values, neither elements nor rules.
"""

import re
from typing import Any

from gateway.engines.html.css import Declarations
from gateway.engines.html.css_values import number, pixels

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
_TURNED_AWAY = re.compile(
    r"(?:rotate[xy]|rotate3d)\([^()]{0,60}?\b(?:90|270)deg|rotate[xy]\(\s*-?(?:0?\.[27]5turn|[13]00grad)"
)
_FAINT_FILTER = re.compile(r"opacity\(\s*(?:0?\.0[0-5]?\d*|0)%?\s*\)")
_NOT_DISPLAYED = frozenset({"none", "revert", "revert-layer"})
_VISIBLE_SIZES = frozenset({"xx-small", "x-small", "small", "medium", "large", "x-large", "xx-large", "initial"})


_UNTIL_SHOWN = frozenset(
    {
        "display", "content-visibility", "opacity", "zoom", "transform", "rotate", "-webkit-text-security", "filter",
        "scale", "overflow", "overflow-x", "overflow-y",
    }
)  # fmt: skip
_FOR_GOOD = frozenset(
    {
        "left", "right", "top", "bottom", "margin-left", "margin-top", "text-indent", "clip", "clip-path", "transform",
        "translate",
    }
)  # fmt: skip
"""What the two questions below ask for: a style without any of it needs no look at values."""
_MOVING = frozenset({"transform", "translate", "rotate", "scale", "filter"})
PROPERTIES = (
    _UNTIL_SHOWN | _FOR_GOOD | {"width", "height", "max-width", "max-height", "line-height", "font-size", "visibility"}
)
"""All that the questions of this module ask for, but for `position`."""


def hides_until_shown(style: Declarations) -> bool:
    """True when the element and all inside it are unseen in a way that a control of the page can undo."""
    if _UNTIL_SHOWN.isdisjoint(style):
        return False
    return (
        style.get("display") == "none"
        or style.get("content-visibility") == "hidden"
        or ("opacity" in style and _is_at_most(number(style["opacity"]), _FAINT))
        or ("zoom" in style and 0 < (number(style["zoom"]) or 0) <= _TINY_PX / 16)
        or style.get("-webkit-text-security", "none") != "none"
        or ("filter" in style and bool(_FAINT_FILTER.search(style["filter"])))
        or (("transform" in style or "rotate" in style) and _is_turned_away(style))
        or ("scale" in style and number((style["scale"].split() or ["1"])[0]) == 0)
        or _is_closed_box(style)
    )


def awaits_script(style: Declarations) -> bool:
    """True for the first frame of an animation that a script runs: a box that is displayed, transparent, and moved,
    turned, scaled or blurred. Frameworks that draw on the server write it into each box."""
    if "opacity" not in style or _MOVING.isdisjoint(style) or not _is_at_most(number(style["opacity"]), _FAINT):
        return False
    return style.get("display") != "none" and not hides_for_good(style)


def _is_at_most(value: float | None, bound: float) -> bool:
    return value is not None and value <= bound


def _is_turned_away(style: Declarations) -> bool:
    moved = f"{style.get('transform', '')} {style.get('rotate', '')}"
    return bool(_SCALED_AWAY.search(moved) or _TURNED_AWAY.search(moved))


def _is_closed_box(style: Declarations) -> bool:
    """A box without width or height that shows nothing of what overflows."""
    overflow = {style[name].partition(" ")[0] for name in ("overflow", "overflow-x", "overflow-y") if name in style}
    if overflow.isdisjoint({"hidden", "clip"}):
        return False
    sides = [pixels(style.get(name)) for name in ("width", "height", "max-width", "max-height", "line-height")]
    if sides[4] is not None and style["line-height"].replace(".", "").isdigit():
        sides[4] *= 16  # a number is a multiple of the letters' size
    return any(side is not None and side <= _TINY_PX for side in sides)


def hides_for_good(style: Declarations) -> bool:
    """True when the element and all inside it are outside what people see: off the screen, clipped, indented away."""
    if _FOR_GOOD.isdisjoint(style):
        return False
    position = style.get("position")
    if position in ("absolute", "fixed", "relative", "sticky"):
        places = [pixels(style.get(name)) for name in ("left", "right", "top", "bottom")]
        if any(place is not None and place <= -_AWAY_PX for place in places):
            return True
        if any(place is not None and place >= 3 * _AWAY_PX for place in places[:2]):
            return True
    if any(_is_at_most(pixels(style.get(name)), -3 * _AWAY_PX) for name in ("margin-left", "margin-top")):
        return True
    if "text-indent" in style:
        indent = pixels(style["text-indent"])
        if indent is not None and (indent <= -_AWAY_PX or indent >= 3 * _AWAY_PX):
            return True
        if _is_indented_out(style):
            return True
    if "clip" in style and position in ("absolute", "fixed") and _is_clipped(style["clip"]):
        return True
    if "clip-path" in style and _shows_nothing(style["clip-path"]):
        return True
    return ("transform" in style or "translate" in style) and _is_moved_away(style)


def _is_indented_out(style: Declarations) -> bool:
    """A line that begins where its box ends, and shows nothing beyond it."""
    indent = style.get("text-indent", "")
    cuts = {style.get(name, "").partition(" ")[0] for name in ("overflow", "overflow-x")} & {"hidden", "clip"}
    return bool(cuts) and indent.endswith("%") and (number(indent) or 0) >= 1


def _shows_nothing(clip_path: str) -> bool:
    """True for a shape without area."""
    if _NOTHING_CLIPPED.fullmatch(clip_path):
        return True
    name, _, inside = clip_path.partition("(")
    parts = inside.rstrip(")").split(" round ")[0].split()
    if name == "inset" and 0 < len(parts) <= 4:
        top, right, bottom, left = [*parts, *parts[1:2], *parts][:4] if len(parts) == 3 else (parts * 4)[:4]
        shares = [number(side) if side.endswith("%") else 0.0 for side in (top, bottom, left, right)]
        return any((one or 0) + (other or 0) >= 1 for one, other in (shares[:2], shares[2:]))
    if name in ("circle", "ellipse"):
        radius = pixels(parts[0]) if parts else None
        return radius is not None and radius <= _TINY_PX
    if name == "xywh":
        return any(side is not None and side <= _TINY_PX for side in map(pixels, parts[2:4]))
    return name == "polygon" and _is_line(inside.rstrip(")"))


def _is_line(points: str) -> bool:
    """True for points that all stand above or all beside one another."""
    places = [point.split() for point in points.split(",")]
    known = [(pixels(place[0]), pixels(place[1])) for place in places if len(place) == 2]
    return len(known) == len(places) and (len({x for x, _ in known}) == 1 or len({y for _, y in known}) == 1)


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
    moves = _MOVED.findall(style.get("transform", ""))
    distances = [pixels(part.strip()) for move in moves for part in move.split(",")]
    distances += [pixels(part) for part in style.get("translate", "").split()]
    return any(distance is not None and abs(distance) > 1.1 * _AWAY_PX for distance in distances)


def letters_unseen(style: Declarations) -> bool | None:
    """Whether letters are too small to be seen; None when the style does not say. Inherited."""
    size = style.get("font-size")
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
    value = element.get
    if (hidden := value("hidden")) is not None:
        return bool(hidden.strip().lower() != "until-found")
    if (value("aria-hidden") or "").strip().lower() == "true" or value("inert") is not None:
        return True
    return value("popover") is not None or (element.tag == "dialog" and value("open") is None)


def shown_by_display(element: Any, style: Declarations) -> bool:
    """Whether the page's style shows an element that an attribute hides: `hidden`, `popover` and `dialog` hide by
    `display: none` of the browser's own sheet, over which a `display` of the page wins."""
    display = style.get("display")
    if display is None or display in _NOT_DISPLAYED:
        return False
    return element.attrib.get("aria-hidden") is None and "inert" not in element.attrib
