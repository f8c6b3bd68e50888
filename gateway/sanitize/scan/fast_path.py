"""Whether a short piece of a stream can hold anything at all: one pass instead of every detector's.

True only for what no detector can report: few digits that stand alone, no sign of an address, an escape, a long word or
a key, no name of a secret with something assigned to it. Works on the folded text, as the detectors do.
"""

import re

import re2

from gateway.sanitize.detectors.named_secrets import NAMES
from gateway.sanitize.detectors.re2_search import searcher
from gateway.sanitize.text.folding import View, folded
from gateway.sanitize.text.holdback import LINKS, hold_from

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
_LINE_FEED = 0x0A
_LINKS = frozenset(link.decode() for link in LINKS)
_NAMES = searcher(re2.compile(NAMES))


def _shape(code: int) -> int:
    """What a byte is to `plain_cut`: a letter in lower case, a digit, a space, a quote, a mark of its own, or `&`."""
    char = bytes((code,))
    if char in b" \t\n":
        return 0x20
    if char.isdigit():
        return 0x30
    if char in b"\"'`":
        return 0x27
    return char.lower()[0] if char.isalpha() or char in b"\x02\x03.,;?!*_#|/+~^$)]}-(:%" else 0x26


_SHAPES = bytes(_shape(code) for code in range(256))
_PLAINEST = bytes(
    0x61 if _SHAPES[code] in b"abcdefghijklmnopqrstuvwxyz\x02\x03 .,;?!*_)" else 0x20 for code in range(256)
)
"""All that is part of nothing, whatever stands beside it, as one letter."""
_WORDS = bytes(0x20 if code in b" \t\n\r\x0b\x0c" else 0x61 for code in range(256))
_NUMBER = re.compile(r"[(*]*0{1,4}[.,;?!*()]*(?: |\Z)")


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
    """For plain words, in which nothing can be found: the first place, not before `start`, that must wait. Else -1.

    Says nothing that the detectors and `hold_from` do not, but in a few steps: asked for every piece of a stream.
    """
    plain = text.encode() if text.isascii() else folded(text)
    shapes = plain.translate(_SHAPES).decode()
    if "dot" in shapes or "sg." in shapes or plain.translate(_WORDS).find(_LONG_WORD) >= 0:
        return -1
    if not plain.translate(_PLAINEST).isalpha() and not _is_harmless(shapes, plain):
        return -1
    begin = -1 if _LINE_FEED in plain else _last_words_from(shapes, start)
    if begin < 0:
        return hold_from(plain, start)
    return begin if begin > start else start


def _last_words_from(shapes: str, start: int) -> int:
    """`hold_from` for words alone: the last one waits, and up to two short ones before it. -1 when there is more."""
    words = shapes.rsplit(" ", 4)
    last = words.pop()
    if last in _LINKS:
        return -1
    begin, shorts = len(shapes) - len(last), 0
    while begin > start:
        word = words.pop()
        size = len(word)
        if size < 2 or not words or word in _LINKS:
            return -1
        if not word.isalpha():
            return begin if word[:-1].isalpha() else -1
        if size > 4 or shorts == 2:
            return begin
        shorts, begin = shorts + 1, begin - size - 1
    return begin


def _is_harmless(shapes: str, plain: bytes) -> bool:
    """Whether the marks and digits of a text without long words can be part of nothing."""
    if "&" in shapes or "--" in shapes or ("(" in shapes and ("(at" in shapes or "( at" in shapes)):
        return False
    if "0" in shapes and not _are_few(shapes, plain):
        return False
    if "%" in shapes and shapes.count("%") > shapes.count("% "):
        return False
    if ":" not in shapes:
        return "'" not in shapes or _NAMES(plain, 0)[0] < 0
    return shapes.count(":") == 1 and ":/" not in shapes and _NAMES(plain, 0)[0] < 0


def _are_few(shapes: str, plain: bytes) -> bool:
    """Whether all digits are small numbers or years that stand alone: not even a name makes a secret of them."""
    place, numbers = shapes.find("0"), 0
    while place >= 0:
        number = _NUMBER.match(shapes, shapes.rfind(" ", 0, place) + 1)
        if number is None:
            return False
        place, numbers = shapes.find("0", number.end()), numbers + 1
    if numbers > 1 and shapes.count("0") > _MOST_DIGITS:
        return False
    return "0000" not in shapes or all(_YEAR.match(each) for each in _FOUR.findall(plain))
