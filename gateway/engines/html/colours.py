"""Colours of text and ground as far as they tell text that is not seen. Source: CSS Color 4. Pure."""

import re

from gateway.engines.html.css import Declarations

Colour = tuple[int, int, int]
TRANSPARENT = (-1, -1, -1)
"""The value of a colour without any opacity."""
_SAME = 8
"""Steps of 255 in each channel up to which text and ground are equal. Chosen: people do not see such a difference; at
double light grey on white counts, at half #fbfbfb on white passes."""
_HEX = re.compile(r"#([0-9a-f]{3,8})")
_FUNCTION = re.compile(r"(rgba?|hsla?)\(([^()]*)\)")
_NAMES = {
    "white": (255, 255, 255), "black": (0, 0, 0), "red": (255, 0, 0), "green": (0, 128, 0), "blue": (0, 0, 255),
    "yellow": (255, 255, 0), "gray": (128, 128, 128), "grey": (128, 128, 128), "silver": (192, 192, 192),
    "maroon": (128, 0, 0), "olive": (128, 128, 0), "lime": (0, 255, 0), "aqua": (0, 255, 255), "cyan": (0, 255, 255),
    "teal": (0, 128, 128), "navy": (0, 0, 128), "fuchsia": (255, 0, 255), "magenta": (255, 0, 255),
    "purple": (128, 0, 128), "orange": (255, 165, 0), "snow": (255, 250, 250), "ivory": (255, 255, 240),
    "whitesmoke": (245, 245, 245), "ghostwhite": (248, 248, 255), "floralwhite": (255, 250, 240),
    "lightgray": (211, 211, 211), "lightgrey": (211, 211, 211), "transparent": TRANSPARENT,
}  # fmt: skip


def colour(value: str | None) -> Colour | None:
    """A colour of CSS or of an HTML attribute; None for one that is not known (a variable, `inherit`)."""
    text = (value or "").strip().lower()
    if text in _NAMES:
        return _NAMES[text]
    if match := _HEX.fullmatch(text):
        return _hex(match[1])
    if match := _FUNCTION.fullmatch(text):
        parts = [part for part in re.split(r"[\s,/]+", match[2].strip()) if part]
        if len(parts) == 4 and re.fullmatch(r"0?\.?0*%?", parts[3]):
            return TRANSPARENT
        if match[1].startswith("rgb") and len(parts) >= 3:
            channels = [_channel(part) for part in parts[:3]]
            return None if None in channels else (channels[0] or 0, channels[1] or 0, channels[2] or 0)
        if len(parts) >= 3 and parts[2] in ("100%", "0%"):
            return _NAMES["white"] if parts[2] == "100%" else _NAMES["black"]
    return None


def _hex(digits: str) -> Colour | None:
    if len(digits) in (3, 4):
        digits = "".join(digit * 2 for digit in digits)
    if len(digits) not in (6, 8):
        return None
    if digits[6:] == "00":
        return TRANSPARENT
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)


def _channel(text: str) -> int | None:
    if not re.fullmatch(r"\d{1,3}(?:\.\d{1,9})?%?", text):
        return None
    return round(float(text.rstrip("%")) * (2.55 if text.endswith("%") else 1))


def text_colour(style: Declarations) -> Colour | None:
    """The stated colour of the text. Text that shows its ground through its letters counts as stated by nothing."""
    clip = f"{style.get('background-clip', '')} {style.get('-webkit-background-clip', '')}"
    if "text" in clip:
        return None
    return colour(style.get("-webkit-text-fill-color")) or colour(style.get("color"))


def ground(style: Declarations) -> tuple[bool, Colour | None]:
    """(whether the style states a ground, its colour). The colour is None for pictures and what is not known."""
    stated = style.get("background-color") or style.get("background")
    image = style.get("background-image", "none")
    if image != "none" or "url(" in (stated or "") or "gradient(" in (stated or ""):
        return True, None
    if stated is None:
        return False, None
    plain = next((found for word in _words(stated) if (found := colour(word)) is not None), None)
    return plain != TRANSPARENT and stated not in ("none", "inherit", "initial", "unset"), plain


def _words(value: str) -> list[str]:
    return re.findall(r"[a-z]+\([^()]*\)|[^\s()]+", value)


def same(text: Colour, under: Colour) -> bool:
    """True when people cannot tell the text from its ground."""
    return all(abs(one - other) <= _SAME for one, other in zip(text, under, strict=True))
