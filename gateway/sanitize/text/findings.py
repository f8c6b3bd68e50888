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


class Finding(NamedTuple):
    """A value of the kind `entity` at [start, end) of a text, in characters."""

    start: int
    end: int
    entity: str


def disjoint(findings: Iterable[Finding], rank: dict[str, int]) -> list[Finding]:
    """The findings in order, overlapping ones merged under the entity of the lowest rank (entities without one
    last)."""
    merged: list[Finding] = []
    start = end = -1
    entity, no_rank = "", len(rank)
    for finding in sorted(findings):
        if finding.start >= end:
            start, end, entity = finding
            merged.append(finding)
            continue
        before = entity, end
        if rank.get(finding.entity, no_rank) < rank.get(entity, no_rank):
            entity = finding.entity
        end = max(end, finding.end)
        if before != (entity, end):
            merged[-1] = Finding(start, end, entity)
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
    for start, end, entity in findings:
        parts += (text[index:start], mask_of(entity))
        index = end
    parts.append(text[index:])
    return "".join(parts)
