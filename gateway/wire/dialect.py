"""The Dialect port: what the middlewares must know about the wire format of an interface.

The sanitize middleware asks where the text is; the errors and deliver middlewares ask for the form of an error, whole
or inside a stream. Implementations, one for each interface: `wire.chat.dialect`, `wire.responses.dialect`,
`wire.messages.dialect`, `wire.embeddings.dialect`, `mcp.dialect`.
"""

from collections.abc import Iterable
from typing import Any, Protocol

from gateway.domain import Event, Json
from gateway.errors import GatewayError
from gateway.texts import TextSlot, TextUnit


class Dialect(Protocol):
    """Where the text of an interface's bodies and events is, and the form of its refusals and errors.

    `Any` bodies are decoded JSON that the interface's schema has accepted. Unless a method says so, none raises.
    """

    @property
    def name(self) -> str:
        """The interface's one word: `chat`, `responses`, `messages`, `embeddings`, `websearch`."""
        ...

    @property
    def is_one_question(self) -> bool:
        """True when all units of a request lead to one answer; False when each is a call with its own answer."""
        ...

    def request_units(self, body: Any) -> Iterable[TextUnit]:
        """Every string of a checked request body that would leave the gateway, as units that are judged as one."""
        ...

    def refuse_request(self, body: Any, unit: TextUnit, error: GatewayError) -> None:
        """The unit is blocked: raise `error`, or record it on the unit where units are calls of their own."""
        ...

    def reply_units(self, data: Any) -> Iterable[TextUnit]:
        """Every string of a whole answer, as units that are judged as one; the next is asked for after a verdict."""
        ...

    def refuse_reply(self, data: Any, unit: TextUnit, error: GatewayError) -> None:
        """The unit of a whole answer is blocked: replace it in `data`, in place, by the interface's own refusal."""
        ...

    def note_findings(self, unit: TextUnit, report: Json, /) -> None:
        """Record what was found in the unit's answer: `{redacted, flagged, guardrail?}` (`wire.sanitizer_report`).

        `unit` is one of a whole answer, or of a request whose units are calls of their own.
        """
        ...

    def event_slots(self, data: Json) -> Iterable[TextSlot]:
        """Every string in the data of one stream event; pieces of a text have the channel that they continue."""
        ...

    def refused_events(self, error: GatewayError, last: Json | None) -> list[Event]:
        """The events that end a stream whose text is blocked (`finish_reason: content_filter`, then `[DONE]`).

        `last` is the data of the event with the blocked text: the ending carries the same ids.
        """
        ...

    def error_body(self, error: GatewayError, body: Any) -> Json:
        """The body of an error answer. `body` is the request's body, or None when it was not read."""
        ...

    def error_events(self, error: GatewayError) -> list[Event]:
        """The events that end a stream which failed after its first event: an error event, never a clean end."""
        ...
