"""Finds telephone numbers: international ones that a numbering plan allows, national ones near a word for them.

A number without `+` or `00` needs a telephone word near it or the North American form: years, amounts, dates, versions
and order numbers look too similar otherwise. Plans: the library `phonenumbers`.
"""

import functools
import importlib
import re
import traceback
from itertools import islice
from typing import Any, Literal, TypeAlias

import re2

from gateway.sanitize.detectors.cards import DigitRun, NumberContext, WordIndex
from gateway.sanitize.findings import Finding
from gateway.sanitize.work_budget import WorkBudget

Judgement: TypeAlias = Literal["valid", "possible", "none"]
"""valid: a number of its country's plan; possible: of a length that the plan has; none: neither."""
_PUNCTUATION = b" -.()/"


@functools.cache
def _library() -> Any:
    """`phonenumbers`, imported for the first international number: it takes a MiB, and 13 ms of CPU."""
    return importlib.import_module("phonenumbers")


def judge_number(raw: bytes) -> Judgement:
    """What the plans say of a number without its `+`, from the country code on. Naive form: `parse_number`, which also
    removes trunk prefixes, at three times the cost."""
    library, digits = _library(), raw.translate(None, _PUNCTUATION)
    if not digits.isdigit() or not 4 <= len(digits) <= 17 or digits.startswith(b"0"):
        return "none"
    codes = [size for size in (1, 2, 3) if int(digits[:size]) in library.COUNTRY_CODE_TO_REGION_CODE]
    if not codes:
        return "none"
    national = digits[codes[0] :]
    zeros = len(national) - len(national.lstrip(b"0"))
    return _judged(
        library.PhoneNumber(
            country_code=int(digits[: codes[0]]),
            national_number=int(national),
            italian_leading_zero=zeros > 0 or None,
            number_of_leading_zeros=zeros if zeros > 1 else None,
        )
    )


def parse_number(raw: bytes) -> Judgement:
    """What `phonenumbers` says of a number behind a `+`, with or without a trunk prefix: `44 (0)20 7946 0958`."""
    library = _library()
    try:
        return _judged(library.parse("+" + raw.decode(), None))
    except library.NumberParseException as error:
        # The library keeps the exception in a frame of its own: a cycle, which would hold the text that is scanned.
        traceback.clear_frames(error.__traceback__)
        return "none"


def _judged(number: Any) -> Judgement:
    if _library().is_valid_number(number):
        return "valid"
    return "possible" if _library().is_possible_number(number) else "none"


STRONG_WORDS = re2.compile(
    rb"(?:^|[^a-z])phone(?:s|no|nr|num[a-z]*)?(?:[^a-z]|$)|telephone|cellphone|homephone|workphone|\btel\b|\btel[.:]|telef|mobil"
    rb"|\bcell\b|cellular|celular|\bph[.:]|\x05\x04|handy\b|\bfax|whatsapp|\bsms\b|hotline"
    rb"|\b(?:desk|office|home|direct) ?:"
    rb"|call (?:me|us|him|her|them|back)|me a call|ring me|text me|answering|reach (?:me|us|you)|\bgsm\b|rufnummer"
    rb"|\bruf(?:en|t|e)?\b[a-z ]{0,14}\ban\b|\banruf|durchwahl|dial |\bmy (?:new |old |private |work )?number\b"
)
WEAK_WORDS = re2.compile(rb"\bcall|contact|messages? (?:to|from)|registered|number is|\bdial|reach|\bsms|\bnumber\b")
_WORD_BEHIND = re.compile(rb"(?:\s?x\d{1,6})?[\s\\,(-]{1,3}(?:office|fax|mobile|cell|phone|tel|home|work|desk|direct)")
_SIGNS_BEHIND = frozenset(bytes([sign]) for sign in b" \t\n\r\v\f\\,(-x")
_ANY_WORD_BEHIND = re2.compile(rb"[0-9][\s\\,(-]{1,3}(?:office|fax|cell|home|work|desk|direct)")
_EXTENSION_WORDS = (
    rb"x|ext\.?|extension|#|durchwahl|dw\.?|nebenstelle|app\.|poste|interno|int\.|anexo|ramal|toestel|wew\.|lokal"
)
_EXTENSION = re.compile(rb",?\s?(?:" + _EXTENSION_WORDS + rb")\s?\d{1,6}\b")
_ANY_EXTENSION = re2.compile(rb"(?:" + _EXTENSION_WORDS + rb")[\s\x0b]?[0-9]")
_NORTH_AMERICAN = re.compile(rb"(?:\+?1[ .-]?)?(?:\([2-9]\d\d\) ?|[2-9]\d\d([.-]))[2-9]\d\d(?(1)\1|[.-])\d{4}\Z")
_DATE = re.compile(
    rb"\d{4,5}-[01]\d-[0-3]\d(?:[ t]\d\d)?\Z|(?:19|20)\d\d[01]\d[0-3]\d\Z"
    rb"|(?:19|20)\d\d[-./]\d\d?[-./]\d\d?|\d\d?[-./]\d\d?[-./](?:19|20)\d\d|(?:19|20)\d\d ?[-/] ?(?:19|20)?\d\d\Z"
)
_TIME_BEFORE, _TIME_BEHIND = re.compile(rb"\d:\Z|(?<!\d)\d{1,3},\Z"), re.compile(rb":[0-5]\d")
_AREA, _AREA_CHARS = re.compile(rb"(?<![0-9])\(?0[0-9]{1,5}\)?(?: / | /|/ )\Z"), 12
"""An area code that a slash with blanks parts from its number, which is a run of its own."""
_DECIMAL = re.compile(rb"\+\d{1,3}\.\d+")
_NO_LABELLED_NUMBER = re.compile(rb"/|\t|\d\)\D|\d \(\d|(?:\A|\D)\d \d(?!\d)|\A\d{4}\D\d{4}\Z")
_DOT = 0x2E
_REACH_CHARS = 48
"""How far before a number a telephone word counts, about a short clause."""
_MAX_NUMBER_CHARS = 36
"""15 digits (ITU-T E.164) and the prefix, each with a separator, and some brackets; a longer run is cut at a gap."""
_MAX_GROUP_DIGITS = 12
"""The most digits of a national number without a separator, as in the longest plans."""
_MAX_JUDGED, _JUDGE_UNITS = 100, 80
"""Different numbers of one text that the plans are asked for, and what each costs (25 µs). In a longer list, which is
one of telephone numbers, the rest counts as valid."""
_MAX_PARSED, _PARSE_UNITS = 12, 480
"""Numbers of one text that are parsed for a trunk prefix, and what each costs (140 µs)."""
_GAP = re.compile(rb"[ /]")
_INTERNATIONAL_SIGNS = (b"+", b"+(")
_PLUS = re.compile(rb"\+\(?[0-9]")


class Phones:
    """Finds the telephone numbers of one text. Every method but `accepts_short` may raise BudgetExceeded."""

    def __init__(self, context: NumberContext, budget: WorkBudget) -> None:
        self._lower = lower = context.lower
        self._strong = WordIndex(STRONG_WORDS, context, budget)
        self._weak = WordIndex(WEAK_WORDS, context, budget)
        self._budget, self._parse_count = budget, 0
        self._judgements: dict[bytes, Judgement] = {}
        self._is_any_extended: bool | None = None
        self._has_words = (
            self._strong.any
            or self._weak.any
            or any(_ANY_WORD_BEHIND.search(lower, low, high) for low, high in context.ranges)
        )

    @property
    def accepts_short(self) -> bool:
        """Whether the text has a word or a `+` that makes a telephone number of fewer than nine digits."""
        return self._has_words or _PLUS.search(self._lower) is not None

    def may_match(self, start: int, end: int) -> bool:
        """Whether the digits at [start, end), which have no separators, may be a telephone number."""
        if self._lower.endswith(_INTERNATIONAL_SIGNS, 0, start) or self._lower.startswith(b"00", start):
            return True
        return self._has_words and (self._strong.before(start, _REACH_CHARS) or self._has_word_behind(end))

    def _has_word_behind(self, end: int) -> bool:
        """Whether a telephone word follows. The first character is tested before the pattern, as that is cheaper."""
        return self._lower[end : end + 1] in _SIGNS_BEHIND and _WORD_BEHIND.match(self._lower, end) is not None

    def find(self, run: DigitRun) -> Finding | None:
        """The telephone number that the run holds, with its extension, in folded offsets; None when it holds none."""
        start, end, lower = run.start, run.end, self._lower
        if len(set(run.digits)) == 1:
            return None  # a placeholder
        if run.after.isalnum():
            is_glued = not _EXTENSION.match(lower, end)
            if is_glued and run.before == b"+" and len(run.groups) > 1:
                self._budget.spend(6)
                run = DigitRun(run.text, start, run.groups[-2][1])  # the last group belongs to the word behind it
                end, is_glued = run.end, False
        else:
            is_glued = False
        if (is_glued or run.before.isalnum()) and not self._has_word_behind(end):
            return None
        if run.before in (b"-", b"+", b"#") and lower[start - 2 : start - 1].isalnum():
            return None  # CVE-2026-79204, 30+20221128-1
        if _TIME_BEHIND.match(lower, end) or _TIME_BEFORE.search(lower, max(0, start - 5), start):
            return None
        span = None
        if run.before == b"+":
            span = self._international(start - 1, end)
        else:
            if run.before == b"(":
                start -= 1
                if lower.startswith(b"+", start - 1):
                    return self._with_extension(self._international(start - 1, end))
            elif lower.startswith(b"00", start) and len(run.digits) >= 10:
                span = self._international(start, end)
            area = None if span else _AREA.search(lower, max(0, start - _AREA_CHARS), start)
            span = span or self._national(run, area.start() if area else start, end)
        return self._with_extension(span)

    def _with_extension(self, span: tuple[int, int] | None) -> Finding | None:
        """The finding with the extension that follows it, if any."""
        if span is None:
            return None
        start, end = span
        if self._is_any_extended is None:
            self._is_any_extended = _ANY_EXTENSION.search(self._lower) is not None
        extension = _EXTENSION.match(self._lower, end) if self._is_any_extended else None
        return Finding(start, extension.end() if extension else end, "PHONE")

    def _international(self, start: int, end: int) -> tuple[int, int] | None:
        """The span of a number with its country code; groups at the run's end may belong to something else."""
        if end - start > _MAX_NUMBER_CHARS:
            end = max(self._lower.rfind(mark, start, start + _MAX_NUMBER_CHARS) for mark in (b" ", b"/"))
            if end < start:
                return None
        raw = self._lower[start:end]
        if _DECIMAL.fullmatch(raw):
            return None
        number = raw[2:] if raw.startswith(b"00") else raw[1:]
        judgement = self._judge_number(number)
        if judgement == "valid":
            return start, end
        possible = (start, end) if judgement == "possible" else None
        for gap in islice(_GAP.finditer(number, 8), 5):
            judgement = self._judge_number(number[: gap.start()])
            span = start, end - len(number) + gap.start()
            if judgement == "valid":
                return span
            if possible is None and judgement == "possible":
                possible = span
        return possible

    def _judge_number(self, number: bytes) -> Judgement:
        judgement = self._judgements.get(number)
        if judgement is not None:
            self._budget.spend(2)
            return judgement
        if len(self._judgements) >= _MAX_JUDGED:
            return "valid"
        self._budget.spend(_JUDGE_UNITS)
        judgement = judge_number(number)
        if judgement != "valid" and self._parse_count < _MAX_PARSED:
            self._budget.spend(_PARSE_UNITS)
            self._parse_count += 1
            judgement = parse_number(number)
        self._judgements[number] = judgement
        return judgement

    def _national(self, run: DigitRun, start: int, end: int) -> tuple[int, int] | None:
        count = len(run.digits)
        grouped = count < run.end - run.start or start < run.start - 1  # behind an area code
        if count > 15 or not (grouped or (count >= 7 and self._has_words)):
            return None
        raw = self._lower[start:end].replace(b" / ", b"/")
        if grouped and 10 <= count <= 11 and _NORTH_AMERICAN.match(raw):
            return start, end
        if not self._has_words:
            return None
        self._budget.spend(4)
        strong = self._strong.before(start, _REACH_CHARS) or self._has_word_behind(end)
        if not strong and (count < 7 or not grouped or not self._weak.before(start, _REACH_CHARS)):
            return None
        if not strong and (_NO_LABELLED_NUMBER.search(raw) or (raw.endswith(b"000") and raw[:1] != b"0")):
            return None  # columns, a path, single figures, a round amount
        if _DATE.match(raw) or (grouped and _DOT in raw and not _has_phone_dots(raw)):
            return None
        return (start, end) if grouped or count <= _MAX_GROUP_DIGITS else None


def _has_phone_dots(raw: bytes) -> bool:
    """Whether dots part three or more groups of two to four digits; other dots are those of versions and amounts."""
    sizes = [len(part) for part in raw.split(b".")]
    return len(sizes) > 2 and min(sizes) >= 2 and max(sizes) <= 4
