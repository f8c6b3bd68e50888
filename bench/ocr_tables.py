"""Tables taken from real web pages, read by the OCR engine: `python -m bench.ocr_tables [--data DIR] [--show N]`.

No labelled set of photographed tables is at hand. These have real content and real shapes: the data tables in the pages
of `--data`/extract, whose HTML says what stands in every cell, what is a heading and what is merged. Each is drawn as a
browser would (columns by their content, cells of several lines, headings bold) in four styles: all rules, rules under
rows, striped, none. A cell is right when its text stands in its row and column, letter by letter (white space
folded); empty cells are not counted.
"""

import argparse
import gzip
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median

from lxml import html
from PIL import ImageFont

from gateway.ocr.server.engine import OcrEngine
from gateway.wire.ocr import MARKDOWN, parse_blocks
from tests.support.ocr_pages import Sheet, font, png

STYLES = ("all", "rows", "striped", "none")
MAX_ROWS, MAX_COLUMNS, TABLES_A_PAGE = 22, 9, 4
MAX_CELL_CHARS, USUAL_CELL_CHARS, MIN_FILLED = 200, 40, 0.4
PAGE_WIDTH, MARGIN, PADDING = 1240, 70, 10
DRAWN = re.compile(r"[\x20-\x7e\xa0-\xff–—‘’“”•…€™]*")


@dataclass(frozen=True)
class Place:
    """A cell: the rows and columns it covers, what stands there, whether it is a heading."""

    row: int
    column: int
    rows: int
    columns: int
    text: str
    is_head: bool = False


def places_of(table: html.HtmlElement) -> list[Place]:
    """The cells of an HTML table, by the layout rules of HTML (spans push later cells on)."""
    taken: set[tuple[int, int]] = set()
    found = []
    for row, element in enumerate(table.iter("tr")):
        column = 0
        for cell in element.iterchildren("td", "th"):
            while (row, column) in taken:
                column += 1
            rows, columns = span(cell, "rowspan"), span(cell, "colspan")
            taken.update((row + r, column + c) for r in range(rows) for c in range(columns))
            text = " ".join(" ".join(cell.itertext()).split())
            found.append(Place(row, column, rows, columns, text, cell.tag == "th"))
            column += columns
    return found


def span(cell: html.HtmlElement, name: str) -> int:
    value = cell.get(name, "1")
    return max(1, min(50, int(value))) if value.isdigit() else 1


def is_data(table: html.HtmlElement, places: list[Place]) -> bool:
    """Whether it holds data that can be drawn, and is no frame for a layout."""
    if table.xpath(".//table | .//input | .//script | .//style") or not places:
        return False
    texts = [place.text for place in places if place.text]
    columns = max(place.column + place.columns for place in places)
    rows = max(place.row for place in places) + 1
    return (
        rows >= 3
        and 2 <= columns <= MAX_COLUMNS
        and len(texts) >= MIN_FILLED * len(places)
        and median(len(text) for text in texts) <= USUAL_CELL_CHARS
        and max(len(text) for text in texts) <= MAX_CELL_CHARS
        and all(DRAWN.fullmatch(text) for text in texts)
        and len(set(texts)) > 0.4 * len(texts)
    )


def real_tables(folder: Path) -> Iterator[tuple[str, list[Place]]]:
    """Data tables of all pages, at most a few a page, their first rows."""
    for file in sorted(folder.glob("*.html.gz")):
        tree = html.fromstring(gzip.decompress(file.read_bytes()).decode("utf-8", "replace"))
        found: list[list[Place]] = []
        for table in tree.iter("table"):
            places = [place for place in places_of(table) if place.row < MAX_ROWS]
            if is_data(table, places) and places not in found and len(found) < TABLES_A_PAGE:
                found.append(places)
        yield from ((file.name.split(".")[0], places) for places in found)


# --- drawing ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Look:
    style: str
    body: ImageFont.FreeTypeFont
    head: ImageFont.FreeTypeFont
    size: int

    def lines(self, place: Place, width: float) -> list[str]:
        """The cell's text broken at spaces; a word wider than the column stays whole."""
        face = self.head if place.is_head else self.body
        lines: list[str] = []
        for word in place.text.split():
            if lines and face.getlength(f"{lines[-1]} {word}") <= width:
                lines[-1] += f" {word}"
            else:
                lines.append(word)
        return lines


def look_of(number: int, style: str) -> Look:
    size, family = (18, 20, 22)[number % 3], ("Sans", "Serif")[number // 3 % 2]
    return Look(style, font(size, family), font(size, f"{family}-Bold"), size)


def column_widths(places: list[Place], look: Look) -> list[float]:
    """As wide as the column's longest text; less where the page is too narrow, but never less than its longest word."""
    count = max(place.column + place.columns for place in places)
    least, wanted = [30.0] * count, [30.0] * count
    for place in places:
        if place.columns == 1 and place.text:
            face = look.head if place.is_head else look.body
            words = max(face.getlength(word) for word in place.text.split())
            least[place.column] = max(least[place.column], words + 2 * PADDING)
            wanted[place.column] = max(wanted[place.column], face.getlength(place.text) + 2 * PADDING + 1)
    room = PAGE_WIDTH - 2 * MARGIN
    if sum(wanted) <= room:
        return wanted
    share = max(0.0, room - sum(least)) / max(1.0, sum(wanted) - sum(least))
    return [low + share * (high - low) for low, high in zip(least, wanted, strict=True)]


def drawn(places: list[Place], look: Look, seed: int) -> Sheet | None:
    """The table between two paragraphs; None when it is wider than a page."""
    widths = column_widths(places, look)
    if MARGIN + sum(widths) > PAGE_WIDTH - 10:
        return None
    lefts = [MARGIN + sum(widths[:n]) for n in range(len(widths) + 1)]
    step = look.size * 1.35
    count = max(place.row + place.rows for place in places)
    cell_lines = {place: look.lines(place, room_of(place, lefts)) for place in places}
    heights = [step + 0.9 * look.size] * count
    for place, lines in cell_lines.items():
        if place.rows == 1:
            heights[place.row] = max(heights[place.row], len(lines) * step + 0.9 * look.size)
    top = 230.0
    tops = [top + sum(heights[:n]) for n in range(count + 1)]
    sheet = Sheet(PAGE_WIDTH, int(tops[-1]) + 220, seed)
    sheet.paragraph(MARGIN, 70, PAGE_WIDTH - 2 * MARGIN, sheet.prose(25), look.size)
    sheet.paragraph(MARGIN, tops[-1] + 60, PAGE_WIDTH - 2 * MARGIN, sheet.prose(25), look.size)
    draw_rules(sheet, places, look.style, lefts, tops)
    for place, lines in cell_lines.items():
        bottom = tops[min(count, place.row + place.rows)]
        y = (tops[place.row] + bottom - len(lines) * step) / 2 + 0.1 * look.size
        for line in lines:
            face = look.head if place.is_head else look.body
            sheet.draw.text((lefts[place.column] + PADDING, y), line, font=face, fill="black")
            y += step
    return sheet


def room_of(place: Place, lefts: list[float]) -> float:
    return lefts[min(len(lefts) - 1, place.column + place.columns)] - lefts[place.column] - 2 * PADDING


def draw_rules(sheet: Sheet, places: list[Place], style: str, lefts: list[float], tops: list[float]) -> None:
    for place in places:
        left, right = lefts[place.column], lefts[min(len(lefts) - 1, place.column + place.columns)]
        top, bottom = tops[place.row], tops[min(len(tops) - 1, place.row + place.rows)]
        if style == "all":
            sheet.draw.rectangle((left, top, right, bottom), outline="#666666")
        elif style == "striped" and place.row % 2:
            sheet.draw.rectangle((left, top, right, bottom), fill="#eeeeee")
        elif style == "rows":
            sheet.draw.line((left, bottom, right, bottom), "#999999")


# --- scoring ----------------------------------------------------------------------------------------------------------


def texts_of(places: list[Place]) -> dict[tuple[int, int], str]:
    return {(place.row, place.column): place.text for place in places if place.text}


def read_table(engine: OcrEngine, sheet: Sheet) -> list[dict[tuple[int, int], str]]:
    answer = "".join(engine.answer(png(sheet.image), MARKDOWN.prompt))
    tables = [html.fromstring(block.content) for block in parse_blocks(answer) if block.label == "table"]
    return [texts_of(places_of(table)) for table in tables]


def score(engine: OcrEngine, tables: list[tuple[str, list[Place]]], shown: int) -> None:
    right: dict[str, int] = {}
    wanted: dict[str, int] = {}
    shares: dict[str, list[float]] = {}
    for (number, (name, places)), style in product(enumerate(tables), STYLES):
        look = look_of(number, style)
        sheet = drawn(places, look, number)
        if sheet is None:
            continue
        want = texts_of(places)
        made = max(read_table(engine, sheet), key=lambda made: len(made.items() & want.items()), default={})
        hits = len(made.items() & want.items())
        right[style] = right.get(style, 0) + hits
        wanted[style] = wanted.get(style, 0) + len(want)
        shares.setdefault(style, []).append(hits / len(want))
        if hits < shown / 100 * len(want):
            size = f"{1 + max(r for r, _ in want)} x {1 + max(c for _, c in want)}"
            print(f"   table {number} page {name} {style} {size}: {hits} of {len(want)}")
    for style, values in shares.items():
        share = right[style] / wanted[style]
        print(f"{style:8} {len(values):3} tables: {right[style]}/{wanted[style]} cells = {share:.3f}")
    every = [value for values in shares.values() for value in values]
    share = sum(right.values()) / sum(wanted.values())
    print(f"in all   {len(every):3} tables: cells right {share:.3f}, mean over tables {sum(every) / len(every):.3f}")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DATA_DIR", "../shared/data")))
    parser.add_argument("--show", type=int, default=50, help="list tables with less than this percentage right")
    options = parser.parse_args(argv)
    folder = options.data / "extract"
    if not folder.is_dir():
        print(f"tables from web pages: skipped, no folder {folder}")
        return
    engine = OcrEngine(os.cpu_count() or 1)
    engine.load()
    begun = time.perf_counter()
    score(engine, list(real_tables(folder)), options.show)
    print(f"{time.perf_counter() - begun:.0f} s")
    engine.close()


if __name__ == "__main__":
    main()
