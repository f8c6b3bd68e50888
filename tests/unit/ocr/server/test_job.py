"""Checks of a request to the OCR server."""

import base64
import os

import orjson
import pytest
from aiohttp.test_utils import TestClient, TestServer

from gateway.errors import InvalidRequest
from gateway.ocr.server import app
from gateway.ocr.server.app import parse_job
from gateway.ocr.server.worker_client import OcrWorker


def body(*urls: str, **more: object) -> bytes:
    images = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    content = [{"type": "text", "text": "Free OCR."}, *images]
    return orjson.dumps({"messages": [{"role": "user", "content": content}], **more})


def url_of(data: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(data).decode()


@pytest.mark.parametrize("size", [1, 1000, 2_000_001])
def test_an_image_is_the_same_bytes_whatever_its_size(size: int) -> None:
    data = os.urandom(size)
    job = parse_job(body(url_of(data), max_tokens=5, stop="end"))
    assert job.image == data
    assert (job.prompt, job.max_tokens, job.stops, job.is_stream) == ("Free OCR.", 5, ("end",), False)


async def test_a_body_above_the_limit_is_refused_while_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "MAX_BODY_BYTES", 100_000)
    async with TestClient(TestServer(app.build_app(OcrWorker(("false",))))) as client:
        answer = await client.post("/v1/chat/completions", data=b"x" * 100_001)
        assert answer.status == 413 and "at most 100000 bytes" in (await answer.json())["error"]["message"]


@pytest.mark.parametrize("at", [10, 262_143])
def test_base64_that_is_padded_or_foreign_inside_is_refused_with_the_field(at: int) -> None:
    url = url_of(bytes(600_000))
    start = url.index(",") + 1
    for wrong in "=!\n":
        with pytest.raises(InvalidRequest, match="not valid base64") as caught:
            parse_job(body(url[: start + at] + wrong + url[start + at + 1 :]))
        assert caught.value.param == "messages[0].content[1].image_url.url"


def test_what_is_no_request_for_one_image_is_refused() -> None:
    one = url_of(b"x")
    for wrong in (b"{", b"[]", b"{}", body(), body(one, one), body("https://a.example/b.png"), body("data:,é")):
        with pytest.raises(InvalidRequest):
            parse_job(wrong)
