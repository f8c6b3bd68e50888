"""What a value behind a secret's name looks like: an identifier, a path, an option, a placeholder, or random.

Works on single values of at most some hundred bytes; knows neither names nor syntax. `named_secrets` decides.
"""

import re
from itertools import pairwise, product

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
_OPTION = re.compile(rb"--?[A-Za-z][A-Za-z-]*(?:=.*)?")
_KEYWORD_ARGUMENT = re.compile(rb"[A-Za-z_]{2,40}\d?=[^=].*")
_REFERENCE = re.compile(
    rb"(?:CVE|CWE|RFC|ISO|PEP|BCP|GHSA|DSA|USN|SHA|AES|RSA|HMAC|TLS|SSL|UTF)[-_ ]?\d[\w.-]*", re.IGNORECASE
)
_VERSION = re.compile(rb"[vV]?\d{1,4}(?:\.\d{1,6}){1,4}(?:[-+.]?[a-z]{1,8}\d{0,4})?(?:[-+~.][a-z]{0,8}\d{1,4}){0,5}")
_DATE = re.compile(rb"\d{4}-\d\d-\d\d(?:T[\d:.]+Z?)?")
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
_LETTERS = bytes(code for code in range(128) if chr(code).isalpha())
_LEET = bytes.maketrans(b"013457@$!", b"oleastasi")
_ALNUM = bytes(code for code in range(128) if chr(code).isalnum())
_KIND = bytes(
    1 if 0x30 <= code <= 0x39 else 2 if 0x41 <= code <= 0x5A else 4 if 0x61 <= code <= 0x7A else 16
    for code in range(256)
)
_NOT_ALTERNATING = bytes(code for code in range(256) if code not in (1 ^ 2, 1 ^ 4, 2 ^ 4))
"""All values of the exclusive or of two _KIND bytes but those of two different kinds among digit, capital and small
letter."""
_MIN_RANDOM_CHARS = 16
"""Chosen: shorter values can look random by chance. At half product and model names do; at double 128-bit keys in
base64 (22 characters) are lost."""
_MIN_PAIRS = 12
"""Chosen: neighbouring letters and digits that a value must have before its share of changes says anything. At half
mixed-case names pass; at double short keys are lost."""
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
"""Chosen: pairs of letters before their share says anything. At half one odd abbreviation is a share; at double
passwords of fourteen letters are taken for names."""
_SAME_SIGNS = re.compile(rb"(\w)\1{5}")
"""Six equal characters in a row fill up an example. Of random keys of 40 hexadecimal digits one in 30,000 has them."""
_MEMBER_PATH = re.compile(rb"\A(?=.*[a-z]{3})[A-Za-z_]\w{0,40}(?:\.[A-Za-z_]\w{0,60}){1,6}")
_MIN_DOTTED_CHARS = 40
"""Chosen: tokens with dots in them have 50 characters and more. At half names with numbers (`x509.SHA256WithRSA`) may
pass for one, at double none is found."""
MIN_CERTAIN_CHARS = 12
"""Shorter values behind a name are only likely secrets: the words of a language and a digit fill them too easily."""
_MIN_CERTAIN_DIFFERENT = 8
"""Chosen: different characters of a value of high entropy (12 random letters and digits have 11 on average). At half
`aaaa1111AAAA` counts; at double nothing short does."""


_SIGNED = re.compile(rb"(?=[\w-]{0,30}[!#%*?+^~$@])[\w!#%*?+^~$@-]{12,32}")


def is_identifier(value: bytes) -> bool:
    """Whether the value is made of words, as names in programs are: `stat1.tbl`, `scram-sha-256`, `HiddenInput`."""
    parts = _JOINT.split(value.strip(_EDGES))
    if all(_PART.fullmatch(part) is not None for part in parts) and not has_odd_pairs(value):
        return True
    return _FILE.fullmatch(value) is not None


def is_member(value: bytes) -> bool:
    """Whether the value is a dotted name of a program, whose parts do not look random (`MTk4….Cl2FMQ.ZnCjm…`)."""
    return _MEMBER_PATH.fullmatch(value) is not None and not (
        len(value) >= _MIN_DOTTED_CHARS and alternates_kinds(value, _MIN_DOTTED_CHARS)
    )


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


def is_argument(value: bytes) -> bool:
    """Whether the value is an option or a keyword argument: `--ff-only`, `autospec=True`."""
    return _OPTION.fullmatch(value) is not None or _KEYWORD_ARGUMENT.fullmatch(value) is not None


def is_public(value: bytes) -> bool:
    """Whether the value is meant to be seen: a digest, a fingerprint, a public key, a certificate."""
    return _PUBLIC.fullmatch(value) is not None


def is_publishable(value: bytes) -> bool:
    """Whether its maker calls a key publishable: every page of the shop or map has it, so it is only likely."""
    return _PUBLISHABLE.match(value) is not None


def is_password_word(value: bytes) -> bool:
    """Whether the value is a word for a password, perhaps with others: `mypassword`, `a_password`, `top_secret`."""
    return _PASSWORD_WORDS.fullmatch(value) is not None and _PASSWORD_WORD.search(value.lower()) is not None


def is_leet_password_word(value: bytes) -> bool:
    """As `is_password_word`, with digits and signs for letters: `p4ssw0rd`, `s3cr3t`, `passw0rd1`."""
    plain = value.lower().translate(_LEET)
    return _PASSWORD_WORD.search(plain) is not None and len(plain.translate(None, _LETTERS)) <= 1


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


def is_signed(value: bytes) -> bool:
    """Whether a value of high entropy is a word of at most 32 characters with a sign that neither names nor numbers
    have."""
    return _SIGNED.fullmatch(value) is not None and has_high_entropy(value)


def has_dense_signs(value: bytes) -> bool:
    """Whether capitals, small letters, digits and signs change as in a generated key that may hold blanks: at two
    of five neighbours, where sentences change at every third; and with digits, signs, no word of six small letters
    (nine where every second neighbour changes, and four signs are none of paths) and no rows of backslashes."""
    kinds = value.translate(_KIND)
    changes = sum(map(int.__ne__, kinds, kinds[1:]))
    is_dense = 2 * changes >= len(value) and len(value.translate(None, _ALNUM + b" /._:-")) >= 4
    return (
        5 * changes >= 2 * (len(value) - 1)
        and len(value) - len(value.translate(None, _DIGITS)) >= 2
        and len(value.translate(None, _ALNUM + b" ")) >= 4
        and (_LONG_SMALL_WORD if is_dense else _SMALL_WORD).search(value) is None
        and 8 * value.count(b"\\") < len(value)
    )


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


_SMALL_WORD, _LONG_SMALL_WORD = re.compile(rb"[a-z]{6}"), re.compile(rb"[a-z]{9}")
_NAME_CHARS = _ALNUM + b"_./+*&-"
_TYPE_NAMES = (b"Key", b"Keys", b"Token", b"Auth", b"Password", b"Secret", b"Credential", b"Credentials")
"""How the names of types and members end that are made for credentials."""
_RESOURCE_ID = re.compile(rb"[a-z]{2,9}-[0-9a-f]{8}(?:[0-9a-f]{9})?")
_VOWELS = re.compile(rb"[AEIOUaeiou]")
_LONG_WORDS = re.compile(rb"[A-Z]?[a-z]{3,}+")
