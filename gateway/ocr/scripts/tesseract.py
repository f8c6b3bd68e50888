"""Reads areas of a page with Tesseract (extra `ocr-scripts`: tesserocr) and the language data of the system.

One instance belongs to one thread. Nothing is fetched. Knows nothing of layout. Source: tesserocr 2.13, Tesseract 5
API documentation, read 2026-11-22.
"""

import unicodedata
from collections import OrderedDict
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from gateway.geometry.boxes import Line, Rect, Word
from gateway.ocr.extras import pillow, vision

# Where distributions keep the data: Debian below a folder of its version, Fedora and Arch directly.
DATA_FOLDERS = ("/usr/share/tesseract-ocr", "/usr/share/tessdata", "/usr/share/tesseract", "/usr/local/share/tessdata")
# Latin letters of which the first reader knows few: it leaves the others out.
KOREAN = "Korean"
VIETNAMESE = "Vietnamese"


@dataclass(frozen=True, slots=True)
class Script:
    """`name` for callers, `unicode_name` the first word of its letters' Unicode names, `languages` the codes of the
    data that reads it, the one to recommend first."""

    name: str
    unicode_name: str
    languages: tuple[str, ...]

    @property
    def package(self) -> str:
        """The Debian package with the data to recommend."""
        return f"tesseract-ocr-{self.languages[0].replace('_', '-')}"


class Pack(NamedTuple):
    """Installed language data: its script and the code of its language."""

    script: Script
    language: str


# The scripts that the first reader does not know, those with the most readers first.
SCRIPTS = (
    Script("Cyrillic", "CYRILLIC", ("rus", "ukr", "bul", "bel", "srp", "mkd", "kaz", "kir", "mon", "tat", "tgk")),
    Script("Greek", "GREEK", ("ell", "grc")),
    Script(KOREAN, "HANGUL", ("kor",)),
    Script("Arabic", "ARABIC", ("ara", "fas", "urd", "pus", "uig", "snd")),
    Script("Hebrew", "HEBREW", ("heb", "yid")),
    Script("Thai", "THAI", ("tha",)),
    Script("Devanagari", "DEVANAGARI", ("hin", "mar", "nep", "san")),
    Script(VIETNAMESE, "LATIN", ("vie",)),
    Script("Armenian", "ARMENIAN", ("hye",)),
    Script("Georgian", "GEORGIAN", ("kat",)),
    Script("Bengali", "BENGALI", ("ben", "asm")),
    Script("Tamil", "TAMIL", ("tam",)),
    Script("Telugu", "TELUGU", ("tel",)),
    Script("Kannada", "KANNADA", ("kan",)),
    Script("Malayalam", "MALAYALAM", ("mal",)),
    Script("Gujarati", "GUJARATI", ("guj",)),
    Script("Gurmukhi", "GURMUKHI", ("pan",)),
    Script("Sinhala", "SINHALA", ("sin",)),
    Script("Khmer", "KHMER", ("khm",)),
    Script("Lao", "LAO", ("lao",)),
    Script("Burmese", "MYANMAR", ("mya",)),
    Script("Ethiopic", "ETHIOPIC", ("amh", "tir")),
    Script("Tibetan", "TIBETAN", ("bod", "dzo")),
)
BY_NAME = {script.name: script for script in SCRIPTS}


def data_folder(folders: tuple[str, ...] = DATA_FOLDERS) -> Path | None:
    """The folder with the most language data; None where there is none."""
    found = {path.parent for folder in folders for path in Path(folder).glob("**/*.traineddata") if path.is_file()}
    return max(found, key=lambda folder: (len(installed(folder)), str(folder)), default=None)


def installed(folder: Path) -> list[str]:
    """The codes of the language data in a folder."""
    return sorted(path.stem for path in folder.glob("*.traineddata"))


def share_in(text: str, script: Script) -> float:
    """The share of a text's letters that are of a script, 0..1; marks count as letters."""
    names = [unicodedata.name(c, "").split(" ", 1)[0] for c in text if unicodedata.category(c)[0] in "LM"]
    return sum(name == script.unicode_name for name in names) / len(names) if names else 0.0


# Languages kept in memory (10 to 60 MB each).
MAX_LOADED = 4
# Read together with other scripts, whose texts hold Latin words. Measured on two pages in each of nine scripts: word
# F1 .94 to .99 instead of .92 to .985, for a quarter more time.
ENGLISH = "eng"

# Letters below this height (Line.size) are enlarged so many times. Measured on pages of 12 to 18 px, word F1: Hebrew
# .90 and .84 as drawn, .95 and .89 at two times; Korean .78, .86, .88 and .86, .93, .90. At three times Korean is
# worse by .02 to .05.
SMALL_PX, ENLARGED = 16.0, 2
# Share of an area's height at its upper and lower side in whose range the middles of its neighbours' pieces are:
# mixed.MARGIN makes .35 of 1.7 line heights.
PIECE = 0.2
# Pixels of an area that is enlarged: four times that takes 32 MB. a page of small print at 300 dots an inch.
MAX_ENLARGED = 8_000_000
# Unicode's marks of direction, which Tesseract adds around words.
DIRECTION_MARKS = {0x200E: None, 0x200F: None, 0x202A: None, 0x202B: None, 0x202C: None}
# Lines of the text among which a line of the table is looked for: each has one, unless it is blank.
NEAR = 4
# Rows of words in Tesseract's TSV, and the columns of a row: level, page, block, paragraph, line and word number,
# left, top, width, height, confidence, text.
WORD, COLUMNS = "5", 12


class Tesseract:
    """Reads areas. `folder`: of the language data."""

    def __init__(self, module: Any, folder: Path) -> None:
        self._module = module
        self._folder = folder
        self._languages = installed(folder)
        self._loaded: OrderedDict[str, Any] = OrderedDict()

    @property
    def installed(self) -> list[Pack]:
        """The installed data of each script that the first reader does not know."""
        return [
            Pack(script, language) for script in SCRIPTS for language in script.languages if language in self._languages
        ]

    def close(self) -> None:
        """Frees the language data; it is loaded again at need."""
        while self._loaded:
            self._loaded.popitem()[1].End()

    def read_line(self, gray: Any, rect: Rect, pack: Pack, size: float, *, is_mixed: bool = True) -> Line:
        """An area of a line, which may hold pieces of its neighbours, with its text and fit (mean confidence of its
        words). `size`: of its letters; `is_mixed`: it may have Latin words."""
        lines = self._read(gray, rect, self._api(pack, is_mixed), self._module.PSM.SINGLE_BLOCK, size)
        top, bottom = rect.y1 + PIECE * rect.height, rect.y2 - PIECE * rect.height
        lines = [line for line in lines if top <= line.rect.center_y <= bottom or rect.height > rect.width]
        text = " ".join(line.text for line in lines)
        fit = sum(line.fit * len(line.text) for line in lines) / max(1, sum(len(line.text) for line in lines))
        return _line(text, rect, fit)

    def read_area(self, gray: Any, rect: Rect, pack: Pack, size: float) -> list[Line]:
        """The lines in an area, read: their boxes, text, fit and words. `gray`: the page, 8 bits, dark on light;
        `size`: of its letters."""
        return self._read(gray, rect, self._api(pack, is_mixed=True), self._module.PSM.AUTO, size)

    def _api(self, pack: Pack, is_mixed: bool) -> Any:
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
    return Line(rect, rect.corners, text, score=fit, words=words_of(text, rect), fit=fit, is_read=True)


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
    folder = data_folder()
    if folder is None:
        return None
    reader = Tesseract(tesserocr, folder)
    return reader if reader.installed else None
