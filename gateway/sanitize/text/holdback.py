"""Where a growing text may be cut: from which place on what follows could still change what is found.

A value is at most one word, or a chain of words that belong together: groups of digits, an address with its at and
dots spelt out, a private key between its marks. All other context that detectors look at stands to the left and may
have gone out already. Works on folded bytes.
"""

import re

MAX_HELD = 8192
"""Characters that may wait; past that a value that is still open is masked as far as it goes."""
REST_OF_VALUE = re.compile(r"[A-Za-z0-9_+/=.%~-]*")
REST_OF_KEY = re.compile(r"[A-Za-z0-9+/=\s\\-]*")

_MAX_CHAIN = 96
_SPACES = b" \t\n\r\x0b\x0c"
_LINE_FEED = 0x0A
_FLAT = bytes(range(256)).lower().replace(b"\t", b" ").replace(b"\n", b" ")
_DIGIT = re.compile(rb"[0-9]")
_LETTER = re.compile(rb"[a-z\x02]")
LINKS = frozenset(
    opening + word[:length]
    for opening in (b"", b"[", b"(", b"{", b"<")
    for word in (b"at]", b"at)", b"at}", b"at>", b"at", b"dot]", b"dot)", b"dot}", b"dot>", b"dot", b"@]", b"@)", b"@")
    for length in range(len(word) + 1)
)
"""What stands between the parts of a spelt-out address, or may become it."""


def hold_from(text: bytes, least: int) -> int:
    """The first place, not before `least`, that must wait. `text` has all that is known so far."""
    flat = text.translate(_FLAT)
    start = flat.rfind(b" ") + 1
    begin, shorts, following = start, 0, flat[start:]
    while begin > least and start - begin <= _MAX_CHAIN:
        end = begin - 1
        if text[end] == _LINE_FEED:
            break
        if text[end - 1] in _SPACES:
            end = _end_before(text, begin)
        if end <= 0:
            break
        previous = flat.rfind(b" ", 0, end) + 1
        word = flat[previous:end]
        if end - previous > 4 and following not in LINKS and word.isalpha():
            break
        if word in LINKS or not word.isalpha() or len(word) > 4:
            shorts = 0
            if not (following in LINKS or _may_continue(word)):
                break
        elif len(word) > 1:
            shorts += 1
            if shorts > 2:
                break
        else:
            shorts = 0
        begin, following = previous, word
    if text.find(b"-----BEGIN") >= 0:
        begin = _private_key_from(text, begin)
    return begin if begin > least else least


def _end_before(text: bytes, begin: int) -> int:
    """Where the word before the one at `begin` ends; 0 when none belongs to it: more than some blanks stand between."""
    end = begin
    while end > 0 and text[end - 1] in b" \t" and begin - end < 3:
        end -= 1
    return 0 if text[end - 1] in _SPACES else end


def _may_continue(word: bytes) -> bool:
    return len(word) == 1 or word in LINKS or _DIGIT.search(word) is not None or _LETTER.search(word) is None


def _private_key_from(text: bytes, begin: int) -> int:
    mark = text.rfind(b"-----BEGIN")
    closing = text.find(b"-----END", mark)
    if closing >= 0 and text.find(b"-----", closing + 8) >= 0:
        return begin
    return min(begin, mark)
