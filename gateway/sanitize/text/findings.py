"""What was found where: spans of one text, made disjoint, and the text with its mask over them. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

RANK: dict[str, int] = {
    entity: rank
    for rank, entity in enumerate(
        ("SECRET", "CREDIT_CARD", "IBAN", "US_SSN", "NATIONAL_ID", "CRYPTO_WALLET", "EMAIL", "PHONE", "IP")
    )
}
"""The entities of the detectors; where two overlap, the first named gives the mask its name."""


class Finding(NamedTuple):
    """`entity` stands at [start, end) of the text, in characters."""

    start: int
    end: int
    entity: str


def disjoint(findings: Iterable[Finding], rank: dict[str, int]) -> list[Finding]:
    """Findings in order, overlapping ones joined under the entity of the lowest rank (unknown ones come last)."""
    joined: list[Finding] = []
    start = end = -1
    entity, unknown = "", len(rank)
    for finding in sorted(findings):
        if finding.start >= end:
            start, end, entity = finding
            joined.append(finding)
            continue
        before = entity, end
        if rank.get(finding.entity, unknown) < rank.get(entity, unknown):
            entity = finding.entity
        end = max(end, finding.end)
        if before != (entity, end):
            joined[-1] = Finding(start, end, entity)
    return joined


def mask_of(entity: str) -> str:
    return f"[REDACTED:{entity}]"


def masked(text: str, findings: Sequence[Finding]) -> str:
    """The text with every finding (disjoint, in order) replaced by its mask."""
    if not findings:
        return text
    parts: list[str] = []
    place = 0
    for start, end, entity in findings:
        parts += (text[place:start], mask_of(entity))
        place = end
    parts.append(text[place:])
    return "".join(parts)
