"""How far the secret at a place reaches: a word, a quotation, a quotation with blanks, groups, or a word of any length.

`secret_values` judges one value; this module finds the value in the text and makes a finding of it.
"""

import re

from gateway.sanitize.detectors.secret_values import (
    MAX_VALUE_CHARS,
    RESOURCES,
    Naming,
    judge_secret,
    quote_before,
    value_at,
)
from gateway.sanitize.detectors.value_forms import has_dense_signs, is_public
from gateway.sanitize.text import Finding, WorkBudget

_WITH_BLANKS = {mark: re.compile(rb"[^\n" + mark + rb"]{32,160}(?=" + mark + rb")") for mark in (b'"', b"'", b"`")}
"""By quotation mark. Shorter keys with blanks in them are not told from sentences."""
_PHRASE_END = {mark: re.compile(rb"(?: [^\s" + mark + rb"]{1,40}){1,8}(?=" + mark + rb")") for mark in (b'"', b"'")}
"""By quotation mark: the further words of a password that has blanks."""
_GROUPS = re.compile(rb"[A-Z2-7]{4}(?:[ -][A-Z2-7]{4}){3,15}(?![A-Za-z0-9])")
"""A key in base32 as authenticator programs show it (RFC 4648; groups of four for reading)."""
_TEMPLATE = re.compile(rb"[$%][{(][A-Za-z]|%\(\w|\{\d{1,3},")
_MAX_LINE_CHARS = 512
"""Chosen: how much of a line belongs to a syntax. Longer headers and records hold more than one credential only in
lists of cookies, which have a bound of their own. At half long commands are cut; at double dense texts cost more."""
_REST = re.compile(rb"[A-Za-z0-9+/=_.%~-]{1,2048}")


def line_end(text: bytes, at: int, most: int = _MAX_LINE_CHARS) -> int:
    """Where the line with `at` ends, at most `most` characters on."""
    end = text.find(b"\n", at, at + most)
    return end if end >= 0 else min(len(text), at + most)


def line_start(text: bytes, at: int) -> int:
    """Where the line before `at` begins, at most _MAX_LINE_CHARS characters back."""
    low = max(0, at - _MAX_LINE_CHARS)
    return text.rfind(b"\n", low, at) + 1 or low


def secret_at(text: bytes, at: int, naming: Naming, budget: WorkBudget) -> Finding | None:
    """The secret that begins at `at`, for a name or syntax that owns it. Raises BudgetExceeded."""
    value = value_at(text, at, quote_before(text, at))
    if value is None:
        return special_secret(text, at, naming, budget)
    return judged(text, at, value, naming, budget)


def may_be_special(text: bytes, at: int, quote: bytes) -> bool:
    """Whether a quotation with blanks, or a key in groups, may begin at `at`."""
    return quote in _WITH_BLANKS or (text[at + 4 : at + 5] in (b" ", b"-") and text[at : at + 2].isupper())


def judged(text: bytes, at: int, value: bytes, naming: Naming, budget: WorkBudget) -> Finding | None:
    """`value` at `at` as a finding, with all of a longer word; None when it is no secret."""
    after = text[at + len(value) : at + len(value) + 1]
    if naming.quote in _WITH_BLANKS and after not in (naming.quote, b"\\"):
        special = special_secret(text, at, naming, budget)
        if special is not None:
            return special
    # a value behind a weak name is also tested for randomness, which costs more
    budget.spend(7 + len(value) // 5 if naming.strong else 12 + len(value) // 3)
    size, certain = judge_secret(value, after, naming)
    if not size:
        if naming.quote in _WITH_BLANKS and after == naming.quote and value.startswith(RESOURCES):
            return None  # all of the quotation names a resource
        return special_secret(text, at, naming, budget)
    end = at + size
    if size >= MAX_VALUE_CHARS:
        rest = _REST.match(text, end)
        end = rest.end() if rest else end
        budget.spend((end - at) // 16)
    elif after == b" " and naming.strong and naming.link == "assigned" and naming.quote in _PHRASE_END:
        phrase = _PHRASE_END[naming.quote].match(text, end)
        end = phrase.end() if phrase else end
    return Finding(at, end, "SECRET", certain)


def special_secret(text: bytes, at: int, naming: Naming, budget: WorkBudget) -> Finding | None:
    """A quoted key with blanks among its signs, or a key in groups; both only where the name owns the value."""
    if not naming.owns:
        return None
    quote = quote_before(text, at)
    if quote in _WITH_BLANKS:
        match = _WITH_BLANKS[quote].match(text, at)
        if match is not None:
            budget.spend(10 + len(match.group()) // 4)
            key = match.group()
            if has_dense_signs(key) and _TEMPLATE.search(key) is None and not is_public(key):
                return Finding(at, match.end(), "SECRET", naming.proves)
    groups = _GROUPS.match(text, at)
    if groups is None or groups.group().isalpha() or not naming.proves:
        return None
    return Finding(at, groups.end(), "SECRET")
