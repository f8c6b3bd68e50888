"""Finds secrets below a heading that makes all values under it secrets: `[passwords]`, `credentials:`, `"secrets": {`.

`syntax_secrets` finds the headings. The names below say nothing, so that a value counts only if it looks drawn at
random or like a password: settings of the program have the same headings (`[password]`, `min_length = 12`).
"""

import re
from collections.abc import Iterator

from gateway.sanitize.detectors.secret_spans import judged, line_end, line_start
from gateway.sanitize.detectors.secret_values import Naming
from gateway.sanitize.text import Finding, WorkBudget

_MANY = rb"(?i:passwords|passwds|secrets|credentials|creds|logins|(?:api|secret|access)[_ -]?keys|tokens)"
HEADINGS = (
    rb"(?:^|\n)[ \t]*\[(?:" + _MANY + rb"|(?i:passw(?:or)?d|secret|credential|login|users|accounts))\][ \t\r]*\n"
    rb"|" + _MANY + rb"(?:[\"']?:[ \t\r]*\n[ \t]|[\"']\s?:\s?\{)"
)  # fmt: skip
"""RE2 pattern of a heading in INI files (Subversion and Shiro have `[users]`), of a mapping in YAML and in JSON."""
_PAIR = re.compile(
    rb"[ \t]{0,40}[\"']?([^\s=\"'#;:\[{<][^\s=\"'#;]{0,79}?)[\"']?[ \t]{0,8}[=:][ \t]{0,8}([\"']?)([^\s\"',]{6,160})"
)
_KEY_ALONE = re.compile(rb"[ \t]{0,80}(?:- )?[\"']?[\w.-]{1,60}[\"']?:\s{1,80}")
_JSON_PAIR = re.compile(rb"\"([^\"\s]{1,80})\"\s?:\s?(\")([^\"\s]{6,160})\"")
_NO_SECRET = re.compile(
    rb"(?i:(?:id|user|login|name|url|uri|host|path|file|mail|arn|region|version|hash|digest|sum|print|image|algorithm"
    rb"|provider|policy|pattern|format|type|regex|public[_-]?key|ref|store|namespace|date|at|sha\d{0,3}))\Z"
)
"""Ends of names below such a heading that have other settings."""
_PAIRED = Naming(strong=True, proves=True, link="paired", quote=b"")
_MAX_ROWS, _MAX_CHARS = 40, 2048
"""Chosen: rows and characters read below one heading: files of settings have fewer logins. At half exports of a
password manager are cut, at double texts of headings cost more."""


def find_below(text: bytes, start: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """The values below the heading at [start, end). Raises BudgetExceeded."""
    budget.spend(12)
    if text[end - 1 : end] == b"{":
        close = text.find(b"}", end, end + _MAX_CHARS)
        close = close if close >= 0 else min(len(text), end + _MAX_CHARS)
        budget.spend((close - end) // 16)
        for pair in _JSON_PAIR.finditer(text, end, close):
            yield from _value(text, pair, _PAIRED, budget)
        return
    heading = text[start:end].lstrip()
    if heading.startswith(b"["):
        depth, row = -1, end
        naming = _PAIRED._replace(proves=heading[1:2] not in (b"u", b"a", b"U", b"A") or b"api" in heading.lower())
    else:
        row, naming = text.rfind(b"\n", start, end) + 1, _PAIRED
        low = line_start(text, row - 1)
        if _KEY_ALONE.fullmatch(text, low, row) is None:
            return  # a line of code that ends in a colon
        depth = _indent(text, low, row)
    for _ in range(_MAX_ROWS):
        row_end = line_end(text, row)
        budget.spend(5)
        if text[row:row_end].strip() and (_indent(text, row, row_end) <= depth or text[row : row + 1] == b"["):
            return
        setting = _PAIR.match(text, row, row_end)
        if setting is not None:
            yield from _value(text, setting, naming, budget)
        row = row_end + 1
        if row >= len(text):
            return


def _indent(text: bytes, low: int, high: int) -> int:
    return high - low - len(text[low:high].lstrip(b" \t"))


def _value(text: bytes, pair: re.Match[bytes], naming: Naming, budget: WorkBudget) -> Iterator[Finding]:
    budget.spend(4)
    if _NO_SECRET.search(pair.group(1)) is None:
        finding = judged(text, pair.start(3), pair.group(3), naming._replace(quote=pair.group(2)), budget)
        if finding is not None:
            yield finding
