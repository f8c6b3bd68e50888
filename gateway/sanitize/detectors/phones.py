"""Telephone numbers: international ones that the numbering plans allow, national ones beside a word that says so.

A number without `+` is only taken with a telephone word near it, or in the North American form; years, amounts, dates,
versions and order numbers look too much like one otherwise. Plans: libphonenumber, through `phonenumbers`.
"""

import re
from collections.abc import Iterator

import phonenumbers

from gateway.sanitize.detectors.numbers import Run
from gateway.sanitize.findings import Finding

_STRONG = re.compile(
    rb"phone|\btel\b|\btel[.:]|telef|mobil|\bcell\b|cellular|handy|\bfax|whatsapp|\bsms\b|hotline|\bdesk\b|\boffice\b"
    rb"|call (?:me|us|him|her|them|back)|me a call|ring me|text me|answering|reach (?:me|us|you)|\bgsm\b|rufnummer|dial "
)
_WEAK = re.compile(rb"\bcall|contact|messages? (?:to|from)|registered|number is|\bdial|reach|\bsms|\bnumber\b")
_AFTER = re.compile(rb"(?:\s?x\d{1,6})?[\s\\,(-]{1,3}(?:office|fax|mobile|cell|phone|tel|home|work|desk|direct)")
_EXTENSION = re.compile(rb"\s?(?:x|ext\.?|extension|#)\s?\d{1,6}\b")
_NORTH_AMERICAN = re.compile(rb"(?:\+?1[ .-]?)?(?:\([2-9]\d\d\) ?|[2-9]\d\d[.-])[2-9]\d\d[.-]\d{4}\Z")
_DATE = re.compile(
    rb"(?:19|20)\d\d[-./]\d\d?[-./]\d\d?|\d\d?[-./]\d\d?[-./](?:19|20)\d\d|(?:19|20)\d\d ?[-/] ?(?:19|20)?\d\d"
)
_CHARS = 48


def find_phones(run: Run, lower: bytes) -> Iterator[Finding]:
    count = len(run.digits)
    if count < 6:
        return
    start, end = run.start, run.end
    glued = lower[start - 1 : start].isalnum() or (lower[end : end + 1].isalnum() and not _EXTENSION.match(lower, end))
    if glued and not _AFTER.match(lower, end):
        return
    while end > start and not lower[end - 1 : end].isdigit():
        end -= 1
    if lower[start - 1 : start] == b"(":
        start -= 1
    if lower[start - 1 : start] == b"+":
        found = _international(lower, start - 1, end)
    elif run.raw.startswith(b"00") and count >= 10:
        found = _international(lower, start, end) or _national(run, lower, start, end)
    else:
        found = _national(run, lower, start, end)
    if found:
        extension = _EXTENSION.match(lower, found[1])
        yield Finding(found[0], extension.end() if extension else found[1], "PHONE")


def _international(lower: bytes, start: int, end: int) -> tuple[int, int] | None:
    """A number with its country code; what follows it in the run may belong to something else."""
    raw = lower[start:end].decode()
    text = "+" + raw[2:] if raw.startswith("00") else raw
    shift = len(raw) - len(text)
    ends = [len(text), *(match.start() for match in re.finditer(r"[ /]", text) if match.start() > 8)][:6]
    possible = None
    for stop in ends:
        try:
            number = phonenumbers.parse(text[:stop], None)
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_valid_number(number):
            return start, start + stop + shift
        if possible is None and phonenumbers.is_possible_number(number):
            possible = start, start + stop + shift
    return possible


def _national(run: Run, lower: bytes, start: int, end: int) -> tuple[int, int] | None:
    raw, count = lower[start:end], len(run.digits)
    if count > 15 or _DATE.match(raw) or (raw.count(b".") and not _is_dotted(raw)):
        return None
    if _NORTH_AMERICAN.match(raw):
        return start, end
    before = lower[max(0, start - _CHARS) : start].rpartition(b"\n\n")[2]
    grouped = len(run.groups) > 1
    strong = _STRONG.search(before) is not None or _AFTER.match(lower, end) is not None
    weak = strong or _WEAK.search(before) is not None
    if not weak or (not strong and (count < 7 or not grouped)) or (count < 7 and not grouped):
        return None
    return (start, end) if _grouped_like_a_phone(run) else None


def _is_dotted(raw: bytes) -> bool:
    """Dots between groups of two to four digits are a telephone's; others are a version's or an amount's."""
    sizes = [len(part) for part in raw.split(b".")]
    return len(sizes) > 2 and min(sizes) >= 2 and max(sizes) <= 4


def _grouped_like_a_phone(run: Run) -> bool:
    sizes = [last - first for first, last in run.groups]
    return len(sizes) <= 7 and max(sizes) <= 12 and not (len(sizes) > 2 and sizes.count(1) > 2)
