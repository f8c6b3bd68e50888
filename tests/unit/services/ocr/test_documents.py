"""Files in OCR requests: their pages are read in order, what cannot be read is told, and the rest is answered.

The answers stand in `tests/golden/ocr_documents.json`, a case a line: how many pages there are, which of them are
`broken`, what the model `says` of each and which calls are `refused` or `silent`, the pages that are `asked` for, the
`file` where it is no PDF, what the caller is told, the pages that are drawn, and the calls of the model.
"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Sequence
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
from tests.support.paths import GOLDEN
from tests.unit.services.ocr.test_service import Site, picture

CASES: list[Json] = json.loads((GOLDEN / "ocr_documents.json").read_text())
REFUSED = UpstreamRefused("the image is damaged", status=400, code="ocr_failed")


class Pages:
    """A document of `count` pages, of which those in `broken` cannot be drawn."""

    def __init__(self, count: int, broken: Sequence[int] = ()) -> None:
        self.count, self.broken = count, broken
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

    def __init__(self, *texts: str, refused: Sequence[int] = (), silent: Sequence[int] = ()) -> None:
        super().__init__(*texts)
        self.refused, self.silent = refused, silent

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


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
async def test_a_file_is_read_or_refused_at_its_place(case: Json) -> None:
    given, ocr = case.get("file"), {"ocr": {"pages": case["asked"]}} if "asked" in case else {}
    completions = Refusing(*case.get("says", ()), refused=case.get("refused", ()), silent=case.get("silent", ()))
    pages = Pages(case["pages"], case.get("broken", ()))
    part = {"type": "file", "file": given} if isinstance(given, dict) else file(picture(), "") if given else file()
    try:
        reader = service(completions, pages, **case.get("limits", {}))
        [choice] = (await reader.complete(body(TEXT, part, **ocr), RequestStats()))["choices"]
        told = {"text": choice["message"]["content"], "fields": choice["provider_specific_fields"]}
    except InvalidRequest as error:
        told = {"refused": [error.code, error.param, error.message]}
    assert (told, pages.drawn, len(completions.bodies)) == (case["told"], case["drawn"], case["calls"])


async def test_a_stream_of_pages_is_marked_alike() -> None:
    events = service(Scripted("on|e", "two"), Pages(2)).stream(body(TEXT, file(), stream=True), RequestStats())
    chunks = [chunk for batch in [batch async for batch in events] for event in batch if (chunk := sse.decode(event))]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == (
        "<!-- page 1 -->\n\none\n\n<!-- page 2 -->\n\ntwo"
    )
    assert sum("role" in delta for delta in deltas) == 1


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
    assert "markdown" in markdown and "Free OCR" in plain and bill.calls == ["key1", "key1"]


async def test_a_page_is_not_read_for_a_key_that_may_not_pay_for_it() -> None:
    completions = Scripted("# Read")
    own = OwnOcr(service(completions, Pages(0)), "SvcOCR", Bill(spent=True))
    with pytest.raises(BudgetSpent):
        await own.text_of(f"data:image/png;base64,{base64.b64encode(picture()).decode()}", "key1", plain=False)
    assert completions.bodies == []
