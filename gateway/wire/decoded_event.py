"""Large events of a stream that were decoded in slices, in the place of their bytes. Knows no interface."""

from typing import Any

import orjson

from gateway.wire import repaired_json
from gateway.wire.large_json import DecodedBody


class DecodedEvent(bytes):
    """The data of a large event that was decoded already, in the place of its bytes: `event_value` returns its value.
    It is empty, but has the length that they had."""

    _body: DecodedBody

    @classmethod
    def of(cls, body: DecodedBody) -> "DecodedEvent":
        """The same in the place of an event's data."""
        event = cls()
        event._body = body
        return event

    def __len__(self) -> int:
        return len(self._body)

    @property
    def body(self) -> DecodedBody:
        """Its value, or what was wrong with it."""
        return self._body

    def drop(self) -> None:
        """Let the value go; it is None from here on."""
        self._body = DecodedBody(len(self))


def let_go(batch: list[bytes]) -> None:
    """Let go what large events of a batch were decoded to: those who have handed it on still hold the list and the
    events."""
    for data in batch:
        if isinstance(data, DecodedEvent):
            data.drop()


def event_value(data: bytes) -> Any:
    """The value of an event's data; the same object each time where it was decoded already. Raises
    orjson.JSONDecodeError."""
    return data.body.peek() if isinstance(data, DecodedEvent) else repaired_json.loads(data)


def event_data(value: Any, before: bytes) -> bytes:
    """The data of an event with a value made of that of `before`."""
    if isinstance(before, DecodedEvent):
        return DecodedEvent.of(DecodedBody(len(before), value))
    return orjson.dumps(value)
