"""The text layer of a PDF as Markdown: headings, columns in reading order, tables, links, contents lists, page marks.

PDFium gives letters, links, values of fields and drawn rules of a page; its lines, turned upright, go through the
same layout as those of pictures (`gateway.geometry`). Letters whose rendering mode is "invisible" are left out, but
for those over a picture, which are the text layer of a scan. Pages without text are named, so that OCR can read them.
Coordinates are points from the top left of the turned page. Sources: pypdfium2 5 and PDFium's fpdf_text.h,
fpdf_edit.h, fpdf_annot.h, fpdf_doc.h, fpdf_flatten.h; PDF 1.7; read 2026-11-22.
"""

import ctypes
import math
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.pdf_form import form_fields, upright, with_fields
from gateway.engines.fetch.errors import Unreadable
from gateway.geometry.blocks import body_of, build_blocks, is_bold, paragraph
from gateway.geometry.boxes import Line, PageBlock, Rect, Region, Table, Word, hull, no_such_pages
from gateway.geometry.tables import Grid, aligned_tables, build_table, column_table

CELL_GAP = 0.8
"""A gap on a line, in its height, from which it lies between cells or columns; justified text has half of it."""
SAME_LINE = 0.4
"""The share of its height that a letter has in common with the one before on a line: raised and lowered ones have half.
"""
GUESSED_SPACE, GUESSED_SHARE = 0.1, 0.5
"""From where PDFium's guess of a space counts: a gap so much of its height wider than those inside words, and so wide
as a share of the line's own spaces."""
_FIRST_LEFTWARD, _ALEFS, _LAM = "\u0590", ("ا", "أ", "إ", "آ"), "ل"
"""Where scripts begin that run from right to left; letters whose ligature is drawn as one."""
PHRASE_GAP = 1.15
"""The widest gap between words of a phrase that runs against the layout, in usual gaps of its line."""
MIN_SPACES, EQUAL_SPACES, MAX_SPACE = 2, 1.1, 1.6
"""A line whose so many spaces differ by no greater factor is justified; its spaces may be so many heights wide."""
BLACK = 1000
"""The greatest weight of a type (CSS and PDF), for a line's blackness of 0 to 1."""
LINE_END_HYPHENS = "\x02\xad\ufffe"
"""What PDFium gives for the hyphen of a word that goes on in the next line."""
MAX_CHARS_PER_PAGE = 60_000
MAX_LINKS = 1_000
MAX_OBJECTS, MAX_SEGMENTS, MAX_FORM_DEPTH = 5_000, 400, 4
"""Drawn objects of a page, segments of one path, and forms inside forms that are looked at."""
MIN_RULE, RULE_WIDTH, SAME_RULE = 8.0, 3.0, 3.0
"""Least length of a rule and its greatest width, in points; rules no further apart are one."""
MAX_RULES, MAX_CELLS = 1_000, 4_000
LINK_START, _FIRST_LINK = "\U00100000", 0x100001
"""Before each word of a link, and the character behind it, which says of which link: private use characters."""
_FIRST_PRIVATE = "\U000f0000"
_SKEW = math.radians(5)
"""Text turned by so much less or more than a quarter is turned by its own angle."""


def link_end(number: int) -> str:
    """The character behind each word of a link."""
    return chr(_FIRST_LINK + number)


def link_number(end: str) -> int:
    """The number of the link that a character ends."""
    return ord(end) - _FIRST_LINK


@dataclass(slots=True)
class PdfPage:
    """`lines`: the text in its main direction, cut at wide gaps; `turned`: the lines of each other direction; `links`:
    addresses by their numbers; `grids`: the rules of tables."""

    lines: list[Line] = field(default_factory=list)
    turned: list[list[Line]] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    grids: list[Grid] = field(default_factory=list)


class _Letter(NamedTuple):
    """A character: its box, as high as a line of its type, its angle, whether a space comes before it, and whether that
    is only PDFium's guess from a gap, the weight of its type (400 is regular, 700 bold; 0 unknown), its link or -1."""

    character: str
    rect: Rect
    angle: float = 0.0
    begins_word: bool = False
    is_guessed: bool = False
    weight: int = 0
    link: int = -1


def read_page(raw: Any, document: Any, index: int, out: DocumentText) -> PdfPage:
    """Page `index`, from 0. `raw`: PDFium's functions; `out` is told text that the page holds and does not draw."""
    page = document[index]
    links: list[tuple[Rect, str]] = []
    fields: list[Word] = []
    try:
        height = page.get_height()
        with out.part("links"):
            links = _links(raw, document, page, height)
        with out.part("form"):
            fields = form_fields(raw, document, page, height)
        page = _flattened(raw, document, page, index)
        drawn = _Drawn(raw, height)
        with out.part("drawings"):
            drawn.collect(page)
        text = page.get_textpage()
        try:
            letters = _letters(raw, text, page, drawn, out)
        finally:
            text.close()
        size = Rect(0, 0, page.get_width(), height)
    finally:
        page.close()
    covered = [each.rect for each in fields]
    letters = [each for each in letters if not any(_holds(rect, each.rect) for rect in covered)]
    letters = [each._replace(link=_link_at(each.rect, links)) for each in letters] if links else letters
    return _arranged(letters, fields, size, [url for _, url in links], drawn.rules)


def _arranged(letters: list[_Letter], fields: list[Word], size: Rect, links: list[str], rules: list[Rect]) -> PdfPage:
    """The page with each direction of its text turned upright."""
    directions: dict[float, list[_Letter]] = {}
    for letter in letters:
        directions.setdefault(_direction(letter.angle), []).append(letter)
    if not directions:
        return PdfPage(with_fields([], fields, []), links=links)
    main = max(directions, key=lambda angle: len(directions[angle]))
    found = PdfPage(links=links)
    for angle, members in directions.items():
        leftward = sum(_is_leftward(each.character) for each in members)
        is_mirrored = leftward > 0 and 2 * leftward > sum(each.character.isalpha() for each in members)
        place = _place_in(angle, size, is_mirrored=is_mirrored)
        lines = _lines([each._replace(rect=place(each.rect)) for each in members], is_mirrored=is_mirrored)
        if angle == main:
            found.grids = _grids([place(rule) for rule in rules]) if main % (math.pi / 2) < _SKEW else []
            values = [Word(each.text, place(each.rect)) for each in fields]
            found.lines = with_fields(lines, values, found.grids)
        else:
            found.turned.append(lines)
    return found


def _place_in(angle: float, size: Rect, *, is_mirrored: bool) -> Callable[[Rect], Rect]:
    """Where a box of the page is in the layout of letters of one angle: turned upright and, where most letters are of a
    script that runs from right to left, as in a mirror, so that left comes first there too."""

    def place(rect: Rect) -> Rect:
        x1, y1, x2, y2 = _turned(rect, angle, size)
        return Rect(-x2, y1, -x1, y2) if is_mirrored else Rect(x1, y1, x2, y2)

    return place


def _is_leftward(character: str) -> bool:
    """Whether a character is of a script that runs from right to left."""
    return character >= _FIRST_LEFTWARD and unicodedata.bidirectional(character[0]) in ("R", "AL")


def _direction(angle: float) -> float:
    """An angle in steps: whole quarters where it is near one, else twelfths of a half turn."""
    quarter = round(angle / (math.pi / 2)) * (math.pi / 2)
    step = quarter if abs(angle - quarter) <= _SKEW else round(angle / (math.pi / 12)) * (math.pi / 12)
    return step % (2 * math.pi)


def _turned(rect: Rect, angle: float, size: Rect) -> Rect:
    """A box of the page once text of this angle (counter-clockwise) has been turned upright."""
    quarter = round(angle / (math.pi / 2))
    if abs(angle - quarter * (math.pi / 2)) > 1e-6:
        return _tilted(rect, angle)
    if quarter % 4 == 1:
        return Rect(size.y2 - rect.y2, rect.x1, size.y2 - rect.y1, rect.x2)
    if quarter % 4 == 2:
        return Rect(size.x2 - rect.x2, size.y2 - rect.y2, size.x2 - rect.x1, size.y2 - rect.y1)
    if quarter % 4 == 3:
        return Rect(rect.y1, size.x2 - rect.x2, rect.y2, size.x2 - rect.x1)
    return rect


def _tilted(rect: Rect, angle: float) -> Rect:
    """The box of an upright letter in the place of one whose slanting box is this large."""
    cosine, sine = math.cos(angle), math.sin(angle)
    height = rect.width / (abs(cosine) / 2 + abs(sine))
    x = rect.center_x * cosine - rect.center_y * sine
    y = rect.center_x * sine + rect.center_y * cosine
    return Rect(x - height / 4, y - height / 2, x + height / 4, y + height / 2)


def _holds(rect: Rect, other: Rect) -> bool:
    return rect.x1 <= other.center_x <= rect.x2 and rect.y1 <= other.center_y <= rect.y2


def _link_at(rect: Rect, links: list[tuple[Rect, str]]) -> int:
    return next((number for number, (place, _) in enumerate(links) if _holds(place, rect)), -1)


def _letters(raw: Any, text: Any, page: Any, drawn: "_Drawn", out: DocumentText) -> list[_Letter]:
    """The letters that stand on the page, not beside it, and are drawn."""
    letters, unseen, height = list[_Letter](), [], page.get_height()
    x1, x2 = sorted(page.get_bbox()[::2])
    y1, y2 = sorted(page.get_bbox()[1::2])
    box, after_space, is_guessed, half = raw.FS_RECTF(), True, True, ""
    for index in range(min(text.count_chars(), MAX_CHARS_PER_PAGE)):
        character = chr(raw.FPDFText_GetUnicode(text, index) or 0x20)
        if character in LINE_END_HYPHENS:
            character = "-"
        elif "\udc00" <= character <= "\udfff":
            character, half = _whole_character(half + character), ""
        if not character.strip():
            after_space, is_guessed = True, is_guessed and raw.FPDFText_IsGenerated(text, index) == 1
        elif "\ud800" <= character <= "\udbff":
            half = character  # PDFium gives UTF-16
        elif raw.FPDFText_GetLooseCharBox(text, index, box):
            if box.right < x1 or box.left > x2 or box.top < y1 or box.bottom > y2:
                continue
            rect = Rect(box.left, height - box.top, box.right, height - box.bottom)
            if drawn.hides(text, index, rect):
                unseen.append(character)
                continue
            weight = raw.FPDFText_GetFontWeight(text, index) if after_space else 0
            angle = (2 * math.pi - raw.FPDFText_GetCharAngle(text, index)) % (2 * math.pi)
            letter = _Letter(_plain(character), rect, angle, after_space, is_guessed, max(0, weight))
            if letter.character == _LAM and letters and letters[-1].rect == rect and letters[-1].character in _ALEFS:
                letters[-1:] = [letters[-1]._replace(character=_LAM), letter._replace(character=letters[-1].character)]
            else:
                letters.append(letter)
            after_space, is_guessed = False, True
    out.leave_out("".join(unseen))
    return letters


def _whole_character(pair: str) -> str:
    """The character of a pair of surrogates; U+FFFD for half a pair, and for private ones, which mark links here."""
    character = pair.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return character if len(character) == 1 and character < _FIRST_PRIVATE else "\ufffd"


def _plain(text: str) -> str:
    """A character; ligatures and other presentation forms as the letters they stand for."""
    is_form = "\ufb00" <= text <= "\ufb06" or "\ufb1d" <= text <= "\ufefc"
    return unicodedata.normalize("NFKC", text) if is_form else text


def _lines(letters: list[_Letter], *, is_mirrored: bool) -> list[Line]:
    rows: list[list[_Letter]] = []
    for letter in letters:
        if rows and _is_on_line(rows[-1][-1].rect, letter.rect):
            rows[-1].append(letter)
        else:
            rows.append([letter])
    return _with_wide_spaces([_line_of(piece, is_mirrored=is_mirrored) for row in rows for piece in _pieces(row)])


def _is_on_line(before: Rect, rect: Rect) -> bool:
    return min(before.y2, rect.y2) - max(before.y1, rect.y1) > SAME_LINE * min(before.height, rect.height)


def _pieces(row: list[_Letter]) -> Iterable[list[_Letter]]:
    """The letters of a row, cut at wide gaps and where it goes back. Letters of scripts that run from right to left
    are in the order of reading, which is not that of their places: in their rows the gaps alone count."""
    order = list(range(len(row)))
    if is_leftward := any(_is_leftward(letter.character) for letter in row):
        order.sort(key=lambda at: row[at].rect.x1)
    numbers = dict.fromkeys(order[:1], 0)
    for last, at in pairwise(order):
        before, rect = row[last].rect, row[at].rect
        gap, size = rect.x1 - before.x2, max(before.height, rect.height)
        numbers[at] = numbers[last] + (gap >= CELL_GAP * size or (gap <= -size and not is_leftward))
    pieces: dict[int, list[_Letter]] = {}
    for at, letter in enumerate(row):
        pieces.setdefault(numbers[at], []).append(letter)
    return pieces.values()


def _with_certain_spaces(run: list[_Letter]) -> list[_Letter]:
    """The letters; a space that PDFium guessed from a gap goes where the gap is no wider than others of the run inside
    words, or much narrower than its spaces: in the text layers of scans, letters stand apart as in the picture."""
    if not any(letter.begins_word and letter.is_guessed for letter in run[1:]):
        return run
    gaps = [(_gap(last.rect, letter.rect), letter) for last, letter in pairwise(run)]
    inside = median([gap for gap, letter in gaps if not letter.begins_word] or [0.0])
    spaces = median([gap for gap, letter in gaps if letter.begins_word and not letter.is_guessed] or [0.0])
    least = max(inside + GUESSED_SPACE * run[0].rect.height, GUESSED_SHARE * spaces)
    return run[:1] + [
        letter._replace(begins_word=False) if letter.is_guessed and gap < least else letter for gap, letter in gaps
    ]


def _gap(rect: Rect, other: Rect) -> float:
    """The distance of two boxes beside one another."""
    return max(other.x1 - rect.x2, rect.x1 - other.x2)


def _line_of(run: list[_Letter], *, is_mirrored: bool) -> Line:
    words: list[tuple[str, Rect, int]] = []
    for letter in _with_certain_spaces(run):
        if letter.begins_word or not words or words[-1][2] != letter.link:
            is_inside = not letter.begins_word and bool(words)
            words.append(("\0" * is_inside + letter.character, letter.rect, letter.link))
        else:
            text, rect, link = words[-1]
            words[-1] = (text + letter.character, rect.union(letter.rect), link)
    if any(_is_leftward(letter.character) for letter in run):
        words = _in_reading_order(words, is_mirrored)
    marked = tuple(Word(_linked(text.lstrip("\0"), link), rect) for text, rect, link in words)
    text = "".join(
        ("" if at == 0 or plain.startswith("\0") else " ") + word.text
        for at, (word, (plain, _, _)) in enumerate(zip(marked, words, strict=True))
    )
    sizes = sorted(letter.rect.height for letter in run)
    weights = [letter.weight for letter in run if letter.weight]
    size, weight = sizes[len(sizes) // 2], min(weights, default=0) / BLACK
    return Line(hull([word.rect for word in marked]), text=text, words=marked, size=size, weight=weight)


def _in_reading_order(words: list[tuple[str, Rect, int]], is_mirrored: bool) -> list[tuple[str, Rect, int]]:
    """The words of a line in two directions, as they stand in the layout. Those that run against it are one word, in
    their own order, such as `PDF reader` in a line of Hebrew. Numbers belong to them where they stand between them."""

    def is_against(text: str) -> bool | None:
        """None for a number or a sign."""
        letter = next((each for each in text if each.isalpha()), None)
        return None if letter is None else _is_leftward(letter) != is_mirrored

    words = sorted(words, key=lambda word: word[1].x1)
    widest = PHRASE_GAP * median([right[1].x1 - left[1].x2 for left, right in pairwise(words)] or [0.0])
    ordered: list[tuple[str, Rect, int]] = []
    between: list[tuple[str, Rect, int]] = []
    for word in words:
        last = (between or ordered or [word])[-1]
        goes_on = bool(ordered) and is_against(ordered[-1][0]) and ordered[-1][2] == word[2]
        goes_on = goes_on and word[1].x1 - last[1].x2 <= widest
        if goes_on and is_against(word[0]) is None:
            between.append(word)
        elif goes_on and is_against(word[0]):
            run = [word, *reversed(between), ordered.pop()]
            ordered.append((" ".join(text for text, _, _ in run), hull([rect for _, rect, _ in run]), word[2]))
            between = []
        else:
            ordered += [*between, word]
            between = []
    return ordered + between


def _linked(text: str, link: int) -> str:
    return text if link < 0 else f"{LINK_START}{text}{link_end(link)}"


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


def _flattened(raw: Any, document: Any, page: Any, index: int) -> Any:
    """A page on which what its annotations show, such as notes, is part of the page: PDFium's text has no
    annotations."""
    if raw.FPDFPage_GetAnnotCount(page) and raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY) == raw.FLATTEN_SUCCESS:
        page.close()
        page = document[index]  # read anew, as fpdf_flatten.h asks
    return page


def _links(raw: Any, document: Any, page: Any, height: float) -> list[tuple[Rect, str]]:
    """The places of link annotations to addresses, in the order of the page's annotations."""
    found: list[tuple[Rect, str]] = []
    position, link = ctypes.c_int(0), raw.FPDF_LINK()
    while len(found) < MAX_LINKS and raw.FPDFLink_Enumerate(page, position, link):
        action = raw.FPDFLink_GetAction(link)
        size = raw.FPDFAction_GetURIPath(document, action, None, 0) if action else 0
        box = raw.FS_RECTF()
        if size <= 1 or not raw.FPDFLink_GetAnnotRect(link, box):
            continue
        buffer = ctypes.create_string_buffer(size)
        raw.FPDFAction_GetURIPath(document, action, buffer, size)
        found.append((upright(box, height), buffer.value.decode("utf-8", "replace")))
    return found


class _Drawn:
    """What is drawn on a page beside text: `rules` are thin boxes."""

    def __init__(self, raw: Any, height: float) -> None:
        self._raw = raw
        self._height = height
        self._invisible: dict[int, bool] = {}
        self._pictures: list[Rect] = []
        self.rules: list[Rect] = []
        self._left = MAX_OBJECTS

    def collect(self, page: Any) -> None:
        """Takes the objects of a page."""
        objects = (self._raw.FPDFPage_GetObject(page, at) for at in range(self._raw.FPDFPage_CountObjects(page)))
        self._collect(objects, (1, 0, 0, 1, 0, 0), 0)

    def hides(self, text: Any, index: int, rect: Rect) -> bool:
        """Whether a letter is not drawn, and there is no picture where it stands."""
        owner = self._raw.FPDFText_GetTextObject(text, index)
        if not owner:
            return False
        address = ctypes.addressof(owner.contents)
        if address not in self._invisible:
            mode = self._raw.FPDFTextObj_GetTextRenderMode(owner)
            self._invisible[address] = mode == self._raw.FPDF_TEXTRENDERMODE_INVISIBLE
        return self._invisible[address] and not any(_holds(picture, rect) for picture in self._pictures)

    def _collect(self, objects: Iterable[Any], matrix: tuple[float, ...], depth: int) -> None:
        raw = self._raw
        for drawn in objects:
            self._left -= 1
            if self._left < 0:
                return
            kind = raw.FPDFPageObj_GetType(drawn)
            if kind == raw.FPDF_PAGEOBJ_IMAGE:
                self._pictures.append(self._rect([*_corners(1, 1)], _joined(_matrix_of(raw, drawn), matrix)))
            elif kind == raw.FPDF_PAGEOBJ_PATH and len(self.rules) < MAX_RULES:
                self.rules += self._rules_of(drawn, _joined(_matrix_of(raw, drawn), matrix))
            elif kind == raw.FPDF_PAGEOBJ_FORM and depth < MAX_FORM_DEPTH:
                inside = (raw.FPDFFormObj_GetObject(drawn, at) for at in range(raw.FPDFFormObj_CountObjects(drawn)))
                self._collect(inside, _joined(_matrix_of(raw, drawn), matrix), depth + 1)

    def _rules_of(self, path: Any, matrix: tuple[float, ...]) -> Iterator[Rect]:
        """The upright and level sides of a path that is stroked; all of a thin one that is filled."""
        raw = self._raw
        fill, is_stroked = ctypes.c_int(), ctypes.c_int()
        if not raw.FPDFPath_GetDrawMode(path, fill, is_stroked) or not (fill.value or is_stroked.value):
            return
        points = [each for run in self._runs(path, matrix) for each in run]
        if not points:
            return
        whole = self._rect(points, (1, 0, 0, 1, 0, 0))
        if min(whole.width, whole.height) <= RULE_WIDTH:
            if max(whole.width, whole.height) >= MIN_RULE:
                yield whole
        elif is_stroked.value:
            for run in self._runs(path, matrix):
                for (x1, y1), (x2, y2) in pairwise(run):
                    side = self._rect([(x1, y1), (x2, y2)], (1, 0, 0, 1, 0, 0))
                    if min(side.width, side.height) <= 1 and max(side.width, side.height) >= MIN_RULE:
                        yield side

    def _runs(self, path: Any, matrix: tuple[float, ...]) -> list[list[tuple[float, float]]]:
        """The points of each closed or open part of a path; none of one that has curves or very many."""
        raw = self._raw
        runs: list[list[tuple[float, float]]] = []
        count = raw.FPDFPath_CountSegments(path)
        x, y = ctypes.c_float(), ctypes.c_float()
        for number in range(count if count <= MAX_SEGMENTS else 0):
            segment = raw.FPDFPath_GetPathSegment(path, number)
            kind = raw.FPDFPathSegment_GetType(segment)
            if kind == raw.FPDF_SEGMENT_BEZIERTO or not raw.FPDFPathSegment_GetPoint(segment, x, y):
                return []
            point = _moved((x.value, y.value), matrix)
            if kind == raw.FPDF_SEGMENT_MOVETO or not runs:
                runs.append([point])
            else:
                runs[-1].append(point)
            if raw.FPDFPathSegment_GetClose(segment):
                runs[-1].append(runs[-1][0])
        return runs

    def _rect(self, points: list[tuple[float, float]], matrix: tuple[float, ...]) -> Rect:
        moved = [_moved(point, matrix) for point in points]
        xs, ys = [x for x, _ in moved], [self._height - y for _, y in moved]
        return Rect(min(xs), min(ys), max(xs), max(ys))


def _corners(width: float, height: float) -> list[tuple[float, float]]:
    return [(0, 0), (width, 0), (0, height), (width, height)]


def _matrix_of(raw: Any, drawn: Any) -> tuple[float, ...]:
    matrix = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(drawn, matrix):
        return (1, 0, 0, 1, 0, 0)
    return (matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)


def _moved(point: tuple[float, float], matrix: tuple[float, ...]) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * point[0] + c * point[1] + e, b * point[0] + d * point[1] + f


def _joined(inner: tuple[float, ...], outer: tuple[float, ...]) -> tuple[float, ...]:
    """The matrix that applies `inner` and then `outer`."""
    e, f = _moved((inner[4], inner[5]), outer)
    a, b = outer[0] * inner[0] + outer[2] * inner[1], outer[1] * inner[0] + outer[3] * inner[1]
    c, d = outer[0] * inner[2] + outer[2] * inner[3], outer[1] * inner[2] + outer[3] * inner[3]
    return (a, b, c, d, e, f)


def _grids(rules: list[Rect]) -> list[Grid]:
    """The grids that rules draw which touch one another."""
    groups: list[list[Rect]] = []
    for rule in rules:
        near = Rect(rule.x1 - SAME_RULE, rule.y1 - SAME_RULE, rule.x2 + SAME_RULE, rule.y2 + SAME_RULE)
        touching = [group for group in groups if any(_meet(near, other) for other in group)]
        groups = [group for group in groups if group not in touching]
        groups.append([each for group in touching for each in group] + [rule])
    return [grid for group in groups if (grid := _grid(group)) is not None]


def _meet(rect: Rect, other: Rect) -> bool:
    return rect.x1 <= other.x2 and other.x1 <= rect.x2 and rect.y1 <= other.y2 and other.y1 <= rect.y2


def _grid(rules: list[Rect]) -> Grid | None:
    """The grid of rules; None where they make no two rows and two columns."""
    level = [rule for rule in rules if rule.width >= rule.height]
    upright = [rule for rule in rules if rule.width < rule.height]
    if not level or not upright:
        return None
    around = hull(rules)
    xs = _places([rule.center_x for rule in upright] + [around.x1, around.x2])
    ys = _places([rule.center_y for rule in level] + [around.y1, around.y2])
    if len(xs) < 3 or len(ys) < 3 or len(xs) * len(ys) > MAX_CELLS:
        return None
    middles_x, middles_y = ([(one + two) / 2 for one, two in pairwise(each)] for each in (xs, ys))
    walls_right = tuple(tuple(_is_wall(upright, x, y, is_upright=True) for x in xs[1:-1]) for y in middles_y)
    walls_below = tuple(tuple(_is_wall(level, x, y, is_upright=False) for x in middles_x) for y in ys[1:-1])
    return Grid(tuple(xs), tuple(ys), walls_right, walls_below)


def _places(values: list[float]) -> list[float]:
    """The values in order, those close together as one."""
    found: list[float] = []
    for value in sorted(values):
        if not found or value - found[-1] > SAME_RULE:
            found.append(value)
    return found


def _is_wall(rules: list[Rect], x: float, y: float, *, is_upright: bool) -> bool:
    """Whether one of the rules passes a point."""
    across, along = (SAME_RULE, 0.0) if is_upright else (0.0, SAME_RULE)
    return any(rule.x1 - across <= x <= rule.x2 + across and rule.y1 - along <= y <= rule.y2 + along for rule in rules)


MAX_PAGES = 300
"""Pages read in one call."""
READ_CPU_S, READ_S = 9.0, 10.0
"""CPU seconds and seconds after which no other page is begun, so that the pages that were read are not lost with the
job (parse_pool: 15 and 20 s). 300 full pages take 6 to 16 s of CPU."""
MAX_HEAD_LINES = 3
"""Lines of one heading, as in blocks.MAX_TITLE_LINES."""
MAX_HEADED_LINES = 1_000
"""Lines of a page whose headings in bold are sought, each among all others."""
IN_GRID = 0.5
"""Share of a line inside the rules of a table from which it is part of it."""
_LEADER = re.compile(r" ?(?:[.·…‥] ?+){8,}+")
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
                if page.lines:
                    _write_page(page, out)
                elif number in wish.texts:
                    out.paragraph(wish.texts[number])
                elif _shows_something(document, number - 1):
                    scanned.append(number)
        out.drop_running_lines()
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
        tables += [Region("table", rect, 1.0) for rect in aligned_tables(outside)]
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
