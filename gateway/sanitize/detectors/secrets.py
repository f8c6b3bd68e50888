"""Secrets: keys in the forms their makers gave them, private keys, JSON web tokens, and values named as secrets."""

from collections.abc import Iterator

import re2

from gateway.sanitize.findings import Finding
from gateway.sanitize.folding import View

_VENDOR = re2.compile(
    rb"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36,255}\b|\bgithub_pat_[A-Za-z0-9_]{22,255}\b"
    rb"|\bsk-(?:proj-|ant-|or-)?[A-Za-z0-9_-]{20,200}|\bxox[abeoprs]-[A-Za-z0-9-]{10,250}|\bAIza[A-Za-z0-9_-]{35}"
)
_PEM = re2.compile(rb"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s\\:,.-]*)")
_JWT = re2.compile(rb"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?")


def find_secrets(view: View) -> Iterator[Finding]:
    text = view.folded
    for pattern in (_VENDOR, _JWT):
        for match in pattern.finditer(text):
            yield Finding(match.start(), match.end(), "SECRET")
    if b"-----BEGIN" in text:
        for match in _PEM.finditer(text):
            end = text.find(b"-----END", match.start(), match.end())
            stop = match.end() if end < 0 else min(text.find(b"-----", end + 8) + 5 or match.end(), match.end())
            yield Finding(match.start(), stop, "SECRET")
