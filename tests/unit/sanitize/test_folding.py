"""Folding: both of its ways give the same bytes, and offsets lead back to the text."""

import random

import pytest

from gateway.sanitize.folding import View, folded
from tests.support.scanned import found


def test_sparse_and_dense_texts_are_folded_alike() -> None:
    source = random.Random(5)
    plain = "plain words, " * 20
    for _ in range(300):
        odd = "".join(chr(source.choice((source.randrange(0x80, 0x3000), source.randrange(0x20000)))) for _ in range(4))
        assert folded(plain + odd) == plain.encode() + folded(odd)


def test_ideographs_are_letters_and_tags_are_dropped_wherever_they_lie() -> None:
    beyond = {"\U00020000": b"\2", "\U0002ffff": b"\2", "\U000dffff": b"\2", "\U000e0000": b"\1", "\U000e0fff": b"\1"}
    beyond |= {"\U000e1000": b"\2", "\U000f3a00": b"\2", "\U0010ffff": b"\2", "\ud800": b"\3", "?": b"?"}
    for text in (*beyond, "".join(beyond), "plain " * 50 + "".join(beyond)):
        assert folded(text) == b"".join(beyond.get(char, char.encode("utf-8", "replace")) for char in text)


def test_every_folded_byte_leads_back_to_the_character_it_came_from() -> None:
    source = random.Random(6)
    for _ in range(200):
        text = "".join(source.choice("ab1 é\u200b\u00ad４а한") for _ in range(30))
        view = View(text)
        for index in range(len(view.folded)):
            start, end = view.origin(index, index + 1)
            assert end == start + 1 and folded(text[start:end]) == view.folded[index : index + 1]


@pytest.mark.parametrize(
    "around",
    [
        r"\u003c{}\u003e", r"\x3c{}\x3e", "%3C{}%3E", r"\u0026{}", "%0A{}", r"\u00a0{}", r"\u2028{}", r"\u007c{}\u007c",
        "\x1b[31m{}\x1b[0m", r"\u001b[1;31m{}\u001b[0m", r"\033[1m{}\033[0m", r"\e[1m{}\e[0m",
        "\x1b(B{}\x1b[m", "\x1b[38:5:196m{}\x1b[0m", "\x1b[?25l{}", r"\E[31m{}\E[0m", "^[[31m{}^[[0m", r"\033(B{}",
        "\x1b]8;;http://x.example\x07{}\x1b]8;;\x07", "\x1b]8;;http://x.example\x1b\\{}\x1b]8;;\x1b\\",
        r"\xe2\x80\x9c{}\xe2\x80\x9d",
        "<!--{}-->", "—{}—", "**{}**",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "value",
    [
        "jane.doe@posthaus.org", "4485 2757 4230 8327", "DE44500105175407324931", "+49 151 23456789", "93.184.216.34",
        "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fH3jK5",
    ],
)  # fmt: skip
def test_what_is_beside_an_escape_or_a_colour_begins_there(around: str, value: str) -> None:
    if value.startswith("ghp_") and around == "—{}—":
        return  # a key may go on with a dash
    assert found("see " + around.format(value) + " there") == [value]


def test_an_address_in_italics_is_found_without_its_marks() -> None:
    text = "write to _jane.doe@posthaus.org_ or __bob@posthaus.org__"
    assert found(text) == ["jane.doe@posthaus.org", "bob@posthaus.org"]
