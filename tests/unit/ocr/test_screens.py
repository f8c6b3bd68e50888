"""Screenshots read by the real models: dark terminals, code, light cards on dark pages."""

from typing import Any

import pytest
from PIL import Image, ImageDraw

from gateway.wire import ocr as wire
from tests.support.ocr_pages import font, png
from tests.support.ocr_running import OcrServer

pytestmark = pytest.mark.slow

DARK, LIGHT = (18, 20, 28), (232, 232, 226)
LISTING = """\
$ packages list --installed
name           version     size
harbour-tools  2.4.1       1204
lantern        0.9.12      388
crane-client   11.0.3      5120
$ packages show lantern"""


def typed(image: Image.Image, rows: list[str], x: int = 40, y: int = 30, step: int = 34, ink: Any = 0) -> Image.Image:
    """The image with rows of a typewriter's letters."""
    for number, row in enumerate(rows):
        ImageDraw.Draw(image).text((x, y + step * number), row, ink, font(20, "SansMono"))
    return image


async def test_a_dark_terminal_is_one_fenced_block_and_plain_text_without_fence_or_table(at_ocr_url: OcrServer) -> None:
    terminal = png(typed(Image.new("RGB", (760, 240), DARK), LISTING.splitlines(), 24, 24, 30, LIGHT))
    (block,) = wire.parse_blocks(await at_ocr_url.text(terminal, wire.MARKDOWN.prompt))
    assert (block.label, block.content) == ("code", f"```\n{LISTING}\n```")
    assert await at_ocr_url.text(terminal, wire.FREE.prompt) == LISTING


async def test_a_light_card_on_a_dark_page_is_read_with_the_page(at_ocr_url: OcrServer) -> None:
    image = Image.new("RGB", (800, 420), DARK)
    draw = ImageDraw.Draw(image)
    draw.rectangle((30, 100, 770, 240), LIGHT)
    rows = [
        (30, 30, "Deliveries of this week", LIGHT), (50, 120, "The crane is under repair until Friday", DARK),
        (50, 170, "Goods leave from the northern gate", DARK), (30, 300, "Questions go to the harbour office", LIGHT),
    ]  # fmt: skip
    for x, y, text, ink in rows:
        draw.text((x, y), text, ink, font(24 if y == 30 else 20))
    answer = await at_ocr_url.text(png(image), wire.FREE.prompt)
    assert [line for line in answer.splitlines() if line] == [text for _, _, text, _ in rows]


async def test_two_columns_of_monospaced_text_are_both_in_the_plain_answer(at_ocr_url: OcrServer) -> None:
    words = ("lantern", "harbour", "crane", "signal", "market", "berth")
    columns = [[" ".join(words[(n + k + side) % 6] for k in range(3)) for n in range(10)] for side in (0, 3)]
    image = Image.new("RGB", (980, 400), "white")
    for side, rows in enumerate(columns):
        typed(image, rows, 40 + 480 * side)
    answer = await at_ocr_url.text(png(image), wire.FREE.prompt)
    assert [line for line in answer.splitlines() if line] == [row for rows in columns for row in rows]


async def test_a_table_set_in_a_typewriters_letters_is_a_table_with_its_days(at_ocr_url: OcrServer) -> None:
    names = ["Opening balance", "Rope, tar", "Harbour dues", "Sail loft", "Diesel", "Crew wages", "Fish sold", "Paint"]
    what = [(f"{number + 1} May 2024", name) for number, name in enumerate(names)]
    rows = [f"{day}   {name:<18}{'' if n % 3 else '76,31':>9}{2048 - 17 * n:>9}" for n, (day, name) in enumerate(what)]
    text = ["HARBOUR SAVINGS BANK", "Account 24338283", "", *rows, "", "Page 1"]
    answer = await at_ocr_url.text(png(typed(Image.new("RGB", (760, 522), "white"), text)), wire.FREE.prompt)
    cells = [row.strip("| ").split(" | ") for row in answer.splitlines() if row.startswith("| ")]
    assert [tuple(row[:2]) for row in cells if row[0] != "---"] == what
