"""OCR through the whole gateway with the embedded engine: answers, streams, several images, everything refused."""

import asyncio
import base64
import io
import json
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from PIL import Image

from gateway.embedded.servers import Embedded
from gateway.wire import ocr as wire
from tests.support.asking import CHAT, call_tool, send
from tests.support.gateways import Gateway, Serve, engine_at
from tests.support.ocr_pages import Sheet, font, png
from tests.support.office_files import scanned_pdf
from tests.support.websites import Site, serving

pytestmark = pytest.mark.slow
LIMIT_S = 60


@pytest.fixture
async def pictures() -> AsyncIterator[str]:
    """A site on loopback: `/word.png` and `/sign.png` are pictures, `/scan.pdf` a scan, everything else 404."""

    pages: dict[str, Any] = {
        "/word.png": (200, {"Content-Type": "text/plain"}, page("from a URL")),
        "/sign.png": (200, {"Content-Type": "image/png"}, page("No entry")),
        "/scan.pdf": (200, {"Content-Type": "application/pdf"}, scanned_pdf(page("Closed on Sunday"))),
    }
    async with serving(Site(pages)) as site:
        yield site.address


@pytest.fixture
async def server(serve: Serve, ocr_url: str, pictures: str) -> Gateway:
    engine = Embedded(ocr=engine_at(f"{ocr_url}/v1", "embedded-ocr"))
    return await serve(f"[web]\nallow_private = ['{pictures}']\n", engine)


def page(*lines: str) -> bytes:
    sheet = Sheet(520, 40 + 50 * len(lines))
    for number, line in enumerate(lines):
        sheet.line(30, 25 + 50 * number, line, font(26))
    return png(sheet.image)


def data_url(data: bytes, mime: str = "image/png") -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def body(prompt: str, *urls: Any, **more: Any) -> dict[str, Any]:
    images = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    content = [{"type": "text", "text": prompt}, *images]
    return {"model": "SvcOCR", "messages": [{"role": "user", "content": content}], **more}


async def post(server: Gateway, request: Any, key: str = "") -> tuple[int, Any]:
    status, answer, _ = await send(server, CHAT, request, key=key)
    return status, answer


async def test_the_other_spelling_of_the_model_answers_under_the_canonical_name(server: Gateway) -> None:
    prompt = wire.build_prompt(wire.LOCATE, text="meeting")
    status, answer = await post(server, {**body(prompt, data_url(page("Minutes of the meeting"))), "model": "SvcOcr"})
    assert status == 200
    assert answer["model"] == "SvcOCR"
    choice = answer["choices"][0]
    assert choice["message"]["content"].startswith("meeting[[")
    assert choice["finish_reason"] == "stop"
    fields = choice["provider_specific_fields"]
    assert fields["images"] == [{"width": 520, "height": 90}]
    assert fields["model"] == "embedded-ocr"
    assert fields["usage_estimated"] is True
    assert set(answer["usage"]) == {"prompt_tokens", "completion_tokens", "total_tokens"}
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


async def test_the_official_client_streams_several_images_as_one_answer(server: Gateway) -> None:
    async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=server.key, max_retries=0) as client:
        request = body("Free OCR.", data_url(page("one page")), data_url(page("another page")))
        stream = await client.chat.completions.create(
            model="SvcOCR", messages=request["messages"], stream=True, temperature=0, max_tokens=8000
        )
        chunks = [chunk async for chunk in stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "one page\n\nanother page"
    reasons = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices]
    assert reasons.count("stop") == 1
    ended = (chunk.choices[0] for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason)
    last: list[Any] = [choice.to_dict() for choice in ended]
    assert last[0]["provider_specific_fields"]["usage_estimated"] is True
    assert len({chunk.id for chunk in chunks}) == 1


def bomb() -> bytes:
    data = bytearray(png(Image.new("1", (8, 8))))
    data[16:24] = (60_000).to_bytes(4, "big") * 2
    return bytes(data)


def cut_jpeg() -> bytes:
    out = io.BytesIO()
    Image.effect_noise((300, 300), 60).save(out, "JPEG")
    return out.getvalue()[: len(out.getvalue()) // 20]


@pytest.mark.parametrize(
    "url",
    [
        data_url(b"GIF89a"), data_url(cut_jpeg()), data_url(bomb()), data_url(b"%PDF-1.7"),
        data_url(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"), "http://169.254.169.254/latest/",
        "http://user:secret@posthaus.com/a.png", "http://{pictures}/missing.png",
    ],
    ids=["gif", "cut", "bomb", "pdf", "svg", "inside", "password", "missing"],
)  # fmt: skip
async def test_bad_images_are_refused_by_their_part(server: Gateway, ocr_url: str, pictures: str, url: str) -> None:
    status, answer = await post(server, body("Free OCR.", url.replace("{pictures}", pictures)))
    assert status == 400, answer
    error = answer["error"]
    assert set(error) >= {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert error["param"].startswith("messages[0].content[1].image_url.url")
    assert "secret" not in json.dumps(answer)
    await still_alive(server, ocr_url)


async def test_extract_reads_a_scan_and_a_picture_by_ocr(server: Gateway, pictures: str) -> None:
    urls = [f"http://{pictures}/sign.png", f"http://{pictures}/scan.pdf"]
    _, data = await call_tool(server, "extract", {"urls": urls})
    contents = [result["raw_content"] for result in data["results"]]
    assert "No entry" in contents[0] and "Closed on Sunday" in contents[1]
    assert f"Page 1 of {urls[0]} was read by OCR" in data["note"]


async def still_alive(server: Gateway, ocr_url: str) -> None:
    """Whether the gateway and the OCR server answer."""
    async with asyncio.timeout(2):
        for url in (f"{server.ops_url}/healthz", f"{ocr_url}/health"):
            assert (await send(server, url, method="GET"))[0] == 200


async def test_a_body_over_the_limit_is_413_naming_it(server: Gateway, ocr_url: str) -> None:
    status, answer = await post(server, body("Free OCR.", "data:image/png;base64," + "A" * 60_000_000))
    assert status == 413
    assert "33554432" in answer["error"]["message"]
    await still_alive(server, ocr_url)


@pytest.mark.parametrize(("before", "is_stream"), [(1, False), (0, True)], ids=["whole", "streamed"])
async def test_what_only_the_engine_finds_damaged_is_refused_by_its_part(
    server: Gateway, ocr_url: str, before: int, is_stream: bool
) -> None:
    good, damaged = data_url(page("fine")), data_url(page("x")[:-300])
    assert (await post(server, body("Free OCR.", good)))[0] == 200
    status, answer = await post(server, body("Free OCR.", *[good] * before, damaged, stream=is_stream))
    assert (status, answer["error"]["param"]) == (400, f"messages[0].content[{1 + before}].image_url.url")
    assert answer["error"]["code"] == "invalid_image_format"
    await still_alive(server, ocr_url)


async def test_a_key_without_the_scope_is_refused(server: Gateway) -> None:
    status, answer = await post(server, body("Free OCR.", data_url(page("x"))), server.make_key("chat"))
    assert status == 403
    assert "ocr" in answer["error"]["message"]


async def test_the_gateway_answers_others_while_a_page_is_read(server: Gateway) -> None:
    reading = asyncio.create_task(post(server, body("Free OCR.", data_url(page(*["a line of a longer page"] * 12)))))
    answers = []
    while not reading.done():
        answers.append((await send(server, f"{server.ops_url}/healthz", method="GET"))[0])
    assert (await reading)[0] == 200
    assert len(answers) > 5 and set(answers) == {200}


async def test_several_images_from_urls_and_data_are_one_answer(server: Gateway, pictures: str) -> None:
    request = body("Free OCR.", data_url(page("the first"), "image/jpeg"), f"http://{pictures}/word.png")
    status, answer = await post(server, request)
    assert (status, answer["choices"][0]["message"]["content"]) == (200, "the first\n\nfrom a URL")
    assert answer["choices"][0]["provider_specific_fields"]["attempts"] == 2


async def test_a_scanned_pdf_in_a_file_part_is_read_page_by_page(server: Gateway) -> None:
    scan = scanned_pdf(page("The harbour office"), page("Closed on Sunday"))
    file = {"type": "file", "file": {"filename": "scan.pdf", "file_data": data_url(scan, "application/pdf")}}
    content = [{"type": "text", "text": "Free OCR."}, file]
    status, answer = await post(server, {"model": "SvcOCR", "messages": [{"role": "user", "content": content}]})
    assert status == 200, answer
    choice = answer["choices"][0]
    text = choice["message"]["content"]
    assert "<!-- page 1 -->\n\nThe harbour office" in text and "<!-- page 2 -->\n\nClosed on Sunday" in text
    assert [image["page"] for image in choice["provider_specific_fields"]["images"]] == [1, 2]
