"""Colours of `lab()`, `lch()`, `oklab()`, `oklch()` and `color()` in channels of sRGB. Source: CSS Color 4. Pure.

Wide gamuts are cut at sRGB, and `color()` is read as sRGB whatever space it names: what is white, or black, is so in
all of them.
"""

import math
import re

_NUMBER = re.compile(r"([+-]?(?:\d{1,5}(?:\.\d{0,9})?|\.\d{1,9})(?:e[+-]?\d)?)(%|deg|grad|rad|turn)?")
_TURNS = {"deg": 360.0, "grad": 400.0, "rad": 2 * math.pi, "turn": 1.0}
_WHOLE = {"lab": (100.0, 125.0), "lch": (100.0, 150.0), "oklab": (1.0, 0.4), "oklch": (1.0, 0.4)}
"""What 100 % is of lightness, and of the other two (of the first, where the second is an angle)."""
_WHITE = (0.96430, 1.0, 0.82510)
"""D50, the white of `lab()`."""


def channels(function: str, parts: list[str]) -> tuple[int, int, int] | None:
    """Red, green and blue of the three values of a function, without the name of its space; None for values that are no
    numbers."""
    if function == "color":
        shares = [_number(part, 1.0) for part in parts]
        known = [share for share in shares if share is not None]
        return _in_bytes(known) if len(known) == 3 else None
    light, chroma = _WHOLE[function]
    first, second = _number(parts[0], light), _number(parts[1], chroma)
    third = _turn(parts[2]) if function.endswith("lch") else _number(parts[2], chroma)
    if first is None or second is None or third is None:
        return None
    if function.endswith("lch"):
        angle = 2 * math.pi * third
        second, third = second * math.cos(angle), second * math.sin(angle)
    linear = _of_oklab(first, second, third) if function.startswith("ok") else _of_lab(first, second, third)
    return _in_bytes([_with_gamma(share) for share in linear])


def _number(text: str, whole: float) -> float | None:
    if text == "none":
        return 0.0
    match = _NUMBER.fullmatch(text)
    if match is None or match[2] not in (None, "%"):
        return None
    return float(match[1]) / 100 * whole if match[2] else float(match[1])


def _turn(text: str) -> float | None:
    """An angle in turns."""
    if text == "none":
        return 0.0
    match = _NUMBER.fullmatch(text)
    return None if match is None or match[2] == "%" else float(match[1]) / _TURNS[match[2] or "deg"]


def _of_oklab(light: float, a: float, b: float) -> tuple[float, float, float]:
    long = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (light - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )


def _of_lab(light: float, a: float, b: float) -> tuple[float, float, float]:
    middle = (light + 16) / 116
    roots = (middle + a / 500, middle, middle - b / 200)
    x, y, z = (
        white * (root**3 if root > 6 / 29 else (root - 4 / 29) * 108 / 841)
        for white, root in zip(_WHITE, roots, strict=True)
    )
    return (
        3.1341359 * x - 1.6172207 * y - 0.4906936 * z,
        -0.9787954 * x + 1.9162544 * y + 0.0334427 * z,
        0.0719628 * x - 0.2289905 * y + 1.4053860 * z,
    )


def _with_gamma(share: float) -> float:
    return 12.92 * share if share <= 0.0031308 else 1.055 * share ** (1 / 2.4) - 0.055


def _in_bytes(shares: list[float]) -> tuple[int, int, int]:
    red, green, blue = (round(255 * min(max(share, 0.0), 1.0)) for share in shares)
    return red, green, blue
