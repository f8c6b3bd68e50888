"""One page of a PDF: its letters as lines, turned upright, with their links; fields, and the grids of tables.

PDFium gives letters, links, values of fields and drawn rules of a page. Letters whose rendering mode is "invisible" are
left out, but for those over a picture, which are the text layer of a scan. Coordinates are points from the top left of
the turned page. Sources: pypdfium2 5 and PDFium's fpdf_text.h, fpdf_edit.h, fpdf_annot.h, fpdf_doc.h, fpdf_flatten.h;
PDF 1.7; read 2026-11-22.
"""

import ctypes
import math
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.pdf_drawn import Drawn, grids_of, holds
from gateway.engines.documents.pdf_form import form_fields, upright, with_fields
from gateway.geometry.boxes import Line, Rect, Word, hull
from gateway.geometry.tables import Grid

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
ASCII_SIGNS, LATIN_CODES, MAX_ODD_CODES = 0x20, 0x100, 0.05
"""A code that PDFium has no character for is given as it is. In fonts with letters' own codes (TeX, matplotlib) hardly
any is below the first or above the second; where more than this share are, codes number the shapes of the font."""
MAX_CHARS_PER_PAGE = 60_000
MAX_LINKS = 1_000
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
    addresses by their numbers; `grids`: the rules of tables; `unmapped`: letters that were left out, as their fonts do
    not say which they are."""

    lines: list[Line] = field(default_factory=list)
    turned: list[list[Line]] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    grids: list[Grid] = field(default_factory=list)
    unmapped: int = 0


class _Letter(NamedTuple):
    """A character: its box, as high as a line of its type, its angle, whether a space comes before it, and whether that
    is only PDFium's guess from a gap, the weight of its type (400 is regular, 700 bold; 0 unknown), its link or -1; and
    the font (0 for a known character) and code of one that PDFium has no character for."""

    character: str
    rect: Rect
    angle: float = 0.0
    begins_word: bool = False
    is_guessed: bool = False
    weight: int = 0
    link: int = -1
    font: int = 0
    code: int = 0


def read_page(raw: Any, document: Any, index: int, out: DocumentText) -> PdfPage:
    """Reads page `index`, counted from 0. `raw` holds PDFium's functions; `out` records hidden text and its cause."""
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
        drawn = Drawn(raw, height)
        with out.part("drawings"):
            drawn.collect(page)
        text = page.get_textpage()
        try:
            found = _letters(raw, text, page, drawn, out)
        finally:
            text.close()
        size = Rect(0, 0, page.get_width(), height)
    finally:
        page.close()
    covered = [each.rect for each in fields]
    letters = _with_known_codes(found)
    unmapped = len(found) - len(letters)
    letters = [] if unmapped > len(letters) else letters  # a page to be seen, not read
    letters = [each for each in letters if not any(holds(rect, each.rect) for rect in covered)]
    letters = [each._replace(link=_link_at(each.rect, links)) for each in letters] if links else letters
    return replace(_arranged(letters, fields, size, [url for _, url in links], drawn.rules), unmapped=unmapped)


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
            found.grids = grids_of([place(rule) for rule in rules]) if main % (math.pi / 2) < _SKEW else []
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


def _link_at(rect: Rect, links: list[tuple[Rect, str]]) -> int:
    return next((number for number, (place, _) in enumerate(links) if holds(place, rect)), -1)


def _letters(raw: Any, text: Any, page: Any, drawn: "Drawn", out: DocumentText) -> list[_Letter]:
    """The letters that stand on the page, not beside it, and are drawn."""
    letters, unseen, height = list[_Letter](), [], page.get_height()
    x1, x2 = sorted(page.get_bbox()[::2])
    y1, y2 = sorted(page.get_bbox()[1::2])
    box, after_space, is_guessed, half = raw.FS_RECTF(), True, True, ""
    for index in range(min(text.count_chars(), MAX_CHARS_PER_PAGE)):
        code = raw.FPDFText_GetUnicode(text, index)
        character = chr(code or 0x20)
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
            if font := _font_at(raw, text, index):
                letter = letter._replace(font=font, code=code)
            if letter.character == _LAM and letters and letters[-1].rect == rect and letters[-1].character in _ALEFS:
                letters[-1:] = [letters[-1]._replace(character=_LAM), letter._replace(character=letters[-1].character)]
            else:
                letters.append(letter)
            after_space, is_guessed = False, True
    out.leave_out("".join(unseen))
    return letters


def _font_at(raw: Any, text: Any, index: int) -> int:
    """What tells the font of a letter from others, where PDFium has no character for its code; else 0."""
    if raw.FPDFText_HasUnicodeMapError(text, index) != 1 or not (owner := raw.FPDFText_GetTextObject(text, index)):
        return 0
    return ctypes.addressof(raw.FPDFTextObj_GetFont(owner).contents)


def _with_known_codes(letters: list[_Letter]) -> list[_Letter]:
    """The letters without those of fonts whose codes only number their shapes."""
    codes: dict[int, list[int]] = {}
    for letter in letters:
        if letter.font:
            codes.setdefault(letter.font, []).append(letter.code)
    odd = {font: sum(not ASCII_SIGNS <= code < LATIN_CODES for code in found) for font, found in codes.items()}
    return [each for each in letters if not each.font or odd[each.font] <= MAX_ODD_CODES * len(codes[each.font])]


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
        goes_back = gap <= -size and rect != before and not is_leftward  # letters of one ligature have one box
        numbers[at] = numbers[last] + (gap >= CELL_GAP * size or goes_back)
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
    phrases: list[list[tuple[str, Rect, int]]] = []
    for word in words:
        last = phrases[-1] if phrases else [word]
        goes_on = is_against(last[0][0]) and last[0][2] == word[2] and word[1].x1 - last[-1][1].x2 <= widest
        if phrases and goes_on and is_against(word[0]) is not False:
            last.append(word)
        else:
            phrases.append([word])
    ordered: list[tuple[str, Rect, int]] = []
    for phrase in phrases:
        end = 1 + max((at for at, word in enumerate(phrase) if is_against(word[0])), default=0)
        texts = " ".join(text.lstrip("\0") for text, _, _ in reversed(phrase[:end])) if end > 1 else phrase[0][0]
        ordered += [(texts, hull([rect for _, rect, _ in phrase[:end]]), phrase[0][2]), *phrase[end:]]
    return ordered


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
