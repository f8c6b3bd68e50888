"""Finds keys and tokens in the forms of their vendors, and private keys in PEM.

Naive form: search the text for every pattern of `vendor_tokens`, which finds the same tokens (a test compares them).
Here one search finds all literal prefixes (or, for patterns without one, their inner marks), and only the patterns with
that prefix are matched there, each over a bounded slice. One automaton of all patterns is no alternative: text made for
the purpose makes it use more states than its memory allows.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from itertools import pairwise

import re2

from gateway.sanitize.detectors.harmless import harmless_words, is_published_secret
from gateway.sanitize.detectors.value_forms import (
    alternates_kinds,
    has_high_entropy,
    is_identifier,
    is_program_name,
    is_publishable,
    is_random,
)
from gateway.sanitize.text import Finding, Pattern, View, WorkBudget, searcher, spans

# ----------------------------------------------------------------------------------------------------
# Patterns of the keys and tokens that vendors issue. Data only; `secret_tokens` searches for them.
#
# Each pattern is distinctive (a prefix, a length, an alphabet), so that no word needs to name the token.
# `secret_tokens`
# adds that neither neighbour is a letter or digit. Sources: the vendors' documentation of their token formats, read
# 2026-11.


def _rows() -> list[list[str]]:
    """The rows of `vendor_tokens.txt`: [maker, pattern], and a mark for patterns without a literal prefix."""
    text = resources.files(__package__).joinpath("vendor_tokens.txt").read_text()
    return [line.split("\t") for line in text.splitlines() if not line.startswith("#")]


VENDORS = tuple((row[0], row[1]) for row in _rows())
"""(maker, pattern)."""
INNER_MARKS = {row[0]: row[2] for row in _rows() if len(row) > 2}
"""{maker: pattern of a distinctive part} for the patterns that begin with no literal prefix."""

# ----------------------------------------------------------------------------------------------------
# The literal prefixes of a regular expression: those of `gh[op]_[A-Z]{36}` are `gho_` and `ghp_`. Pure.
#
# Used to search a text for all prefixes at once and to match a pattern only where one is found. Naive form: search
# the
# text for each pattern, which finds the same; a test compares them. Parses only the part of the regular expression
# language that `vendor_tokens` uses, and ends a prefix at the first element that is not a fixed spelling.
_MAX_PREFIXES = 64
"""Chosen: prefixes of one pattern; an element that would multiply them beyond this ends them. Few forms of the table
come near it; at half some prefixes would be shorter and match more often by chance, at double the automaton grows."""
_MAX_CHOICES = 8
"""Chosen: members of a character class that are listed as alternatives, for the same reason."""
_MAX_PREFIX_CHARS = 8
"""Chosen: longer prefixes are cut: eight characters are hardly ever met by chance, and more make a larger automaton."""


def literal_prefixes(form: str) -> list[str]:
    """The prefixes of which every match of the pattern `form` has one; `[""]` when it begins with no fixed spelling."""
    return [prefix for prefix, _ in _prefixes(form)]


def _prefixes(form: str) -> list[tuple[str, bool]]:
    """(prefix, whether it is the whole of the alternative) for each alternative of `form`."""
    prefixes: list[tuple[str, bool]] = []
    for alternative in alternatives(form):
        prefixes += _sequence_prefixes(alternative)
    return prefixes


def _sequence_prefixes(form: str) -> list[tuple[str, bool]]:
    """As `_prefixes`, for a pattern without alternatives on its outermost level."""
    growing, complete = [""], True
    ended: list[str] = []
    index = 0
    while index < len(form) and complete:
        choices, index = _element(form, index)
        optional = form[index : index + 1] == "?"
        repeated = form[index : index + 1] in ("*", "+", "{")
        if choices is None or repeated or len(growing) * len(choices) > _MAX_PREFIXES:
            complete = False
            break
        index += optional
        grown = [(prefix + choice, whole) for prefix in growing for choice, whole in choices]
        ended += [prefix for prefix, whole in grown if not whole or len(prefix) >= _MAX_PREFIX_CHARS]
        growing = [prefix for prefix, whole in grown if whole and len(prefix) < _MAX_PREFIX_CHARS] + (
            growing if optional else []
        )
        complete = bool(growing)
    return [(prefix, False) for prefix in ended] + [(prefix, complete) for prefix in growing]


def _element(form: str, index: int) -> tuple[list[tuple[str, bool]] | None, int]:
    """The spellings of the element at `index` (None when they cannot be listed) and where it ends."""
    char = form[index]
    if char == "\\":
        fixed = not form[index + 1].isalnum()
        return ([(form[index + 1], True)] if fixed else None), index + 2
    if char == "[":
        end = form.index("]", index)
        chars = form[index + 1 : end]
        can_list = "-" not in chars and len(chars) <= _MAX_CHOICES
        return ([(each, True) for each in chars] if can_list else None), end + 1
    if char == "(":
        end = _closing_bracket(form, index)
        return _prefixes(form[index + 3 : end]), end + 1
    return ([(char, True)] if char not in ".^$" else None), index + 1


def _closing_bracket(form: str, index: int) -> int:
    depth = 0
    for offset in _operator_indexes(form, index):
        depth += {"(": 1, ")": -1}.get(form[offset], 0)
        if depth == 0:
            return offset
    raise ValueError(f"no closing bracket in the pattern {form!r}")


def _operator_indexes(form: str, start: int) -> list[int]:
    """Indexes from `start` on whose characters are neither escaped nor inside a character class."""
    indexes, in_class = [], False
    while start < len(form):
        if form[start] == "\\":
            start += 2
            continue
        if not in_class:
            indexes.append(start)
        in_class = form[start] == "[" if not in_class else form[start] != "]"
        start += 1
    return indexes


def alternatives(form: str) -> list[str]:
    """The alternatives of the pattern's outermost level, in order."""
    parts, depth, begin = [], 0, 0
    for index in _operator_indexes(form, 0):
        depth += {"(": 1, ")": -1}.get(form[index], 0)
        if form[index] == "|" and depth == 0:
            parts.append(form[begin:index])
            begin = index + 1
    return [*parts, form[begin:]]


MIN_WORD_CHARS = 16
"""The shortest token of the table (Alibaba Cloud); shorter matches are words that only begin like one."""
_WORD_CHARS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/=.:|!~%$@&?#,")
_CLASS = bytes(0x74 if code in _WORD_CHARS else 0x20 for code in range(256))
_DIGIT_OR_UNDERSCORE = re.compile(rb"[0-9_]")
_MIN_PREFIX_CHARS = 2
"""Patterns with a shorter prefix are match by their inner mark: one character matches everywhere."""
_MAX_TOKEN_CHARS = 4096
"""Chosen: characters matched from a prefix on; longer tokens are not mark. At half long JSON web tokens are lost; at
double a text of prefixes costs more than is charged for it."""
_BEFORE_MARK_CHARS, _BEHIND_MARK_CHARS = 128, 384
"""Chosen: characters beside an inner mark that are searched. Azure storage has 76 before its mark, so at half it is
lost; at double each mark costs twice as much."""


def _without_upper_bound(repeat: re.Match[str]) -> str:
    """Remove a pattern's upper bound at its end: vendors lengthen their keys, and the word's end bounds the match
    too."""
    least, most = int(repeat[1]), int(repeat[2])
    return f"{{{least},}}" if most - least >= 12 else repeat[0]


_FORMS = tuple(
    (name, re.sub(r"\{(\d+),(\d+)\}(?=$|\)|=\{)", _without_upper_bound, form))
    for name, forms in VENDORS
    for form in alternatives(forms)
)
_PREFIXED = tuple(
    (prefix, form)
    for _, form in _FORMS
    if min(map(len, literal_prefixes(form))) >= _MIN_PREFIX_CHARS
    for prefix in literal_prefixes(form)
)
_PREFIX = re2.compile(
    (
        "(?:^|[^A-Za-z0-9])(?:"
        + "|".join(re.escape(prefix) for prefix in sorted({prefix for prefix, _ in _PREFIXED}))
        + ")"
    ).encode()
)
_FIND_PREFIX = searcher(_PREFIX)
_MARKED = tuple(
    (re.compile(INNER_MARKS[name].encode()), form)
    for name, form in _FORMS
    if min(map(len, literal_prefixes(form))) < _MIN_PREFIX_CHARS
)
_MARK = re2.compile("|".join(sorted(set(INNER_MARKS.values()))).encode())
_FIND_MARK = searcher(_MARK)
_LETTERS_ONLY = (b"SG.", b"AKIA", b"ASIA", b"ABIA", b"ACCA")
"""Prefixes that no word has, behind which all characters may be letters."""
_AWS_IDS = (b"AKIA", b"ASIA")
_AWS_SECRET = re.compile(
    rb"[\"']?(?:\t[0-9T:+Z-]{10,30}(?=\t))?"
    rb"(?:[ \t]{0,3}[:,;|][ \t]{0,3}|[ \t]{1,3})[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"
)
"""A secret access key right behind its id, as in a console's export and in `.passwd-s3fs`."""
_FILLER = re.compile(rb"x{5}|X{5}|(?<![A-Za-z])(?:your|Your|YOUR)|(?i:placeholder)")
"""A placeholder for a token in documentation, with the maker's prefix. Shorter rows and letters of both cases come in
random tokens (one in 1,000)."""
_MIN_DIFFERENT = 8
"""Chosen: 24 random hexadecimal characters have 12.5 different ones on average, rarely fewer than eight. At half
`aaaabbbbcccc` is certain; at double hexadecimal tokens never are."""


def find_secret_tokens(view: View, budget: WorkBudget) -> Iterator[Finding]:
    """Findings of the entity SECRET, in folded offsets. Raises BudgetExceeded."""
    text = view.folded
    yield from _find_tailed(text, budget)
    matches = [*_find_prefixed(text, budget), *_find_marked(text, budget)]
    for start, end in matches:
        while text[end : end + 1] == b"=":
            end += 1
        while text[end - 1 : end] == b".":
            end -= 1  # the end of a sentence
        if _is_in_token_word(text, start, end):
            value = text[start:end]
            if not is_published_secret(value) and not _FILLER.search(value):
                certain = not is_publishable(value) and _is_drawn_at_random(value)
                yield Finding(start, end, "SECRET", certain)
                beside = _AWS_SECRET.match(text, end) if value.startswith(_AWS_IDS) else None
                if (
                    beside is not None
                    and not is_published_secret(beside.group(1))
                    and has_high_entropy(beside.group(1))
                ):
                    yield Finding(*beside.span(1), "SECRET")


_TAILED = re2.compile(
    rb"(?:^|[^A-Za-z0-9_./%+-])[A-Za-z][A-Za-z0-9]{1,11}(?:[_-][A-Za-z0-9]{2,8}){0,2}[_.-][A-Za-z0-9]{20}"
)
_FIND_TAILED = searcher(_TAILED)
_TAILED_WORD = re.compile(
    rb"([A-Za-z][A-Za-z0-9]{1,11}(?:[_-][A-Za-z0-9]{2,8}){0,2})([_.-])([A-Za-z0-9]{20,200})(?![A-Za-z0-9_-])"
)
_FILE_GOES_ON = re.compile(rb"[.@/\\][A-Za-z0-9]|\(")
_KEY_WORDS = frozenset(
    b"sk ak ek rk pk key keys api apikey token tok secret pat access auth live prod test bearer pass pwd".split()
)
"""Parts of a prefix by which makers say that a key follows."""
_ID_WORDS = harmless_words("id-prefix")
"""Prefixes of ids, digests and files: what follows names a thing and opens nothing. `call_…`, `msg_…`, `chatcmpl-…` are
those of models' answers, `vpc-…` those of clouds, `sha256-…` that of digests."""


def _find_tailed(text: bytes, budget: WorkBudget) -> Iterator[Finding]:
    """Keys of makers that are not in the table: a short prefix, a sign, and a long random tail."""
    for start, _ in spans(_FIND_TAILED, text):
        budget.spend(4)
        start += not text[start : start + 1].isalpha()
        word = _TAILED_WORD.match(text, start)
        if word is None or _FILE_GOES_ON.match(text, word.end()):
            continue
        prefix, sign, tail = word.groups()
        budget.spend(2 + len(tail) // 16)
        if _FILLER.search(word.group()) or not (prefix.islower() or prefix.isupper()):
            continue  # `Ri_Az…` is one random word
        words = set(re.split(rb"[_-]", prefix.lower()))
        is_key = not words.isdisjoint(_KEY_WORDS)
        if (not is_key and not words.isdisjoint(_ID_WORDS)) or not _is_random_tail(tail, sign):
            continue
        if not is_published_secret(word.group()):
            yield Finding(*word.span(), "SECRET", is_key and not is_publishable(word.group()))


def _is_random_tail(tail: bytes, sign: bytes) -> bool:
    """Whether letters and digits change as in a drawn key."""
    if not _is_drawn_at_random(tail):
        return False
    digits = len(tail) - len(tail.translate(None, b"0123456789"))
    if not tail.islower() and not tail.isupper():
        return digits > 1 and alternates_kinds(tail, 16)
    return sign == b"_" and len(tail) >= 32 and 8 <= digits <= len(tail) - 8


def _find_prefixed(text: bytes, budget: WorkBudget) -> Iterator[tuple[int, int]]:
    """Spans of tokens whose pattern has a literal prefix."""
    at = 0
    while True:
        start, end = _FIND_PREFIX(text, at)
        if start < 0:
            return
        if not text[start : start + 1].isalnum():
            start += 1
        at = end - 1  # the last character may be the one before the next prefix
        budget.spend(15)
        pattern = _patterns_with(text[start:end])
        match = pattern.match(text, start, start + _MAX_TOKEN_CHARS)
        if match is not None:
            yield match.span()
            at = max(at, match.end() - 1)


@lru_cache(1024)
def _patterns_with(prefix: bytes) -> re.Pattern[bytes]:
    """One pattern of all those that can match where `prefix` is match."""
    name = prefix.decode()
    forms = {form: None for each, form in _PREFIXED if each.startswith(name) or name.startswith(each)}
    return _compile("|".join(forms))


@lru_cache(64)
def _compile(form: str) -> re.Pattern[bytes]:
    return re.compile(f"(?<![A-Za-z0-9])(?:{form})(?![A-Za-z0-9])".encode())


@lru_cache(64)
def _linear_pattern(form: str) -> Pattern:
    return re2.compile(f"(?:^|[^A-Za-z0-9])({form})(?:[^A-Za-z0-9]|$)".encode())


def _find_marked(text: bytes, budget: WorkBudget) -> Iterator[tuple[int, int]]:
    """Spans of tokens whose pattern has no literal prefix, but a mark inside."""
    last_end = 0
    for place, _ in spans(_FIND_MARK, text):
        if place < last_end:
            continue
        low = max(0, place - _BEFORE_MARK_CHARS, last_end)
        budget.spend(16)
        for mark, form in _MARKED:
            if mark.match(text, place) is None:
                continue
            budget.spend(8)
            match = _linear_pattern(form).search(text, low, place + _BEHIND_MARK_CHARS)
            if match is not None and match.end(1) > place:
                yield match.span(1)
                last_end = match.end(1)
                break


def _is_in_token_word(text: bytes, start: int, end: int) -> bool:
    """Whether the word around [start, end) is long enough for a key and has a digit or `_`, which plain words have
    not."""
    low, high = max(0, start - 64), end + 64
    classes = text[low:high].translate(_CLASS)
    first = classes.rfind(b" ", 0, start - low) + 1 + low
    last = classes.find(b" ", end - low)
    last = high if last < 0 else last + low
    return last - first >= MIN_WORD_CHARS and (
        (_DIGIT_OR_UNDERSCORE.search(text, first, last) is not None and not _is_of_words(text[start:end]))
        or text.startswith(_LETTERS_ONLY, start)
        or _has_odd_capitals(text[start:end])
    )


def _is_of_words(token: bytes) -> bool:
    """Whether a token without digits is a name that begins like one: `test_interpolationmissingoptionerror`."""
    letters = token.replace(b"_", b"")
    return letters.isalpha() and (
        (letters.islower() and len(set(letters)) >= _MIN_DIFFERENT)
        or (not letters.islower() and is_program_name(token.rpartition(b"_")[2]))
    )


def _has_odd_capitals(token: bytes) -> bool:
    """Whether small and capital letters are mixed in another way than in the names that people make of words."""
    if token.islower() or token.isupper():
        return False
    tail = re.split(rb"[_.-]", token)[-1]
    few_vowels = len(tail) >= MIN_WORD_CHARS and 4 * len(_VOWELS.findall(tail)) < len(tail)
    return few_vowels or is_random(token) or not is_identifier(token)


_VOWELS = re.compile(rb"[AEIOUYaeiouy]")


def _is_drawn_at_random(token: bytes) -> bool:
    """Whether the token may have come from a maker's generator: at least eight different characters in its last 24, and
    no row of five that count up (`12345`, `abcde`) or are the same."""
    tail = token[-24:]
    if len(set(tail)) < _MIN_DIFFERENT:
        return False
    steps = bytes((second - first) & 0xFF for first, second in pairwise(tail))
    return b"\x01\x01\x01\x01" not in steps and b"\0\0\0\0" not in steps
