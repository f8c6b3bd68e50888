"""The lines of a PDF's page: its letters with their places, put together to words and lines, cut at wide gaps.

Sources: pypdfium2 5 and PDFium's fpdf_text.h, fpdf_flatten.h, read 2026-11-22.
"""

import unicodedata
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from gateway.engines.documents.pdf_looks import PageLooks
from gateway.geometry.boxes import Line, Rect, Word, hull

CELL_GAP = 0.8
"""A gap on a line, in its height, from which it lies between cells or columns. Chosen: justified text has spaces
of half a height. At half, justified lines fall apart; at double, narrow columns run together."""
SAME_LINE = 0.4
"""The share of its height that a letter has in common with the one before on a line: raised and lowered ones have half.
At half, close lines run together; at double (.8), notes begin lines of their own."""
MIN_SPACES, EQUAL_SPACES, MAX_SPACE = 2, 1.1, 1.6
"""A line whose so many spaces differ by no greater factor is justified; its spaces may be so many heights wide. At half
or double, such lines fall apart, or the columns of short cells run together."""
BLACK = 1000
"""The greatest weight of a type (CSS and PDF), for a line's blackness of 0 to 1."""
LINE_END_HYPHENS = "\x02\xad\ufffe"
"""What PDFium gives for the hyphen of a word that goes on in the next line."""
MAX_CHARS_PER_PAGE = 60_000
"""Chosen: ten times a page full of small print. At half, dense tables are cut; at double, one page may take the job's
time."""


class _Letter(NamedTuple):
    """A visible character of a page. `rect`: its box, as high as a line of its type. `begins_word`: a space comes
    before it. `weight`: of its type (400 is regular, 700 bold), 0 where the document does not say. `is_unseen`: people
    cannot see it."""

    character: str
    rect: Rect
    begins_word: bool
    weight: int
    is_unseen: bool


def page_lines(pdfium: Any, document: Any, index: int, leaves_out: Callable[[str], bool]) -> list[Line]:
    """The lines of a page, cut at wide gaps; y grows downwards from the page's top. `leaves_out`: whether a text that
    people cannot see is left out."""
    page = _with_annotations(pdfium.raw, document, index)
    try:
        text = page.get_textpage()
        try:
            letters = _letters(pdfium.raw, text, page)
        finally:
            text.close()
    finally:
        page.close()
    unseen = "".join(letter.character for letter in letters if letter.is_unseen)
    if unseen and leaves_out(unseen):
        letters = [letter for letter in letters if not letter.is_unseen]
    lines: list[Line] = []
    run: list[_Letter] = []
    for letter in letters:
        if run and not _goes_on(run[-1], letter):
            lines.append(_line_of(run))
            run = []
        run.append(letter)
    return _with_wide_spaces([*lines, _line_of(run)] if run else lines)


def _with_annotations(raw: Any, document: Any, index: int) -> Any:
    """A page on which what its annotations show, such as filled-in fields and notes, is part of the page: PDFium's text
    has no annotations."""
    page = document[index]
    if raw.FPDFPage_GetAnnotCount(page) and raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY) == raw.FLATTEN_SUCCESS:
        page.close()
        page = document[index]  # read anew, as fpdf_flatten.h asks
    return page


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


def _letters(raw: Any, text: Any, page: Any) -> list[_Letter]:
    """The letters that stand on the page, not beside it."""
    letters, height = [], page.get_height()
    x1, x2 = sorted(page.get_bbox()[::2])
    y1, y2 = sorted(page.get_bbox()[1::2])
    box, after_space, looks = raw.FS_RECTF(), True, PageLooks(raw, page, text, (x1, y1, x2, y2))
    for index in range(min(text.count_chars(), MAX_CHARS_PER_PAGE)):
        character = chr(raw.FPDFText_GetUnicode(text, index) or 0x20)
        if character in LINE_END_HYPHENS:
            character = "-"
        if not character.strip():
            after_space = True
        elif raw.FPDFText_GetLooseCharBox(text, index, box):
            if box.right < x1 or box.left > x2 or box.top < y1 or box.bottom > y2:
                continue
            rect = Rect(box.left, height - box.top, box.right, height - box.bottom)
            weight = raw.FPDFText_GetFontWeight(text, index) if after_space else 0
            is_unseen = looks.is_unseen(index, character, box)
            letters.append(_Letter(character, rect, after_space, max(0, weight), is_unseen))
            after_space = False
    return letters


def _goes_on(last: _Letter, letter: _Letter) -> bool:
    """Whether a letter follows the last one on the same line, without a wide gap."""
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
