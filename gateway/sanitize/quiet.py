"""Whether a short piece of a stream can hold anything at all: one pass instead of every detector's.

True only for what no detector can report: few digits that stand alone, no sign of an address, an escape, a long word or
a key, no name of a secret with something assigned to it. Works on the folded text, as the detectors do.
"""

import re

import re2

from gateway.sanitize.detectors.keyed import NAMES
from gateway.sanitize.folding import View

_MOST_DIGITS = 5
_SIGNS = re2.compile(
    rb"@|dot|--|://|\bsg\.|\\|%[0-9a-f]|=[0-9a-f]{2}|&[#a-z]|[\[({<]\s?at|[^\s]{16}"
    rb"|[0-9]\.[0-9]{1,3}\.[0-9]|:[0-9a-f]{0,4}:|[a-z\x02][0-9]|[0-9][a-z\x02]|[0-9]{5}"
)
_NOT_DIGITS = bytes(code for code in range(256) if not 0x30 <= code <= 0x39)
_YEAR = re.compile(rb"(?:19|20)[0-9]{2}")
_FOUR = re.compile(rb"[0-9]{4}")
_ASSIGNS = re.compile(rb"[:=>\"'`]")
_NAMES = re2.compile(NAMES)


def is_quiet(text: str) -> bool:
    folded = View(text).folded
    lower = folded.lower()
    if _SIGNS.search(lower) is not None:
        return False
    digits = lower.translate(None, _NOT_DIGITS)
    if digits and (len(digits) > _MOST_DIGITS or any(not _YEAR.match(each) for each in _FOUR.findall(lower))):
        return False
    if not digits and _ASSIGNS.search(lower) is None:
        return True
    return _NAMES.search(folded) is None
