"""What was found where: spans of one text, made disjoint, and the text with its mask over them. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Finding(NamedTuple):
    """`entity` stands at [start, end) of the text, in characters."""

    start: int
    end: int
    entity: str


def disjoint(findings: Iterable[Finding], rank: dict[str, int]) -> list[Finding]:
    """Findings in order, overlapping ones joined under the entity of the lowest rank (unknown ones come last)."""
    joined: list[Finding] = []
    for finding in sorted(findings):
        if joined and finding.start < joined[-1].end:
            last = joined[-1]
            if finding.entity != last.entity or finding.end > last.end:
                entity = min(last.entity, finding.entity, key=lambda name: rank.get(name, len(rank)))
                joined[-1] = Finding(last.start, max(last.end, finding.end), entity)
        else:
            joined.append(finding)
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
