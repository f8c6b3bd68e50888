"""The embedded OCR engine on real models, through its own server process, on rendered pages."""

import asyncio
import base64
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from PIL import Image

from gateway.wire import ocr as wire
from tests.ocr_pages import Sheet, cells, degrade, font, invoice, png
from tests.ocr_running import ocr_server

pytestmark = pytest.mark.slow

SAMPLE = Path(__file__).parent.parent / "golden" / "ocr-sample.png"
TIMEOUT = aiohttp.ClientTimeout(total=120)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The base URL of a server in a process of its own."""
    with ocr_server() as url:
        yield url


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=TIMEOUT) as session:
        yield session


def request_of(data: bytes, prompt: str, **more: Any) -> dict[str, Any]:
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": prompt}]
    return {"model": "embedded-ocr", "messages": [{"role": "user", "content": content}], **more}


async def ask(session: aiohttp.ClientSession, server: str, data: bytes, prompt: str, **more: Any) -> dict[str, Any]:
    async with session.post(f"{server}/v1/chat/completions", json=request_of(data, prompt, **more)) as response:
        answer: dict[str, Any] = await response.json()
        assert response.status == 200, answer
        return answer


async def text_of(session: aiohttp.ClientSession, server: str, data: bytes, prompt: str) -> str:
    answer = await ask(session, server, data, prompt)
    text: str = answer["choices"][0]["message"]["content"]
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


# --- modes ------------------------------------------------------------------------------------------------------------


async def test_markdown_mode_gives_every_block_with_its_box_and_shape(
    session: aiohttp.ClientSession, server: str
) -> None:
    text = await text_of(session, server, SAMPLE.read_bytes(), wire.MARKDOWN.prompt)
    blocks = wire.parse_blocks(text)
    truth = invoice().truth
    for label, box in truth.blocks:
        if label != "table":
            assert any(
                block.label == label and iou(in_pixels(block.boxes[0], (900, 1000)), box) >= 0.5 for block in blocks
            ), (label, box)
    by_label = {block.label: block.content for block in blocks}
    rows = re.findall(r"<tr>(.*?)</tr>", by_label["table"])
    assert [re.findall(r"<td>(.*?)</td>", row) for row in rows] == truth.tables[0]
    assert by_label["image"] == ""
    headings = [block.content for block in blocks if block.label == "title"]
    assert headings[0] == "# Harbour Street Stationers"
    assert "## Invoice No. 2041" in headings
    assert re.match(r"title\[\[\d+, \d+, \d+, \d+\]\]\n# Harbour Street Stationers\n\n", text)


async def test_free_ocr_gives_plain_text_with_tables_as_markdown(session: aiohttp.ClientSession, server: str) -> None:
    text = await text_of(session, server, SAMPLE.read_bytes(), wire.FREE.prompt)
    assert "[[" not in text
    assert "| Article | Quantity | Price | Amount |\n| --- | --- | --- | --- |\n| Copy paper A4 | 10 |" in text
    assert "Please pay within thirty days by bank transfer" in text
    assert text.index("Invoice No. 2041") < text.index("| Article") < text.index("Total due 104.90")


async def test_locate_gives_one_ink_tight_box_a_hit(session: aiohttp.ClientSession, server: str) -> None:
    prompt = wire.build_prompt(wire.LOCATE, text="Total due")
    text = await text_of(session, server, SAMPLE.read_bytes(), prompt)
    assert re.fullmatch(r"Total due\[\[\d+, \d+, \d+, \d+\]\]", text)
    [block] = wire.parse_blocks(text)
    inks = dict(invoice().truth.words)
    box = (inks["Total"][0], inks["Total"][1], inks["due"][2], inks["due"][3])
    assert iou(in_pixels(block.boxes[0], (900, 1000)), box) >= 0.8


async def test_locate_says_plainly_what_it_does_not_find(session: aiohttp.ClientSession, server: str) -> None:
    text = await text_of(session, server, SAMPLE.read_bytes(), wire.build_prompt(wire.LOCATE, text="zeppelin"))
    assert text == 'The text "zeppelin" was not found in the image.'


async def test_describe_tells_what_can_be_vouched_for(session: aiohttp.ClientSession, server: str) -> None:
    text = await text_of(session, server, SAMPLE.read_bytes(), wire.DESCRIBE.prompt)
    assert "900 x 1000 pixels" in text
    assert "1 table" in text
    assert "1 figure" in text
    assert "Harbour Street Stationers" in text
    assert "Script: Latin" in text


async def test_a_page_without_text_is_said_to_have_none(session: aiohttp.ClientSession, server: str) -> None:
    blank = png(Image.new("RGB", (300, 200), "white"))
    assert "No text was recognised" in await text_of(session, server, blank, wire.DESCRIBE.prompt)
    assert await text_of(session, server, blank, wire.FREE.prompt) == ""


async def test_a_custom_prompt_for_markdown_gives_it_without_boxes(session: aiohttp.ClientSession, server: str) -> None:
    data = png(small("A line of text", "and another one").image)
    text = await text_of(session, server, data, "<image>\nConvert to markdown.")
    assert "[[" not in text
    assert letters(text) == letters("A line of text and another one")


# --- the wire ---------------------------------------------------------------------------------------------------------


async def test_a_stream_says_the_same_as_the_whole_answer_block_by_block(
    session: aiohttp.ClientSession, server: str
) -> None:
    data, prompt = SAMPLE.read_bytes(), wire.MARKDOWN.prompt
    whole = await ask(session, server, data, prompt)
    request = request_of(data, prompt, stream=True, stream_options={"include_usage": True})
    async with session.post(f"{server}/v1/chat/completions", json=request) as response:
        assert response.content_type == "text/event-stream"
        frames = (await response.text()).split("\n\n")
    assert frames[-2:] == ["data: [DONE]", ""]
    events = [json.loads(frame.removeprefix("data: ")) for frame in frames[:-2]]
    pieces = [event["choices"][0]["delta"].get("content", "") for event in events if event["choices"]]
    assert "".join(pieces) == whole["choices"][0]["message"]["content"]
    assert len([piece for piece in pieces if piece]) >= 5
    assert events[0]["choices"][0]["delta"]["role"] == "assistant"
    assert events[-2]["choices"][0]["finish_reason"] == "stop"
    assert events[-1]["usage"] == whole["usage"]
    usage = whole["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert re.fullmatch(r"rapidocr-[\d.]+-[0-9a-f]{12}-[0-9a-f]{12}", whole["system_fingerprint"])


async def test_max_tokens_and_stop_bound_the_answer(session: aiohttp.ClientSession, server: str) -> None:
    data = png(small("alpha beta gamma delta").image)
    short = await ask(session, server, data, "Free OCR.", max_tokens=2)
    assert short["choices"][0]["finish_reason"] == "length"
    assert short["choices"][0]["message"]["content"] == "alpha be"
    stopped = await ask(session, server, data, "Free OCR.", stop="gamma")
    assert stopped["choices"][0]["message"]["content"] == "alpha beta "


def header_only_png(width: int, height: int) -> bytes:
    data = bytearray(png(Image.new("1", (8, 8))))
    data[16:24] = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "invalid_image_format"),
        (b"not an image at all", "invalid_image_format"),
        (b"%PDF-1.7 and so on", "invalid_image_format"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "invalid_image_format"),
        (png(Image.new("RGB", (400, 400), "white"))[:300], "invalid_image_format"),
        (header_only_png(60_000, 60_000), "image_too_large"),
        (header_only_png(8_000, 20), "invalid_image_format"),
        (header_only_png(5_000, 5_000), "invalid_image_format"),
    ],
    ids=["empty", "text", "pdf", "svg", "cut", "bomb", "sliver", "lying header"],
)
async def test_bad_images_are_refused_at_once_and_the_server_lives(
    session: aiohttp.ClientSession, server: str, data: bytes, code: str
) -> None:
    await text_of(session, server, png(small("warm").image), "Free OCR.")
    begun = time.monotonic()
    async with session.post(f"{server}/v1/chat/completions", json=request_of(data, "Free OCR.")) as response:
        answer = await response.json()
    assert time.monotonic() - begun < 2
    assert (response.status, answer["error"]["type"]) == (400, "invalid_request_error")
    assert answer["error"]["code"] == code
    async with session.get(f"{server}/health") as response:
        assert (await response.json())["status"] == "ok"


@pytest.mark.parametrize(
    "request_body",
    [
        b"{",
        b"[]",
        b'{"messages": 3}',
        b'{"messages": [4]}',
        b'{"messages": [{"role": "user", "content": "no image"}]}',
        b'{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x.test/a"}}]}]}',
        b'{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "data:image/png;base64,@"}]}]}',
    ],
)
async def test_bad_requests_are_400_in_the_openai_form(
    session: aiohttp.ClientSession, server: str, request_body: bytes
) -> None:
    async with session.post(f"{server}/v1/chat/completions", data=request_body) as response:
        error = (await response.json())["error"]
    assert response.status == 400
    assert set(error) == {"message", "type", "param", "code"}


# --- quality ----------------------------------------------------------------------------------------------------------


async def test_columns_are_read_one_after_the_other(session: aiohttp.ClientSession, server: str) -> None:
    sheet = Sheet(1000, 420, seed=8)
    sheet.heading(60, 30, 900, "A heading over both of the columns", 30)
    for x in (60, 530):
        sheet.paragraph(x, 100, 410, sheet.prose(32), 20)
    got = await text_of(session, server, png(sheet.image), wire.FREE.prompt)
    assert letters(got) == letters(" ".join(sheet.truth.lines))


@pytest.mark.parametrize("rules", ["rows", "none"])
async def test_tables_without_a_grid_keep_their_cells(session: aiohttp.ClientSession, server: str, rules: str) -> None:
    sheet = Sheet(900, 420, seed=5)
    sheet.paragraph(60, 40, 780, sheet.prose(12), 18)
    sheet.table(60, 120, [330, 150, 150, 150], cells(sheet, 7, 4), 18, rules)
    text = await text_of(session, server, png(sheet.image), wire.MARKDOWN.prompt)
    [table] = [block.content for block in wire.parse_blocks(text) if block.label == "table"]
    got = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)]
    want = sheet.truth.tables[0]
    right = sum(a == b for made, row in zip(got, want, strict=False) for a, b in zip(made, row, strict=False))
    assert right >= 0.95 * sum(len(row) for row in want)


@pytest.mark.parametrize("how", ["rot90", "rot180", "rot270", "skew"])
async def test_turned_pages_are_read_and_boxes_fit_the_page_as_it_came(
    session: aiohttp.ClientSession, server: str, how: str
) -> None:
    sheet = small("Minutes of the second meeting", "held in the town library", "on the last day of March", "Adjourned")
    page = degrade(sheet.image, how)
    mark = Image.new("L", sheet.image.size)
    mark.paste(255, tuple(round(v) for v in dict(sheet.truth.words)["Adjourned"]))
    where = degrade(mark, how).point(lambda v: 255 if v > 127 else 0) if how.startswith("rot") else mark.rotate(1.5)
    text = await text_of(session, server, png(page), wire.build_prompt(wire.LOCATE, text="Adjourned"))
    [block] = wire.parse_blocks(text)
    box = where.convert("L").getbbox()
    assert box is not None
    assert iou(in_pixels(block.boxes[0], page.size), box) >= 0.6


async def test_exif_turned_and_transparent_images_are_read_as_they_look(
    session: aiohttp.ClientSession, server: str
) -> None:
    sheet = small("Turned by its label", "second line of it")
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = io.BytesIO()
    sheet.image.rotate(90, expand=True).save(turned, "JPEG", exif=exif, quality=90)
    clear = Image.new("RGBA", sheet.image.size, (0, 0, 0, 0))
    clear.putalpha(sheet.image.convert("L").point(lambda v: 255 - v))
    for data in (turned.getvalue(), png(clear)):
        assert letters(await text_of(session, server, data, "Free OCR.")) == letters(" ".join(sheet.truth.lines))


# --- robustness -------------------------------------------------------------------------------------------------------


def worker_of(server: str) -> int:
    """The process id of the server's worker."""
    port = int(server.rsplit(":", 1)[1])
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
            parent = int(path.with_name("stat").read_text().rsplit(") ", 1)[1].split()[1])
        except (OSError, ValueError):
            continue
        if b"gateway.local.ocr_worker" in words and listens(parent, port):
            return int(path.parent.name)
    raise AssertionError("no worker")


def listens(pid: int, port: int) -> bool:
    inodes = {
        line.split()[9]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
    }
    links = (os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir())
    return any(link == f"socket:[{inode}]" for link in links for inode in inodes)


async def test_a_worker_that_dies_costs_one_request_only(session: aiohttp.ClientSession, server: str) -> None:
    data = png(small("still here").image)
    assert await text_of(session, server, data, "Free OCR.") == "still here"
    os.kill(worker_of(server), signal.SIGSTOP)
    doomed = asyncio.create_task(session.post(f"{server}/v1/chat/completions", json=request_of(data, "Free OCR.")))
    queued = asyncio.create_task(text_of(session, server, data, "Free OCR."))
    await asyncio.sleep(0)
    async with session.get(f"{server}/health") as response:
        assert response.status == 200
    os.kill(worker_of(server), signal.SIGKILL)
    response = await asyncio.wait_for(doomed, 30)
    outcomes = {response.status}
    if response.status == 500:
        assert (await response.json())["error"]["code"] == "ocr_failed"
    try:
        assert await asyncio.wait_for(queued, 60) == "still here"
        outcomes.add(200)
    except AssertionError:
        outcomes.add(500)
    assert outcomes == {200, 500}
    assert await text_of(session, server, data, "Free OCR.") == "still here"


async def test_more_images_than_may_wait_are_429_and_the_others_are_read(
    session: aiohttp.ClientSession, server: str
) -> None:
    data = png(small("one of many").image)

    async def one() -> tuple[int, str | None]:
        async with session.post(f"{server}/v1/chat/completions", json=request_of(data, "Free OCR.")) as response:
            await response.read()
            return response.status, response.headers.get("Retry-After")

    outcomes = await asyncio.gather(*[one() for _ in range(12)])
    assert {status for status, _ in outcomes} == {200, 429}
    assert all(after is not None for status, after in outcomes if status == 429)
    assert sum(status == 200 for status, _ in outcomes) >= 9


def test_nothing_is_fetched_from_anywhere() -> None:
    code = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise AssertionError('network')\n"
        "socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse\n"
        "from gateway.local.ocr_engine import OcrEngine\n"
        "engine = OcrEngine(1)\n"
        "text = ''.join(engine.answer(open(sys.argv[1], 'rb').read(), 'Free OCR.'))\n"
        "engine.close()\n"
        "assert 'Harbour' in text\n"
    )
    subprocess.run([sys.executable, "-c", code, str(SAMPLE)], check=True, timeout=120)


def test_importing_the_engine_needs_none_of_its_libraries() -> None:
    code = (
        "import sys\n"
        "for name in ('cv2', 'numpy', 'PIL', 'onnxruntime', 'rapidocr', 'pypdfium2'): sys.modules[name] = None\n"
        "from gateway.errors import EngineMissing\n"
        "from gateway.local import ocr_command, ocr_server, ocr_worker\n"
        "from gateway.local.ocr_engine import OcrEngine\n"
        "try: OcrEngine(1).load()\n"
        "except EngineMissing as error: assert 'gateway[ocr]' in error.message\n"
        "else: raise SystemExit('loaded')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
