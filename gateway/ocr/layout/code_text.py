"""Writes a block of code: its rows with indentation, spaces and blank rows, without an editor's line numbers.

Every letter stands in a column of one pitch, so that its x says how many spaces come before it. Works on read lines;
knows no pixels. The thresholds are chosen; bench/ocr_real.py scores them all together.
"""

import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from math import atan2, cos, inf, pi, sin
from statistics import median

from gateway.geometry.boxes import Line
from gateway.geometry.reading_order import rows_of

MIN_ROWS, MIN_NUMBERED = 3, 0.5
"""Rows of a block, and the share of them that must begin with a number that counts them, that make the numbers a
gutter: some are misread. At half, a numbered list loses its numbers; at double (above 1), there is no gutter."""
NUMBER = re.compile(r"(?:[^\w\s]{1,2} ?)?(\d{1,5})(?= |$)")
"""A line's number at the start of a row; before it the mark of a changed line or of a breakpoint, read as a sign."""
BLANK_ROW = 1.6
"""Distance of two rows, in usual ones, from which there is a blank row between. At half, all rows are set apart."""
LIGATURES = {"≠": "!=", "→": "->", "⇒": "=>", "≤": "<=", "≥": ">=", "←": "<-", "≡": "=="}
LIGATURE_REACH = 2.5
"""Distance of the letters on both sides of a sign, in pitches: 2 around a sign of one column, 3 around one of two."""
WIDE_SPACE = 1.6
"""Empty cells between two words from which they are more than one space: the recogniser's places are good to half a
letter. At half, each space becomes two; at double, aligned columns of code collapse."""
MAX_COLUMNS = 400
"""Longest line written, in letters; more is a mistake of the pitch."""
READ_PITCH, READ_SHARE = 0.07, 0.7
"""Words of a block whose letters, once read, stand at its pitch within this share. On the two dozen
screens of code of ocr-real .95 and more lie within .04, of running text at its best pitch .2 to .6."""


def is_monospaced(lines: list[Line], pitch: float) -> bool:
    """Whether the words of read lines have their letters at this pitch."""
    near = total = 0
    for line in lines:
        if len(line.letters) != len(line.text):
            continue
        for word in re.finditer(r"\S{4,}", line.text):
            count = word.end() - word.start() - 1
            advance = (line.letters[word.end() - 1] - line.letters[word.start()]) / count
            near += count * (abs(advance / pitch - 1) < READ_PITCH)
            total += count
    return near >= READ_SHARE * total


def code_text(lines: list[Line], pitch: float) -> str:
    """The block's rows with their spaces, without an editor's line numbers; blank rows where there is room for them.

    `lines`: read; those of one row may be in pieces.
    """
    rects = [line.rect for line in lines]
    rows = [[lines[i] for i in row] for row in rows_of(rects, range(len(rects)))]
    rows = [[without_ligatures(line, pitch) if line.letters else line for line in row if line.text] for row in rows]
    rows = [row for row in rows if row]
    middles = [median(line.rect.center_y for line in row) for row in rows]
    edge, numbered = _gutter(rows, middles, pitch)
    rows = [[line for line in (_right_of(line, edge, pitch) for line in row) if line.text] for row in rows]
    inside = [line for row in rows[numbered] for line in row if line.letters]
    origin = _origin(inside or [line for row in rows for line in row], pitch)
    texts = [_row_text(row, pitch, origin) for row in rows]
    return "\n".join(_with_blanks(middles, texts)).strip("\n")


def _gutter(rows: list[list[Line]], middles: list[float], pitch: float) -> tuple[float, slice]:
    """The x right of the line numbers, and the rows from the first to the last that has one: numbers at the starts of
    rows that count them, blank rows included. Minus infinity and all rows where there are none."""
    counted = []
    step = _row_step(middles)
    for place, (row, middle) in enumerate(zip(rows, middles, strict=True)):
        match = NUMBER.match(row[0].text)
        if match and row[0].letters:
            offset = int(match[1]) - round((middle - middles[0]) / step)
            counted.append((offset, row[0].letters[match.end(1) - 1], place))
    usual = Counter(offset for offset, *_ in counted).most_common(1)
    if len(rows) < MIN_ROWS or not usual or usual[0][1] < MIN_NUMBERED * len(rows):
        return -inf, slice(None)
    xs, places = zip(*((x, place) for offset, x, place in counted if offset == usual[0][0]), strict=True)
    return max(xs) + pitch / 2, slice(places[0], places[-1] + 1)


def _right_of(line: Line, edge: float, pitch: float) -> Line:
    """The line without its characters up to an x, and the spaces after them; whole where a word stands across it: the
    title above a gutter is no number."""
    cut = sum(x <= edge for x in line.letters)
    if not cut or _is_word_across(line, cut, pitch):
        return line
    cut += len(line.text[cut:]) - len(line.text[cut:].lstrip())
    return replace(line, text=line.text[cut:], letters=line.letters[cut:], words=())


def _is_word_across(line: Line, cut: int, pitch: float) -> bool:
    if cut == len(line.text) or line.text[cut - 1].isspace() or line.text[cut].isspace():
        return False
    return line.letters[cut] - line.letters[cut - 1] < WIDE_SPACE * pitch


def _row_step(middles: list[float]) -> float:
    """The distance of neighbouring rows: of the lesser third, as there are blank rows."""
    steps = sorted(below - above for above, below in pairwise(middles))
    return max(1.0, steps[len(steps) // 3]) if steps else 1.0


def without_ligatures(line: Line, pitch: float) -> Line:
    """The line with signs that are two letters wide written as the two letters that programming typefaces join."""
    text, letters = "", list[float]()
    for place, character in enumerate(line.text):
        pair = LIGATURES.get(character)
        if pair and 0 < place < len(line.text) - 1:
            around = line.letters[place + 1] - line.letters[place - 1]
            if around > LIGATURE_REACH * pitch:
                middle = line.letters[place]
                text += pair
                letters += [middle - pitch / 2, middle + pitch / 2]
                continue
        text += character
        letters.append(line.letters[place])
    return replace(line, text=text, letters=tuple(letters), words=())


def _origin(lines: list[Line], pitch: float) -> float:
    """The x of the middle of column 0, so that letters stand in the middles of their columns."""
    letters = [x for line in lines for x in line.letters]
    if not letters:
        return min((line.rect.x1 for line in lines), default=0.0) + pitch / 2
    start = min(line.letters[0] for line in lines if line.letters)
    angles = [2 * pi * (x - start) / pitch for x in letters]
    return start + pitch * atan2(sum(map(sin, angles)), sum(map(cos, angles))) / (2 * pi)


def _row_text(row: list[Line], pitch: float, origin: float) -> str:
    text = ""
    for line in row:
        first = line.letters[0] if line.letters else line.rect.x1 + pitch / 2
        column = min(MAX_COLUMNS, max(0, round((first - origin) / pitch)))
        gap = column - len(text)
        text += " " * (max(1, gap) if text else gap) + _spaced(line, pitch)
    return text.rstrip()


def _spaced(line: Line, pitch: float) -> str:
    """The line's text with as many spaces between words as there are empty columns."""
    if len(line.letters) != len(line.text):
        return line.text
    text, last = "", 0.0
    for word in re.finditer(r"\S+", line.text):
        if text:
            empty = (line.letters[word.start()] - last) / pitch - 1
            text += " " * min(MAX_COLUMNS, round(empty) if empty >= WIDE_SPACE else 1)
        text += word[0]
        last = line.letters[word.end() - 1]
    return text


def _with_blanks(middles: list[float], texts: list[str]) -> list[str]:
    """The texts with one empty row where two rows are twice as far apart as usual, or further."""
    usual = _row_step(middles)
    spaced = texts[:1]
    for (above, below), text in zip(pairwise(middles), texts[1:], strict=False):
        if below - above > BLANK_ROW * usual:
            spaced.append("")
        spaced.append(text)
    return spaced
