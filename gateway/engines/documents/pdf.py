"""The text layer of a PDF as Markdown: headings, columns in reading order, tables, links, contents lists, page marks.

The lines of a page (`pdf_page`) go through the same layout as those of pictures (`gateway.geometry`). Pages without
text are named, so that OCR can read them. Sources: pypdfium2 5; PDF 1.7; read 2026-11-22.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.pdf_page import LINK_START, SAME_LINE, PdfPage, link_number, read_page
from gateway.engines.fetch.errors import Unreadable
from gateway.geometry.blocks import body_of, build_blocks, is_bold, paragraph
from gateway.geometry.boxes import Line, PageBlock, Rect, Region, Table, Word, hull, no_such_pages
from gateway.geometry.reading_order import texts_beside
from gateway.geometry.tables import Grid, aligned_tables, build_table, column_table

MAX_PAGES = 300
"""Pages read in one call."""
READ_CPU_S, READ_S = 9.0, 10.0
"""CPU seconds and seconds after which no other page is begun, so that the pages that were read are not lost with the
job (parse_pool: 15 and 20 s). 300 full pages take 6 to 16 s of CPU."""
MAX_HEAD_LINES = 3
"""Lines of one heading, as in blocks.MAX_TITLE_LINES."""
MAX_COMPARED_LINES = 1_000
"""Lines of a page that are compared, each with all others, for headings in bold and texts side by side."""
IN_GRID = 0.5
"""Share of a line inside the rules of a table from which it is part of it."""
_LEADER = re.compile(r" ?(?:[.·…‥] ?+|(?!)){8,}+")
_PAGE_NUMBER = re.compile(r"(?:[0-9]{1,5}|[ivxlcIVXLC]{1,8})(?=\s|$)")
_SECTION_NUMBER = re.compile(r"(?:[0-9A-Z]{1,3}\.){0,7}[0-9A-Z]{1,3}\.?(?=\s)")

Item = tuple[int, str, str]
"""(depth, mark, text), as `DocumentText.items` takes them."""
_LINKED_WORD = re.compile(rf"{LINK_START}([^{LINK_START}]*?)([\U00100001-\U0010fffd])( ?)")


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
    by their number."""

    pages: tuple[int, int] | None = None
    texts: Mapping[int, str] = field(default_factory=dict)


NO_WISH = PdfWish()


def read_pdf(pdfium: Any, body: bytes, out: DocumentText, wish: PdfWish = NO_WISH) -> PdfText:
    """Writes the pages of a PDF. `pdfium`: the module pypdfium2.

    Raises Unreadable for a document that is damaged, protected by a password or has no such pages.
    """
    document = _opened(pdfium, body)
    try:
        with out.part("form"):
            if document.get_formtype() != pdfium.raw.FORMTYPE_NONE:
                document.init_forms()  # before the first page is opened, or boxes are not known to be ticked
        total = len(document)
        first, last = wish.pages or (1, total)
        if not 1 <= first <= last or first > total:
            raise Unreadable(no_such_pages(total))
        wanted = min(last, total)
        last = min(wanted, first + MAX_PAGES - 1)
        scanned, end = [], _Deadline()
        for number in range(first, last + 1):
            if out.is_full or (number > first and end.is_over):
                last = number - 1
                break
            if total > 1:
                out.mark(f"page {number}")
            with out.part(f"page {number}"):
                page = read_page(pdfium.raw, document, number - 1, out)
                if page.lines and page.unmapped:
                    out.miss(f"{page.unmapped} letters of page {number}, whose fonts do not say which they are")
                if page.lines:
                    _write_page(page, out)
                elif number in wish.texts:
                    out.paragraph(wish.texts[number])
                elif _shows_something(document, number - 1):
                    scanned.append(number)
        out.drop_running_lines()
        title = ""
        with out.part("title"):
            title = (document.get_metadata_dict().get("Title") or "").strip()
        return PdfText(title, last, wanted, tuple(scanned))
    except pdfium.PdfiumError as error:
        raise Unreadable("the PDF is damaged and could not be read") from error
    finally:
        document.close()


class _Deadline:
    """`is_over`: the time for reading has been used up."""

    def __init__(self) -> None:
        self._cpu_s = time.process_time() + READ_CPU_S
        self._s = time.monotonic() + READ_S

    @property
    def is_over(self) -> bool:
        return time.process_time() > self._cpu_s or time.monotonic() > self._s


def _opened(pdfium: Any, body: bytes) -> Any:
    try:
        return pdfium.PdfDocument(body)
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) == pdfium.raw.FPDF_ERR_PASSWORD:
            raise Unreadable("the PDF is protected by a password") from error
        raise Unreadable("the PDF is damaged and could not be read") from error


def _shows_something(document: Any, index: int) -> bool:
    """Whether there is anything on a page, which may be a picture or drawing of text."""
    page = document[index]
    try:
        return next(page.get_objects(max_depth=1), None) is not None
    finally:
        page.close()


def _write_page(page: PdfPage, out: DocumentText) -> None:
    """The text in the page's main direction, and then that in others."""
    _Writer(page, out).write(page.lines, page.grids)
    for lines in page.turned:
        _Writer(page, out).write(lines, [])


class _Writer:
    """Writes the lines of one direction of a page."""

    def __init__(self, page: PdfPage, out: DocumentText) -> None:
        self._links = page.links
        self._out = out

    def write(self, lines: list[Line], grids: list[Grid]) -> None:
        """Its headings, tables, contents lists and paragraphs in reading order."""
        out, held = self._out, [(grid, table) for grid in grids if (table := _ruled(grid, lines)) is not None]
        outside = [line for line in lines if not any(_is_in(line, grid) for grid, _ in held)]
        tables = [Region("table", _extent(grid), 1.0) for grid, _ in held]
        for part in _parts_beside(outside):
            tables += [Region("table", rect, 1.0) for rect in aligned_tables(part)]
        heads = [Region("title", rect, 1.0) for rect in _bold_heads(outside)]
        contents: list[Item] = []
        for block in build_blocks(lines, tables + heads):
            listed = entries(self._text(block.lines)) if block.label != "table" else None
            if listed is not None:
                contents += listed
                continue
            out.items(contents)
            contents = []
            with out.part(block.label):
                if block.label == "title":
                    out.heading(block.level, without_leaders(self._text(block.lines)))
                elif block.label == "table" and (table := _table_of(block, held)) is not None:
                    out.table([[self._with_links(cell) for cell in row] for row in _rows(table)])
                else:
                    out.paragraph(self._with_links(without_hyphens(without_leaders(paragraph(block)))))
        out.items(contents)

    def _text(self, lines: list[Line]) -> str:
        return self._with_links(" ".join(line.text for line in lines))

    def _with_links(self, text: str) -> str:
        """The text with its links written, each once, whatever words of it stand side by side."""
        if LINK_START not in text:
            return text
        pieces, at = [], 0
        words = list(_LINKED_WORD.finditer(text))
        while words:
            run = [words.pop(0)]
            while words and words[0].start() == run[-1].end() and words[0][2] == run[0][2]:
                run.append(words.pop(0))
            label = without_hyphens("".join(f"{word[1]}{word[3]}" for word in run))
            link = self._out.link(label.strip(), self._links[link_number(run[0][2])])
            pieces += [text[at : run[0].start()], link, run[-1][3]]
            at = run[-1].end()
        return "".join([*pieces, text[at:]])


def _extent(grid: Grid) -> Rect:
    return Rect(grid.xs[0], grid.ys[0], grid.xs[-1], grid.ys[-1])


def _is_in(line: Line, grid: Grid) -> bool:
    return line.rect.share_in(_extent(grid)) > IN_GRID


def _ruled(grid: Grid, lines: list[Line]) -> Table | None:
    """The table of the lines inside drawn rules; None if they make none."""
    inside = [line for line in lines if _is_in(line, grid)]
    return build_table(grid, inside) if inside else None


def _parts_beside(lines: list[Line]) -> list[list[Line]]:
    """The lines of texts side by side, which no table reaches over."""
    if len(lines) > MAX_COMPARED_LINES:
        return [lines]
    return [[lines[at] for at in text] for text in texts_beside([line.rect for line in lines])]


def _bold_heads(lines: list[Line]) -> list[Rect]:
    """The boxes of headings in bold: lines with nothing beside them, and regular ones below from the same left edge."""
    if len(lines) > MAX_COMPARED_LINES:
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


def _table_of(block: PageBlock, held: list[tuple[Grid, Table]]) -> Table | None:
    drawn = next((table for grid, table in held if block.rect.share_in(_extent(grid)) > IN_GRID), None)
    return drawn or column_table([Word(line.text, line.rect) for line in block.lines], None)


def _rows(table: Table) -> list[list[str]]:
    grid = [[""] * table.column_count for _ in range(table.row_count)]
    for cell in table.cells:
        grid[cell.row][cell.column] = cell.text
    return grid


def without_hyphens(text: str) -> str:
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


def entries(text: str) -> list[Item] | None:
    """The entries of which a text wholly consists, as items of a list; None if it is another text.

    An entry is one line or several, or shares its line with the next one. Its depth is that of its section number.
    """
    if _LEADER.search(text) is None:
        return None
    *titles, rest = _LEADER.split(" ".join(text.split()))
    items: list[Item] = []
    title, *others = titles
    for after in (*others, rest):
        number = _PAGE_NUMBER.match(after)
        if number is None or not title.strip():
            return None
        items.append((_depth(title), "-", f"{title.strip()} … {number[0]}"))
        title = after[number.end() :].strip()
    return None if title else items


def without_leaders(text: str) -> str:
    """The text with an ellipsis in the place of each row of dots."""
    return _LEADER.sub(" … ", text)


def _depth(title: str) -> int:
    number = _SECTION_NUMBER.match(title.lstrip())
    return number[0].rstrip(".").count(".") if number else 0
