"""Hides what looks like an API key in texts that leave the gateway: log lines, and what an upstream said of a failure.

The second line of defence: no message is made from a key on purpose. The sanitizer's detectors know many more forms
of secrets and cost more. Runs in time linear in the text.
"""

import re
from collections.abc import Iterable

import re2

HIDDEN = "[hidden]"
"""Takes the place of a key."""

MIN_SENT_CHARS = 8
"""Fewest characters of a sent value that is hidden; a shorter one (`Bearer`, `1`) is no key."""

_MAY_HOLD_A_KEY = re2.compile(rb"(?i)bearer|gw_|hf_|(?:sk|tvly|pk|key)[-_]")
"""Matches wherever `_KEYS` does, in about a fortieth of its time on log lines, which are the hot path."""

_KEYS = re.compile(
    r"(?ia)"
    # The scheme of RFC 6750 and its token, up to a blank or to the quote or backslash that ends a JSON string.
    r"(bearer(?:[^\S\n]|\\[bfnrt]|%20|\+)+(?:\\?[\"'])?)[^\s\"\\]+"
    # Not inside a word (`task-…`), but after an escape: `\nsk-…`, `\u003dsk-…` in JSON, `%3Dsk-…` in a URL.
    r"|(?:(?<![a-z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9a-f]{4})|(?<=%[0-9a-f]{2}))"
    r"(?:(gw_|(?:sk|tvly)[-_])[a-z0-9._~+/=-]{6,}|(hf_|(?:pk|key)[-_])[a-z0-9_-]{8,})"
)
"""`gw-` and `hf-` begin names of hosts and models, not keys. Only keys begin with `sk-`, `gw_` or `tvly-`, so
6 characters after them are enough; identifiers begin with `key_` too, so 8 are needed."""


def scrub_keys(text: str, sent: Iterable[str] = ()) -> str:
    """`text` with `[hidden]` in place of what looks like a key, and of each of the `sent` secrets that is long enough.

    The beginning that gave a key away stays: `Bearer [hidden]`, `sk-[hidden]`. Equals `_KEYS.sub` over the whole text,
    which `_MAY_HOLD_A_KEY` saves most texts.
    """
    for secret in sorted(sent, key=len, reverse=True):
        if len(secret) >= MIN_SENT_CHARS:
            text = text.replace(secret, HIDDEN)
    if _MAY_HOLD_A_KEY.search(text.encode("utf-8", "replace")) is None:
        return text
    return _KEYS.sub(_hide, text)


def _hide(match: re.Match[str]) -> str:
    return f"{match[1] or match[2] or match[3]}{HIDDEN}"
