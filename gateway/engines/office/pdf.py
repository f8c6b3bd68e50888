"""The text layer of a PDF as Markdown: headings, columns in reading order, tables, ligatures as letters, page marks.

pypdfium2 gives each character's place; its lines go through the same layout as those of pictures (`ocr.layout`). Pages
without text are named, so that OCR can read them. Sources: pypdfium2 5 and PDFium's fpdf_text.h, read 2026-11-22.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gateway.engines.fetch.errors import FetchFailed
from gateway.engines.office.text import DocumentText
from gateway.ocr.layout.aligned_tables import aligned_tables
from gateway.ocr.layout.blocks import build_blocks
from gateway.ocr.layout.render import paragraph
from gateway.ocr.layout.tables import column_table
from gateway.ocr.types import Line, PageBlock, Rect, Region, Table, Word, hull

MAX_PAGES = 300
"""Chosen: at half, theses and manuals are cut; at double, a document may run into a job's time limit, which loses all
its pages."""
CELL_GAP = 0.8
"""A gap on a line, in its height, from which it lies between cells or columns. Chosen: justified text has spaces
of half a height. At half, justified lines fall apart; at double, narrow columns run together."""
SAME_LINE = 0.4
"""The share of its height that a letter has in common with the one before on a line: raised and lowered ones have half.
At half, close lines run together; at double (.8), notes begin lines of their own."""
LINE_END_HYPHENS = "\x02\xad\ufffe"
"""What PDFium gives for the hyphen of a word that goes on in the next line."""
MAX_CHARS_PER_PAGE = 60_000
"""Chosen: ten times a page full of small print. At half, dense tables are cut; at double, one page may take the job's
time."""


@dataclass(frozen=True, slots=True)
class PdfText:
    """`title` or ""; `pages` read, `total` in the document; `scanned`: those that show something and hold no text."""

    title: str
    pages: int
    total: int
    scanned: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PdfWish:
    """`pages`: first and last to read, counted from 1, None for all; `texts`: what OCR has read of pages without text,
    by their number."""

    pages: tuple[int, int] | None = None
    texts: Mapping[int, str] = field(default_factory=dict)


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
            raise FetchFailed(f"the document has {total} pages; ask for pages between 1 and {total}", "unparsable")
        last = min(last, total, first + MAX_PAGES - 1)
        scanned = []
        for number in range(first, last + 1):
            if out.is_full:
                last = number - 1
                break
            if total > 1:
                out.mark(f"page {number}")
            lines = _page_lines(pdfium, document, number - 1)
            if lines:
                _write(lines, out)
            elif number in wish.texts:
                out.paragraph(wish.texts[number])
            elif _shows_something(document, number - 1):
                scanned.append(number)
        title = (document.get_metadata_dict().get("Title") or "").strip()
        return PdfText(title, last - first + 1, total, tuple(scanned))
    except pdfium.PdfiumError as error:
        raise FetchFailed("the PDF is damaged and could not be read", "unparsable") from error
    finally:
        document.close()


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


class _Letter(NamedTuple):
    """A visible character, its box, as high as lines of its type, and whether a space stands before it."""

    character: str
    rect: Rect
    begins_word: bool


def _page_lines(pdfium: Any, document: Any, index: int) -> list[Line]:
    """The lines of a page, cut at wide gaps; y grows downwards from the page's top."""
    page = document[index]
    try:
        text = page.get_textpage()
        try:
            letters = _letters(pdfium.raw, text, page.get_height())
        finally:
            text.close()
    finally:
        page.close()
    lines: list[Line] = []
    run: list[_Letter] = []
    for letter in letters:
        if run and not _goes_on(run[-1], letter):
            lines.append(_line_of(run))
            run = []
        run.append(letter)
    return [*lines, _line_of(run)] if run else lines


def _letters(raw: Any, text: Any, height: float) -> list[_Letter]:
    letters = []
    box, after_space = raw.FS_RECTF(), True
    for index in range(min(text.count_chars(), MAX_CHARS_PER_PAGE)):
        character = chr(raw.FPDFText_GetUnicode(text, index) or 0x20)
        if character in LINE_END_HYPHENS:
            character = "-"
        if not character.strip():
            after_space = True
        elif raw.FPDFText_GetLooseCharBox(text, index, box):
            rect = Rect(box.left, height - box.top, box.right, height - box.bottom)
            letters.append(_Letter(character, rect, after_space))
            after_space = False
    return letters


def _goes_on(last: _Letter, letter: _Letter) -> bool:
    """Whether a letter stands on the line of the last one, closely after it."""
    before, rect, size = last.rect, letter.rect, max(last.rect.height, letter.rect.height)
    shared = min(before.y2, rect.y2) - max(before.y1, rect.y1)
    return shared > SAME_LINE * min(before.height, rect.height) and -size < rect.x1 - before.x2 < CELL_GAP * size


def _line_of(run: list[_Letter]) -> Line:
    words: list[Word] = []
    for letter in run:
        if letter.begins_word or not words:
            words.append(Word(_plain(letter.character), letter.rect))
        else:
            words[-1] = Word(words[-1].text + _plain(letter.character), words[-1].rect.union(letter.rect))
    sizes = sorted(letter.rect.height for letter in run)
    text = " ".join(word.text for word in words)
    return Line(hull([word.rect for word in words]), text=text, words=tuple(words), size=sizes[len(sizes) // 2])


def _plain(text: str) -> str:
    """A character; ligatures and other presentation forms as the letters they stand for."""
    is_form = "\ufb00" <= text <= "\ufb06" or "\ufe70" <= text <= "\ufefc"
    return unicodedata.normalize("NFKC", text) if is_form else text


def _write(lines: list[Line], out: DocumentText) -> None:
    tables = [Region("table", rect, 1.0) for rect in aligned_tables(lines)]
    for block in build_blocks(lines, tables):
        if block.label == "title":
            out.heading(block.level, " ".join(line.text for line in block.lines))
        elif block.label == "table" and (table := _table_of(block)) is not None:
            out.table(_rows(table))
        else:
            out.paragraph(_without_hyphens(paragraph(block)))


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
