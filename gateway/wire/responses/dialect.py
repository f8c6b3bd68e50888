"""The responses interface as the middlewares see it: where text stands, and what a refusal or an error looks like.

Source: OpenAI API reference (Responses), read 2026-11-21. The shapes themselves are in `object` and
`events`; a stream's own endings know its ids, so this dialect's are for streams that have none.
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
    @property
    def name(self) -> str:
        return "responses"

    @property
    def is_one_question(self) -> bool:
        return True

    def request_units(self, body: Any) -> Iterable[TextUnit]:
        slots = list(_own(body, "", "instructions"))
        if isinstance(body.get("input"), str):
            slots += _own(body, "", "input")
        elif isinstance(body.get("input"), list):
            for index, item in enumerate(body["input"]):
                slots += _item_slots(item, f"input[{index}]")
        yield TextUnit(slots, owner=body)

    def refuse_request(self, body: Any, unit: TextUnit, error: GatewayError) -> None:
        raise error

    def reply_units(self, data: Any) -> list[TextUnit]:
        slots = list(_own(data, "", "instructions"))
        for name in ("output", "data"):  # a response; a page of input items
            for index, item in enumerate(list_in(data, name)):
                slots += _item_slots(item, f"{name}[{index}]") if isinstance(item, dict) else ()
        return [TextUnit(slots, owner=data)]

    def refuse_reply(self, data: Any, unit: TextUnit, error: GatewayError) -> None:
        """An incomplete response that has lost its text from the finding on."""
        withhold(unit, error.param)
        objects.finish(data, "content_filter", None, data.get("provider_specific_fields"))

    def note_findings(self, unit: TextUnit, told: dict[str, int | str]) -> None:
        fields = unit.owner.get("provider_specific_fields")
        if isinstance(fields, dict):
            fields["sanitization"] = told

    def event_slots(self, data: Json) -> Iterable[TextSlot]:
        kind = data.get("type", "")
        channel = (data.get("item_id"), kind.rpartition(".")[0], str(data.get("content_index")))
        if kind.endswith(".delta") and isinstance(data.get("delta"), str):
            yield TextSlot(data, "delta", kind, channel=channel)
            return
        if kind.endswith(".done") and ("text" in data or "arguments" in data):
            yield TextSlot({"end": ""}, "end", kind, channel=channel, last=True)
            yield from _own(data, kind, "text")
            yield from _own(data, kind, "arguments", form="json")
        if isinstance(data.get("part"), dict):
            yield from _own(data["part"], kind, "text")
        if isinstance(data.get("item"), dict):
            yield from _item_slots(data["item"], kind)
        if isinstance(data.get("response"), dict):
            for unit in self.reply_units(data["response"]):
                yield from unit.slots

    def refused_events(self, error: GatewayError, last: Json | None) -> list[Event]:
        return self.error_events(error)

    def error_body(self, error: GatewayError, body: Any) -> Json:
        return {"error": responses_error_object(error)}

    def error_events(self, error: GatewayError) -> list[Event]:
        data = {"type": "error", "sequence_number": 0, **self.error_body(error, None)}
        return [Event.from_bytes(sse.frame(data, "error"))]


def _own(holder: MutableMapping[str, Any], where: str, name: str, form: Any = "text") -> Iterator[TextSlot]:
    if isinstance(holder.get(name), str) and holder[name]:
        yield TextSlot(holder, name, f"{where}.{name}" if where else name, form)


def _item_slots(item: Json, where: str) -> Iterator[TextSlot]:
    yield from _own(item, where, "content")
    yield from _own(item, where, "output")
    yield from _own(item, where, "arguments", form="json")
    for name in ("content", "output", "summary"):
        parts = item.get(name)
        if isinstance(parts, list):
            for index, part in enumerate(parts):
                if isinstance(part, dict):
                    yield from _own(part, f"{where}.{name}[{index}]", "text")
                    yield from _own(part, f"{where}.{name}[{index}]", "refusal")
