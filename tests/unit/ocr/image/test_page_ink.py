"""The ink inside boxes of a page."""

import numpy

from gateway.geometry.boxes import Rect
from gateway.ocr.image.ink import PageInk


def test_a_box_is_looked_at_once_and_an_empty_one_has_no_ink() -> None:
    gray: numpy.ndarray = numpy.full((60, 200), 255, numpy.uint8)
    gray[20:40, 30:120] = 0
    page = PageInk(gray)
    box = Rect(20, 10, 180, 50)
    found = page.ink(box)
    assert found is not None
    ink, left, top = found
    assert (left, top, int(ink.sum())) == (20, 10, 20 * 90)
    assert page.ink(Rect(*box)) is found and page.ink(Rect(130, 0, 190, 60)) is None


def test_ink_that_gray_does_not_tell_from_its_ground_is_found_by_its_colour() -> None:
    colours: numpy.ndarray = numpy.full((60, 200, 3), 255, numpy.uint8)
    colours[20:40, 30:120] = (127, 255, 255)
    gray: numpy.ndarray = numpy.full((60, 200), 255, numpy.uint8)
    gray[20:40, 30:120] = 240
    box = Rect(20.5, 10.5, 180.2, 50.2)
    assert PageInk(gray).ink(box) is None
    found = PageInk(gray, colours).ink(box)
    assert found is not None
    ink, left, top = found
    assert (left, top, ink.shape, int(ink.sum())) == (20, 10, (41, 161), 20 * 90)
    assert PageInk(gray, colours).ink(Rect(190, 50, 400, 300)) is None
