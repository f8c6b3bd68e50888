"""Harmless values: what documentation publishes as examples, prefixes of ids, and words in place of a password.

`harmless.txt` has them with their sources. A value that only looks like an example (`your-api-key`) is a placeholder:
see `value_forms`.
"""

import base64
import binascii

from gateway.sanitize.detectors.tables import rows, words

CARDS = words("harmless.txt", "card")
"""Card numbers for tests, without separators."""
IBANS = words("harmless.txt", "iban")
"""Bank account numbers for tests, in capitals without separators."""
SECRETS = words("harmless.txt", "secret")
"""Keys and tokens that documentation prints."""
IDS = words("harmless.txt", "id")
_LOGIN_PAIRS = frozenset(rows("harmless.txt", "login"))
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
