"""Finds international bank account numbers, with or without separators, by the country's form and mod-97 check (ISO
13616).

Source of the forms: the SWIFT IBAN registry, release 101, as python-stdnum 2.2 has it, read 2026-11-23.
"""

import re
from collections.abc import Iterator
from functools import cache

import re2

from gateway.sanitize.detectors.published_examples import IBANS
from gateway.sanitize.detectors.re2_search import searcher
from gateway.sanitize.text.findings import Finding
from gateway.sanitize.text.folding import View
from gateway.sanitize.text.work_budget import WorkBudget

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
_RUN = re.compile(r"(\d{1,2})([nac])")
_KINDS = {"n": "[0-9]", "a": "[A-Z]", "c": "[A-Z0-9]"}
_CANDIDATE = re2.compile(rb"(?:^|[^A-Za-z0-9])[A-Za-z] ?[A-Za-z] ?[0-9] ?[0-9][ .-]?(?:[A-Za-z0-9] ?[.-]?){10,32}")
_FIND = searcher(_CANDIDATE)
_SEPARATORS = b" .-"
_DIGITS = b"0123456789"
_MIN_DIGITS = 10
"""Chosen: with fewer digits the letters must be all capitals or all small. Most banks give accounts in digits alone; at
half base64 passes for an IBAN once in a hundred candidates, at double capitals and small letters are never mixed."""
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


@cache
def _form(country: str) -> re.Pattern[str] | None:
    """The pattern of a country's numbers; None for one that has none. At most 90 are kept."""
    form = _FORMS.get(country)
    return (
        None
        if form is None
        else re.compile(country + "[0-9]{2}" + _RUN.sub(lambda run: f"{_KINDS[run[2]]}{{{run[1]}}}", form))
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
    if len(letters) > length - _MIN_DIGITS and not (letters.isupper() or letters.islower()):
        return 0
    return length if int((compact[4:] + compact[:4]).translate(_LETTER_VALUES)) % 97 == 1 else 0


def _end_of(raw: bytes, length: int) -> int:
    """The index behind the first `length` letters and digits; 0 when another one follows directly."""
    end = length
    while (missing := length - len(raw[:end].translate(None, _SEPARATORS))) > 0:
        end += missing
    return 0 if raw[end : end + 1].isalnum() else end
