"""Runs every detector over a text and merges the findings.

The text is folded, then scanned as it is and in its other spellings (escapes undone, base64 decoded). Each detector
checks candidates within a bounded distance and charges a WorkBudget, so a scan's cost is linear in the text's length.
"""

import os
import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import blake2b

import re2

from gateway.config.settings import SanitizePattern
from gateway.resilience.single_flight import go_on
from gateway.sanitize.detectors.cards import (
    CARD_WORDS,
    DigitRun,
    NumberContext,
    WordIndex,
    digit_runs,
    find_cards,
    find_ibans,
    has_digits,
    number_context,
)
from gateway.sanitize.detectors.cards import MIN_DIGITS as MIN_CARD_DIGITS
from gateway.sanitize.detectors.identities import SSN_HINTS, SSN_WORDS, find_ssns, identities
from gateway.sanitize.detectors.key_material import find_key_material
from gateway.sanitize.detectors.mail_and_net import find_emails, find_ip_addresses, find_wallets
from gateway.sanitize.detectors.named_secrets import NAMES, find_named_secrets
from gateway.sanitize.detectors.phones import Phones
from gateway.sanitize.detectors.syntax import find_syntax_secrets
from gateway.sanitize.detectors.vendor_tokens import find_secret_tokens
from gateway.sanitize.spellings import Spelling, in_outer_text, spellings
from gateway.sanitize.text import (
    ADDRESS_LINKS,
    MAX_HOLDBACK_CHARS,
    RANK,
    REST_OF_KEY,
    REST_OF_VALUE,
    BudgetExceeded,
    Finding,
    Joined,
    SharedAllowance,
    View,
    WorkBudget,
    disjoint,
    folded,
    holdback_start,
    searcher,
)

# ----------------------------------------------------------------------------------------------------
# Remembers which texts and messages were scanned without a finding: pages and the turns of a chat come many times.
#
# Stores keyed digests, never a text; the key lives as long as the process. Knows no detector.
_MAX_DIGESTS = 20_000
"""A few MB of memory. Half would forget the turns of some thousand chats between two requests of each; double
would hold twice the memory for texts that come again ever less often."""


class KnownClean:
    """A set of digests of clean texts. When it is full, the digest that was not used for longest is dropped."""

    __slots__ = ("_digests", "_hash", "_max_digests")

    def __init__(self, max_digests: int = _MAX_DIGESTS) -> None:
        self._digests: OrderedDict[bytes, None] = OrderedDict()
        self._hash = blake2b(digest_size=16, key=os.urandom(16))
        self._max_digests = max_digests

    def digest(self, data: bytes) -> bytes:
        """16 bytes that stand for a text in the other two methods (keyed BLAKE2b, RFC 7693)."""
        hashed = self._hash.copy()
        hashed.update(data)
        return hashed.digest()

    def knows(self, digest: bytes) -> bool:
        """Whether the text was learnt to be clean, and is not yet dropped."""
        if digest not in self._digests:
            return False
        self._digests.move_to_end(digest)
        return True

    def learn(self, digest: bytes) -> None:
        """Remember a text in which every detector found nothing."""
        self._digests[digest] = None
        if len(self._digests) > self._max_digests:
            self._digests.popitem(last=False)


# ----------------------------------------------------------------------------------------------------
# A glance at the small pieces of a stream, which are plain words mostly.
#
# A `plain_text_cut` that is not -1 implies `scanner.scan_uncached(text) == []`, and equals
# `max(holdback_start(folded text), start)`; -1 says nothing. It looks for the signs that the detectors need (digits,
# escapes, long words, names of secrets). A new detector must add its signs here; property tests hold both together.
_MAX_DIGITS = 5
"""The most digits that can be nothing: the shortest number of any detector has six (`digit_runs`)."""
_YEAR = re.compile(rb"(?:19|20)[0-9]{2}")
_FOUR_DIGITS = re.compile(rb"[0-9]{4}")
_OPTION = re.compile(rb"\s-[A-Za-z]")
_UNUSUAL = (
    rb"[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Z][a-z]{11}|[A-Z][a-z]{0,11}[^\sA-Za-z]{1,8}[A-Za-z]|[a-z][^\sA-Za-z]{1,8}[A-Z]|"
    + _OPTION.pattern
)
_JOINT = rb"[ \t\r\n._*/|,+-]"
"""What may stand between the characters of a word spelt one by one, of which there are up to three between two."""
_NOT_PLAIN = (
    rb"(?i:dot|sg\.|cv[vc]|card[ \t\n])|[^ \t\n\r\x0b\x0c]{16}|"
    + _JOINT + rb"[A-Za-z0-9]" + _JOINT + rb"{1,3}[A-Za-z0-9]" + _JOINT
)  # fmt: skip
"""Signs of what is never plain words: a link of an address, a name of a card's security code (which has three digits),
the shortest key or encoded word that is found without a name (`secret_tokens`), two neighbours of a word that is spelt
character by character. Ordinary abbreviations (`i.e.`) look like the last, and get the full scan."""
_HAS_NOT_PLAIN = searcher(re2.compile(_NOT_PLAIN))
_HAS_UNUSUAL_OR_NOT_PLAIN = searcher(re2.compile(_NOT_PLAIN + b"|" + _UNUSUAL))
"""Both questions at once: for a short text a search costs as much as its call, whatever the pattern."""
_LONG_VALUE = re.compile(rb"[^\s]{12,64}")
"""A word that is long enough to be a certain value if it mixes letters (`value_forms.MIN_CERTAIN_CHARS`). 64 bounds
the match; the rest of a longer word is matched as the next word."""
_LINE_FEED = 0x0A
_LINKS = frozenset(link.decode() for link in ADDRESS_LINKS)
_SECRET_NAME = searcher(re2.compile(NAMES))


def _class_of(code: int) -> int:
    """A byte's class for `plain_text_cut`: letter in lower case, `0` digit, blank, `'` quote, a harmless mark, or
    `&`."""
    char = bytes((code,))
    if char in b" \t\n":
        return 0x20
    if char.isdigit():
        return 0x30
    if char in b"\"'`":
        return 0x27
    return char.lower()[0] if char.isalpha() or char in b"\x02\x03.,;?!*_#|/+~^$)]}-(:%" else 0x26


_CLASSES = bytes(_class_of(code) for code in range(256))
_HARMLESS = bytes(
    0x61 if _CLASSES[code] in b"abcdefghijklmnopqrstuvwxyz\x02\x03 .,;?!*_)" else 0x20 for code in range(256)
)
"""Maps bytes that can never belong to a sensitive value to `a`, all others to a space: `isalpha()` then tests a
text."""
_SMALL_NUMBER = re.compile(r"(?<![^ ])[(*]*0{1,4}[.,;?!*()]*(?: |\Z)")


def plain_text_cut(text: str, start: int) -> int:
    """For plain words, in which nothing can be found: where the holdback begins, not before `start`. Else -1."""
    plain = text.encode() if text.isascii() else folded(text)
    has_unusual = _HAS_UNUSUAL_OR_NOT_PLAIN(plain, 0)[0] >= 0
    if has_unusual and (_HAS_NOT_PLAIN(plain, 0)[0] >= 0 or _may_be_value(plain)):
        return -1
    classes = plain.translate(_CLASSES).decode()
    if not plain.translate(_HARMLESS).isalpha():
        if not _are_signs_harmless(classes, plain):
            return -1
        has_unusual = has_unusual or "'" in classes or ":" in classes
    if has_unusual and _SECRET_NAME(plain, 0)[0] >= 0:
        return -1
    begin = -1 if _LINE_FEED in plain else _plain_holdback_start(classes, start)
    if begin < 0:
        return holdback_start(plain, start)
    return begin if begin > start else start


def _may_be_value(plain: bytes) -> bool:
    """Whether an unusual word may be a value without a name: it is long and mixes letters, or a command has options."""
    if any(not (word.islower() or word.isupper()) for word in _LONG_VALUE.findall(plain)):
        return True
    return _OPTION.search(plain) is not None


def _plain_holdback_start(classes: str, start: int) -> int:
    """`holdback_start` where only plain words precede: the last word and up to two short ones. -1 for any other
    case."""
    words = classes.rsplit(" ", 4)
    last = words.pop()
    if last in _LINKS:
        return -1
    begin, short_words = len(classes) - len(last), 0
    while begin > start:
        word = words.pop()
        size = len(word)
        if size < 2 or not words or word in _LINKS:
            return -1
        if not word.isalpha():
            return begin if word[:-1].isalpha() else -1
        if size > 4 or short_words == 2:
            return begin
        short_words, begin = short_words + 1, begin - size - 1
    return begin


def _are_signs_harmless(classes: str, plain: bytes) -> bool:
    """Whether the marks and digits of a text without long words cannot be part of a value, unless a name precedes."""
    if "&" in classes or "--" in classes or ("(" in classes and ("(at" in classes or "( at" in classes)):
        return False
    if "0" in classes and not _are_numbers_small(classes, plain):
        return False
    if "%" in classes and classes.count("%") > classes.count("% "):
        return False
    return ":" not in classes or (classes.count(":") == 1 and ":/" not in classes)


def _are_numbers_small(classes: str, plain: bytes) -> bool:
    """Whether all digits are words of their own of at most four: not even a name beside them makes a secret of them."""
    index, numbers = classes.find("0"), 0
    while index >= 0:
        number = _SMALL_NUMBER.match(classes, classes.rfind(" ", 0, index) + 1)
        if number is None:
            return False
        index, numbers = classes.find("0", number.end()), numbers + 1
    if numbers > 1 and classes.count("0") > _MAX_DIGITS:
        return False
    return "0000" not in classes or all(_YEAR.match(each) for each in _FOUR_DIGITS.findall(plain))


# ----------------------------------------------------------------------------------------------------
# Scans a text of any length chunk by chunk. Naive form: `scan(text)` in one call, which finds the same.
#
# Chunks bound the time that one step keeps the interpreter (about 10 ms), the memory of its folded copies, and how
# much
# work budget one dense part can spend. A chunk ends where a stream's holdback would begin, so that no value is split.
CHUNK_CHARS = 32_768
"""A whole chunk may spend about 10 ms (one budget unit of 0.3 µs a character)."""
_LEFT_CONTEXT_CHARS, _RIGHT_CONTEXT_CHARS = 256, 96
"""Characters beside a chunk that are scanned with it. Left: more than the reach of any word that names a number (64).
Right: the extension or word behind a telephone number."""
_TAIL_CHARS = 512
"""Characters at a chunk's end that are searched for the cut first; only if it is not among them, 16 KB are. As a
chain is at most 96 long, it lies nearly always in them."""

_KEY = "-----BEGIN"
"""How a private key begins."""


def scan_chunked(scan: Callable[[str], list[Finding]], text: str) -> list[Finding]:
    """What `scan` finds in the whole text, in order, in the text's offsets."""
    if len(text) <= CHUNK_CHARS + _LEFT_CONTEXT_CHARS:
        return scan(text)
    return [finding for findings in scan_chunks(scan, text) for finding in findings]


def scan_chunks(scan: Callable[[str], list[Finding]], text: str, prefix: str = "") -> Iterator[list[Finding]]:
    """As `scan_chunked`, chunk by chunk: the findings of a text made of values take many times its memory. `prefix` is
    scanned before the first chunk; of findings in it, there is what lies in the text."""
    chunk_start = 0
    while chunk_start < len(text):
        chunk_end = _chunk_end(text, chunk_start)
        findings: list[Finding] = []
        low, high = max(0, chunk_start - _LEFT_CONTEXT_CHARS), min(chunk_end + _RIGHT_CONTEXT_CHARS, len(text))
        before = "" if chunk_start else prefix
        for start, end, entity, certain in shifted(scan(before + text[low:high]), len(before)):
            start, end = max(start + low, chunk_start), end + low
            if chunk_start < end and start < chunk_end:
                end = end if end < high else _end_of_value(text, start, end)
                findings.append(Finding(start, end, entity, certain))
        chunk_start = max(chunk_end, findings[-1].end if findings else 0)
        yield findings


def shifted(findings: list[Finding], prefix_chars: int) -> list[Finding]:
    """Findings of a text with a prefix, in the offsets of the text: those in the prefix alone are left out."""
    if not prefix_chars:
        return findings
    return [
        Finding(max(start - prefix_chars, 0), end - prefix_chars, entity, certain)
        for start, end, entity, certain in findings
        if end > prefix_chars
    ]


def _end_of_value(text: str, start: int, scanned_end: int) -> int:
    """Where the value at `start` ends when it goes on beyond what was scanned."""
    pattern = REST_OF_KEY if text[start : start + len(_KEY)] == _KEY else REST_OF_VALUE
    end = scanned_end
    while end < len(text):
        rest = pattern.match(text[end : end + CHUNK_CHARS])
        end += rest.end() if rest else 0
        if rest is None or rest.end() < CHUNK_CHARS:
            break
    return end


def _chunk_end(text: str, start: int) -> int:
    """Where the chunk that begins at `start` ends: before a value that may continue, unless that is too long."""
    high = start + CHUNK_CHARS
    if high >= len(text):
        return len(text)
    least = max(start, high - MAX_HOLDBACK_CHARS)
    cut = least if _KEY in text[start:high] else _holdback_start(text, high - _TAIL_CHARS, high)
    if cut <= high - _TAIL_CHARS:
        cut = _holdback_start(text, max(start, high - 2 * MAX_HOLDBACK_CHARS), high)
    return cut if cut > least else high


def _holdback_start(text: str, low: int, high: int) -> int:
    view = View(text[low:high])
    index = holdback_start(view.folded, 0)
    return low + view.origin(index, index + 1)[0] if index < len(view.folded) else high


_MAX_DEPTH = 2
"""Nested encodings that are undone (base64 of base64). At 1 a value encoded twice passes; at 4 hostile texts
reach the budget's end sooner, for encodings that no honest text has."""
_LONG_RUN_CHARS = 20
"""Longer runs of digits are charged by length: no single number is longer, so a run may hold several."""
_URL = re.compile(rb"://[^\s\"'<>\])}]+")
_IGNORED_IN_URLS = frozenset(("PHONE", "NATIONAL_ID", "US_SSN", "IP", "CRYPTO_WALLET"))
_IGNORED_IN_PATHS = frozenset(("CREDIT_CARD", "IBAN", "EMAIL"))
"""Ignored anywhere in a web address; ignored but in its query."""
_AUTHORITY = re.compile(rb"://[^/?#]*\Z")
_PATTERN_HOLDBACK_CHARS = 160
"""With the operator's own patterns, how much of a stream is always held back, so that a match of several words
is seen whole."""


class _NumberDetectors:
    """The detectors that read runs of digits (cards, US social security numbers, telephones), set up for one text."""

    def __init__(self, context: NumberContext, budget: WorkBudget) -> None:
        self._budget, self._phones = budget, Phones(context, budget)
        self._card_words = WordIndex(CARD_WORDS, context, budget)
        self._ssn_words = WordIndex(SSN_WORDS, context, budget)
        self.accepts_short = self._phones.accepts_short
        named = not context.covers_all or any(hint in context.lower for hint in SSN_HINTS)
        self.accepts_decimals = named and self._ssn_words.any
        self.min_plain_digits = 0 if self.accepts_short or self.accepts_decimals else 12
        """Runs of digits without separators that are shorter cannot be a number of any detector in this text."""

    def cannot_match(self, start: int, end: int) -> bool:
        """Whether the plain digits at [start, end), too few for a card, have no word or sign that makes them a
        number."""
        return not self.accepts_decimals and not self._phones.may_match(start, end)

    def find(self, run: DigitRun, findings: list[Finding]) -> None:
        """Append the findings in the run to `findings`. Digits beside a card are checked as runs of their own."""
        if len(run.digits) >= MIN_CARD_DIGITS:
            cards = find_cards(run, self._card_words, self._budget)
            if cards:
                self._budget.spend(12 * len(cards))
                findings += cards
                for rest in run.remainders(cards):
                    self._find_rest(rest, findings)
                return
        self._find_rest(run, findings)

    def _find_rest(self, run: DigitRun, findings: list[Finding]) -> None:
        if len(run.digits) >= 9 and (self.accepts_decimals or run.raw.count(b"-") > 1):
            numbers = find_ssns(run, self._ssn_words)
            self._budget.spend(3 + 6 * len(numbers) if len(run.digits) > 9 else 0)
            if numbers:
                findings += numbers
                if len(numbers) == 1 and numbers[0].end - numbers[0].start == run.end - run.start:
                    return
        phone = self._phones.find(run)
        if phone is not None:
            findings.append(phone)


class Scanner:
    """Finds sensitive values in texts of any length.

    `patterns` are the operator's own entities. A value equal to an entry of `allow_list`, in any case, is not reported;
    an entry that begins with `@` allows every e-mail address of that domain.
    """

    def __init__(self, patterns: Sequence[SanitizePattern] = (), allow_list: Iterable[str] = ()) -> None:
        self._custom = [(pattern.entity, re2.compile(pattern.pattern)) for pattern in patterns]
        self._allow_list = frozenset(entry.lower() for entry in allow_list)
        self._clean_cache = KnownClean()
        self._rank = {pattern.entity: len(RANK) for pattern in patterns} | RANK
        self.min_holdback_chars = _PATTERN_HOLDBACK_CHARS if self._custom else 0
        """Characters of a stream that must always be held back; 0 without patterns."""

    def scan(self, text: str, allowance: SharedAllowance | None = None) -> list[Finding]:
        """Findings in the text's offsets, in order, disjoint. A text without findings is remembered by its digest.

        `allowance` is that of the request whose texts are scanned; None for a text by itself.
        """
        digest = self._clean_cache.digest(text.encode("utf-8", "surrogatepass"))
        if self._clean_cache.knows(digest):
            return []
        findings = self._find(text, allowance)
        if not findings:
            self._clean_cache.learn(digest)
        return findings

    def scan_parts(self, text: str, allowance: SharedAllowance | None, prefix: str = "") -> Iterator[list[Finding]]:
        """What `scan` finds in `prefix + text`, in the text's offsets; by chunks where there are no patterns."""
        if self._custom or len(text) <= CHUNK_CHARS:
            yield shifted(self.scan(prefix + text, allowance), len(prefix))
            return
        digest = self._clean_cache.digest((prefix + text).encode("utf-8", "surrogatepass"))
        if self._clean_cache.knows(digest):
            return
        is_clean = True
        for findings in scan_chunks(partial(self._scan_chunk, allowance=allowance), text, prefix):
            allowed = self._not_allowed(findings, text)
            is_clean = is_clean and not allowed
            yield allowed
        if is_clean:
            self._clean_cache.learn(digest)

    def scan_uncached(self, text: str) -> list[Finding]:
        """As `scan`, without the cache of clean texts: for pieces of a stream, which do not come again."""
        return self._find(text, None)

    def _find(self, text: str, allowance: SharedAllowance | None) -> list[Finding]:
        findings = scan_chunked(partial(self._scan_chunk, allowance=allowance), text)
        for entity, pattern in self._custom:
            findings += [
                Finding(match.start(), match.end(), entity) for match in pattern.finditer(text) if match.group()
            ]
        if self._custom and len(findings) > 1:
            findings = disjoint(findings, self._rank)
        return self._not_allowed(findings, text)

    def _not_allowed(self, findings: list[Finding], text: str) -> list[Finding]:
        if findings and self._allow_list:
            return [each for each in findings if not self._is_allowed(text[each.start : each.end])]
        return findings

    def _scan_chunk(self, text: str, allowance: SharedAllowance | None = None) -> list[Finding]:
        """The detectors' findings in one chunk of a text, in order, disjoint; all of it if the budget is
        spent. Raises NobodyWaits."""
        go_on()
        view, budget = View(text), WorkBudget(len(text), allowance)
        try:
            budget.spend(view.folding_cost)
            findings = self._detect(view, budget, 0)
        except BudgetExceeded:
            findings = [Finding(0, len(view.folded), "SECRET")]
        budget.settle()
        if view.is_shifted:
            findings = [Finding(*view.origin(each.start, each.end), *each[2:]) for each in findings]
        return disjoint(findings, self._rank) if len(findings) > 1 else findings

    def scan_url(self, url: str) -> list[Finding]:
        """The findings of credentials in a web address; all else in it names the page."""
        return [each for each in self.scan(url) if each.entity == "SECRET"]

    def _is_allowed(self, value: str) -> bool:
        value = value.lower()
        _, at, domain = value.rpartition("@")
        return value in self._allow_list or (at != "" and f"@{domain}" in self._allow_list)

    def _detect(self, view: View, budget: WorkBudget, depth: int) -> list[Finding]:
        if len(view.folded) < 5:
            return []
        findings = [*find_key_material(view, budget), *find_secret_tokens(view, budget)]
        known = {each.start: each.end for each in findings if each.certain}
        findings += find_named_secrets(view, budget, known)
        findings += find_syntax_secrets(view, budget)
        findings += _filter_urls(view, self._find_personal(view, budget), budget)
        if depth < _MAX_DEPTH:
            findings += self._find_in_spellings(view, budget, depth)
        return findings

    def _find_personal(self, view: View, budget: WorkBudget) -> list[Finding]:
        findings = [*find_emails(view, budget)]
        if has_digits(view):
            findings += _find_numbers(view, budget)
        findings += find_ibans(view, budget)
        findings += find_ip_addresses(view, budget)
        findings += find_wallets(view, budget)
        findings += identities().find(view, budget)
        return findings

    def _find_in_spellings(self, view: View, budget: WorkBudget, depth: int) -> Iterator[Finding]:
        """Findings in the decoded spellings of words, in the offsets of `view`'s folded bytes.

        Naive form: scan each spelling alone. Here all are lines of one text, each different spelling once, so that the
        fixed cost of a scan is paid once.
        """
        words_of: dict[str, list[Spelling]] = {}
        for word in spellings(view, budget):
            budget.spend(4)
            words_of.setdefault(word.text, []).append(word)
        if not words_of:
            return
        lines = list(words_of)
        joined = Joined(lines, "\n\n")
        inner = View(joined.text)
        budget.spend(300 + len(inner.folded) // 6)
        for finding in self._detect(inner, budget, depth + 1):
            touched = [*joined.touched(*inner.origin(finding.start, finding.end))]
            if len(touched) == 1:
                index, start, end = touched[0]
                for word in words_of[lines[index]]:
                    budget.spend(6)
                    yield from in_outer_text(word, finding._replace(start=start, end=end), view.folded)


def _find_numbers(view: View, budget: WorkBudget) -> list[Finding]:
    findings: list[Finding] = []
    context = number_context(view)
    if not context.ranges:
        return findings
    text, numbers = view.folded, _NumberDetectors(context, budget)
    for start, end, count in digit_runs(
        view, budget, numbers.accepts_short, numbers.min_plain_digits, numbers.accepts_decimals
    ):
        if count == end - start < MIN_CARD_DIGITS and numbers.cannot_match(start, end):
            budget.spend(2)
            continue
        budget.spend((7 if count < MIN_CARD_DIGITS else 9) if end - start < _LONG_RUN_CHARS else 6 + (end - start) // 4)
        numbers.find(DigitRun(text, start, end), findings)
    return findings


def _filter_urls(view: View, findings: list[Finding], budget: WorkBudget) -> Iterable[Finding]:
    """Without numbers in web addresses, which name a page; cards, IBANs and e-mails in the query remain findings."""
    has_urls = bool(findings) and b"://" in view.folded
    return _without_url_numbers(view.folded, findings, budget) if has_urls else findings


def _without_url_numbers(text: bytes, findings: list[Finding], budget: WorkBudget) -> Iterator[Finding]:
    starts, spans = [], []
    for match in _URL.finditer(text):
        start, end = match.span()
        budget.spend(2)
        starts.append(start)
        spans.append((end, text.find(b"?", start, end)))
    for finding in findings:
        index = bisect_right(starts, finding.start) - 1
        if index >= 0 and finding.start < spans[index][0]:
            query = spans[index][1]
            in_query = 0 <= query < finding.start
            if finding.entity in _IGNORED_IN_URLS or (finding.entity in _IGNORED_IN_PATHS and not in_query):
                continue
            if finding.entity == "EMAIL" and _AUTHORITY.match(text, starts[index], finding.start):
                continue  # the user and host of the address, not an e-mail
        yield finding
