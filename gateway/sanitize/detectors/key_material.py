"""Finds keys by the block or list around them: private keys in PEM, Kubernetes secrets, JSON web keys, PuTTY keys,
recovery codes, words.

Sources: RFC 7517 and 7518 (JSON web keys), Kubernetes' Secret, BIP 39
(12 to 24 words), the files of PuTTY and of Ansible's vault; read 2026-11-22.
"""

import re
from collections.abc import Iterator
from itertools import takewhile

from gateway.sanitize.detectors.named_secrets import judged
from gateway.sanitize.detectors.value_forms import Naming
from gateway.sanitize.findings import Finding
from gateway.sanitize.folding import View
from gateway.sanitize.work_budget import WorkBudget

_MAX_CHARS = 4096
"""How far a block reaches from its first word."""
BEGINNINGS = (
    rb"kind[\"']?:[ \t]{0,3}[\"']?[sS]ecret\b|\"kty\"|Private-Lines: |\$ANSIBLE_VAULT;"
    rb"|(?i:mnemonic|(?:seed|recovery|backup|secret) phrase|wiederherstellungsphrase|phrase de recuperation"
    rb"|frase (?:de recuperacion|semilla)|frase di recupero)|(?i:(?:recovery|backup|scratch|emergency"
    rb"|one-time) codes?)"
)
_OWNED = Naming(strong=True, proves=True, link="assigned", quote=b"")
_NEXT_DOCUMENT = re.compile(rb"\n---|\nkind:")
_DATA_PAIR = re.compile(
    rb"(?m)^[ \t]{1,12}[\w.-]{1,80}:[ \t]{1,3}(?:[|>][+-]?[ \t]{0,4}\r?\n[ \t]{1,20})?"
    rb"[\"']?([A-Za-z0-9+/]{8,2048}={0,2})[\"']?[ \t\r]*$"
    rb"|\"[\w.-]{1,80}\"[ \t]?:[ \t]?\"([A-Za-z0-9+/]{8,2048}={0,2})\""
)
_DATA = re.compile(rb"(?:\A|[\n\s{,\"])data\"?:[ \t]{0,3}(?=[\n{])")
_STRING_DATA = re.compile(rb"(?:\A|[\n\s{,\"])stringData\"?:[ \t]{0,3}(?=[\n{])")
_STRING_PAIR = re.compile(rb"(?m)^[ \t]{1,12}[\w.-]{1,80}:[ \t]{1,3}[\"']?([^\s\"'|>]{6,160})")
_END_OF_DATA = re.compile(rb"\n(?=[A-Za-z])|\}")
_PRIVATE_PART = re.compile(rb"\"(?:d|p|q|dp|dq|qi|k)\"\s{0,3}:\s{0,3}\"([A-Za-z0-9_-]{20,2048})\"")
_PRIVATE_LINES = re.compile(rb"\d{1,3}\r?\n((?:[A-Za-z0-9+/=]{4,76}\r?\n?){1,80})")
_VAULT = re.compile(rb"[\d.]{1,5};AES256[;\w-]{0,40}\s{1,20}((?:[0-9a-f]{16,90}\s{0,20}){1,200})")
_WORDS = re.compile(
    rb"[*_]{0,3}(?:\s{1,2}(?:is|was))?\s{0,3}[:=\"'`][\s\"'`*]{0,6}"
    rb"((?:(?:\d{1,2}[.)]? )?[a-z]{3,8}(?:,? |\n)[ \t]{0,8}){11,23}(?:\d{1,2}[.)]? )?[a-z]{3,8})(?![A-Za-z])"
)
_WORD = re.compile(rb"[a-z]{3,8}")
_COUNTS = (12, 15, 18, 21, 24)
_NO_SEED_WORDS = frozenset(
    b"the and for are was has not its from can may which your these those were does used will must been".split()
)
"""Words of sentences that are not in BIP 39's list."""
_CODES = re.compile(
    rb"[\"'*_]{0,3}(?:[ \t]{0,3}(?:are|is))?[:\"'*\]\[\s,(-]{1,20}+"
    rb"((?:(?:[-*] |\d{1,2}[.)] )?[A-Za-z0-9]{4,12}(?:-[A-Za-z0-9]{3,12}){0,5}(?:[\"',;\s]{1,8}|\Z)){2,20})"
)
_CODE = re.compile(rb"(?<![A-Za-z0-9-])[A-Za-z0-9]{4,12}(?:-[A-Za-z0-9]{3,12}){0,5}(?![A-Za-z0-9-])")
_DIGIT = re.compile(rb"[0-9]")


_KEY_BODY = re.compile(
    rb"-----BEGIN (?:(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?|OpenVPN [A-Za-z0-9 -]{1,30})-----"
    rb"(?:[A-Za-z0-9+/=]{1,200}(?![A-Za-z0-9-])|[:,-]|\s|\\n|\\r|(?!))*+"
)
_KEY_END = re.compile(rb"-----END (?:(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?|OpenVPN [A-Za-z0-9 -]{1,30})-----")
_WHOLE_ROW = re.compile(rb"[A-Za-z0-9+/]{32,76}={0,2}[ \t\r]{0,4}")
_KEY_ROW = re.compile(rb"[A-Za-z0-9+/=]{16}")
_MAX_KEY_CHARS = 16_384
"""Twice the longest key that a stream holds back."""
_NOT_SEARCHED = -2


def find_key_material(view: View, budget: WorkBudget) -> Iterator[Finding]:
    """Findings of the entity SECRET, in folded offsets; not in order. Raises BudgetExceeded."""
    text = view.folded
    if b"-----BEGIN" in text:
        yield from _find_private_keys(text, budget)
    if b"PRIVATE KEY-----" in text:
        yield from _find_headless_keys(text, budget)


def find_block(text: bytes, start: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """The secrets in the block or list that begins with the words at [start, end). Raises BudgetExceeded."""
    mark = text[start : start + 1]
    budget.spend(20)
    if mark == b"k":
        yield from _kubernetes(text, start, budget)
    elif mark == b'"':
        low, high = text.rfind(b"{", max(0, start - 2048), start), text.find(b"}", end, end + _MAX_CHARS)
        budget.spend((max(high, end) - max(low, 0)) // 16 if low >= 0 else 0)
        for part in _PRIVATE_PART.finditer(text, max(low, 0), high) if low >= 0 and high >= 0 else ():
            yield Finding(*part.span(1), "SECRET")
    elif mark == b"P":
        yield from _block(_PRIVATE_LINES.match(text, end), budget, certain=True)
    elif mark == b"$":
        yield from _block(_VAULT.match(text, end), budget, certain=False)
    elif text[end - 5 : end].lower().startswith((b"code", b"odes")) or text[end - 4 : end].lower() == b"code":
        yield from _codes(text, end, budget)
    else:
        words = _WORDS.match(text, end)
        if words is not None:
            each = _WORD.findall(words.group(1))
            budget.spend(len(words.group()) // 8)
            if len(each) in _COUNTS and _NO_SEED_WORDS.isdisjoint(each):
                yield Finding(*words.span(1), "SECRET")


def _block(match: re.Match[bytes] | None, budget: WorkBudget, certain: bool) -> Iterator[Finding]:
    if match is not None:
        start, end = match.span(1)
        budget.spend((end - start) // 8)
        yield Finding(start, start + len(match.group(1).rstrip()), "SECRET", certain)


def _codes(text: bytes, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """Codes of one length, most with digits, in a list of two or more."""
    listed = _CODES.match(text, end)
    if listed is None:
        return
    each = [*_CODE.finditer(text, *listed.span(1))]
    codes = [*takewhile(lambda code: len(code.group()) == len(each[0].group()), each)]
    with_digits = sum(_DIGIT.search(code.group()) is not None for code in codes)
    budget.spend(len(listed.group()) // 4)
    if (
        len(codes) > 1
        and 2 * with_digits > len(codes)
        and len({len(code.group()) for code in codes}) == 1
        and len(codes[0].group()) >= 6
    ):
        for code in codes:
            yield Finding(*code.span(), "SECRET")


def _kubernetes(text: bytes, start: int, budget: WorkBudget) -> Iterator[Finding]:
    """The values of `data` (base64) and `stringData` in the document around `kind: Secret`."""
    low = max(text.rfind(b"\n---", max(0, start - _MAX_CHARS), start), start - _MAX_CHARS, 0)
    ending = _NEXT_DOCUMENT.search(text, start + 4, start + _MAX_CHARS)
    high = ending.start() if ending else min(len(text), start + _MAX_CHARS)
    budget.spend((high - low) // 4)
    for data in _DATA.finditer(text, low, high):
        close = _END_OF_DATA.search(text, data.end(), high)
        for pair in _DATA_PAIR.finditer(text, data.end(), close.start() if close else high):
            group = 1 if pair.group(1) is not None else 2
            if len(pair.group(group).rstrip(b"=")) % 4 != 1 and not pair.group(group).isalpha():
                yield Finding(*pair.span(group), "SECRET")
    for data in _STRING_DATA.finditer(text, low, high):
        close = _END_OF_DATA.search(text, data.end(), high)
        for pair in _STRING_PAIR.finditer(text, data.end(), close.start() if close else high):
            finding = judged(text, pair.start(1), pair.group(1), _OWNED, budget)
            if finding is not None:
                yield finding


def _find_headless_keys(text: bytes, budget: WorkBudget) -> Iterator[Finding]:
    """The rows above `-----END … PRIVATE KEY-----` where the text was cut and the line BEGIN is not in it."""
    at = text.find(b"-----END")
    while at >= 0:
        budget.spend(16)
        first, row_end = at, at - 1
        while row_end > max(0, at - _MAX_KEY_CHARS):
            row_start = text.rfind(b"\n", max(0, row_end - 100), row_end) + 1
            if not _WHOLE_ROW.fullmatch(text, row_start, row_end):
                break
            first, row_end = row_start, row_start - 1
            budget.spend(6)
        closing = _KEY_END.match(text, at) if first < at else None
        if closing is not None and not text.startswith(b"-----BEGIN", text.rfind(b"\n", 0, max(0, first - 1)) + 1):
            yield Finding(first, closing.end(), "SECRET")
        at = text.find(b"-----END", at + 8)


def _find_private_keys(text: bytes, budget: WorkBudget) -> Iterator[Finding]:
    """Private keys from BEGIN to END; without an END line, as far as the characters of keys follow."""
    at, closing_at = text.find(b"-----BEGIN"), _NOT_SEARCHED
    while at >= 0:
        body = _KEY_BODY.match(text, at, at + _MAX_KEY_CHARS)
        budget.spend(16)
        end = at + 10
        if body is not None:
            if closing_at == _NOT_SEARCHED or 0 <= closing_at < at:
                closing_at = text.find(b"-----END", at)
            closing = _KEY_END.match(text, closing_at) if at < closing_at < at + _MAX_KEY_CHARS else None
            end = closing.end() if closing else body.end()
            while text[end - 1] in b" \t\r\n":
                end -= 1
            # a listing of `-----BEGIN …-----` lines, or a key left out as `...`, has no row of base64
            if _KEY_ROW.search(text, at + len(b"-----BEGIN PRIVATE KEY-----"), end) or body.end() >= len(text):
                yield Finding(at, end, "SECRET")
        at = text.find(b"-----BEGIN", end)
