"""When to come back, as servers say it."""

import email.utils
import time

import pytest

from gateway.wire.openai_error import upstream_error
from gateway.wire.retry_after import retry_after_s, wait_s

VALUES = [
    ("0", 0), (" 120 ", 120), ("9999999", 9_999_999), ("Wed, 21 Oct 2015 07:28:00 GMT", 0), ("", None), ("-5", None),
    ("1.5", 1.5), ("1e3", None), ("soon", None), ("99999999999999999999", None), ("\u0663", None),
    ("32 Foo 2099 99:99", None), ("Wed, 21 Oct 2099 07:28:00 GMT", None),
]  # fmt: skip


@pytest.mark.parametrize(("value", "seconds"), VALUES)
def test_seconds_and_dates_are_read_and_nothing_else(value: str, seconds: float | None) -> None:
    assert retry_after_s(value) == seconds


def test_a_date_to_come_is_counted_from_now() -> None:
    wait = retry_after_s(email.utils.formatdate(time.time() + 90, usegmt=True))
    assert wait is not None and 80 < wait <= 90


HEADERS = [
    ({"retry-after-ms": "7400", "Retry-After": "8"}, 7.4), ({"retry-after-ms": "250.5"}, 0.2505),
    ({"retry-after-ms": "soon", "Retry-After": "2.5"}, 2.5), ({}, None),
]  # fmt: skip


@pytest.mark.parametrize(("headers", "seconds"), HEADERS)
def test_milliseconds_go_before_seconds(headers: dict[str, str], seconds: float | None) -> None:
    assert wait_s(headers) == seconds


@pytest.mark.parametrize(("header_s", "seconds"), [(None, 7.4), (3.0, 3.0)])
def test_the_delay_in_an_errors_details_counts_where_no_header_has_one(header_s: float | None, seconds: float) -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7.4s"}
    body = [{"error": {"code": 429, "message": "Quota", "details": [{"quota": "x"}, info]}}]
    assert upstream_error(429, body, header_s).retry_after_s == seconds
