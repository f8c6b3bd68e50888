"""The messages dialect: where the text is in its bodies and events, and the form of its refusals and errors.

Source: Anthropic API reference (Messages, errors), read 2026-11-22. `stream` makes bodies and events themselves.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from gateway.domain import Event, Json
from gateway.errors import GatewayError
from gateway.texts import TextSlot, TextUnit
from gateway.wire.dialect import MessageUnits, OneQuestion, withhold
from gateway.wire.messages.error import error_object
from gateway.wire.messages.object import stop_fields
from gateway.wire.text_walk import answer_slots, answer_steps

_OWN_IN_REQUESTS = frozenset(("messages", "model", "metadata"))
"""Members of a request that are no text of this walk: messages are units of their own; a name of ours and a keyed hash
go on instead of the others."""
_OWN_IN_ANSWERS = frozenset(("model", "type", "role", "provider_specific_fields"))
"""Members of a message that the gateway writes itself."""
_OWN_IN_EVENTS = frozenset(("delta", "index", "type", "message", "provider_specific_fields"))
"""Members of an event that are walked on their own, or are the gateway's."""
_PIECES = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""Types of deltas, and the member of each that continues the text of its block."""


class MessagesDialect(OneQuestion):
    """Implements `wire.dialect.Dialect`, which documents the methods; stateless.

    A unit is one message of a request, or all the rest of it; an answer is one unit. The body is the unit's `owner`.
    """

    name = "messages"

    def request_units(self, body: Json) -> Iterable[TextUnit]:
        """One unit for each message, and one for all else. `body`: a checked request."""
        return MessageUnits(body, "messages", _OWN_IN_REQUESTS)

    def reply_units(self, data: Any) -> list[TextUnit]:
        """One unit: every string of a message, or of a count, which has none."""
        return [TextUnit(lambda: answer_steps(data, skip=_OWN_IN_ANSWERS), owner=data)]

    def refuse_reply(self, data: Any, unit: TextUnit, error: GatewayError) -> None:
        """Ends the message with `refusal`; it keeps its text before the finding."""
        withhold(unit, error.param)
        data["content"] = [block for block in data["content"] if block["type"] == "text" and block["text"]]
        data |= stop_fields("content_filter", None, [])

    def note_findings(self, unit: TextUnit, report: Json) -> None:
        """Sets the answer's `provider_specific_fields.sanitization`."""
        unit.owner.setdefault("provider_specific_fields", {})["sanitization"] = report

    def event_slots(self, data: Json) -> Iterable[TextSlot]:
        """The strings of one event. The deltas of a block are pieces of the channel `(index,)`, which its stop ends;
        all else are whole texts.
        """
        kind, delta, index = data.get("type"), data.get("delta"), data.get("index")
        if kind == "content_block_delta" and isinstance(delta, dict):
            yield from _delta_slots(delta, index)
        elif kind == "content_block_stop":
            yield TextSlot({"end": ""}, "end", f"content[{index}]", channel=(index,), last=True)
        elif isinstance(delta, dict):
            yield from answer_slots(delta, "delta")
        if isinstance(data.get("message"), dict):
            yield from answer_slots(data["message"], skip=_OWN_IN_ANSWERS)
        yield from answer_slots(data, str(kind), _OWN_IN_EVENTS)

    def error_body(self, error: GatewayError, body: Any) -> Json:
        """`{type: "error", error: {type, message, code}, request_id}`."""
        return error_object(error)

    def error_events(self, error: GatewayError) -> list[Event]:
        """One `error` event with the same object."""
        return [Event.from_data(error_object(error), name="error")]


def _delta_slots(delta: Json, index: Any) -> Iterator[TextSlot]:
    """A piece of a block's text, and any other strings of its delta."""
    kind = str(delta.get("type"))
    piece = _PIECES.get(kind)
    skip = frozenset(("type",)) if piece is None else frozenset(("type", piece))
    yield from answer_slots(delta, f"content[{index}]", skip)
    if piece is not None and isinstance(delta.get(piece), str):
        form: Any = "json" if piece == "partial_json" else "text"
        yield TextSlot(delta, piece, f"content[{index}].{piece}", form, (index,))
