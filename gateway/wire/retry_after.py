"""The Retry-After header: RFC 9110 §10.2.3, read 2026-11-21. Whole seconds, or a date."""

import email.utils
import time


def retry_after_s(value: str) -> float | None:
    """Seconds from now, 0 for a date that is past; None when there is no such header or it makes no sense."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value) if len(value) < 8 else None
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None
