"""The text layer of a PDF as Markdown: headings, columns in reading order, tables, ligatures as letters, page marks.

pypdfium2 gives each character's place; its lines go through the same layout as those of pictures (`ocr.layout`). Pages
without text are named, so that OCR can read them. Sources: pypdfium2 5 and PDFium's fpdf_text.h, read 2026-11-22.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

from gateway.engines.fetch.errors import FetchFailed
from gateway.engines.office.text import DocumentText
from gateway.ocr.layout.aligned_tables import aligned_tables
from gateway.ocr.layout.blocks import body_of, build_blocks, is_bold
from gateway.ocr.layout.render import paragraph
from gateway.ocr.layout.tables import column_table
from gateway.ocr.types import Line, PageBlock, Rect, Region, Table, Word, hull, no_such_pages

MAX_PAGES = 300
"""Chosen: at half, theses and manuals are cut; at double, a document may run into a job's time limit, which loses all
its pages."""
CELL_GAP = 0.8
"""A gap on a line, in its height, from which it lies between cells or columns. Chosen: justified text has spaces
of half a height. At half, justified lines fall apart; at double, narrow columns run together."""
SAME_LINE = 0.4
"""The share of its height that a letter has in common with the one before on a line: raised and lowered ones have half.
At half, close lines run together; at double (.8), notes begin lines of their own."""
MIN_SPACES, EQUAL_SPACES, MAX_SPACE = 2, 1.1, 1.6
"""A line whose so many spaces differ by no greater factor is justified; its spaces may be so many heights wide. At half
or double, such lines fall apart, or the columns of short cells run together."""
MAX_HEAD_LINES = 3
"""Lines of one heading, as in blocks.MAX_TITLE_LINES."""
MAX_HEADED_LINES = 1_000
"""Lines of a page whose headings in bold are sought, each among all others. Chosen: a newspaper's page has 500. At
half, some of these have no headings; at double, a page made for it takes four times as long (1.4 s)."""
BLACK = 1000
"""The greatest weight of a type (CSS and PDF), for a line's blackness of 0 to 1."""
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
            raise FetchFailed(no_such_pages(total), "unparsable")
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
    """A visible character of a page. `rect`: its box, as high as a line of its type. `begins_word`: a space comes
    before it. `weight`: of its type (400 is regular, 700 bold), 0 where the document does not say."""

    character: str
    rect: Rect
    begins_word: bool
    weight: int


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
    return _with_wide_spaces([*lines, _line_of(run)] if run else lines)


def _with_wide_spaces(lines: list[Line]) -> list[Line]:
    """The lines, those parts joined that a justified line's wide spaces parted: the spaces of a line are equal."""
    rows: list[list[Line]] = []
    for line in lines:
        if rows and _is_beside(rows[-1][-1], line):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [line for row in rows for line in ([_whole(row)] if _is_justified(row) else row)]


def _is_beside(last: Line, line: Line) -> bool:
    """Whether a line goes on where another ends, after no more than a wide space."""
    height = max(line.rect.height, last.rect.height)
    shared = min(line.rect.y2, last.rect.y2) - max(line.rect.y1, last.rect.y1)
    return shared > (1 - SAME_LINE) * height and 0 < line.rect.x1 - last.rect.x2 < MAX_SPACE * height


def _is_justified(row: list[Line]) -> bool:
    words = [word for line in row for word in line.words]
    spaces = [right.rect.x1 - left.rect.x2 for left, right in pairwise(words)]
    return len(row) > 1 and len(spaces) >= MIN_SPACES and max(spaces) <= EQUAL_SPACES * min(spaces)


def _whole(row: list[Line]) -> Line:
    words = tuple(word for line in row for word in line.words)
    rect = hull([line.rect for line in row])
    return replace(row[0], rect=rect, text=" ".join(line.text for line in row), words=words)


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
            weight = raw.FPDFText_GetFontWeight(text, index) if after_space else 0
            letters.append(_Letter(character, rect, after_space, max(0, weight)))
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
    weights = [letter.weight for letter in run if letter.weight]
    size, weight = sizes[len(sizes) // 2], min(weights, default=0) / BLACK
    return Line(hull([word.rect for word in words]), text=text, words=tuple(words), size=size, weight=weight)


def _plain(text: str) -> str:
    """A character; ligatures and other presentation forms as the letters they stand for."""
    is_form = "\ufb00" <= text <= "\ufb06" or "\ufe70" <= text <= "\ufefc"
    return unicodedata.normalize("NFKC", text) if is_form else text


def _write(lines: list[Line], out: DocumentText) -> None:
    tables = [Region("table", rect, 1.0) for rect in aligned_tables(lines)]
    heads = [Region("title", rect, 1.0) for rect in _bold_heads(lines)]
    for block in build_blocks(lines, tables + heads):
        if block.label == "title":
            out.heading(block.level, " ".join(line.text for line in block.lines))
        elif block.label == "table" and (table := _table_of(block)) is not None:
            out.table(_rows(table))
        else:
            out.paragraph(_without_hyphens(paragraph(block)))


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
