"""Finds public IPv4 and IPv6 addresses.

Not reported: private, loopback, multicast and documentation ranges (IANA special-purpose registries, as in
`ipaddress`), well-known public resolvers, version numbers and object ids.
"""

import ipaddress
import re
from collections.abc import Iterator

import re2

from gateway.sanitize.detectors.re2_search import searcher, spans
from gateway.sanitize.text.findings import Finding
from gateway.sanitize.text.folding import View
from gateway.sanitize.text.work_budget import WorkBudget

_CLASS = bytes(
    0x64
    if 0x30 <= code <= 0x39
    else 0x61
    if chr(code).isascii() and (chr(code).isalpha() or code == 0x5F)
    else code
    if code in b".-:"
    else 0x20
    for code in range(256)
)
"""Maps digits to `d`, other letters and `_`, which must not be beside an address, to `a`, `.-:` to themselves, all else
to a blank."""
_MAY_BE_V4 = searcher(re2.compile(rb"d\.d{1,3}\.d{1,3}\.d"))
_MAY_BE_V6 = searcher(re2.compile(rb"d[ad]{3}:[ad]{0,4}:"))
"""What every address has, in classes: both begin with one fixed byte, to which RE2 skips. The searches behind them read
each byte (1.4 ms a megabyte)."""
_V4 = re.compile(rb"d(?<![ad]d)(?<!d\.d)d{0,2}\.d{1,3}\.d{1,3}\.d{1,3}(?![ad]|[.-]d)")
_V6 = re2.compile(rb"[23][0-9A-Fa-f]{3}:(?:[0-9A-Fa-f]{0,4}:){1,6}[0-9A-Fa-f]{0,4}")
_FIND_V6 = searcher(_V6)
_MAX_PARSED = 150
"""Different IPv6 candidates of one text that are parsed, at 32 units (10 µs) each; later ones count as public.
Chosen: at half long logs are masked unchecked sooner; at double a hostile text spends up to 9,600 units."""
_VERSION = re.compile(
    rb"(?:^|[^a-z])(?:version|ver\.?|release|build|firmware|driver|section|chapter|rfc|oid|v)[\s:=\"']{0,3}\Z"
)
_VERSIONED = re2.compile(
    rb"(?:version|ver\.?|release|build|firmware|driver|section|chapter|rfc|oid|v)[\s:=\"']{0,3}[0-9]{1,3}\.[0-9]{1,3}\.[0-9]"
)
_REVERSE_NAME = re.compile(rb"\.(?:in-addr|ip6\.arpa|g[0-9a-f]{7})")
_SMALL = re.compile(rb"(?:[1-3]?\d\.){3}[1-3]?\d")
"""Four numbers below 40 are sections and versions far more often than addresses: one address in 1,600 is so small."""
_ADDRESS_WORD = re.compile(
    rb"\b(?:ips?|ipv4|address(?:es)?|hosts?|pings?|dns|server|peer|client|gateway|router|from|at)\b"
)
_ASSIGNED = re.compile(
    rb"(?:ip|ipv4|addr|address|host|hostname|client|server|peer|for|from|to|by|remote|src|dst|source|destination|user|ffff):\Z"
)
"""Words that introduce an address with a colon (`client:1.2.3.4`). A colon behind another word separates a package or
image from its version (`nginx:1.2.3.4`). `::ffff:` introduces an IPv4 address in IPv6 (RFC 4291)."""
_HEADING = re.compile(rb"\A[ \t>]*(?:#{1,6}[ \t]+|[-*+] \[)\Z")
_WORD_REACH_CHARS = 24
"""Chosen: a word or two before the address. At half "the address is" is lost; at double words of other sentences."""
_PUBLIC_V4 = re.compile(
    rb"(?!(?:0|10|127|22[4-9]|2[3-9]\d|172\.(?:1[6-9]|2\d|3[01])|192\.168|169\.254|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])"
    rb"|192\.0\.[02]|198\.1[89]|198\.51\.100|203\.0\.113)\.)O\.O\.O\.O".replace(
        b"O", rb"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
    )
)
"""Naive form: `ipaddress.IPv4Address(text).is_global` and not `is_multicast`, at a fraction of the cost; tested against
it."""
_RESOLVERS = frozenset((
    "8.8.8.8", "8.8.4.4", "1.1.1.1", "1.0.0.1", "1.1.1.2", "1.1.1.3", "9.9.9.9", "149.112.112.112", "208.67.222.222",
    "208.67.220.220", "94.140.14.14", "4.2.2.2", "8.26.56.26", "2001:4860:4860::8888", "2001:4860:4860::8844",
    "2606:4700:4700::1111", "2606:4700:4700::1001", "2620:fe::fe",
))  # fmt: skip


_RAW_RESOLVERS = frozenset(address.encode() for address in _RESOLVERS)


def find_ip_addresses(view: View, budget: WorkBudget) -> Iterator[Finding]:
    """Findings of the entity IP, in folded offsets; IPv4 first. Raises BudgetExceeded."""
    text = view.folded
    is_public_by_text: dict[bytes, bool] = {}
    classes = text.translate(_CLASS)
    if _MAY_BE_V4(classes, 0)[0] >= 0:
        yield from _find_v4(view, classes, budget)
    if _MAY_BE_V6(classes, 0)[0] >= 0:
        for start, end in spans(_FIND_V6, text):
            raw = text[start:end]
            budget.spend(9)
            if _is_bounded(text, start, end):
                is_public = is_public_by_text.get(raw)
                if is_public is None:
                    budget.spend(5)
                    is_public = is_public_by_text[raw] = len(is_public_by_text) > _MAX_PARSED or _is_public(raw, budget)
                if is_public:
                    yield Finding(start, end, "IP")


def _find_v4(view: View, classes: bytes, budget: WorkBudget) -> Iterator[Finding]:
    text = view.folded
    spans = [match.span() for match in _V4.finditer(classes)]
    if not spans:
        return
    budget.spend(5 * len(spans))
    versioned = _VERSIONED.search(view.lower) is not None
    for start, end in spans:
        raw = text[start:end]
        if _PUBLIC_V4.fullmatch(raw) and raw not in _RAW_RESOLVERS:
            if text[start - 1 : start] == b":" and not _ASSIGNED.search(view.lower, max(0, start - 16), start):
                continue
            if versioned and _VERSION.search(view.lower, max(0, start - 13), start):
                continue
            if _is_numbering(view.lower, start, end):
                continue
            yield Finding(start, end, "IP")


def _is_numbering(lower: bytes, start: int, end: int) -> bool:
    """Whether the four numbers at [start, end) count sections or versions, or are a name of the reverse zone."""
    if _REVERSE_NAME.match(lower, end):
        return True
    line = lower[max(0, start - _WORD_REACH_CHARS) : start].rpartition(b"\n")[2]
    if _HEADING.match(line):
        return True
    return _SMALL.fullmatch(lower, start, end) is not None and _ADDRESS_WORD.search(line) is None


def _is_bounded(text: bytes, start: int, end: int) -> bool:
    """Whether [start, end) is not part of a longer word or number."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if before[-1:].isalnum() or after[:1].isalnum() or before[-1:] in (b"_", b":") or after[:1] == b"_":
        return False
    return not (before[-1:] == b"." and before[:1].isdigit()) and not (
        after[:1] in (b".", b"-") and after[1:].isdigit()
    )


def _is_public(raw: bytes, budget: WorkBudget) -> bool:
    budget.spend(32)
    try:
        address = ipaddress.ip_address(raw.decode())
    except ValueError:
        return False
    return address.is_global and not address.is_multicast and str(address) not in _RESOLVERS
