"""Reads areas of a page with Tesseract (extra `ocr-scripts`: tesserocr) and the language data of the system.

One instance belongs to one thread. Nothing is fetched. Knows nothing of layout. Source: tesserocr 2.13, Tesseract 5
API documentation, read 2026-11-22.
"""

import unicodedata
from collections import OrderedDict
from itertools import groupby
from pathlib import Path
from typing import Any

from gateway.geometry.boxes import Line, Rect, Word
from gateway.ocr.extras import pillow, vision
from gateway.ocr.scripts import packs

MAX_LOADED = 4
"""Languages kept in memory (10 to 60 MB each). Chosen: at half, a page of two scripts beside English loads data over
and over; at double, the worker holds twice the memory."""
ENGLISH = "eng"
"""Read together with other scripts, whose texts hold Latin words. Measured on two pages in each of nine scripts: word
F1 .94 to .99 instead of .92 to .985, for a quarter more time."""


SMALL_PX, ENLARGED = 16.0, 2
"""Letters below this height (Line.size) are enlarged so many times. Measured on pages of 12 to 18 px, word F1: Hebrew
.90 and .84 as drawn, .95 and .89 at two times; Korean .78, .86, .88 and .86, .93, .90. At half the height only
footnotes are enlarged; at double, photographs are, which take longer and gain nothing. At three times Korean is worse
by .02 to .05."""
PIECE = 0.2
"""Share of an area's height at its upper and lower side in whose range the middles of its neighbours' pieces are:
mixed.MARGIN makes .35 of 1.7 line heights. At half the pieces are read; at double, slanted lines are lost."""
MAX_ENLARGED = 8_000_000
"""Pixels of an area that is enlarged: four times that takes 32 MB. Chosen: a page of small print at 300 dots an inch.
At half, large screens are read as drawn; at double, the worker takes a tenth more memory."""
DIRECTION_MARKS = {0x200E: None, 0x200F: None, 0x202A: None, 0x202B: None, 0x202C: None}
"""Unicode's marks of direction, which Tesseract adds around words."""
NEAR = 4
"""Lines of the text among which a line of the table is looked for: each has one, unless it is blank. At half, one odd
line stops the search; at double, a wrong line is taken sooner."""
WORD, COLUMNS = "5", 12
"""Rows of words in Tesseract's TSV, and the columns of a row: level, page, block, paragraph, line and word number,
left, top, width, height, confidence, text."""


class Tesseract:
    """Reads areas. `folder`: of the language data."""

    def __init__(self, module: Any, folder: Path) -> None:
        self._module = module
        self._folder = folder
        self._languages = packs.installed(folder)
        self._loaded: OrderedDict[str, Any] = OrderedDict()

    @property
    def installed(self) -> list[packs.Pack]:
        """The installed data of each script that the first reader does not know."""
        return [
            packs.Pack(script, language)
            for script in packs.SCRIPTS
            for language in script.languages
            if language in self._languages
        ]

    def close(self) -> None:
        """Frees the language data; it is loaded again at need."""
        while self._loaded:
            self._loaded.popitem()[1].End()

    def read_line(self, gray: Any, rect: Rect, pack: packs.Pack, size: float, *, is_mixed: bool = True) -> Line:
        """An area of a line, which may hold pieces of its neighbours, with its text and fit (mean confidence of its
        words). `size`: of its letters; `is_mixed`: it may have Latin words."""
        lines = self._read(gray, rect, self._api(pack, is_mixed), self._module.PSM.SINGLE_BLOCK, size)
        top, bottom = rect.y1 + PIECE * rect.height, rect.y2 - PIECE * rect.height
        lines = [line for line in lines if top <= line.rect.center_y <= bottom or rect.height > rect.width]
        text = " ".join(line.text for line in lines)
        fit = sum(line.fit * len(line.text) for line in lines) / max(1, sum(len(line.text) for line in lines))
        return _line(text, rect, fit)

    def read_area(self, gray: Any, rect: Rect, pack: packs.Pack, size: float) -> list[Line]:
        """The lines in an area, read: their boxes, text, fit and words. `gray`: the page, 8 bits, dark on light;
        `size`: of its letters."""
        return self._read(gray, rect, self._api(pack, is_mixed=True), self._module.PSM.AUTO, size)

    def _api(self, pack: packs.Pack, is_mixed: bool) -> Any:
        code = pack.language
        if is_mixed and ENGLISH in self._languages and pack.script.unicode_name != "LATIN":
            code = f"{code}+{ENGLISH}"
        if code in self._loaded:
            self._loaded.move_to_end(code)
            return self._loaded[code]
        while len(self._loaded) >= MAX_LOADED:
            self._loaded.popitem(last=False)[1].End()
        api = self._loaded[code] = self._module.PyTessBaseAPI(path=f"{self._folder}/", lang=code)
        return api

    def _read(self, gray: Any, rect: Rect, api: Any, mode: int, size: float) -> list[Line]:
        height, width = gray.shape[:2]
        left, top = max(0, int(rect.x1)), max(0, int(rect.y1))
        right, bottom = min(width, round(rect.x2) + 1), min(height, round(rect.y2) + 1)
        if right - left < 2 or bottom - top < 2:
            return []
        scale, part = 1, gray[top:bottom, left:right]
        if 0 < size < SMALL_PX and part.size <= MAX_ENLARGED:
            cv2, scale = vision()[0], ENLARGED
            part = cv2.resize(part, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)
        api.SetPageSegMode(mode)
        api.SetImage(pillow().image.fromarray(part))
        api.Recognize()
        try:
            return read_lines(api.GetTSVText(0), api.GetUTF8Text(), left, top, scale)
        finally:
            api.Clear()


def read_lines(table: str, text: str, left: int, top: int, scale: int = 1) -> list[Line]:
    """The lines of a reading; places of the crop, which was enlarged `scale` times, become places of the page.

    `table` (TSV) has the words' boxes and confidences, but splits Korean and Thai words; `text` has the lines with
    their true spaces, in the same order. A line that is not found again in the text keeps the table's words.
    """
    rows = [row.split("\t") for row in table.splitlines()]
    texts = [" ".join(line.translate(DIRECTION_MARKS).split()) for line in text.splitlines()]
    waiting = [line for line in texts if line]
    lines: list[Line] = []
    for _, group in groupby((row for row in rows if len(row) == COLUMNS and row[0] == WORD), key=lambda row: row[2:5]):
        words = [row for row in group if row[-1].translate(DIRECTION_MARKS).strip()]
        if not words:
            continue
        plain = " ".join(row[-1].translate(DIRECTION_MARKS).strip() for row in words)
        place = next((n for n, line in enumerate(waiting[:NEAR]) if _letters(line) == _letters(plain)), None)
        spaced = plain if place is None else waiting[place]
        del waiting[: 0 if place is None else place + 1]
        x1, y1 = (min(int(row[column]) for row in words) / scale for column in (6, 7))
        x2, y2 = (max(int(row[column]) + int(row[column + 2]) for row in words) / scale for column in (6, 7))
        fit = sum(float(row[10]) for row in words) / len(words) / 100
        lines.append(_line(spaced, Rect(x1 + left, y1 + top, x2 + left, y2 + top), fit))
    return lines


def _letters(text: str) -> list[str]:
    return sorted("".join(text.split()))


def _line(text: str, rect: Rect, fit: float) -> Line:
    corners = ((rect.x1, rect.y1), (rect.x2, rect.y1), (rect.x2, rect.y2), (rect.x1, rect.y2))
    return Line(rect=rect, quad=corners, text=text, score=fit, words=words_of(text, rect), fit=fit, is_read=True)


def words_of(text: str, rect: Rect) -> tuple[Word, ...]:
    """The words with the share of the line that their characters have (Tesseract's own words are not those of the line
    in Korean and Thai); `ink.part_words` finds their true sides."""
    runs_left = sum(unicodedata.bidirectional(c) in ("R", "AL") for c in text) > len(text) / 2
    words, at = [], 0
    for word in text.split():
        first, last = at / len(text), (at + len(word)) / len(text)
        if runs_left:
            first, last = 1 - last, 1 - first
        words.append(Word(word, Rect(rect.x1 + first * rect.width, rect.y1, rect.x1 + last * rect.width, rect.y2)))
        at += len(word) + 1
    return tuple(words)


def load_tesseract() -> Tesseract | None:
    """A reader; None without the extra `ocr-scripts` or any language data beside English."""
    try:
        import tesserocr  # noqa: PLC0415 - optional extra
    except ImportError:
        return None
    folder = packs.data_folder()
    if folder is None:
        return None
    reader = Tesseract(tesserocr, folder)
    return reader if reader.installed else None
