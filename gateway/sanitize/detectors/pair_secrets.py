"""Finds the password of a pair: behind its user (`anna / x`, `CORP\\anna:x`), or before the name it has.

`syntax_secrets` finds the beginnings; `secret_values` judges the values.
"""

import re
from collections.abc import Iterator

from gateway.sanitize.detectors.name_patterns import ANY_NAME, STRONG
from gateway.sanitize.detectors.secret_spans import judged, secret_at
from gateway.sanitize.detectors.secret_values import Naming, quote_before
from gateway.sanitize.text import Finding, WorkBudget

FIRST_VALUES = (
    rb"\b(?i:(?:option_)?value)[\"'`]?\s?[:=]\s{0,2}[\"']?[^\s\"',]{8,100}[\"']?,?\s{1,20}[\"'`]?"
    rb"(?i:where [\"'`]?[\w.]{0,20})?(?i:name|key)[\"'`]?\s?[:=]\s{0,2}"
)
"""RE2 pattern of a value and what leads to the name behind it."""
PAIRS = (
    rb"(?i:jdbc:oracle:(?:thin|oci):)[A-Za-z0-9_.$-]{1,64}/[\"']?"
    rb"|(?i:login|user(?:name)?|account|cred(?:ential)?)s?(?: [a-z]{1,12}){0,4}: {1,2}[A-Za-z0-9_.@-]{1,64} ?/ ?"
    rb"|\b(?i:zugangsdaten|anmeldedaten|identifiants|credenciales|credenziali|inloggegevens): {1,2}[\w.@-]{1,64} ?/ ?"
    rb"|\b(?i:cred(?:ential)?s?|login) ?(?::|=>|->|=|-) {0,2}[A-Za-z0-9_.@-]{1,64}:"
    rb"|\b(?i:cred(?:ential)?s) (?:are|is) [\w.@-]+ ?/ ?"
    rb"|\b(?i:log ?in|sign ?in) (?:with|as|using) [A-Za-z0-9_.@-]{1,64} (?:and|/) "
    rb"|[/,] ?(?i:pass|pwd?)[ :]{1,2}|\buser=[\w.-]+:"
    rb"|[/\\][\w.$-]+:[\"']|[A-Z0-9]\\[A-Za-z][\w.$-]*:|(?:smb|cifs)://[\w.-]+/[\w.$-]+:"
    rb"|(?:^|\n)[ \t]{0,8}Pass [\"']"
    rb"|\b(?i:user(?:name)?|login) ?/ ?(?i:pass(?:word)?|pwd?) ?[:=] ?[A-Za-z0-9_.@-]{1,64} ?[/:] ?"
)
"""RE2 pattern of a user, or of what says that one precedes, and the sign between it and its password. What any path or
name may begin has no upper bound: RE2 has a state for each number that it counts to."""
_PAIRED = Naming(strong=True, proves=True, link="paired", quote=b"")
_STRONG_NAME = re.compile(STRONG)
_FIRST_VALUE = re.compile(rb"[\w\"'\s:=]{5,20}?[:=]\s{0,3}[\"']?([^\s\"',]{8,100})")
_NAME_BEHIND = re.compile(rb"[\"']?[\w.-]{2,60}")
_MAX_USER_CHARS = 80
"""The longest user that is looked for before `/ pass`, with the word that says what it is."""
_USER_BEFORE = re.compile(rb"\b(?i:user(?:name)?|login|as)[ :]{1,2}[\w.@-]{1,64} ?\Z")


def find_before_name(text: bytes, start: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """The value of a pair whose name follows it: `{"value": "x", "name": "API_KEY"}`.

    Raises BudgetExceeded.
    """
    budget.spend(12)
    value, name = _FIRST_VALUE.match(text, start, end), _NAME_BEHIND.match(text, end)
    if value is None or name is None or ANY_NAME.search(name.group()) is None:
        return
    quote = quote_before(text, value.start(1))
    naming = _PAIRED._replace(strong=_STRONG_NAME.search(name.group()) is not None, quote=quote)
    finding = judged(text, value.start(1), value.group(1), naming, budget)
    if finding is not None:
        yield finding


def find_password(text: bytes, start: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """`user/password`, behind the word or address that says so. Raises BudgetExceeded."""
    budget.spend(4)
    needs_user = text[start : start + 1] in (b",", b"/") and text[end - 1 : end] in (b" ", b":")
    if needs_user and _USER_BEFORE.search(text, max(0, start - _MAX_USER_CHARS), start) is None:
        return
    finding = secret_at(text, end, _PAIRED._replace(quote=quote_before(text, end)), budget)
    if finding is not None:
        at = text.find(b"@", finding.start, finding.end)
        yield finding if at < 0 else finding._replace(end=at)
