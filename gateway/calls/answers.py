"""Answers as data: what handlers return, what is masked, and what a door sends in its own form."""

from collections.abc import Callable
from typing import Any

from gateway.domain import Event, EventStream, Relay
from gateway.errors import GatewayError
from gateway.sanitize.stream_mask import Refusal

Endings = Callable[[GatewayError], list[Event]]
"""The events that end a stream which failed with this error."""


class WholeAnswer:
    """An answer as one value. `data` may change until a door has sent it."""

    data: Any


class StreamedAnswer:
    """An answer as events. `events` yields batches; closing it reaches the upstream.

    `first_event_wait_s`: how long a failure may still become a status instead of an event. `whole_answers`: each
    event's data is a complete answer, not a piece of one, and is sanitized as such. `failure_events`,
    `refusal_events`: the events that end this stream when it fails or is refused; the dialect's own where they are
    None. A handler sets them when they hold what the dialect cannot know: a request's id, a sequence number, the tokens
    used so far. `cancelled_events`: the last events of a stream that its caller cancels. `instead`: makes the
    events that are sent where the stream fails before its first event; None where such a failure is a status.
    `relay`: the short way of plain chunks, while `events` is its source; None has none. `passes`: filters the masked
    events; None sends all. `was_masked`: they were masked before they were stored, so
    that only their placeholders become values. `has_own_links`: positions of its citations are
    set when its events leave, for the masked text. `sent`: events sent so far.
    """

    events: EventStream
    first_event_wait_s: float
    whole_answers: bool
    failure_events: Endings | None
    refusal_events: Refusal | None
    cancelled_events: Callable[[], list[Event]] | None
    instead: Callable[[GatewayError], list[Event]] | None
    passes: Callable[[Event], bool] | None
    relay: Relay | None
    was_masked: bool
    has_own_links: bool
    sent: int
