"""Finds payment cards in runs of digits: 12 to 19 digits, a valid Luhn check digit, and an issuer's range in use.

Source of the ranges: ISO/IEC 7812 issuer lists as published on Wikipedia ("Payment card number"), read 2026-11-21.
Accepted groups: fours, the American Express and Diners forms, equal groups of one to three digits; a run that is no
longer than the card may be grouped in any way. Numbers outside the ranges need a word for cards before them.
"""

import re
from itertools import pairwise

import re2

from gateway.sanitize.detectors.digit_runs import DigitRun, WordIndex
from gateway.sanitize.detectors.published_examples import CARDS
from gateway.sanitize.text.findings import Finding
from gateway.sanitize.text.work_budget import WorkBudget

_ISSUERS = re.compile(
    rb"4(?:\d{12}|\d{15}|\d{18})"  # Visa
    rb"|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"  # Mastercard
    rb"|3[47]\d{13}"  # American Express
    rb"|(?:30[0-5]|309|3[689]\d)\d{11}(?:\d{2})?"  # Diners Club
    rb"|35\d{14}(?:\d{3})?|(?:2131|1800)\d{11}"  # JCB: 3528 to 3589; the rest of 35 is unassigned and accepted
    rb"|(?:6011|64[4-9]\d|65\d\d)\d{12}(?:\d{3})?"  # Discover, RuPay
    rb"|62\d{14,17}|81\d{14}"  # UnionPay, RuPay
    rb"|(?:50\d\d|5[6-8]\d\d|6304|6390|67\d\d|0604)\d{8,15}"  # Maestro
    rb"|220[0-4]\d{12,15}"  # Mir
    rb"|9792\d{12}|60\d{14}|508[5-9]\d{12}"  # Troy, RuPay
)
_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")
CARD_WORDS = re2.compile(
    rb"card|\bcc\b|charge\b|pay with|visa\b|master|amex|maestro|credit|debit|\bpan\b|kart|carte|tarjeta|\bcv[vc]"
)
_SEPARATOR = rb"(?:[ /_()\t-]{1,2}|\.)"
_GROUPED = re.compile(
    rb"(?<!\d)(?:\d{12,19}|\d{4}S\d{4}S\d{4}S\d{4}(S\d{1,3})?|\d{4}S\d{6}S\d{4,5}|\d{4}S\d{4}S\d{5}|\d{6}S\d{13}"
    rb"|\d{8}[ -]\d{8}|(?:\dS){11,18}\d|(?:\d\dS){5,9}\d{1,2}|(?:\d{3}S){3,6}\d{1,3})(?!\d)".replace(b"S", _SEPARATOR)
)
_FOURS = re.compile(rb"(?<!\d)(?=(\d{4}S\d{4}S\d{4}S\d{4})(?!\d))".replace(b"S", _SEPARATOR))
_DATA_MARKS = frozenset(bytes([mark]) for mark in b":=\"'[-_,{/(")
"""A number of a rare length directly behind one of these is more often an id in data than a card."""
_GROUP = re.compile(rb"\d+")
_USUAL = re.compile(rb"\d{14,16}|\d{4}([ -])\d{4}\1\d{4}\1\d{2,4}|\d{4}([ -])\d{6}\2\d{4,5}")
"""How cards are written: without separators, in fours, or as American Express and Diners Club print them."""
_NAMED_PART = re.compile(rb"[A-Za-z]{2}[-_]\Z")
"""A number joined to a word is mostly the last part of a name: `fuzzer-5390364397928448`."""
_HEX_BEFORE = re.compile(rb"(?<![0-9A-Za-z])([0-9A-Fa-f]{2,8})[ \t\n]{1,2}\Z")
_HEX_BEHIND = re.compile(rb"[ \t\n]{1,2}([0-9A-Fa-f]{2,8})(?![0-9A-Za-z])")
_COLUMN_GAP = re.compile(rb"\t|  ")
_MIN_DUMP_CHARS = 14
"""The shortest row of groups that may be a part of a dump: fewer characters have no separators."""
_REACH_CHARS = 60
"""Chosen: how far before a number a word for cards counts, about one line of text. At half a label and a name between
are too far; at double unrelated numbers of the next lines count."""
MIN_DIGITS = 12
"""The digits of the shortest cards (Maestro; ISO/IEC 7812 allows up to 19)."""


def luhn(digits: bytes) -> bool:
    """Whether ASCII digits pass the Luhn check (ISO/IEC 7812-1 annex B)."""
    odd, even = digits[-1::-2], digits[-2::-2].translate(_DOUBLED)
    return (sum(odd) + sum(even) - 48 * len(digits)) % 10 == 0


def find_cards(run: DigitRun, words: WordIndex, budget: WorkBudget) -> list[Finding]:
    """Cards in one run of at least MIN_DIGITS digits. `words` is the index of CARD_WORDS. Raises BudgetExceeded."""
    size, dots = len(run.digits), run.raw.count(b".")
    one_shape = size <= 19 and (not dots or (dots > 1 and run.separator_count == 1))
    is_single = one_shape and run.is_bounded
    if is_single and _is_card(run.digits, run.start, run, words) and not _is_in_dump(run.text, run.start, run.end):
        return [_finding(run.text, run.start, run.end, words)]
    if (one_shape and size == MIN_DIGITS) or size == run.end - run.start or run.digits.count(run.digits[:1]) == size:
        return []
    budget.spend(4)
    findings: list[Finding] = []
    for match in _GROUPED.finditer(run.text, run.start, run.end):
        budget.spend(6)
        start, end = match.span()
        if not (is_single and end - start == run.end - run.start) and _is_card_at(run, start, end, words):
            findings.append(_finding(run.text, start, end, words))
        elif match.start(1) >= 0 and _is_card_at(run, start, match.start(1), words):
            # the last group is its security code
            findings.append(_finding(run.text, start, match.start(1), words))
    if size >= 20 and words.before(run.end, run.end - run.start + _REACH_CHARS):
        for match in _FOURS.finditer(run.text, run.start, run.end):
            start, end = match.span(1)
            if words.before(start, _REACH_CHARS) and _is_card(run.digits_between(start, end), start, run, words):
                findings.append(_finding(run.text, start, end, words))
    return findings


def _finding(text: bytes, start: int, end: int, words: WordIndex) -> Finding:
    """Certain where the digits are grouped as on cards, or a word for cards is before them; rare lengths need the
    word."""
    raw = text[start:end]
    digits = len(raw) - len(raw.translate(None, b"0123456789"))
    usual = digits in (14, 15, 16) and _USUAL.fullmatch(raw) is not None
    certain = (usual and not _NAMED_PART.search(text, max(0, start - 4), start)) or words.before(start, _REACH_CHARS)
    return Finding(start, end, "CREDIT_CARD", certain)


def _is_in_dump(text: bytes, start: int, end: int) -> bool:
    """Whether the groups count up, are columns of single digits, or a hexadecimal group is beside them: rows of bytes
    and code points."""
    if end - start < _MIN_DUMP_CHARS:
        return False
    groups = _GROUP.findall(text, start, end)
    steps = [int(second) - int(first) for first, second in pairwise(groups)] if len(groups) < 20 else []
    if len(groups[0]) == 1:  # some follow one another by chance
        is_counting = steps.count(1) * 2 > len(steps) or _COLUMN_GAP.search(text, start, end) is not None
    else:
        is_counting = steps.count(1) > 1
    if is_counting:
        return True
    before, after = _HEX_BEFORE.search(text, max(0, start - 12), start), _HEX_BEHIND.match(text, end)
    return any(
        each is not None and len(each[1]) == len(group) and each[1].isalnum() and not each[1].isdigit()
        for each, group in ((before, groups[0]), (after, groups[-1]))
    )


def _is_card_at(run: DigitRun, start: int, end: int, words: WordIndex) -> bool:
    """Whether the digits at [start, end), grouped like a card, are one and not part of a longer number."""
    digits = run.digits_between(start, end)
    if len(digits) < MIN_DIGITS or not luhn(digits):
        return False
    if run.text[start - 1 : start].isalnum() or run.text[end : end + 1].isalnum():
        return False
    if not (len(digits) == end - start or _is_whole_row(run, start, end)):
        return False
    return _is_card(digits, start, run, words) and not _is_in_dump(run.text, start, end)


def _is_whole_row(run: DigitRun, start: int, end: int) -> bool:
    """Whether no further group of the same size is beside the groups at [start, end): else they are part of a longer
    row."""
    text = run.text
    sizes = [len(group) for group in _GROUP.findall(text, start, end)]
    after = _GROUP.search(text, end, min(end + 8, run.end))
    before = text[max(run.start, start - 8) : start].rstrip(b" ./_()\t-")
    size_before = len(before) - len(before.rstrip(b"0123456789"))
    return size_before != sizes[0] and (after is None or after.end() - after.start() != sizes[-1])


def _is_card(digits: bytes, start: int, run: DigitRun, words: WordIndex) -> bool:
    """Whether these digits, which begin at `start` of the text, are those of a card."""
    if not MIN_DIGITS <= len(digits) <= 19 or not luhn(digits) or digits.count(digits[:1]) == len(digits):
        return False
    if digits in CARDS:
        return False
    text = run.text
    if start > 1 and text[start - 1] == 0x2E and text[start - 2 : start - 1].isdigit():
        return False  # the fraction of a decimal number
    is_diners = len(digits) == 14 and not text[start : start + 14].isdigit()  # in the groups of their cards
    rare = not is_diners and len(digits) not in (13, 15, 16) and text[start - 1 : start] in _DATA_MARKS
    if rare or _ISSUERS.fullmatch(digits) is None or (len(digits) == 13 and _ean_valid(digits)):
        # a tenth of all other numbers pass the Luhn check by chance, so a word is needed
        return digits[0] in b"23456" and words.before(start, _REACH_CHARS)
    return True


def _ean_valid(digits: bytes) -> bool:
    """Whether 13 digits pass the check of article numbers (EAN-13)."""
    return (sum(digits[0::2]) + 3 * sum(digits[1::2]) - 48 * (7 + 3 * 6)) % 10 == 0
