"""Text in data URLs and base64 is read and written back; everything else of that form is let be."""

import base64
from urllib.parse import quote, unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.sanitize.encoded_text import read
from tests.support.counted_work import peak_bytes

TEXT = "A note of some length, with an äöü in it."


ENCODED = [
    "data:text/plain;base64," + base64.b64encode(TEXT.encode()).decode(),
    "data:TEXT/PLAIN;charset=utf-8;BASE64," + base64.b64encode(TEXT.encode()).decode(),
    "data:," + TEXT.replace(" ", "%20"),
    base64.urlsafe_b64encode(TEXT.encode()).decode().rstrip("="),
    "data:image/png;base64," + base64.b64encode(TEXT.encode("utf-16")).decode(),
]


@pytest.mark.parametrize("value", ENCODED)
def test_text_is_read_whatever_it_is_declared_as(value: str) -> None:
    found = read(value)
    assert found is not None and found.text == TEXT
    again = read(found.encoded("other words of some length"))
    assert again is not None and again.text == "other words of some length" and again.prefix == found.prefix


@pytest.mark.parametrize(
    "head", [b"\x89PNG\r\n\x1a\n\x00\x00", b"\xff\xd8\xff\xe0\x00\x10JFIF\x00", b"RIFF\x24\x00\x00\x00WAVE",
             b"%PDF-1.7\n", b"PK\x03\x04\x14\x00", b"GIF89a\x01\x00\x01\x00"])  # fmt: skip
def test_pictures_sounds_and_archives_are_let_be(head: bytes) -> None:
    encoded = base64.b64encode(head + b"words in it " * 40).decode()
    for value in (encoded, "data:text/plain;base64," + encoded):
        found = read(value)
        assert found is not None and found.text is None


PICTURE = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n\x00\x00" * 200).decode()


@pytest.mark.parametrize("value", ["", "a word", "QUJD not base64 " * 9, PICTURE + " and the password is here!"])
def test_other_strings_and_base64_with_text_behind_it_are_no_encoded_text(value: str) -> None:
    assert read(value) is None and read(PICTURE) is not None


@pytest.mark.slow
@given(st.text(max_size=200))
def test_any_string_is_told_apart_without_an_error(value: str) -> None:
    for each in (value, "data:" + value, "data:;base64," + value):
        read(each)


@pytest.mark.slow
def test_a_long_url_of_percent_signs_is_read_in_pieces_as_it_would_be_whole() -> None:
    payload = ("%41%2" * 30_000 + "%C3%A4b" * 20_000)[3:]
    for shift in range(4):
        found = read("data:text/html," + payload[shift:])
        assert found is not None and found.text == unquote_to_bytes(payload[shift:]).decode()
        assert found.encoded(found.text) == "data:text/html," + quote(found.text, safe="[]:,;/ ")


@pytest.mark.slow
def test_reading_a_url_of_percent_signs_takes_no_more_memory_than_a_few_times_its_size() -> None:
    value = "data:text/html," + "%41%2" * 60_000
    assert peak_bytes(lambda: read(value)) < 10 * len(value)
