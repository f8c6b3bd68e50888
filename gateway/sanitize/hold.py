"""Where a growing text may be cut: from which place on what follows could still change what is found.

A value is at most one word, or a chain of words that belong together: groups of digits, an address with its at and
dots spelt out, a private key between its marks. All other context that detectors look at stands to the left and may
have gone out already. Works on folded bytes.
"""

MAX_HELD = 8192
"""Characters that may wait; past that a value that is still open is masked as far as it goes."""

_MAX_CHAIN = 96
_SPACES = b" \t\n\r\x0b\x0c"
_DIGITS = frozenset(b"0123456789")
_LINKS = frozenset(
    opening + word[:length]
    for opening in (b"", b"[", b"(", b"{", b"<")
    for word in (b"at]", b"at)", b"at}", b"at>", b"at", b"dot]", b"dot)", b"dot}", b"dot>", b"dot", b"@]", b"@)", b"@")
    for length in range(len(word) + 1)
)
"""What stands between the parts of a spelt-out address, or may become it."""


def hold_from(text: bytes, least: int) -> int:
    """The first place, not before `least`, that must wait. `text` has all that is known so far."""
    start = max(_word_start(text, len(text)), least)
    begin, shorts, following = start, 0, text[start:].lower()
    while begin > least and start - begin <= _MAX_CHAIN:
        end = begin
        while end > least and text[end - 1] in b" \t" and begin - end < 3:
            end -= 1
        if end in (begin, least) or text[end - 1] in _SPACES:
            break
        previous = max(_word_start(text, end), least)
        word = text[previous:end].lower()
        shorts = shorts + 1 if _is_short(word) and word not in _LINKS else 0
        if shorts > 2 or not (shorts or _may_continue(word) or following in _LINKS):
            break
        begin, following = previous, word
    return _private_key_from(text, least, begin)


def _word_start(text: bytes, end: int) -> int:
    return max(text.rfind(b" ", 0, end), text.rfind(b"\n", 0, end), text.rfind(b"\t", 0, end), -1) + 1


def _is_short(word: bytes) -> bool:
    return 1 < len(word) <= 4 and word.isalpha()


def _may_continue(word: bytes) -> bool:
    return len(word) == 1 or word in _LINKS or not _DIGITS.isdisjoint(word) or not any(map(_is_letter, word))


def _is_letter(code: int) -> bool:
    return 0x61 <= code <= 0x7A or code == 0x02


def _private_key_from(text: bytes, least: int, begin: int) -> int:
    mark = text.rfind(b"-----BEGIN", least)
    if mark < 0:
        return begin
    closing = text.find(b"-----END", mark)
    if closing >= 0 and text.find(b"-----", closing + 8) >= 0:
        return begin
    return min(begin, mark)
