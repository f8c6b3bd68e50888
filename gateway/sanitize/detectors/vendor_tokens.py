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
from typing import NamedTuple

import re2

from gateway.sanitize.detectors.harmless import is_published_secret
from gateway.sanitize.detectors.tables import rows, words
from gateway.sanitize.detectors.value_forms import (
    alternates_kinds,
    has_high_entropy,
    has_odd_pairs,
    is_publishable,
    is_random,
)
from gateway.sanitize.findings import Finding
from gateway.sanitize.folding import View
from gateway.sanitize.re2_search import Pattern, searcher
from gateway.sanitize.work_budget import WorkBudget


class Form(NamedTuple):
    """A row of `vendor_tokens.txt`: `begins` are the beginnings of all its tokens, `mark` the pattern of a distinctive
    part of those that begin with nothing fixed."""

    maker: str
    pattern: str
    begins: tuple[str, ...]
    mark: str


def _form(row: str) -> Form:
    maker, pattern, sign = row.split("\t")
    return Form(maker, pattern, (), sign[1:]) if sign[0] == "~" else Form(maker, pattern, tuple(sign.split(" ")), "")


FORMS = tuple(map(_form, rows("vendor_tokens.txt")))
MIN_WORD_CHARS = 16
"""The shortest token of the table (Alibaba Cloud); shorter matches are words that only begin like one."""
_WORD_CHARS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/=.:|!~%$@&?#,")
_CLASS = bytes(0x74 if code in _WORD_CHARS else 0x20 for code in range(256))
_DIGIT_OR_UNDERSCORE = re.compile(rb"[0-9_]")
_MAX_TOKEN_CHARS = 4096
"""Characters matched from a prefix on; longer tokens are not mark."""
_BEFORE_MARK_CHARS, _BEHIND_MARK_CHARS = 128, 384
"""Characters beside an inner mark that are searched. Azure storage has 76 before its mark."""
_BEGINNINGS = frozenset(begins.encode() for form in FORMS for begins in form.begins)
_FIND_BEGINNING = searcher(
    re2.compile(b"(?:^|[^A-Za-z0-9])(?:" + b"|".join(sorted(map(re.escape, _BEGINNINGS))) + b")")
)
_MARKED = tuple((re.compile(form.mark.encode()), form.pattern) for form in FORMS if form.mark)
_FIND_MARK = searcher(re2.compile("|".join(sorted({form.mark for form in FORMS if form.mark})).encode()))
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
_WORDS = re.compile(rb"[a-z]{2,6}(?:[_.-](?:[0-9]{1,2}|[A-Z]?[a-z]{2,}[A-Za-z]*)|(?!))++")
_MIN_DIFFERENT = 8
"""24 random hexadecimal characters have 12.5 different ones on average, rarely fewer than eight."""


def find_secret_tokens(view: View, budget: WorkBudget) -> Iterator[Finding]:
    """Findings of the entity SECRET, in folded offsets. Raises BudgetExceeded."""
    text = view.folded
    yield from _find_tailed(view, budget)
    matches = [*_find_prefixed(view, budget), *_find_marked(view, budget)]
    for start, end in matches:
        while text[end : end + 1] == b"=":
            end += 1
        while text[end - 1 : end] == b".":
            end -= 1  # the end of a sentence
        if _is_in_token_word(text, start, end):
            value = text[start:end]
            if not is_published_secret(value) and not _is_filler(value):
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
    rb"(?:^|[^A-Za-z0-9_./%+-])[A-Za-z][A-Za-z0-9]{1,11}(?:(?:[_-][A-Za-z0-9]{2,8}){0,2}[_.:-][A-Za-z0-9]{20}"
    rb"|[_.:-][A-Za-z0-9_-]{1,12}(?:[0-9a-z][A-Z]|[A-Z]{2}[0-9a-z])[A-Za-z0-9_-]{8})"
)
_FIND_TAILED = searcher(_TAILED)
_TAILED_WORDS = (
    re.compile(
        rb"([A-Za-z][A-Za-z0-9]{1,11}(?:[_-][A-Za-z0-9]{2,8}){0,2})([_.:-])([A-Za-z0-9]{20,200})"
        rb"((?:[_-][A-Za-z0-9_-]{1,200}|\.[A-Za-z0-9_-]{8,200}|(?!)){0,3}+)"
    ),
    re.compile(rb"([A-Za-z][A-Za-z0-9]{1,11})([_.:-])([A-Za-z0-9_-]{20,200})((?:\.[A-Za-z0-9_-]{8,200}|(?!)){0,3}+)"),
)
"""A tail of letters and digits, which behind a part may have signs; and one of base64, with signs anywhere."""
_FILE_GOES_ON = re.compile(rb"[.@/\\:][A-Za-z0-9]|\(")
_BASE64_GOES_ON = (b"+", b"/", b"=")
_NAMED_ID = re.compile(
    rb"(?:(?i:\bid|[_-]ids?|\bidentifier)|[a-z](?:I[dD]s?))"
    rb"(?:[\"'`]?\s{0,2}[:=]?\s{0,3}|[\w -]{0,40}\((?:for example|e\.g\.|such as),?\s{1,8})[\"'`]?\Z"
)
_NAMED_DIGEST = re.compile(
    rb"(?i:\b(?:sha-?[0-9]{1,3}|md5|blake[23][bs]?|digest|checksum|integrity|etag))[\"'`]?[:= _-]{1,2}[\"'`]?\Z"
)
_ID_REACH_CHARS = 80
_THING = re.compile(rb"(?<![A-Za-z])([A-Za-z]{4,20})(?:[_-]?[iI][dD])?[\"'`]?(?: ?[:=/(#]| is)?\s?[\"'`]?\Z")
"""The name of a thing right before a word, whose prefix may be short for it."""
_KEY_THING = re.compile(rb"key|token|secret|pass|cred|auth|code|bearer")
_ULID = re.compile(rb"0[0-9][0-9A-HJKMNP-TV-Z]{24}")
"""An id that begins with its time, in the letters of Crockford's base32."""
_KEY_WORDS = frozenset(
    b"sk ak ek rk pk key keys api apikey token tok secret pat access auth live prod test bearer pass pwd".split()
)
"""Parts of a prefix by which makers say that a key follows."""
_ID_WORDS = words("harmless.txt", "id-prefix")
"""Prefixes of ids, digests and files: what follows names a thing and opens nothing. `call_…`, `msg_…`, `chatcmpl-…` are
those of models' answers, `vpc-…` those of clouds, `sha256-…` that of digests."""


def _find_tailed(view: View, budget: WorkBudget) -> Iterator[Finding]:
    """Keys of makers that are not in the table: a short prefix, a sign, and a long random tail."""
    text = view.folded
    for start, _ in view.long_words.find(_FIND_TAILED):
        budget.spend(8)
        start += not text[start : start + 1].isalpha()
        for form in _TAILED_WORDS:
            word = form.match(text, start)
            finding = None if word is None else _tailed(text, start, word, budget)
            if finding is not None:
                yield finding
                break


def _tailed(text: bytes, start: int, word: re.Match[bytes], budget: WorkBudget) -> Finding | None:
    """The key that a word at `start` is, if it is one."""
    prefix, sign, tail, more = word.groups()
    budget.spend(8 + (len(tail) + len(more)) // 4)
    if _FILLER.search(word.group()) or not (prefix.islower() or prefix.isupper()):
        return None  # `Ri_Az…` is one random word
    if _FILE_GOES_ON.match(text, word.end()) or not _is_random_tail(tail, sign, more):
        return None
    if sign == b":" and text[word.end() : word.end() + 1] in _BASE64_GOES_ON:
        return None  # base64 behind a label, as digests are written
    words = set(re.split(rb"[_-]", prefix.lower()))
    is_key = not words.isdisjoint(_KEY_WORDS)
    if _NAMED_DIGEST.search(text, max(0, start - _ID_REACH_CHARS), start) or is_published_secret(word.group()):
        return None
    if not is_key and _is_id(text, start, words, tail):
        return None
    start = word.start(3) if sign == b":" else start  # a name or a user before it
    return Finding(start, word.end(), "SECRET", is_key and not is_publishable(word.group()))


def _is_id(text: bytes, start: int, words: set[bytes], tail: bytes) -> bool:
    """Whether a prefix, the name before it, or the form of the rest says that this names a thing."""
    if not words.isdisjoint(_ID_WORDS) or _ULID.fullmatch(tail):
        return True
    thing = _THING.search(text, max(0, start - _ID_REACH_CHARS), start)
    if thing is not None and len(words) == 1 and _KEY_THING.search(name := thing[1].lower()) is None:
        prefix, letters = next(iter(words)), iter(name)
        if prefix[:1] == name[:1] and all(each in letters for each in prefix):
            return True  # `project prj_…`
    return _NAMED_ID.search(text, max(0, start - _ID_REACH_CHARS), start) is not None


def _is_random_tail(tail: bytes, sign: bytes, more: bytes) -> bool:
    """Whether letters and digits change as in a drawn key. `more`: what follows behind a sign."""
    if not _is_drawn_at_random(tail):
        return False
    digits = len(tail) - len(tail.translate(None, b"0123456789"))
    if not tail.islower() and not tail.isupper():
        if 2 * sum(map(len, _WORD_RUNS[digits < 3].findall(tail))) >= len(tail):
            return False
        is_random_on = not more.startswith(b".") or alternates_kinds(more, 6)
        return digits > 1 + (sign == b":") and alternates_kinds(tail, 14) and is_random_on
    if more or sign not in b"_-" or not tail.isalnum():
        return False
    if tail.isupper():
        return 4 <= digits <= len(tail) - 6 and _HEX_ONLY.fullmatch(tail) is None and 3 * _changes(tail) >= len(tail)
    if _HEX_ONLY.fullmatch(tail):
        return sign == b"_" and len(tail) >= 32 and 8 <= digits <= len(tail) - 8
    return 3 <= digits <= len(tail) - 6 and 4 * _changes(tail) >= len(tail)


_WORD_RUNS = re.compile(rb"[A-Z]?[a-z]{3,}+"), re.compile(rb"[A-Z]?[a-z]{2,}+")
"""What makes half of a name of programs (`NID_pbeWithMD5AndRC2_CBC`), and of 4 in 100 random tails of 20 characters;
and what does so where digits are few."""
_HEX_ONLY = re.compile(rb"[0-9A-F]+|[0-9a-f]+")


def _changes(tail: bytes) -> int:
    """How often a digit follows a letter or a letter a digit."""
    return sum(first.isdigit() != second.isdigit() for first, second in pairwise(tail.decode()))


def _find_prefixed(view: View, budget: WorkBudget) -> Iterator[tuple[int, int]]:
    """Spans of tokens that begin as one of the table."""
    text, last_end = view.folded, 0
    for start, end in view.long_words.find(_FIND_BEGINNING, overlap=1):
        start += text[start:end] not in _BEGINNINGS
        if start < last_end:
            continue
        budget.spend(15)
        match = _patterns_with(text[start:end]).match(text, start, start + _MAX_TOKEN_CHARS)
        if match is not None:
            yield match.span()
            last_end = match.end() - 1


@lru_cache(1024)
def _patterns_with(beginning: bytes) -> re.Pattern[bytes]:
    """One pattern of all those whose tokens may begin so."""
    begins = beginning.decode()
    return _compile(
        "|".join(
            form.pattern
            for form in FORMS
            if any(each.startswith(begins) or begins.startswith(each) for each in form.begins)
        )
    )


@lru_cache(64)
def _compile(form: str) -> re.Pattern[bytes]:
    return re.compile(f"(?<![A-Za-z0-9])(?:{form})(?![A-Za-z0-9])".encode())


@lru_cache(64)
def _linear_pattern(form: str) -> Pattern:
    return re2.compile(f"(?:^|[^A-Za-z0-9])({form})(?:[^A-Za-z0-9]|$)".encode())


def _find_marked(view: View, budget: WorkBudget) -> Iterator[tuple[int, int]]:
    """Spans of tokens whose pattern has no literal prefix, but a mark inside."""
    text, last_end = view.folded, 0
    for place, _ in view.long_words.find(_FIND_MARK):
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
    if text[start - 1 : start] in (b"/", b"+") and alternates_kinds(text[max(0, start - 24) : start]):
        return False  # in the middle of base64
    low, high = max(0, start - 64), end + 64
    classes = text[low:high].translate(_CLASS)
    first = classes.rfind(b" ", 0, start - low) + 1 + low
    last = classes.find(b" ", end - low)
    last = high if last < 0 else last + low
    return last - first >= MIN_WORD_CHARS and (
        _DIGIT_OR_UNDERSCORE.search(text, first, last) is not None
        or text.startswith(_LETTERS_ONLY, start)
        or is_random(text[start:end])
    )


def _is_filler(token: bytes) -> bool:
    """Whether a token is made of words, as in documentation: `xoxp-1-YourTokenHere`."""
    if _FILLER.search(token) is not None:
        return True
    return _WORDS.fullmatch(token) is not None and not has_odd_pairs(token.replace(b".", b"_"))


def _is_drawn_at_random(token: bytes) -> bool:
    """Whether the token may have come from a maker's generator: at least eight different characters in its last 24, and
    no row of five that count up (`12345`, `abcde`) or are the same."""
    tail = token[-24:]
    if len(set(tail)) < _MIN_DIFFERENT:
        return False
    steps = bytes((second - first) & 0xFF for first, second in pairwise(tail))
    return b"\x01\x01\x01\x01" not in steps and b"\0\0\0\0" not in steps
