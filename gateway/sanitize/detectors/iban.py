"""International bank account numbers: the country's own length and a valid mod-97 check, spaced or not.

Source of the lengths: the SWIFT IBAN registry, release 99, as listed on Wikipedia, read 2026-11-21.
"""

from collections.abc import Iterator

import re2

from gateway.sanitize.findings import Finding
from gateway.sanitize.folding import View

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
_SHAPE = re2.compile(rb"(?:^|[^A-Za-z0-9])([A-Za-z] ?[A-Za-z] ?[0-9] ?[0-9][ .-]?(?:[A-Za-z0-9] ?[.-]?){10,32})")
_ALNUM = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
_VALUES = {code: str(int(chr(code), 36)) for code in _ALNUM}


def find_ibans(view: View) -> Iterator[Finding]:
    text, at = view.folded, 0
    while match := _SHAPE.search(text, at):
        start = match.start(1)
        end = _end_of(text, start, min(match.end(1) + 2, len(text)))
        if end:
            yield Finding(start, end, "IBAN")
        at = end or start + 4


def _end_of(text: bytes, start: int, limit: int) -> int:
    """Where the IBAN that begins at `start` ends, 0 when there is none."""
    compact = bytearray()
    length = 0
    for place in range(start, limit):
        if text[place] in _ALNUM:
            compact.append(text[place])
            if len(compact) == 2:
                length = _LENGTHS.get(compact.decode().upper(), 0)
                if not length:
                    return 0
            if len(compact) == length:
                after = text[place + 1 : place + 2]
                return place + 1 if not after.isalnum() and _valid(compact) else 0
    return 0


def _valid(compact: bytearray) -> bool:
    digits = "".join(_VALUES[code] for code in compact[4:] + compact[:4])
    return int(digits) % 97 == 1 and sum(0x30 <= code <= 0x39 for code in compact) >= 10
