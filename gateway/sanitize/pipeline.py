"""The sanitizer: finds what is sensitive in texts and does with it what the policy says, whole or streamed.

Detectors run first; the guardrail model, where there is one, is shown what they have masked and may only add to it.
Knows no interface and no HTTP: texts come as units of slots that are judged together. A detector that fails always
refuses; what a failing guardrail does is the policy's matter. Values found are never logged or put into messages.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from gateway.config import Sanitize
from gateway.errors import ContentBlocked, SanitizerFailed
from gateway.model import Json, TextSlot, TextUnit
from gateway.sanitize.findings import Finding, masked
from gateway.sanitize.policy import Action, Direction, actions
from gateway.sanitize.scanner import Scanner
from gateway.sanitize.stream import StreamMask


@dataclass(slots=True)
class Verdict:
    """What was found in one unit, by entity, and the refusal if it must not go on."""

    counts: Counter[str] = field(default_factory=Counter)
    refusal: ContentBlocked | None = None


class Sanitizer:
    """`requests` and `responses` say which directions are looked at."""

    def __init__(self, config: Sanitize) -> None:
        self.requests = config.requests
        self.responses = config.responses
        self.routes = frozenset(config.routes)
        self._scanner = Scanner()
        self._actions: dict[Direction, Mapping[str, Action]] = {
            "requests": actions(config, "requests"),
            "responses": actions(config, "responses"),
        }

    async def clean(self, unit: TextUnit, direction: Direction) -> Verdict:
        """Mask a unit's slots in place. Raises SanitizerFailed when that could not be done."""
        verdict = Verdict()
        try:
            for slot in unit.slots:
                self._clean_slot(slot, self._actions[direction], verdict)
        except Exception as error:
            raise SanitizerFailed("the sanitizer failed on this text") from error
        return verdict

    def stream(self, slots_of: Callable[[Json], Iterable[TextSlot]], found: Callable[[str], None]) -> StreamMask:
        return StreamMask(self._scanner, self._actions["responses"], slots_of, found)

    def _clean_slot(self, slot: TextSlot, table: Mapping[str, Action], verdict: Verdict) -> None:
        text = slot.text
        redacted: list[Finding] = []
        for finding in self._scanner.scan(text):
            action = table.get(finding.entity, "off")
            if action == "off":
                continue
            verdict.counts[finding.entity] += 1
            if action == "redact":
                redacted.append(finding)
            elif action == "block" and verdict.refusal is None:
                verdict.refusal = ContentBlocked(
                    f"{slot.where} holds {finding.entity}, which must not pass; remove it", param=slot.where
                )
        if redacted:
            slot.text = masked(text, redacted)
