"""Harmless values: what documentation publishes as examples, prefixes of ids, and words in place of a password.

`harmless.txt` has them with their sources. A value that only looks like an example (`your-api-key`) is a placeholder:
see `value_forms`.
"""

import base64
import binascii
from importlib import resources


def _values(kind: str) -> list[str]:
    """The lines under the headings `[kind] source`."""
    found, is_kind = list[str](), False
    for line in resources.files(__package__).joinpath("harmless.txt").read_text().splitlines():
        if line.startswith(("[", "#")):
            is_kind = line.startswith(f"[{kind}]")
        elif is_kind:
            found.append(line)
    return found


def _words(kind: str) -> list[str]:
    return [word for line in _values(kind) for word in line.split()]


def harmless_words(kind: str) -> frozenset[bytes]:
    """The words of a kind, in small letters."""
    return frozenset(word.encode() for word in _words(kind))


CARDS = frozenset(number.encode() for number in _words("card"))
"""Card numbers for tests, without separators."""
IBANS = frozenset(_words("iban"))
"""Bank account numbers for tests, in capitals without separators."""
SECRETS = frozenset(value.encode() for value in _words("secret"))
"""Keys and tokens that documentation prints."""
IDS = frozenset(_words("id"))
_LOGIN_PAIRS = frozenset(_values("login"))
_EXAMPLE_MARK = b"EXAMPLE"
"""The word that AWS puts into every key it publishes (IAM User Guide)."""


def is_published_secret(value: bytes) -> bool:
    """Whether a key or token is in the table, or has AWS's mark in it."""
    return _EXAMPLE_MARK in value or value in SECRETS


def is_published_login(user: bytes, password: bytes) -> bool:
    """Whether `user:password` is one of the published pairs, in any case."""
    return f"{user.decode('ascii', 'replace')}:{password.decode('ascii', 'replace')}".lower() in _LOGIN_PAIRS


def is_published_basic(value: bytes) -> bool:
    """Whether base64 of a `user:password` (RFC 7617) hides a published pair or `user:password` itself."""
    try:
        user, colon, password = base64.b64decode(value + b"=" * (-len(value) % 4)).partition(b":")
    except (binascii.Error, ValueError):
        return False
    lower = password.lower()
    return bool(colon) and (
        is_published_login(user, password) or lower in (b"password", b"pass", b"passwd", b"pwd", b"secret")
    )
