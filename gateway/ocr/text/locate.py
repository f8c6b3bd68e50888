"""Finds a text among the words of a page.

Compares folded letters and digits, so case, the composition of accents and punctuation do not matter. Exact runs of
words come first, then similar ones; when there is neither, there are no hits. Knows neither pixels nor the wire.
"""

import difflib
import unicodedata
from dataclasses import dataclass

from gateway.geometry.boxes import Line, Rect, hull

FUZZY_RATIO = 0.8
MIN_FUZZY_CHARS = 4
"""Least similarity (difflib's ratio, 0 to 1) of a misread text, and least length of a text that may be misread. One
letter of five may differ. Of three letters with one misread too little is left to recognise."""
FUZZY_LENGTHS = (0.6, 1.4)
"""Length of the compared run, as a share of the sought text. A run outside can hardly reach FUZZY_RATIO (0.75 at a
length of 0.6, below 0.8 from 1.5 on), so that comparing it is wasted time."""
SAME_RATIO = 0.001
"""Ratios that differ by less are equal."""
MAX_ROW_STEPS = 4
"""Row ends over which a text may run. A sentence in a narrow column."""
MAX_HITS = 200
"""Hits in one answer."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A place of the text: `label` is the sought text, or the text of the page when that is only similar; `rects` has
    one rectangle for each word."""

    label: str
    rects: tuple[Rect, ...]

    @property
    def rect(self) -> Rect:
        """The smallest rectangle around the hit."""
        return hull(list(self.rects))


def fold(text: str) -> str:
    """The letters and digits of a text, NFKC normalised, without case."""
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())


def find_text(rows: list[list[Line]], sought: str) -> list[Hit]:
    """The hits in reading order, at most MAX_HITS. `rows`: the page's read lines in rows, with their words."""
    wanted = fold(sought)
    if not wanted:
        return _symbol_hits(rows, sought.strip())
    hits = _exact(rows, sought, wanted) or _over_rows(rows, sought, wanted)
    return (hits or _fuzzy(rows, wanted))[:MAX_HITS]


def _exact(rows: list[list[Line]], sought: str, wanted: str) -> list[Hit]:
    """Runs of words within one row that spell the sought text; without any, places inside words."""
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
    """Places inside words and across their ends: `INV-2041` in `No:INV-2041`, cut in proportion to the letters."""
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
                    rects.append(_slice(word.rect, (first - start) / len(letters), (last - start) / len(letters)))
            hits.append(Hit(sought, tuple(rects)))
            at = text.find(wanted, at + len(wanted))
    return hits


def _slice(rect: Rect, first: float, last: float) -> Rect:
    return Rect(rect.x1 + rect.width * first, rect.y1, rect.x1 + rect.width * last, rect.y2)


def _over_rows(rows: list[list[Line]], sought: str, wanted: str) -> list[Hit]:
    """Runs of words that spell the sought text over the ends of at most MAX_ROW_STEPS rows."""
    if len(wanted) < MIN_FUZZY_CHARS:
        return []
    words = [(number, word) for number, row in enumerate(rows) for line in row for word in line.words]
    folded = [fold(word.text) for _, word in words]
    hits = []
    for start in range(len(words)):
        end = _run_end(folded, start, wanted)
        if end is not None and words[end - 1][0] - words[start][0] <= MAX_ROW_STEPS:
            hits.append(Hit(sought, tuple(word.rect for _, word in words[start:end])))
    return hits


def _fuzzy(rows: list[list[Line]], wanted: str) -> list[Hit]:
    """The runs of words most similar to the sought text, at FUZZY_RATIO or above: misread letters."""
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
                if len(joined) > FUZZY_LENGTHS[1] * len(wanted):
                    break
                if len(joined) >= FUZZY_LENGTHS[0] * len(wanted):
                    ratio = _ratio(joined, wanted)
                    if ratio >= FUZZY_RATIO and (found is None or ratio > found[0]):
                        found = (ratio, start, end + 1)
        if found is not None:
            run = words[found[1] : found[2]]
            best.append((found[0], Hit(" ".join(word.text for word in run), tuple(word.rect for word in run))))
    top = max((ratio for ratio, _ in best), default=0.0)
    return [hit for ratio, hit in best if ratio >= top - SAME_RATIO]


def _ratio(one: str, other: str) -> float:
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    if matcher.real_quick_ratio() < FUZZY_RATIO or matcher.quick_ratio() < FUZZY_RATIO:
        return 0.0
    return matcher.ratio()


def _symbol_hits(rows: list[list[Line]], sought: str) -> list[Hit]:
    """Words that contain a sought text without letters or digits, such as `€` or `%`."""
    if not sought:
        return []
    return [Hit(sought, (word.rect,)) for row in rows for line in row for word in line.words if sought in word.text][
        :MAX_HITS
    ]


def label_of(sought: str) -> str:
    """The label of the blocks that a prompt names by their kind, as "the pictures"; the name itself for any other."""
    name = sought.casefold().removeprefix("the ").rstrip("s")
    return {"picture": "image", "figure": "image", "heading": "title", "paragraph": "text"}.get(name, name)
