"""Runs every detector over a text and merges the findings.

The text is folded, then scanned as it is and in its other spellings (escapes undone, base64 decoded). Each detector
checks candidates within a bounded distance and charges a WorkBudget, so a scan's cost is linear in the text's length.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import re2

from gateway.config.settings import SanitizePattern
from gateway.resilience.single_flight import go_on
from gateway.sanitize.chunks import CHUNK_CHARS, Joined, scan_chunked, scan_chunks, shifted
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
from gateway.sanitize.detectors.named_secrets import find_member, find_named_secrets
from gateway.sanitize.detectors.phones import Phones
from gateway.sanitize.detectors.syntax import find_syntax_secrets
from gateway.sanitize.detectors.vendor_tokens import find_secret_tokens
from gateway.sanitize.findings import RANK, Finding, disjoint
from gateway.sanitize.folding import View
from gateway.sanitize.known_clean import KnownClean
from gateway.sanitize.spellings import Spelling, in_outer_text, spellings
from gateway.sanitize.work_budget import BudgetExceeded, SharedAllowance, WorkBudget

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

    def scan_member(self, name: str, value: str) -> list[Finding]:
        """The whole value of a decoded document's member, where its name makes a secret of it; else nothing."""
        found = find_member(name, value)
        return [] if found is None else self._not_allowed([found], value)

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
        budget.spend(300 + len(inner.folded) // 4)
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
