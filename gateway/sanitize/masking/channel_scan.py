"""Decides how much of a channel's text is final, and which masks lie over it. See `stream_masker` for the states.

Two ways lead to a decision: `advance_plain`, cheap, for plain words only; `advance`, the full scan. Does not know
events' order or wire formats: it only changes the channel.
"""

from collections.abc import Callable

from gateway.errors import SanitizerFailed
from gateway.sanitize.masking.event_queue import PendingEvent
from gateway.sanitize.masking.policy import ActionTable
from gateway.sanitize.masking.stream_channel import Channel
from gateway.sanitize.scan.fast_path import plain_text_cut
from gateway.sanitize.scan.scanner import Scanner
from gateway.sanitize.text.findings import Finding, mask_of
from gateway.sanitize.text.holdback import MAX_HOLDBACK_CHARS

_CONTEXT_CHARS = 40
"""Chosen: characters beside the undecided text that the fast paths look at too, so that a sign split by the border (an
escape, `sg.`, `://`, 16 characters without a space) is still seen. At half the longest sign would barely fit; at double
each short piece costs more."""

IDLE_EVENTS = 64
"""Chosen: a channel that holds text back delays at most so many events of other channels. At half, a password or a name
split over channels that alternate slowly is cut more often and can leak; at double, a silent choice delays others more.
"""
MAX_IDLE_EVENTS = 1024
"""Chosen: the same for a channel that may end in a number or key (`may_be_key`). At half, such a value leaks where 600
pieces of reasoning stand between two of its own; at double, twice as many events wait in memory."""


class Blocked(Exception):
    """A finding must not pass. `where` is its slot's path; `last_event` the event that is cut before the finding."""

    def __init__(self, entity: str, where: str, last_event: PendingEvent | None) -> None:
        super().__init__(entity)
        self.entity, self.where, self.last_event = entity, where, last_event


class ChannelScan:
    """Scans the channels of one stream. `on_finding(entity)` is called once for each finding."""

    def __init__(self, scanner: Scanner, actions: ActionTable, on_finding: Callable[[str], None]) -> None:
        self._scanner, self._actions, self._on_finding = scanner, actions, on_finding

    def advance_plain(self, channel: Channel) -> bool:
        """Decide plain words up to the holdback and emit their pieces. False, with nothing done, for any other text
        and for a closed channel, of which all is decided.

        Naive form: `advance(channel)`, which decides the same. Raises SanitizerFailed.
        """
        if channel.edits or channel.mask_until is not None or channel.closed or self._scanner.min_holdback_chars:
            return False
        start = channel.final - channel.base
        first = start - _CONTEXT_CHARS if start > _CONTEXT_CHARS else 0
        try:
            cut = plain_text_cut(channel.buffer[first:], start - first)
        except Exception as error:
            raise SanitizerFailed("the sanitizer failed on this stream") from error
        if cut < 0:
            return False
        if first + cut > start:
            channel.mark_decided(first + cut)
        if channel.pieces and channel.pieces[0].end <= channel.final:
            channel.emit_decided()
        return True

    def advance(self, channel: Channel, whole: bool = False) -> None:
        """Decide all text but the holdback, or all of it with `whole` or when the channel is closed; emit its pieces.

        Raises Blocked, with the channel cut at the finding, and SanitizerFailed.
        """
        try:
            if channel.mask_until is not None:
                channel.continue_mask()
            start, length = channel.final - channel.base, len(channel.buffer)
            decide_all = whole or channel.closed
            cut = length if decide_all else channel.holdback_start(start, self._scanner.min_holdback_chars)
            if cut > start or length - start > MAX_HOLDBACK_CHARS:
                self._decide(channel, cut)
        except Blocked:
            raise
        except Exception as error:
            raise SanitizerFailed("the sanitizer failed on this stream") from error
        channel.emit_decided()

    def may_go_on(self, channel: Channel) -> bool:
        """Whether the text of another item may complete a value that this closed text may end with.

        A value to be blocked that is complete ends the stream at once. Raises SanitizerFailed.
        """
        if not (self._scanner.min_holdback_chars or channel.may_go_on()):
            return False
        try:
            found = self._scanner.scan_uncached(channel.buffer)
        except Exception as error:
            raise SanitizerFailed("the sanitizer failed on this stream") from error
        held = (each for each in found if each.end > channel.final - channel.base)
        return all(self._actions.action(each.entity, each.certain) != "block" for each in held)

    def is_idle(self, channel: Channel, idle_events: int) -> bool:
        """Whether what a channel holds back is to be decided, so many events after its last text."""
        if idle_events <= IDLE_EVENTS:
            return False
        return idle_events > MAX_IDLE_EVENTS or not channel.may_end_in_key()

    def _decide(self, channel: Channel, cut: int) -> None:
        """Scan the buffer and decide it up to `cut`, or up to a finding that goes beyond it."""
        start, length = channel.final - channel.base, len(channel.buffer)
        findings: list[Finding] = []
        if not self._scanner.is_trivially_clean(channel.buffer[max(0, start - _CONTEXT_CHARS) : cut + _CONTEXT_CHARS]):
            findings = [
                finding
                for finding in self._scanner.scan_uncached(channel.buffer)
                if finding.end > start and self._actions.action(finding.entity, finding.certain) != "off"
            ]
        for finding in findings:
            if finding.start < cut < finding.end:
                cut = max(finding.start, start)
        holds_too_much = length - cut > MAX_HOLDBACK_CHARS
        if holds_too_much:
            cut = length
        for finding in findings:
            if finding.start < cut:
                self._apply(channel, finding._replace(start=max(finding.start, start)))
        if holds_too_much and channel.edits and channel.ends_in_mask():
            channel.mask_tail_of(findings[-1].start)
        channel.mark_decided(cut)

    def _apply(self, channel: Channel, finding: Finding) -> None:
        self._on_finding(finding.entity)
        action = self._actions.action(finding.entity, finding.certain)
        if action == "redact":
            channel.add_edit(finding.start, finding.end, mask_of(finding.entity))
        elif action == "block":
            raise Blocked(finding.entity, channel.where, channel.cut_at(finding.start))
