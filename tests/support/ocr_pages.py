"""Rendered pages with known words, blocks and table cells, for tests and for `bench/ocr.py`.

Everything is drawn with Pillow from a seed. DejaVu is used where the machine has it, else Pillow's own font.
"""

import io
import random
from dataclasses import dataclass, field
from pathlib import Path

import numpy
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from tests.support.paths import GOLDEN

FONT_DIRS = ("/usr/share/fonts/truetype/dejavu", "/usr/share/fonts/dejavu", "/usr/share/fonts/TTF")
WORDS = tuple((GOLDEN / "words.txt").read_text().split())

Box = tuple[float, float, float, float]


@dataclass
class Truth:
    words: list[tuple[str, Box]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    blocks: list[tuple[str, Box]] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)


def font(size: int, style: str = "Sans") -> ImageFont.FreeTypeFont:
    for folder in FONT_DIRS:
        path = Path(folder) / f"DejaVu{style}.ttf"
        if path.exists():
            return ImageFont.truetype(str(path), size)
    return ImageFont.load_default(size)


class Sheet:
    """A page being drawn; remembers what was drawn where."""

    def __init__(self, width: int = 1240, height: int = 1754, seed: int = 0, style: str = "Sans") -> None:
        self.image = Image.new("RGB", (width, height), "white")
        self.draw = ImageDraw.Draw(self.image)
        self.random = random.Random(seed)
        self.truth = Truth()
        self.style = style

    def sentence(self, count: int) -> str:
        words = [self.random.choice(WORDS) for _ in range(count)]
        words[0] = words[0].capitalize()
        if count > 6 and self.random.random() < 0.5:
            words[count // 2] += ","
        return " ".join(words) + "."

    def token(self) -> str:
        """A word, sometimes with a capital or a comma; one in eight a figure, a date, an address or a foreign name."""
        word, draw = self.random.choice(WORDS), self.random
        if draw.random() < 1 / 8:
            figure, day, month, year = draw.uniform(1, 9000), *map(draw.randint, (1, 1, 1990), (28, 12, 2030))
            percent, mail = f"{draw.randint(2, 99)}%", f"{word}@{draw.choice(WORDS)}.org"
            foreign = draw.choice(("Müller", "Zoë", "Besançon", "São", "Łódź", "señor"))
            return draw.choice((f"{figure:,.2f}", f"{day}/{month}/{year}", percent, mail, f"www.{word}.com", foreign))
        return draw.choice((word, word, word, word.capitalize(), f"{word},"))

    def prose(self, count: int) -> str:
        text: list[str] = []
        while sum(len(each.split()) for each in text) < count:
            text.append(self.sentence(self.random.randint(5, 12)))
        return " ".join(text)

    def line(self, x: float, y: float, text: str, face: ImageFont.FreeTypeFont, fill: str = "black") -> Box:
        """Draw one line word by word, so that each word's ink is known."""
        boxes = []
        at = x
        for word in text.split(" "):
            ink = self.draw.textbbox((at, y), word, font=face)
            self.draw.text((at, y), word, font=face, fill=fill)
            self.truth.words.append((word, ink))
            boxes.append(ink)
            at += self.draw.textlength(word + " ", font=face)
        self.truth.lines.append(text)
        return (min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes))

    def paragraph(
        self, x: float, y: float, width: float, text: str, size: int, style: str = "", label: str = "text"
    ) -> float:
        """Wrapped text as one block; the y below it."""
        face = font(size, style or self.style)
        rows, row = [], ""
        for word in text.split():
            longer = f"{row} {word}".strip()
            if row and self.draw.textlength(longer, font=face) > width:
                rows.append(row)
                row = word
            else:
                row = longer
        rows.append(row)
        boxes = []
        for text_row in rows:
            boxes.append(self.line(x, y, text_row, face))
            y += size * 1.4
        self.truth.blocks.append((label, around(boxes)))
        return y

    def heading(self, x: float, y: float, width: float, text: str, size: int) -> float:
        return self.paragraph(x, y, width, text, size, "Sans-Bold", "title")

    def figure(self, x: float, y: float, width: float, height: float) -> float:
        """A photograph-like picture: smooth noise."""
        rng = numpy.random.default_rng(self.random.randrange(1 << 30))
        coarse = Image.fromarray(rng.integers(0, 255, (9, 12, 3), dtype=numpy.uint8))
        self.image.paste(coarse.resize((int(width), int(height)), Image.Resampling.BICUBIC), (int(x), int(y)))
        self.truth.blocks.append(("image", (x, y, x + width, y + height)))
        return y + height

    def table(
        self, x: float, y: float, widths: list[int], rows: list[list[str]], size: int, rules: str = "all"
    ) -> float:
        """A table; `rules` is all, rows (booktabs) or none. The y below it."""
        face = font(size, self.style)
        row_height = size * 1.9
        total = sum(widths)
        bottom = y + row_height * len(rows)
        if rules == "all":
            for number in range(len(rows) + 1):
                self.draw.line([(x, y + number * row_height), (x + total, y + number * row_height)], "black", 2)
            edge = x
            for width in [0, *widths]:
                edge += width
                self.draw.line([(edge, y), (edge, bottom)], "black", 2)
        elif rules == "rows":
            for at in (y, y + row_height, bottom):
                self.draw.line([(x, at), (x + total, at)], "black", 2)
        boxes = []
        for number, row in enumerate(rows):
            edge = x
            for width, cell in zip(widths, row, strict=True):
                if cell:
                    boxes.append(self.line(edge + 10, y + number * row_height + size * 0.35, cell, face))
                edge += width
        self.truth.tables.append(rows)
        self.truth.blocks.append(("table", (x, y, x + total, bottom) if rules != "none" else around(boxes)))
        return bottom


def around(boxes: list[Box]) -> Box:
    return min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes)


def cells(sheet: Sheet, rows: int, columns: int) -> list[list[str]]:
    head = [sheet.random.choice(WORDS).capitalize() for _ in range(columns)]
    body = [
        [sheet.random.choice(WORDS) + " " + sheet.random.choice(WORDS)]
        + [f"{sheet.random.uniform(1, 2000):,.2f}" for _ in range(columns - 1)]
        for _ in range(rows - 1)
    ]
    return [head, *body]


def report(seed: int, scale: float = 1.0, style: str = "Sans", rules: str = "all") -> Sheet:
    """One column: title, headings, paragraphs, a table, a figure."""
    sheet = Sheet(int(1240 * scale), int(1754 * scale), seed, style)
    s = scale
    y = sheet.heading(100 * s, 90 * s, 1000 * s, "Annual report on " + sheet.random.choice(WORDS), int(46 * s)) + 30 * s
    y = sheet.paragraph(100 * s, y, 1040 * s, sheet.prose(60), int(22 * s)) + 30 * s
    y = sheet.heading(100 * s, y, 1000 * s, f"1 {sheet.random.choice(WORDS).capitalize()}", int(32 * s)) + 14 * s
    y = sheet.paragraph(100 * s, y, 1040 * s, sheet.prose(45), int(22 * s)) + 34 * s
    widths = [int(w * s) for w in (380, 210, 210, 210)]
    y = sheet.table(100 * s, y, widths, cells(sheet, 7, 4), int(22 * s), rules) + 40 * s
    y = sheet.heading(100 * s, y, 1000 * s, f"2 {sheet.random.choice(WORDS).capitalize()}", int(32 * s)) + 14 * s
    y = sheet.paragraph(100 * s, y, 1040 * s, sheet.prose(40), int(22 * s)) + 30 * s
    sheet.figure(320 * s, y, 600 * s, min(330 * s, 1680 * s - y))
    return sheet


def two_columns(seed: int, size: int = 20, style: str = "Serif") -> Sheet:
    sheet = Sheet(1240, 1754, seed, style)
    y = sheet.heading(100, 90, 1040, "Proceedings of the " + sheet.random.choice(WORDS), 42) + 40
    for x in (100, 650):
        at = y
        for part in range(3):
            at = sheet.heading(x, at, 490, f"{part + 1} {sheet.random.choice(WORDS).capitalize()}", 26) + 12
            at = sheet.paragraph(x, at, 490, sheet.prose(62), size) + 26
    return sheet


def letter(seed: int, size: int = 22, style: str = "Sans") -> Sheet:
    sheet = Sheet(1240, 1754, seed, style)
    y = 120.0
    for _ in range(6):
        y = sheet.paragraph(120, y, 1000, sheet.prose(40), size) + 30
    return sheet


def dense(seed: int, scale: float = 1.0, size: int = 22, style: str = "Sans", columns: int = 1) -> Sheet:
    """A page full of text from margin to margin, as letters and reports are; one token in eight is no plain word."""
    sheet = Sheet(int(1240 * scale), int(1754 * scale), seed, style)
    margin, gap, face = int(90 * scale), int(60 * scale), font(size, style)
    width = (sheet.image.width - 2 * margin - (columns - 1) * gap) / columns
    for column in range(columns):
        x, y = margin + column * (width + gap), float(margin)
        while y + 1.2 * size < sheet.image.height - margin:
            row = sheet.token()
            while sheet.draw.textlength(longer := f"{row} {sheet.token()}", font=face) <= width:
                row = longer
            sheet.line(x, y, row, face)
            y += 1.55 * size
    return sheet


def degrade(image: Image.Image, how: str, seed: int = 0) -> Image.Image:
    """The image as a worse print: noise, blur, jpeg, low (contrast), inverted, shaded; rot90/180/270, skew."""
    rng = numpy.random.default_rng(seed)
    pixels = numpy.asarray(image, dtype=numpy.float32)
    if how == "noise":
        pixels = pixels + rng.normal(0, 18, pixels.shape)
    elif how == "blur":
        return image.filter(ImageFilter.GaussianBlur(1.2))
    elif how == "jpeg":
        out = io.BytesIO()
        image.save(out, "JPEG", quality=20)
        return Image.open(out).convert("RGB")
    elif how == "low":
        pixels = 150 + pixels * 0.25
    elif how == "inverted":
        pixels = 255 - pixels
    elif how == "shaded":
        pixels = pixels * numpy.linspace(1.0, 0.45, pixels.shape[1], dtype=numpy.float32)[None, :, None]
    elif how == "skew":
        return image.rotate(1.5, Image.Resampling.BICUBIC, fillcolor="white")
    elif how.startswith("rot"):
        return image.rotate(int(how[3:]), expand=True)
    return Image.fromarray(pixels.clip(0, 255).astype(numpy.uint8))


def png(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=1)
    return out.getvalue()


def invoice() -> Sheet:
    """The page behind `tests/golden/ocr-sample.png`, which the documentation's examples read."""
    sheet = Sheet(900, 1000, 3)
    sheet.heading(60, 50, 600, "Harbour Street Stationers", 34)
    sheet.paragraph(60, 110, 500, "12 Harbour Street, Port Ellery Telephone 555 0142", 18)
    sheet.heading(60, 200, 500, "Invoice No. 2041", 26)
    thanks = (
        "Thank you for your order of 3 March. The goods below left our warehouse on 5 "
        "March and should reach you within two working days."
    )
    y = sheet.paragraph(60, 250, 780, thanks, 18)
    rows = [
        ["Article", "Quantity", "Price", "Amount"],
        ["Copy paper A4", "10", "4.20", "42.00"],
        ["Fountain pen, blue", "2", "18.50", "37.00"],
        ["Ring binder", "6", "3.15", "18.90"],
        ["Delivery", "1", "7.00", "7.00"],
    ]
    y = sheet.table(60, y + 30, [330, 150, 150, 150], rows, 18)
    sheet.line(460, y + 22, "Total due", font(20, "Sans-Bold"))
    sheet.line(700, y + 22, "104.90", font(20, "Sans-Bold"))
    y = sheet.heading(60, y + 90, 500, "Terms of payment", 26)
    terms = (
        "Please pay within thirty days by bank transfer, quoting the invoice number. "
        "Goods remain our property until paid for in full."
    )
    y = sheet.paragraph(60, y + 10, 780, terms, 18)
    sheet.figure(60, y + 25, 240, 130)
    return sheet
