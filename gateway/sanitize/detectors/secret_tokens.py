"""Keys in the forms their makers gave them, and private keys between their marks.

A form is only tried where its fixed beginning stands, or, where it has none, around a mark from its middle; each place
costs one small match over a bounded slice. One automaton for all forms would be shorter, but it has more states than
memory for text made to visit them.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

import re2

from gateway.sanitize.detectors.literal_prefixes import alternatives, heads
from gateway.sanitize.detectors.re2_search import Pattern, searcher, spans
from gateway.sanitize.detectors.vendor_tokens import MARKS, VENDORS
from gateway.sanitize.text.findings import Finding
from gateway.sanitize.text.folding import View
from gateway.sanitize.text.work_budget import WorkBudget

LEAST = 16
_WORD_CHARS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/=.:|!~%$@&?#,")
_CLASS = bytes(0x74 if code in _WORD_CHARS else 0x20 for code in range(256))
_NUMBERED = re.compile(rb"[0-9_]")
_LEAST_HEAD = 2
_LONGEST = 4096
_BEFORE_MARK, _BEHIND_MARK = 128, 384


def _open_ended(repeat: re.Match[str]) -> str:
    """The upper bound of a form's end says little: makers lengthen their keys, and the word's end bounds it as well."""
    least, most = int(repeat[1]), int(repeat[2])
    return f"{{{least},}}" if most - least >= 12 else repeat[0]


_FORMS = tuple(
    (name, re.sub(r"\{(\d+),(\d+)\}(?=$|\)|=\{)", _open_ended, form))
    for name, forms in VENDORS
    for form in alternatives(forms)
)
_HEADED = tuple((head, form) for _, form in _FORMS if min(map(len, heads(form))) >= _LEAST_HEAD for head in heads(form))
_HEAD = re2.compile(
    (
        "(?:^|[^A-Za-z0-9])(?:" + "|".join(re.escape(head) for head in sorted({head for head, _ in _HEADED})) + ")"
    ).encode()
)
_FIND_HEAD = searcher(_HEAD)
_AFLOAT = tuple(
    (re.compile(MARKS[name].encode()), form) for name, form in _FORMS if min(map(len, heads(form))) < _LEAST_HEAD
)
_MARK = re2.compile("|".join(sorted(set(MARKS.values()))).encode())
_FIND_MARK = searcher(_MARK)
_KEY_BODY = re.compile(
    rb"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    rb"(?:[A-Za-z0-9+/=]{1,200}(?![A-Za-z0-9-])|[:,-]|\s|\\n|\\r)*"
)
_KEY_END = re.compile(rb"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_MAX_KEY = 16_384
_UNKNOWN = -2


def find_secrets(view: View, budget: WorkBudget) -> Iterator[Finding]:
    text = view.folded
    if b"-----BEGIN" in text:
        yield from _find_private_keys(text, budget)
    found = [*_find_headed(text, budget), *_find_afloat(text, budget)]
    for start, end in found:
        while text[end : end + 1] == b"=":
            end += 1
        if _in_long_numbered_word(text, start, end):
            yield Finding(start, end, "SECRET")


def _find_headed(text: bytes, budget: WorkBudget) -> Iterator[tuple[int, int]]:
    """Forms with a fixed beginning."""
    at = 0
    while True:
        start, end = _FIND_HEAD(text, at)
        if start < 0:
            return
        if not text[start : start + 1].isalnum():
            start += 1
        at = end - 1  # the last character may be the next beginning's neighbour
        budget.spend(15)
        found = _forms_of(text[start:end]).match(text, start, start + _LONGEST)
        if found is not None:
            yield found.span()
            at = max(at, found.end() - 1)


@lru_cache(1024)
def _forms_of(head: bytes) -> re.Pattern[bytes]:
    """Every form that may stand where `head` does."""
    name = head.decode()
    forms = {form: None for each, form in _HEADED if each.startswith(name) or name.startswith(each)}
    return _compiled("|".join(forms))


@lru_cache(64)
def _compiled(form: str) -> re.Pattern[bytes]:
    return re.compile(f"(?<![A-Za-z0-9])(?:{form})(?![A-Za-z0-9])".encode())


@lru_cache(64)
def _linear(form: str) -> Pattern:
    return re2.compile(f"(?:^|[^A-Za-z0-9])({form})(?:[^A-Za-z0-9]|$)".encode())


def _find_afloat(text: bytes, budget: WorkBudget) -> Iterator[tuple[int, int]]:
    """Forms that begin with anything and have their mark further on."""
    behind = 0
    for place, _ in spans(_FIND_MARK, text):
        if place < behind:
            continue
        low = max(0, place - _BEFORE_MARK, behind)
        budget.spend(16)
        for known, form in _AFLOAT:
            if known.match(text, place) is None:
                continue
            budget.spend(8)
            found = _linear(form).search(text, low, place + _BEHIND_MARK)
            if found is not None and found.end(1) > place:
                yield found.span(1)
                behind = found.end(1)
                break


def _in_long_numbered_word(text: bytes, start: int, end: int) -> bool:
    """Plain words have neither digits nor `_`, and short ones are no keys, whatever they begin with."""
    low, high = max(0, start - 64), end + 64
    classes = text[low:high].translate(_CLASS)
    first = classes.rfind(b" ", 0, start - low) + 1 + low
    last = classes.find(b" ", end - low)
    last = high if last < 0 else last + low
    return last - first >= LEAST and (_NUMBERED.search(text, first, last) is not None or text.startswith(b"SG.", start))


def _find_private_keys(text: bytes, budget: WorkBudget) -> Iterator[Finding]:
    """From BEGIN to END; without an END, as far as what follows reads like a key."""
    at, closing_at = text.find(b"-----BEGIN"), _UNKNOWN
    while at >= 0:
        body = _KEY_BODY.match(text, at, at + _MAX_KEY)
        budget.spend(16)
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
