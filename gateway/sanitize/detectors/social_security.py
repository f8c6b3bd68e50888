"""Finds United States social security numbers in runs of digits: nine digits as 3-2-4, or in any groups near a word."""

import re

import re2

from gateway.sanitize.detectors.digit_runs import DigitRun, WordIndex
from gateway.sanitize.detectors.id_candidates import REACH_CHARS
from gateway.sanitize.detectors.published_examples import IDS
from gateway.sanitize.text.findings import Finding

_SSN = re.compile(rb"(?<!\d)\d{3}[ ./_()\t-]{1,2}\d{2}[ ./_()\t-]{1,2}\d{4}(?!\d)")
SSN_WORDS = re2.compile(rb"\bssn\b|social.security|\bss#")
SSN_HINTS = (b"ssn", b"social", b"ss#")
"""A text with none of these has none of SSN_WORDS; substrings are searched faster than the pattern."""


def find_ssns(run: DigitRun, words: WordIndex) -> list[Finding]:
    """US social security numbers in a run of nine digits or more: 3-2-4 digits with dashes, or any groups near a word.

    `words` is the index of SSN_WORDS.
    """
    if len(run.digits) == 9:
        has_word = _has_word(words, run.start, run.end)
        is_match = run.is_bounded and _is_ssn(run.digits) and (_has_dashes(run.raw) or has_word)
        return [Finding(run.start, run.end, "US_SSN", has_word)] if is_match else []
    findings: list[Finding] = []
    if run.is_grouped:
        for match in _SSN.finditer(run.text, run.start, run.end):
            start, end = match.span()
            has_word = _has_word(words, start, end)
            if _is_ssn(run.digits_between(start, end)) and (_has_dashes(match.group()) or has_word):
                findings.append(Finding(start, end, "US_SSN", has_word))
    return findings


def _has_word(words: WordIndex, start: int, end: int) -> bool:
    return words.before(start, REACH_CHARS) or words.after(end, 2)


def _has_dashes(raw: bytes) -> bool:
    return len(raw) == 11 and raw[3:4] == raw[6:7] == b"-"


def _is_ssn(digits: bytes) -> bool:
    """Not one of the ranges that are never issued: 000, 666 and 900 to 999 as area, 00 as group, 0000 as serial
    number."""
    if digits.decode() in IDS:
        return False
    return digits[:3] not in (b"000", b"666") and digits[:1] != b"9" and digits[3:5] != b"00" and digits[5:] != b"0000"
