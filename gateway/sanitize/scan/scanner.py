"""One pass of every detector over one text. Knows no policy and no direction: it says what stands where.

The text is folded first, then looked at as it is and in its other spellings. Detectors see a bounded neighbourhood of
each candidate only, so the cost grows with the text's length and with nothing else.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

import re2

from gateway.config.settings import SanitizePattern
from gateway.sanitize.detectors.cards import CARD_WORDS, find_cards
from gateway.sanitize.detectors.cards import LEAST as LEAST_CARD
from gateway.sanitize.detectors.digit_runs import NumberContext, Run, Words, digit_runs, has_digits, number_context
from gateway.sanitize.detectors.email import find_emails
from gateway.sanitize.detectors.iban import find_ibans
from gateway.sanitize.detectors.identities import SSN_HINTS, SSN_WORDS, Identities, find_ssns
from gateway.sanitize.detectors.ip_addresses import find_addresses
from gateway.sanitize.detectors.named_secrets import find_keyed
from gateway.sanitize.detectors.obfuscation import Spelling, decoded_words, spellings
from gateway.sanitize.detectors.phones import Phones
from gateway.sanitize.detectors.secret_tokens import find_secrets
from gateway.sanitize.detectors.wallets import find_wallets
from gateway.sanitize.scan.chunked import scan_long
from gateway.sanitize.scan.clean_cache import KnownClean
from gateway.sanitize.scan.fallback_mask import all_but_words
from gateway.sanitize.scan.fast_path import is_quiet
from gateway.sanitize.text.findings import RANK, Finding, disjoint
from gateway.sanitize.text.folding import View
from gateway.sanitize.text.work_budget import BudgetExceeded, WorkBudget

_DEPTH = 2
_SPACE = 0x20
_LONG_RUN = 20
_URL = re.compile(rb"://[^\s\"'<>\])}]+")
_NOT_IN_URLS = frozenset(("PHONE", "NATIONAL_ID", "US_SSN", "IP", "CRYPTO_WALLET"))
_NOT_IN_PATHS = frozenset(("CREDIT_CARD", "IBAN", "EMAIL"))
_AUTHORITY = re.compile(rb"://[^/?#]*\Z")
_CUSTOM_LEAST_HELD = 160


class _Numbers:
    """What rows of digits are, in one text."""

    def __init__(self, around: NumberContext, budget: WorkBudget) -> None:
        self._effort, self._phones = budget, Phones(around, budget)
        self._card_words, self._ssn_words = Words(CARD_WORDS, around, budget), Words(SSN_WORDS, around, budget)
        self.may_be_short = self._phones.may_be_short
        may_be_named = not around.are_everywhere or any(hint in around.lower for hint in SSN_HINTS)
        self.may_be_decimal = may_be_named and self._ssn_words.any
        self.plain_from = 0 if self.may_be_short or self.may_be_decimal else 12
        """The least number of digits without separators that can be anything in this text."""

    def are_nothing(self, start: int, end: int) -> bool:
        """Whether the digits at [start, end), which have no separators, have nothing that makes them a number."""
        return not self.may_be_decimal and not self._phones.may_be(start, end)

    def find(self, run: Run, found: list[Finding]) -> None:
        """What the run's numbers are, added to `found`."""
        if len(run.digits) >= LEAST_CARD:
            cards = find_cards(run, self._card_words, self._effort)
            if cards:
                self._effort.spend(12 * len(cards))
                found += cards
                for rest in run.without(cards):
                    self._find_rest(rest, found)
                return
        self._find_rest(run, found)

    def _find_rest(self, run: Run, found: list[Finding]) -> None:
        if len(run.digits) >= 9 and (self.may_be_decimal or run.raw.count(b"-") > 1):
            numbers = find_ssns(run, self._ssn_words)
            if len(run.digits) > 9:
                self._effort.spend(3 + 6 * len(numbers))
            if numbers:
                found += numbers
                if len(numbers) == 1 and numbers[0].end - numbers[0].start == run.end - run.start:
                    return
        phone = self._phones.find(run)
        if phone is not None:
            found.append(phone)


class Scanner:
    """`patterns` are the operator's own entities; what equals an entry of `allow_list`, in any case, is no finding.

    An entry that begins with `@` allows every address of that domain.
    """

    def __init__(self, patterns: Sequence[SanitizePattern] = (), allow_list: Iterable[str] = ()) -> None:
        self._identities = Identities()
        self._custom = [(pattern.entity, re2.compile(pattern.pattern)) for pattern in patterns]
        self._allowed = frozenset(entry.lower() for entry in allow_list)
        self._known = KnownClean()
        self._rank = {pattern.entity: len(RANK) for pattern in patterns} | RANK
        self.least_held = _CUSTOM_LEAST_HELD if self._custom else 0
        """Characters of a stream that must always wait: more than none where a pattern may span several words."""

    def scan(self, text: str) -> list[Finding]:
        """Findings in the text's own offsets, in order, disjoint. A text without any is known again."""
        digest = self._known.digest(text.encode("utf-8", "surrogatepass"))
        if self._known.knows(digest):
            return []
        found = self.look(text)
        if not found:
            self._known.learn(digest)
        return found

    def look(self, text: str) -> list[Finding]:
        """`scan` without its memory: for the pieces of a stream, which never come again."""
        found = scan_long(self._look, text)
        for entity, pattern in self._custom:
            found += [Finding(match.start(), match.end(), entity) for match in pattern.finditer(text) if match.group()]
        if self._custom and len(found) > 1:
            found = disjoint(found, self._rank)
        if found and self._allowed:
            found = [each for each in found if not self._is_allowed(text[each.start : each.end])]
        return found

    def _look(self, text: str) -> list[Finding]:
        """The detectors' findings in a piece of text, in order, disjoint."""
        view, budget = View(text), WorkBudget(len(text))
        try:
            budget.spend(view.folding_cost)
            found = self._find(view, budget, 0)
        except BudgetExceeded:
            found = list(all_but_words(view))
        if view.is_shifted:
            found = [Finding(*view.origin(start, end), entity) for start, end, entity in found]
        return disjoint(found, self._rank) if len(found) > 1 else found

    def is_quiet(self, text: str) -> bool:
        """True only when nothing can be found in the text; cheap, for the small pieces of a stream."""
        return not self._custom and is_quiet(text)

    def scan_url(self, url: str) -> list[Finding]:
        """Credentials inside an address; the address itself is what was asked for."""
        return [each for each in self.scan(url) if each.entity == "SECRET"]

    def _is_allowed(self, value: str) -> bool:
        value = value.lower()
        _, at, domain = value.rpartition("@")
        return value in self._allowed or (at != "" and f"@{domain}" in self._allowed)

    def _find(self, view: View, budget: WorkBudget, depth: int) -> list[Finding]:
        if len(view.folded) < 5:
            return []
        found = [*find_secrets(view, budget), *find_keyed(view, budget)]
        found += _outside_urls(view, self._find_personal(view, budget), budget)
        if depth < _DEPTH:
            found += self._find_spelt(view, budget, depth)
        return found

    def _find_personal(self, view: View, budget: WorkBudget) -> list[Finding]:
        found = [*find_emails(view, budget)]
        if has_digits(view):
            found += _find_numbers(view, budget)
        found += find_ibans(view, budget)
        found += find_addresses(view, budget)
        found += find_wallets(view, budget)
        found += self._identities.find(view, budget)
        return found

    def _find_spelt(self, view: View, budget: WorkBudget, depth: int) -> Iterator[Finding]:
        """Look at all other spellings at once, as lines of one text; what is said twice is one line."""
        said: dict[str, list[Spelling]] = {}
        for word in (*spellings(view.folded, budget), *decoded_words(view.folded, budget)):
            budget.spend(4)
            said.setdefault(word.text, []).append(word)
        if not said:
            return
        lines = list(said)
        starts = [0, *accumulate(len(line) + 2 for line in lines)]
        inner = View("\n\n".join(lines))
        budget.spend(300 + len(inner.folded) // 6)
        for finding in self._find(inner, budget, depth + 1):
            start, end = inner.origin(finding.start, finding.end)
            index = bisect_right(starts, start) - 1
            line, shift = lines[index], starts[index]
            if end - shift <= len(line):
                for word in said[line]:
                    budget.spend(12)
                    yield from _in_outer_text(word, Finding(start - shift, end - shift, finding.entity), view.folded)


def _find_numbers(view: View, budget: WorkBudget) -> list[Finding]:
    found: list[Finding] = []
    around = number_context(view)
    if not around.places:
        return found
    text, numbers = view.folded, _Numbers(around, budget)
    for start, end, count in digit_runs(view, budget, numbers.may_be_short, numbers.plain_from, numbers.may_be_decimal):
        if count == end - start < LEAST_CARD and numbers.are_nothing(start, end):
            budget.spend(2)
            continue
        budget.spend((7 if count < LEAST_CARD else 9) if end - start < _LONG_RUN else 6 + (end - start) // 4)
        numbers.find(Run(text, start, end), found)
    return found


def _outside_urls(view: View, found: list[Finding], budget: WorkBudget) -> Iterable[Finding]:
    """Numbers inside a web address name a page, not a person; values sent along in its query still count."""
    return found if not found or b"://" not in view.folded else _judged_by_urls(view.folded, found, budget)


def _judged_by_urls(text: bytes, found: list[Finding], budget: WorkBudget) -> Iterator[Finding]:
    starts, spans = [], []
    for match in _URL.finditer(text):
        start, end = match.span()
        budget.spend(2)
        starts.append(start)
        spans.append((end, text.find(b"?", start, end)))
    for finding in found:
        index = bisect_right(starts, finding.start) - 1
        if index >= 0 and finding.start < spans[index][0]:
            query = spans[index][1]
            in_query = 0 <= query < finding.start
            if finding.entity in _NOT_IN_URLS or (finding.entity in _NOT_IN_PATHS and not in_query):
                continue
            if finding.entity == "EMAIL" and _AUTHORITY.match(text, starts[index], finding.start):
                continue  # user@host
        yield finding


def _in_outer_text(word: Spelling, finding: Finding, text: bytes) -> Iterator[Finding]:
    """A finding in a word's spelling, as a finding in the text that holds the word."""
    if word.place is not None:
        last = word.start + word.place(finding.end)
        while last > word.start and text[last - 1] == _SPACE:
            last -= 1
        yield Finding(word.start + word.place(finding.start), last, finding.entity)
    elif finding.entity != "IP":  # drawings are full of what reads like one
        yield Finding(word.start, word.end, finding.entity)
