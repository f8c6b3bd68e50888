"""Blocks of code: found by the pitch of their letters, written with indentation, without an editor's line numbers."""

from dataclasses import replace
from functools import partial

import numpy
import pytest
from PIL import Image, ImageDraw

from gateway.geometry.boxes import Line, Rect, Region
from gateway.ocr.code.reading import code_text, is_monospaced
from gateway.ocr.code.regions import code_regions
from gateway.ocr.image.ink import PageInk, measure, rhythm
from gateway.ocr.server.report import fenced
from tests.support.ocr_lines import around
from tests.support.ocr_pages import font

CODE = (
    "def total_of(orders, currency):",
    "    amount = 0",
    "    for order in orders:",
    "        if order.currency == currency:",
    "            amount += order.amount",
    "    return amount",
)
PROSE = (
    "The harbour office opens at eight in the morning,",
    "and whoever will unload a ship has to ask there for",
    "a berth in writing, with the names of all who work",
    "on board, the kind of goods, and the day on which",
    "the ship is expected to leave the harbour again.",
    "Fishing boats of less than twelve metres need none.",
)
PITCH = 10.0


def drawn(texts: tuple[str, ...], style: str, x: int = 60) -> tuple[Image.Image, list[Line]]:
    """A page of rows of text, and the boxes that a detector would put around them."""
    image = Image.new("L", (700, 60 + 26 * len(texts)), 255)
    draw = ImageDraw.Draw(image)
    lines = []
    for number, text in enumerate(texts):
        draw.text((x, 30 + 26 * number), text, 0, font(16, style))
        left, top, right, bottom = draw.textbbox((x, 30 + 26 * number), text.strip(), font(16, style))
        indent = draw.textlength(text[: len(text) - len(text.lstrip())], font(16, style))
        lines.append(around(Rect(left + indent - 3, top - 3, right + indent + 3, bottom + 3)))
    return image, lines


def regions(image: Image.Image, lines: list[Line]) -> list[Region]:
    ink = PageInk(numpy.asarray(image))
    return code_regions([measure(ink, line) for line in lines], partial(rhythm, ink))


def read(text: str, row: int, column: float = 0) -> Line:
    """A line as the reader gives it, its letters at one pitch from a column on."""
    left = 100 + column * PITCH
    rect = Rect(left, 20.0 * row, left + PITCH * len(text), 20.0 * row + 16)
    return Line(rect, text=text, letters=tuple(left + PITCH * (n + 0.5) for n in range(len(text))))


def test_monospaced_lines_are_one_block_with_the_pitch_of_their_letters() -> None:
    (found,) = regions(*drawn(CODE, "SansMono"))
    assert found.label == "code" and abs(found.pitch - font(16, "SansMono").getlength("m")) < 0.2


def test_running_text_is_no_code() -> None:
    assert regions(*drawn(PROSE, "Sans")) == regions(*drawn(PROSE, "Serif")) == []


def test_a_line_of_a_brace_alone_belongs_to_the_block() -> None:
    body = ("    return run(argc, argv);", "    /* never reached at all */")
    (found,) = regions(*drawn(("int main(int argc, char **argv)", "{", *body, "}"), "SansMono"))
    assert found.rect.y2 > 30 + 26 * 4 + 10


def test_text_below_code_is_not_part_of_it() -> None:
    image, lines = drawn(CODE, "SansMono")
    below, prose = drawn(PROSE, "Sans")
    both = Image.new("L", (700, image.height + below.height), 255)
    both.paste(image, (0, 0))
    both.paste(below, (0, image.height))
    moved = [
        around(line.rect._replace(y1=line.rect.y1 + image.height, y2=line.rect.y2 + image.height)) for line in prose
    ]
    (found,) = regions(both, [*lines, *moved])
    assert found.rect.y2 < image.height


def source(first: int = 0) -> list[Line]:
    """The code as it is read, from a column on."""
    return [read(text.strip(), row, first + len(text) - len(text.lstrip())) for row, text in enumerate(CODE)]


NUMBERS = [read(f"{row + 8}", row, 0 if row > 1 else 1) for row in range(len(CODE))]
MISREAD = [read(text, row) for row, text in enumerate(("61", "b2", "63", "64", "G5", "66"))]
WIDE = read("if a != b:", 0)
JOINED = replace(WIDE, text="if a ≠ b:", letters=(*WIDE.letters[:5], WIDE.letters[5] + 5, *WIDE.letters[7:]))
PIECES = [read("name", 0), read("size", 0, 12), read("libc6", 1), read("12 kB", 1, 12), read("end", 3)]
STATES = ("404 missing", "200 fine", "301 moved", "500 broken")
WRITTEN = {
    "indentation follows from where lines begin": (source(), CODE),
    "pieces of a row keep their distance and blank rows stay": (
        PIECES, ("name        size", "libc6       12 kB", "", "end")),
    "line numbers of an editor are left out": ([*NUMBERS, *source(4)], CODE),
    "a title above line numbers keeps its letters and moves no code": (
        [read("orders.py", -1), *NUMBERS, *source(4)], ("orders.py", *CODE)),
    "a misread line number goes with the others": ([*MISREAD, *source(4)], CODE),
    "a sign as wide as two letters is the two that it joins": ([JOINED], ("if a != b:",)),
    "a sign as wide as one letter stays": ([read("if a ≠ b:", 0)], ("if a ≠ b:",)),
    "numbers that do not count rows stay": ([read(text, row) for row, text in enumerate(STATES)], STATES),
}  # fmt: skip


@pytest.mark.parametrize("rule", WRITTEN)
def test_the_lines_of_a_block_are_written_as_code(rule: str) -> None:
    lines, rows = WRITTEN[rule]
    assert code_text(lines, PITCH) == "\n".join(rows)


def test_letters_at_other_distances_show_that_a_block_is_no_code() -> None:
    lines = [read(text.strip(), row) for row, text in enumerate(CODE)]
    assert is_monospaced(lines, PITCH) and not is_monospaced(lines, 1.3 * PITCH)


def test_a_fence_is_longer_than_any_in_the_code() -> None:
    assert fenced("echo hi") == "```\necho hi\n```" and fenced("```\ninner\n```").startswith("````\n")
    assert fenced("") == ""


def test_a_last_row_apart_from_the_others_joins_the_block_it_stands_on_the_rows_of() -> None:
    texts = (*CODE, "", "total(x)")
    image, lines = drawn(texts, "SansMono")
    (found,) = regions(image, [line for line, text in zip(lines, texts, strict=True) if text])
    assert found.rect.y2 == lines[-1].rect.y2


def test_short_columns_left_of_a_listing_belong_to_it() -> None:
    rows = tuple(f"{n}    {n * 37 % 100:2}%    /srv/archive/of/the/year{n}/reports" for n in range(1, 8))
    image = Image.new("L", (700, 60 + 26 * len(rows)), 255)
    lines = []
    for number, row in enumerate(rows):
        ImageDraw.Draw(image).text((60, 30 + 26 * number), row, 0, font(16, "SansMono"))
        advance = font(16, "SansMono").getlength("m")
        for piece in row.split():
            left = 60 + advance * row.index(piece)
            top = 30 + 26 * number
            lines.append(around(Rect(left - 2, top, left + advance * len(piece) + 2, top + 20)))
    (found,) = regions(image, lines)
    assert found.rect.x1 == min(line.rect.x1 for line in lines)
