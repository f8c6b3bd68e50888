"""Colours of text and ground as far as they tell text that is not seen. Source: CSS Color 4. Pure."""

import colorsys
import functools
import itertools
import re
from collections.abc import Iterable

from gateway.engines.html import colour_spaces

Colour = tuple[int, int, int]
TRANSPARENT = (-1, -1, -1)
"""The value of a colour without any opacity."""
_SAME = 8
"""Steps of 255 in each channel up to which text and ground are equal. Chosen: people do not see such a difference; at
double light grey on white counts, at half #fbfbfb on white passes."""
_FAINT = 0.05
"""Opacity up to which a colour is not seen. Chosen: as for the opacity of an element."""
_REMEMBERED, _REMEMBERED_CHARS = 1_024, 64
"""Values that a process remembers, and the longest of them. Chosen: a page states some hundred, of up to 40 characters;
at half they push each other out, double only costs memory."""
_HEX = re.compile(r"#([0-9a-f]{3,8})")
_FUNCTION = re.compile(r"(rgba?|hsla?|hwb|(?:ok)?(?:lab|lch)|color)\(([^()]*)\)")
_PAIR = re.compile(
    r"(color-mix\(\s*+in [^,()]{1,60},|light-dark\()"
    r"((?:[^(),]|\([^()]{0,80}\)){1,120}),((?:[^(),]|\([^()]{0,80}\)){1,120})\)"
)
_MIX_SHARE = re.compile(r"(?:^|\s)(\d{1,3}(?:\.\d{0,4})?)%(?:\s|$)")
_OTHER = re.compile(
    r"(?:lab|lch|oklab|oklch|color|color-mix|light-dark|contrast-color|device-cmyk|rgba?|hsla?|hwb)\([^\n]{0,200}\)|currentcolor|"
    r"accentcolor(?:text)?|activetext|button(?:border|face|text)|canvas(?:text)?|field(?:text)?|graytext|"
    r"highlight(?:text)?|linktext|mark(?:text)?|selecteditem(?:text)?|visitedtext"
)
"""Colours whose channels are not computed here. Two are equal if their texts are."""
_TABLE = (
    "aliceblue f0f8ff antiquewhite faebd7 aqua 00ffff aquamarine 7fffd4 azure f0ffff beige f5f5dc bisque ffe4c4 "
    "black 000000 blanchedalmond ffebcd blue 0000ff blueviolet 8a2be2 brown a52a2a burlywood deb887 cadetblue "
    "5f9ea0 chartreuse 7fff00 chocolate d2691e coral ff7f50 cornflowerblue 6495ed cornsilk fff8dc crimson dc143c "
    "cyan 00ffff darkblue 00008b darkcyan 008b8b darkgoldenrod b8860b darkgray a9a9a9 darkgrey a9a9a9 darkgreen "
    "006400 darkkhaki bdb76b darkmagenta 8b008b darkolivegreen 556b2f darkorange ff8c00 darkorchid 9932cc darkred "
    "8b0000 darksalmon e9967a darkseagreen 8fbc8f darkslateblue 483d8b darkslategray 2f4f4f darkslategrey 2f4f4f "
    "darkturquoise 00ced1 darkviolet 9400d3 deeppink ff1493 deepskyblue 00bfff dimgray 696969 dimgrey 696969 "
    "dodgerblue 1e90ff firebrick b22222 floralwhite fffaf0 forestgreen 228b22 fuchsia ff00ff gainsboro dcdcdc "
    "ghostwhite f8f8ff gold ffd700 goldenrod daa520 gray 808080 grey 808080 green 008000 greenyellow adff2f "
    "honeydew f0fff0 hotpink ff69b4 indianred cd5c5c indigo 4b0082 ivory fffff0 khaki f0e68c lavender e6e6fa "
    "lavenderblush fff0f5 lawngreen 7cfc00 lemonchiffon fffacd lightblue add8e6 lightcoral f08080 lightcyan e0ffff "
    "lightgoldenrodyellow fafad2 lightgray d3d3d3 lightgrey d3d3d3 lightgreen 90ee90 lightpink ffb6c1 lightsalmon "
    "ffa07a lightseagreen 20b2aa lightskyblue 87cefa lightslategray 778899 lightslategrey 778899 lightsteelblue "
    "b0c4de lightyellow ffffe0 lime 00ff00 limegreen 32cd32 linen faf0e6 magenta ff00ff maroon 800000 "
    "mediumaquamarine 66cdaa mediumblue 0000cd mediumorchid ba55d3 mediumpurple 9370db mediumseagreen 3cb371 "
    "mediumslateblue 7b68ee mediumspringgreen 00fa9a mediumturquoise 48d1cc mediumvioletred c71585 midnightblue "
    "191970 mintcream f5fffa mistyrose ffe4e1 moccasin ffe4b5 navajowhite ffdead navy 000080 oldlace fdf5e6 olive "
    "808000 olivedrab 6b8e23 orange ffa500 orangered ff4500 orchid da70d6 palegoldenrod eee8aa palegreen 98fb98 "
    "paleturquoise afeeee palevioletred db7093 papayawhip ffefd5 peachpuff ffdab9 peru cd853f pink ffc0cb plum "
    "dda0dd powderblue b0e0e6 purple 800080 rebeccapurple 663399 red ff0000 rosybrown bc8f8f royalblue 4169e1 "
    "saddlebrown 8b4513 salmon fa8072 sandybrown f4a460 seagreen 2e8b57 seashell fff5ee sienna a0522d silver c0c0c0 "
    "skyblue 87ceeb slateblue 6a5acd slategray 708090 slategrey 708090 snow fffafa springgreen 00ff7f steelblue "
    "4682b4 tan d2b48c teal 008080 thistle d8bfd8 tomato ff6347 turquoise 40e0d0 violet ee82ee wheat f5deb3 white "
    "ffffff whitesmoke f5f5f5 yellow ffff00 yellowgreen 9acd32 "
)


def _channels(digits: str) -> Colour:
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)


_WORDS = iter(_TABLE.split())
_NAMES = {"transparent": TRANSPARENT, **{name: _channels(digits) for name, digits in zip(_WORDS, _WORDS, strict=True)}}


def colour(value: str | None) -> Colour | None:
    """A colour of CSS or of an HTML attribute; None for one that is not known (a variable, `inherit`)."""
    text = (value or "").strip().lower()
    if text in _NAMES:
        return _NAMES[text]
    return _known(text) if len(text) <= _REMEMBERED_CHARS else _read(text)


def _read(text: str) -> Colour | None:
    if match := _HEX.fullmatch(text):
        return _hex(match[1])
    if match := _FUNCTION.fullmatch(text):
        function, parts = match[1], [part for part in re.split(r"[\s,/]+", match[2].strip()) if part]
        if function == "color":
            parts = parts[1:]  # without the name of the space
        if len(parts) == 4 and _alpha(parts[3]) <= _FAINT:
            return TRANSPARENT
        if len(parts) >= 3:
            is_plain = function[0] in "rh"
            return _of_parts(function, parts[:3]) if is_plain else colour_spaces.channels(function, parts[:3])
    if match := _PAIR.fullmatch(text):
        return _mixed(match[2], match[3]) if match[1].startswith("color-mix") else colour(match[2])
    return None


def _mixed(one: str, other: str) -> Colour | None:
    """What `color-mix()` gives of two colours with shares, as if in sRGB."""
    shares = [_MIX_SHARE.search(each) for each in (one, other)]
    first, second = (float(share[1]) / 100 if share else None for share in shares)
    first = first if first is not None else 0.5 if second is None else 1 - second
    second = second if second is not None else 1 - first
    colours = [colour(_MIX_SHARE.sub(" ", each)) for each in (one, other)]
    if None in colours or first + second <= 0:
        return None
    weights = [weight for weight, each in zip((first, second), colours, strict=True) if each != TRANSPARENT]
    seen = [each for each in colours if each is not None and each != TRANSPARENT]
    if sum(weights) <= _FAINT:
        return TRANSPARENT
    red, green, blue = (
        round(sum(weight * each[channel] for weight, each in zip(weights, seen, strict=True)) / sum(weights))
        for channel in range(3)
    )
    return red, green, blue


_known = functools.lru_cache(maxsize=_REMEMBERED)(_read)


def is_colour(value: str) -> bool:
    """True for a colour of CSS whose channels are not known here."""
    return bool(_OTHER.fullmatch(value))


def _hex(digits: str) -> Colour | None:
    if len(digits) in (3, 4):
        digits = "".join(digit * 2 for digit in digits)
    if len(digits) not in (6, 8):
        return None
    if len(digits) == 8 and int(digits[6:], 16) <= 255 * _FAINT:
        return TRANSPARENT
    return _channels(digits)


def _alpha(text: str) -> float:
    value = _share(text, 1.0)
    return 1.0 if value is None else value


def _share(text: str, whole: float) -> float | None:
    """A number as a share of `whole`, or a percentage."""
    match = re.fullmatch(r"(\d{0,5}\.?\d{1,9})(deg)?(%)?", text)
    if match is None:
        return 0.0 if text == "none" else None
    return float(match[1]) / (100 if match[3] else whole)


def _of_parts(function: str, parts: list[str]) -> Colour | None:
    if function.startswith("rgb"):
        shares = [_share(part, 255) for part in parts]
    else:
        hue, second, third = _share(parts[0], 360), _share(parts[1], 100), _share(parts[2], 100)
        if hue is None or second is None or third is None:
            return None
        if function == "hwb":
            second, third = (share / max(second + third, 1.0) for share in (second, third))
            shares = [each * (1 - second - third) + second for each in colorsys.hls_to_rgb(hue % 1, 0.5, 1)]
        else:
            shares = list(colorsys.hls_to_rgb(hue % 1, min(third, 1.0), min(second, 1.0)))
    known = [round(255 * min(share, 1.0)) for share in shares if share is not None]
    return (known[0], known[1], known[2]) if len(known) == 3 else None


def text_colour(style: dict[str, str]) -> Colour | None:
    """The stated colour of the text. Text that shows its ground through its letters, or has a shadow of another colour,
    counts as stated by nothing."""
    if style.get("background-clip") == "text":
        return None
    found = colour(style.get("-webkit-text-fill-color")) or colour(style.get("color"))
    shadow = _first_known(style["text-shadow"][:_REMEMBERED_CHARS]) if found and "text-shadow" in style else None
    return None if found and shadow and not same(found, shadow) else found


def ground(style: dict[str, str]) -> tuple[bool, Colour | None]:
    """(whether the style states a ground, its colour). The colour is None for pictures and what is not known."""
    stated = style.get("background-color")
    image = style.get("background-image", "none")
    if image != "none":
        return True, None
    if stated is None:
        return False, None
    if stated == "currentcolor":
        return True, text_colour(style)
    plain = _first_known(stated) if len(stated) <= _REMEMBERED_CHARS else _first(stated)
    return plain != TRANSPARENT and stated not in ("none", "inherit", "initial", "unset"), plain


def _first(value: str) -> Colour | None:
    """The first colour that is known of a background."""
    words = re.findall(r"[a-z]+\([^()]*\)|[^\s()]+", value)
    return next((found for word in words if (found := colour(word)) is not None), None)


_first_known = functools.lru_cache(maxsize=_REMEMBERED)(_first)


def same(text: Colour, under: Colour) -> bool:
    """True when people cannot tell the text from its ground."""
    return all(abs(one - other) <= _SAME for one, other in zip(text, under, strict=True))


def rounded(value: Colour) -> Colour:
    """A colour in steps of `_SAME`: equal colours differ by one step in each channel at most."""
    return value[0] // _SAME, value[1] // _SAME, value[2] // _SAME


def near(stated: Iterable[Colour | None]) -> set[Colour]:
    """The rounded colours that may equal one of these."""
    known = {rounded(each) for each in stated if each is not None}
    steps = list(itertools.product((-1, 0, 1), repeat=3))
    return {(red + r, green + g, blue + b) for red, green, blue in known for r, g, b in steps}
