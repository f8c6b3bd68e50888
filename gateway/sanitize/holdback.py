"""Where the holdback of a growing text begins: the part in which later text could still change what is found.

A sensitive value is at most one word, or a chain of words: groups of digits, an address with its `at` and `dot` spelt
out, a private key between BEGIN and END, a key whose characters stand apart; or the quotation or element that a name of
secrets opens, with its blanks. All other context that detectors use is
to the left of the value. So the holdback begins at the last word, or at the chain that ends with it. Naive form: hold
the whole text back until it ends. Works on folded bytes. Used for streams (`stream_mask`) and for long texts
(`scanner`).
"""

import functools
import importlib
import re

from gateway.sanitize.re2_search import Search

MAX_HOLDBACK_CHARS = 8192
"""Longer than the PEM text of an 8192-bit RSA key (about 6.4 KB). A longer holdback is decided as it is, and an
unfinished value in it is masked as far as REST_OF_VALUE or REST_OF_KEY matches."""
REST_OF_VALUE = re.compile(r"[A-Za-z0-9_+/=.%~-]*")
"""What continues a value of one word that was too long to hold back."""
REST_OF_KEY = re.compile(r"[A-Za-z0-9+/=\s\\-]*")
"""What continues a private key that was too long to hold back."""

_MAX_CHAIN_CHARS = 96
"""How far a chain may reach to the left of the last word. The longest chains of groups (an IBAN of 33 characters in
groups of four is 41 long, a card spelt digit by digit 37, an address spelt out mostly below 80) fit."""
_MAX_GROUP_LETTERS = 4
"""The longest group of letters in a chain of groups: the bank code of an IBAN (`WEST` in `GB82 WEST …`)."""
_MAX_LETTER_GROUPS = 2
"""Neighbouring groups of two to four letters in one chain. No number has more; each one more would hold back
one more short word of ordinary prose."""
_MAX_BLANKS = 3
"""Blanks and tabs between two words of one chain: detectors allow at most two joints, and one is tolerance."""
_MAX_SPELT_CHARS = 480
"""How far a row of single characters with white space between them reaches to the left. A key of 160 characters with
two blanks or line ends between them fits."""
_MAX_PLAIN_WORD = 20
"""Longer words of small letters are held as well: a key that comes in pieces can begin with a few letters, not
with so many."""
_MIN_KEY_CHARS, _KEY_HEAD_CHARS = 8, 64
"""Letters and digits from which on a text with a digit counts as a long number or key, and where they must
stand."""
_PUNCTUATION = ".,;:!?\"'()[]{}<>*_`~\u2014\u2013\u2018\u2019\u201c\u201d\u2026"
_SPELT_BACKWARDS = re.compile(rb"[ \t\r\n]{0,3}+(?:[A-Za-z0-9@.+_-](?:[ \t\r\n]{1,3}+|\Z)|(?!))++")
_SPACES = b" \t\n\r\x0b\x0c"
_LINE_FEED = 0x0A
_LOWER_BLANKED = bytes(range(256)).lower().replace(b"\t", b" ").replace(b"\n", b" ")
"""Class translation: small letters for capitals, a blank for tab and line feed; so `rfind(b" ")` finds a word's
start."""
_DIGIT = re.compile(rb"[0-9]")
_LETTER = re.compile(rb"[a-z\x02]")
ADDRESS_LINKS = frozenset(
    opening + word[:length]
    for opening in (b"", b"[", b"(", b"{", b"<")
    for word in (b"at]", b"at)", b"at}", b"at>", b"at", b"dot]", b"dot)", b"dot}", b"dot>", b"dot", b"@]", b"@)", b"@")
    for length in range(len(word) + 1)
)
"""Words between the parts of an address that is spelt out (`at`, `[dot]`), and every beginning of them."""
_GLUED_LINK = re.compile(rb"[\[({<](?:at|dot|@)[\])}>]")
"""A link without white space beside it, as in `jane (at)example.org`."""


def holdback_start(text: bytes, least: int) -> int:
    """Index of the first byte to hold back, not before `least`; `text` is all that is known so far, folded."""
    lower = text.translate(_LOWER_BLANKED)
    start = lower.rfind(b" ") + 1
    begin, letter_groups, following = start, 0, lower[start:]
    while begin > least and start - begin <= _MAX_CHAIN_CHARS:
        end = begin - 1
        if text[end] == _LINE_FEED:
            break
        if text[end - 1] in _SPACES:
            end = _previous_word_end(text, begin)
        if end <= 0:
            break
        previous = lower.rfind(b" ", 0, end) + 1
        word = lower[previous:end]
        if end - previous > _MAX_GROUP_LETTERS and not _is_link(following) and word.isalpha():
            break
        if word in ADDRESS_LINKS or not word.isalpha() or len(word) > _MAX_GROUP_LETTERS:
            letter_groups = 0
            if not (_is_link(following) or _may_continue(word)):
                break
        elif len(word) > 1:
            letter_groups += 1
            if letter_groups > _MAX_LETTER_GROUPS:
                break
        else:
            letter_groups = 0
        begin, following = previous, word
    if text[-2:-1] in _SPACES or text[-1:] in _SPACES:
        begin = _spelt_start(text, begin)
    if text.find(b"-----BEGIN") >= 0:
        begin = _private_key_start(text, begin)
    begin = _quotation_start(text, begin, least)
    return begin if begin > least else least


def may_be_key(tail: str) -> bool:
    """Whether a held text may be the beginning of a long number or a key: these are worth a long wait."""
    head = tail[:_KEY_HEAD_CHARS]
    return any(map(str.isdigit, head)) and _value_chars(head.split()) >= _MIN_KEY_CHARS


def _value_chars(words: list[str]) -> int:
    return sum(character.isalnum() for word in words if not _is_plain(word) for character in word)


def _is_plain(word: str) -> bool:
    letters = word.strip(_PUNCTUATION)
    return not letters or (len(letters) <= _MAX_PLAIN_WORD and letters.isalpha() and letters[1:].lower() == letters[1:])


def _previous_word_end(text: bytes, begin: int) -> int:
    """Where the word before the one at `begin` ends; 0 when it is too far away to belong to the same chain."""
    end = begin
    while end > 0 and text[end - 1] in b" \t" and begin - end < _MAX_BLANKS:
        end -= 1
    return 0 if text[end - 1] in _SPACES else end


def _is_link(word: bytes) -> bool:
    return word in ADDRESS_LINKS or (word[:1] in b"[({<" and _GLUED_LINK.match(word) is not None)


def _may_continue(word: bytes) -> bool:
    """Whether the word before may be of the same value: a single character, a link, with a digit, or without
    letters."""
    if len(word) == 1 or word in ADDRESS_LINKS or _DIGIT.search(word) is not None or _LETTER.search(word) is None:
        return True
    return _GLUED_LINK.search(word) is not None


def _spelt_start(text: bytes, begin: int) -> int:
    """`begin`, or the start of the row of single characters, apart by white space, with which the text ends."""
    row = _SPELT_BACKWARDS.match(text[: -_MAX_SPELT_CHARS - 1 : -1])
    return begin if row is None else min(begin, len(text) - row.end())


@functools.cache
def find_name() -> Search:
    """The search for names of secrets, which is compiled with the detectors."""
    search: Search = importlib.import_module("gateway.sanitize.detectors.named_secrets").FIND_NAME
    return search


def _quotation_start(text: bytes, begin: int, least: int) -> int:
    """`begin`, or the start of the quotation or element with which the text ends, where a name of secrets opens it."""
    low = max(text.rfind(b"\n", 0, begin) + 1, least - _NAME_CHARS, len(text) - _MAX_QUOTED_CHARS)
    opened = _OPENED.search(text, low)
    if opened is None or opened.end(1) >= begin:
        return begin
    name, _ = find_name()(text, max(low, opened.start() - _NAME_CHARS))
    return opened.end(1) if 0 <= name < opened.start(1) else begin


_OPENED = re.compile(
    rb"((?:[:=]>?|\b(?:is|was))[ \t]{0,4}[@A-Za-z]{0,2}\\{0,7}([\"'`])|>)(?:(?(2)(?!\2)[^\n\\]|[^\n<>\\])|\\.|(?!))*+\Z"
)
_MAX_QUOTED_CHARS, _NAME_CHARS = 640, 80
"""The longest quotation that is one value (512 characters), with its name."""


def _private_key_start(text: bytes, begin: int) -> int:
    """`begin`, or the start of the last private key when its END line is not complete."""
    mark = text.rfind(b"-----BEGIN")
    closing = text.find(b"-----END", mark)
    if closing >= 0 and text.find(b"-----", closing + 8) >= 0:
        return begin
    return min(begin, mark)
