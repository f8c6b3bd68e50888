"""Finds keys and tokens in the forms of their vendors, and private keys in PEM.

Naive form: search the text for every pattern of `vendor_tokens`, which finds the same tokens (a test compares them).
Here one search finds all literal prefixes (or, for patterns without one, their inner marks), and only the patterns with
that prefix are matched there, each over a bounded slice. One automaton of all patterns is no alternative: text made for
the purpose makes it use more states than its memory allows.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import re2

from gateway.sanitize.detectors.literal_prefixes import alternatives, literal_prefixes
from gateway.sanitize.detectors.password_hashes import HASHES
from gateway.sanitize.detectors.published_examples import is_published_secret
from gateway.sanitize.detectors.re2_search import Pattern, searcher, spans
from gateway.sanitize.detectors.value_forms import (
    has_high_entropy,
    is_identifier,
    is_program_name,
    is_publishable,
    is_random,
)
from gateway.sanitize.detectors.vendor_tokens import INNER_MARKS, VENDORS
from gateway.sanitize.text.findings import Finding
from gateway.sanitize.text.folding import View
from gateway.sanitize.text.work_budget import WorkBudget

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
    for name, forms in (*VENDORS, *HASHES)
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
_KEY_BODY = re.compile(
    rb"-----BEGIN (?:(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?|OpenVPN [A-Za-z0-9 -]{1,30})-----"
    rb"(?:[A-Za-z0-9+/=]{1,200}(?![A-Za-z0-9-])|[:,-]|\s|\\n|\\r)*+"
)
_KEY_END = re.compile(rb"-----END (?:(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?|OpenVPN [A-Za-z0-9 -]{1,30})-----")
_WHOLE_ROW = re.compile(rb"[A-Za-z0-9+/]{32,76}={0,2}[ \t\r]{0,4}")
_KEY_ROW = re.compile(rb"[A-Za-z0-9+/=]{16}")
_MAX_KEY_CHARS = 16_384
"""Chosen: twice the longest key that a stream holds back. At half an 8192-bit RSA key with long headers may not end in
it; at double texts of BEGIN lines cost more."""
_PART = re.compile(rb"[A-Za-z0-9_.-]{2,200}(?<![.-])")
_IS_PLAIN = re.compile(rb"[A-Za-z]?[a-z.-]{1,40}|[A-Z-]{1,40}|[0-9.-]{1,40}")
_HEAD_CHARS, _MAX_BREAKS = 12, 6
_BREAK = re.compile(
    rb" {0,3}\r?\n {0,8}| (?=[^ ])|(</?(?:wbr|b|i|u|em|mark|strong|span|code|font)(?: [^<>\n]{0,60})?/?>|\*\*|`)"
)
"""What may stand inside a token: the end of a line, or (the group) a tag or mark of a single word."""
_NOT_SEARCHED = -2
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
    """Findings of the entity SECRET, in folded offsets; private keys first. Raises BudgetExceeded."""
    text = view.folded
    if b"-----BEGIN" in text:
        yield from _find_private_keys(text, budget)
    if b"PRIVATE KEY-----" in text:
        yield from _find_headless_keys(text, budget)
    matches = [*_find_prefixed(text, budget), *_find_marked(text, budget)]
    for start, end in matches:
        while text[end : end + 1] == b"=":
            end += 1
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
        elif (broken_end := _end_of_broken(text, start, pattern, budget)) > 0:
            yield start, broken_end
            at = max(at, broken_end - 1)


def _end_of_broken(text: bytes, start: int, pattern: re.Pattern[bytes], budget: WorkBudget) -> int:
    """Where a token ends that the end of a line or the tags of single words break into parts; 0 when there is none.

    The lines of a PDF may be joined by a blank. The parts together have the maker's form, the longest one is a long
    word, and behind a blank or line end stands no name or word.
    """
    head = text[start : start + _HEAD_CHARS]
    if head.islower() and _DIGIT_OR_UNDERSCORE.search(head) is None:
        return 0  # words that begin like a token, which most are
    part = _PART.match(text, start)
    token, longest = part.group() if part else b"", 0
    for _ in range(_MAX_BREAKS):
        gap = _BREAK.match(text, part.end()) if part else None
        longest = max(longest, len(part.group()) if part else 0)
        part = _PART.match(text, gap.end()) if gap else None
        if gap is None or part is None:
            return 0
        budget.spend(8)
        if gap.lastindex is None and (_IS_PLAIN.fullmatch(part.group()) or is_identifier(part.group())):
            return 0
        token += part.group()
        if pattern.fullmatch(token) is not None:
            is_long = gap.lastindex is not None or max(longest, len(part.group())) >= MIN_WORD_CHARS
            return part.end() if is_long and _is_drawn_at_random(token) else 0
    return 0


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
    return not token.islower() and not token.isupper() and (is_random(token) or not is_identifier(token))


def _is_drawn_at_random(token: bytes) -> bool:
    """Whether the token may have come from a maker's generator: at least eight different characters in its last 24, and
    no row of five that count up (`12345`, `abcde`) or are the same."""
    tail = token[-24:]
    if len(set(tail)) < _MIN_DIFFERENT:
        return False
    steps = bytes((second - first) & 0xFF for first, second in pairwise(tail))
    return b"\x01\x01\x01\x01" not in steps and b"\0\0\0\0" not in steps


def _find_headless_keys(text: bytes, budget: WorkBudget) -> Iterator[Finding]:
    """The rows above `-----END … PRIVATE KEY-----` where the text was cut and the line BEGIN is not in it."""
    at = text.find(b"-----END")
    while at >= 0:
        budget.spend(16)
        first, row_end = at, at - 1
        while row_end > max(0, at - _MAX_KEY_CHARS):
            row_start = text.rfind(b"\n", max(0, row_end - 100), row_end) + 1
            if not _WHOLE_ROW.fullmatch(text, row_start, row_end):
                break
            first, row_end = row_start, row_start - 1
            budget.spend(6)
        closing = _KEY_END.match(text, at) if first < at else None
        if closing is not None and not text.startswith(b"-----BEGIN", text.rfind(b"\n", 0, max(0, first - 1)) + 1):
            yield Finding(first, closing.end(), "SECRET")
        at = text.find(b"-----END", at + 8)


def _find_private_keys(text: bytes, budget: WorkBudget) -> Iterator[Finding]:
    """Private keys from BEGIN to END; without an END line, as far as the characters of keys follow."""
    at, closing_at = text.find(b"-----BEGIN"), _NOT_SEARCHED
    while at >= 0:
        body = _KEY_BODY.match(text, at, at + _MAX_KEY_CHARS)
        budget.spend(16)
        end = at + 10
        if body is not None:
            if closing_at == _NOT_SEARCHED or 0 <= closing_at < at:
                closing_at = text.find(b"-----END", at)
            closing = _KEY_END.match(text, closing_at) if at < closing_at < at + _MAX_KEY_CHARS else None
            end = closing.end() if closing else body.end()
            while text[end - 1] in b" \t\r\n":
                end -= 1
            # a listing of `-----BEGIN …-----` lines, or a key left out as `...`, has no row of base64
            if _KEY_ROW.search(text, at + len(b"-----BEGIN PRIVATE KEY-----"), end) or body.end() >= len(text):
                yield Finding(at, end, "SECRET")
        at = text.find(b"-----BEGIN", end)
