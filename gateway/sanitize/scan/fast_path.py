"""Fast checks for the small pieces of a stream: whether a text can hold any finding, in a few steps.

Naive forms: `is_trivially_clean(text)` implies `scanner.scan_uncached(text) == []`; a `plain_text_cut` that is not -1
implies the same, and equals `max(holdback_start(folded text), start)`. Both say "do not know" for everything else. They
look for the signs that the detectors need (digits, escapes, long words, names of secrets), and do not know what a
detector makes of them. Work on the folded text, as the detectors do. A new detector must add its signs here; the
property tests in `tests/unit/sanitize` hold both forms together.
"""

import re

import re2

from gateway.sanitize.detectors.name_patterns import NAMES
from gateway.sanitize.detectors.obfuscation import SPELT_LINKS
from gateway.sanitize.detectors.re2_search import searcher
from gateway.sanitize.text.folding import View, folded
from gateway.sanitize.text.holdback import ADDRESS_LINKS, holdback_start

_MAX_DIGITS = 5
"""The most digits that can be nothing: the shortest number of any detector has six (`digit_runs`)."""
_SUSPICIOUS = searcher(
    re2.compile(
        rb"@|dot|--|://|\bcv[vc]|card |\bsg\.|\\|%[0-9a-f]|=[0-9a-f]{2}|&[#a-z]|[\[({<]\s?at|[^\s]{16}"
        rb"|[0-9]\.[0-9]{1,3}\.[0-9]|:[0-9a-f]{0,4}:|[a-z\x02][0-9]|[0-9][a-z\x02]|[0-9]{5}"
        rb"|" + SPELT_LINKS
    )
)
"""In lower case: signs of addresses, escapes, keys, IP addresses, words spelt character by character, and of digits
that are part of a value."""
_NOT_DIGITS = bytes(code for code in range(256) if not 0x30 <= code <= 0x39)
_YEAR = re.compile(rb"(?:19|20)[0-9]{2}")
_FOUR_DIGITS = re.compile(rb"[0-9]{4}")
_ASSIGNMENT = re.compile(rb"[:=>\"'`]")
_ODD_WORD = re.compile(rb"[A-Za-z][^\sA-Za-z]{1,8}[A-Za-z]|[a-z][A-Z]|[^\s]{12}")
"""A word that may be a password without digits, which a name needs no sign to give it to: `password is Abc!Defgh`."""
_OPTION = re.compile(rb"\s-[A-Za-z]")
_UNUSUAL = (
    rb"[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Z][a-z]{11}|[A-Z][a-z]{0,11}[^\sA-Za-z]{1,8}[A-Za-z]|[a-z][^\sA-Za-z]{1,8}[A-Z]|"
    + _OPTION.pattern
)
_UNUSUAL_WORD = searcher(re2.compile(_UNUSUAL))
"""A word that mixes capitals and small letters as prose does not, or a command's option. A password without digits has
the one, or the other precedes it. No detector finds a password of small letters alone, or of capitals alone."""
_JOINT = rb"[ \t\r\n._*/|,+-]"
"""What may stand between the characters of a word spelt one by one, of which there are up to three between two."""
_NOT_PLAIN = (
    rb"(?i:dot|sg\.|cv[vc]|card[ \t\n])|[^ \t\n\r\x0b\x0c]{16}|"
    + _JOINT + rb"[A-Za-z0-9]" + _JOINT + rb"{1,3}[A-Za-z0-9]" + _JOINT
)  # fmt: skip
"""Signs of what is never plain words: a link of an address, a name of a card's security code (which has three digits),
the shortest key or encoded word that is found without a name (`secret_tokens`), two neighbours of a word that is spelt
character by character. Ordinary abbreviations (`i.e.`) look like the last, and get the full scan."""
_HAS_NOT_PLAIN = searcher(re2.compile(_NOT_PLAIN))
_HAS_UNUSUAL_OR_NOT_PLAIN = searcher(re2.compile(_NOT_PLAIN + b"|" + _UNUSUAL))
"""Both questions at once: for a short text a search costs as much as its call, whatever the pattern."""
_LONG_VALUE = re.compile(rb"[^\s]{12,64}")
"""A word that is long enough to be a certain value if it mixes letters (`value_forms.MIN_CERTAIN_CHARS`). Chosen: 64
bounds the match; the rest of a longer word is matched as the next word, at half or double as well."""
_LINE_FEED = 0x0A
_LINKS = frozenset(link.decode() for link in ADDRESS_LINKS)
_SECRET_NAME = searcher(re2.compile(NAMES))


def _class_of(code: int) -> int:
    """A byte's class for `plain_text_cut`: letter in lower case, `0` digit, blank, `'` quote, a harmless mark, or
    `&`."""
    char = bytes((code,))
    if char in b" \t\n":
        return 0x20
    if char.isdigit():
        return 0x30
    if char in b"\"'`":
        return 0x27
    return char.lower()[0] if char.isalpha() or char in b"\x02\x03.,;?!*_#|/+~^$)]}-(:%" else 0x26


_CLASSES = bytes(_class_of(code) for code in range(256))
_HARMLESS = bytes(
    0x61 if _CLASSES[code] in b"abcdefghijklmnopqrstuvwxyz\x02\x03 .,;?!*_)" else 0x20 for code in range(256)
)
"""Maps bytes that can never belong to a sensitive value to `a`, all others to a space: `isalpha()` then tests a
text."""
_SMALL_NUMBER = re.compile(r"(?<![^ ])[(*]*0{1,4}[.,;?!*()]*(?: |\Z)")


def is_trivially_clean(text: str) -> bool:
    """True only if no detector can find anything in the text; False says nothing."""
    folded_text = View(text).folded
    lower = folded_text.lower()
    if _SUSPICIOUS(lower, 0)[0] >= 0:
        return False
    digits = lower.translate(None, _NOT_DIGITS)
    if digits and (len(digits) > _MAX_DIGITS or any(not _YEAR.match(each) for each in _FOUR_DIGITS.findall(lower))):
        return False
    if _may_be_password(folded_text):
        return False
    if not digits and _ASSIGNMENT.search(lower) is None and _ODD_WORD.search(folded_text) is None:
        return True
    return _SECRET_NAME(folded_text, 0)[0] < 0


def plain_text_cut(text: str, start: int) -> int:
    """For plain words, in which nothing can be found: where the holdback begins, not before `start`. Else -1."""
    plain = text.encode() if text.isascii() else folded(text)
    has_unusual = _HAS_UNUSUAL_OR_NOT_PLAIN(plain, 0)[0] >= 0
    if has_unusual and (_HAS_NOT_PLAIN(plain, 0)[0] >= 0 or _may_be_value(plain)):
        return -1
    classes = plain.translate(_CLASSES).decode()
    if not plain.translate(_HARMLESS).isalpha():
        if not _are_signs_harmless(classes, plain):
            return -1
        has_unusual = has_unusual or "'" in classes or ":" in classes
    if has_unusual and _SECRET_NAME(plain, 0)[0] >= 0:
        return -1
    begin = -1 if _LINE_FEED in plain else _plain_holdback_start(classes, start)
    if begin < 0:
        return holdback_start(plain, start)
    return begin if begin > start else start


def _may_be_password(plain: bytes) -> bool:
    """Whether a word without digits may be a value: by its letters, or by a command or a name before it."""
    if plain.islower() and b"-" not in plain:
        return False  # most short texts: every alternative below has a capital or a hyphen
    if _UNUSUAL_WORD(plain, 0)[0] < 0:
        return False
    return _may_be_value(plain) or _SECRET_NAME(plain, 0)[0] >= 0


def _may_be_value(plain: bytes) -> bool:
    """Whether an unusual word may be a value without a name: it is long and mixes letters, or a command has options."""
    if any(not (word.islower() or word.isupper()) for word in _LONG_VALUE.findall(plain)):
        return True
    return _OPTION.search(plain) is not None


def _plain_holdback_start(classes: str, start: int) -> int:
    """`holdback_start` where only plain words precede: the last word and up to two short ones. -1 for any other
    case."""
    words = classes.rsplit(" ", 4)
    last = words.pop()
    if last in _LINKS:
        return -1
    begin, short_words = len(classes) - len(last), 0
    while begin > start:
        word = words.pop()
        size = len(word)
        if size < 2 or not words or word in _LINKS:
            return -1
        if not word.isalpha():
            return begin if word[:-1].isalpha() else -1
        if size > 4 or short_words == 2:
            return begin
        short_words, begin = short_words + 1, begin - size - 1
    return begin


def _are_signs_harmless(classes: str, plain: bytes) -> bool:
    """Whether the marks and digits of a text without long words cannot be part of a value, unless a name precedes."""
    if "&" in classes or "--" in classes or ("(" in classes and ("(at" in classes or "( at" in classes)):
        return False
    if "0" in classes and not _are_numbers_small(classes, plain):
        return False
    if "%" in classes and classes.count("%") > classes.count("% "):
        return False
    return ":" not in classes or (classes.count(":") == 1 and ":/" not in classes)


def _are_numbers_small(classes: str, plain: bytes) -> bool:
    """Whether all digits are words of their own of at most four: not even a name beside them makes a secret of them."""
    index, numbers = classes.find("0"), 0
    while index >= 0:
        number = _SMALL_NUMBER.match(classes, classes.rfind(" ", 0, index) + 1)
        if number is None:
            return False
        index, numbers = classes.find("0", number.end()), numbers + 1
    if numbers > 1 and classes.count("0") > _MAX_DIGITS:
        return False
    return "0000" not in classes or all(_YEAR.match(each) for each in _FOUR_DIGITS.findall(plain))
