"""Finds a piece of text among the words of a page.

Compares folded letters and digits, so case, accents' composition and punctuation do not matter. Exact runs of words
first, then lines that nearly match; nothing is invented when neither is found.
"""

import difflib
import unicodedata
from dataclasses import dataclass

from gateway.ocr.types import Line, Rect, hull

FUZZY_RATIO = 0.8
MIN_FUZZY_CHARS = 4
MAX_HITS = 200


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where the text stands: `label` is what was sought, or what is written there when it only resembles it."""

    label: str
    rects: tuple[Rect, ...]

    @property
    def rect(self) -> Rect:
        return hull(list(self.rects))


def fold(text: str) -> str:
    """Letters and digits alone, without case or compatibility forms."""
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())


def find_text(rows: list[list[Line]], sought: str) -> list[Hit]:
    """Hits in reading order; `rows` are the page's lines in rows."""
    wanted = fold(sought)
    if not wanted:
        return _symbol_hits(rows, sought.strip())
    hits = _exact(rows, sought, wanted) or _over_rows(rows, sought, wanted)
    return (hits or _fuzzy(rows, wanted))[:MAX_HITS]


def _exact(rows: list[list[Line]], sought: str, wanted: str) -> list[Hit]:
    """Runs of words within one row whose letters begin and end with the sought ones."""
    hits = []
    for row in rows:
        words = [word for line in row for word in line.words]
        folded = [fold(word.text) for word in words]
        start = 0
        while start < len(words):
            end = _run_end(folded, start, wanted)
            if end is None:
                start += 1
            else:
                hits.append(Hit(sought, tuple(word.rect for word in words[start:end])))
                start = end
    return hits or _inside_words(rows, sought, wanted)


def _run_end(folded: list[str], start: int, wanted: str) -> int | None:
    """The end of the run of words from `start` that spells `wanted` exactly."""
    if not folded[start]:
        return None
    joined = ""
    for end in range(start, len(folded)):
        joined += folded[end]
        if joined == wanted:
            return end + 1
        if not wanted.startswith(joined):
            return None
    return None


def _inside_words(rows: list[list[Line]], sought: str, wanted: str) -> list[Hit]:
    """Within words and over their joints: `INV-2041` in `No:INV-2041`, cut in proportion to its letters."""
    hits = []
    for row in rows:
        words = [word for line in row for word in line.words]
        folded = [fold(word.text) for word in words]
        text = "".join(folded)
        starts = [sum(map(len, folded[:i])) for i in range(len(folded))]
        at = text.find(wanted)
        while at >= 0:
            rects = []
            for word, start, letters in zip(words, starts, folded, strict=True):
                first, last = max(at, start), min(at + len(wanted), start + len(letters))
                if first < last:
                    rects.append(_part(word.rect, (first - start) / len(letters), (last - start) / len(letters)))
            hits.append(Hit(sought, tuple(rects)))
            at = text.find(wanted, at + len(wanted))
    return hits


def _part(rect: Rect, first: float, last: float) -> Rect:
    return Rect(rect.x1 + rect.width * first, rect.y1, rect.x1 + rect.width * last, rect.y2)


def _over_rows(rows: list[list[Line]], sought: str, wanted: str) -> list[Hit]:
    """A text that runs over a line's end: from the first word to the last, over at most four rows."""
    if len(wanted) < MIN_FUZZY_CHARS:
        return []
    words = [(number, word) for number, row in enumerate(rows) for line in row for word in line.words]
    folded = [fold(word.text) for _, word in words]
    hits = []
    for start in range(len(words)):
        end = _run_end(folded, start, wanted)
        if end is not None and words[end - 1][0] - words[start][0] <= 4:
            hits.append(Hit(sought, tuple(word.rect for _, word in words[start:end])))
    return hits


def _fuzzy(rows: list[list[Line]], wanted: str) -> list[Hit]:
    """The runs of words that resemble the sought text most, at FUZZY_RATIO or better: misread letters."""
    if len(wanted) < MIN_FUZZY_CHARS:
        return []
    best: list[tuple[float, Hit]] = []
    for row in rows:
        words = [word for line in row for word in line.words]
        found: tuple[float, int, int] | None = None
        for start in range(len(words)):
            joined = ""
            for end in range(start, len(words)):
                joined += fold(words[end].text)
                if len(joined) > 1.4 * len(wanted):
                    break
                if len(joined) >= 0.6 * len(wanted):
                    ratio = _ratio(joined, wanted)
                    if ratio >= FUZZY_RATIO and (found is None or ratio > found[0]):
                        found = (ratio, start, end + 1)
        if found is not None:
            run = words[found[1] : found[2]]
            best.append((found[0], Hit(" ".join(word.text for word in run), tuple(word.rect for word in run))))
    top = max((ratio for ratio, _ in best), default=0.0)
    return [hit for ratio, hit in best if ratio >= top - 0.001]


def _ratio(one: str, other: str) -> float:
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    if matcher.real_quick_ratio() < FUZZY_RATIO or matcher.quick_ratio() < FUZZY_RATIO:
        return 0.0
    return matcher.ratio()


def _symbol_hits(rows: list[list[Line]], sought: str) -> list[Hit]:
    """Signs alone (`€`, `%`) are compared as they are."""
    if not sought:
        return []
    return [Hit(sought, (word.rect,)) for row in rows for line in row for word in line.words if sought in word.text][
        :MAX_HITS
    ]
