"""What an interface tells the middlewares about its own wire format, so that they need not know it.

The sanitize middleware asks where the text is; the errors and deliver middlewares ask what an error looks like, whole
or inside a stream. One dialect an interface: `wire.chat.dialect`, `wire.responses.dialect`, `mcp.dialect`.
"""

from collections.abc import Iterable
from typing import Any, Protocol

from gateway.domain import Event, Json, TextSlot, TextUnit
from gateway.errors import GatewayError


class Dialect(Protocol):
    @property
    def name(self) -> str:
        """The interface's one word: `chat`, `responses`, `websearch`."""
        ...

    @property
    def is_one_question(self) -> bool:
        """Whether all units of a request belong to one answer; else they are calls of their own."""
        ...

    def request_units(self, body: Any) -> Iterable[TextUnit]:
        """Every place in a checked request body where text stands that would leave the gateway."""
        ...

    def refuse_request(self, body: Any, unit: TextUnit, error: GatewayError) -> None:
        """A unit of the request must not go on: raise the error, or (one member of a batch) record it on the unit."""
        ...

    def reply_units(self, data: Any) -> list[TextUnit]:
        """Every place in a whole answer's data where text stands."""
        ...

    def refuse_reply(self, data: Any, unit: TextUnit, error: GatewayError) -> None:
        """A unit of a whole answer must not be shown: replace it, in place, in the interface's own form."""
        ...

    def note_findings(self, unit: TextUnit, told: dict[str, int | str]) -> None:
        """Record in a whole answer what was found, by entity (`{"EMAIL": 2}`), never a value.

        Where the units of a request are calls of their own, also on such a unit: its answer will tell it.
        `{"guardrail": "unavailable"}` among it says that the guardrail failed and the policy let the text go on.
        """
        ...

    def event_slots(self, data: Json) -> Iterable[TextSlot]:
        """The pieces of text in one stream event, each with the channel it continues."""
        ...

    def refused_events(self, error: GatewayError, last: Json | None) -> list[Event]:
        """What ends a stream whose text must not go on (`finish_reason: content_filter`, then `[DONE]`).

        `last` is the data of the event that holds it: the ending carries the same ids.
        """
        ...

    def error_body(self, error: GatewayError, body: Any) -> Json:
        """The body of a whole error answer. `body` is the request's body, or None when it was not read."""
        ...

    def error_events(self, error: GatewayError) -> list[Event]:
        """What ends a stream that failed after it had begun: an error event, never a clean end."""
        ...
