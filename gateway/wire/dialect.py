"""What an interface tells the middlewares about its own wire format, so that they need not know it.

The sanitize middleware asks where the text is; the errors and deliver middlewares ask what an error looks like, whole
or inside a stream. One dialect an interface: `wire.chat`, `wire.responses`, `wire.websearch`.
"""

from collections.abc import Iterable
from typing import Protocol

from gateway.errors import GatewayError
from gateway.model import Event, Json, TextSlot


class Dialect(Protocol):
    @property
    def name(self) -> str:
        """The interface's one word: `chat`, `responses`, `websearch`."""
        ...

    def request_slots(self, body: Json) -> Iterable[TextSlot]:
        """Every place in a decoded request body where text stands that would leave the gateway."""
        ...

    def reply_slots(self, data: Json) -> Iterable[TextSlot]:
        """Every place in a whole answer where text stands."""
        ...

    def event_slots(self, data: Json) -> Iterable[TextSlot]:
        """The pieces of text in one stream event, each with the channel it continues."""
        ...

    def error_body(self, error: GatewayError, request_id: object) -> Json:
        """The body of a whole error answer. `request_id` is the JSON-RPC id where there is one, else ignored."""
        ...

    def error_events(self, error: GatewayError) -> list[Event]:
        """What ends a stream that has begun: never a clean end."""
        ...

    def block_reply(self, data: Json, error: GatewayError) -> Json:
        """A whole answer that must not be shown, in the interface's form (`finish_reason: content_filter`)."""
        ...

    def note_findings(self, data: Json, counts: dict[str, int]) -> None:
        """Record in a whole answer what the sanitizer did, `counts` by entity (`{"EMAIL": 2}`), never a value."""
        ...
