"""Whether a short piece of a stream can hold anything at all: one pass instead of every detector's.

True only for what no detector can report: few digits that stand alone, no sign of an address, an escape, a long word or
a key, no name of a secret with something assigned to it. Works on the folded text, as the detectors do.
"""

import re

import re2

from gateway.sanitize.detectors.keyed import NAMES
from gateway.sanitize.detectors.linear import searcher
from gateway.sanitize.folding import View, folded
from gateway.sanitize.hold import hold_from

_MOST_DIGITS = 5
_LONG_WORD = b"a" * 16
_SIGNS = searcher(
    re2.compile(
        rb"@|dot|--|://|\bsg\.|\\|%[0-9a-f]|=[0-9a-f]{2}|&[#a-z]|[\[({<]\s?at|[^\s]{16}"
        rb"|[0-9]\.[0-9]{1,3}\.[0-9]|:[0-9a-f]{0,4}:|[a-z\x02][0-9]|[0-9][a-z\x02]|[0-9]{5}"
    )
)
_NOT_DIGITS = bytes(code for code in range(256) if not 0x30 <= code <= 0x39)
_YEAR = re.compile(rb"(?:19|20)[0-9]{2}")
_FOUR = re.compile(rb"[0-9]{4}")
_ASSIGNS = re.compile(rb"[:=>\"'`]")
_NAMES = searcher(re2.compile(NAMES))


def _shape(code: int) -> int:
    """What a byte is to `plain_cut`: a letter in lower case, a digit, a space, a quote, a mark of its own, or `!`."""
    char = bytes((code,))
    if char in b" \t\n":
        return 0x20
    if char.isdigit():
        return 0x30
    if char in b"\"'`>":
        return 0x27
    return char.lower()[0] if char.isalpha() or char in b"\x02\x03.,;?*_#|/+~^$)]}-(:%" else 0x21


_SHAPES = bytes(_shape(code) for code in range(256))
_WORDS = bytes(0x20 if code in b" \t\n\r\x0b\x0c" else 0x61 for code in range(256))
_NUMBER = re.compile(r"[ (*]?0+[.,;?*()]*(?: |\Z)")


def is_quiet(text: str) -> bool:
    folded_text = View(text).folded
    lower = folded_text.lower()
    if _SIGNS(lower, 0)[0] >= 0:
        return False
    digits = lower.translate(None, _NOT_DIGITS)
    if digits and (len(digits) > _MOST_DIGITS or any(not _YEAR.match(each) for each in _FOUR.findall(lower))):
        return False
    if not digits and _ASSIGNS.search(lower) is None:
        return True
    return _NAMES(folded_text, 0)[0] < 0


def plain_cut(text: str, start: int) -> int:
    """For a text of plain words, which is quiet: the first place, not before `start`, that must wait. Else -1.

    Says nothing that `is_quiet` and `hold_from` do not, but in a few steps: it is asked for every piece of a stream.
    """
    plain = text.encode() if text.isascii() else folded(text)
    shapes = plain.translate(_SHAPES).decode()
    if "!" in shapes or "dot" in shapes or "--" in shapes or "sg." in shapes:
        return -1
    if plain.translate(_WORDS).find(_LONG_WORD) >= 0:
        return -1
    if "(" in shapes and ("(at" in shapes or "( at" in shapes):
        return -1
    if "%" in shapes and shapes.count("%") > shapes.count("% "):
        return -1
    has_digits, has_colons = "0" in shapes, ":" in shapes
    if has_digits and not _are_few(shapes, plain):
        return -1
    if has_colons and (shapes.count(":") > 1 or ":/" in shapes):
        return -1
    if (has_digits or has_colons or "'" in shapes) and _NAMES(plain, 0)[0] >= 0:
        return -1
    return hold_from(plain, start)


def _are_few(shapes: str, plain: bytes) -> bool:
    """Whether all digits are small numbers or years that stand alone."""
    if shapes.count("0") > _MOST_DIGITS or "00000" in shapes:
        return False
    if "0000" in shapes and any(not _YEAR.match(each) for each in _FOUR.findall(plain)):
        return False
    place = shapes.find("0")
    while place >= 0:
        number = _NUMBER.match(shapes, place - 1 if place else 0)
        if number is None:
            return False
        place = shapes.find("0", number.end())
    return True
