"""The sanitizer: finds sensitive values in texts and masks, reports or blocks them as the policy says.

Detectors run first; the guardrail model, where there is one, reads the masked text and may only add findings. A
detector that fails always refuses the text; the policy decides for a failing guardrail. Values are never logged or put
into messages. Knows no interface and no HTTP: texts come as units of slots that are judged together.
"""

import asyncio
import importlib
import re
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import orjson

from gateway.config.settings import Sanitize
from gateway.domain import Json
from gateway.errors import ContentBlocked, SanitizerFailed
from gateway.resilience.fair_queue import FairQueue
from gateway.resilience.single_flight import in_thread
from gateway.sanitize.findings import Finding
from gateway.sanitize.guardrail import Guardrail, GuardrailFailed
from gateway.sanitize.known_clean import KnownClean
from gateway.sanitize.placeholders import Placeholders
from gateway.sanitize.policy import GUARDRAIL_ENTITIES, Action, ActionTable, Direction, actions
from gateway.sanitize.restoring import Restorer
from gateway.sanitize.slot_mask import IN_THREAD_CHARS, KnownValues, Masks, SlotMasker, weight_of
from gateway.sanitize.sparing import Finder, SparingScanner
from gateway.sanitize.stream_mask import StreamMask
from gateway.sanitize.work_budget import SharedAllowance
from gateway.texts import TextSlot, TextUnit

if TYPE_CHECKING:
    from gateway.sanitize.scanner import Scanner

BLOCK = 8
"""Messages of a conversation that are known together: a digest for each of two hundred takes as long as all else."""
_TURN_S = 0.004
"""Work after which other requests get a turn. With the text at hand, which is not interrupted, about 5 ms."""
_STEP_UNITS = 3_000
"""Units (0.3 µs) of one step of the walk over a body: 0.9 ms for 512 members, measured."""
_CUE_CHARS, _CUE_REACH_CHARS = 65_536, 32
"""Text that is searched for cues at a time (1 ms), and how much of the next piece belongs to it: longer than a cue."""

_SCANS_AT_ONCE, _SPARE_SCANS = 2, 1
"""Threads that scan long texts at once, dealt out by key, and one more for a key that has none while others have
both. They hold Python's lock most of the time, so more of them finish no more texts and slow everything else down."""

_CUES = re.compile(
    r"(?i)\b(?:born|birth|salary|diagnos|patient|medical|disease|pregnan|address|street|lives? (?:at|in)|password"
    r"|(?:ignore|disregard|forget) (?:all|any|your|the|everything|previous|prior|every)|system prompt|new instructions"
    r"|(?:ai|llms?|(?:ai|language|the) models?|assistants?)\b"
    r"|confidential|private|debt|married|divorc|religion|union|criminal"
    r"|my (?:name|wife|husband|son|daughter|boss))"
)


@dataclass(slots=True)
class Verdict:
    """The result of scanning one unit. `counts`: findings by entity; `flagged`: those of them that stay in the text.
    `refusal`: the error if the unit is blocked.

    `degraded`: the guardrail failed, and the policy lets the text go on without it. `replaced`: those of `counts` that
    become their values again in the answer.
    """

    direction: Direction = "requests"
    counts: dict[str, int] = field(default_factory=dict)
    flagged: dict[str, int] = field(default_factory=dict)
    refusal: ContentBlocked | None = None
    degraded: bool = False
    replaced: dict[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether there is anything to report."""
        return bool(self.counts) or self.degraded

    def note(self, entity: str, action: Action, where: str) -> None:
        """Count a finding at a slot's path; the first one to block sets `refusal`."""
        self.counts[entity] = self.counts.get(entity, 0) + 1
        if action == "replace":
            self.replaced[entity] = self.replaced.get(entity, 0) + 1
        if action == "flag":
            self.flagged[entity] = self.flagged.get(entity, 0) + 1
        if action == "block" and self.refusal is None:
            advice = "remove it" if self.direction == "requests" else "it is withheld"
            self.refusal = ContentBlocked(f"{where} holds {entity}, which must not pass; {advice}", param=where)


class RequestWork:
    """What one request has cost so far: walking and sanitizing, over all its units in both directions.

    `allowance`: the one counter; what is left of it is what the texts may still spend beyond their length. `key_id`:
    whose request it is; threads are dealt out by it."""

    __slots__ = ("_turn_ends_s", "allowance", "key_id", "masks")

    def __init__(self, key_id: str = "") -> None:
        self.allowance = SharedAllowance()
        self.key_id = key_id
        self.masks = Masks()
        self._turn_ends_s = 0.0

    def is_due(self) -> bool:
        """Whether `pace` would give others a turn now, or begin this request's first one."""
        return time.perf_counter() >= self._turn_ends_s

    async def pace(self) -> None:
        """Give other requests a turn, if this one has had the event loop for _TURN_S."""
        now_s = time.perf_counter()
        if now_s >= self._turn_ends_s:
            if self._turn_ends_s:
                await asyncio.sleep(0)
                now_s = time.perf_counter()
            self._turn_ends_s = now_s + _TURN_S


class Sanitizer:
    """One for the whole server. `requests`, `responses`: the directions it scans; `routes`: the endpoints it scans."""

    def __init__(self, config: Sanitize, guardrail: Guardrail | None = None) -> None:
        self.requests = config.requests
        self.responses = config.responses
        self.routes = frozenset(config.routes if config.requests or config.responses else ())
        self.guardrail = guardrail
        self._strict = config.profile == "strict"
        self._threads = FairQueue(_SCANS_AT_ONCE, spare=_SPARE_SCANS)
        self._config = config
        self._clean_units = KnownClean()
        self.restore_tools = config.restore_tools
        self._no_actions = ActionTable.empty()
        self._actions: dict[Direction, ActionTable] = {
            "requests": actions(config, "requests"),
            "responses": actions(config, "responses"),
        }

    @cached_property
    def _scanner(self) -> "Scanner":
        """Imported when first used: its patterns take 50 ms to compile, and 2 MiB."""
        scanner: type[Scanner] = importlib.import_module("gateway.sanitize.scanner").Scanner
        return scanner(self._config.patterns, self._config.allow_list)

    async def _load(self) -> None:
        """Have the detectors compiled in a thread, beside which others get turns."""
        await in_thread(lambda: self._scanner)

    def is_known_clean(self, unit: TextUnit, direction: Direction) -> bool:
        """Whether `clean` can be skipped: the detectors found nothing in these texts, and no guardrail is on."""
        token = unit.scan_token
        return token is not None and direction in token.scanned_clean and not self._judges

    @property
    def _judges(self) -> bool:
        return self.guardrail is not None and self.guardrail.enabled

    async def clean(self, unit: TextUnit, direction: Direction, work: RequestWork | None = None) -> Verdict:
        """Mask a unit's slots in place. A blocked unit has the verdict's `refusal`; this method does not raise it.

        `work` is shared by all units of a request; None for a unit by itself.

        Raises SanitizerFailed when a detector failed, or the guardrail failed and the policy is to refuse.
        """
        if "_scanner" not in self.__dict__:
            await self._load()
        verdict, scan_token, work = Verdict(direction), unit.scan_token, work or RequestWork()
        digest = None if unit.whole is None else self._digest(unit.whole, direction)
        if not (
            (scan_token is not None and direction in scan_token.scanned_clean)
            or (digest is not None and self._clean_units.knows(digest))
        ):
            masks = work.masks if direction == "requests" else None
            scanner = self._sparing(work.masks.placeholders) if direction == "responses" else self._scanner
            masker = SlotMasker(scanner, self._actions[direction], verdict.note, work.allowance, masks)
            await self._mask(masker, unit, verdict, work)
            if scan_token is not None and not verdict.counts:
                scan_token.scanned_clean.add(direction)
            if digest is not None and not verdict.counts:
                self._clean_units.learn(digest)
        if verdict.refusal is None and self.guardrail is not None and self.guardrail.enabled:
            await self._judge(self.guardrail, unit, verdict, work)
        return verdict

    @property
    def replaces(self) -> bool:
        """Whether values of requests become placeholders, where the interface can put them back."""
        return self.requests and self._actions["requests"].replaces

    async def mask_known(self, unit: TextUnit, verdict: Verdict, work: RequestWork) -> None:
        """Mask, in a unit of a request, the values that were found elsewhere in the request. Raises SanitizerFailed.
        A name that holds one sets the verdict's `refusal`."""
        known: Finder = KnownValues(work.masks.found)
        known = SparingScanner(known, work.masks.placeholders) if work.masks.placeholders else known
        table = self._actions["requests"]
        masker = SlotMasker(known, table, verdict.note, work.allowance, work.masks, are_known=True)
        await self._mask(masker, unit, verdict, work)

    def _sparing(self, placeholders: Placeholders | None) -> Finder:
        """What finds values in an answer to a request of which these stand for values."""
        return SparingScanner(self._scanner, placeholders) if placeholders else self._scanner

    def _digest(self, whole: Any, direction: Direction) -> bytes | None:
        """What a unit is known by when it comes again: an agent sends its whole history with every call.

        Naive form: the scanner's own memory, text by text, which takes ten times as long for a message with a tool
        call: it is walked, and has several texts. None for what is no JSON (a lone surrogate).
        """
        try:
            return self._clean_units.digest(direction.encode() + orjson.dumps(whole))
        except TypeError:
            return None

    def block_digest(self, messages: Sequence[Any], direction: Direction) -> bytes | None:
        """What BLOCK messages that follow each other are known by when they come again together: those of a
        conversation that grows do. None for fewer, and where each is to be looked at by itself."""
        if len(messages) < BLOCK or self._judges:
            return None
        return self._digest(messages, direction)

    def knows_block(self, digest: bytes) -> bool:
        """Whether nothing was found in these messages."""
        return self._clean_units.knows(digest)

    def learn_block(self, digest: bytes) -> None:
        """Nothing was found in these messages."""
        self._clean_units.learn(digest)

    async def _mask(self, masker: SlotMasker, unit: TextUnit, verdict: Verdict, work: RequestWork) -> None:
        only, direction = unit.only_slot, verdict.direction
        try:
            if only is not None and only.form == "text" and len(only.text) <= IN_THREAD_CHARS:
                if work.is_due():
                    await work.pace()
                masker.clean(only)  # what follows does the same, by steps that one short text does not need
                return
            for slots in unit.steps(keeps_all=self._judges or direction == "responses"):  # answers may be cut by them
                work.allowance.left -= _STEP_UNITS
                await self._clean_slots(masker, slots, work)
                if verdict.refusal is not None and direction == "requests":
                    return  # nobody reads the rest
                await work.pace()
            for _ in masker.seam_steps(unit.slots):
                if work.is_due():
                    await work.pace()
            await self._clean_slots(masker, (slot for slot in unit.slots if slot.flow is not None), work)
        except Exception as error:
            raise SanitizerFailed("the sanitizer failed on this text") from error

    async def _clean_slots(self, masker: SlotMasker, slots: Iterable[TextSlot], work: RequestWork) -> None:
        for slot in slots:
            await work.pace()
            if weight_of(slot) > IN_THREAD_CHARS:
                await self.apart(partial(masker.clean, slot), work.key_id)
            else:
                for _ in masker.steps(slot):
                    if work.is_due():
                        await work.pace()

    async def apart(self, work: Callable[[], object], key_id: str) -> None:
        """Do work on a long text in a thread, when it is the key's turn. It ends with the chunk at hand when the caller
        has left."""
        async with self._threads.hold(key_id):
            await in_thread(work)

    async def stream(
        self,
        slots_of: Callable[[Json], Iterable[TextSlot]],
        note: Callable[[str], None],
        restorer: Restorer | None = None,
        *,
        finds: bool = True,
        placeholders: Placeholders | None = None,
        answer_of: Callable[[Json], Hashable] | None = None,
        notes_of: Callable[[Json], Iterable[tuple[Hashable, Json]]] | None = None,
    ) -> StreamMask:
        """A mask for one streamed answer. `slots_of(data)` are an event's texts, `note(entity)` is called per finding,
        `restorer` puts values back. Without `finds` it does nothing else. `placeholders`: of the request; nothing is
        found in them. `answer_of`, `notes_of`: see StreamMask.

        The guardrail does not read streams: each paragraph would have to wait for it.
        """
        if "_scanner" not in self.__dict__:
            await self._load()
        table = self._actions["responses"] if self.responses and finds else self._no_actions
        return StreamMask(
            self._scanner,
            table,
            slots_of,
            note,
            restorer,
            placeholders=placeholders,
            answer_of=answer_of,
            notes_of=notes_of,
        )

    async def _judge(self, guardrail: Guardrail, unit: TextUnit, verdict: Verdict, work: RequestWork) -> None:
        direction = verdict.direction
        table = self._actions[direction]
        slots = [slot for slot in unit.slots if slot.form == "text" and slot.is_there and len(slot.text) > 7]
        has_actions = any(table.action(entity) != "off" for entity in GUARDRAIL_ENTITIES)
        if not has_actions or not slots:
            return
        if direction == "responses" and not self._strict and not await _has_cue(slots, work):
            return
        text = "\n\n".join(slot.text for slot in slots)
        try:
            findings = await guardrail.find(text)
        except GuardrailFailed as error:
            if guardrail.closed_for[direction]:
                raise SanitizerFailed("the guardrail is unavailable and the policy is to refuse") from error
            verdict.degraded = True
            return
        for slot in slots:
            await work.pace()
            self._apply(slot, findings, verdict, work)

    def _apply(self, slot: TextSlot, findings: list[tuple[str, str]], verdict: Verdict, work: RequestWork) -> None:
        """Mask every occurrence. The model's findings block only its own entities; of others they are masked."""
        table = self._actions[verdict.direction]
        for entity, value in findings:
            action = table.action(entity, certain=False)
            if action == "block" and entity not in GUARDRAIL_ENTITIES:
                action = "redact"
            pattern = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)")
            if action == "off" or not pattern.search(slot.text):
                continue
            verdict.note(entity, action, slot.where)
            if action in ("redact", "replace"):
                masks = work.masks if verdict.direction == "requests" else Masks()
                mask = masks.over(Finding(0, len(value), entity, certain=False), value, action)
                slot.text = mask.join(pattern.split(slot.text))


async def _has_cue(slots: Iterable[TextSlot], work: RequestWork) -> bool:
    """Whether any text speaks of what the guardrail knows, searched piece by piece."""
    for slot in slots:
        for start in range(0, len(slot.text), _CUE_CHARS):
            await work.pace()
            if _CUES.search(slot.text, start, start + _CUE_CHARS + _CUE_REACH_CHARS):
                return True
    return False
