"""Damaged pictures are refused: a text must not be read from what a decoder made up."""

import io
import random

import pytest
from PIL import Image

from gateway.errors import InvalidRequest
from gateway.ocr.image.decode import decode_page, is_damaged
from tests.support.ocr_running import small

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "TIFF")


def encoded(kind: str) -> bytes:
    out = io.BytesIO()
    image: Image.Image = small("The harbour office opens at nine").image
    image.save(out, kind, **({"compression": "tiff_adobe_deflate"} if kind == "TIFF" else {}))
    return out.getvalue()


def flipped(data: bytes, seed: int, count: int = 12) -> bytes:
    """The data with bytes changed in its second half, where the pixels are."""
    dice, damaged = random.Random(seed), bytearray(data)
    for _ in range(count):
        damaged[dice.randrange(len(data) // 2, len(data) - 12)] ^= dice.randrange(1, 256)
    return bytes(damaged)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_whole_picture_is_decoded_and_a_cut_one_refused(kind: str) -> None:
    data = encoded(kind)
    assert decode_page(data).width > 0
    with pytest.raises(InvalidRequest, match="damaged or incomplete"):
        decode_page(data[: len(data) * 2 // 3])


def is_refused(data: bytes) -> bool:
    try:
        decode_page(data)
    except InvalidRequest as refusal:
        return "damaged" in refusal.message
    return False


def test_every_flipped_byte_of_a_png_and_a_missing_end_are_found_and_most_flipped_bytes_of_a_jpeg() -> None:
    png, jpeg = encoded("PNG"), encoded("JPEG")
    assert all(is_refused(flipped(png, seed, 1)) for seed in range(40)) and is_refused(png[:-12])
    assert sum(is_refused(flipped(jpeg, seed)) for seed in range(20)) >= 14


def test_padding_before_a_marker_is_no_damage_and_lost_data_is() -> None:
    assert not is_damaged(b"") and not is_damaged(b"Corrupt JPEG data: 16 extraneous bytes before marker 0xd9\n")
    assert is_damaged(b"Corrupt JPEG data: 900 extraneous bytes before marker 0xd9\n")
    assert is_damaged(b"Corrupt JPEG data: premature end of data segment\n")
