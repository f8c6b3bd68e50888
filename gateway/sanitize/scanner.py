"""One pass of every detector over one text. Knows no policy and no direction: it says what stands where."""

from collections.abc import Iterator

from gateway.sanitize.detectors.cards import find_cards
from gateway.sanitize.detectors.email import find_emails
from gateway.sanitize.detectors.numbers import digit_runs
from gateway.sanitize.detectors.secrets import find_secrets
from gateway.sanitize.findings import Finding, disjoint
from gateway.sanitize.folding import View
from gateway.sanitize.policy import RANK


class Scanner:
    least_held = 0
    """Characters of a stream that must always wait: more than none where a pattern may span several words."""

    def scan(self, text: str) -> list[Finding]:
        """Findings in the text's own offsets, in order, disjoint."""
        view = View(text)
        found = [Finding(*view.origin(each.start, each.end), each.entity) for each in self._find(view)]
        return disjoint(found, RANK) if len(found) > 1 else found

    def _find(self, view: View) -> Iterator[Finding]:
        yield from find_secrets(view)
        yield from find_emails(view)
        for run in digit_runs(view, 12):
            yield from find_cards(run, view.lower)
