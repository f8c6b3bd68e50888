"""Pages of documents as pictures, and what OCR reads of pages that hold no text.

A parsing process draws them (`page_picture`), a model reads them, and the document is then read again with their texts
in place.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from gateway.domain import Json
from gateway.engines.documents.parse_pool import ExtractOptions, ParsePool
from gateway.errors import EngineMissing, GatewayError, InvalidRequest
from gateway.ports import PagePicture, PictureOcr, PictureText
from gateway.resilience.fair_queue import WorkTime
from gateway.wire.image_header import ImageInfo

PLAIN = ("image/png", "image/jpeg")


def is_plain(info: ImageInfo) -> bool:
    """Whether a picture may be sent to an OCR upstream as it is: PNG or JPEG, upright, opaque."""
    return info.mime in PLAIN and info.orientation == 1 and not info.has_alpha


class PooledPictures:
    """Implements ports.PagePictures in the parsing processes."""

    def __init__(self, pool: ParsePool) -> None:
        self._pool = pool

    async def picture(self, body: bytes, number: int, owner: str) -> PagePicture:
        """See ports.PagePictures."""
        drawn = await self._pool.extract(body, ExtractOptions("", number=number, task="picture"), owner)
        url = f"data:{drawn['mime']};base64,{drawn['picture']}"
        return PagePicture(url, drawn["width"], drawn["height"], drawn["pages"])


class PooledPixels:
    """Implements services.ocr.request.PixelWork in the parsing processes."""

    def __init__(self, pool: ParsePool) -> None:
        self._pool = pool

    async def plain(self, data: bytes, info: ImageInfo, owner: str) -> str | None:
        """See PixelWork. None too where Pillow is not installed."""
        if is_plain(info):
            return None
        try:
            made = await self._pool.extract(data, ExtractOptions("", task="plain picture"), owner)
        except EngineMissing:
            return None
        return f"data:{made['mime']};base64,{made['picture']}"


class PictureReader:
    """Has the pages read by OCR that a document or picture shows without text."""

    def __init__(self, pool: ParsePool, ocr: PictureOcr, *, max_pages: int, page_timeout_s: float) -> None:
        self._pool = pool
        self._pictures = PooledPictures(pool)
        self._ocr = ocr
        self._max_pages = max_pages
        self._page_timeout_s = page_timeout_s

    async def completed(self, body: bytes, options: ExtractOptions, page: Json, owner: str, until: float) -> Json:
        """`page`, an answer of the pool for this body and these options, with the text of its `scanned` pages in place.

        Pages are read in order until `until` (of the event loop's clock). Then `scanned` names those that were not
        read, `unread` says why, `by_ocr` names those that were, and `uncertain` those of them that may be misread.
        Raises EngineMissing, Overloaded, Unreadable.
        """
        reading = _Reading(page["scanned"], is_picture=page["kind"] == "picture", most=self._max_pages)
        while (number := reading.next_number()) is not None:
            try:
                async with asyncio.timeout_at(until), WorkTime(self._page_timeout_s):
                    picture = await self._pictures.picture(body, number, owner)
                    text = await self._ocr.text_of(picture.url, owner, plain=options.format == "text")
                reading.take(number, text, picture.pages)
            except TimeoutError:
                reading.fail("there was not time enough")
                if asyncio.get_running_loop().time() >= until:
                    break
            except GatewayError as failure:
                reading.fail(failure.message)
                if not isinstance(failure, InvalidRequest):  # no other page would fare better
                    break
        if reading.texts:
            page = await self._pool.extract(body, replace(options, page_texts=reading.page_texts()), owner)
        return {**page, **reading.outcome()}

    async def with_picture(self, body: bytes, options: ExtractOptions, page: Json, owner: str, picture: bytes) -> Json:
        """`page`, an answer of the pool for this body and these options, with what OCR reads of a picture of it (PNG)
        below its own text; as it is where nothing can be read, with `undrawn` where OCR failed, which says why. Raises
        EngineMissing, Overloaded, Unreadable."""
        try:
            async with WorkTime(self._page_timeout_s):
                drawn = await self._pictures.picture(picture, 1, owner)
                text = await self._ocr.text_of(drawn.url, owner, plain=options.format == "text")
        except TimeoutError:
            return {**page, "undrawn": "there was not time enough for OCR"}
        except GatewayError as failure:
            return {**page, "undrawn": failure.message}
        if not text.text.strip():
            return page
        page = await self._pool.extract(body, replace(options, page_texts=((1, text.text),)), owner)
        return {**page, "by_ocr": [1], "uncertain": [1] if text.is_uncertain else []}


class _Reading:
    """The pages of one document that OCR reads, what it has read, and why it has not read others."""

    def __init__(self, scanned: Iterable[int], *, is_picture: bool, most: int) -> None:
        self.texts: dict[int, PictureText] = {}
        self._all = list(scanned)
        self._waiting = self._all[:most]
        self._is_picture = is_picture
        self._most = most
        self._reason = f"at most {most} pages are read by OCR in one call" if len(self._all) > most else ""

    def next_number(self) -> int | None:
        """The page to read next; None when there is no other."""
        return self._waiting.pop(0) if self._waiting else None

    def take(self, number: int, text: PictureText, pages: int) -> None:
        """The text of a page. A picture (TIFF) of several `pages` has them read too."""
        self.texts[number] = text
        if self._is_picture and pages > len(self._all):
            self._all = list(range(1, pages + 1))
            self._waiting = self._all[1 : self._most]

    def fail(self, reason: str) -> None:
        """A page could not be read."""
        self._reason = reason

    def page_texts(self) -> tuple[tuple[int, str], ...]:
        """For ExtractOptions: text by page; that of a picture, which is one page there, is joined."""
        texts = [(number, read.text) for number, read in sorted(self.texts.items())]
        if not self._is_picture or len(texts) == 1:
            return tuple(texts)
        return ((1, "\n\n".join(f"<!-- page {number} -->\n\n{text}" for number, text in texts)),)

    def outcome(self) -> Json:
        """`{scanned?, unread?, by_ocr?, uncertain?}`."""
        unread = [number for number in self._all if number not in self.texts]
        outcome: Json = {"scanned": unread}
        if unread:
            outcome["unread"] = self._reason
        if self.texts:
            outcome["by_ocr"] = sorted(self.texts)
            outcome["uncertain"] = sorted(number for number, read in self.texts.items() if read.is_uncertain)
        return outcome
