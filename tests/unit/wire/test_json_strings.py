"""Long JSON strings are decoded to UTF-8, piece by piece."""

import json

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.long_texts import LONG_CHARS, Utf8Text
from gateway.wire.json_strings import decoded_text

UNITS = ["a", "ä", "中", "\U0001f600", "\\", '"', "\n", "\x01", "plain words "]


def text_of(value: str | Utf8Text) -> str:
    return value.text if isinstance(value, Utf8Text) else value


@settings(deadline=None)
@given(st.lists(st.sampled_from(UNITS), min_size=1, max_size=8), st.integers(0, 40), st.booleans())
def test_a_string_is_decoded_as_by_the_naive_form(units: list[str], shift: int, is_ascii: bool) -> None:
    text = "x" * shift + "".join(units) * (2 * LONG_CHARS // len(units))
    string = json.dumps(text, ensure_ascii=is_ascii).encode()
    assert text_of(decoded_text(memoryview(string))) == text


@pytest.mark.parametrize("wrong", [rb"\ud83d", rb"\x", b"\xff", b"\n", rb"\u12z"])
def test_what_is_no_string_is_refused(wrong: bytes) -> None:
    for before in (0, LONG_CHARS - 3, LONG_CHARS):
        string = b'"' + b"a" * before + wrong + b"b" * LONG_CHARS + b'"'
        with pytest.raises(orjson.JSONDecodeError):
            decoded_text(memoryview(string))


def test_a_short_text_is_a_string_and_a_long_one_is_kept_in_utf8() -> None:
    assert decoded_text(memoryview(b'""')) == ""
    assert isinstance(decoded_text(memoryview(b'"' + b"a" * LONG_CHARS + b'"')), Utf8Text)
