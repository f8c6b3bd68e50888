"""Image headers read without a decoder, against Pillow as the oracle."""

import io
import struct
import zlib

import pytest
from PIL import Image

from gateway.errors import InvalidRequest
from gateway.wire.image_header import ImageInfo, check_size, read_header
from tests.support.counted_work import calls_of

FORMATS = ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"]


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("size", [(1, 1), (37, 91), (640, 480)])
def test_format_and_size_are_told_from_the_bytes(kind: str, size: tuple[int, int]) -> None:
    info = read_header(encoded(Image.new("RGB", size, "red"), kind))
    assert (info.mime, info.width, info.height) == (f"image/{kind.lower()}", *size)


@pytest.mark.parametrize("options", [{"lossless": True}, {"exif": b""}, {"quality": 5}])
def test_every_kind_of_webp_is_read(options: dict[str, object]) -> None:
    info = read_header(encoded(Image.new("RGBA", (70, 30), (1, 2, 3, 9)), "WEBP", **options))
    assert (info.width, info.height, info.has_alpha) == (70, 30, True)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_exif_orientation_turns_the_size(kind: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    info = read_header(encoded(Image.new("RGB", (80, 20)), kind, exif=exif))
    upright = (20, 80) if orientation in (6, 8) else (80, 20)
    assert (info.width, info.height, info.orientation) == (*upright, orientation)


NO_IMAGES = [
    (b"", "empty"), (b"%PDF-1.7\n", "PDF"), (b'<?xml version="1.0"?><svg/>', "SVG"), (b"  <svg xmlns='x'/>", "SVG"),
    (b"<!DOCTYPE html><html>", "HTML"), (b"\0\0\0\x18ftypheic", "HEIF"), (b"PK\x03\x04....", "archive"),
    (b"plain text", "no image"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "word"), NO_IMAGES)
def test_what_is_no_image_is_named_and_refused(data: bytes, word: str) -> None:
    with pytest.raises(InvalidRequest, match=word) as refused:
        read_header(data)
    assert refused.value.code == "invalid_image_format"


@pytest.mark.parametrize("kind", FORMATS)
def test_a_header_cut_anywhere_is_read_or_refused_but_never_crashes(kind: str) -> None:
    data = encoded(Image.new("RGB", (40, 30)), kind)
    for end in range(min(len(data), 300)):
        try:
            info = read_header(data[:end])
        except InvalidRequest:
            continue
        assert (info.width, info.height) == (40, 30)


def test_a_bomb_is_refused_by_its_header() -> None:
    chunk = b"IHDR" + struct.pack(">IIBBBBB", 60000, 60000, 1, 0, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    with pytest.raises(InvalidRequest) as refused:
        check_size(read_header(data), 50_000_000)
    assert refused.value.code == "image_too_large" and "60000 x 60000" in refused.value.message
    check_size(ImageInfo("image/jpeg", 4961, 7016), 50_000_000)  # a large scan


def test_a_file_of_nothing_but_filling_is_refused_without_being_read_byte_by_byte() -> None:
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">IIBBBBB", 9, 9, 8, 2, 0, 0, 0) + bytes(4)
    for head, unit in ((b"\xff\xd8", b"\xff"), (b"\xff\xd8", b"\xff\xd0"), (png, b"\0\0\0\0tEXt" + bytes(4))):
        data = head + unit * (20_000_000 // len(unit))

        def refused(data: bytes = data) -> None:
            with pytest.raises(InvalidRequest, match="damaged"):
                read_header(data)

        assert calls_of(refused) < 100_000, (head, unit)
