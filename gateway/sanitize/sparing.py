"""A scanner that finds nothing in placeholders of ours: what comes back in their place is the caller's own.

"postgres://app:[SECRET_1]@db/x"  ->  [], though a password stands there
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Protocol

from gateway.sanitize.findings import Finding
from gateway.sanitize.placeholders import Placeholders
from gateway.sanitize.work_budget import SharedAllowance


class Finder(Protocol):
    """What finds values in texts: `scanner.Scanner` documents the methods."""

    def scan(self, text: str, allowance: SharedAllowance | None = None) -> list[Finding]: ...

    def scan_parts(self, text: str, allowance: SharedAllowance | None, prefix: str = "") -> Iterable[list[Finding]]: ...

    def scan_member(self, name: str, value: str) -> list[Finding]: ...

    def scan_url(self, url: str) -> list[Finding]: ...


class SparingScanner:
    """Finds what another one finds, but for placeholders. A finding that reaches beyond one counts as far as it is one
    without it."""

    def __init__(self, scanner: Finder, placeholders: Placeholders) -> None:
        self._scanner, self._placeholders = scanner, placeholders

    def scan(self, text: str, allowance: SharedAllowance | None = None) -> list[Finding]:
        """As `Scanner.scan`."""
        return self.spared(text, self._scanner.scan(text, allowance))

    def scan_parts(self, text: str, allowance: SharedAllowance | None, prefix: str = "") -> Iterator[list[Finding]]:
        """As `Scanner.scan_parts`."""
        for findings in self._scanner.scan_parts(text, allowance, prefix):
            yield self.spared(text, findings)

    def scan_member(self, name: str, value: str) -> list[Finding]:
        """As `Scanner.scan_member`."""
        return self.spared(value, self._scanner.scan_member(name, value))

    def scan_url(self, url: str) -> list[Finding]:
        """As `Scanner.scan_url`."""
        return self.spared(url, self._scanner.scan_url(url))

    def spared(self, text: str, findings: list[Finding]) -> list[Finding]:
        """What is left of the findings in a text."""
        spans = self._placeholders.spans(text) if findings else []
        if not spans:
            return findings
        ends, left = [end for _, end in spans], list[Finding]()
        for finding in findings:
            at, inside = bisect_left(ends, finding.start + 1), list[tuple[int, int]]()
            while at < len(spans) and spans[at][0] < finding.end:
                inside.append((max(spans[at][0], finding.start), min(spans[at][1], finding.end)))
                at += 1
            left += self._without(text, finding, inside) if inside else [finding]
        return left

    def _without(self, text: str, finding: Finding, inside: list[tuple[int, int]]) -> Iterator[Finding]:
        rest = text[finding.start : finding.end]
        for start, end in inside:
            rest = rest[: start - finding.start] + " " * (end - start) + rest[end - finding.start :]
        for each in self._scanner.scan(rest) if not rest.isspace() else ():
            found = each._replace(start=each.start + finding.start, end=each.end + finding.start)
            if not any(start < found.end and found.start < end for start, end in inside):
                yield found
