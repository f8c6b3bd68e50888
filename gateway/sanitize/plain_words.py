"""A glance at the small pieces of a stream, which are plain words mostly.

A `plain_text_cut` that is not -1 implies `Scanner.scan_uncached(text) == []`, and equals
`max(holdback_start(folded text), start)`; -1 says nothing. It looks for the signs that the detectors need (digits,
escapes, long words, names of secrets). A new detector must add its signs here; property tests hold both together.
"""

import re

import re2

from gateway.sanitize.folding import folded
from gateway.sanitize.holdback import ADDRESS_LINKS, find_name, holdback_start
from gateway.sanitize.re2_search import searcher

_MAX_DIGITS = 5
"""The most digits that can be nothing: the shortest number of any detector has six (`digit_runs`)."""
_YEAR = re.compile(rb"(?:19|20)[0-9]{2}")
_FOUR_DIGITS = re.compile(rb"[0-9]{4}")
_OPTION = re.compile(rb"\s-[A-Za-z]")
_UNUSUAL = (
    rb"[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Z][a-z]{11}|[A-Z][a-z]{0,11}[^\sA-Za-z]{1,8}[A-Za-z]|[a-z][^\sA-Za-z]{1,8}[A-Z]|"
    + _OPTION.pattern
)
_JOINT = rb"[ \t\r\n._*/|,+-]"
"""What may stand between the characters of a word spelt one by one, of which there are up to three between two."""
_NOT_PLAIN = (
    rb"(?i:dot|sg\.|cv[vc]|card[ \t\n])|[^ \t\n\r\x0b\x0c]{16}|"
    + _JOINT + rb"[A-Za-z0-9]" + _JOINT + rb"{1,3}[A-Za-z0-9]" + _JOINT
)  # fmt: skip
"""Signs of what is never plain words: a link of an address, a name of a card's security code (which has three digits),
the shortest key or encoded word that is found without a name (`vendor_tokens`), two neighbours of a word that is spelt
character by character. Ordinary abbreviations (`i.e.`) look like the last, and get the full scan."""
_HAS_NOT_PLAIN = searcher(re2.compile(_NOT_PLAIN))
_HAS_UNUSUAL_OR_NOT_PLAIN = searcher(re2.compile(_NOT_PLAIN + b"|" + _UNUSUAL))
"""Both questions at once: for a short text a search costs as much as its call, whatever the pattern."""
_LONG_VALUE = re.compile(rb"[^\s]{12,64}")
"""A word that is long enough to be a certain value if it mixes letters (`value_forms.MIN_CERTAIN_CHARS`). 64 bounds
the match; the rest of a longer word is matched as the next word."""
_LINE_FEED = 0x0A
_LINKS = frozenset(link.decode() for link in ADDRESS_LINKS)


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
    if has_unusual and find_name()(plain, 0)[0] >= 0:
        return -1
    begin = -1 if _LINE_FEED in plain else _plain_holdback_start(classes, start)
    if begin < 0:
        return holdback_start(plain, start)
    return begin if begin > start else start


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
    if last in _LINKS or len(last) == 1:
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
