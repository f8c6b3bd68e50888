"""Finds national identity, social security and personal tax numbers: a word that names the number, then a
valid one.

The checks are python-stdnum's. A number without its word is never reported, as some country accepts almost any row of
digits. To add a country, add a line to `id_countries`.
"""

import functools
import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import re2

from gateway.sanitize.detectors.id_candidates import REACH_CHARS, WINDOW_CHARS, beginnings, digit_classes
from gateway.sanitize.detectors.id_countries import AMBIGUOUS, COUNTRIES, FORMS
from gateway.sanitize.detectors.id_labels import (
    AMBIGUOUS_WORDS,
    FORM_PATTERNS,
    NO_ID,
    NO_LABEL_BEFORE,
    FormCheck,
    IdWord,
    accept,
    is_followed_by_number,
)
from gateway.sanitize.detectors.re2_search import searcher
from gateway.sanitize.text.findings import Finding
from gateway.sanitize.text.folding import View
from gateway.sanitize.text.work_budget import WorkBudget

_MAX_CHECKS = 200
"""Checks by python-stdnum in one text, at about 12 units (4 µs) each; later numbers behind a word count as valid.
Chosen: at half long lists of ids are masked unchecked sooner; at double hostile texts use up to 4,800 units."""
_LENGTH_SAMPLES = (
    "9" * 22, "0" * 22, "8101013456789012345678", "3051299763840516273849", "2620715088436192750364",
    "5507298341650982731640", "7416385290174638529017", *("0" * zeros + "1234567890" * 3 for zeros in range(21)),
)  # fmt: skip
"""Rows of digits, cut to a length, to find out whether a check refuses every number of that length."""
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
        checks: _CheckSet | None = None
        check_sets: dict[tuple[str, ...], _CheckSet] = {}
        for start, tokens in beginnings(text, [word.end for word in words], budget):
            while next_word < len(words) and words[next_word].end <= start:
                open_words.append(words[next_word])
                next_word, checks = next_word + 1, None
            while open_words and start - open_words[0].end > REACH_CHARS:
                del open_words[0]
                checks = None
            if start < last_end or not open_words:
                continue
            ends = [tokens] if isinstance(tokens, int) else tokens.ends()
            if check_count > _MAX_CHECKS:
                budget.spend(3)
                size, certain = (ends[0] - start if ends else 0), False
                if all(word.is_ambiguous for word in open_words) or NO_ID.fullmatch(text[start : start + size]):
                    size = 0
                module = ""
            else:
                if checks is None:
                    budget.spend(len(open_words))
                    modules = _modules_of(open_words)
                    checks = check_sets.get(modules)
                    if checks is None:
                        budget.spend(4 * len(modules))
                        checks = _CheckSet([(module, self._load_check(module)) for module in modules])
                        check_sets[modules] = checks
                budget.spend(1 + len(ends))
                size, module, checked, cost = checks.first_valid(text, start, ends)
                check_count += checked
                budget.spend(cost)
                size, certain = accept(text, (start, size), module, open_words) if size else (0, False)
            if size:
                last_end = start + size
                yield Finding(start, last_end, "NATIONAL_ID", certain)
                open_words = [word for word in open_words if module not in word.modules] if module else []
                checks = None

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
"""Chosen: shorter words joined (`nino`, `dlno`) are parts of other words; at half many are, at double `passportno` is
not found."""


def _modules_of(words: Iterable[IdWord]) -> tuple[str, ...]:
    """The modules of all words, in order, each once."""
    kinds = {id(word.modules): word.modules for word in words}
    return tuple(dict.fromkeys(chain.from_iterable(kinds.values())))


class _Check:
    """One python-stdnum module. All of the package is imported for the first: it takes a MiB with what it needs."""

    __slots__ = ("_is_valid", "_lengths", "_validate", "_wrong_length")

    def __init__(self, module: str) -> None:
        checker = importlib.import_module(f"stdnum.{module}")
        self._wrong_length: type[Exception] = importlib.import_module("stdnum.exceptions").InvalidLength
        self._is_valid: Callable[[str], bool] = checker.is_valid
        self._validate: Callable[[str], str] = checker.validate
        self._lengths: dict[int, bool] = {}

    def is_valid(self, value: str) -> bool:
        """Whether the check accepts the value; some modules raise on values that do not have their number's form."""
        try:
            return self._is_valid(value)
        except (ValueError, IndexError, KeyError, TypeError):
            return False

    def accepts_length(self, size: int) -> bool:
        """Whether a number of `size` digits alone can be valid: not every sample of that length is refused for it."""
        accepts = self._lengths.get(size)
        if accepts is None:
            accepts = not all(self._refuses_length(sample[:size]) for sample in _LENGTH_SAMPLES)
            self._lengths[size] = accepts
        return accepts

    def _refuses_length(self, value: str) -> bool:
        try:
            self._validate(value)
        except self._wrong_length:
            return True
        except (ValueError, IndexError, KeyError, TypeError):
            return False
        return False


class _CheckSet:
    """The checks of some countries; those that accept a number of digits are selected once for each number."""

    __slots__ = ("_by_size", "_checks")

    def __init__(self, checks: list[tuple[str, _Check | FormCheck]]) -> None:
        self._checks = checks
        self._by_size: dict[int, list[tuple[str, _Check | FormCheck]]] = {0: checks}

    def first_valid(self, text: bytes, start: int, ends: Iterable[int]) -> tuple[int, str, int, int]:
        """(size of the number at `start`, module that accepts it, checks by python-stdnum, units of all checks); size 0
        and module "" when none does."""
        checked = cost = 0
        for end in ends:
            value = text[start:end].decode()
            size = end - start if value.isdigit() else 0
            checks = self._by_size.get(size)
            if checks is None:
                checks = self._by_size[size] = [each for each in self._checks if each[1].accepts_length(size)]
            for module, check in checks:
                if isinstance(check, FormCheck):
                    cost += 2
                else:
                    checked, cost = checked + 1, cost + 11
                if check.is_valid(value):
                    return end - start, module, checked, cost
        return 0, "", checked, cost
