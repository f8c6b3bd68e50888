"""The OCR service over a scripted completion service: checks, images, joining, streams, adapting upstreams."""

import base64
import io
from collections.abc import AsyncIterator
from typing import Any

import pytest
from PIL import Image

from gateway.domain import EventBatch, Json, RequestStats
from gateway.engines.documents.parse_pool import ParsePool
from gateway.engines.documents.pictures import PooledPixels
from gateway.errors import InvalidRequest, UpstreamError, UpstreamRefused
from gateway.ports import PagePicture
from gateway.services.ocr.data_urls import decode_data_url
from gateway.services.ocr.documents import DocumentLimits, Documents
from gateway.services.ocr.images import ImageLoader
from gateway.services.ocr.request import OcrInput
from gateway.services.ocr.service import OcrService
from gateway.wire import sse
from tests.support.ocr_scripted import TEXT, Scripted, body, part


def picture(width: int = 40, height: int = 30, kind: str = "PNG", **options: Any) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), "white").save(out, kind, **options)
    return out.getvalue()


def data_url(data: bytes, mime: str = "image/png") -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


class Drawn:
    """Draws no page: for requests without files."""

    async def picture(self, body: bytes, number: int, owner: str) -> PagePicture:
        raise AssertionError


class Site:
    """Images by URL; what is not there is refused, as the fetcher does."""

    def __init__(self, **images: bytes) -> None:
        self.images = images

    async def fetch_image(self, url: str, max_bytes: int) -> bytes:
        name = url.rsplit("/", 1)[-1]
        if name not in self.images:
            raise InvalidRequest("The image could not be fetched: 404.", code="invalid_image_url")
        return self.images[name]


def service(completions: Scripted, **images: bytes) -> OcrService:
    return OcrService(completions, ImageLoader(Site(**images)), Documents(Drawn(), DocumentLimits()))


async def chunks(events: AsyncIterator[EventBatch]) -> list[Json | None]:
    return [sse.decode(event) async for batch in events for event in batch]


# --- requests ---------------------------------------------------------------------------------------------------------


WRONG = [
    ({"messages": []}, "messages"),
    ({"messages": [{"role": "user", "content": "Free OCR."}]}, "messages[0].content"),
    (body(TEXT), "messages[0].content"),
    (body(part("data:,")), "messages[0].content"),
    (body(part(data_url(picture())), {"type": "text", "text": "<image>\n"}), "messages[0].content"),
    (body(TEXT, {"type": "video"}), "messages[0].content[1].type"),
    (body(TEXT, {"type": "image_url", "image_url": {}}), "messages[0].content[1].image_url.url"),
    (body(TEXT, part("")), "messages[0].content[1].image_url.url"),
    (body({"type": "text", "text": 3}, part("x")), "messages[0].content[0].text"),
    (body(TEXT, *[part(data_url(picture()))] * 9), "messages[0].content[9]"),
    (body(TEXT, part("file:///etc/passwd")), "messages[0].content[1].image_url.url"),
    (body(TEXT, part("data:image/png;base64,@@@@")), "messages[0].content[1].image_url.url"),
    (body(TEXT, part("data:image/png,abcd")), "messages[0].content[1].image_url.url"),
    (body(TEXT, part(data_url(b"%PDF-1.4"))), "messages[0].content[1].image_url.url"),
    (body(TEXT, part(data_url(picture())), part("http://x.test/gone")), "messages[0].content[2].image_url.url"),
    (body(TEXT, part(data_url(picture())), n=2), "n"),
    ({"messages": [{"role": "assistant", "content": "hi"}, *body(TEXT)["messages"]]}, "messages[0]"),
    ({"messages": body(TEXT)["messages"] * 2}, "messages[1]"),
]


@pytest.mark.parametrize(("request_body", "param"), WRONG)
async def test_what_is_wrong_is_refused_by_its_place_before_any_upstream_call(request_body: Json, param: str) -> None:
    completions = Scripted("x")
    with pytest.raises(InvalidRequest) as refused:
        await service(completions).complete(request_body, RequestStats())
    assert refused.value.param == param and not completions.bodies


async def test_too_many_pixels_are_refused_without_decoding() -> None:
    bomb = bytearray(picture())
    bomb[16:24] = (50_000).to_bytes(4, "big") * 2
    with pytest.raises(InvalidRequest) as refused:
        await service(Scripted()).complete(body(TEXT, part(data_url(bytes(bomb)))), RequestStats())
    assert refused.value.code == "image_too_large"


async def test_an_image_of_more_than_20_mib_is_refused_before_it_is_decoded() -> None:
    with pytest.raises(InvalidRequest) as refused:
        await decode_data_url("data:image/png;base64," + "A" * (29 * 1024 * 1024))
    assert refused.value.code == "image_too_large"


@pytest.mark.parametrize("form", ["{url}", "DATA:image/jpeg;charset=x;BASE64,{b64}", "data:;base64,{b64}\n"])
async def test_data_urls_are_read_as_browsers_write_them(form: str) -> None:
    data = picture()
    assert await decode_data_url(form.format(url=data_url(data), b64=base64.b64encode(data).decode())) == data


async def test_long_base64_comes_out_whole_with_and_without_line_breaks() -> None:
    data = bytes(range(256)) * 9000
    assert await decode_data_url(data_url(data)) == data
    assert await decode_data_url("data:image/png;base64," + base64.encodebytes(data).decode()) == data


@pytest.mark.parametrize("text", ["QUJD" * 300_000 + "QQ", "QQ==" + "QUJD" * 300_000, "QUJ", "Q=JD", "ÄÖÜß"])
async def test_broken_base64_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        await decode_data_url("data:image/png;base64," + text)


async def test_the_upstream_gets_the_image_first_inlined_and_labelled_by_its_bytes() -> None:
    completions = Scripted("text")
    await service(completions, photo=picture(kind="JPEG")).complete(
        body(TEXT, part("https://example.test/photo"), temperature=0), RequestStats()
    )
    sent = completions.bodies[0]
    image, text = sent["messages"][0]["content"]
    assert image["image_url"]["url"].startswith("data:image/jpeg;base64,") and text == TEXT and sent["temperature"] == 0


async def test_a_bare_string_as_image_url_is_accepted() -> None:
    answer = await service(Scripted("ok")).complete(
        body({"type": "image_url", "image_url": data_url(picture())}, TEXT), RequestStats()
    )
    assert answer["choices"][0]["message"]["content"] == "ok"


# --- answers ----------------------------------------------------------------------------------------------------------


async def test_several_images_are_one_answer_in_order() -> None:
    completions = Scripted("first", "second")
    answer = await service(completions).complete(
        body(TEXT, part(data_url(picture(40, 30))), part(data_url(picture(7, 9)))), RequestStats()
    )
    choice = answer["choices"][0]
    assert choice["message"]["content"] == "first\n\nsecond"
    assert answer["usage"] == {"prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24}
    fields = choice["provider_specific_fields"]
    assert fields["images"] == [{"width": 40, "height": 30}, {"width": 7, "height": 9}]
    assert (fields["attempts"], fields["latency_ms"], fields["provider"]) == (2, 10, "p")


async def test_a_stream_of_several_images_is_one_answer() -> None:
    completions = Scripted("a|b", "c|d")
    events = service(completions).stream(
        body(TEXT, part(data_url(picture())), part(data_url(picture(7, 9))), stream=True), RequestStats()
    )
    seen = await chunks(events)
    assert seen[-1] is None
    data = [one for one in seen if one is not None]
    deltas = [one["choices"][0]["delta"] for one in data if one["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == "ab\n\ncd"
    assert sum("role" in delta for delta in deltas) == 1
    assert {(one["id"], one["created"]) for one in data} == {("chatcmpl-1", 1)}
    finishes = [one["choices"][0] for one in data if one["choices"] and one["choices"][0]["finish_reason"]]
    assert [one["finish_reason"] for one in finishes] == ["stop"]
    assert finishes[0]["provider_specific_fields"]["images"][1] == {"width": 7, "height": 9}
    usages = [one["usage"] for one in data if one.get("usage")]
    assert usages == [{"prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24}] and completions.closed == 2


async def test_a_stream_given_up_closes_the_upstreams() -> None:
    completions = Scripted("a|b|c")
    events = service(completions).stream(body(TEXT, part(data_url(picture()))), RequestStats())
    await anext(events)
    await events.aclose()
    assert completions.closed == 1


async def test_an_image_the_engine_cannot_read_is_named_by_its_part() -> None:
    refusal = UpstreamRefused("The image is damaged or incomplete.", status=400, code="invalid_image_format")
    with pytest.raises(InvalidRequest) as refused:
        await service(Scripted(error=refusal)).complete(body(TEXT, part(data_url(picture()))), RequestStats())
    assert refused.value.param == "messages[0].content[1].image_url.url"


async def test_a_failure_in_mid_stream_is_no_clean_end() -> None:
    events = service(Scripted("a|b", error=UpstreamError("cut"))).stream(
        body(TEXT, part(data_url(picture()))), RequestStats()
    )
    with pytest.raises(UpstreamError):
        await chunks(events)


# --- pixel work -------------------------------------------------------------------------------------------------------


@pytest.mark.slow  # a parse process
async def test_images_for_remote_upstreams_are_turned_upright_and_put_on_white() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    clear = io.BytesIO()
    Image.new("RGBA", (5, 4), (0, 0, 0, 0)).save(clear, "PNG")
    pool = ParsePool()
    loader = ImageLoader(Site(), PooledPixels(pool))
    urls = [data_url(picture(40, 30, "JPEG", exif=exif)), data_url(clear.getvalue()), data_url(picture())]
    turned, white, plain = await loader.load_all([OcrInput(url, "x") for url in urls], "key")
    with pytest.raises(InvalidRequest, match=r"damaged|cannot be read"):
        await loader.load_all([OcrInput(data_url(clear.getvalue()[:48]), "messages[0]")], "key")
    await pool.close()
    opened = [Image.open(io.BytesIO(await decode_data_url(image.url))) for image in (turned, white)]
    assert opened[0].size == (30, 40) == (turned.width, turned.height)
    assert opened[1].convert("RGB").getpixel((0, 0)) == (255, 255, 255) and plain.url == urls[2]
