"""The channels of one stream: which channel a piece belongs to, what happens when it is closed, and which are idle.

The states of a channel are described in `stream_masker`, and decided by `channel_scan`. Knows no wire format.
"""

from collections.abc import Hashable, Iterator

from gateway.sanitize.masking.channel_scan import ChannelScan
from gateway.sanitize.masking.event_queue import PendingEvent
from gateway.sanitize.masking.repeated_texts import RepeatedTexts
from gateway.sanitize.masking.stream_channel import Channel
from gateway.texts import TextSlot


class OpenChannels:
    """`by_name`: the channels that are not closed. `repeated` gets the text of every closed item of a flow.

    All methods raise what `ChannelScan.advance` raises.
    """

    __slots__ = ("_parted", "_repeated", "_scan", "by_name")

    def __init__(self, scan: ChannelScan, repeated: RepeatedTexts) -> None:
        self._scan, self._repeated = scan, repeated
        self.by_name: dict[Hashable, Channel] = {}
        self._parted: dict[Hashable, Channel] = {}  # by flow: the channel of its last closed item

    def append(self, slot: TextSlot, pending: PendingEvent) -> Channel | None:
        """Add a piece; returns its channel, or None for the end of a text that never began."""
        channel = self.by_name.get(slot.channel)
        if channel is None:
            if slot.last and slot.flow is None and not slot.text:
                return None
            channel = self._parted.pop(slot.flow, None) or Channel(slot.form, slot.where, joins=slot.flow is not None)
            channel.where = slot.where
            self.by_name[slot.channel] = channel
        channel.append(slot, pending)
        if slot.last:
            self.by_name.pop(slot.channel)
            if channel.joins:
                self._part(channel, slot.flow)
            else:
                channel.closed = True
                self._scan.advance(channel)
        return channel

    def _part(self, channel: Channel, flow: Hashable) -> None:
        """An item of a flow is closed: keep what it holds back only if another item may go on with a value in it."""
        self._repeated.add(channel.end_segment())
        self._scan.advance(channel)
        if not self._scan.may_go_on(channel):
            self._scan.advance(channel, whole=True)
        beside = self._parted.get(flow)  # of an item that was open beside this one
        if beside is not None:
            self._scan.advance(beside, whole=True)
        self._parted[flow] = channel

    def close_all(self) -> None:
        """The stream has ended: decide all texts."""
        for channel in self._all():
            channel.closed = True
            self._scan.advance(channel)
        self.by_name.clear()
        self._parted.clear()

    def decide_idle(self, event_count: int) -> None:
        """Decide the texts that have got no piece for too long; `event_count` is that of the stream so far."""
        for channel in self._all():
            if channel.pieces and self._scan.is_idle(channel, event_count - channel.last_event):
                self._scan.advance(channel, whole=True)

    def _all(self) -> Iterator[Channel]:
        yield from (*self.by_name.values(), *self._parted.values())
