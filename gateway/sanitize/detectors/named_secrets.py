"""Values that are secret because of the name beside them: `password: …`, `api_key = …`, `Bearer …`, `user:pass@host`.

The name decides how much the value must look like a secret: after a password's name a letter and a digit do, after
`key` or `token` it must look random. Placeholders, code and plain words are let through.
"""

import re
from collections.abc import Iterator

import re2

from gateway.sanitize.detectors.re2_search import searcher, spans
from gateway.sanitize.text.findings import Finding
from gateway.sanitize.text.folding import View
from gateway.sanitize.text.work_budget import WorkBudget

_STRONG = (
    rb"(?i:passw(?:or)?ds?|passphrase|passcode|psswor?ds?|passwrd|pswd|userpwd|passin|kennwort|passwort|mot de passe"
    rb"|contrasena|senha|wachtwoord|haslo|parol)|(?:^|[^A-Za-z])(?i:pass|pwd?|pin)|[a-z](?:Pass|Pwd|Pw)|[_-](?i:pwd?|pass)"
)
_WEAK = (
    rb"(?i:secret|token|credentials?|bearer|api[_ -]?key|accesskey|authorization|oauth|signature"
    rb"|connection[_ -]?string)"
    rb"|(?:^|[^A-Za-z])(?i:auth|sig|key|pkey|license)|[a-z](?:Key|Sig|Auth)|[A-Z_-](?:KEY|key)"
)
NAMES = _STRONG + rb"|" + _WEAK
_SUFFIX = rb"(?=([_.0-9A-Z-][A-Za-z0-9_.-]{0,24}(?<!-(?=>))|s|))\1(?:,[a-z]{2,12}| for [a-z0-9]{2,20})?"
_CLOSE = rb"(?:\\?[\"'`]|&quot;|\)|\]|\([A-Za-z]{0,20}\))?"
_OPEN = rb"(?:\(\s?)?(?:\\{0,2}[\"'`]|&quot;)?"
_ASSIGN = (
    rb"(?:\s{0,3}:\s?(?:String|str|string|char\*?|const)\s{0,2}=\s{0,3}|\s{0,3}(?:=>|:=|->|={1,3}|:)\s{0,3}|%3[dDaA]"
    rb"|\s{0,2},\s{0,2}[\"'])"
)
_SPACED = rb"\s{1,3}(?:(?i:is|was|by|=)\s{1,3})?"
_NAMED = re2.compile(NAMES)
_FIND_NAME = searcher(_NAMED)
_NAME = re.compile(NAMES)
_ASSIGNED = re.compile(_SUFFIX + _CLOSE + rb"(?:" + _ASSIGN + rb"|" + _SPACED + rb")" + _OPEN)
"""What leads from a name to its value. Apart from the names, as both in one automaton have too many states."""
_IS_STRONG = re.compile(_STRONG)
_IS_ASSIGNED = re.compile(rb"(?:[=:>,]|%3[dDaA])[\s(\\\"'`]*(?:&quot;)?\Z")
_ELSEWHERE = re2.compile(
    rb"(?i:identified (?:with [a-z0-9_]{2,30} )?by)\s{1,3}[\"'\\]{0,2}"
    rb"|(?i:securestring)\s{1,3}(?:-[A-Za-z]{2,12}\s{1,3}){0,4}[\"'\\]{0,2}"
    rb"|(?:\s-u|--user|--proxy-user)[ =]{1,3}[\"']?[A-Za-z0-9_.@-]{1,64}:"
    rb"|(?i:basic|bearer|ntlm|digest|token)\s{1,2}[\"']?"
    rb"|(?i:/token/|/apikey/|/secret/)"
)
_FIND_ELSEWHERE = searcher(_ELSEWHERE)
_USERINFO = re.compile(
    rb"://(?<=[a-zA-Z0-9+.-]://)(?:[^\s/@:?#\"'<>]{0,128}:([^\s/@\"'<>]{3,256})|([^\s/@:?#\"'<>]{20,256}))@"
)
_VALUE = re.compile(rb"[^\s\"'`<>,;(){}\[\]&|]{4,160}")
_AND = rb"&(?![A-Za-z_][\w.%\[\]-]{0,40}=|[A-Za-z]{2,8};|#[0-9xX])"
_RUN = rb"[^\s\"'`<>,;&|]{1,160}"
_WORD = re.compile(b"(?:" + _AND + b")?" + _RUN + b"(?:" + _AND + _RUN + b"){0,8}")
"""`&` belongs to it, but not where it parts the values of a query or opens an entity."""
_LITERAL = {quote: re.compile(rb"[^\s<>" + quote + rb"]{4,160}(?=" + quote + rb")") for quote in (b'"', b"'", b"`")}
"""A whole quotation without white space."""
_CLOSING = (*_LITERAL, b"\\", b"&")
_NOT_PLAIN = re.compile(rb"[,;(){}\[\]&|]")
_NOT_LETTERS = bytes(code for code in range(256) if not chr(code).isascii() or not chr(code).isalpha())
_NO_VALUES = frozenset(
    b"null none true false undefined string str int required optional bearer basic token password secret example empty"
    b" hidden".split()
)
_DOLLAR, _PERCENT, _BRACKET, _STAR, _MINUS, _DOT, _COLON, _GREATER, _BACKSLASH = b"$%(*-.:>\\"
_FILLER = re.compile(rb"your|xxx|placeholder|redacted|changeme|insert|replace|dummy")
"""Words alone, as the search for them is fast: it goes by their first letters."""
_MARKED_FILLER = re.compile(rb"<|\.\.\.|\*\*\*|[$%{]\{|%\(")
_CALLED = re.compile(rb"getenv|function")
_CODE_HEADS = (b"self.", b"os.", b"process.", b"this.", b"//")
_CALL = re.compile(rb"[$@]?[A-Za-z_][\w.:>-]*\((?:[\w.:$\[\]()'/*-]*|.*\)[;,]?)")
_VARIABLE = re.compile(rb"\$(?:[A-Za-z_][\w.:>\[\](){}-]*|[({].*|\d?)")
_MEMBER = re.compile(rb"[a-z]+\.[a-z]+[a-z.]*$")
_IDENTIFIER = re.compile(rb"[A-Za-z]*\d{0,4}(?:[._/:-][A-Za-z]*\d{0,4})*")
_PRODUCT_KEY = re.compile(rb"[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){3,7}")
_DIGITS = re.compile(rb"\d+")
_KIND = bytes(
    1 if 0x30 <= code <= 0x39 else 2 if 0x41 <= code <= 0x5A else 4 if 0x61 <= code <= 0x7A else 16
    for code in range(256)
)
_NO_CHANGE = bytes(code for code in range(256) if code not in (1 ^ 2, 1 ^ 4, 2 ^ 4))
"""What two neighbours of one kind, or one that is no letter or digit, come to when they are laid over each other."""
_ALNUM = bytes(code for code in range(128) if chr(code).isalnum())
_LEAST = 4
_LEAST_RANDOM = 16
_LEAST_PAIRS = 12
_LEAST_ODD_PAIRS = 4
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_TRAILING = b".:?*\\"


def find_keyed(view: View, budget: WorkBudget) -> Iterator[Finding]:
    text = view.folded
    ways: dict[bytes, tuple[bool, bool]] = {}
    at = 0
    while True:
        start, at = _FIND_NAME(text, at)
        if start < 0:
            break
        budget.spend(8)
        assigned = _ASSIGNED.match(text, at) or _assigned_next(text, start + 1)
        if assigned is None:
            continue
        at = end = assigned.end()
        quote = _quote_before(text, end)
        value = _value_at(text, end, quote)
        if value is None:
            continue
        name = text[start:end]
        way = ways.get(name)
        if way is None:
            budget.spend(10)
            way = ways[name] = (
                _IS_STRONG.match(name) is not None,
                quote != b"" or _IS_ASSIGNED.search(name) is not None,
            )
        # whether it looks drawn, as it is asked of all but a password, is the dearer question
        budget.spend(7 + len(value) // 5 if way[0] else 12 + len(value) // 3)
        size = _size_of(value, text[end + len(value) : end + len(value) + 1], quote, way)
        if size:
            yield Finding(end, end + size, "SECRET")
    yield from _find_elsewhere(text, budget)
    if b"://" in text and b"@" in text:
        for match in _USERINFO.finditer(text):
            budget.spend(14)
            group = 1 if match.group(1) is not None else 2
            if not _is_placeholder(match.group(group).lower()):
                yield Finding(match.start(group), match.end(group), "SECRET")


def has_names(text: bytes) -> bool:
    """Whether anything in the text makes what follows it a secret."""
    return _NAMED.search(text) is not None or _ELSEWHERE.search(text) is not None


def _assigned_next(text: bytes, start: int) -> re.Match[bytes] | None:
    """What leads to a value from the name at `start`: ` pass` is none in ` password`, but the rest of it is one."""
    name = _NAME.match(text, start)
    return _ASSIGNED.match(text, name.end()) if name else None


def _find_elsewhere(text: bytes, budget: WorkBudget) -> Iterator[Finding]:
    for start, end in spans(_FIND_ELSEWHERE, text):
        budget.spend(6)
        quote = _quote_before(text, end)
        value = _value_at(text, end, quote)
        if value is None:
            continue
        budget.spend(10 + len(value) // 4)
        way = text[start] in b" -iIsS", quote != b""
        size = _size_of(value, text[end + len(value) : end + len(value) + 1], quote, way)
        if size:
            yield Finding(end, end + size, "SECRET")


def _value_at(text: bytes, start: int, quote: bytes) -> bytes | None:
    """The word there, or all of a quotation; None for what is no secret at first sight."""
    match = (_LITERAL[quote].match(text, start) if quote in _LITERAL else None) or _WORD.match(text, start)
    if match is None:
        return None
    value = match.group()
    if len(value) < _LEAST or (not quote and value.isalpha() and not _is_random(value)):
        return None
    return value


def _quote_before(text: bytes, end: int) -> bytes:
    """What opens a quotation that begins at `end`, `&` for an entity; empty when nothing does."""
    mark = text[end - 1 : end]
    if mark in _LITERAL:
        return mark
    return b"&" if mark == b";" and text.endswith(b"&quot;", 0, end) else b""


def _is_random(value: bytes) -> bool:
    """Whether capitals, small letters and digits follow each other as if drawn: of two that stand together nearly half
    differ in kind (of drawn ones 13 in 20), as in few names that people write."""
    return len(value) >= _LEAST_RANDOM and _is_drawn(value, _LEAST_PAIRS)


def _is_drawn(value: bytes, least_pairs: int) -> bool:
    pairs = len(value) - 1 - 2 * len(value.translate(None, _ALNUM))
    if pairs < least_pairs:
        return False
    kinds = int.from_bytes(value.translate(_KIND), "big")
    changes = (kinds ^ kinds >> 8).to_bytes(len(value), "big").translate(None, _NO_CHANGE)
    return len(changes) * 20 >= 9 * pairs


def _size_of(value: bytes, after: bytes, quote: bytes, way: tuple[bool, bool]) -> int:
    """The length of the secret that `value`, before the character `after`, begins with; 0 when it is none.

    `quote` opens the quotation that it begins, or is nothing. `way`: whether a password's name stands before it, and
    whether something is assigned to the name.
    """
    strong, assigned = way
    word = plain = value
    if not value.isalnum():
        if not strong and _NOT_PLAIN.search(value) and not _is_drawn(value, _LEAST_ODD_PAIRS):
            # brackets and the like belong to a password, else to what looks drawn: few keys have such marks, much code
            short = _VALUE.match(value)
            value = short.group() if short else b""
        value = _without_end(value, quote != b"")
        plain = _ESCAPE.sub(b"-", value) if _PERCENT in value else value
    closed = quote != b"" and (word[len(value) : len(value) + 1] or after) in _CLOSING
    return len(value) if looks_secret(plain, strong, assigned, closed) else 0


def _without_end(value: bytes, quoted: bool) -> bytes:
    """Without what ends it in a query or a string of code, and, where it is not quoted, without a sentence's marks."""
    if _PERCENT in value or _BACKSLASH in value:
        for mark in (b"%26", b"%22", b"\\u0026"):
            value = value.partition(mark)[0]
        value = value.rstrip(b"\\")
    if not quoted:
        value = value.rstrip(_TRAILING)
        value = value[:-1] if value.endswith(b")") and _BRACKET not in value else value
    return value


def _is_placeholder(lower: bytes) -> bool:
    return (
        lower in _NO_VALUES
        or _FILLER.search(lower) is not None
        or (not lower.isalnum() and _MARKED_FILLER.search(lower) is not None)
    )


def _is_code(value: bytes) -> bool:
    return (
        value.startswith(b"env")
        or _CALLED.search(value) is not None
        or (not value.isalnum() and _is_marked_code(value))
    )


def _is_marked_code(value: bytes) -> bool:
    """Single signs are sought first: as numbers, which costs a third of what it costs as bytes."""
    return (
        value.startswith(_CODE_HEADS)
        or (_COLON in value and (b"::" in value or b"://" in value))
        or (_GREATER in value and b"=>" in value)
        or (_STAR in value and b"/*" in value)
        or (value[0] == _DOLLAR and _VARIABLE.fullmatch(value) is not None)
        or (_BRACKET in value and _CALL.fullmatch(value) is not None)
        or (_DOT in value and _MEMBER.match(value) is not None)
    )


def looks_secret(value: bytes, strong: bool, assigned: bool, closed: bool) -> bool:
    """Whether a value beside a secret's name is one. `strong`: a password's name; `closed`: it is a whole quotation."""
    lower = value.lower()
    if len(value) < _LEAST or _is_placeholder(lower) or _is_code(value):
        return False
    letters = len(value.translate(None, _NOT_LETTERS))
    digits = len(value) - len(value.translate(None, b"0123456789"))
    if strong and assigned and digits and letters:
        return len(value) >= 6
    special = len(value) - digits - letters
    mixed = value != lower and not value.isupper()
    if strong and assigned:
        if not letters:
            return digits >= 4 and digits == len(value) and len(value) != 4
        return len(value) >= 6 and bool(digits or (special and mixed) or (closed and len(value) >= 8))
    if strong:
        return (
            len(value) >= 8
            and letters > 0
            and ((digits > 0 and (mixed or special > 0)) or (digits > 2 and len(value) > 15))
        )
    if (mixed and _is_random(value)) or (_MINUS in value and _PRODUCT_KEY.fullmatch(value)):
        return True
    if len(value) < 8 or not letters or not digits or _IDENTIFIER.fullmatch(value):
        return closed and assigned and mixed and letters == len(value) >= 24
    return (mixed or len(value) >= 16) and (digits > 3 or len(value) >= 32 or len(_DIGITS.findall(value)) > 1)
