"""National identity, social security and personal tax numbers: a word that names the number, then one that checks out.

The checks are python-stdnum's; numbers alone are never reported, as some country accepts almost any row of digits.
Adding a country is a line in `id_countries`. US social security numbers have their own form and entity.
"""

import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

import re2
from stdnum.exceptions import InvalidLength

from gateway.sanitize.detectors.digit_runs import Run, Words
from gateway.sanitize.detectors.id_candidates import REACH, WINDOW, beginnings, digits_of
from gateway.sanitize.detectors.id_countries import COUNTRIES
from gateway.sanitize.detectors.re2_search import searcher
from gateway.sanitize.text.findings import Finding
from gateway.sanitize.text.folding import View
from gateway.sanitize.text.work_budget import WorkBudget

_MAX_TRIES = 200
_SAMPLES = (
    "9" * 22, "0" * 22, "8101013456789012345678", "3051299763840516273849", "2620715088436192750364",
    "5507298341650982731640", "7416385290174638529017", *("0" * zeros + "1234567890" * 3 for zeros in range(21)),
)  # fmt: skip
_UNSPELT = b"\x02"
_FOUR_DIGITS = re.compile(rb"\d(?:[^0-9]*\d){3}")
_SSN = re.compile(rb"(?<!\d)\d{3}[ ./_()\t-]{1,2}\d{2}[ ./_()\t-]{1,2}\d{4}(?!\d)")
SSN_WORDS = re2.compile(rb"\bssn\b|social.security|\bss#")
SSN_HINTS = (b"ssn", b"social", b"ss#")
"""Without one of these a text has none of the words, and that is sooner said."""


class Identities:
    """The table, compiled. `find` is what the scanner calls."""

    def __init__(self) -> None:
        by_word: dict[bytes, list[str]] = {}
        self._checks: dict[str, _Check] = {}
        for module, words in COUNTRIES:
            for word in words.split(","):
                for spelling in {View(word).lower, View(word.upper()).lower}:  # look-alikes differ by case
                    by_word.setdefault(spelling, []).append(module)
        self._unspelt = tuple(
            word for _, words in COUNTRIES for word in words.split(",") if View(word).lower.endswith(_UNSPELT)
        )
        self._by_word = {word: tuple(modules) for word, modules in by_word.items()}
        words_ = sorted(self._by_word, key=len, reverse=True)
        self._longest = len(words_[0]) + 2
        ends = (re2.escape(word) + (b"" if word.endswith(b"\x02") else b"(?:\\b|_)") for word in words_)
        pattern = b"(?:^|[^a-z0-9])(?:" + b"|".join(ends) + b")"
        self._find_word = searcher(re2.compile(pattern))

    def _check_of(self, module: str) -> "_Check":
        """A country's check; its module is loaded when its word is first met, as most never are."""
        check = self._checks.get(module)
        if check is None:
            check = self._checks[module] = _Check(module)
        return check

    def find(self, view: View, budget: WorkBudget) -> Iterator[Finding]:
        """Every token is looked at once, with all the words that stand before it; a word names one number.

        Past a number of checks, what stands behind a word like an id counts as one.
        """
        text = view.folded
        words = self._named(view, budget)
        tries, reached, first = 0, 0, 0
        waiting: list[_Named] = []
        asked: _Asked | None = None
        known: dict[tuple[str, ...], _Asked] = {}
        for start, tokens in beginnings(text, [word.end for word in words], budget):
            while first < len(words) and words[first].end <= start:
                waiting.append(words[first])
                first, asked = first + 1, None
            while waiting and start - waiting[0].end > REACH:
                del waiting[0]
                asked = None
            if start < reached or not waiting:
                continue
            ends = [tokens] if isinstance(tokens, int) else tokens.ends()
            if tries > _MAX_TRIES:
                budget.spend(3)
                size, valid = (ends[0] - start if ends else 0), ""
            else:
                if asked is None:
                    budget.spend(len(waiting))
                    modules = _all_modules(waiting)
                    asked = known.get(modules)
                    if asked is None:
                        budget.spend(4 * len(modules))
                        asked = known[modules] = _Asked([(module, self._check_of(module)) for module in modules])
                budget.spend(3 + len(ends))
                size, valid, tried = asked.valid(text, start, ends)
                tries += tried
                budget.spend(12 * tried)
            if size:
                reached = start + size
                yield Finding(start, reached, "NATIONAL_ID")
                waiting = [word for word in waiting if valid not in word.modules] if valid else []
                asked = None

    def _named(self, view: View, budget: WorkBudget) -> "list[_Named]":
        """The words with enough digits behind them."""
        lower, at = view.lower, 0
        words: list[_Named] = []
        digits = b""
        while True:
            start, end = self._find_word(lower, at)
            if start < 0:
                break
            budget.spend(8)
            digits = digits or digits_of(lower)
            if digits.count(b"d", end, end + WINDOW) < 4:
                fourth = _FOUR_DIGITS.search(lower, end)
                if fourth is None:
                    break
                at = max(end, fourth.end() - WINDOW - self._longest)
                continue
            at = end
            word = lower[start:end].rstrip(b"_")
            modules = self._by_word.get(word) or self._by_word[word[1:]]
            if not word.endswith(_UNSPELT) or self._is_written(view, start, end):
                words.append(_Named(end, modules))
        return words

    def _is_written(self, view: View, start: int, end: int) -> bool:
        """Whether one of the words of another script stands there: folded, all such words of a length look alike."""
        first, last = view.origin(start, end)
        return view.text[first:last].strip(" _").lower().endswith(self._unspelt)


class _Named(NamedTuple):
    """A word that ends at `end` and the countries it speaks of."""

    end: int
    modules: tuple[str, ...]


def _all_modules(words: Iterable[_Named]) -> tuple[str, ...]:
    """All that the words speak of, in order; the same word often stands there more than once."""
    kinds = {id(word.modules): word.modules for word in words}
    return tuple(dict.fromkeys(chain.from_iterable(kinds.values())))


class _Check:
    """A country's check."""

    __slots__ = ("_is_valid", "_lengths", "_validate")

    def __init__(self, module: str) -> None:
        checker = importlib.import_module(f"stdnum.{module}")
        self._is_valid: Callable[[str], bool] = checker.is_valid
        self._validate: Callable[[str], str] = checker.validate
        self._lengths: dict[int, bool] = {}

    def passes(self, value: str) -> bool:
        """Some checks stumble over what has not even their number's form, letters among its digits say."""
        try:
            return self._is_valid(value)
        except (ValueError, IndexError, KeyError, TypeError):
            return False

    def may_have(self, size: int) -> bool:
        """Whether its number may be so many digits and nothing else: not all of them are refused for their length."""
        may = self._lengths.get(size)
        if may is None:
            may = self._lengths[size] = not all(self._is_too_long(sample[:size]) for sample in _SAMPLES)
        return may

    def _is_too_long(self, value: str) -> bool:
        try:
            self._validate(value)
        except InvalidLength:
            return True
        except (ValueError, IndexError, KeyError, TypeError):
            return False
        return False


class _Asked:
    """The checks of the countries that some words speak of."""

    __slots__ = ("_by_size", "_checks")

    def __init__(self, checks: list[tuple[str, _Check]]) -> None:
        self._checks = checks
        self._by_size: dict[int, list[tuple[str, _Check]]] = {0: checks}

    def valid(self, text: bytes, start: int, ends: Iterable[int]) -> tuple[int, str, int]:
        """(size of the number that begins at `start`, whose check it passes, checks made); 0, "" for none."""
        tried = 0
        for end in ends:
            value = text[start:end].decode()
            size = end - start if value.isdigit() else 0
            checks = self._by_size.get(size)
            if checks is None:
                checks = self._by_size[size] = [each for each in self._checks if each[1].may_have(size)]
            for module, check in checks:
                tried += 1
                if check.passes(value):
                    return end - start, module, tried
        return 0, "", tried


def find_ssns(run: Run, words: Words) -> list[Finding]:
    """US social security numbers: 3-2-4 with dashes, or any spelling beside the words, in a run of nine digits or more.

    Without words a run that lacks two dashes has none.
    """
    if len(run.digits) == 9:
        is_one = run.is_bounded and _is_ssn(run.digits) and (_dashed(run.raw) or _named(words, run.start, run.end))
        return [Finding(run.start, run.end, "US_SSN")] if is_one else []
    found: list[Finding] = []
    if run.is_grouped:
        for match in _SSN.finditer(run.text, run.start, run.end):
            start, end = match.span()
            if _is_ssn(run.digits_between(start, end)) and (_dashed(match.group()) or _named(words, start, end)):
                found.append(Finding(start, end, "US_SSN"))
    return found


def _named(words: Words, start: int, end: int) -> bool:
    return words.before(start, REACH) or words.after(end, 2)


def _dashed(raw: bytes) -> bool:
    return len(raw) == 11 and raw[3:4] == raw[6:7] == b"-"


def _is_ssn(digits: bytes) -> bool:
    return digits[:3] not in (b"000", b"666") and digits[:1] != b"9" and digits[3:5] != b"00" and digits[5:] != b"0000"
