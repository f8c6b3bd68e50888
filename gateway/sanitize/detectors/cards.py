"""Finds payment cards in runs of digits: 12 to 19 digits, a valid Luhn check digit, and an issuer's range in use.

Source of the ranges: ISO/IEC 7812 issuer lists as published on Wikipedia ("Payment card number"), read 2026-11-21.
Accepted groups: fours, the American Express and Diners forms, equal groups of one to three digits; a run that is no
longer than the card may be grouped in any way. Numbers outside the ranges need a word for cards before them.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import re2

from gateway.sanitize.detectors.harmless import CARDS, IBANS
from gateway.sanitize.findings import Finding
from gateway.sanitize.folding import View
from gateway.sanitize.re2_search import Pattern, searcher, searcher_within
from gateway.sanitize.work_budget import WorkBudget

# ----------------------------------------------------------------------------------------------------
# Runs of digits with their separators, found once for all detectors of numbers, and the words near them.
#
# A run is any number of digits with at most two separators between neighbours; its groups are the digits between
# separators. The text is translated to character classes first (d digit, s separator, `.`, `+`, x other): a regular
# expression over five classes is faster than the naive form, `[0-9]` and the separators searched in the
# text itself, and finds the same runs (a test compares them). Words that must be near a number are found once a text,
# so each number costs one binary search. Does not know which numbers a run holds.
SEPARATORS = b" .-/_()\t"
_CLASS = bytes(
    0x64 if 0x30 <= code <= 0x39 else code if code in b".+" else 0x73 if code in SEPARATORS else 0x78
    for code in range(256)
)
_DECIMAL = rb"(?<!d\.d)(?!(?<!\+d)d{0,10}\.d++(?!\.)(?!s{0,2}d))"
"""Excludes decimal numbers and fractions: no detector accepts one, but for a US number behind its name."""
_RUN, _LONG_RUN, _RUN_WITH_DECIMALS = (
    re.compile(form)
    for form in (
        rb"d(?<!dd)" + _DECIMAL + rb"[ds.]{4,}d",
        rb"d(?<!dd)" + _DECIMAL + rb"[ds.]{7,}d",
        rb"d(?<!dd)[ds.]{4,}d",
    )
)
"""(any run of six characters or more; of nine; of six, decimal numbers included). `(?<!dd)` starts at a first digit."""
_DECIMAL_00 = re.compile(rb"00\d{1,3}\.\d{6}")
_JOINED = re.compile(rb"d(?:s{0,2}+d|(?!))*+")
_MIN_DIGITS = 6
"""The digits of the shortest telephone number that is detected behind a word."""
_MARGIN_CHARS = 160
"""Characters beside a run that are searched for words: more than the farthest reach (64 in `identities`, and 60 and a
run's length in `cards`)."""
_MAX_SEPARATE_RUNS = 32
"""With more runs the whole text is searched for words at once, as their surroundings soon cover most of it."""
_NOT_DIGITS = bytes(code for code in range(256) if not 0x30 <= code <= 0x39)
_GROUP = re.compile(rb"\d+")
_DATE = re.compile(rb"(?:19|20)\d\d[-./][01]\d[-./][0-3]\d(?: [0-2]\d)?")
"""A date, also with the hour of a time, as in the lines of logs: never a number that is detected."""
_OCTET = rb"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_NO_NUMBER = re.compile(_DATE.pattern + rb"|" + _OCTET + rb"(?:\." + _OCTET + rb"){3}|97[89](?:[ -]?\d){10}")
"""Dates, IPv4 addresses and ISBNs: never cards, and telephone numbers only near a word for them."""


_EXPONENT_SIGNS = (b"e+", b"e-", b"E+", b"E-")
_NEXT_DECIMAL = re.compile(rb"\d{1,3}[ \t]{1,2}-?\d{1,3}\.\d{1,30}")
"""An exponent and the next number of a row (`e+02 1.90553234`): decimal numbers like others, but for their joint."""


class DigitRun:
    """The run at [start, end) of the folded text. `digits` leaves out separators; `before` and `after` are single
    bytes."""

    __slots__ = ("_groups", "after", "before", "digits", "end", "raw", "start", "text")

    def __init__(self, text: bytes, start: int, end: int) -> None:
        self.text, self.start, self.end = text, start, end
        self.raw = text[start:end]
        self.digits = self.raw.translate(None, SEPARATORS)
        self.before = text[start - 1 : start]
        self.after = text[end : end + 1]
        self._groups: list[tuple[int, int]] | None = None

    @property
    def is_bounded(self) -> bool:
        """Whether neither neighbour is a letter or digit."""
        return not self.before.isalnum() and not self.after.isalnum()

    @property
    def groups(self) -> list[tuple[int, int]]:
        """[start, end) of each group, in the folded text."""
        if self._groups is None:
            self._groups = [group.span() for group in _GROUP.finditer(self.text, self.start, self.end)]
        return self._groups

    @property
    def is_grouped(self) -> bool:
        """Whether the run has separators."""
        return len(self.digits) < self.end - self.start

    @property
    def separator_count(self) -> int:
        """The number of different separators in the run."""
        return len(set(self.raw.translate(None, b"0123456789")))

    def remainders(self, findings: Iterable[Finding]) -> "list[DigitRun]":
        """The parts of the run between findings in it, as runs, where they are at least six characters long."""
        edges = [self.start]
        for start, end, *_ in sorted(findings):
            edges += (start, end)
        edges.append(self.end)
        remainders, groups = [], self.groups
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            first, last = bisect_left(groups, (start, 0)), bisect_right(groups, (end, 0)) - 1
            if first <= last and groups[last][1] - groups[first][0] >= 6:
                remainders.append(DigitRun(self.text, groups[first][0], groups[last][1]))
        return remainders

    def digits_between(self, start: int, end: int) -> bytes:
        """The digits in [start, end) of the folded text, without separators."""
        return self.text[start:end].translate(None, SEPARATORS)


def has_digits(view: View) -> bool:
    """Whether a text may have six digits; counted only where that is cheap: a text above 4,096 bytes always may."""
    return len(view.folded) > 4096 or len(view.folded.translate(None, _NOT_DIGITS)) >= 6


def digit_runs(
    view: View, budget: WorkBudget, short: bool, min_plain_digits: int, decimals: bool
) -> Iterator[tuple[int, int, int]]:
    """(start, end, number of digits) of every run of nine digits or more, with `short` of six or more, in order.

    Runs without separators only with `min_plain_digits` or more, or where they begin with `00`; decimal numbers only
    with `decimals`. Dates, IPv4 addresses and ISBNs are left out unless a `+` is before them.
    """
    text = view.folded
    least = _MIN_DIGITS if short else 9
    classes = text.translate(_CLASS)
    decimals = decimals or _DECIMAL_00.search(text) is not None
    runs = _RUN_WITH_DECIMALS if decimals else _RUN if short else _LONG_RUN
    not_numbers = _DATE if short or decimals else _NO_NUMBER
    flat = classes.replace(b".", b"s")
    gaps = b"sss" in flat
    for match in runs.finditer(classes):
        start, end = match.span()
        budget.spend(2)
        has_wide_gap = gaps and flat.find(b"sss", start, end) >= 0
        for low, high in (
            [part.span() for part in _JOINED.finditer(flat, start, end)] if has_wide_gap else ((start, end),)
        ):
            count = flat.count(b"d", low, high)
            if (
                count >= least
                and (count < high - low or count >= min_plain_digits or text.startswith(b"00", low))
                and (not_numbers.fullmatch(text, low, high) is None or text[low - 1 : low] == b"+")
                and not (text[low - 2 : low] in _EXPONENT_SIGNS and _NEXT_DECIMAL.fullmatch(text, low, high))
            ):
                yield low, high, count


class NumberContext(NamedTuple):
    """A folded text in lower case, and the ranges [start, end) near its numbers, in order and disjoint."""

    lower: bytes
    ranges: list[tuple[int, int]]

    @property
    def covers_all(self) -> bool:
        """Whether the one range is the whole text."""
        return self.ranges == [(0, len(self.lower))]


def number_context(view: View) -> NumberContext:
    """The surroundings of every run with enough digits for a number; the whole text when there are many runs."""
    text, ranges = view.folded, list[tuple[int, int]]()
    classes = text.translate(_CLASS)
    for number, match in enumerate(_RUN_WITH_DECIMALS.finditer(classes)):
        if number == _MAX_SEPARATE_RUNS:
            return NumberContext(view.lower, [(0, len(text))])
        start, end = match.span()
        if classes.count(b"d", start, end) < _MIN_DIGITS:
            continue
        low, high = max(0, start - _MARGIN_CHARS), min(len(text), end + _MARGIN_CHARS)
        if ranges and low <= ranges[-1][1]:
            ranges[-1] = ranges[-1][0], high
        else:
            ranges.append((low, high))
    return NumberContext(view.lower, ranges)


class WordIndex:
    """The offsets of certain words near the numbers of a text; found at the first question."""

    __slots__ = ("_budget", "_context", "_ends", "_pattern", "_starts")

    def __init__(self, pattern: Pattern, context: NumberContext, budget: WorkBudget) -> None:
        self._pattern, self._context, self._budget = pattern, context, budget
        self._starts: list[int] | None = None
        self._ends: list[int] = []

    def _find_words(self) -> list[int]:
        if self._starts is None:
            self._starts = []
            search, text = searcher_within(self._pattern), self._context.lower
            for low, high in self._context.ranges:
                start, end = search(text, low, high)
                while start >= 0:
                    self._budget.spend(4)
                    self._starts.append(start)
                    self._ends.append(end)
                    start, end = search(text, end, high)
        return self._starts

    @property
    def any(self) -> bool:
        """Whether the words occur near any number."""
        return bool(self._find_words())

    def before(self, offset: int, reach: int) -> bool:
        """Whether one of the words lies completely in the `reach` characters before `offset`."""
        starts = self._starts if self._starts is not None else self._find_words()
        index = bisect_right(self._ends, offset) - 1
        return index >= 0 and starts[index] >= offset - reach

    def after(self, offset: int, reach: int) -> bool:
        """Whether one of the words begins in the `reach` characters from `offset` on."""
        starts = self._find_words()
        index = bisect_left(starts, offset)
        return index < len(starts) and starts[index] <= offset + reach


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
_GROUP_CARDS = re.compile(rb"\d+")
_USUAL = re.compile(rb"\d{14,16}|\d{4}([ -])\d{4}\1\d{4}\1\d{2,4}|\d{4}([ -])\d{6}\2\d{4,5}")
"""How cards are written: without separators, in fours, or as American Express and Diners Club print them."""
_NAMED_PART = re.compile(rb"[A-Za-z]{2}[-_]{1,2}\Z")
"""A number joined to a word is mostly the last part of a name: `fuzzer-5390364397928448`."""
_GROUP_BEFORE, _GROUP_BEHIND = re.compile(rb"(?<!\d)(\d{1,5})[ \t-]{1,2}\Z"), re.compile(rb"[ \t-]{1,2}(\d{1,5})(?!\d)")
_HEX_BEFORE = re.compile(rb"(?<![0-9A-Za-z])([0-9A-Fa-f]{2,8})[ \t\n]{1,2}\Z")
_HEX_BEHIND = re.compile(rb"[ \t\n]{1,2}([0-9A-Fa-f]{2,8})(?![0-9A-Za-z])")
_COLUMN_GAP = re.compile(rb"\t|  ")
_MIN_DUMP_CHARS = 14
"""The shortest row of groups that may be a part of a dump: fewer characters have no separators."""
_REACH_CHARS = 60
"""How far before a number a word for cards counts, about one line of text."""
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
    if is_single and _is_card(run.digits, run.start, run, words) and not _is_in_row(run, run.start, run.end, words):
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
    return Finding(start, end, "CREDIT_CARD", usual or words.before(start, _REACH_CHARS))


def _is_in_row(run: DigitRun, start: int, end: int, words: WordIndex) -> bool:
    """Whether the groups are cells of a row of numbers or parts of a name, without a word for cards: another group like
    theirs goes on beside them, or signs part them that are on no card. Or whether they count up, are columns of single
    digits, or a hexadecimal group is beside them: rows of bytes and code points."""
    text = run.text
    if _NAMED_PART.search(text, max(0, start - 4), start) and not words.before(start, _REACH_CHARS):
        return True
    if end - start < _MIN_DUMP_CHARS:
        return False
    groups = _GROUP_CARDS.findall(text, start, end)
    if len(groups) > 1 and not words.before(start, _REACH_CHARS):
        is_of_fours, signs = len(groups[0]) == 4, set(text[start:end].translate(None, b"0123456789"))
        beside = _GROUP_BEFORE.search(text, max(0, start - 8), start), _GROUP_BEHIND.match(text, end)
        if any(each is not None and (len(each[1]) == 4 or not is_of_fours) for each in beside):
            return True
        if not is_of_fours and (len(signs) > 1 or not signs.isdisjoint(b"_/")):
            return True
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
    return _is_card(digits, start, run, words) and not _is_in_row(run, start, end, words)


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
    if rare or _ISSUERS.fullmatch(digits) is None:
        # a tenth of all other numbers pass the Luhn check by chance, so a word is needed
        return digits[0] in b"23456" and words.before(start, _REACH_CHARS)
    return True


# ----------------------------------------------------------------------------------------------------
# Finds international bank account numbers, with or without separators, by the country's form and mod-97 check (ISO
# 13616).
#
# Source of the forms: the SWIFT IBAN registry, release 101, as python-stdnum 2.2 has it, read 2026-11-23.
_REGISTRY = (
    "11n:NO 12n:BE 14n:DK,FI,FO,GL,SD 2a12n:FK 4a10n:NL 15n:SI 3n10c2n:MK 16n:AT,BA,EE,LT,MN,XK 3n13c:KZ,LU "
    "17n:HR 4a13c:LV 5n12c:CH,LI 18n:CR,DE,ME,RS,VA 2a16n:GE 4a14c:BH 4a14n:GB,IE 4a6n8c:BG 19n:AE,IL,SO,TL "
    "3n16c:OM 4a15c:GI 4a15n:IQ 20c:MD 20n:CZ,ES,SE,SK,TN 2n18c:SA 4a16c:PK,RO 4a16n:VG 8n12c:AD 21n:LY,PT,ST "
    "22n:IS 6n16c:TR 10n11c2n:FR,MC 1a10n12c:IT,SM 23n:BI,DJ,MR 7n16c:GR 24c:GT 24n:HU,PL 4a20c:AZ "
    "4a20n:HN,NI,SV 4c20n:DO 4c4n16c:BY 4n20c:LB 8n16c:AL,CY 23n1a1c:BR 25n:EG 4a21c:PS,QA 6n19c:UA "
    "4a19n3a:MU 4a22c:KW 4a4n18c:JO,YE 4a20n3a:SC 4a5n18c:MT 4a24c:LC 14n15c:RU"
)
"""What follows the check digits, and in which countries: runs of digits (n), capitals (a) or both (c)."""
_FORMS = {
    country: form
    for form, countries in (pair.split(":") for pair in _REGISTRY.split())
    for country in countries.split(",")
}
_RUN_IBAN = re.compile(r"(\d{1,2})([nac])")
_KINDS = {"n": "[0-9]", "a": "[A-Z]", "c": "[A-Z0-9]"}
_CANDIDATE = re2.compile(rb"(?:^|[^A-Za-z0-9])[A-Za-z] ?[A-Za-z] ?[0-9] ?[0-9][ .-]?(?:[A-Za-z0-9] ?[.-]?){10,32}")
_FIND = searcher(_CANDIDATE)
_SEPARATORS = b" .-"
_DIGITS = b"0123456789"
_MIN_DIGITS_IBAN = 10
"""With fewer digits the letters must be all capitals or all small. Most banks give accounts in digits alone."""
_LETTER_VALUES = {ord(char): str(int(char, 36)) for char in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def find_ibans(view: View, budget: WorkBudget) -> Iterator[Finding]:
    """Findings of the entity IBAN, in order, in folded offsets. Raises BudgetExceeded."""
    text, at = view.folded, 0
    while True:
        low, high = _FIND(text, at)
        if low < 0:
            return
        budget.spend(11)
        start = low + (not text[low : low + 1].isalnum())
        raw = text[start : high + 2]
        length = _length_of(raw)
        end = _end_of(raw, length) if length else 0
        if end and raw[:end].translate(None, _SEPARATORS).upper() not in IBANS:
            yield Finding(start, start + end, "IBAN")
        at = start + (end or 4)


@cache
def _form(country: str) -> re.Pattern[str] | None:
    """The pattern of a country's numbers; None for one that has none. At most 90 are kept."""
    form = _FORMS.get(country)
    return (
        None
        if form is None
        else re.compile(country + "[0-9]{2}" + _RUN_IBAN.sub(lambda run: f"{_KINDS[run[2]]}{{{run[1]}}}", form))
    )


def _length_of(raw: bytes) -> int:
    """The number of letters and digits of the IBAN at the start of `raw`; 0 when there is no valid one."""
    joined = raw.translate(None, _SEPARATORS)
    compact = joined.decode().upper()
    form = _form(compact[:2])
    match = form.match(compact) if form is not None else None
    if match is None:
        return 0
    compact, length = match.group(), match.end()
    letters = joined[:length].translate(None, _DIGITS)
    if len(letters) > length - _MIN_DIGITS_IBAN and not (letters.isupper() or letters.islower()):
        return 0
    return length if int((compact[4:] + compact[:4]).translate(_LETTER_VALUES)) % 97 == 1 else 0


def _end_of(raw: bytes, length: int) -> int:
    """The index behind the first `length` letters and digits; 0 when another one follows directly."""
    end = length
    while (missing := length - len(raw[:end].translate(None, _SEPARATORS))) > 0:
        end += missing
    return 0 if raw[end : end + 1].isalnum() else end
