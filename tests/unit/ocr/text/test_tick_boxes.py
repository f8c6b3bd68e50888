"""Tick boxes beside Latin words; Chinese characters in Chinese text stay."""

import pytest

from gateway.ocr.text.reader import with_tick_boxes


@pytest.mark.parametrize(
    ("read", "text"),
    [
        ("冈 proof of address", "☒ proof of address"),
        ("口 Visitor □ Trade", "☐ Visitor ☐ Trade"),
        ("口", "口"),
        ("区 口", "区 口"),
        ("人口 in thousands", "人口 in thousands"),
        ("出口 口 Exit", "出口 口 Exit"),
        ("plain words", "plain words"),
    ],
)
def test_a_lone_look_alike_among_latin_words_is_a_tick_box(read: str, text: str) -> None:
    assert with_tick_boxes(read) == text
