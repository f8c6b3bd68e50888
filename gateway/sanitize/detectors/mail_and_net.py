"""Finds e-mail addresses: plain ones, and ones with `at` and `dot` spelt out in words or brackets.

Any top-level domain of two to 24 letters is accepted; there is no list of domains. Package coordinates
(`@types/node@1.2`), `user@host` without a dot, image names and addresses of repositories are not e-mail addresses.
"""

import hashlib
import ipaddress
import re
from collections.abc import Iterator

import re2

from gateway.sanitize.findings import Finding
from gateway.sanitize.folding import SPELT_AT, View
from gateway.sanitize.re2_search import searcher, spans
from gateway.sanitize.work_budget import WorkBudget

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
    rb"(?![A-Za-z0-9\x02]|[_-]{1,4}[A-Za-z0-9\x02])"
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
_FIND_SPELT_AT = searcher(re2.compile(SPELT_AT))


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
            is_italic = text[domain.end() : domain.end() + 1] == b"_"
            while start < at and text[start] in (b".'{}|~-%_" if is_italic else b".'{}|~-%"):
                start += 1
            is_repository = text[start:at] in _LOGINS and text[domain.end() : domain.end() + 1] in (b":", b"/")
            if start < at and not is_repository and domain.group(1).lower() not in _FILE_TYPES:
                yield Finding(start, domain.end(), "EMAIL")
    if view.may_be_spelt:
        yield from _find_spelt(view, budget)


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


# ----------------------------------------------------------------------------------------------------
# Finds public IPv4 and IPv6 addresses.
#
# Not reported: private, loopback, multicast and documentation ranges (IANA special-purpose registries, as in
# `ipaddress`), well-known public resolvers, version numbers and object ids.
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
"""Different IPv6 candidates of one text that are parsed, at 32 units (10 µs) each; later ones count as public."""
_VERSION = re.compile(
    rb"(?:^|[^a-z])(?:version|ver\.?|release|build|firmware|driver|section|chapter|rfc|oid|v)[\s:=\"']{0,3}\Z"
)
_VERSIONED = re2.compile(
    rb"(?:version|ver\.?|release|build|firmware|driver|section|chapter|rfc|oid|v)[\s:=\"']{0,3}[0-9]{1,3}\.[0-9]{1,3}\.[0-9]"
)
_REVERSE_NAME = re.compile(rb"\.(?:in-addr|ip6\.arpa|g[0-9a-f]{7})")
_SMALL = re.compile(rb"(?:[1-3]?\d\.){3}[1-3]?\d")
"""Four numbers below 40 are sections and versions far more often than addresses: one address in 1,600 is so small. And
one that ends in 0 is a version or a network."""
_ADDRESS_WORD = re.compile(
    rb"\b(?:ips?|ipv4|address(?:es)?|hosts?|pings?|dns|server|peer|client|gateway|router|from|at)\b"
)
_ASSIGNED = re.compile(
    rb"(?:ip|ipv4|addr|address|host|hostname|client|server|peer|for|from|to|by|remote|src|dst|source|destination|user|ffff):\Z"
)
"""Words that introduce an address with a colon (`client:1.2.3.4`). A colon behind another word separates a package or
image from its version (`nginx:1.2.3.4`). `::ffff:` introduces an IPv4 address in IPv6 (RFC 4291)."""
_HEADING = re.compile(rb"\A[ \t>]*(?:#{1,6}[ \t]+\[?|[-*+] \[)\Z")
_REQUIRED = re.compile(rb"(?:[=~<>!]=|~>|[\^~]|(?:upgrad|downgrad|updat)[a-z]{1,3} (?:to|from)|replaces) ?\Z")
"""What stands before the version of a package that is wanted or was replaced."""
_NAME_BEFORE = re.compile(rb"[a-z][a-z0-9]{0,30}-v?\Z")
_FILE_BEHIND = re.compile(rb"\.[a-z]")
_WORD_REACH_CHARS = 24
"""A word or two before the address."""
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
            if not text[start - 1 : start].isalnum() and not text[end : end + 1].isalnum():
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
    lower = view.lower
    versioned = _VERSIONED.search(lower) is not None
    versions, found = set[bytes](), list[tuple[int, int]]()
    for start, end in spans:
        raw = text[start:end]
        if not _PUBLIC_V4.fullmatch(raw) or raw in _RAW_RESOLVERS or _REVERSE_NAME.match(lower, end):
            continue
        line = lower[max(0, start - _WORD_REACH_CHARS) : start].rpartition(b"\n")[2]
        if text[start - 1 : start] == b":" and not _ASSIGNED.search(lower, max(0, start - 16), start):
            continue
        if versioned and _VERSION.search(lower, max(0, start - 13), start):
            versions.add(raw)
        elif _ADDRESS_WORD.search(line):
            yield Finding(start, end, "IP")
        elif _HEADING.match(line) or _REQUIRED.search(line) or _is_in_name(lower, line, end):
            versions.add(raw)
        elif _SMALL.fullmatch(raw) is None and (not raw.endswith(b".0") or lower[end : end + 1] == b"/"):
            found.append((start, end))
    yield from (Finding(start, end, "IP") for start, end in found if text[start:end] not in versions)


def _is_in_name(lower: bytes, line: bytes, end: int) -> bool:
    """Whether four numbers that end at `end` are part of the name of a file or package. `line`: what is before them."""
    return _NAME_BEFORE.search(line) is not None or _FILE_BEHIND.match(lower, end) is not None


def _is_public(raw: bytes, budget: WorkBudget) -> bool:
    budget.spend(32)
    try:
        address = ipaddress.ip_address(raw.decode())
    except ValueError:
        return False
    return address.is_global and not address.is_multicast and str(address) not in _RESOLVERS


# ----------------------------------------------------------------------------------------------------
# Finds cryptocurrency addresses with a valid checksum, and private keys in wallet import format (entity SECRET).
#
# Sources: Bitcoin's Base58Check and BIP 173/350 (bech32), read 2026-11-21. Ethereum addresses are recognised
# by their form alone.
_CANDIDATE = re2.compile(
    rb"(?:^|[^A-Za-z0-9])(?:0x[0-9a-fA-F]{40}|(?:bc1|tb1|ltc1|addr1|cosmos1)[ac-hj-np-z02-9]{38,103}"
    rb"|[13LMDTAXr5KQ9c][1-9A-HJ-NP-Za-km-z]{24,51})(?:[^A-Za-z0-9]|$)"
)
_FIND = searcher(_CANDIDATE)
_MAX_CHECKED = 100
"""Checksums calculated for one text; later candidates count as addresses."""
_BITCOIN, _RIPPLE = (
    (alphabet[:1], bytes.maketrans(alphabet, bytes(range(58))))
    for alphabet in (
        b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
        b"rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz",
    )
)
"""(the character for 0, the translation of characters to values) of both Base58 alphabets."""
_BECH32_ALPHABET = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_BECH32_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


def find_wallets(view: View, budget: WorkBudget) -> Iterator[Finding]:
    """Findings of the entities CRYPTO_WALLET and SECRET, in order, in folded offsets. Raises BudgetExceeded."""
    text = view.folded
    for number, (start, end) in enumerate(view.long_words.find(_FIND, overlap=1), 1):
        start += not text[start : start + 1].isalnum()
        end -= not text[end - 1 : end].isalnum()
        budget.spend(16)
        entity = _entity_of(text[start:end], budget) if number < _MAX_CHECKED else "CRYPTO_WALLET"
        if entity:
            yield Finding(start, end, entity)


def _entity_of(value: bytes, budget: WorkBudget) -> str:
    if value.startswith(b"0x"):
        return "CRYPTO_WALLET" if len(set(value[2:])) > 4 else ""  # not the null address or similar fillers
    if value.startswith((b"bc1", b"tb1", b"ltc1", b"addr1", b"cosmos1")):
        budget.spend(8 + 5 * len(value) // 4)
        return "CRYPTO_WALLET" if _bech32_valid(value) else ""
    budget.spend(26)
    return _base58_entity(value)


def _base58_entity(value: bytes) -> str:
    """The entity by the size of the payload: 21 bytes are an address, 33 or 34 a private key, others nothing."""
    size = _base58_payload(value, *(_RIPPLE if value[:1] == b"r" else _BITCOIN))
    return {21: "CRYPTO_WALLET", 33: "SECRET", 34: "SECRET"}.get(size, "")


def _base58_payload(value: bytes, zero: bytes, values: bytes) -> int:
    """The payload's size in bytes if the checksum is valid, else 0."""
    number = 0
    for digit in value.translate(values):
        number = number * 58 + digit
    zeros = len(value) - len(value.lstrip(zero))
    raw = b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8, "big")
    if len(raw) not in (25, 37, 38):
        return 0
    digest = hashlib.sha256(hashlib.sha256(raw[:-4]).digest()).digest()
    return len(raw) - 4 if digest[:4] == raw[-4:] else 0


def _bech32_valid(value: bytes) -> bool:
    """Whether the checksum is that of bech32 (1) or bech32m (0x2bc830a3)."""
    prefix, _, rest = value.rpartition(b"1")
    data = [_BECH32_ALPHABET.find(code) for code in rest]
    if -1 in data:
        return False
    check = 1
    for step in [code >> 5 for code in prefix] + [0] + [code & 31 for code in prefix] + data:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ step
        for bit in range(5):
            check ^= _BECH32_GENERATOR[bit] if (top >> bit) & 1 else 0
    return check in (1, 0x2BC830A3)
