"""Finds national identity, social security and personal tax numbers: a word that names the number, then a
valid one.

The checks are python-stdnum's. A number without its word is never reported, as some country accepts almost any row of
digits. To add a country, add a line to `identities.txt`.
"""

import functools
import importlib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import NamedTuple

import re2

from gateway.sanitize.detectors.cards import DigitRun, WordIndex
from gateway.sanitize.detectors.harmless import IDS
from gateway.sanitize.detectors.tables import rows
from gateway.sanitize.findings import Finding
from gateway.sanitize.folding import View
from gateway.sanitize.re2_search import searcher
from gateway.sanitize.work_budget import WorkBudget


def _rows(kind: str) -> list[list[str]]:
    return [row.split("\t") for row in rows("identities.txt", kind)]


FORMS = [(name, words, form) for name, words, form in _rows("form")]
"""(name, words, form) of numbers without a public checksum: found only right behind their label."""
AMBIGUOUS = frozenset(chain.from_iterable(_rows("ambiguous")))
"""Words that also mean something else: they count only as labels, with a sign or in capitals, right before the number.
"""
COUNTRIES = [(module, words) for module, words in _rows("country")]
"""(python-stdnum module, comma-separated words, in any case and with accents folded, of which one must precede its
number)."""

# ----------------------------------------------------------------------------------------------------
# Where an id may begin and end behind a word that names it.
#
# A chain is tokens of letters and digits with at most two separators between neighbours. An id is up to seven
# neighbouring tokens with 6 to 22 characters, at least four of them digits. Does not know any country's checks.
REACH_CHARS = 64
"""How far behind its word an id may begin: a label, a colon and a few words."""
WINDOW_CHARS = REACH_CHARS + 24
"""The text searched behind a word: the reach, and the longest id behind it."""
_MIN_CHARS, _MAX_CHARS = 6, 22
"""Letters and digits of the shortest and the longest ids of `identities.txt`, with some tolerance for the longest."""
_MAX_TOKENS = 7
"""Tokens of one id: the French number is written in seven groups."""
_MIN_DIGITS = 4
"""The digits of an id."""
_TOKEN = re.compile(rb"[A-Za-z0-9]+")
_DIGIT_CLASS = bytes(0x64 if 0x30 <= code <= 0x39 else 0x78 for code in range(256))
_CHAIN = re.compile(rb"[A-Za-z0-9]++(?:[ ./_-]{1,2}+[A-Za-z0-9]++|(?!))*+")


def digit_classes(text: bytes) -> bytes:
    """The text with `d` for each digit, `x` for all else: `count(b"d", start, end)` then counts digits fast."""
    return text.translate(_DIGIT_CLASS)


class Chain:
    """The tokens of the chain at [low, high), and the number of digits up to each. `index` is the current token."""

    __slots__ = ("_sums", "index", "tokens")

    def __init__(self, text: bytes, digits: bytes, low: int, high: int) -> None:
        self.index = 0
        self.tokens = [match.span() for match in _TOKEN.finditer(text, low, high)]
        self._sums = [0, *accumulate([digits.count(b"d", start, end) for start, end in self.tokens])]

    def beginnings(self, text: bytes) -> Iterator[int]:
        """Offsets where an id may begin, `index` set to the token there; never at a plain word."""
        sums, last = self._sums, len(self._sums) - 1
        for index, (start, end) in enumerate(self.tokens):
            if sums[index + _MAX_TOKENS if index + _MAX_TOKENS < last else last] - sums[index] >= _MIN_DIGITS:
                token = text[start:end]
                if not token.isalpha() or len(token) == 1 or (len(token) <= 4 and token.isupper()):
                    self.index = index
                    yield start

    def ends(self) -> list[int]:
        """Offsets where an id that begins with the token `index` may end, longest first."""
        ends: list[int] = []
        index = self.index
        length, wanted = 0, self._sums[index] + _MIN_DIGITS
        for token_count, (start, end) in enumerate(self.tokens[index : index + _MAX_TOKENS], index + 1):
            length += end - start
            if length > _MAX_CHARS:
                break
            if length >= _MIN_CHARS and self._sums[token_count] >= wanted:
                ends.append(end)
        ends.reverse()
        return ends


def beginnings(text: bytes, words: Sequence[int], budget: WorkBudget) -> Iterator[tuple[int, Chain | int]]:
    """(offset where an id behind a word may begin, its chain), in order; for a single token, its end instead of a
    chain.

    `words` are the ends of words that name ids, in order. Raises BudgetExceeded.
    """
    digits = digit_classes(text) if words else b""
    for start, stop in _search_ranges(words):
        budget.spend((stop - start) // 12)
        for match in _CHAIN.finditer(text, start, stop):
            low, high = match.span()
            if high - low < _MIN_CHARS or digits.count(b"d", low, high) < _MIN_DIGITS:
                continue
            if words[bisect_right(words, high) - 1] < low - REACH_CHARS:
                continue
            if text[low:high].isalnum():
                budget.spend(2)
                if high - low <= _MAX_CHARS:
                    yield low, high
                continue
            advance_charge = (high - low) // 2  # before the chain is built, as it may be as long as the text
            budget.spend(6 + advance_charge)
            chain = Chain(text, digits, low, high)
            budget.spend(max(0, 3 * len(chain.tokens) - advance_charge))
            for offset in chain.beginnings(text):
                yield offset, chain


def _search_ranges(words: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The windows behind the words, overlapping ones merged."""
    start = stop = -1
    for word in words:
        if word > stop:
            if stop >= 0:
                yield start, stop
            start = word
        stop = word + WINDOW_CHARS
    if stop >= 0:
        yield start, stop


# ----------------------------------------------------------------------------------------------------
# Decides whether a word names the number behind it, and how certainly: right behind its label, or only near.
#
# Knows the forms of numbers without a checksum (`FORMS`), which count right behind their label alone.
FORM_PATTERNS = {name: re.compile(form.encode(), re.IGNORECASE) for name, _, form in FORMS}
_STRICT_FORM = "gb.nino"
"""The one of FORMS that is distinctive enough to be likely when its name is only near."""
AMBIGUOUS_WORDS = frozenset(View(word).lower for word in AMBIGUOUS)
NO_LABEL_BEFORE = frozenset(bytes([mark]) for mark in b"-/.@\\$%")
_MAX_GAP_CHARS = 32
"""A colon, quotation marks of JSON or Markdown, `number is`."""
_LABEL_GAP = re.compile(
    rb"[\s\"'`*_|>()\[\].:=#&;-]{0,8}(?:(?:no|nr|num|number|nummer|numero|n\x03?|id|code|is|was|ist|est|es|lautet|e|de|du|der|card|quot)"
    rb"(?![a-z])[\s\"'`*_|>()\[\].:=#&;-]{0,6}){0,4}"
)
_SIGN = re.compile(rb"[:=#\"']|\bn\x03|\b(?:no|nr|num|number|nummer|numero|is|ist|est|es)\b")
NO_ID = re.compile(
    rb"\A(?:(?:19|20)\d\d[-./ ][01]?\d[-./ ][0-3]?\d.*|[0-3]?\d[-./][01]?\d[-./](?:19|20)\d\d"  # dates
    rb"|(?:(?:100644|100755|120000|160000|040000|000000)[ .]*+|(?!))++"  # modes of git
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
    if NO_ID.fullmatch(value) or len(set(value)) < 3 or value.translate(None, _SEPARATORS).upper() in IDS:
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


# ----------------------------------------------------------------------------------------------------
# Finds United States social security numbers in runs of digits: nine digits as 3-2-4, or in any groups near a word.
_SSN = re.compile(rb"(?<!\d)\d{3}[ ./_()\t-]{1,2}\d{2}[ ./_()\t-]{1,2}\d{4}(?!\d)")
SSN_WORDS = re2.compile(rb"\bssn\b|social.security|\bss#")
SSN_HINTS = (b"ssn", b"social", b"ss#")
"""A text with none of these has none of SSN_WORDS; substrings are searched faster than the pattern."""


def find_ssns(run: DigitRun, words: WordIndex) -> list[Finding]:
    """US social security numbers in a run of nine digits or more: 3-2-4 digits with dashes, or any groups near a word.

    `words` is the index of SSN_WORDS.
    """
    if len(run.digits) == 9:
        has_word = _has_word(words, run.start, run.end)
        is_match = run.is_bounded and _is_ssn(run.digits) and (_has_dashes(run.raw) or has_word)
        return [Finding(run.start, run.end, "US_SSN", has_word)] if is_match else []
    findings: list[Finding] = []
    if run.is_grouped:
        for match in _SSN.finditer(run.text, run.start, run.end):
            start, end = match.span()
            has_word = _has_word(words, start, end)
            if _is_ssn(run.digits_between(start, end)) and (_has_dashes(match.group()) or has_word):
                findings.append(Finding(start, end, "US_SSN", has_word))
    return findings


def _has_word(words: WordIndex, start: int, end: int) -> bool:
    return words.before(start, REACH_CHARS) or words.after(end, 2)


def _has_dashes(raw: bytes) -> bool:
    return len(raw) == 11 and raw[3:4] == raw[6:7] == b"-"


def _is_ssn(digits: bytes) -> bool:
    """Not one of the ranges that are never issued: 000, 666 and 900 to 999 as area, 00 as group, 0000 as serial
    number."""
    if digits in IDS:
        return False
    return digits[:3] not in (b"000", b"666") and digits[:1] != b"9" and digits[3:5] != b"00" and digits[5:] != b"0000"


_MAX_CHECKS, _CHECK_UNITS = 600, 11
"""Checks of one text, and what each costs (4 µs); later numbers behind a word count as valid."""
_OTHER_SCRIPT_ROW = re.compile(rb"[^\s0-9:=.,;]{1,64}")
_OTHER_SCRIPT = (b"\x02", b"\x04", b"\x05", b"\x06", b"\x07")
"""The folded letters of words in scripts without Latin twins: LETTER and the signs of `folding`."""
_FOUR_DIGITS = re.compile(rb"\d(?:[^0-9]*\d){3}")


@functools.cache
def identities() -> "Identities":
    """The one of this process, made at the first text: it takes 1.5 MiB, and 4 ms (measured 2026-11-22)."""
    return Identities()


class Identities:
    """The table of countries, compiled for searching."""

    def __init__(self) -> None:
        by_word: dict[bytes, list[str]] = {}
        self._checks: dict[str, _Check | FormCheck] = {}
        names = [*COUNTRIES, *((name, words) for name, words, _ in FORMS)]
        for module, words in names:
            for word in _spellings(words):
                # capitals can fold to another Latin letter than the small ones
                for spelling in {View(word).lower, View(word.upper()).lower}:
                    by_word.setdefault(spelling, []).append(module)
        other_script = {
            word
            for _, words in names
            for word in words.split(",")
            if any(View(each).lower.endswith(_OTHER_SCRIPT) for each in (word, word.upper()))
        }
        self._other_script_words = sorted(other_script, key=len)
        self._by_word = {word: tuple(modules) for word, modules in by_word.items()}
        sorted_words = sorted(self._by_word, key=len, reverse=True)
        self._longest = len(sorted_words[0]) + 2
        ends = (re2.escape(word) + (b"" if word.endswith(_OTHER_SCRIPT) else b"(?:\\b|_)") for word in sorted_words)
        pattern = b"(?:^|[^a-z0-9])(?:" + b"|".join(ends) + b")"
        self._find_word = searcher(re2.compile(pattern))

    def _load_check(self, module: str) -> "_Check | FormCheck":
        """A country's check. Its module is imported when one of its words is first found, as most never are."""
        check = self._checks.get(module)
        if check is None:
            form = FORM_PATTERNS.get(module)
            check = self._checks[module] = FormCheck(form) if form else _Check(module)
        return check

    def find(self, view: View, budget: WorkBudget) -> Iterator[Finding]:
        """Findings of the entity NATIONAL_ID, in order, in folded offsets. Raises BudgetExceeded.

        Each place where an id may begin is checked once, by the countries of all words within reach before it; a valid
        number uses up the words of its country.
        """
        text = view.folded
        words = self._find_words(view, budget)
        check_count, last_end, next_word = 0, 0, 0
        open_words: list[IdWord] = []
        for start, tokens in beginnings(text, [word.end for word in words], budget):
            while next_word < len(words) and words[next_word].end <= start:
                open_words.append(words[next_word])
                next_word += 1
            while open_words and start - open_words[0].end > REACH_CHARS:
                del open_words[0]
            if start < last_end or not open_words:
                continue
            ends = [tokens] if isinstance(tokens, int) else tokens.ends()
            if check_count > _MAX_CHECKS:
                budget.spend(3)
                size, certain, module = (ends[0] - start if ends else 0), False, ""
                if all(word.is_ambiguous for word in open_words) or NO_ID.fullmatch(text[start : start + size]):
                    size = 0
            else:
                modules = _modules_of(open_words)
                budget.spend(1 + len(ends) + len(open_words))
                size, module, checked = self._first_valid(text, start, ends, modules)
                budget.spend(_CHECK_UNITS * checked)
                check_count += checked
                size, certain = accept(text, (start, size), module, open_words) if size else (0, False)
            if size:
                last_end = start + size
                yield Finding(start, last_end, "NATIONAL_ID", certain)
                open_words = [word for word in open_words if module not in word.modules] if module else []

    def _first_valid(
        self, text: bytes, start: int, ends: Iterable[int], modules: Iterable[str]
    ) -> tuple[int, str, int]:
        """(size of the number at `start`, the module that accepts it, checks made); size 0 where none does."""
        checked = 0
        for end in ends:
            value = text[start:end].decode()
            for module in modules:
                checked += 1
                if self._load_check(module).is_valid(value):
                    return end - start, module, checked
        return 0, "", checked

    def _find_words(self, view: View, budget: WorkBudget) -> "list[IdWord]":
        """The words with at least four digits in the window behind them, in order."""
        lower, at = view.lower, 0
        words: list[IdWord] = []
        digits = b""
        while True:
            start, end = self._find_word(lower, at)
            if start < 0:
                break
            budget.spend(5)
            digits = digits or digit_classes(lower)
            if digits.count(b"d", end, end + WINDOW_CHARS) < 4:
                fourth = _FOUR_DIGITS.search(lower, end)
                if fourth is None:
                    break
                at = max(end, fourth.end() - WINDOW_CHARS - self._longest)
                continue
            at = end
            word = lower[start:end].rstrip(b"_")
            if word not in self._by_word:
                start, word = start + 1, word[1:]
            is_ambiguous = word in AMBIGUOUS_WORDS
            if is_ambiguous and (lower[start - 1 : start] in NO_LABEL_BEFORE or not is_followed_by_number(lower, end)):
                continue  # a part of a path, a domain or an option; or no label
            if word.endswith(_OTHER_SCRIPT):
                original = self._original_word(view, start, end, budget)
                if original is None:
                    continue
                at, end, word = original
            if word in self._by_word:
                is_sign = is_ambiguous and not view.folded[start : start + len(word)].isupper()
                words.append(IdWord(end, self._by_word[word], is_ambiguous, is_sign))
        return words

    def _original_word(self, view: View, start: int, end: int, budget: WorkBudget) -> tuple[int, int, bytes] | None:
        """(where to search on, end, folded word) of the last word of the table in another script in the row of its
        letters around [start, end): all words of one length fold to the same bytes. None when there is none."""
        row = _OTHER_SCRIPT_ROW.match(view.folded, start)
        row_end = max(end, row.end()) if row else end
        budget.spend(14)
        first, last = view.origin(start, row_end)
        row_text = view.text[first:last].lower()
        found = [(row_text.rfind(word) + len(word), word) for word in self._other_script_words if word in row_text]
        if not found:
            return None
        word_end, word = max(found, key=lambda each: (each[0], len(each[1])))
        return row_end, min(row_end, start + word_end), View(word).lower


def _spellings(words: str) -> Iterator[str]:
    """The words of a table, and those of several parts as programs write them: `passportNumber`, `passport_number`."""
    for word in words.split(","):
        yield word
        if word.count(" ") and word.isascii() and word not in AMBIGUOUS and len(word) >= _MIN_JOINED_CHARS:
            yield word.replace(" ", "")
            yield word.replace(" ", "_")


_MIN_JOINED_CHARS = 10
"""Shorter words joined (`nino`, `dlno`) are parts of other words."""


def _modules_of(words: Iterable[IdWord]) -> tuple[str, ...]:
    """The modules of all words, in order, each once."""
    kinds = {id(word.modules): word.modules for word in words}
    return tuple(dict.fromkeys(chain.from_iterable(kinds.values())))


class _Check:
    """One python-stdnum module. All of the package is imported for the first: it takes a MiB with what it needs."""

    __slots__ = ("_is_valid",)

    def __init__(self, module: str) -> None:
        self._is_valid: Callable[[str], bool] = importlib.import_module(f"stdnum.{module}").is_valid

    def is_valid(self, value: str) -> bool:
        """Whether the check accepts the value; some modules raise on values that do not have their number's form."""
        try:
            return self._is_valid(value)
        except (ValueError, IndexError, KeyError, TypeError):
            return False
