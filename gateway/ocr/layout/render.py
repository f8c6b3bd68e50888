"""The text of an answer: blocks with boxes, plain text, tables as HTML or Markdown, hits, descriptions.

Works on read blocks; knows neither pixels nor the wire. Shapes are those of the README's OCR section.
"""

import html
import re
from collections import Counter
from itertools import pairwise

from gateway.ocr.layout.blocks import block_rows
from gateway.ocr.types import Line, PageBlock, Table

BULLET = re.compile(r"^(?:[•·●▪◦‣\-–*]|\d{1,3}[.)]|[a-zA-Z][.)])\s*\S")


def content_of(block: PageBlock) -> str:
    """A block's content for the Markdown mode: heading, paragraph, `<table>`, nothing for an image."""
    if block.label == "image":
        return ""
    if block.table is not None:
        return html_table(block.table)
    text = paragraph(block)
    if block.label == "title" and text:
        return f"{'#' * max(1, block.level)} {' '.join(text.split())}"
    return text


def plain_text(block: PageBlock) -> str:
    """A block as plain text: one row of the page a line, tables as Markdown tables."""
    if block.table is not None:
        return markdown_table(block.table)
    return "\n".join(rows_text(block))


def rows_text(block: PageBlock) -> list[str]:
    rows = (" ".join(line.text for line in row if line.text) for row in block_rows(block))
    return [row for row in rows if row]


def paragraph(block: PageBlock) -> str:
    """Rows joined as running text; a row that ends early or stands in columns, or a bullet, keeps its line break."""
    text = ""
    previous: list[Line] = []
    for row in block_rows(block):
        row = [line for line in row if line.text]
        if not row:
            continue
        piece = " ".join(line.text for line in row)
        if text:
            flows = _runs_on(previous, row, block) and not BULLET.match(piece)
            text += " " if flows else "\n"
        text += piece
        previous = row
    return text


def _runs_on(row: list[Line], following: list[Line], block: PageBlock) -> bool:
    """Whether a row was broken only because the next row's first word had no room left on it."""
    if not _is_unbroken(row) or not _is_unbroken(following):
        return False
    if row[0].rect.x1 - block.rect.x1 > 0.15 * block.rect.width:
        return False
    first = following[0].words[0].rect.width if following[0].words else following[0].rect.width
    return block.rect.x2 - row[-1].rect.x2 < first + 0.8 * row[-1].rect.height


def _is_unbroken(row: list[Line]) -> bool:
    """Whether a row is one run of words and has no column gaps in it."""
    return all(right.rect.x1 - left.rect.x2 < 1.2 * left.rect.height for left, right in pairwise(row))


def html_table(table: Table) -> str:
    """The table on one line, as DeepSeek-OCR writes it: `<td>` only, spans where cells are merged."""
    rows: dict[int, list[str]] = {}
    for cell in table.cells:
        spans = f' rowspan="{cell.row_span}"' if cell.row_span > 1 else ""
        spans += f' colspan="{cell.column_span}"' if cell.column_span > 1 else ""
        rows.setdefault(cell.row, []).append(f"<td{spans}>{html.escape(cell.text, quote=False)}</td>")
    return "<table>" + "".join(f"<tr>{''.join(rows.get(n, []))}</tr>" for n in range(table.row_count)) + "</table>"


def markdown_table(table: Table) -> str:
    """The table with pipes; a merged cell's text stands in its first place."""
    grid = [[""] * table.column_count for _ in range(table.row_count)]
    for cell in table.cells:
        grid[cell.row][cell.column] = cell.text.replace("|", "\\|")
    lines = ["| " + " | ".join(row) + " |" for row in grid]
    return "\n".join([lines[0], "|" + " --- |" * table.column_count, *lines[1:]])


SCRIPTS = (
    ("Chinese or Japanese (Han)", "\u4e00", "\u9fff"),
    ("Japanese kana", "\u3040", "\u30ff"),
    ("Korean", "\uac00", "\ud7af"),
    ("Cyrillic", "\u0400", "\u04ff"),
    ("Greek", "\u0370", "\u03ff"),
    ("Arabic", "\u0600", "\u06ff"),
    ("Latin", "A", "\u024f"),
)


def scripts_of(text: str) -> list[str]:
    """Names of the scripts that make up a tenth of the letters or more, commonest first."""
    counts: Counter[str] = Counter()
    for character in text:
        if character.isalpha():
            counts[next((name for name, low, high in SCRIPTS if low <= character <= high), "other")] += 1
    total = sum(counts.values())
    return [name for name, count in counts.most_common() if count >= 0.1 * total]


def describe(blocks: list[PageBlock], width: int, height: int, turned_deg: int, skew_deg: float) -> str:
    """What the engine can vouch for: size, orientation, kind of page, blocks, scripts, the main text."""
    counts = Counter(block.label for block in blocks)
    lines = [line for block in blocks for line in block.lines if line.text]
    shape = "square" if width == height else "portrait" if height > width else "landscape"
    parts = [f"The image is {width} x {height} pixels, in {shape} orientation."]
    if turned_deg:
        parts.append(f"Its text is turned by {turned_deg} degrees.")
    elif abs(skew_deg) >= 0.5:
        parts.append(f"Its text is tilted by about {abs(skew_deg):.1f} degrees.")
    if not lines:
        figures = _counted(counts["image"], "region that looks like a picture", "regions that look like pictures")
        parts.append(f"No text was recognised in it{f'; it has {figures}' if counts['image'] else ''}.")
        parts.append("This engine reads text and page layout; it does not recognise objects or scenes.")
        return " ".join(parts)
    parts.append(_kind(counts, lines))
    parts.append(_contents(counts, lines))
    parts.append(f"Script: {', '.join(scripts_of(' '.join(line.text for line in lines))) or 'digits and signs only'}.")
    return " ".join(parts) + "\n\n" + _main_text(blocks)


def _kind(counts: Counter[str], lines: list[Line]) -> str:
    words = sum(len(line.text.split()) for line in lines)
    if counts["table"] and words:
        kind = "a document page with tabular content"
    elif counts["image"] and words < 60:
        kind = "a picture or figure with some text"
    elif words < 25:
        kind = "an image with a little text"
    elif sum(len(line.text.split()) <= 4 for line in lines) > 0.6 * len(lines):
        kind = "a page of short lines, such as a receipt, form or list"
    else:
        kind = "a page of running text"
    return f"It appears to be {kind}."


def _contents(counts: Counter[str], lines: list[Line]) -> str:
    names = {
        "title": ("heading", "headings"),
        "text": ("text block", "text blocks"),
        "table": ("table", "tables"),
        "image": ("figure", "figures"),
    }
    found = [_counted(counts[label], *names[label]) for label in names if counts[label]]
    listed = found[0] if len(found) == 1 else ", ".join(found[:-1]) + " and " + found[-1]
    return f"It contains {listed} with {_counted(len(lines), 'line of text', 'lines of text')}."


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _main_text(blocks: list[PageBlock], max_chars: int = 600) -> str:
    titles = [" ".join(rows_text(block)) for block in blocks if block.label == "title" and rows_text(block)]
    others = (" ".join(rows_text(block)) for block in blocks if block.label != "title")
    text = " ".join(text for text in others if text)
    said = []
    if titles:
        quoted = "; ".join(f'"{title}"' for title in titles[:8])
        said.append(f"{'Heading' if len(titles) == 1 else 'Headings'}: {quoted}.")
    if text:
        cut = text if len(text) <= max_chars else text[:max_chars].rsplit(" ", 1)[0] + " …"
        said.append(f'The text reads: "{cut}"')
    return "\n".join(said)
