"""Reads the Retry-After header: whole seconds, or a date. Source: RFC 9110 §10.2.3, read 2026-11-21."""

import email.utils
import time
from collections.abc import Callable

_MOST_S = 10_000_000
"""Four months. A longer wait is a mistake of the server, and is treated as none."""


def retry_after_s(value: str, now: Callable[[], float] = time.time) -> float | None:
    """Seconds from now, 0 for a date in the past; None for an empty or invalid value, and from _MOST_S on.

    `now` gives Unix time.
    """
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value) if len(value) <= len(str(_MOST_S)) and float(value) < _MOST_S else None
    try:
        wait_s = max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - now())
        return wait_s if wait_s < _MOST_S else None
    except (ValueError, TypeError, OverflowError):
        return None
