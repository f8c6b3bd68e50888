"""Masks the texts that one event of a stream holds completely: ids, titles, texts that come again, long texts.

Knows no channel. The pieces of texts that several events share are masked by `channel_scan`.
"""

from collections.abc import Callable, Sequence
from functools import partial

from gateway.errors import SanitizerFailed
from gateway.sanitize.masking.channel_scan import Blocked
from gateway.sanitize.masking.policy import Action, ActionTable
from gateway.sanitize.masking.repeated_texts import RepeatedTexts
from gateway.sanitize.masking.slot_masker import SlotMasker
from gateway.sanitize.masking.stream_steps import MaskSteps
from gateway.sanitize.masking.weights import IN_THREAD_CHARS, weight_of
from gateway.sanitize.scan.scanner import Scanner
from gateway.texts import TextSlot


class WholeTexts:
    """Those of one stream. `repeated`: the texts that come again. `on_finding(entity)` is called once for each finding.

    An id comes with every event: of an event's only text, the last one without a finding is not scanned again.
    """

    def __init__(self, scanner: Scanner, actions: ActionTable, on_finding: Callable[[str], None]) -> None:
        self._on_finding = on_finding
        self._masker = SlotMasker(scanner, actions, self._note)
        self.repeated = RepeatedTexts()
        self._note_count = 0
        self._clean_label: tuple[str, object, str] | None = None

    def steps(self, slots: Sequence[TextSlot]) -> MaskSteps[bool]:
        """Mask whole texts; whether one has changed. Naive form: `clean_seams`, then `clean` of each. Long ones that
        another event of the stream had are not scanned again.

        Raises Blocked and SanitizerFailed.
        """
        changes, masker, note_count = list[bool](), self._masker, self._note_count
        label = _label_of(slots)
        if label is not None and label == self._clean_label:
            return False
        try:
            for is_changed in masker.seam_steps(slots):
                changes.append(is_changed)
                yield None
            for slot in slots:
                if weight_of(slot) > IN_THREAD_CHARS:
                    yield partial(self._clean, slot, changes)
                else:
                    for is_changed in masker.steps(slot):
                        changes.append(is_changed)
                        yield None
        except Blocked:
            raise
        except Exception as error:
            raise SanitizerFailed("the sanitizer failed on this stream") from error
        if label is not None and note_count == self._note_count:
            self._clean_label = label
        return any(changes)

    def _clean(self, slot: TextSlot, changes: list[bool]) -> None:
        changes.append(self.repeated.mask_long(slot, self._masker.clean))

    def _note(self, entity: str, action: Action, where: str) -> None:
        self._note_count += 1
        self._on_finding(entity)
        if action == "block":
            raise Blocked(entity, where, None)


def _label_of(slots: Sequence[TextSlot]) -> tuple[str, object, str] | None:
    """All that the scan of an only text depends on, if it is a label; None for any other texts."""
    slot = slots[0]
    if len(slots) > 1 or slot.form != "label" or type(slot) is not TextSlot:
        return None
    return slot.name, slot.key, slot.text
