"""Finds session cookies: in the headers `Cookie` and `Set-Cookie`, and in the lists of an HTTP archive (HAR).

Sources: RFC 6265; the HAR 1.2 format (`cookies: [{name, value}]`), read 2026-11-22.
"""

import re
from collections.abc import Iterator

from gateway.sanitize.detectors.published_examples import is_published_secret
from gateway.sanitize.detectors.secret_spans import line_end
from gateway.sanitize.detectors.secret_values import is_placeholder
from gateway.sanitize.detectors.value_forms import has_high_entropy, is_identifier
from gateway.sanitize.text import Finding, WorkBudget

HEADERS = rb"(?i:cookie):[ \t]?|(?i:-cookie)[ =][\"']?"
"""RE2 pattern of the beginning of a list of cookies in a header or option."""
LISTS = rb"\"cookies\"\s{0,2}:\s{0,2}\["
"""RE2 pattern of the beginning of a HAR's list of cookies."""
_MAX_CHARS = 4096
"""Chosen: how far a list of cookies is read: browsers send up to 4 KB for one. At half long lists are cut; at double
many beginnings in one text cost more."""
_COOKIE = re.compile(rb"([A-Za-z0-9_.$!-]{1,64})=\"?([A-Za-z0-9+/=_.%~:|-]{1,1024})")
_OBJECT = re.compile(
    rb"\"name\"\s{0,2}:\s{0,2}\"([^\"\n]{1,64})\",\s{0,20}\"value\"\s{0,2}:\s{0,2}\"([^\"\\\s]{16,1024})\""
)
_REST = re.compile(rb"[A-Za-z0-9+/=_.%~-]{16,2048}")
_MEASURING = re.compile(
    rb"_(?:ga|gid|gat|fbp|gcl|pk|hj|uet|clck|dd)|__utm|(?i:consent|visitor|optanon|lang|locale|theme)"
)
"""Names of cookies that count visits and keep choices."""


def find_in_header(text: bytes, start: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """Random values of `name=value; name=value`; in `Set-Cookie` only the first is a cookie. Raises BudgetExceeded."""
    is_set = text[max(0, start - 4) : start].lower() == b"set-"
    for cookie in _COOKIE.finditer(text, end, line_end(text, end, _MAX_CHARS)):
        value = cookie.group(2)
        budget.spend(8 + len(value) // 8)
        if not _MEASURING.match(cookie.group(1)) and _is_session(value):
            rest = _REST.match(text, cookie.end(2))
            yield Finding(cookie.start(2), rest.end() if rest else cookie.end(2), "SECRET")
        if is_set:
            return


def find_in_list(text: bytes, _: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """Random values of `[{"name": …, "value": …}]`. Raises BudgetExceeded."""
    close = text.find(b"]", end, end + _MAX_CHARS)
    close = close if close >= 0 else min(len(text), end + _MAX_CHARS)
    budget.spend(8 + (close - end) // 16)
    for cookie in _OBJECT.finditer(text, end, close):
        budget.spend(8)
        if not _MEASURING.match(cookie.group(1)) and _is_session(cookie.group(2)):
            yield Finding(*cookie.span(2), "SECRET")


def _is_session(value: bytes) -> bool:
    return (
        len(value) >= 16
        and has_high_entropy(value)
        and not is_identifier(value)
        and not is_placeholder(value.lower())
        and not is_published_secret(value)
    )
