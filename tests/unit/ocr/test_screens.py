"""Screenshots read by the real models: dark terminals, code, light cards on dark pages."""

import aiohttp
import pytest
from PIL import Image, ImageDraw

from gateway.wire import ocr as wire
from tests.support.ocr_pages import font, png
from tests.support.ocr_running import text_of

pytestmark = pytest.mark.slow

DARK, LIGHT = (18, 20, 28), (232, 232, 226)
LISTING = (
    "$ packages list --installed",
    "name           version     size",
    "harbour-tools  2.4.1       1204",
    "lantern        0.9.12      388",
    "crane-client   11.0.3      5120",
    "$ packages show lantern",
)


def terminal(rows: tuple[str, ...]) -> Image.Image:
    image = Image.new("RGB", (760, 60 + 30 * len(rows)), DARK)
    for number, row in enumerate(rows):
        ImageDraw.Draw(image).text((24, 24 + 30 * number), row, LIGHT, font(20, "SansMono"))
    return image


async def test_a_dark_terminal_is_one_fenced_block_of_its_rows(
    ocr_session: aiohttp.ClientSession, ocr_url: str
) -> None:
    answer = await text_of(ocr_session, ocr_url, png(terminal(LISTING)), wire.MARKDOWN.prompt)
    (block,) = wire.parse_blocks(answer)
    assert block.label == "code"
    assert block.content == "```\n" + "\n".join(LISTING) + "\n```"


async def test_plain_text_of_a_terminal_has_no_fence_and_no_table(
    ocr_session: aiohttp.ClientSession, ocr_url: str
) -> None:
    answer = await text_of(ocr_session, ocr_url, png(terminal(LISTING)), wire.FREE.prompt)
    assert answer.splitlines() == list(LISTING)


async def test_a_light_card_on_a_dark_page_is_read_with_the_page(
    ocr_session: aiohttp.ClientSession, ocr_url: str
) -> None:
    image = Image.new("RGB", (800, 420), DARK)
    draw = ImageDraw.Draw(image)
    draw.text((30, 30), "Deliveries of this week", LIGHT, font(24))
    draw.rectangle((30, 100, 770, 240), LIGHT)
    draw.text((50, 120), "The crane is under repair until Friday", DARK, font(20))
    draw.text((50, 170), "Goods leave from the northern gate", DARK, font(20))
    draw.text((30, 300), "Questions go to the harbour office", LIGHT, font(20))
    answer = await text_of(ocr_session, ocr_url, png(image), wire.FREE.prompt)
    assert [line for line in answer.splitlines() if line] == [
        "Deliveries of this week",
        "The crane is under repair until Friday",
        "Goods leave from the northern gate",
        "Questions go to the harbour office",
    ]


async def test_two_columns_of_monospaced_text_are_both_in_the_plain_answer(
    ocr_session: aiohttp.ClientSession, ocr_url: str
) -> None:
    words = ("lantern", "harbour", "crane", "signal", "market", "berth")
    columns = [[" ".join(words[(n + k + side) % 6] for k in range(3)) for n in range(10)] for side in (0, 3)]
    image = Image.new("RGB", (980, 400), "white")
    for side, rows in enumerate(columns):
        for number, row in enumerate(rows):
            ImageDraw.Draw(image).text((40 + 480 * side, 30 + 34 * number), row, 0, font(20, "SansMono"))
    answer = await text_of(ocr_session, ocr_url, png(image), wire.FREE.prompt)
    assert [line for line in answer.splitlines() if line] == [row for rows in columns for row in rows]


async def test_a_table_set_in_a_typewriters_letters_is_a_table_with_its_days(
    ocr_session: aiohttp.ClientSession, ocr_url: str
) -> None:
    what = (
        "Opening balance",
        "Rope and tar",
        "Harbour dues",
        "Sail loft",
        "Diesel",
        "Crew wages",
        "Fish sold",
        "Paint",
    )
    rows = [
        f"{n + 1} May 2024   {text:<18}{'' if n % 3 else '76,31':>9}{2048 - 17 * n:>9}" for n, text in enumerate(what)
    ]
    text = ["HARBOUR SAVINGS BANK", "Account 24338283", "", *rows, "", "Page 1"]
    image = Image.new("RGB", (760, 80 + 34 * len(text)), "white")
    for number, row in enumerate(text):
        ImageDraw.Draw(image).text((40, 30 + 34 * number), row, 0, font(20, "SansMono"))
    answer = await text_of(ocr_session, ocr_url, png(image), wire.FREE.prompt)
    cells = [row.strip("| ").split(" | ") for row in answer.splitlines() if row.startswith("| ")]
    assert [row[:2] for row in cells if row[0] != "---"] == [[f"{n + 1} May 2024", text] for n, text in enumerate(what)]
