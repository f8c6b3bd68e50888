"""The sanitizer: finds sensitive values in texts and masks, reports or blocks them as the policy says.

Detectors run first; the guardrail model, where there is one, reads the masked text and may only add findings. A
detector that fails always refuses the text; the policy decides for a failing guardrail. Values are never logged or put
into messages. Knows no interface and no HTTP: texts come as units of slots that are judged together.
"""

import asyncio
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from gateway.config.settings import Sanitize
from gateway.domain import Json, TextSlot, TextUnit
from gateway.errors import ContentBlocked, SanitizerFailed
from gateway.sanitize.guardrail.guardrail import Guardrail, GuardrailFailed
from gateway.sanitize.masking.policy import GUARDRAIL_ENTITIES, Action, ActionTable, Direction, actions
from gateway.sanitize.masking.slot_masker import SlotMasker
from gateway.sanitize.masking.stream_masker import StreamMask
from gateway.sanitize.scan.scanner import Scanner
from gateway.sanitize.text.findings import mask_of

_IN_THREAD_CHARS = 40_000
"""Longer units are scanned in a thread. Chosen: a scan holds the event loop in proportion to the length. Half would
send more texts through a thread, which costs each a switch; double would double the longest block."""

_CUES = re.compile(
    r"(?i)\b(?:born|birth|salary|diagnos|patient|medical|disease|pregnan|address|street|lives? (?:at|in)|password"
    r"|(?:ignore|disregard|forget) (?:all|any|your|the|everything|previous|prior|every)|system prompt|new instructions"
    r"|(?:ai|llms?|(?:ai|language|the) models?|assistants?)\b"
    r"|confidential|private|debt|married|divorc|religion|union|criminal"
    r"|my (?:name|wife|husband|son|daughter|boss))"
)


@dataclass(slots=True)
class Verdict:
    """The result of scanning one unit. `counts`: findings by entity. `refusal`: the error if the unit is blocked.

    `degraded`: the guardrail failed, and the policy lets the text go on without it.
    """

    direction: Direction = "requests"
    counts: dict[str, int] = field(default_factory=dict)
    refusal: ContentBlocked | None = None
    degraded: bool = False

    def __bool__(self) -> bool:
        """Whether there is anything to report."""
        return bool(self.counts) or self.degraded

    def note(self, entity: str, action: Action, where: str) -> None:
        """Count a finding at a slot's path; the first one to block sets `refusal`."""
        self.counts[entity] = self.counts.get(entity, 0) + 1
        if action == "block" and self.refusal is None:
            advice = "remove it" if self.direction == "requests" else "it is withheld"
            self.refusal = ContentBlocked(f"{where} holds {entity}, which must not pass; {advice}", param=where)


class Sanitizer:
    """One for the whole server. `requests`, `responses`: the directions it scans; `routes`: the endpoints it scans."""

    def __init__(self, config: Sanitize, guardrail: Guardrail | None = None) -> None:
        self.requests = config.requests
        self.responses = config.responses
        self.routes = frozenset(config.routes if config.requests or config.responses else ())
        self.guardrail = guardrail
        self._strict = config.profile == "strict"
        self._scanner = Scanner(config.patterns, config.allow_list)
        self._actions: dict[Direction, ActionTable] = {
            "requests": actions(config, "requests"),
            "responses": actions(config, "responses"),
        }

    def is_known_clean(self, unit: TextUnit, direction: Direction) -> bool:
        """Whether `clean` can be skipped: the detectors found nothing in these texts, and no guardrail is on."""
        scan_token = unit.scan_token
        if scan_token is None or direction not in scan_token.scanned_clean:
            return False
        return self.guardrail is None or not self.guardrail.enabled

    async def clean(self, unit: TextUnit, direction: Direction) -> Verdict:
        """Mask a unit's slots in place. A blocked unit has the verdict's `refusal`; this method does not raise it.

        Raises SanitizerFailed when a detector failed, or the guardrail failed and the policy is to refuse.
        """
        verdict, scan_token = Verdict(direction), unit.scan_token
        if scan_token is None or direction not in scan_token.scanned_clean:
            await self._scan(unit, direction, verdict)
            if scan_token is not None and not verdict.counts:
                scan_token.scanned_clean.add(direction)
        if verdict.refusal is None and self.guardrail is not None and self.guardrail.enabled:
            await self._judge(self.guardrail, unit, direction, verdict)
        return verdict

    async def _scan(self, unit: TextUnit, direction: Direction, verdict: Verdict) -> None:
        try:
            if sum(len(slot.text) for slot in unit.slots) > _IN_THREAD_CHARS:
                await asyncio.to_thread(self._detect, unit, direction, verdict)
            else:
                self._detect(unit, direction, verdict)
        except Exception as error:
            raise SanitizerFailed("the sanitizer failed on this text") from error

    def stream(self, slots_of: Callable[[Json], Iterable[TextSlot]], note: Callable[[str], None]) -> StreamMask:
        """A mask for one streamed answer. `slots_of(data)` are an event's texts, `note(entity)` is called per finding.

        The guardrail does not read streams: each paragraph would have to wait for it.
        """
        return StreamMask(self._scanner, self._actions["responses"], slots_of, note)

    def _detect(self, unit: TextUnit, direction: Direction, verdict: Verdict) -> None:
        masker = SlotMasker(self._scanner, self._actions[direction], verdict.note)
        for slot in unit.slots:
            masker.clean(slot)

    async def _judge(self, guardrail: Guardrail, unit: TextUnit, direction: Direction, verdict: Verdict) -> None:
        table = self._actions[direction]
        slots = [slot for slot in unit.slots if slot.form == "text" and len(slot.text) > 7]
        text = "\n\n".join(slot.text for slot in slots)
        has_actions = any(table.action(entity) != "off" for entity in GUARDRAIL_ENTITIES)
        if not has_actions or not text or (direction == "responses" and not self._strict and not _CUES.search(text)):
            return
        try:
            findings = await guardrail.find(text)
        except GuardrailFailed as error:
            if guardrail.closed_for[direction]:
                raise SanitizerFailed("the guardrail is unavailable and the policy is to refuse") from error
            verdict.degraded = True
            return
        for slot in slots:
            self._apply(slot, findings, table, verdict)

    def _apply(self, slot: TextSlot, findings: list[tuple[str, str]], table: ActionTable, verdict: Verdict) -> None:
        """Mask every occurrence. The model's findings block only its own entities; of others they are masked."""
        for entity, value in findings:
            action = table.action(entity, certain=False)
            if action == "block" and entity not in GUARDRAIL_ENTITIES:
                action = "redact"
            pattern = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)")
            if action == "off" or not pattern.search(slot.text):
                continue
            verdict.note(entity, action, slot.where)
            if action == "redact":
                slot.text = pattern.sub(mask_of(entity), slot.text)
