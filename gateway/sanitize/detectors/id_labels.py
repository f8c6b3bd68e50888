"""Decides whether a word names the number behind it, and how certainly: right behind its label, or only near.

Knows the forms of numbers without a checksum (`FORMS`), which count right behind their label alone.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from gateway.sanitize.detectors.id_countries import AMBIGUOUS, FORMS
from gateway.sanitize.detectors.published_examples import IDS
from gateway.sanitize.text.folding import View

FORM_PATTERNS = {name: re.compile(form.encode(), re.IGNORECASE) for name, _, form in FORMS}
_STRICT_FORM = "gb.nino"
"""The one of FORMS that is distinctive enough to be likely when its name is only near."""
AMBIGUOUS_WORDS = frozenset(View(word).lower for word in AMBIGUOUS)
NO_LABEL_BEFORE = frozenset(bytes([mark]) for mark in b"-/.@\\$%")
_MAX_GAP_CHARS = 32
"""Chosen: a colon, quotation marks of JSON or Markdown, `number is`. At half " number is: **" does not fit; at double
the gap holds other words, which the pattern refuses anyway."""
_LABEL_GAP = re.compile(
    rb"[\s\"'`*_|>()\[\].:=#&;-]{0,8}(?:(?:no|nr|num|number|nummer|numero|n\x03?|id|code|is|was|ist|est|es|lautet|e|de|du|der|card|quot)"
    rb"(?![a-z])[\s\"'`*_|>()\[\].:=#&;-]{0,6}){0,4}"
)
_SIGN = re.compile(rb"[:=#\"']|\bn\x03|\b(?:no|nr|num|number|nummer|numero|is|ist|est|es)\b")
NO_ID = re.compile(
    rb"\A(?:(?:19|20)\d\d[-./ ][01]?\d[-./ ][0-3]?\d.*|[0-3]?\d[-./][01]?\d[-./](?:19|20)\d\d"  # dates
    rb"|(?:(?:100644|100755|120000|160000|040000|000000)[ .]*+)++"  # modes of git
    rb"|\d{1,3}(?:\.\d{1,4}){1,4} .*|[\d.]+ +[\d.]+[.][\d.]+.*|[A-Za-z]{1,2}\d{4,5})"  # versions and releases
)
_DIGIT = re.compile(rb"[0-9]")
_MAX_LETTERS = 8
"""Characters before the first digit of an id: six letters and two separators (`RCCMNL83…`)."""
_SEPARATORS = b" ./_-"


class IdWord(NamedTuple):
    """A word in the text that ends at `end`, and the python-stdnum modules or FORMS that it names.

    `is_ambiguous`: it counts only as a label right before the number; `needs_sign`: and only with a sign between.
    """

    end: int
    modules: tuple[str, ...]
    is_ambiguous: bool
    needs_sign: bool


def accept(text: bytes, span: tuple[int, int], module: str, words: Iterable[IdWord]) -> tuple[int, bool]:
    """(size, certain) of the valid number at `span`, which is (start, size); size 0 when its words do not name it.

    Certain: right behind its label.
    """
    start, size = span
    value = text[start : start + size]
    if NO_ID.fullmatch(value) or len(set(value)) < 3 or value.translate(None, _SEPARATORS).decode().upper() in IDS:
        return 0, False
    word = [each for each in words if module in each.modules][-1]
    gap = text[word.end : start].lower()
    is_label = len(gap) <= _MAX_GAP_CHARS and _LABEL_GAP.fullmatch(gap) is not None
    if is_label and word.needs_sign and _SIGN.search(gap) is None:
        is_label = False
    needs_label = word.is_ambiguous or (module in FORM_PATTERNS and module != _STRICT_FORM)
    return (0, False) if needs_label and not is_label else (size, is_label)


def is_followed_by_number(lower: bytes, end: int) -> bool:
    """Whether what may stand between a label, which ends at `end`, and its number is followed by a digit within a few
    characters."""
    gap = _LABEL_GAP.match(lower, end, end + _MAX_GAP_CHARS)
    return gap is not None and _DIGIT.search(lower, gap.end(), gap.end() + _MAX_LETTERS) is not None


class FormCheck:
    """A form of FORMS, which has no checksum."""

    def __init__(self, form: re.Pattern[bytes]) -> None:
        self._form = form

    def is_valid(self, value: str) -> bool:
        return self._form.fullmatch(value.encode()) is not None

    def accepts_length(self, size: int) -> bool:
        """Whether a number of `size` digits alone can have the form."""
        return self.is_valid("1" * size)
