"""Finds international bank account numbers, with or without separators, by country, length and mod-97 check (ISO
13616).

Source of the lengths: the SWIFT IBAN registry, release 99, as listed on Wikipedia, read 2026-11-21.
"""

from collections.abc import Iterator

import re2

from gateway.sanitize.detectors.published_examples import IBANS
from gateway.sanitize.detectors.re2_search import searcher
from gateway.sanitize.text.findings import Finding
from gateway.sanitize.text.folding import View
from gateway.sanitize.text.work_budget import WorkBudget

_LENGTHS = {
    country: int(length)
    for length, countries in (
        pair.split(":")
        for pair in [
            "15:NO",
            "16:BE",
            "18:DK,FO,FI,GL,NL,SD,FK",
            "19:MK,SI",
            "20:AT,BA,EE,KZ,XK,LT,LU,MN",
            "21:HR,LV,LI,CH",
            "22:BH,BG,CR,DE,GE,GB,IE,ME,RS,VA",
            "23:TL,GI,IQ,IL,OM,SO,AE",
            "24:AD,CZ,MD,PK,RO,SA,SK,ES,SE,TN,VG",
            "25:LY,PT,ST",
            "26:IS,TR",
            "27:BI,DJ,FR,GR,IT,MR,MC,SM",
            "28:AL,AZ,BY,CY,DO,SV,GT,HN,HU,LB,NI,PL",
            "29:BR,EG,PS,QA,UA",
            "30:JO,KW,MU,YE",
            "31:MT,SC",
            "32:LC",
            "33:RU",
        ]
    )
    for country in countries.split(",")
}
_CANDIDATE = re2.compile(rb"(?:^|[^A-Za-z0-9])[A-Za-z] ?[A-Za-z] ?[0-9] ?[0-9][ .-]?(?:[A-Za-z0-9] ?[.-]?){10,32}")
_FIND = searcher(_CANDIDATE)
_SEPARATORS = b" .-"
_DIGITS = b"0123456789"
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
        if end and raw[:end].translate(None, _SEPARATORS).decode().upper() not in IBANS:
            yield Finding(start, start + end, "IBAN")
        at = start + (end or 4)


def _length_of(raw: bytes) -> int:
    """The number of letters and digits of the IBAN at the start of `raw`; 0 when there is no valid one."""
    joined = raw.translate(None, _SEPARATORS)
    compact = joined.decode().upper()
    length = _LENGTHS.get(compact[:2], 0)
    if not length or len(compact) < length:
        return 0
    compact = compact[:length]
    if not compact.isalnum() or len(joined[:length].translate(None, _DIGITS)) > length - 10:
        return 0
    return length if int((compact[4:] + compact[:4]).translate(_LETTER_VALUES)) % 97 == 1 else 0


def _end_of(raw: bytes, length: int) -> int:
    """The index behind the first `length` letters and digits; 0 when another one follows directly."""
    end = length
    while (missing := length - len(raw[:end].translate(None, _SEPARATORS))) > 0:
        end += missing
    return 0 if raw[end : end + 1].isalnum() else end
