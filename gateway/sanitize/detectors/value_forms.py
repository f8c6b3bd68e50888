"""What a value behind a secret's name looks like: an identifier, a path, an option, a placeholder, or random.

Works on single values of at most some hundred bytes; knows neither names nor syntax. `named_secrets` decides.
"""

import re
from itertools import pairwise, product
from typing import Literal, NamedTuple, TypeAlias

from gateway.sanitize.detectors.harmless import is_published_secret
from gateway.sanitize.detectors.tables import words

_JOINT = re.compile(rb"(?:[._/:-]|::|->){1,2}")
_PART = re.compile(
    rb"[a-z]?(?:[A-Z]{0,6}[a-z]{2,}+\d{0,3}|[A-Z]{2,8}\d{1,3})+(?:[A-Z]{0,6}\d{0,4}|[a-z]\d{0,2})|[A-Z]{1,24}\d{0,4}|\d{1,5}"
    rb"|[a-z]{1,3}\d{0,4}|\d[a-z]|[a-z]{2,10}\d{0,4}"
)
_EDGES = b"_$@*"
_CAMEL = re.compile(rb"(?:[A-Z]{1,6}[a-z]{2,}+|\A[a-z]++){2,12}[A-Z]{0,5}\d{0,3}")
_PATH = re.compile(rb"(?:[./~]{0,2}/|\./|[A-Za-z]:\\)[\w.+@{}$-]{1,40}(?:[/\\][\w.+@{}$-]{1,40}){0,12}/?")
_FILE = re.compile(
    rb"\A[\w./+@-]+\.(?:key|pem|crt|cer|csr|private|txt|json|ya?ml|toml|conf|cfg|ini|html?|xml|py|js|ts|go|rs|c|h|lib|so|dll"
    rb"|exe|sh|sql|db|md|rst|log|zip|gz|jks|p12|pfx|pub|tbl|idx)"
    rb"(?:[?#][\w.=&-]{0,80})?"
)
_REFERENCE = re.compile(
    rb"(?:CVE|CWE|RFC|ISO|PEP|BCP|GHSA|DSA|USN|SHA|AES|RSA|HMAC|TLS|SSL|UTF)[-_ ]?\d[\w.-]*", re.IGNORECASE
)
_VERSION = re.compile(
    rb"[~^]?[vV]?\d{1,4}(?:\.\d{1,6}){1,4}(?:[-+.]?[a-z]{1,8}\d{0,4})?(?:[-+~.][a-z]{0,8}\d{1,4}){0,5}"
)
_DATE = re.compile(rb"\d{4}-\d\d-\d\d(?:T[\d:.]+Z?)?")
_OBJECT = re.compile(rb"(?<![\w$.])(?:[\w$]+\.)*[A-Z][a-z]+(?:[A-Z][a-z]+)+[@{](?=\d*[a-f])[0-9a-f]{5,8}")
"""An object as programs print it, with its class: `android.os.BinderProxy@2bd79ce`."""
_FINGERPRINT = re.compile(rb"(?:0x)?(?:[0-9A-F]{16}|[0-9A-F]{40})|0x[0-9a-f]{1,16}")
"""An id of an OpenPGP key (RFC 4880, 12.2), or a number of 64 bits, as in handles."""
_PUBLIC = re.compile(
    rb"(?:[\w./:-]{1,120}@)?sha(?:1|224|256|384|512)[-:/=].*|(?:[0-9A-Fa-f]{2}:){5,}[0-9A-Fa-f]{2}|-----BEGIN.*|(?:ssh|ecdsa)-[\w-]+"
    rb"|AAAA(?:B3NzaC1|C3NzaC1|E2VjZHNh|Gnsk)[\w+/=]*|(?:\\x[0-9a-f]{2}){4,}|MII[A-D][\w+/=]{60,}"
    rb"|(?-i:B[A-P])[\w-]{85}|(?-i:iVBORw0KGgo|R0lGOD[dl]h|/9j/4[A-Q]|UklGR|PHN2Zy|d09GM)[\w+/=-]*",
    re.IGNORECASE,
)
"""Digests, fingerprints, public keys in SSH's form (RFC 4253), certificates (X.509 in base64 begins so) and points of
P-256 as Web Push has them (RFC 8292: 65 bytes, the first is 4); pictures and fonts in base64, by their first bytes."""

_PUBLISHABLE = re.compile(rb"(?:[ps]b_publishable|pk_(?:live|test|prod))_|pk[.-]|FLWPUBK")
_DIGITS = b"0123456789"
_NOT_LETTERS = bytes(code for code in range(256) if not chr(code).isascii() or not chr(code).isalpha())
_LETTER_RUNS = re.compile(rb"[a-z]{2,}+")
_PASSWORD_WORD = re.compile(
    rb"pass(?:w(?:or)?d|wrt|phrase|code)?|pwd|psw|secret|passwort|parole?|geheim|token|apikey|creds?"
)
_PASSWORD_WORDS = re.compile(rb"[*`'_<{\[]{0,3}[A-Za-z]{1,24}(?:[ _.-][A-Za-z]{1,24}){0,5}[*`'_>}\]]{0,3}")
_ALNUM = bytes(code for code in range(128) if chr(code).isalnum())
_KIND = bytes(
    1 if 0x30 <= code <= 0x39 else 2 if 0x41 <= code <= 0x5A else 4 if 0x61 <= code <= 0x7A else 16
    for code in range(256)
)
_NOT_ALTERNATING = bytes(code for code in range(256) if code not in (1 ^ 2, 1 ^ 4, 2 ^ 4))
"""All values of the exclusive or of two _KIND bytes but those of two different kinds among digit, capital and small
letter."""
_MIN_RANDOM_CHARS = 16
"""Shorter values can look random by chance."""
_MIN_PAIRS = 12
"""Neighbouring letters and digits that a value must have before its share of changes says anything."""
_FOLLOWERS = (
    b"abcdfgiklmnprstuvwxy baceijlorsuy cacehiklorstu dabcdefilmorstu eabcdefgilmnopqrstuvwxy facefilorstu gaeghilnorsu"
    b" haeiort iabcdefglmnoprstvxz je kaeis lacdefilopstuy mabeilmopstuy nacdefgiklnoprstuvy oabcdfgiklmnoprstuvw"
    b" paceghilopqrstuy qlu racdefgiklmnoprstuvy sacefhiklmnopqstuy tacdefhilmnoprstuwy uabcdefgilmnprst vaeio waeinors"
    b" xceipt ycenpst ze"
)
"""A letter and those that often follow it in words and names: the 300 most frequent of the 676 pairs, counted in the
39,000 words of 3,399 pages of documentation. They are 95 of 100 pairs there, and 44 of 100 in random letters."""
_USUAL_PAIRS = frozenset(pair for row in _FOLLOWERS.split() for pair in product((row[0],), row[1:]))
_MIN_LETTER_PAIRS = 9
"""Pairs of letters before their share says anything."""
_SAME_SIGNS = re.compile(rb"(\w)\1{5}")
"""Six equal characters in a row fill up an example. Of random keys of 40 hexadecimal digits one in 30,000 has them."""
MIN_CERTAIN_CHARS = 12
"""Shorter values behind a name are only likely secrets: the words of a language and a digit fill them too easily."""
_MIN_CERTAIN_DIFFERENT = 8
"""Different characters of a value of high entropy (12 random letters and digits have 11 on average)."""


def is_identifier(value: bytes) -> bool:
    """Whether the value is made of words, as names in programs are: `stat1.tbl`, `scram-sha-256`, `HiddenInput`."""
    parts = _JOINT.split(value.strip(_EDGES))
    if all(_PART.fullmatch(part) is not None for part in parts) and not has_odd_pairs(value):
        return True
    return _FILE.fullmatch(value) is not None


def has_odd_pairs(value: bytes) -> bool:
    """Whether at least 7 in 20 neighbouring letters are pairs that are rare in words: so it is in 93 of 100 rows of 20
    random letters, and in 3 of 1,000 names of programs. Names with dots and colons (`g:NetrwTopLvlMenu`) have odd
    abbreviations, and never count."""
    if b"." in value or b":" in value:
        return False
    pairs = [pair for run in _LETTER_RUNS.findall(value.lower()) for pair in pairwise(run)]
    return len(pairs) >= _MIN_LETTER_PAIRS and 20 * sum(map(_USUAL_PAIRS.__contains__, pairs)) <= 13 * len(pairs)


def is_joined_identifier(value: bytes) -> bool:
    """Whether an identifier has more than one part, or is written in camel case: no word that somebody would type."""
    if _CAMEL.fullmatch(value) is not None:
        return not has_odd_pairs(value)
    return _JOINT.search(value) is not None and is_identifier(value)


def is_code_reference(value: bytes) -> bool:
    """Whether the value is a path, a version, a date or the name of a standard."""
    if alternates_kinds(value, _MIN_RANDOM_CHARS):
        return False  # base64 may begin with a slash
    return any(form.fullmatch(value) is not None for form in (_PATH, _VERSION, _DATE, _REFERENCE))


def is_public(value: bytes) -> bool:
    """Whether the value is meant to be seen: a digest, a fingerprint, a public key, a certificate."""
    return _PUBLIC.fullmatch(value) is not None


def is_publishable(value: bytes) -> bool:
    """Whether its maker calls a key publishable: every page of the shop or map has it, so it is only likely."""
    return _PUBLISHABLE.match(value) is not None


def is_password_word(value: bytes) -> bool:
    """Whether the value is a word for a password, perhaps with others: `mypassword`, `a_password`, `top_secret`."""
    return _PASSWORD_WORDS.fullmatch(value) is not None and _PASSWORD_WORD.search(value.lower()) is not None


def alternates_kinds(value: bytes, min_pairs: int = _MIN_PAIRS) -> bool:
    """Whether at least 9 in 20 neighbours differ in kind (13 in 20 of random base62 do), as in few names that people
    write.

    Naive form: count the pairs of neighbours of two different kinds. Here the value's kinds, as one big number, are
    combined with themselves shifted by one byte, so that all pairs are compared in C.
    """
    pairs = len(value) - 1 - 2 * len(value.translate(None, _ALNUM))
    if pairs < min_pairs:
        return False
    kinds = int.from_bytes(value.translate(_KIND), "big")
    changes = (kinds ^ kinds >> 8).to_bytes(len(value), "big").translate(None, _NOT_ALTERNATING)
    return len(changes) * 20 >= 9 * pairs


def is_random(value: bytes) -> bool:
    """Whether capitals, small letters and digits alternate as in random text of 16 characters or more, or letters of
    both cases, twelve characters or more, are pairs that words do not have."""
    if len(value) < MIN_CERTAIN_CHARS or value.islower() or value.isupper():
        return False
    if len(value) >= _MIN_RANDOM_CHARS and alternates_kinds(value) and _CAMEL.fullmatch(value) is None:
        return True
    return has_odd_pairs(value)


def has_high_entropy(value: bytes) -> bool:
    """Whether twelve characters or more mix letters and digits as nothing does that people write as words."""
    if len(value) < MIN_CERTAIN_CHARS or len(set(value)) < _MIN_CERTAIN_DIFFERENT or _SAME_SIGNS.search(value):
        return False
    letters = len(value.translate(None, _NOT_LETTERS))
    digits = len(value) - len(value.translate(None, _DIGITS))
    if not digits:
        return is_random(value) and letters > len(value) // 2
    if letters < 2 or (not alternates_kinds(value, MIN_CERTAIN_CHARS - 4) and is_identifier(value)):
        return False
    return len(value) >= _MIN_RANDOM_CHARS or letters + digits < len(value) or not (value.islower() or value.isupper())


def is_program_name(value: bytes) -> bool:
    """Whether the value is a name of several words, as programs have them, though with odd parts: `create0_p8inf`,
    `X509CertGetKey`, `vpc-1a2b3c4d`."""
    head = value.partition(b"(")[0].partition(b"[")[0]
    is_name = not head.translate(None, _NAME_CHARS)
    if _RESOURCE_ID.fullmatch(value) or (is_name and head.rstrip(_DIGITS).endswith(_TYPE_NAMES)):
        return True
    if is_name and b"_" in head.strip(b"_*&"):
        return not alternates_kinds(value, 8 if not value.translate(None, _ALNUM + b"_") else 12)
    if value.translate(None, _ALNUM + b"_.:+*/()&-"):
        return False  # a password has other signs too
    words = [word for word in _LONG_WORDS.findall(value) if 5 * len(_VOWELS.findall(word)) >= len(word)]
    is_of_words = len(words) > 1 and value != value.lower() and 2 * sum(map(len, words)) >= len(value)
    return is_of_words and not has_odd_pairs(value)


_SMALL_WORD = re.compile(rb"[a-z]{6}")
_NAME_CHARS = _ALNUM + b"_./+*&-"
_TYPE_NAMES = (b"Key", b"Keys", b"Token", b"Auth", b"Password", b"Secret", b"Credential", b"Credentials")
"""How the names of types and members end that are made for credentials."""
_RESOURCE_ID = re.compile(rb"[a-z]{2,9}-[0-9a-f]{8}(?:[0-9a-f]{9})?")
_VOWELS = re.compile(rb"[AEIOUaeiou]")
_LONG_WORDS = re.compile(rb"[A-Z]?[a-z]{3,}+")


# ----------------------------------------------------------------------------------------------------
# Judges the value behind a secret's name: whether it is a secret, how long it is, and whether that is certain.
#
# How the name leads to the value counts as much as the value: `=` or `:` assigns it, a list (`"password", "x"`) or
# mere
# nearness (`password x`) says little, so that identifiers, options, paths and words of prose behind those are none.
# `value_forms` says what a value looks like.
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
    any_word: bool = False
    """The place alone makes it a secret: a setting's value, whatever it looks like."""

    @property
    def is_assigned(self) -> bool:
        """Whether syntax gives the value to the name."""
        return self.link in ("assigned", "said")

    @property
    def owns(self) -> bool:
        """As `is_assigned`, or the syntax pairs both, though it pairs other things too."""
        return self.link in ("assigned", "said", "paired")


MAX_VALUE_CHARS = 160
"""What is judged of a longer value. Keys of 1,024 bits in hexadecimal are longer; the rest tells no more."""
_VALUE = re.compile(rb"[^\s\"'`<>,;(){}\[\]&|]{4,160}")
_MARKS = (b'"', b"'", b"`")
_CLOSING = (*_MARKS, b"\\", b"&")
_NOT_PLAIN = re.compile(rb"[,;(){}\[\]&|<>\"'`]")
_PLACEHOLDER_WORDS = frozenset(
    b"null none true false undefined string str int required optional bearer basic token password secret example empty"
    b" hidden".split()
)
_DOLLAR, _PERCENT, _BRACKET, _STAR, _MINUS, _DOT, _COLON, _GREATER, _BACKSLASH, _SQUARE = b"$%(*-.:>\\["
_PLACEHOLDER = re.compile(
    rb"your|xxxx|(?<![a-z0-9])xxx|xxx(?![a-z0-9])|placeholder|redacted|change.?me|insert|replace|dummy|example|sample|foobar|deadbeef|1234567890|abcdefgh"
)
"""Words only, without signs: `re` then searches by the set of first letters, which is faster."""
_PLACEHOLDER_SIGNS = re.compile(
    rb"\A<|<[a-z_/][^<>]*>|\.\.\.|\{[a-z_]\w*(?:[.\[][^{}]*)?(?:![rsa])?\}|\*\*\*|[$#%{]\{|%\(|\\f[irbp]|\\[-&]"
)
_CALL_WORDS = re.compile(
    rb"getenv|\$[A-Z]{4,}(?![A-Za-z0-9])|function|\{\d{1,4},\d{0,4}\}|(?:\\x[0-9a-f]{2}[^\\]{0,4}){2}"
)
RESOURCES = (b"arn:", b"urn:", b"data:")
_CODE_HEADS = (b"qr/", b"m/", b"/^", b"/(?", b"r'", b"[", b"self.", b"os.", b"process.", b"this.", b"//", *RESOURCES)
_SUBSCRIPT = re.compile(rb"\A[A-Za-z_][\w.]*\[[\w.\[\]'\":+-]*")
_CALL = re.compile(
    rb"\A[$@]?[A-Za-z_][\w.:>-]*[!?]?\("
    rb"(?:[\w.:$&\[\]('/*=-]*(?:\)(?:[.:\[()'/*=-][\w.:$&\[\]()'/*=-]*)?)?|.*\)[;,]?)"
)
_VARIABLE = re.compile(rb"\$(?:[A-Za-z_](?:[\w.:>\[\](){}-]|(?<=\[)\$|(?!))*+|[({].*|\d?)")
_MEMBER = re.compile(rb"\A[a-z]+\.[a-z][a-z.]*$")
_IDENTIFIER = re.compile(rb"[A-Za-z]*+\d{0,4}+(?:[._/:+~-]{1,2}[A-Za-z]*+\d{0,4}+|(?!))*+")
_PRODUCT_KEY = re.compile(
    rb"(?=(?:[^0-9]{0,16}[0-9]){4})(?=(?:[^A-Za-z]{0,16}[A-Za-z]){3})[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}){2,7}"
)
_JOINTS = re.compile(rb"[/.:=-]")
_CALLED = re.compile(rb"[\w.:-]+")
_TOKEN_CHARS = re.compile(rb"[\w+/=~-]+")
_DIGITS_SECRET_VALUES = re.compile(rb"\d+")
_EXAMPLE_WORD = re.compile(rb"passw(?:or)?d|secret")
_PUBLIC_HEADS = (b"MII", b"AAAA", b"iVBOR", b"R0lGO", b"UklGR", b"PHN2Z", b"d09GM")
MIN_CHARS = 4
"""The shortest value that can be a secret: a PIN. Shorter values are flags and units."""
_MIN_PAIRS_WITH_SIGNS = 4
"""As `alternates_kinds` wants 12 neighbours, where a value has signs of code, whose parts alone count."""
_MIN_UNOWNED_CHARS = 16
"""A key's fewest characters where its name is only near."""
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_LONG_STRING_END = re.compile(rb"\]={0,3}\]\Z")  # Lua: [[x]], [==[x]==]
_TRAILING = b".:?*\\"
_LAST_SIGN = re.compile(rb"\A(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])(?=\D*\d)[^*?]*[*?]\Z")
"""A word with capitals, small letters and digits that ends in one sign: it belongs to the password (`Falcon48?`)."""


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
        value = value if naming.quote in _MARKS else _without_closing(value, naming)
        unescaped = _ESCAPE.sub(b"-", value) if _PERCENT in value else value
        unescaped = _UNICODE.sub(_folded_escape, unescaped) if b"\\u" in value else unescaped
        if naming.quote and 2 * unescaped.count(b"\x02") >= len(unescaped) - unescaped.count(b"\\"):
            return 0, False
    next_char = word[len(value) : len(value) + 1] or after
    if not naming.quote and next_char in (b"(", b"[") and _CALLED.fullmatch(value):
        return 0, False  # a name of the program, a call, a subscript
    closed = naming.quote != b"" and next_char in _CLOSING
    if not _looks_secret(unescaped, naming, closed):
        return 0, False
    proves = naming.proves or (not naming.strong and _PRODUCT_KEY.fullmatch(unescaped) is not None)
    certain = proves and naming.owns and has_high_entropy(unescaped)
    certain = certain and not is_publishable(value)
    if after in _MARKS and naming.quote == after:
        value = word  # the quotation ends behind it
    return len(value), certain and _EXAMPLE_WORD.search(unescaped.lower()) is None


def _without_closing(value: bytes, naming: Naming) -> bytes:
    """An unquoted value without what ends it in a query, an encoded string or a sentence."""
    if _PERCENT in value or _BACKSLASH in value:
        closing = _ENCODED_END.search(value)
        value = (value[: closing.start()] if closing else value).rstrip(b"\\")
    value = value[:-1] if value.endswith((b"*.", b"?.", b"*:", b"?:")) else value
    if not (naming.strong and value[-1:] in (b"*", b"?") and _LAST_SIGN.match(value)):
        value = value.rstrip(_TRAILING)
    if value.endswith(b"]") and _SQUARE not in value:
        value = _LONG_STRING_END.sub(b"", value)
    value = value[:-1] if value.endswith(b")") and _BRACKET not in value else value
    return value[:-1] if value.endswith(b"}") and b"{" not in value and naming.link == "assigned" else value


_ENCODED_END = re.compile(rb"(?i:%22(?=%2c|%7d|%5d|[&;]|\Z)|%26(?=[a-z_][\w.%-]{0,40}%3d)|\\u0022)")
"""A quotation mark, or what separates the fields of a query, where they are encoded."""


def is_placeholder(lower: bytes) -> bool:
    """Whether a value stands for another one: `null`, `your-key`, `<key>`, `${KEY}`."""
    return _says_placeholder(lower) or _has_placeholder_signs(lower)


def _says_placeholder(lower: bytes) -> bool:
    return lower.rstrip(b"!?") in _PLACEHOLDER_WORDS or _PLACEHOLDER.search(lower) is not None


def _has_placeholder_signs(lower: bytes) -> bool:
    return not lower.isalnum() and _PLACEHOLDER_SIGNS.search(lower) is not None


def is_drawn(value: bytes) -> bool:
    """Whether the letters and digits of a value change as only those of a drawn one do, whatever signs are beside
    them: `$Zk83hfQQ92ab`, `[Zk83 hfQQ 92ab]`; not `$dbPass2`, `/run/secrets/db1`."""
    plain = value.translate(None, _NOT_ALNUM)
    return (
        len(plain) <= 64
        and len(plain.translate(None, _DIGITS)) <= len(plain) - 2
        and alternates_kinds(plain, MIN_CERTAIN_CHARS - 1)
        and has_high_entropy(plain)
        and not is_identifier(plain)
        and _SMALL_WORD.search(value) is None
        and (value.count(b"/") < 2 or _PATH.fullmatch(value) is None)
        and _OBJECT.fullmatch(value) is None
    )


def is_strewn(value: bytes) -> bool:
    """Whether digits are strewn among the letters of 16 characters or more, as in drawn keys of any alphabet, and in no
    name: at least one in six neighbours is a letter beside a digit (four in ten of random letters and digits are)."""
    kinds = value.translate(_LETTER_OR_DIGIT, _NOT_ALNUM)
    changes = kinds.count(b"ad") + kinds.count(b"da")
    return len(kinds) >= _MIN_RANDOM_CHARS and 6 * changes >= len(kinds) and changes > 3 and not is_identifier(value)


_LETTER_OR_DIGIT = bytes(0x64 if 0x30 <= code <= 0x39 else 0x61 for code in range(256))


def is_drawn_among(value: bytes) -> bool:
    """Whether one of the words of a value is drawn."""
    return is_drawn(value) or any(is_strewn(word) or is_random(word) for word in value.split())


def _is_drawn_around(value: bytes) -> bool:
    """Whether capitals, small letters and digits stand around the templates of a value: `Wabe{u}9xQ`."""
    rest = _BRACED.sub(b"", value)
    has_letters = not rest.isupper() and not rest.islower()
    return rest != value and len(rest) >= _MIN_AROUND_CHARS and has_letters and _DIGIT.search(rest) is not None


_BRACED = re.compile(rb"(?<![$#%{])\{[A-Za-z_]\w{0,20}\}(?!\})")
_MIN_AROUND_CHARS = 6
_DIGIT = re.compile(rb"[0-9]")
_NOT_ALNUM = bytes(code for code in range(256) if code not in _ALNUM)


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
        or _OBJECT.fullmatch(value) is not None
    )


def _looks_secret(value: bytes, naming: Naming, closed: bool) -> bool:
    """Whether the value is a secret; `closed`: a whole quotation."""
    lower = value.lower()
    if len(value) < MIN_CHARS or _says_placeholder(lower) or is_published_secret(value):
        return False
    is_handle = not naming.strong and (not naming.proves or value.startswith(b"0x"))
    if is_handle and _FINGERPRINT.fullmatch(value.partition(b",")[0]):
        return False
    if not value.isalnum() and naming.is_assigned and (naming.strong or naming.proves) and is_drawn(value):
        return not is_public(value)
    if _has_placeholder_signs(lower) or _is_code(value):
        return naming.strong and naming.is_assigned and _is_drawn_around(value)
    if (not value.isalnum() or value.startswith(_PUBLIC_HEADS)) and is_public(value):
        return False
    digits = len(value) - len(value.translate(None, b"0123456789"))
    if (not digits and is_password_word(value)) or (not naming.quote and value.startswith(b"--")):
        return False
    if naming.any_word:
        return _is_own_value(value, lower, bool(naming.quote))
    if not naming.is_assigned:
        if _MAIL.fullmatch(value):
            return False  # the user beside the password
        if naming.strong and _is_made_up(value, digits, naming.owns):
            return True
        if is_identifier(value) or is_code_reference(value):
            return False
        return not (naming.owns and is_program_name(value)) and _looks_mixed(value, naming)
    if not naming.strong:
        if naming.proves and (is_strewn(value) or digits == len(value) >= _MIN_RANDOM_CHARS):
            return not is_code_reference(value)
        if is_program_name(value):
            return False
    letters = len(value.translate(None, _NOT_LETTERS))
    mixed = value != lower and not value.isupper()
    if naming.strong:
        return _looks_like_password(value, letters, digits, closed)
    if _MINUS in value and _PRODUCT_KEY.fullmatch(value):
        return True
    if naming.proves and naming.is_assigned and letters and len(value) >= 10 and alternates_kinds(value, 8):
        return True
    if is_joined_identifier(value) or (not value.isalnum() and is_code_reference(value)):
        return False
    if mixed and is_random(value):
        return True
    if len(value) < 8 or not letters or not digits or _IDENTIFIER.fullmatch(value):
        return False
    return (mixed or len(value) >= 16) and (
        digits > 3 or len(value) >= 32 or len(_DIGITS_SECRET_VALUES.findall(value)) > 1
    )


def is_passphrase(value: bytes) -> bool:
    """Whether words with blanks between are a password by themselves, and no sentence about one."""
    return _PHRASE.fullmatch(value) is not None and _PHRASE_NOT.search(value.lower()) is None


def judge_whole(value: bytes, naming: Naming) -> tuple[bool, bool]:
    """(whether all of a quoted value that its name owns is a secret, whether that is certain)."""
    naming = naming._replace(link="assigned", quote=b'"')
    value = _UNICODE.sub(_folded_escape, value) if b"\\u" in value else value
    if 3 * value.count(b"\x02") >= len(value):
        return False, False  # a sentence in another script, some of which have no blanks
    if _BLANK.search(value) is not None:
        if value.rstrip()[-1:] in (b"=", b":", b">"):
            return False, False  # the mark behind it opens the next value
        is_certain = naming.proves and is_drawn_among(value)
        return is_certain or (naming.strong and _is_phrase_with_digits(value)), is_certain
    size, certain = judge_secret(value, b'"', naming)
    if size or not naming.strong:
        return size > 0, certain
    return judge_secret(value, b'"', naming._replace(any_word=True))[0] > 0, False


_UNICODE = re.compile(rb"(?<!\\)\\++u([0-9A-Fa-f]{4})")


def _folded_escape(escape: re.Match[bytes]) -> bytes:
    code = int(escape[1], 16)
    return bytes([code]) if code < 0x80 else b"\x02"


def _is_phrase_with_digits(value: bytes) -> bool:
    if is_passphrase(value) or is_drawn(value):
        return True
    lower = value.lower()
    is_mixed = _DIGIT.search(value) is not None and value[1:] != lower[1:] and value.count(b" ") < _MOST_BLANKS
    return is_mixed and not _says_placeholder(lower) and _PHRASE_NOT.search(lower) is None


_BLANK, _MOST_BLANKS = re.compile(rb"\s"), 6
_PHRASE = re.compile(rb"[a-z0-9]{3,12}(?:[ -][a-z0-9]{3,12}){2,9}")
_PHRASE_NOT = re.compile(
    rb"\b(?:your|you|the|pass\w*|pwd|enter|please|must|least|characters?|user|name|with|for|and|this|that|not|has|have"
    rb"|does|are|was|can|will|from|invalid|wrong|reset|change|forgot|login|file|when|which|should|min\w*|max\w*|chars?|digits?"
    rb"|numbers?|letters?|upper\w*|lower\w*|special|symbols?|required|field|error|failed|to|of|be|is|or|if|in|on|at|by)\b"
)
"""Words of a sentence about a password, which a passphrase has not."""


def _is_made_up(value: bytes, digits: int, is_owned: bool) -> bool:
    """Whether a value is a word with a number and perhaps a sign, as people make passwords: `Redshank34`, `Vole_998`.

    Beside a name that does not own it, it has a capital: `the password sha256` names a method.
    """
    if len(value) < 7 or not _MADE_UP.fullmatch(value) or is_code_reference(value):
        return False
    return digits > 1 and (is_owned or digits > 3 or (value[:1].isupper() and not value[:3].isupper()))


_MAIL = re.compile(rb"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63}){1,4}")
_MADE_UP = re.compile(
    rb"[A-Za-z]{3,52}+(?:[_.!#&*+-][A-Za-z]{3,32}+){0,2}[_.!#&*+-]?[0-9]{2,6}[A-Za-z]{0,3}[!#$%&*?@.]?"
)


def _is_own_value(value: bytes, lower: bytes, is_quoted: bool) -> bool:
    """Whether a setting's value is more than a word about it: `swordfish`, not `required`, `string` or `user_input`."""
    if lower in _SETTING_WORDS or lower.endswith(_ABOUT_ENDS) or not any(map(_ALNUM_BYTE, lower)):
        return False
    if value.isupper() and not value.translate(None, _UPPER_NAME):
        return False  # a placeholder of a manual: PASSWORD=MY_SECRET
    if is_code_reference(value) or (is_joined_identifier(value) and not is_quoted):
        return False
    return lower.count(b"\x02") * 2 < len(lower)


_SETTING_WORDS = words("harmless.txt", "setting")
"""What settings, forms and sentences say of a password in place of one."""
_UPPER_NAME = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ_-()[]{}"
_ABOUT_ENDS = (b"ed", b"ing", b"able", b"ible")
_ALNUM_BYTE = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789\x02").__contains__


def _looks_like_password(value: bytes, letters: int, digits: int, closed: bool) -> bool:
    """Behind the assigned name of a password: letters and digits are enough, words only in a quotation of their own."""
    if not letters:
        return digits > 3 and digits == len(value)
    if len(value) < 6:
        return False
    if digits:
        return value.isalnum() or (
            not (_JOINTS.search(value) and is_code_reference(value))
            and (closed or not _is_dotted_name(value) or (value[:1].isupper() and value[-2:].isdigit()))
        )
    mixed = not value.islower() and not value.isupper()
    special = len(value) > letters
    if mixed and not special and len(value) >= MIN_CERTAIN_CHARS and not is_identifier(value):
        return True  # letters alone, mixed as in no name
    if is_joined_identifier(value) or (special and is_code_reference(value)):
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
