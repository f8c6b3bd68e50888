"""Telephone numbers: international ones that the numbering plans allow, national ones beside a word that says so.

A number without `+` is only taken with a telephone word near it, or in the North American form; years, amounts, dates,
versions and order numbers look too much like one otherwise. Plans: libphonenumber, through `phonenumbers`.
"""

import re
from itertools import islice

import phonenumbers
import re2

from gateway.sanitize.detectors.digit_runs import NumberContext, Run, Words
from gateway.sanitize.detectors.phone_plans import Judgement, judge
from gateway.sanitize.text.findings import Finding
from gateway.sanitize.text.work_budget import WorkBudget

STRONG_WORDS = re2.compile(
    rb"(?:^|[^a-z])phone|telephone|cellphone|homephone|workphone|\btel\b|\btel[.:]|telef|mobil"
    rb"|\bcell\b|cellular|handy\b|\bfax|whatsapp|\bsms\b|hotline|\b(?:desk|office|home|direct) ?:"
    rb"|call (?:me|us|him|her|them|back)|me a call|ring me|text me|answering|reach (?:me|us|you)|\bgsm\b|rufnummer"
    rb"|dial |\bmy (?:new |old |private |work )?number\b"
)
WEAK_WORDS = re2.compile(rb"\bcall|contact|messages? (?:to|from)|registered|number is|\bdial|reach|\bsms|\bnumber\b")
_AFTER = re.compile(rb"(?:\s?x\d{1,6})?[\s\\,(-]{1,3}(?:office|fax|mobile|cell|phone|tel|home|work|desk|direct)")
_AFTER_SIGNS = frozenset(bytes([sign]) for sign in b" \t\n\r\v\f\\,(-x")
_AFTER_WORDS = re2.compile(rb"[0-9][\s\\,(-]{1,3}(?:office|fax|cell|home|work|desk|direct)")
_EXTENSION = re.compile(rb"\s?(?:x|ext\.?|extension|#)\s?\d{1,6}\b")
_ANY_EXTENSION = re2.compile(rb"(?:x|ext\.?|extension|#)[\s\x0b]?[0-9]")
_NORTH_AMERICAN = re.compile(rb"(?:\+?1[ .-]?)?(?:\([2-9]\d\d\) ?|[2-9]\d\d[.-])[2-9]\d\d[.-]\d{4}\Z")
_DATE = re.compile(
    rb"(?:19|20)\d\d[-./]\d\d?[-./]\d\d?|\d\d?[-./]\d\d?[-./](?:19|20)\d\d|(?:19|20)\d\d ?[-/] ?(?:19|20)?\d\d\Z"
)
_DOT = 0x2E
_REACH = 48
_LONGEST = 36
_MOST_IN_GROUP = 12
_MOST_LOOKED_UP = 12
_GAP = re.compile(rb"[ /]")
_OPENINGS = (b"+", b"+(")
_PLUS = re.compile(rb"\+\(?[0-9]")


class Phones:
    """The telephone numbers of one text. Past a number of look-ups, what would need one counts as one."""

    def __init__(self, around: NumberContext, budget: WorkBudget) -> None:
        self._lower = lower = around.lower
        self._strong = Words(STRONG_WORDS, around, budget)
        self._weak = Words(WEAK_WORDS, around, budget)
        self._effort, self._look_ups = budget, 0
        self._known: dict[bytes, Judgement] = {}
        self._is_any_extended: bool | None = None
        self._is_named = (
            self._strong.any
            or self._weak.any
            or any(_AFTER_WORDS.search(lower, low, high) for low, high in around.places)
        )

    @property
    def may_be_short(self) -> bool:
        """Whether anything in the text makes a telephone number of a few digits."""
        return self._is_named or _PLUS.search(self._lower) is not None

    def may_be(self, start: int, end: int) -> bool:
        """Whether the digits at [start, end), which have no separators, may be a telephone number."""
        if self._lower.endswith(_OPENINGS, 0, start) or self._lower.startswith(b"00", start):
            return True
        return self._is_named and (self._strong.before(start, _REACH) or self._is_named_behind(end))

    def _is_named_behind(self, end: int) -> bool:
        """The sign there is looked at first, as that is cheaper than the pattern and nearly always says no."""
        return self._lower[end : end + 1] in _AFTER_SIGNS and _AFTER.match(self._lower, end) is not None

    def find(self, run: Run) -> Finding | None:
        start, end, lower = run.start, run.end, self._lower
        if run.after.isalnum():
            glued_on = not _EXTENSION.match(lower, end)
            if glued_on and run.before == b"+" and len(run.groups) > 1:
                self._effort.spend(6)
                run = Run(run.text, start, run.groups[-2][1])  # the last digits belong to a word
                end, glued_on = run.end, False
        else:
            glued_on = False
        if (glued_on or run.before.isalnum()) and not self._is_named_behind(end):
            return None
        found = None
        if run.before == b"+":
            found = self._international(start - 1, end)
        else:
            if run.before == b"(":
                start -= 1
                if lower.startswith(b"+", start - 1):
                    return self._extended(self._international(start - 1, end))
            elif lower.startswith(b"00", start) and len(run.digits) >= 10:
                found = self._international(start, end)
            found = found or self._national(run, start, end)
        return self._extended(found)

    def _extended(self, found: tuple[int, int] | None) -> Finding | None:
        """With the extension that follows."""
        if found is None:
            return None
        start, end = found
        if self._is_any_extended is None:
            self._is_any_extended = _ANY_EXTENSION.search(self._lower) is not None
        extension = _EXTENSION.match(self._lower, end) if self._is_any_extended else None
        return Finding(start, extension.end() if extension else end, "PHONE")

    def _international(self, start: int, end: int) -> tuple[int, int] | None:
        """A number with its country code; what follows it in the run may belong to something else."""
        if end - start > _LONGEST:
            end = max(self._lower.rfind(mark, start, start + _LONGEST) for mark in (b" ", b"/"))
            if end < start:
                return None
        raw = self._lower[start:end]
        number = raw[2:] if raw.startswith(b"00") else raw[1:]
        judgement = self._judge(number)
        if judgement == "valid":
            return start, end
        possible = (start, end) if judgement == "possible" else None
        for gap in islice(_GAP.finditer(number, 8), 5):
            judgement = self._judge(number[: gap.start()])
            found = start, end - len(number) + gap.start()
            if judgement == "valid":
                return found
            if possible is None and judgement == "possible":
                possible = found
        return possible

    def _judge(self, number: bytes) -> Judgement:
        judgement = self._known.get(number)
        self._effort.spend(2 if judgement else 7)
        if judgement is None:
            judgement = judge(number)
            if judgement == "unknown":
                judgement = self._looked_up(number)
            self._known[number] = judgement
        return judgement

    def _looked_up(self, number: bytes) -> Judgement:
        if self._look_ups == _MOST_LOOKED_UP:
            return "valid"
        self._effort.spend(480)
        self._look_ups += 1
        return _parsed(number)

    def _national(self, run: Run, start: int, end: int) -> tuple[int, int] | None:
        count = len(run.digits)
        grouped = count < run.end - run.start
        if count > 15 or not (grouped or (count >= 7 and self._is_named)):
            return None
        raw = self._lower[start:end]
        if grouped and 10 <= count <= 11 and _NORTH_AMERICAN.match(raw):
            return start, end
        if not self._is_named:
            return None
        self._effort.spend(4)
        strong = self._strong.before(start, _REACH) or self._is_named_behind(end)
        if not strong and (count < 7 or not grouped or not self._weak.before(start, _REACH)):
            return None
        if not strong and raw.endswith(b"000") and raw[:1] != b"0":
            return None  # a round amount
        if not grouped:
            return (start, end) if count <= _MOST_IN_GROUP else None
        if _DATE.match(raw) or (_DOT in raw and not _is_dotted(raw)) or not _grouped_like_a_phone(run):
            return None
        return start, end


def _parsed(raw: bytes) -> Judgement:
    try:
        number = phonenumbers.parse("+" + raw.decode(), None)
    except phonenumbers.NumberParseException:
        return "none"
    if phonenumbers.is_valid_number(number):
        return "valid"
    return "possible" if phonenumbers.is_possible_number(number) else "none"


def _is_dotted(raw: bytes) -> bool:
    """Dots between groups of two to four digits are a telephone's; others are a version's or an amount's."""
    sizes = [len(part) for part in raw.split(b".")]
    return len(sizes) > 2 and min(sizes) >= 2 and max(sizes) <= 4


def _grouped_like_a_phone(run: Run) -> bool:
    sizes = [last - first for first, last in run.groups]
    return len(sizes) <= 7 and max(sizes) <= _MOST_IN_GROUP and not (len(sizes) > 2 and sizes.count(1) > 2)
