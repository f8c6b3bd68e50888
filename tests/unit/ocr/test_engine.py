"""The embedded OCR engine on real models, through its own server process: modes and quality on rendered pages."""

import io
import re

import pytest
from PIL import Image, ImageDraw

from gateway.wire import ocr as wire
from tests.support.ocr_pages import Sheet, cells, degrade, font, png
from tests.support.ocr_running import SAMPLE, OcrServer, in_pixels, iou, letters, small

pytestmark = pytest.mark.slow


def rows_of(table: str) -> list[list[str]]:
    return [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)]


# --- modes ------------------------------------------------------------------------------------------------------------


async def test_locate_says_plainly_what_it_does_not_find(at_ocr_url: OcrServer) -> None:
    text = await at_ocr_url.text(SAMPLE.read_bytes(), wire.build_prompt(wire.LOCATE, text="zeppelin"))
    assert text == 'The text "zeppelin" was not found in the image.'


async def test_a_page_without_text_is_said_to_have_none(at_ocr_url: OcrServer) -> None:
    blank = png(Image.new("RGB", (300, 200), "white"))
    assert "No text was recognised" in await at_ocr_url.text(blank, wire.DESCRIBE.prompt)
    assert await at_ocr_url.text(blank, wire.FREE.prompt) == ""


# --- quality ----------------------------------------------------------------------------------------------------------


async def test_columns_are_read_one_after_the_other(at_ocr_url: OcrServer) -> None:
    sheet = Sheet(1000, 420, seed=8)
    sheet.heading(60, 30, 900, "A heading over both of the columns", 30)
    for x in (60, 530):
        sheet.paragraph(x, 100, 410, sheet.prose(32), 20)
    assert letters(await at_ocr_url.text(png(sheet.image), wire.FREE.prompt)) == letters(" ".join(sheet.truth.lines))


@pytest.mark.parametrize("rules", ["rows", "none"])
async def test_tables_without_a_grid_keep_their_cells(at_ocr_url: OcrServer, rules: str) -> None:
    sheet = Sheet(900, 420, seed=5)
    sheet.paragraph(60, 40, 780, sheet.prose(12), 18)
    sheet.table(60, 120, [330, 150, 150, 150], cells(sheet, 7, 4), 18, rules)
    text = await at_ocr_url.text(png(sheet.image), wire.MARKDOWN.prompt)
    [table] = [block.content for block in wire.parse_blocks(text) if block.label == "table"]
    got, want = rows_of(table), sheet.truth.tables[0]
    right = sum(a == b for made, row in zip(got, want, strict=False) for a, b in zip(made, row, strict=False))
    assert right >= 0.95 * sum(len(row) for row in want)


@pytest.mark.parametrize("how", ["rot90", "rot180", "rot270", "skew"])
async def test_turned_pages_are_read_and_boxes_fit_the_page_as_it_came(at_ocr_url: OcrServer, how: str) -> None:
    sheet = small("Minutes of the second meeting", "held in the town library", "on the last day of March", "Adjourned")
    page = degrade(sheet.image, how)
    mark = Image.new("L", sheet.image.size)
    mark.paste(255, tuple(round(v) for v in dict(sheet.truth.words)["Adjourned"]))
    where = degrade(mark, how).point(lambda v: 255 if v > 127 else 0) if how.startswith("rot") else mark.rotate(1.5)
    text = await at_ocr_url.text(png(page), wire.build_prompt(wire.LOCATE, text="Adjourned"))
    [block] = wire.parse_blocks(text)
    box = where.convert("L").getbbox()
    assert box is not None and iou(in_pixels(block.boxes[0], page.size), box) >= 0.6


async def test_a_slip_upside_down_is_read_with_each_amount_beside_its_label(at_ocr_url: OcrServer) -> None:
    page = Image.new("RGB", (560, 324), "white")
    draw = ImageDraw.Draw(page)
    rows = [("Rope 500 m", "9.90"), ("Tar 250 g", "7.40"), ("Box", "5.00"), ("Less", "-1.20"), ("TOTAL GBP", "21.10")]
    for number, (label, amount) in enumerate(rows):
        draw.text((20, 20 + 44 * number), label, font=font(24, "SansMono"), fill="black")
        draw.text((440, 20 + 44 * number), amount, font=font(24, "SansMono"), fill="black")
    text = await at_ocr_url.text(png(page.rotate(180)), "Free OCR.")
    assert [letters(line) for line in text.splitlines() if "--" not in line] == [letters("".join(row)) for row in rows]


async def test_a_line_upside_down_on_an_upright_page_is_read(at_ocr_url: OcrServer) -> None:
    sheet = small("Questions of the second evening", "What is the name of the quay", "Who keeps the northern light")
    line = Image.new("RGB", (420, 34), "white")
    ImageDraw.Draw(line).text((4, 4), "Ada Lund of Harbour Street", font=font(20), fill="black")
    sheet.image.paste(line.rotate(180), (20, sheet.image.height - 50))
    text = await at_ocr_url.text(png(sheet.image), "Free OCR.")
    assert letters(text) == letters(" ".join(sheet.truth.lines) + "Ada Lund of Harbour Street")


async def test_exif_turned_and_transparent_images_are_read_as_they_look(at_ocr_url: OcrServer) -> None:
    sheet = small("Turned by its label", "second line of it")
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = io.BytesIO()
    sheet.image.rotate(90, expand=True).save(turned, "JPEG", exif=exif, quality=90)
    clear = Image.new("RGBA", sheet.image.size, (0, 0, 0, 0))
    clear.putalpha(sheet.image.convert("L").point(lambda v: 255 - v))
    for data in (turned.getvalue(), png(clear)):
        assert letters(await at_ocr_url.text(data, "Free OCR.")) == letters(" ".join(sheet.truth.lines))


async def test_a_few_words_on_a_large_empty_page_are_read(at_ocr_url: OcrServer) -> None:
    page = Image.new("RGB", (1400, 1500), "white")
    ImageDraw.Draw(page).text((560, 700), "This page is intentionally left blank.", font=font(14), fill="black")
    assert await at_ocr_url.text(png(page), "Free OCR.") == "This page is intentionally left blank."
