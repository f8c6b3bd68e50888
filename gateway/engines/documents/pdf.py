"""The text layer of a PDF as Markdown: headings, columns in reading order, tables, ligatures as letters, page marks.

pypdfium2 gives each character's place; its lines go through the same layout as those of pictures (`ocr.layout`). Pages
without text are named, so that OCR can read them. Sources: pypdfium2 5 and PDFium's fpdf_text.h, read 2026-11-22.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.engines.documents.contents_list import Item, entries, without_leaders
from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.pdf_lines import SAME_LINE, page_lines
from gateway.engines.fetch.errors import FetchFailed
from gateway.geometry.blocks import body_of, build_blocks, is_bold, paragraph
from gateway.geometry.boxes import Line, PageBlock, Rect, Region, Table, Word, hull, no_such_pages
from gateway.geometry.tables import aligned_tables, column_table

MAX_PAGES = 300
"""Chosen: at half, theses and manuals are cut; at double, a document may run into a job's time limit, which loses all
its pages."""
READ_CPU_S, READ_S = 9.0, 10.0
REREAD_SHARE = 0.4
"""CPU seconds and seconds after which no other page is begun, so that the pages that were read are not lost with the
job (parse_pool: 15 and 20 s), and the share of both for reading a document again with its hidden text. Chosen: 300 full
pages take 6 to 16 s of CPU. At half, long reports need several calls; at double the job ends first."""
MAX_HEAD_LINES = 3
"""Lines of one heading, as in blocks.MAX_TITLE_LINES."""
MAX_HEADED_LINES = 1_000
"""Lines of a page whose headings in bold are sought, each among all others. Chosen: a newspaper's page has 500. At
half, some of these have no headings; at double, a page made for it takes four times as long (1.4 s)."""


@dataclass(frozen=True, slots=True)
class PdfText:
    """`title` or ""; `last`: the last page that was read, `wanted`: that was to be read; `scanned`: those that show
    something and hold no text."""

    title: str
    last: int
    wanted: int
    scanned: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PdfWish:
    """`pages`: first and last to read, counted from 1, None for all; `texts`: what OCR has read of pages without text,
    by their number; `share` of the usual time."""

    pages: tuple[int, int] | None = None
    texts: Mapping[int, str] = field(default_factory=dict)
    share: float = 1.0


NO_WISH = PdfWish()


def read_pdf(pdfium: Any, body: bytes, out: DocumentText, wish: PdfWish = NO_WISH) -> PdfText:
    """Writes the pages of a PDF. `pdfium`: the module pypdfium2.

    Raises FetchFailed for a document that is damaged, protected by a password or has no such pages.
    """
    document = _opened(pdfium, body)
    try:
        total = len(document)
        first, last = wish.pages or (1, total)
        if not 1 <= first <= last or first > total:
            raise FetchFailed(no_such_pages(total), "unparsable")
        wanted = min(last, total)
        last = min(wanted, first + MAX_PAGES - 1)
        scanned, end = [], _Deadline(wish.share)
        for number in range(first, last + 1):
            if out.is_full or (number > first and end.is_over):
                last = number - 1
                break
            if total > 1:
                out.mark(f"page {number}")
            lines = page_lines(pdfium, document, number - 1, out.leaves_out)
            if lines:
                _write(lines, out)
            elif number in wish.texts:
                out.paragraph(wish.texts[number])
            elif _shows_something(document, number - 1):
                scanned.append(number)
        out.drop_running_lines()
        title = (document.get_metadata_dict().get("Title") or "").strip()
        return PdfText(title, last, wanted, tuple(scanned))
    except pdfium.PdfiumError as error:
        raise FetchFailed("the PDF is damaged and could not be read", "unparsable") from error
    finally:
        document.close()


class _Deadline:
    """`is_over`: the time for reading has been used up. `share` of the usual time."""

    def __init__(self, share: float) -> None:
        self._cpu_s = time.process_time() + share * READ_CPU_S
        self._s = time.monotonic() + share * READ_S

    @property
    def is_over(self) -> bool:
        return time.process_time() > self._cpu_s or time.monotonic() > self._s


def _opened(pdfium: Any, body: bytes) -> Any:
    try:
        return pdfium.PdfDocument(body)
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) == pdfium.raw.FPDF_ERR_PASSWORD:
            raise FetchFailed("the PDF is protected by a password", "unparsable") from error
        raise FetchFailed("the PDF is damaged and could not be read", "unparsable") from error


def _shows_something(document: Any, index: int) -> bool:
    """Whether there is anything on a page, which may be a picture or drawing of text."""
    page = document[index]
    try:
        return next(page.get_objects(max_depth=1), None) is not None
    finally:
        page.close()


def _write(lines: list[Line], out: DocumentText) -> None:
    tables = [Region("table", rect, 1.0) for rect in aligned_tables(lines)]
    heads = [Region("title", rect, 1.0) for rect in _bold_heads(lines)]
    contents: list[Item] = []
    for block in build_blocks(lines, tables + heads):
        listed = entries(" ".join(line.text for line in block.lines)) if block.label != "table" else None
        if listed is not None:
            contents += listed
            continue
        out.items(contents)
        contents = []
        if block.label == "title":
            out.heading(block.level, without_leaders(" ".join(line.text for line in block.lines)))
        elif block.label == "table" and (table := _table_of(block)) is not None:
            out.table(_rows(table))
        else:
            out.paragraph(_without_hyphens(without_leaders(paragraph(block))))
    out.items(contents)


def _bold_heads(lines: list[Line]) -> list[Rect]:
    """The boxes of headings in bold: lines with nothing beside them, and regular ones below from the same left edge."""
    if len(lines) > MAX_HEADED_LINES:
        return []
    body = body_of(lines)
    runs: list[list[Line]] = []
    for line in lines:
        if not is_bold([line], body) or line.size < body.size or line.text[-1] in ".:,;" or _has_beside(line, lines):
            continue
        if runs and _is_below(runs[-1][-1], line, 1 / 2) and len(runs[-1]) < MAX_HEAD_LINES:
            runs[-1].append(line)
        else:
            runs.append([line])
    heads = []
    for run in runs:
        below = [line for line in lines if _is_below(run[-1], line, 2)]
        first = min(below, key=lambda line: line.rect.y1, default=None)
        if first is not None and not is_bold([first], body):
            heads.append(hull([line.rect for line in run]))
    return heads


def _has_beside(line: Line, lines: list[Line]) -> bool:
    rect, height = line.rect, line.rect.height
    near = Rect(rect.x1 - height, rect.y1, rect.x2 + 2 * height, rect.y2)
    return any(other is not line and near.overlap(other.rect) > SAME_LINE * height * height for other in lines)


def _is_below(line: Line, other: Line, gap: float) -> bool:
    """Whether another line begins below a line at the same left edge, no more than `gap` heights away."""
    height = line.rect.height
    return -height / 2 < other.rect.y1 - line.rect.y2 < gap * height and abs(other.rect.x1 - line.rect.x1) < height


def _table_of(block: PageBlock) -> Table | None:
    return column_table([Word(line.text, line.rect) for line in block.lines], None)


def _rows(table: Table) -> list[list[str]]:
    grid = [[""] * table.column_count for _ in range(table.row_count)]
    for cell in table.cells:
        grid[cell.row][cell.column] = cell.text
    return grid


def _without_hyphens(text: str) -> str:
    """Words that a line's end has cut, put together: `docu- ment` after joining. A hyphen before a capital stays."""
    words = text.split(" ")
    joined: list[str] = []
    for word in words:
        if (
            joined
            and joined[-1].endswith("-")
            and len(joined[-1]) > 1
            and joined[-1][-2].islower()
            and word[:1].islower()
        ):
            joined[-1] = joined[-1][:-1] + word
        else:
            joined.append(word)
    return " ".join(joined)
