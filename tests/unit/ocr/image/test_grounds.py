"""Regions of light text on dark ground are inverted, whatever surrounds them; other pages stay as they are."""

import cv2
import numpy
from PIL import Image, ImageDraw

from gateway.ocr.image.upright import EDGE_WINDOW, MIDDLE, _dark_in, even_grounds
from tests.support.ocr_lines import Pixels
from tests.support.ocr_pages import font

DARK, LIGHT = (24, 26, 33), (245, 245, 240)


def page(ground: tuple[int, int, int], ink: tuple[int, int, int], size: tuple[int, int] = (600, 400)) -> Image.Image:
    image = Image.new("RGB", size, ground)
    write(image, ink, range(20, size[1] - 20, 26), 20)
    return image


def write(image: Image.Image, ink: tuple[int, int, int], rows: range, x: int) -> None:
    draw = ImageDraw.Draw(image)
    for y in rows:
        draw.text((x, y), "The harbour office opens", ink, font(14))


def evened(image: Image.Image) -> Pixels:
    result: Pixels = even_grounds(numpy.asarray(image))
    return result


def usual(pixels: Pixels, left: int, top: int, right: int, bottom: int) -> float:
    return float(numpy.median(pixels[top:bottom, left:right]))


def test_a_light_page_and_a_picture_too_small_for_a_ground_stay_and_a_dark_page_is_inverted_everywhere() -> None:
    small: Pixels = numpy.zeros((20, 300, 3), numpy.uint8)
    light, dark = numpy.asarray(page(LIGHT, DARK)), numpy.asarray(page(DARK, LIGHT))
    assert even_grounds(light) is light and even_grounds(small) is small
    assert (even_grounds(dark) == 255 - dark).all()


def test_a_light_island_on_a_dark_page_stays_light() -> None:
    image = page(DARK, LIGHT)
    ImageDraw.Draw(image).rectangle((300, 100, 580, 300), LIGHT)
    write(image, DARK, range(110, 280, 26), 320)
    pixels = evened(image)
    assert usual(pixels, 310, 105, 570, 295) > 200 and usual(pixels, 0, 0, 290, 400) > 200
    assert (pixels[110:290, 320:560] == numpy.asarray(image)[110:290, 320:560]).all()


def test_dark_code_on_a_light_page_is_inverted_and_leaves_no_frame() -> None:
    image = page(LIGHT, DARK)
    ImageDraw.Draw(image).rectangle((0, 150, 600, 300), DARK)
    write(image, LIGHT, range(160, 280, 26), 20)
    pixels = evened(image)
    assert usual(pixels, 0, 150, 600, 300) > 200 and pixels[140:310, 500:590].min() > 200
    assert (pixels[:140] == numpy.asarray(image)[:140]).all()


def test_a_ground_that_fades_from_dark_to_middle_gray_is_one_region() -> None:
    levels = numpy.linspace(20, 150, 600).astype(numpy.uint8)
    image = Image.fromarray(numpy.repeat(numpy.tile(levels, (400, 1))[:, :, None], 3, axis=2))
    for x in (20, 380):
        write(image, (255, 255, 255), range(20, 380, 26), x)
    assert (evened(image) == 255 - numpy.asarray(image)).all()


def test_the_median_sought_in_strips_is_that_of_the_whole_page() -> None:
    gray = numpy.random.default_rng(5).integers(0, 256, (230, 170), numpy.uint8)
    band = numpy.zeros_like(gray)
    band[0:9, 3:40] = band[60:140, 100:170] = band[220:, :12] = 1
    whole = band & (cv2.medianBlur(gray, EDGE_WINDOW) < MIDDLE)
    assert whole.any() and numpy.array_equal(_dark_in(gray, band), whole)
