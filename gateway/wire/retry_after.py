"""Reads the Retry-After header: whole seconds, or a date. Source: RFC 9110 §10.2.3, read 2026-11-21."""

import email.utils
import time
from collections.abc import Callable


def retry_after_s(value: str, now: Callable[[], float] = time.time) -> float | None:
    """Seconds from now, 0 for a date in the past; None for an empty or invalid value, and for eight digits or more.

    `now` gives Unix time.
    """
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value) if len(value) < 8 else None
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - now())
    except (ValueError, TypeError, OverflowError):
        return None
