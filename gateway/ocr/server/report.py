"""The report on the reading of one page: how sure it is, its scripts, and what was not read.

Collected while the page is read, in the order of the answer. The thresholds are documented in docs/ocr.md.
"""

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from gateway.domain import Json
from gateway.geometry.blocks import block_rows, paragraph
from gateway.geometry.boxes import Line, PageBlock, Table
from gateway.ocr.code.reading import code_text
from gateway.wire.ocr import MAX_UNCERTAIN, UNCERTAIN

# Share of the letters from which a script is named.
SCRIPT_SHARE = 0.1
# Degrees from which a tilt is mentioned: less is not visible.
TILT_DEG = 0.5
# Words that make an image more than "a little text", a picture more than a captioned figure; and a page of short
# lines: this share of lines of at most so many words. Chosen for wording alone;
FEW_WORDS, FIGURE_WORDS = 25, 60
SHORT_LINE_WORDS, SHORT_LINES_SHARE = 4, 0.6
# Main text and headings quoted in a description. a paragraph, as a description is no transcript.
MAX_TEXT_CHARS, MAX_TITLES = 600, 8


def content_of(block: PageBlock) -> str:
    """A block's content for the Markdown mode: heading, paragraph, `<table>`, nothing for an image."""
    if block.label == "image":
        return ""
    if block.label == "code":
        return fenced(code_text(block.lines, block.pitch))
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
    if block.label == "code":
        return code_text(block.lines, block.pitch)
    return "\n".join(rows_text(block))


def fenced(text: str) -> str:
    """Code between fences longer than any run of backticks in it (CommonMark); nothing for no code."""
    if not text:
        return ""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def rows_text(block: PageBlock) -> list[str]:
    """The text of each of the block's rows, without empty ones."""
    rows = (" ".join(line.text for line in row if line.text) for row in block_rows(block))
    return [row for row in rows if row]


def html_table(table: Table) -> str:
    """The table on one line, as DeepSeek-OCR writes it: `<td>` only, spans where cells are merged."""
    rows: dict[int, list[str]] = {}
    for cell in table.cells:
        spans = f' rowspan="{cell.row_span}"' if cell.row_span > 1 else ""
        spans += f' colspan="{cell.column_span}"' if cell.column_span > 1 else ""
        rows.setdefault(cell.row, []).append(f"<td{spans}>{html.escape(cell.text, quote=False)}</td>")
    return "<table>" + "".join(f"<tr>{''.join(rows.get(n, []))}</tr>" for n in range(table.row_count)) + "</table>"


def markdown_table(table: Table) -> str:
    """The table with pipes; a merged cell's text is in its first place."""
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
    ("Hebrew", "\u0590", "\u05ff"),
    ("Thai", "\u0e00", "\u0e7f"),
    ("Devanagari", "\u0900", "\u097f"),
    ("Latin", "A", "\u024f"),
    ("Latin", "\u1e00", "\u1eff"),
)


def scripts_of(text: str) -> list[str]:
    """Names of the scripts of at least SCRIPT_SHARE of the letters, commonest first; `other` for unlisted ones."""
    counts: Counter[str] = Counter()
    for character in text:
        if character.isalpha():
            counts[next((name for name, low, high in SCRIPTS if low <= character <= high), "other")] += 1
    total = sum(counts.values())
    return [name for name, count in counts.most_common() if count >= SCRIPT_SHARE * total]


def describe(blocks: list[PageBlock], width: int, height: int, turned_deg: int, skew_deg: float) -> str:
    """A description in English sentences: size, orientation, kind of page, blocks, scripts, the main text.

    `width` and `height`: the upright image's, in pixels; `turned_deg`: how far its text is turned, 0, 90, 180 or 270;
    `skew_deg`: its tilt.
    """
    counts = Counter(block.label for block in blocks)
    lines = [line for block in blocks for line in block.lines if line.text]
    shape = "square" if width == height else "portrait" if height > width else "landscape"
    parts = [f"The image is {width} x {height} pixels, in {shape} orientation."]
    if turned_deg:
        parts.append(f"Its text is turned by {turned_deg} degrees.")
    elif abs(skew_deg) >= TILT_DEG:
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
    elif counts["image"] and words < FIGURE_WORDS:
        kind = "a picture or figure with some text"
    elif words < FEW_WORDS:
        kind = "an image with a little text"
    elif sum(len(line.text.split()) <= SHORT_LINE_WORDS for line in lines) > SHORT_LINES_SHARE * len(lines):
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


def _main_text(blocks: list[PageBlock], max_chars: int = MAX_TEXT_CHARS) -> str:
    titles = [" ".join(rows_text(block)) for block in blocks if block.label == "title" and rows_text(block)]
    others = (" ".join(rows_text(block)) for block in blocks if block.label != "title")
    text = " ".join(text for text in others if text)
    sentences = []
    if titles:
        quoted = "; ".join(f'"{title}"' for title in titles[:MAX_TITLES])
        sentences.append(f"{'Heading' if len(titles) == 1 else 'Headings'}: {quoted}.")
    if text:
        cut = text if len(text) <= max_chars else text[:max_chars].rsplit(" ", 1)[0] + " …"
        sentences.append(f'The text reads: "{cut}"')
    return "\n".join(sentences)


# A line below it is uncertain. Measured on the open part of ocr-real and on pages in ten scripts: of lines in Latin
# letters one in twenty is below, of lines in letters that the models do not know nine in ten.
LOW_CONFIDENCE = 0.8
# The most that a letter or digit alone may have: it is uncertain.
ALONE_CONFIDENCE = 0.75
# A page with a larger share of its letters in uncertain lines is uncertain. Measured on the same pages: the worst
# readable one has .15.
LOW_SHARE = 0.2
# A page on which a larger share of what looks like lines could not be read at all is uncertain. photographs have
# texture that looks like a line or two.
MANY_UNREAD = 0.3

Box = Sequence[int]


def confidence_of(line: Line) -> float:
    """How sure a reading is, 0 to 1. A letter or digit alone, as in the boxes of a form, is never sure: nothing beside
    it tells `O` from `0`."""
    is_alone = len(line.text) == 1 and line.text.isalnum()
    return min(line.fit, ALONE_CONFIDENCE) if is_alone else line.fit


class PageReport:
    """The report of one page. `add` takes its blocks in reading order."""

    def __init__(self, box: Callable[[Line], Box]) -> None:
        """`box`: the box of a line in thousandths of the image, called for details alone."""
        self._box = box
        self._blocks: list[list[Line]] = []
        self._unread = 0
        self._warnings: Counter[str] = Counter()
        self._unreadable: list[str] = []

    def add(self, lines: Iterable[Line], *, continues: bool = False) -> None:
        """One block of the answer, its lines read; those without text count as unread. `continues`: they belong to the
        block before."""
        block = list(lines)
        self.count_unread(block)
        if not (continues and self._blocks):
            self._blocks.append([])
        self._blocks[-1] += [line for line in block if line.text]

    def count_unread(self, lines: Iterable[Line]) -> None:
        """Counts the lines without text, which are in no block."""
        self._unread += sum(not line.text for line in lines)

    def name_unreadable(self, script: str, warning: str) -> None:
        """A script that is on the page and was not read, and what to tell about it."""
        self._unreadable.append(script)
        self._warnings[warning] += 1

    def fields(self, *, details: bool) -> Json:
        """`{low_confidence, scripts: [name], warnings: [sentence], uncertain?: [{text, alternatives, box}]}`, with
        `details` also `lines: [{text, box, confidence, page, block}]`; pages and blocks are counted from 1.
        `uncertain`: the words that may be read otherwise, at most MAX_UNCERTAIN."""
        lines = [line for block in self._blocks for line in block]
        warnings = [*self._quality_warnings(lines), *self._warnings]
        scripts = scripts_of(" ".join(line.text for line in lines))
        fields: Json = {
            "low_confidence": self._is_low(lines),
            "scripts": [*scripts, *(name for name in dict.fromkeys(self._unreadable) if name not in scripts)],
            "warnings": warnings,
        }
        doubts = [(doubt, line) for line in lines for doubt in line.doubts][:MAX_UNCERTAIN]
        if doubts:
            fields[UNCERTAIN] = [
                {
                    "text": doubt.text,
                    "alternatives": list(doubt.alternatives),
                    "box": list(self._box(replace(line, rect=doubt.rect))),
                }
                for doubt, line in doubts
            ]
        if details:
            fields["lines"] = [
                {
                    "text": line.text,
                    "box": list(self._box(line)),
                    "confidence": round(confidence_of(line), 3),
                    "page": 1,
                    "block": number,
                }
                for number, block in enumerate(self._blocks, 1)
                for line in block
            ]
        return fields

    def _is_low(self, lines: list[Line]) -> bool:
        return bool(self._unreadable or self._is_unsure(lines) or self._is_partly_unread(lines))

    def _is_unsure(self, lines: list[Line]) -> bool:
        letters = sum(len(line.text) for line in lines)
        return sum(len(line.text) for line in lines if confidence_of(line) < LOW_CONFIDENCE) > LOW_SHARE * letters

    def _is_partly_unread(self, lines: list[Line]) -> bool:
        return self._unread > MANY_UNREAD * (len(lines) + self._unread)

    def _quality_warnings(self, lines: list[Line]) -> list[str]:
        warnings = []
        if self._is_unsure(lines):
            unsure = sum(confidence_of(line) < LOW_CONFIDENCE for line in lines)
            warnings.append(
                f"low confidence: {unsure} of {len(lines)} lines are uncertain and may be misread; check them against"
                " the image"
            )
        if self._is_partly_unread(lines):
            warnings.append(f"{self._unread} places that look like lines of text could not be read and were left out")
        return warnings
