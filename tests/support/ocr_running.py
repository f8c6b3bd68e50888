"""An embedded OCR server in a process of its own, for tests, and how to ask it."""

import base64
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from tests.support.ocr_pages import Sheet, font
from tests.support.paths import GOLDEN

SAMPLE = GOLDEN / "ocr-sample.png"
TIMEOUT = aiohttp.ClientTimeout(total=120)

SERVE = "from gateway.ocr.server.app import serve; serve(0, 2)"
STOP_S = 20


@contextmanager
def ocr_server() -> Iterator[str]:
    """Its base URL, without a slash at its end. It must end by itself when it is told to."""
    process = subprocess.Popen([sys.executable, "-c", SERVE], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        word, port = process.stdout.readline().split()
        assert word == "ready"
        yield f"http://127.0.0.1:{port}"
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_S) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def request_of(data: bytes, prompt: str, **more: Any) -> dict[str, Any]:
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": prompt}]
    return {"model": "embedded-ocr", "messages": [{"role": "user", "content": content}], **more}


@dataclass(frozen=True)
class OcrServer:
    """A running server and the session in which it is asked."""

    session: aiohttp.ClientSession
    url: str

    def post(self, **body: Any) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        return self.session.post(f"{self.url}/v1/chat/completions", **body)

    async def ask(self, data: bytes, prompt: str, **more: Any) -> dict[str, Any]:
        async with self.post(json=request_of(data, prompt, **more)) as response:
            answer: dict[str, Any] = await response.json()
            assert response.status == 200, answer
            return answer

    async def text(self, data: bytes, prompt: str, **more: Any) -> str:
        text: str = (await self.ask(data, prompt, **more))["choices"][0]["message"]["content"]
        return text


def iou(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    shared = max(0.0, width) * max(0.0, height)
    return shared / (sum((b[2] - b[0]) * (b[3] - b[1]) for b in (one, other)) - shared)


def in_pixels(box: tuple[int, ...], size: tuple[int, int]) -> tuple[float, ...]:
    return tuple(value / 999 * size[index % 2] for index, value in enumerate(box))


def letters(text: str) -> str:
    return re.sub(r"\W", "", text).lower()


def small(*lines: str) -> Sheet:
    sheet = Sheet(620, 60 + 50 * len(lines))
    for number, line in enumerate(lines):
        sheet.line(40, 30 + 50 * number, line, font(26))
    return sheet
