"""When to come back, as servers say it."""

import email.utils
import time

import pytest

from gateway.wire.retry_after import retry_after_s


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("0", 0), (" 120 ", 120), ("9999999", 9_999_999), ("Wed, 21 Oct 2015 07:28:00 GMT", 0), ("", None), ("-5", None),
     ("1.5", None), ("soon", None), ("99999999999999999999", None), ("\u0663", None), ("32 Foo 2099 99:99", None),
     ("Wed, 21 Oct 2099 07:28:00 GMT", None)],
)  # fmt: skip
def test_seconds_and_dates_are_read_and_nothing_else(value: str, seconds: float | None) -> None:
    assert retry_after_s(value) == seconds


def test_a_date_to_come_is_counted_from_now() -> None:
    wait_s = retry_after_s(email.utils.formatdate(time.time() + 90, usegmt=True))
    assert wait_s is not None and 80 < wait_s <= 90
