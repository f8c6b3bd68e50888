"""Files in OCR requests: their pages are read in order, what cannot be read is told, and the rest is answered."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.domain import Json, RequestStats
from gateway.errors import BudgetSpent, EngineMissing, InvalidRequest, UpstreamRefused
from gateway.ports import PagePicture
from gateway.services.ocr.documents import DocumentLimits, Documents
from gateway.services.ocr.images import ImageLoader
from gateway.services.ocr.service import OcrService, OwnOcr
from gateway.wire import sse
from tests.support.ocr_scripted import TEXT, Scripted, body
from tests.unit.services.ocr.test_service import Site, picture

REFUSED = UpstreamRefused("the image is damaged", status=400, code="ocr_failed")


class Pages:
    """A document of `count` pages, of which those in `broken` cannot be drawn."""

    def __init__(self, count: int, broken: tuple[int, ...] = ()) -> None:
        self.count = count
        self.broken = broken
        self.drawn: list[int] = []

    async def picture(self, body: bytes, number: int, owner: str) -> PagePicture:
        self.drawn.append(number)
        if number in self.broken:
            raise InvalidRequest("the page is damaged")
        if number > self.count:
            raise InvalidRequest(f"the document has {self.count} pages; ask for pages between 1 and {self.count}")
        return PagePicture(f"data:image/png;base64,{number}", 100 * number, 50, self.count)


class Bill:
    """Notes whose calls are charged; `spent`: no key may use more."""

    def __init__(self, *, spent: bool = False) -> None:
        self.spent = spent
        self.calls: list[str] = []

    @asynccontextmanager
    async def charged(self, stats: RequestStats) -> AsyncIterator[None]:
        if self.spent:
            raise BudgetSpent("this key may use 10 tokens a day; it has used 10")
        self.calls.append(stats.key_id)
        yield


class Refusing(Scripted):
    """A completion service that refuses the calls of these numbers, or answers them never."""

    def __init__(self, *texts: str, refused: tuple[int, ...] = (), silent: tuple[int, ...] = ()) -> None:
        super().__init__(*texts)
        self.refused = refused
        self.silent = silent

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "") -> Json:
        answer = await super().complete(body, stats)
        if len(self.bodies) in self.refused:
            raise REFUSED
        if len(self.bodies) in self.silent:
            await asyncio.Event().wait()
        return answer


def file(data: bytes = b"%PDF-1.7 x", media_type: str = "application/pdf") -> Json:
    return {"type": "file", "file": {"file_data": f"data:{media_type};base64,{base64.b64encode(data).decode()}"}}


def service(completions: Scripted, pages: Pages, **limits: Any) -> OcrService:
    return OcrService(completions, ImageLoader(Site()), Documents(pages, DocumentLimits(**limits)))


def told(answer: Json) -> tuple[str, Json]:
    choice = answer["choices"][0]
    return choice["message"]["content"], choice["provider_specific_fields"]


async def test_the_pages_of_a_pdf_are_read_in_order_and_marked() -> None:
    completions, pages = Scripted("one", "two"), Pages(2)
    text, fields = told(await service(completions, pages).complete(body(TEXT, file()), RequestStats()))
    assert text == "<!-- page 1 -->\n\none\n\n<!-- page 2 -->\n\ntwo"
    assert fields["images"] == [{"width": 100, "height": 50, "page": 1}, {"width": 200, "height": 50, "page": 2}]
    assert pages.drawn == [1, 2], "a page is drawn once"


async def test_a_stream_of_pages_is_marked_alike() -> None:
    events = service(Scripted("on|e", "two"), Pages(2)).stream(body(TEXT, file(), stream=True), RequestStats())
    chunks = [chunk for batch in [batch async for batch in events] for event in batch if (chunk := sse.decode(event))]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == (
        "<!-- page 1 -->\n\none\n\n<!-- page 2 -->\n\ntwo"
    )
    assert sum("role" in delta for delta in deltas) == 1


async def test_a_page_that_cannot_be_read_is_left_out_and_told() -> None:
    completions, pages = Refusing("one", "two", "four", refused=(2,)), Pages(4, broken=(3,))
    text, fields = told(await service(completions, pages).complete(body(TEXT, file()), RequestStats()))
    assert text == "<!-- page 1 -->\n\none\n\n<!-- page 4 -->\n\nfour"
    assert fields["ocr"]["warnings"] == [
        "page 2 was not read: the image is damaged",
        "page 3 was not read: the page is damaged",
    ]
    assert [image["page"] for image in fields["images"]] == [1, 4]


async def test_a_page_that_takes_too_long_is_left_out() -> None:
    completions = Refusing("one", "two", silent=(1,))
    ocr = service(completions, Pages(2), page_timeout_s=0.05)
    text, fields = told(await ocr.complete(body(TEXT, file()), RequestStats()))
    assert text == "<!-- page 2 -->\n\ntwo"
    assert fields["warnings"] == ["page 1 was not read: reading it took longer than 0.05 s"]


async def test_a_file_of_which_no_page_can_be_read_is_refused_at_its_place() -> None:
    with pytest.raises(InvalidRequest, match="no page of the file could be read; page 1: the image is damaged") as no:
        await service(Refusing("", "", refused=(1, 2)), Pages(2)).complete(body(TEXT, file()), RequestStats())
    assert (no.value.param, no.value.code) == ("messages[0].content[1].file", "invalid_file")


async def test_pages_can_be_chosen_and_the_limit_says_how_to_get_the_rest() -> None:
    pages = Pages(9)
    ocr = service(Scripted("a", "b"), pages, max_pages=2)
    text, fields = told(await ocr.complete(body(TEXT, file(), ocr={"pages": "4-7"}), RequestStats()))
    assert pages.drawn == [4, 5] and text.startswith("<!-- page 4 -->")
    assert fields["ocr"]["warnings"] == [
        'of 9 pages 4 to 5 were read, as many as one request may have; ask for more with "ocr": {"pages": "6-7"}'
    ]


@pytest.mark.parametrize("pages", ["5-3", "0", "0-2"])
async def test_a_range_that_is_none_is_refused_as_such(pages: str) -> None:
    with pytest.raises(InvalidRequest, match=r"ocr\.pages: must begin at 1") as refused:
        await service(Scripted(), Pages(9)).complete(body(TEXT, file(), ocr={"pages": pages}), RequestStats())
    assert refused.value.param == "ocr.pages"


async def test_a_page_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="has 2 pages") as refused:
        await service(Scripted(), Pages(2)).complete(body(TEXT, file(), ocr={"pages": "3"}), RequestStats())
    assert refused.value.param == "messages[0].content[1].file"


async def test_an_image_has_one_page() -> None:
    with pytest.raises(InvalidRequest, match="has 1 page; ask for page 1") as refused:
        await service(Scripted(), Pages(0)).complete(
            body(TEXT, file(picture(), ""), ocr={"pages": "2"}), RequestStats()
        )
    assert refused.value.param == "messages[0].content[1].file"


async def test_a_file_that_is_an_image_is_read_like_an_image() -> None:
    completions = Scripted("text")
    answer = await service(completions, Pages(0)).complete(body(TEXT, file(picture(), "")), RequestStats())
    assert told(answer)[0] == "text" and told(answer)[1]["images"] == [{"width": 40, "height": 30}]


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (file(b"PK\x03\x04"), "neither a PDF nor a PNG"),
        ({"type": "file", "file": {"file_id": "file-1"}}, "must come inside the request"),
        ({"type": "file", "file": {"file_data": "data:application/pdf;base64,@@@"}}, "base64 data URL of at most"),
        (file(b"%PDF" + bytes(2000)), "at most 0.0009766 MiB"),
    ],
)
async def test_what_is_no_readable_file_is_refused_by_its_place(part: Json, words: str) -> None:
    completions = Scripted()
    with pytest.raises(InvalidRequest, match=words) as refused:
        await service(completions, Pages(1), max_bytes=1024).complete(body(TEXT, part), RequestStats())
    assert (refused.value.param, refused.value.code) == ("messages[0].content[1].file", "invalid_file")
    assert not completions.bodies


async def test_what_no_page_would_escape_ends_the_request() -> None:
    class Missing(Pages):
        async def picture(self, body: bytes, number: int, owner: str) -> PagePicture:
            if number == 2:
                raise EngineMissing("the extra 'ocr' is missing")
            return await super().picture(body, number, owner)

    with pytest.raises(EngineMissing):
        await service(Scripted("one"), Missing(2)).complete(body(TEXT, file()), RequestStats())


async def test_other_parts_of_the_gateway_get_the_text_of_a_picture() -> None:
    completions = Scripted("# Read", "Read")
    bill = Bill()
    own = OwnOcr(service(completions, Pages(0)), "SvcOCR", bill)
    url = f"data:image/png;base64,{base64.b64encode(picture()).decode()}"
    read = await own.text_of(url, "key1", plain=False)
    assert (read.text, read.is_uncertain) == ("# Read", False)
    await own.text_of(url, "key1", plain=True)
    markdown, plain = (sent["messages"][0]["content"][1]["text"] for sent in completions.bodies)
    assert "markdown" in markdown and "Free OCR" in plain
    assert bill.calls == ["key1", "key1"]


async def test_a_page_is_not_read_for_a_key_that_may_not_pay_for_it() -> None:
    completions = Scripted("# Read")
    own = OwnOcr(service(completions, Pages(0)), "SvcOCR", Bill(spent=True))
    with pytest.raises(BudgetSpent):
        await own.text_of(f"data:image/png;base64,{base64.b64encode(picture()).decode()}", "key1", plain=False)
    assert completions.bodies == []
