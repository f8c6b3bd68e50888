"""Values and near misses for the fuzz of the detectors: each maker draws a new one at every call. Not a measurement.

None of them is anybody's: digits and letters are random, check digits are right half the time.
"""

import base64
import random
import string
from collections.abc import Callable
from urllib.parse import quote

Maker = Callable[[random.Random], str]
_ALNUM = string.ascii_letters + string.digits
_WORDS = [
    "the", "quick", "report", "of", "garden", "stone", "and", "river", "was", "found", "by", "people", "in", "late",
    "winter", "near", "old", "bridge",
]  # fmt: skip


def any_of(alphabet: str, least: int, most: int) -> Maker:
    return lambda source: "".join(source.choices(alphabet, k=source.randint(least, most)))


def one_of(*choices: str) -> Maker:
    return lambda source: source.choice(choices)


def joined(*makers: Maker | str) -> Maker:
    return lambda source: "".join(maker if isinstance(maker, str) else maker(source) for maker in makers)


def _luhn_digit(digits: str) -> int:
    odd = sum(map(int, digits[-2::-2]))
    return -(odd + sum(sum(divmod(2 * int(digit), 10)) for digit in digits[::-1][::2])) % 10


def card(source: random.Random) -> str:
    body = source.choice(("4", "51", "2221", "37", "62", "6011", "35")) + "".join(source.choices(string.digits, k=14))
    body = body[:15]
    number = body + str(_luhn_digit(body) if source.random() < 0.5 else source.randint(0, 9))
    joint = source.choice(("", "", " ", "-", "."))
    return joint.join(number[at : at + 4] for at in range(0, 16, 4))


def iban(source: random.Random) -> str:
    country, size = source.choice((("DE", 18), ("GB", 18), ("FR", 23), ("NL", 14), ("NO", 11), ("MT", 27)))
    body = "".join(source.choices(string.digits + "ABC" * (country != "DE"), k=size))
    check = 98 - int("".join(str(int(char, 36)) for char in f"{body}{country}00")) % 97
    number = f"{country}{check if source.random() < 0.5 else source.randint(10, 99):02}{body}"
    return " ".join(number[at : at + 4] for at in range(0, len(number), 4)) if source.random() < 0.5 else number


_digits = any_of(string.digits, 1, 12)
_ID_WORD = one_of(
    "dni", "nif", "ssn", "cedula", "tin", "pin", "id number", "cc", "rut", "cpf", "pesel", "cnp", "rfc", "vat", "bsn",
    "personnummer", "nric", "cf", "ein", "tva", "ci", "pan", "kt", "инн", "身份证", "social security number",
)  # fmt: skip
_NAME = one_of(
    "password", "pwd", "api_key", "token", "secret", "DB_PASS", "authorization", "key", "client-secret", "pin", "sig",
    "connection string", "passphrase", "MY_KEY", "auth", "bearer", "license",
)  # fmt: skip
_HEAD = one_of(
    "AKIA", "ghp_", "sk-", "sk-proj-", "xoxb-", "glpat-", "eyJ", "SG.", "AIza", "npm_", "hf_", "v1.", "key-",
    "pk_live_",
    "hooks.slack.com/services/", "dop_v1_", "sl.", "pat", "EAA", "S3", "t1.", "st.", "A3-", "live_", "AX",
)  # fmt: skip
MAKERS: dict[str, Maker] = {
    "digits": _digits,
    "number": joined(any_of(string.digits, 1, 5), one_of(".", ",", " "), any_of(string.digits, 2, 3)),
    "long": any_of(string.digits, 12, 40),
    "groups": lambda source: source.choice(" -./").join(_digits(source)[:4] for _ in range(source.randint(2, 7))),
    "card": card,
    "iban": iban,
    "phone": joined(one_of("+", "00", "+1 ", "+44 ", "+49 "), any_of(string.digits + " ", 7, 13)),
    "call": joined(one_of("tel ", "phone: ", "call me ", "fax ", "reach "), any_of(string.digits + "- ", 7, 12)),
    "ssn": joined(any_of(string.digits, 3, 3), "-", any_of(string.digits, 2, 2), "-", any_of(string.digits, 4, 4)),
    "id": joined(_ID_WORD, one_of(" ", ": ", " no "), any_of(string.digits + string.ascii_uppercase + "-./", 5, 14)),
    "id word": joined(_ID_WORD, " "),
    "mail": joined(
        any_of(string.ascii_lowercase + ".", 1, 9), "@", any_of(string.ascii_lowercase, 1, 8), one_of(".org", ".c")
    ),
    "spelt mail": joined(
        any_of("abc", 1, 4), one_of(" at ", "[at]", " (at) "), any_of("abc", 1, 4), " dot ", any_of("abc", 2, 3)
    ),
    "ip": lambda source: ".".join(str(source.randint(0, 270)) for _ in range(4)),
    "ip6": lambda source: "2a01:" + ":".join(f"{source.randint(0, 65535):x}" for _ in range(source.randint(1, 7))),
    "wallet": joined(one_of("1", "3", "bc1q", "0x", "r", "L", "D"), any_of(_ALNUM, 24, 50)),
    "ether": joined("0x", any_of("0123456789abcdef", 40, 40)),
    "bech": joined("bc1", any_of("qpzry9x8gf2tvdw0s3jn54khce6mua7l", 38, 60)),
    "vendor": joined(_HEAD, any_of(_ALNUM + "_-", 8, 60)),
    "jwt": joined("eyJ", any_of(_ALNUM, 4, 20), ".eyJ", any_of(_ALNUM, 2, 20), ".", any_of(_ALNUM + "-_", 0, 20)),
    "name": _NAME,
    "keyed": joined(_NAME, one_of("=", ": ", ' = "', "=>", " is ", "='"), any_of(_ALNUM + "!%$.", 3, 24)),
    "login": joined("https://", any_of("abc", 0, 5), ":", any_of(_ALNUM, 2, 12), "@", any_of("abc.", 3, 9)),
    "url": joined("http://", any_of("abc.", 3, 9), "/", any_of(_ALNUM + "/%=&?", 3, 30)),
    "pem": one_of("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----BEGIN ", "-----"),
    "hash": any_of("0123456789abcdef", 32, 40),
    "uuid": lambda source: "-".join(f"{source.getrandbits(bits):0{bits // 4}x}" for bits in (32, 16, 16, 16, 48)),
    "token": any_of(_ALNUM + "+/_-", 16, 60),
    "mixed": any_of("аеорс４５éß한\u200b\u0301٣é" + _ALNUM, 2, 12),
    "letters": lambda source: source.choice(" .-_").join(any_of(_ALNUM + "@.", 10, 24)(source)),
    "junk": any_of(string.printable, 1, 8),
    "punctuation": any_of(string.punctuation, 1, 4),
    "date": lambda source: f"20{source.randint(10, 30)}-0{source.randint(1, 9)}-1{source.randint(0, 9)}",
    "word": one_of(*_WORDS),
    "prose": lambda source: " ".join(source.choices(_WORDS, k=14)),
    "space": one_of(" ", " ", "\n", ", ", "\t", "; "),
}
DISGUISES: dict[str, Callable[[str], str]] = {
    "percent": lambda text: "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "replace")),
    "quoted": lambda text: quote(text, safe=""),
    "some percent": lambda text: "".join(quote(char, safe="") if n % 3 == 0 else char for n, char in enumerate(text)),
    "entities": lambda text: "".join(f"&#{ord(char)};" for char in text),
    "some entities": lambda text: "".join(f"&#x{ord(char):x};" if n % 4 == 0 else char for n, char in enumerate(text)),
    "escapes": lambda text: "".join(f"\\u{ord(char):04x}" if char <= "\uffff" else char for char in text),
    "bytes": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode("utf-8", "replace")),
    "printable": lambda text: "".join(f"={byte:02X}" for byte in text.encode("utf-8", "replace")),
    "base64": lambda text: base64.b64encode(text.encode("utf-8", "replace")).decode(),
    "url base64": lambda text: base64.urlsafe_b64encode(text.encode("utf-8", "replace")).decode().rstrip("="),
    "hex": lambda text: text.encode("utf-8", "replace").hex(),
    "wide": lambda text: "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text),
    "spaced": " ".join,
    "zero width": "\u200b".join,
    "base64 of base64": lambda text: base64.b64encode(base64.b64encode(text.encode("utf-8", "replace"))).decode(),
}  # fmt: skip
