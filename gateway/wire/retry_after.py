"""Reads how long a server wants to be left alone: `Retry-After` in seconds or as a date (RFC 9110 §10.2.3), with
decimals as some send it, and `retry-after-ms` (Azure, OpenAI's SDKs; read 2026-11-28).

    wait_s({"retry-after-ms": "7400", "Retry-After": "8"})  # 7.4
"""

import email.utils
import re
import time
from collections.abc import Callable, Mapping

_MOST_S = 10_000_000
"""Four months. A longer wait is a mistake of the server, and is treated as none."""


_SECONDS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")


def wait_s(headers: Mapping[str, str]) -> float | None:
    """Seconds from now by the headers of an answer, the more exact one first; None where they say none."""
    milliseconds = headers.get("retry-after-ms", "").strip()
    if _SECONDS.fullmatch(milliseconds):
        return _sensible(float(milliseconds) / 1000)
    return retry_after_s(headers.get("Retry-After", ""))


def retry_after_s(value: str, now: Callable[[], float] = time.time) -> float | None:
    """Seconds from now, 0 for a date in the past; None for an empty or invalid value, and from _MOST_S on.

    `now` gives Unix time.
    """
    value = value.strip()
    if _SECONDS.fullmatch(value):
        return _sensible(float(value))
    try:
        return _sensible(max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - now()))
    except (ValueError, TypeError, OverflowError):
        return None


def _sensible(seconds: float) -> float | None:
    return seconds if seconds < _MOST_S else None
