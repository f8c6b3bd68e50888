"""Addresses as people and models write them."""

import pytest

from gateway.engines.fetch.urls import from_caller, parse_url

PAGE = "https://docs.example.org/a"


@pytest.mark.parametrize(
    "typed",
    [
        PAGE, f" {PAGE}\n", f"<{PAGE}>", f"`{PAGE}`", f'"{PAGE}"', f"'{PAGE}'", f"“{PAGE}”", f"[the docs]({PAGE})",
        f"[the docs](<{PAGE}>)", f"[`a[0]`]({PAGE})", "docs.example.org/a", "//docs.example.org/a",
    ],
)  # fmt: skip
def test_what_stands_around_an_address_is_taken_away(typed: str) -> None:
    assert from_caller(typed) == PAGE


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("10.0.0.5:8000/docs", "http://10.0.0.5:8000/docs"),
        ("127.0.0.1", "http://127.0.0.1"),
        ("//127.0.0.1:8000/x", "http://127.0.0.1:8000/x"),
        ("localhost:3000", "http://localhost:3000"),
        ("localhost.example.org", "https://localhost.example.org"),
        ("example.org:8443/x", "https://example.org:8443/x"),
        ("https://example.org/it's", "https://example.org/it's"),
        ("https://example.org/a_(b)", "https://example.org/a_(b)"),
        ("https://[2001:db8::1]/x", "https://[2001:db8::1]/x"),
        ("https://example.org/a b", "https://example.org/a%20b"),
        ("javascript:alert(1)", "javascript:alert(1)"),
        ("", ""),
        ("[]()", ""),
    ],
)
def test_an_address_keeps_what_belongs_to_it(typed: str, meant: str) -> None:
    assert from_caller(typed) == meant


def test_the_longest_address_of_each_form_is_read_at_once() -> None:
    for typed in ("1." * 2000, "[" * 4000, "`" * 4000, "//" * 2000, "[a](" * 1000 + ")"):
        assert isinstance(from_caller(typed), str)
    assert parse_url(from_caller("10.0.0.5:8000/docs")).port == 8000
