"""The responses dialect: where the text is in its bodies and events, and the form of its refusals and errors.

Source: OpenAI API reference (Responses), read 2026-11-21. `object` and `events` make the bodies and events themselves.
A stream that knows its ids makes its own endings (`ResponseStream`); those of this dialect are for streams without.
"""

from collections.abc import Hashable, Iterable, Iterator
from itertools import islice
from typing import Any

from gateway.domain import Event, Json
from gateway.errors import GatewayError
from gateway.texts import Form, TextSlot, TextUnit
from gateway.wire import sse
from gateway.wire.dialect import MessageUnits, OneQuestion, withhold
from gateway.wire.field_rules import is_made_id
from gateway.wire.openai_error import responses_error_object
from gateway.wire.responses import object as objects
from gateway.wire.text_walk import answer_steps

_OWN_IN_REQUESTS = frozenset(("model", "user"))
"""Members of a request that never leave as they are: a name of ours and a keyed hash go instead."""
_OWN_IN_ANSWERS = frozenset(("model", "object", "user", "provider_specific_fields"))
"""Members of a response that the gateway writes itself, or that the caller sent about itself."""
_OWN_IN_EVENTS = frozenset(("response", "sequence_number"))
_OWN_IN_DELTAS = frozenset(("delta", "sequence_number"))
"""Members of an event that are walked on their own, or are a number of ours."""
_PLAIN_DELTA = frozenset(
    ("type", "sequence_number", "item_id", "output_index", "content_index", "summary_index", "delta", "logprobs")
)
"""A delta without other members holds no other string than its piece of text and its id."""


class ResponsesDialect(OneQuestion):
    """Implements `wire.dialect.Dialect`, which documents the methods; stateless.

    A unit is one item of a request, or all the rest of it; a response is one unit, whose `owner` is the body.
    """

    name = "responses"

    def request_units(self, body: Any) -> Iterable[TextUnit]:
        """One unit for each item, and one for all else. `body`: a checked request, `{input: words or [item], …}`."""
        return MessageUnits(body, "input", _OWN_IN_REQUESTS)

    def reply_units(self, data: Any) -> list[TextUnit]:
        """One unit: every string of a response, `{instructions, output: [item], …}`, or of a page of items."""
        return [TextUnit(lambda: answer_steps(data, skip=_OWN_IN_ANSWERS), owner=data)]

    def refuse_reply(self, data: Any, unit: TextUnit, error: GatewayError) -> None:
        """Makes the response incomplete, reason `content_filter`, without its text from the finding on."""
        withhold(TextUnit([slot for slot in unit.slots if slot.where.startswith(("output[", "data["))]), error.param)
        objects.finish(data, "content_filter", None, data.get("provider_specific_fields"))

    def note_findings(self, unit: TextUnit, report: Json) -> None:
        """Sets the response's `provider_specific_fields.sanitization`, where it has these fields."""
        fields = unit.owner.get("provider_specific_fields")
        if isinstance(fields, dict):
            fields["sanitization"] = report

    def event_slots(self, data: Json) -> Iterable[TextSlot]:
        """The strings of one event.

        The `delta` of a `.delta` event is a piece of the channel `(item_id, type without its suffix, content_index)`;
        `.done` ends it and has the whole text again; all else are whole texts.
        """
        kind: str = data.get("type", "")
        if kind.endswith(".delta") and data.keys() <= _PLAIN_DELTA and not data.get("logprobs"):
            item_id, delta = data.get("item_id"), data.get("delta")
            if type(delta) is str and type(item_id) is str and is_made_id(item_id):
                channel = (item_id, kind[:-6], str(data.get("content_index")))
                return (TextSlot(data, "delta", kind, _form_of(kind[:-6]), channel),)
        return self._event_slots(data, kind)

    def _event_slots(self, data: Json, kind: str) -> Iterator[TextSlot]:
        stem, _, suffix = kind.rpartition(".")
        channel = (data.get("item_id"), stem, str(data.get("content_index")))
        skip = _OWN_IN_EVENTS
        if suffix == "delta" and isinstance(data.get("delta"), str):
            copies = data if data.get("logprobs") else None
            yield TextSlot(data, "delta", kind, _form_of(stem), channel, copies=copies)
            skip = _OWN_IN_DELTAS
        elif suffix == "done":
            yield TextSlot({"end": ""}, "end", kind, channel=channel, last=True)
        yield from _found(answer_steps(data, kind, skip))
        if isinstance(data.get("response"), dict):
            yield from _found(answer_steps(data["response"], skip=_OWN_IN_ANSWERS))

    def event_notes(self, data: Json) -> Iterable[tuple[Hashable, Json]]:
        """That of `response.output_text.annotation.added`."""
        note = data.get("annotation")
        if data.get("type") == "response.output_text.annotation.added" and isinstance(note, dict):
            return [((data.get("item_id"), "response.output_text", str(data.get("content_index"))), note)]
        return ()

    def error_body(self, error: GatewayError, body: Any) -> Json:
        """`{"error": {message, type, param, code}}`, `param` under the name of the responses route."""
        return {"error": responses_error_object(error)}

    def error_events(self, error: GatewayError) -> list[Event]:
        """One `error` event, `{type, sequence_number, error}`, as a finished frame."""
        data = {"type": "error", "sequence_number": 0, **self.error_body(error, None)}
        return [Event.from_bytes(sse.frame(data, "error"))]


def _found(steps: Iterator[list[TextSlot]]) -> Iterator[TextSlot]:
    """The slots of a walk, as they are found. Nothing may be replaced before all were taken."""
    taken = 0
    for found in steps:
        yield from islice(found, taken, None)
        taken = len(found)


def _form_of(stem: str) -> Form:
    """The form of the text that deltas of one kind spell: a call's arguments are JSON and must stay so."""
    return "json" if stem.endswith("_arguments") else "text"
