"""Findings: spans of one text with the kind of value in them; how they are merged and masked. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

RANK: dict[str, int] = {
    entity: rank
    for rank, entity in enumerate(
        ("SECRET", "CREDIT_CARD", "IBAN", "US_SSN", "NATIONAL_ID", "CRYPTO_WALLET", "EMAIL", "PHONE", "IP")
    )
}
"""The detectors' entities, most sensitive first: where findings overlap, the lowest rank names the mask."""
GRADED = frozenset(("SECRET", "CREDIT_CARD", "IBAN", "US_SSN", "NATIONAL_ID"))
"""The entities whose findings differ in certainty; the findings of all others count as certain."""


class Finding(NamedTuple):
    """A value of the kind `entity` at [start, end) of a text, in characters.

    `certain`: its form alone proves it, or syntax gives it a name: a checksum and an issuer, a maker's format with
    random characters, a key block, a random value assigned to a credential's name, an id right behind its label. Else
    the finding is only likely: a word stands nearby, or the value looks like what people write as a password.
    """

    start: int
    end: int
    entity: str
    certain: bool = True


def disjoint(findings: Iterable[Finding], rank: dict[str, int]) -> list[Finding]:
    """The findings in order, overlapping ones merged under the entity of the lowest rank (entities without one
    last). A merged finding is certain if the one that names it is, or any of a graded entity."""
    merged: list[Finding] = []
    start = end = -1
    entity, certain, no_rank = "", True, len(rank)
    for finding in sorted(findings):
        if finding.start >= end:
            start, end, entity, certain = finding
            merged.append(finding)
            continue
        before = entity, end, certain
        if rank.get(finding.entity, no_rank) < rank.get(entity, no_rank):
            certain = finding.certain or (certain and entity in GRADED)
            entity = finding.entity
        elif finding.certain and finding.entity in GRADED:
            certain = True
        end = max(end, finding.end)
        if before != (entity, end, certain):
            merged[-1] = Finding(start, end, entity, certain)
    return merged


def mask_of(entity: str) -> str:
    """The text that replaces a value of this kind. `folding` recognises it and hides it from the detectors."""
    return f"[REDACTED:{entity}]"


def masked(text: str, findings: Sequence[Finding]) -> str:
    """The text with every finding replaced by its mask. `findings` are disjoint and in order."""
    if not findings:
        return text
    parts: list[str] = []
    index = 0
    for start, end, entity, _ in findings:
        parts += (text[index:start], mask_of(entity))
        index = end
    parts.append(text[index:])
    return "".join(parts)
