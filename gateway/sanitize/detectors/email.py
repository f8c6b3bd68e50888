"""Finds e-mail addresses: plain ones, and ones with `at` and `dot` spelt out in words or brackets.

Any top-level domain of two to 24 letters is accepted; there is no list of domains. Package coordinates
(`@types/node@1.2`), `user@host` without a dot, image names and addresses of repositories are not e-mail addresses.
"""

import re
from collections.abc import Iterator

import re2

from gateway.sanitize.detectors.re2_search import searcher, spans
from gateway.sanitize.text.findings import Finding
from gateway.sanitize.text.folding import View
from gateway.sanitize.text.work_budget import WorkBudget

_LOCAL_CLASS = bytes(
    0x6C if code in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\x02._%+'{}|~-" else 0x20
    for code in range(256)
)
_SPELT_LOCAL_CLASS = bytes(
    0x6C if code in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\x02._%+-" else 0x20
    for code in range(256)
)
_PLAIN = re2.compile(rb"[A-Za-z0-9\x02_%+'{}|~\"-]@[A-Za-z0-9\x02][A-Za-z0-9\x02.-]{0,200}\.[A-Za-z\x02]")
_FIND_PLAIN = searcher(_PLAIN)
_DOMAIN = re.compile(
    rb"(?:[A-Za-z0-9\x02](?:[A-Za-z0-9\x02-]{0,61}[A-Za-z0-9\x02])?\.){1,8}([A-Za-z\x02]{2,24}|xn--[A-Za-z0-9-]{2,59})"
    rb"(?![A-Za-z0-9\x02_-])"
)
_QUOTE = ord('"')
_QUOTED_LOCAL = re.compile(rb"(?<![\w\"])(\"[^\"\n\\<>@,;:=]{1,64}\")\Z")
"""A local part in quotation marks, which may have blanks (RFC 5322, 3.4.1)."""
_FILE_TYPES = frozenset(b"png jpg jpeg gif svg webp avif ico js mjs css html json xml".split())  # icon@2x.png
_LOGINS = frozenset((b"git", b"hg"))  # git@host:path is how repositories are addressed
_AT = rb"\s{0,2}(?:[\[({<]\s?(?:at|@)\s?[\])}>]|\s(?:at|@)\s)\s{0,2}"
_DOT = rb"\s{0,2}(?:[\[({<]\s?(?:dot|\.|punkt|punto|point)\s?[\])}>]|\sdot\s|\s\.\s|(?<!\s)\.(?!\s))\s{0,2}"
"""A full stop with a blank behind it alone ends a sentence."""
_SPELT = re.compile(
    rb"[a-z0-9\x02._%+-]{1,64}" + _AT + rb"[a-z0-9\x02-]{1,63}(?:" + _DOT + rb"[a-z0-9\x02-]{1,63}){0,5}"
    + _DOT + rb"[a-z]{2,24}\b"
)  # fmt: skip
_FIND_SPELT_AT = searcher(
    re2.compile(rb"[\[({<]\s?(?:at|@)\s?[\])}>]| (?:at|@) [a-z0-9-]{1,63} ?(?:dot |\[dot|\(dot)| @ ")
)
"""An `at` in brackets, or as a word with a spelt `dot` behind it. One pattern, as each search reads the whole text."""


def find_emails(view: View, budget: WorkBudget) -> Iterator[Finding]:
    """Findings of the entity EMAIL, in folded offsets; plain ones first. Raises BudgetExceeded."""
    text = view.folded
    if b"@" in text:
        for start, _ in spans(_FIND_PLAIN, text):
            at = start + 1
            budget.spend(10)
            domain = _DOMAIN.match(text, at + 1)
            if domain is None:
                continue
            if text[start] == _QUOTE:
                quoted = _QUOTED_LOCAL.search(text, max(0, at - 66), at)
                if quoted is not None:
                    yield Finding(quoted.start(1), domain.end(), "EMAIL")
                continue
            start = at - 64 if at > 64 else 0
            start += text[start:at].translate(_LOCAL_CLASS).rfind(b" ") + 1
            while start < at and text[start] in b".'{}|~-%":
                start += 1
            is_repository = text[start:at] in _LOGINS and text[domain.end() : domain.end() + 1] in (b":", b"/")
            if start < at and not is_repository and domain.group(1).lower() not in _FILE_TYPES:
                yield Finding(start, domain.end(), "EMAIL")
    yield from _find_spelt(view, budget)


def is_any_spelt(lower: bytes) -> bool:
    """Whether a folded text in lower case may hold an address that is spelt out."""
    return _FIND_SPELT_AT(lower, 0)[0] >= 0


def _find_spelt(view: View, budget: WorkBudget) -> Iterator[Finding]:
    """`jane [at] example [dot] org`, `jane at example dot org`. Either `at` has brackets or `dot` is a word: prose has
    not."""
    text = view.lower
    for mark_start, mark_end in spans(_FIND_SPELT_AT, text):
        start = mark_start
        budget.spend(22)
        while start > 0 and mark_start - start < 64 and text[start - 1] in b" ":
            start -= 1
        low = max(0, start - 64)
        begin = low + text[low:start].translate(_SPELT_LOCAL_CLASS).rfind(b" ") + 1
        match = _SPELT.match(text, begin, begin + 400) if begin < start else None
        if match is None:
            continue
        is_apart = text[mark_start:mark_end] == b" @ " and match.group().rpartition(b".")[2] not in _FILE_TYPES
        is_bracketed = text[mark_start:mark_end][:1] != b" "
        if is_bracketed or is_apart or b"dot" in text[mark_start : match.end()]:
            yield Finding(begin, match.end(), "EMAIL")
