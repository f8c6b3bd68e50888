"""Payment cards: 12 to 19 digits with a valid Luhn check digit in a range that an issuer really uses.

Source of the ranges: ISO/IEC 7812 issuer lists as published on Wikipedia ("Payment card number"), read 2026-11-21.
Groups: four by four, the American Express and Diners shapes, evenly spelt-out digits, or any shape that stands alone.
"""

import re
from collections.abc import Iterator

from gateway.sanitize.detectors.numbers import Run
from gateway.sanitize.findings import Finding

_ISSUERS = re.compile(
    rb"4(?:\d{12}|\d{15}|\d{18})"  # Visa
    rb"|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"  # Mastercard
    rb"|3[47]\d{13}"  # American Express
    rb"|(?:30[0-5]|309|3[689]\d)\d{11}(?:\d{2})?"  # Diners Club
    rb"|(?:352[89]|35[3-8]\d)\d{12}(?:\d{3})?|(?:2131|1800)\d{11}"  # JCB
    rb"|(?:6011|64[4-9]\d|65\d\d)\d{12}(?:\d{3})?"  # Discover, RuPay
    rb"|62\d{14,17}|81\d{14}"  # UnionPay, RuPay
    rb"|(?:50\d\d|5[6-8]\d\d|6304|6390|67\d\d|0604)\d{8,15}"  # Maestro
    rb"|220[0-4]\d{12,15}"  # Mir
    rb"|9792\d{12}|60\d{14}|508[5-9]\d{12}|353\d{13}|356\d{13}"  # Troy, RuPay
)
_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")
_CONTEXT = re.compile(rb"card|\bcc\b|visa|master|amex|maestro|credit|debit|\bpan\b|kart|carte|tarjeta|\bcvv|\bcvc")
_SHAPES = frozenset(((4, 6, 5), (4, 6, 4), (6, 13), (8, 8), (4, 4, 5), (4, 4, 4, 4, 3)))
_CONTEXT_CHARS = 60


def luhn(digits: bytes) -> bool:
    odd, even = digits[-1::-2], digits[-2::-2].translate(_DOUBLED)
    return (sum(odd) + sum(even) - 48 * len(digits)) % 10 == 0


def is_card(digits: bytes) -> bool:
    return 12 <= len(digits) <= 19 and digits.count(digits[:1]) < len(digits) and (
        _ISSUERS.fullmatch(digits) is not None and luhn(digits)
    )  # fmt: skip


def find_cards(run: Run, lower: bytes) -> Iterator[Finding]:
    """Cards in one run of digits. `lower` is the folded text in lower case, for words that stand nearby."""
    size = len(run.digits)
    if size < 12:
        return
    groups = run.groups
    if len(groups) == 1 or size <= 19:
        if _fits(run.digits, run.start, run.end, lower):
            yield Finding(run.start, run.end, "CREDIT_CARD")
        if len(groups) == 1:
            return
    for first, last in _windows(groups, run, lower):
        start, end = groups[first][0], groups[last][1]
        if _fits(run.digits_between(start, end), start, end, lower):
            yield Finding(start, end, "CREDIT_CARD")


def _windows(groups: list[tuple[int, int]], run: Run, lower: bytes) -> Iterator[tuple[int, int]]:
    """Pairs (first, last) of groups that stand as a card's groups do."""
    sizes = [end - start for start, end in groups]
    index, count = 0, len(sizes)
    while index < count:
        size = sizes[index]
        after = index + 1
        while after < count and sizes[after] == size:
            after += 1
        if 12 <= size <= 19:
            yield from ((each, each) for each in range(index, after))
        elif size <= 4:
            yield from _even(index, after, sizes, run, lower)
        index = after
    for index in range(count - 1):
        for length in (2, 3):
            if tuple(sizes[index : index + length]) in _SHAPES:
                yield index, index + length - 1


def _even(first: int, after: int, sizes: list[int], run: Run, lower: bytes) -> Iterator[tuple[int, int]]:
    """Windows in groups of one size, with a shorter group to end it; inside a longer row only beside a card's word."""
    size, number = sizes[first], after - first
    total = size * number
    tail = sizes[after] if after < len(sizes) and sizes[after] < size else 0
    if 12 <= total <= 19:
        yield first, after - 1
    if tail and 12 <= total + tail <= 19:
        yield first, after
    if size == 4 and 16 < total <= 40:
        start = run.groups[first][0]
        if _near_card_word(lower, start):
            yield from ((each, each + 3) for each in range(first, after - 3))


def _fits(digits: bytes, start: int, end: int, lower: bytes) -> bool:
    if not luhn(digits) or not 12 <= len(digits) <= 19:
        return False
    if not is_card(digits) and not (digits[:1] in b"23456" and _near_card_word(lower, start)):
        return False
    if lower[start - 1 : start].isalnum() or lower[end : end + 1].isalnum():
        return False
    if start > 1 and lower[start - 1] == 0x2E and lower[start - 2 : start - 1].isdigit():
        return False  # the fraction of a decimal number
    if len(digits) == 13 and _ean_valid(digits):  # a trade number that happens to pass
        return _near_card_word(lower, start)
    return True


def _near_card_word(lower: bytes, start: int) -> bool:
    return _CONTEXT.search(lower, max(0, start - _CONTEXT_CHARS), start) is not None


def _ean_valid(digits: bytes) -> bool:
    return (sum(digits[0::2]) + 3 * sum(digits[1::2]) - 48 * (7 + 3 * 6)) % 10 == 0
