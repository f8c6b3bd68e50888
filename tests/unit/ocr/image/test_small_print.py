"""Small print: `rn` that was read as `m`, told by the ink."""

import numpy
import pytest
from PIL import Image, ImageDraw

from gateway.geometry.boxes import Line, Rect, Word
from gateway.ocr.image.ink import measure
from gateway.ocr.image.ink import PageInk
from gateway.ocr.image.small_print import mended
from tests.support.ocr_pages import font

LEFT = 20


def read_line(drawn: str, read_as: str, size: int, style: str = "Sans") -> tuple[PageInk, Line]:
    """The ink of a strip of text, and its line with another reading; `rn` and `m` are as wide here."""
    face = font(size, style)
    image = Image.new("L", (LEFT * 2 + int(face.getlength(drawn)), 2 * size), 255)
    ImageDraw.Draw(image).text((LEFT, size // 3), drawn, 0, font=face)
    ink = PageInk(numpy.asarray(image))
    rect = Rect(LEFT - 4, size // 3, LEFT + 4 + face.getlength(drawn), size * 5 // 3)
    line = measure(ink, Line(rect, ((rect.x1, rect.y1), (rect.x2, rect.y1), (rect.x2, rect.y2), (rect.x1, rect.y2))))
    spelled = drawn.replace("rn", "\0")
    letters = []
    for place, letter in enumerate(spelled):
        before, upto = (spelled[:end].replace("\0", "rn") for end in (place, place + 1))
        letters.append(LEFT + (face.getlength(before) + face.getlength(upto)) / 2)
        assert letter == read_as[place] or letter == "\0"
    line.text, line.letters = read_as, tuple(letters)
    line.words = tuple(Word(word, rect) for word in read_as.split())
    return ink, line


def test_rn_that_touch_without_the_shoulder_of_an_m_are_put_right() -> None:
    line = mended(*read_line("arno summer", "amo summer", 14))
    assert line.text == "arno summer"
    assert [word.text for word in line.words] == ["arno", "summer"]
    assert len(line.letters) == len(line.text)
    assert sorted(line.letters) == list(line.letters)


@pytest.mark.parametrize("style", ["Sans", "Serif", "SansMono", "Sans-Bold"])
def test_an_m_stays_in_every_typeface_and_so_does_large_print(style: str) -> None:
    for size in (11, 12, 13, 14, 16, 18, 40):
        text = "commission members import them from mammoth farms"
        assert mended(*read_line(text, text, size, style)).text == text
