"""Scanned pages of documents and pictures of text are read by OCR; what was not read is named, with the reason."""

import asyncio
import io
from collections.abc import AsyncIterator

import pytest
from PIL import Image

from gateway.domain import Json
from gateway.engines.documents.parse_pool import ExtractOptions, ParsePool
from gateway.engines.documents.pictures import PictureReader, PooledPictures
from gateway.engines.documents.sniff import kind_of
from gateway.errors import InvalidRequest, UpstreamUnavailable
from gateway.ports import PictureText
from tests.support.office_files import pdf_file, scanned_pdf

pytestmark = pytest.mark.slow  # a parse process for each test


class Ocr:
    """Reads pictures as `picture 1`, `picture 2` …; those of the numbers in `faults` fail."""

    def __init__(self, **faults: Exception | float) -> None:
        self.faults = faults
        self.urls: list[str] = []

    async def text_of(self, url: str, owner: str, *, plain: bool) -> PictureText:
        self.urls.append(url)
        fault = self.faults.get(f"n{len(self.urls)}")
        if isinstance(fault, Exception):
            raise fault
        if fault:
            await asyncio.Event().wait()
        return PictureText(f"picture {len(self.urls)}", len(self.urls) == 2)


@pytest.fixture
async def pool() -> AsyncIterator[ParsePool]:
    pool = ParsePool(1)
    yield pool
    await pool.close()


def picture(kind: str = "PNG", frames: int = 1) -> bytes:
    out = io.BytesIO()
    images = [Image.new("RGB", (40 + number, 30), "white") for number in range(frames)]
    images[0].save(out, kind, **({"save_all": True, "append_images": images[1:]} if frames > 1 else {}))
    return out.getvalue()


async def read(pool: ParsePool, ocr: Ocr, body: bytes, media_type: str, *, most: int = 50, limit_s: float = 20) -> Json:
    options = ExtractOptions("https://example.test/letter", media_type)
    page = await pool.extract(body, options)
    reader = PictureReader(pool, ocr, max_pages=most, page_timeout_s=5)
    return await reader.completed(body, options, page, "key1", asyncio.get_running_loop().time() + limit_s)


async def test_scanned_pages_get_their_text_in_place(pool: ParsePool) -> None:
    page = await read(pool, Ocr(), scanned_pdf(picture(), picture()), "application/pdf")
    assert page["content"] == "<!-- page 1 -->\n\npicture 1\n\n<!-- page 2 -->\n\npicture 2"
    assert (page["by_ocr"], page["uncertain"], page["scanned"]) == ([1, 2], [2], [])


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"])
@pytest.mark.parametrize("called", ["application/pdf", "image/svg+xml", "application/x-any", ""])
def test_a_picture_is_one_unless_it_is_called_a_text(kind: str, called: str) -> None:
    assert kind_of(called, picture(kind)) == "picture"


@pytest.mark.parametrize(("called", "kind"), [("text/plain", "text"), ("text/html", "html"), ("text/css", "text")])
def test_a_text_that_begins_as_a_picture_does_is_a_text(called: str, kind: str) -> None:
    for beginning in (b"BMW builds cars and motorcycles in Munich.", b"GIF89a was a format of pictures, of old."):
        assert kind_of(called, beginning * 3) == kind


async def test_a_picture_is_its_text_and_a_tiff_all_its_frames(pool: ParsePool) -> None:
    page = await read(pool, Ocr(), picture(), "image/png")
    assert page["content"] == "picture 1" and page["title"]
    page = await read(pool, Ocr(), picture("TIFF", 3), "image/tiff")
    assert page["content"].count("<!-- page ") == 3 and page["by_ocr"] == [1, 2, 3]


async def test_pages_above_the_limit_are_named(pool: ParsePool) -> None:
    page = await read(pool, Ocr(), scanned_pdf(*[picture()] * 3), "application/pdf", most=2)
    assert page["scanned"] == [3] and "at most 2 pages" in page["unread"]


async def test_a_page_that_fails_does_not_stop_the_others_and_a_model_that_is_away_does(pool: ParsePool) -> None:
    body = scanned_pdf(*[picture()] * 3)
    page = await read(pool, Ocr(n2=InvalidRequest("it is damaged")), body, "application/pdf")
    assert page["by_ocr"] == [1, 3] and (page["scanned"], page["unread"]) == ([2], "it is damaged")
    away = Ocr(n1=UpstreamUnavailable("the model is away"))
    page = await read(pool, away, body, "application/pdf")
    assert page["scanned"] == [1, 2, 3] and page["content"] == "" and len(away.urls) == 1


async def test_reading_ends_when_its_time_is_over(pool: ParsePool) -> None:
    page = await read(pool, Ocr(n2=1.0), scanned_pdf(*[picture()] * 3), "application/pdf", limit_s=2)
    assert page["by_ocr"] == [1] and page["scanned"] == [2, 3] and "time" in page["unread"]


async def test_a_page_is_drawn_with_its_size_and_the_count_of_pages(pool: ParsePool) -> None:
    drawn = await PooledPictures(pool).picture(pdf_file([[(60, 780, 12, "a")], []]), 2, "key1")
    assert drawn.pages == 2 and drawn.url.startswith("data:image/png;base64,") and drawn.width > 1000
    with pytest.raises(InvalidRequest, match="has 2 pages"):
        await PooledPictures(pool).picture(pdf_file([[], []]), 3, "key1")
