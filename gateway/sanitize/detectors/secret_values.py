"""Judges the value behind a secret's name: whether it is a secret, how long it is, and whether that is certain.

How the name leads to the value counts as much as the value: `=` or `:` assigns it, a list (`"password", "x"`) or mere
nearness (`password x`) says little, so that identifiers, options, paths and words of prose behind those are none.
`value_forms` says what a value looks like.
"""

import re
from typing import Literal, NamedTuple, TypeAlias

from gateway.sanitize.detectors.published_examples import is_published_secret
from gateway.sanitize.detectors.value_forms import (
    MIN_CERTAIN_CHARS,
    alternates_kinds,
    has_high_entropy,
    is_argument,
    is_code_reference,
    is_identifier,
    is_joined_identifier,
    is_member,
    is_password_word,
    is_program_name,
    is_public,
    is_publishable,
    is_random,
    is_signed,
)

Link: TypeAlias = Literal["assigned", "said", "paired", "listed", "beside"]
"""How the name leads to the value: `name = value`, `name is value`, `name: NAME, value: x` and other syntax that pairs
both, `"name", "value"`, `name value`."""


class Naming(NamedTuple):
    """The name of a value. `strong`: a password's name. `proves`: a random value behind it is a credential.

    `quote` is the mark that opens the quotation before the value, `&` for `&quot;`, empty when there is none.
    """

    strong: bool
    proves: bool
    link: Link
    quote: bytes

    @property
    def is_assigned(self) -> bool:
        """Whether syntax gives the value to the name."""
        return self.link in ("assigned", "said")

    @property
    def owns(self) -> bool:
        """As `is_assigned`, or the syntax pairs both, though it pairs other things too."""
        return self.link in ("assigned", "said", "paired")


MAX_VALUE_CHARS = 160
"""Chosen: what is judged of a longer value. Keys of 1,024 bits in hexadecimal are longer; the rest tells no more."""
_VALUE = re.compile(rb"[^\s\"'`<>,;(){}\[\]&|]{4,160}")
_AMPERSAND = rb"&(?![A-Za-z_][\w.%\[\]-]{0,40}=|[A-Za-z]{2,8};|#[0-9xX])"
_WORD_PART = rb"[^\s\"'`<>,;&|]{1,160}"
_WORD = re.compile(
    b"(?:" + _AMPERSAND + b")?" + _WORD_PART + b"(?:" + _AMPERSAND + _WORD_PART + b"){0,8}" + rb"(?:&(?=[\s,.]|\Z))?"
)
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
_DOLLAR, _PERCENT, _BRACKET, _STAR, _MINUS, _DOT, _COLON, _GREATER, _BACKSLASH, _SQUARE = b"$%(*-.:>\\["
_PLACEHOLDER = re.compile(
    rb"your|xxxx|(?<![a-z0-9])xxx|xxx(?![a-z0-9])|placeholder|redacted|change.?me|insert|replace|dummy|example|sample|foobar|deadbeef|1234567890|abcdefgh"
)
"""Words only, without signs: `re` then searches by the set of first letters, which is faster."""
_PLACEHOLDER_SIGNS = re.compile(rb"<|\.\.\.|\*\*\*|[$#%{]\{|%\(|\\f[irbp]|\\[-&]")
_CALL_WORDS = re.compile(rb"getenv|function|\{\d{1,4},\d{0,4}\}|(?:\\x[0-9a-f]{2}[^\\]{0,4}){2}")
RESOURCES = (b"arn:", b"urn:", b"data:")
_CODE_HEADS = (
    b"qr/",
    b"m/",
    b"/^",
    b"/(?",
    b"r'",
    b"[",
    b"self.",
    b"os.",
    b"process.",
    b"this.",
    b"//",
    *RESOURCES,
)
_SUBSCRIPT = re.compile(rb"\A[A-Za-z_][\w.]*\[[\w.\[\]'\":+-]*")
_CALL = re.compile(rb"\A[$@]?[A-Za-z_][\w.:>-]*[!?]?\((?:[\w.:$\[\]()'/*=-]*|.*\)[;,]?)")
_VARIABLE = re.compile(rb"\$(?:[A-Za-z_][\w.:>\[\](){}-]*|[({].*|\d?)")
_MEMBER = re.compile(rb"\A[a-z]+\.[a-z][a-z.]*$")
_IDENTIFIER = re.compile(rb"[A-Za-z]*+\d{0,4}+(?:[._/:-][A-Za-z]*+\d{0,4}+)*+")
_PRODUCT_KEY = re.compile(rb"[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){3,7}")
_JOINTS = re.compile(rb"[/.:=-]")
_CALLED = re.compile(rb"[\w.:-]+")
_TOKEN_CHARS = re.compile(rb"[\w+/=~-]+")
_DIGITS = re.compile(rb"\d+")
_EXAMPLE_WORD = re.compile(rb"passw(?:or)?d|secret")
_PUBLIC_HEADS = (b"MII", b"AAAA", b"iVBOR", b"R0lGO", b"UklGR", b"PHN2Z", b"d09GM")
_MIN_CHARS = 4
"""The shortest value that can be a secret: a PIN. Shorter values are flags and units."""
_MIN_PAIRS_WITH_SIGNS = 4
"""Chosen: as `alternates_kinds` wants 12 neighbours, where a value has signs of code, whose parts alone count. At half
two characters decide; at double short keys in queries are lost."""
_MIN_UNOWNED_CHARS = 16
"""Chosen: a key's fewest characters where its name is only near. At half product names count; at double keys of 128
bits in hexadecimal alone are left."""
_WORD_NUMBER_SIGN = re.compile(rb"[A-Za-z]?[A-Z][a-z]{3,16}[_.-]?\d{2,6}[!#$%&*?@]")
"""A password as people make them (`Falcon48?`)."""
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_LONG_STRING_END = re.compile(rb"\]={0,3}\]\Z")  # Lua: [[x]], [==[x]==]
_TRAILING = b".:?*\\"
_LAST_SIGN = re.compile(rb"\A(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])(?=\D*\d)[^*?]*[*?]\Z")
"""A word with capitals, small letters and digits that ends in one sign: it belongs to the password (`Falcon48?`)."""


def value_at(text: bytes, start: int, quote: bytes) -> bytes | None:
    """The word or whole quotation at `start`; None when it is too short, or an unquoted plain word."""
    match = (_QUOTATION[quote].match(text, start) if quote in _QUOTATION else None) or _WORD.match(text, start)
    if match is None:
        return None
    value = match.group()
    if len(value) < _MIN_CHARS or (not quote and (2 * value.count(b"\x02") >= len(value) or _is_plain_word(value))):
        return None  # letters of other scripts are a sentence, which has no blanks in some
    return value


def _is_plain_word(letters: bytes) -> bool:
    """Whether letters are a word or a name made of words, and not mixed at random."""
    if not letters.isalpha():
        return False
    plain = letters.islower() or letters.isupper() or len(letters) < MIN_CERTAIN_CHARS
    return plain or (is_identifier(letters) and not is_random(letters))


def quote_before(text: bytes, end: int) -> bytes:
    """The mark that opens a quotation at `end`, `&` for the entity `&quot;`; empty when there is none."""
    mark = text[end - 1 : end]
    if mark in _QUOTATION:
        return mark
    return b"&" if mark == b";" and text.endswith(b"&quot;", 0, end) else b""


def judge_secret(value: bytes, after: bytes, naming: Naming) -> tuple[int, bool]:
    """(length of the secret at the start of `value`, whether it is certain); length 0 when there is none.

    `after` is the character behind the value.
    """
    word = unescaped = value
    if not value.isalnum():
        if not naming.strong and _NOT_PLAIN.search(value) and not alternates_kinds(value, _MIN_PAIRS_WITH_SIGNS):
            # brackets and the like are part of passwords and of random values only: few keys have them, much code has
            short = _VALUE.match(value)
            value = short.group() if short else b""
        value = _without_closing(value, naming)
        unescaped = _ESCAPE.sub(b"-", value) if _PERCENT in value else value
    next_char = word[len(value) : len(value) + 1] or after
    if not naming.quote and (is_member(value) or (next_char in (b"(", b"[") and _CALLED.fullmatch(value))):
        return 0, False  # a name of the program, a call, a subscript
    closed = naming.quote != b"" and next_char in _CLOSING
    if not _looks_secret(unescaped, naming, closed):
        return 0, False
    proves = naming.proves or (not naming.strong and _PRODUCT_KEY.fullmatch(unescaped) is not None)
    certain = proves and naming.owns and has_high_entropy(unescaped)
    certain = certain and not is_publishable(value)
    return len(value), certain and _EXAMPLE_WORD.search(unescaped.lower()) is None


def _without_closing(value: bytes, naming: Naming) -> bytes:
    """The value without what ends it in a query or string and, if it is not quoted, without the marks of a sentence."""
    if _PERCENT in value or _BACKSLASH in value or b"&lt;/" in value:
        for mark in (b"%26", b"%22", b"\\u0026", b"\\u0022", b"&lt;/", b"\\u003c/", b"\\u003C/"):
            value = value.partition(mark)[0]
        value = value.rstrip(b"\\")
    if not naming.quote:
        value = value[:-1] if value.endswith((b"*.", b"?.", b"*:", b"?:")) else value
        if not (naming.strong and value[-1:] in (b"*", b"?") and _LAST_SIGN.match(value)):
            value = value.rstrip(_TRAILING)
        if value.endswith(b"]") and _SQUARE not in value:
            value = _LONG_STRING_END.sub(b"", value)
        value = value[:-1] if value.endswith(b")") and _BRACKET not in value else value
        value = value[:-1] if value.endswith(b"}") and b"{" not in value and naming.link == "assigned" else value
    return value


def is_placeholder(lower: bytes) -> bool:
    return (
        lower.rstrip(b"!?") in _PLACEHOLDER_WORDS
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
        or (_SQUARE in value and _SUBSCRIPT.fullmatch(value) is not None)
        or (_BRACKET in value and _CALL.fullmatch(value) is not None)
        or (_DOT in value and _MEMBER.match(value) is not None)
    )


def _looks_secret(value: bytes, naming: Naming, closed: bool) -> bool:
    """Whether the value is a secret; `closed`: a whole quotation."""
    lower = value.lower()
    if len(value) < _MIN_CHARS or is_placeholder(lower) or _is_code(value) or is_published_secret(value):
        return False
    if (not value.isalnum() or value.startswith(_PUBLIC_HEADS)) and is_public(value):
        return False
    digits = len(value) - len(value.translate(None, b"0123456789"))
    if not digits and is_password_word(value):
        return False
    if not naming.is_assigned:
        if naming.strong and (naming.owns or naming.quote) and _WORD_NUMBER_SIGN.fullmatch(value):
            return True
        if is_identifier(value) or is_argument(value) or is_code_reference(value):
            return False
        return not (naming.owns and is_program_name(value)) and _looks_mixed(value, naming)
    if not naming.strong and is_program_name(value):
        return False
    letters = len(value.translate(None, _NOT_LETTERS))
    mixed = value != lower and not value.isupper()
    if naming.strong:
        return _looks_like_password(value, letters, digits, closed)
    if _MINUS in value and _PRODUCT_KEY.fullmatch(value):
        return True
    if mixed and value.isalnum() and is_random(value):
        return True
    if is_joined_identifier(value) or (not value.isalnum() and is_code_reference(value)):
        return False
    if mixed and (is_random(value) or (naming.proves and digits and (_is_short_token(value) or is_signed(value)))):
        return True
    if len(value) < 8 or not letters or not digits or _IDENTIFIER.fullmatch(value):
        return False
    return (mixed or len(value) >= 16) and (digits > 3 or len(value) >= 32 or len(_DIGITS.findall(value)) > 1)


def _looks_like_password(value: bytes, letters: int, digits: int, closed: bool) -> bool:
    """Behind the assigned name of a password: letters and digits are enough, words only in a quotation of their own."""
    if not letters:
        return digits > 4 and digits == len(value)
    if len(value) < 6:
        return False
    if digits:
        return value.isalnum() or (
            not (_JOINTS.search(value) and is_code_reference(value)) and (closed or not _is_dotted_name(value))
        )
    mixed = not value.islower() and not value.isupper()
    special = len(value) > letters
    if mixed and not special and len(value) >= MIN_CERTAIN_CHARS and not is_identifier(value):
        return True  # letters alone, mixed as in no name
    if is_joined_identifier(value):
        return False
    return bool(special and mixed) or (closed and len(value) >= 8)


def _looks_mixed(value: bytes, naming: Naming) -> bool:
    """Behind a name that does not own it, a value must look like a password or key by itself."""
    letters = len(value.translate(None, _NOT_LETTERS))
    digits = len(value) - len(value.translate(None, b"0123456789"))
    special, mixed = len(value) - letters - digits, value != value.lower() and not value.isupper()
    if not letters or not digits or len(value) < 8:
        return mixed and is_random(value)
    if naming.strong:
        return mixed or special > 0 or (digits > 2 and len(value) > 15)
    if mixed and naming.proves and naming.owns and _is_short_token(value):
        return True
    return len(value) >= _MIN_UNOWNED_CHARS and _TOKEN_CHARS.fullmatch(value) is not None and has_high_entropy(value)


def _is_short_token(value: bytes) -> bool:
    """Letters and digits alone that alternate, or that are many: less than random text needs to be told by itself."""
    alternates = alternates_kinds(value, MIN_CERTAIN_CHARS) or len(value) > MIN_CERTAIN_CHARS + 3
    return alternates and value.isalnum() and has_high_entropy(value)


def _is_dotted_name(value: bytes) -> bool:
    return _DOT in value and is_joined_identifier(value)
