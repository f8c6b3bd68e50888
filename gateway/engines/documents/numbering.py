"""Numbers of headings and list items as Office documents show them: `1.2`, `(a)`, `IV.`"""

import re
from collections.abc import Mapping
from typing import NamedTuple

MAX_LEVELS = 10
"""OpenDocument has ten levels of lists, Word nine."""
MAX_NUMBER = 3_999
"""The largest Roman number; larger ones are written in digits."""
_PLACE = re.compile(r"%([1-9])")
_COMMON_MARK = re.compile(r"([0-9]{1,9})([.)]?)")
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip


class Level(NamedTuple):
    """A level of a list. `form`: of its numbers, as WordprocessingML names it, `bullet` or `none`; `text`: what is
    shown, where `%1` is the number of the first level; `start`: its first number; `begins_anew`: after an item of a
    level above; `is_legal`: numbers of all levels are shown in digits."""

    form: str = "decimal"
    text: str = ""
    start: int = 1
    begins_anew: bool = True
    is_legal: bool = False


class Numbers:
    """Counts the items of one list. `levels`: by their depths, from 0."""

    def __init__(self, levels: Mapping[int, Level]) -> None:
        self._levels = levels
        self._counts: dict[int, int] = {}

    def begin(self, depth: int, number: int) -> None:
        """The next item of a level has this number."""
        self._counts[depth] = number - 1

    def next(self, depth: int) -> str:
        """What stands before the next item: `1.2`, or "" for a bullet or nothing."""
        level = self._levels.get(depth, Level("bullet"))
        for above in range(depth):  # a level that was skipped counts as begun
            self._counts.setdefault(above, self._levels.get(above, level).start)
        self._counts[depth] = self._counts.get(depth, level.start - 1) + 1
        for below in range(depth + 1, MAX_LEVELS):
            if self._levels.get(below, level).begins_anew:
                self._counts.pop(below, None)
        if level.form in ("bullet", "none"):
            return ""
        return _PLACE.sub(lambda place: self._shown(int(place[1]) - 1, level), level.text).strip()

    def _shown(self, depth: int, at: Level) -> str:
        level = self._levels.get(depth, Level())
        form = "decimal" if at.is_legal and level.form != "none" else level.form
        return shown(self._counts.get(depth, level.start), form)


def shown(number: int, form: str) -> str:
    """A number in a form of WordprocessingML: 4 is `iv` as `lowerRoman`, 28 is `BB` as `upperLetter`."""
    if form in ("none", "bullet"):
        return ""
    if form == "decimalZero":
        return f"{number:02}"
    if form.endswith("Letter") and 0 < number <= MAX_NUMBER:
        text = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
    elif form.endswith("Roman") and 0 < number <= MAX_NUMBER:
        text, left = "", number
        for value, letters in _ROMAN:
            text += letters * (left // value)
            left %= value
    else:
        return str(number)
    return text.upper() if form.startswith("upper") else text


def item(label: str, text: str) -> tuple[str, str]:
    """The mark and text of an item in Markdown, where only `1.` and `1)` are marks: `(a) Rope` is `- (a) Rope`."""
    if (mark := _COMMON_MARK.fullmatch(label)) is not None:
        return f"{mark[1]}{mark[2] or '.'}", text
    return "-", f"{label} {text}" if label else text
