"""Guesses the encoding of a page that declares none and is not UTF-8, as browsers do, by how frequent letters are.

Each script has characters that make up most of any text in it; in a wrong encoding they are rare. Latin scripts are not
told apart: they are windows-1252, as the HTML standard has it. Looks at a sample, so the cost does not grow with the
page. Pure.
"""

import re
from typing import NamedTuple

_SAMPLE_BYTES = 40_000
"""Bytes that are judged, from the first non-ASCII one on. Chosen: at half a page that begins with a long menu in
English has fewer words of its own; at double each guess costs twice the 10 ms."""
_MIN_CHARS = 16
"""Non-ASCII characters without which nothing is guessed. Chosen: a few words; at half a name decides, at double the
title of a short page does not count."""
_MAX_BAD = 0.01
"""Share of undecodable characters in a sample: one line of another encoding."""
_MIN_IN_ROWS = 0.5
"""A page is not in Latin script if this share of its non-ASCII bytes is in runs of three or more. In Latin scripts they
are single letters between ASCII letters (a share of .1), in others whole words (.9). Chosen half way."""
_ROW = re.compile(rb"[\x80-\xff](?:[\x40-\x7e]?+[\x80-\xff]){2,}+")
_FIRST_HIGH = re.compile(rb"[\x80-\xff]")
_HIGH = bytes(range(128))
_KANA = frozenset(map(chr, (*range(0x3041, 0x3097), *range(0x30A1, 0x30FB), 0x30FC, 0x3001, 0x3002)))
_HANGUL = frozenset(map(chr, range(0xAC00, 0xD7A4)))
_THAI = frozenset(map(chr, range(0x0E01, 0x0E5C)))
_HANZI = (
    "的一是不了人我在有他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可里后小么心多天而能好都然没日于起还发成"
    "事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿"
    "者向情部正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教西再平真听世气信北少关并内加化由却代军产入先山五太水"
    "這來個國說們為時會著過學對裡後麼沒還發無開經頭見長動兩樣現將進實點種聲話問機給幾業間電門東聽氣關並產與從當"
)


class _Candidate(NamedTuple):
    """An encoding, the characters that are common in texts of its script, and the least share of them."""

    codec: str
    common: frozenset[str]
    least: float


_CANDIDATES = (
    _Candidate("euc_jp", _KANA, 0.3),
    _Candidate("cp932", _KANA, 0.3),
    _Candidate("cp949", _HANGUL, 0.85),
    _Candidate("gb18030", frozenset(_HANZI), 0.25),
    _Candidate("big5hkscs", frozenset(_HANZI), 0.25),
    _Candidate("cp1251", frozenset("оеаинтсрвлкмдпуі"), 0.5),
    _Candidate("koi8-r", frozenset("оеаинтсрвлкмдпу"), 0.5),
    _Candidate("iso8859-5", frozenset("оеаинтсрвлкмдпу"), 0.5),
    _Candidate("cp866", frozenset("оеаинтсрвлкмдпу"), 0.5),
    _Candidate("cp1253", frozenset("αοιετσνηυρπκλμςάίόή"), 0.5),
    _Candidate("cp1255", frozenset("יוהלאתמרבשנ"), 0.45),
    _Candidate("cp1256", frozenset("الينمورتبعده"), 0.45),
    _Candidate("cp874", _THAI, 0.9),
)


def guess(body: bytes) -> str | None:
    """Python's name of the encoding whose script the page is in; None when it looks Latin, or like nothing."""
    first = _FIRST_HIGH.search(body)
    sample = body[first.start() : first.start() + _SAMPLE_BYTES] if first is not None else b""
    high = len(sample.translate(None, _HIGH))
    in_rows = sum(len(row.group().translate(None, _HIGH)) for row in _ROW.finditer(sample))
    if high < _MIN_CHARS or in_rows < _MIN_IN_ROWS * high:
        return None
    best = max(_CANDIDATES, key=(fits := {each: _fit(sample, each) for each in _CANDIDATES}).__getitem__)
    return best.codec if fits[best] >= 1 else None


def _fit(sample: bytes, candidate: _Candidate) -> float:
    """The share of common characters, as a multiple of the least one; 0 for a sample that is not in the encoding."""
    text = sample.decode(candidate.codec, "replace")
    letters = [char for char in text if char > "\x7f" and (char.isalpha() or char == "\ufffd")]
    bad = text.count("\ufffd")
    if len(letters) - bad < _MIN_CHARS // 2 or bad > 1 + _MAX_BAD * len(letters):
        return 0.0
    return sum(map(candidate.common.__contains__, letters)) / len(letters) / candidate.least
