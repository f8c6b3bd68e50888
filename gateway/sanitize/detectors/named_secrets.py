"""Finds values that the name beside them makes a secret: `password: …`, `api_key = …`, `Bearer …`, `user:pass@host`.

The name decides how much the value must look like a secret. After a strong name (`password`) a letter and a digit are
enough; after a weak one (`key`, `token`) the value must look random. Placeholders, code and plain words are no
secrets.
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
"""RE2 pattern of the names that make what follows a secret."""
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
_ANY_NAME = re.compile(NAMES)
_ASSIGNED = re.compile(_SUFFIX + _CLOSE + rb"(?:" + _ASSIGN + rb"|" + _SPACED + rb")" + _OPEN)
"""What leads from a name to its value. Not one pattern with the names, as that has too many states for RE2."""
_IS_STRONG = re.compile(_STRONG)
_IS_ASSIGNED = re.compile(rb"(?:[=:>,]|%3[dDaA])[\s(\\\"'`]*(?:&quot;)?\Z")
_COMMANDS = re2.compile(
    rb"(?i:identified (?:with [a-z0-9_]{2,30} )?by)\s{1,3}[\"'\\]{0,2}"
    rb"|(?i:securestring)\s{1,3}(?:-[A-Za-z]{2,12}\s{1,3}){0,4}[\"'\\]{0,2}"
    rb"|(?:\s-u|--user|--proxy-user)[ =]{1,3}[\"']?[A-Za-z0-9_.@-]{1,64}:"
    rb"|(?i:basic|bearer|ntlm|digest|token)\s{1,2}[\"']?"
    rb"|(?i:/token/|/apikey/|/secret/)"
)
_FIND_COMMAND = searcher(_COMMANDS)
_USERINFO = re.compile(
    rb"://(?<=[a-zA-Z0-9+.-]://)(?:[^\s/@:?#\"'<>]{0,128}:([^\s/@\"'<>]{3,256})|([^\s/@:?#\"'<>]{20,256}))@"
)
_VALUE = re.compile(rb"[^\s\"'`<>,;(){}\[\]&|]{4,160}")
_AMPERSAND = rb"&(?![A-Za-z_][\w.%\[\]-]{0,40}=|[A-Za-z]{2,8};|#[0-9xX])"
_WORD_PART = rb"[^\s\"'`<>,;&|]{1,160}"
_WORD = re.compile(b"(?:" + _AMPERSAND + b")?" + _WORD_PART + b"(?:" + _AMPERSAND + _WORD_PART + b"){0,8}")
"""An unquoted value: `&` is part of it unless it separates the fields of a query or begins an HTML entity."""
_QUOTATION = {quote: re.compile(rb"[^\s<>" + quote + rb"]{4,160}(?=" + quote + rb")") for quote in (b'"', b"'", b"`")}
"""By quotation mark: all up to the closing mark, if there is no white space."""
_CLOSING = (*_QUOTATION, b"\\", b"&")
_NOT_PLAIN = re.compile(rb"[,;(){}\[\]&|]")
_NOT_LETTERS = bytes(code for code in range(256) if not chr(code).isascii() or not chr(code).isalpha())
_PLACEHOLDER_WORDS = frozenset(
    b"null none true false undefined string str int required optional bearer basic token password secret example empty"
    b" hidden".split()
)
_DOLLAR, _PERCENT, _BRACKET, _STAR, _MINUS, _DOT, _COLON, _GREATER, _BACKSLASH = b"$%(*-.:>\\"
_PLACEHOLDER = re.compile(rb"your|xxx|placeholder|redacted|changeme|insert|replace|dummy")
"""Words only, without signs: `re` then searches by the set of first letters, which is faster."""
_PLACEHOLDER_SIGNS = re.compile(rb"<|\.\.\.|\*\*\*|[$%{]\{|%\(")
_CALL_WORDS = re.compile(rb"getenv|function")
_CODE_HEADS = (b"self.", b"os.", b"process.", b"this.", b"//")
_CALL = re.compile(rb"\A[$@]?[A-Za-z_][\w.:>-]*\((?:[\w.:$\[\]()'/*-]*|.*\)[;,]?)")
_VARIABLE = re.compile(rb"\$(?:[A-Za-z_][\w.:>\[\](){}-]*|[({].*|\d?)")
_MEMBER = re.compile(rb"\A[a-z]+\.[a-z][a-z.]*$")
_IDENTIFIER = re.compile(rb"[A-Za-z]*\d{0,4}(?:[._/:-][A-Za-z]*\d{0,4})*")
_PRODUCT_KEY = re.compile(rb"[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){3,7}")
_DIGITS = re.compile(rb"\d+")
_KIND = bytes(
    1 if 0x30 <= code <= 0x39 else 2 if 0x41 <= code <= 0x5A else 4 if 0x61 <= code <= 0x7A else 16
    for code in range(256)
)
_NOT_ALTERNATING = bytes(code for code in range(256) if code not in (1 ^ 2, 1 ^ 4, 2 ^ 4))
"""All values of the exclusive or of two _KIND bytes but those of two different kinds among digit, capital and small
letter."""
_ALNUM = bytes(code for code in range(128) if chr(code).isalnum())
_MIN_CHARS = 4
"""The shortest value that can be a secret: a PIN. Shorter values are flags and units."""
_MIN_RANDOM_CHARS = 16
"""Chosen: shorter values can look random by chance. At half product and model names do; at double 128-bit keys in
base64 (22 characters) are lost."""
_MIN_PAIRS, _MIN_PAIRS_WITH_SIGNS = 12, 4
"""Chosen: neighbouring letters and digits that a value must have before its share of changes says anything; fewer where
it has signs of code, as only its parts between them count. At half mixed-case names pass; at double short keys are
lost.
"""
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_TRAILING = b".:?*\\"


def find_named_secrets(view: View, budget: WorkBudget) -> Iterator[Finding]:
    """Findings of the entity SECRET over the values, not their names, in folded offsets. Raises BudgetExceeded."""
    text = view.folded
    naming_by_name: dict[bytes, tuple[bool, bool]] = {}
    at = 0
    while True:
        start, at = _FIND_NAME(text, at)
        if start < 0:
            break
        budget.spend(8)
        assigned = _ASSIGNED.match(text, at) or _assignment_after_shorter_name(text, start + 1)
        if assigned is None:
            continue
        at = end = assigned.end()
        quote = _quote_before(text, end)
        value = _value_at(text, end, quote)
        if value is None:
            continue
        name = text[start:end]
        naming = naming_by_name.get(name)
        if naming is None:
            budget.spend(10)
            naming = naming_by_name[name] = (
                _IS_STRONG.match(name) is not None,
                quote != b"" or _IS_ASSIGNED.search(name) is not None,
            )
        # a value behind a weak name is also tested for randomness, which costs more
        budget.spend(7 + len(value) // 5 if naming[0] else 12 + len(value) // 3)
        size = _secret_length(value, text[end + len(value) : end + len(value) + 1], quote, naming)
        if size:
            yield Finding(end, end + size, "SECRET")
    yield from _find_after_commands(text, budget)
    if b"://" in text and b"@" in text:
        for match in _USERINFO.finditer(text):
            budget.spend(14)
            group = 1 if match.group(1) is not None else 2
            if not _is_placeholder(match.group(group).lower()):
                yield Finding(match.start(group), match.end(group), "SECRET")


def has_names(text: bytes) -> bool:
    """Whether the folded text has a name or a command that makes what follows it a secret."""
    return _NAMED.search(text) is not None or _COMMANDS.search(text) is not None


def _assignment_after_shorter_name(text: bytes, start: int) -> re.Match[bytes] | None:
    """The assignment behind the name that begins at `start`: RE2 may have matched one that began a character
    earlier."""
    name = _ANY_NAME.match(text, start)
    return _ASSIGNED.match(text, name.end()) if name else None


def _find_after_commands(text: bytes, budget: WorkBudget) -> Iterator[Finding]:
    for start, end in spans(_FIND_COMMAND, text):
        budget.spend(6)
        quote = _quote_before(text, end)
        value = _value_at(text, end, quote)
        if value is None:
            continue
        budget.spend(10 + len(value) // 4)
        naming = text[start] in b" -iIsS", quote != b""
        size = _secret_length(value, text[end + len(value) : end + len(value) + 1], quote, naming)
        if size:
            yield Finding(end, end + size, "SECRET")


def _value_at(text: bytes, start: int, quote: bytes) -> bytes | None:
    """The word or whole quotation at `start`; None when it is too short, or an unquoted plain word."""
    match = (_QUOTATION[quote].match(text, start) if quote in _QUOTATION else None) or _WORD.match(text, start)
    if match is None:
        return None
    value = match.group()
    if len(value) < _MIN_CHARS or (not quote and value.isalpha() and not _is_random(value)):
        return None
    return value


def _quote_before(text: bytes, end: int) -> bytes:
    """The mark that opens a quotation at `end`, `&` for the entity `&quot;`; empty when there is none."""
    mark = text[end - 1 : end]
    if mark in _QUOTATION:
        return mark
    return b"&" if mark == b";" and text.endswith(b"&quot;", 0, end) else b""


def _is_random(value: bytes) -> bool:
    """Whether capitals, small letters and digits alternate as in random text: at least 9 in 20 neighbours differ in
    kind (13 in 20 of random base62 do), as in few names that people write."""
    return len(value) >= _MIN_RANDOM_CHARS and _alternates_kinds(value, _MIN_PAIRS)


def _alternates_kinds(value: bytes, min_pairs: int) -> bool:
    """Naive form: count the pairs of neighbours of two different kinds. Here the value's kinds, as one big number, are
    combined with themselves shifted by one byte, so that all pairs are compared in C."""
    pairs = len(value) - 1 - 2 * len(value.translate(None, _ALNUM))
    if pairs < min_pairs:
        return False
    kinds = int.from_bytes(value.translate(_KIND), "big")
    changes = (kinds ^ kinds >> 8).to_bytes(len(value), "big").translate(None, _NOT_ALTERNATING)
    return len(changes) * 20 >= 9 * pairs


def _secret_length(value: bytes, after: bytes, quote: bytes, naming: tuple[bool, bool]) -> int:
    """The length of the secret at the start of `value`; 0 when there is none. `after` is the character behind the
    value.

    `quote` is the mark that opens the quotation before the value, if any. `naming` is (whether the name before it is
    strong, whether the value is assigned to it).
    """
    strong, assigned = naming
    word = unescaped = value
    if not value.isalnum():
        if not strong and _NOT_PLAIN.search(value) and not _alternates_kinds(value, _MIN_PAIRS_WITH_SIGNS):
            # brackets and the like are part of passwords and of random values only: few keys have them, much code has
            short = _VALUE.match(value)
            value = short.group() if short else b""
        value = _without_closing(value, quote != b"")
        unescaped = _ESCAPE.sub(b"-", value) if _PERCENT in value else value
    closed = quote != b"" and (word[len(value) : len(value) + 1] or after) in _CLOSING
    return len(value) if looks_secret(unescaped, strong, assigned, closed) else 0


def _without_closing(value: bytes, quoted: bool) -> bytes:
    """The value without what ends it in a query or string and, if it is not quoted, without the marks of a sentence."""
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
        lower in _PLACEHOLDER_WORDS
        or _PLACEHOLDER.search(lower) is not None
        or (not lower.isalnum() and _PLACEHOLDER_SIGNS.search(lower) is not None)
    )


def _is_code(value: bytes) -> bool:
    return (
        value.startswith(b"env")
        or _CALL_WORDS.search(value) is not None
        or (not value.isalnum() and _is_marked_code(value))
    )


def _is_marked_code(value: bytes) -> bool:
    """Whether the value is a variable, call or member. Signs are searched first: as integers, at a third of the
    cost."""
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
    """Whether the value behind a secret's name is a secret. `strong`: a password's name; `assigned`: by `=`, `:` or a
    quote; `closed`: a whole quotation."""
    lower = value.lower()
    if len(value) < _MIN_CHARS or _is_placeholder(lower) or _is_code(value):
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
