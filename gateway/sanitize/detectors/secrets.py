"""Keys in the forms their makers gave them, and private keys between their marks.

Only long words with a digit or a maker's dot are looked at closely: they are gathered into one buffer and searched at
once, so plain prose costs one pass over character classes.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator

import re2

from gateway.sanitize.detectors.vendors import VENDORS
from gateway.sanitize.findings import Finding
from gateway.sanitize.folding import View

LEAST = 16
_WORD_CHARS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/=.:|!~%$@&?#,")
_CLASS = bytes(0x74 if code in _WORD_CHARS else 0x20 for code in range(256))
_NUMBERED = bytes(0x64 if code in b"0123456789_" else 0x20 for code in range(256))
_WORDS = re2.compile(rb"t{%d,}" % LEAST)


def _open_ended(repeat: re.Match[str]) -> str:
    """A wide upper bound makes the automaton large and its compilation slow; the word's end bounds it as well."""
    least, most = int(repeat[1]), int(repeat[2])
    return f"{{{least},}}" if most - least >= 12 else repeat[0]


def _compiled() -> re2._Regexp:
    options = re2.Options()
    options.max_mem = 64 << 20
    forms = re.sub(r"\{(\d+),(\d+)\}", _open_ended, "|".join(f"(?:{form})" for _, form in VENDORS))
    return re2.compile(rf"(?:^|[^A-Za-z0-9])(?:{forms})(?:[^A-Za-z0-9]|$)".encode(), options)


_ISSUED = _compiled()
_KEY_BODY = re.compile(
    rb"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    rb"(?:[A-Za-z0-9+/=]{1,200}(?![A-Za-z0-9-])|[:,-]|\s|\\n|\\r)*"
)
_KEY_END = re.compile(rb"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_MAX_KEY = 16_384
_UNKNOWN = -2


def find_secrets(view: View) -> Iterator[Finding]:
    text = view.folded
    if b"-----BEGIN" in text:
        yield from _find_private_keys(text)
    numbered, dotted = text.translate(_NUMBERED), b"SG." in text
    words = [word.span() for word in _WORDS.finditer(text.translate(_CLASS))]
    words = [word for word in words if dotted or numbered.find(b"d", *word) >= 0]
    if words:
        yield from _find_issued(text, words)


def _find_issued(text: bytes, words: list[tuple[int, int]]) -> Iterator[Finding]:
    """Search all words at once; a match never spans two of them."""
    dense = b"\n".join(text[start:end] for start, end in words)
    places, place = [], 0
    for start, end in words:
        places.append(place)
        place += end - start + 1
    at = 0
    while match := _ISSUED.search(dense, at):
        start, end = match.span()
        start += not dense[start : start + 1].isalnum()
        end -= not dense[end - 1 : end].isalnum()
        while dense[end : end + 1] == b"=":
            end += 1
        index = bisect_right(places, start) - 1
        shift = words[index][0] - places[index]
        yield Finding(start + shift, end + shift, "SECRET")
        at = max(end, at + 1)


def _find_private_keys(text: bytes) -> Iterator[Finding]:
    """From BEGIN to END; without an END, as far as what follows reads like a key."""
    at, closing_at = text.find(b"-----BEGIN"), _UNKNOWN
    while at >= 0:
        body = _KEY_BODY.match(text, at, at + _MAX_KEY)
        end = at + 10
        if body is not None:
            if closing_at == _UNKNOWN or 0 <= closing_at < at:
                closing_at = text.find(b"-----END", at)
            closing = _KEY_END.match(text, closing_at) if at < closing_at < at + _MAX_KEY else None
            end = closing.end() if closing else body.end()
            while text[end - 1] in b" \t\r\n":
                end -= 1
            yield Finding(at, end, "SECRET")
        at = text.find(b"-----BEGIN", end)
