"""The responses dialect: where the text is in its bodies and events, and the form of its refusals and errors.

Source: OpenAI API reference (Responses), read 2026-11-21. `object` and `events` make the bodies and events themselves.
A stream that knows its ids makes its own endings (`ResponseStream`); those of this dialect are for streams without.
"""

from collections.abc import Iterable, Iterator, MutableMapping
from typing import Any

from gateway.domain import Event, Json, TextSlot, TextUnit
from gateway.errors import GatewayError
from gateway.wire import sse
from gateway.wire.cut_blocked import withhold
from gateway.wire.openai_error import responses_error_object
from gateway.wire.responses import object as objects
from gateway.wire.untrusted_json import list_in


class ResponsesDialect:
    """Implements `wire.dialect.Dialect`, which documents the methods; stateless.

    A request is one unit, a response is one unit; the body is the unit's `owner`.
    """

    @property
    def name(self) -> str:
        """`responses`."""
        return "responses"

    @property
    def is_one_question(self) -> bool:
        """True: all units of a request lead to one answer."""
        return True

    def request_units(self, body: Any) -> Iterable[TextUnit]:
        """One unit: `instructions` and the texts of `input`, a string or a list of items."""
        slots = list(_text_of(body, "", "instructions"))
        if isinstance(body.get("input"), str):
            slots += _text_of(body, "", "input")
        elif isinstance(body.get("input"), list):
            for index, item in enumerate(body["input"]):
                slots += _item_slots(item, f"input[{index}]")
        yield TextUnit(slots, owner=body)

    def refuse_request(self, body: Any, unit: TextUnit, error: GatewayError) -> None:
        """Raises `error`."""
        raise error

    def reply_units(self, data: Any) -> list[TextUnit]:
        """One unit: the texts of a response, `{instructions, output: [item]}`, or a page of items, `{data: [item]}`."""
        slots = list(_text_of(data, "", "instructions"))
        for name in ("output", "data"):
            for index, item in enumerate(list_in(data, name)):
                slots += _item_slots(item, f"{name}[{index}]") if isinstance(item, dict) else ()
        return [TextUnit(slots, owner=data)]

    def refuse_reply(self, data: Any, unit: TextUnit, error: GatewayError) -> None:
        """Makes the response incomplete, reason `content_filter`, without its text from the finding on."""
        withhold(unit, error.param)
        objects.finish(data, "content_filter", None, data.get("provider_specific_fields"))

    def note_findings(self, unit: TextUnit, counts: dict[str, int | str]) -> None:
        """Sets the response's `provider_specific_fields.sanitization`, where it has these fields."""
        fields = unit.owner.get("provider_specific_fields")
        if isinstance(fields, dict):
            fields["sanitization"] = counts

    def event_slots(self, data: Json) -> Iterable[TextSlot]:
        """The texts of one event, by the suffix of its `type`.

        `.delta` is a piece of the channel `(item_id, type without its suffix, content_index)`; `.done` ends it and has
        the whole text again; parts, items and responses in other events are whole texts.
        """
        kind = data.get("type", "")
        channel = (data.get("item_id"), kind.rpartition(".")[0], str(data.get("content_index")))
        if kind.endswith(".delta") and isinstance(data.get("delta"), str):
            yield TextSlot(data, "delta", kind, channel=channel)
            return
        if kind.endswith(".done") and ("text" in data or "arguments" in data):
            yield TextSlot({"end": ""}, "end", kind, channel=channel, last=True)
            yield from _text_of(data, kind, "text")
            yield from _text_of(data, kind, "arguments", form="json")
        if isinstance(data.get("part"), dict):
            yield from _text_of(data["part"], kind, "text")
        if isinstance(data.get("item"), dict):
            yield from _item_slots(data["item"], kind)
        if isinstance(data.get("response"), dict):
            for unit in self.reply_units(data["response"]):
                yield from unit.slots

    def refused_events(self, error: GatewayError, last: Json | None) -> list[Event]:
        """As `error_events`: a stream that has ids makes its own refusal."""
        return self.error_events(error)

    def error_body(self, error: GatewayError, body: Any) -> Json:
        """`{"error": {message, type, param, code}}`, `param` under the name of the responses route."""
        return {"error": responses_error_object(error)}

    def error_events(self, error: GatewayError) -> list[Event]:
        """One `error` event, `{type, sequence_number, error}`, as a finished frame."""
        data = {"type": "error", "sequence_number": 0, **self.error_body(error, None)}
        return [Event.from_bytes(sse.frame(data, "error"))]


def _text_of(holder: MutableMapping[str, Any], where: str, name: str, form: Any = "text") -> Iterator[TextSlot]:
    """The slot of a field, if it is a string that is not empty."""
    if isinstance(holder.get(name), str) and holder[name]:
        yield TextSlot(holder, name, f"{where}.{name}" if where else name, form)


def _item_slots(item: Json, where: str) -> Iterator[TextSlot]:
    """Every text of an input or output item: its own fields, then the parts of its lists."""
    yield from _text_of(item, where, "content")
    yield from _text_of(item, where, "output")
    yield from _text_of(item, where, "arguments", form="json")
    for name in ("content", "output", "summary"):
        parts = item.get(name)
        if isinstance(parts, list):
            for index, part in enumerate(parts):
                if isinstance(part, dict):
                    yield from _text_of(part, f"{where}.{name}[{index}]", "text")
                    yield from _text_of(part, f"{where}.{name}[{index}]", "refusal")
