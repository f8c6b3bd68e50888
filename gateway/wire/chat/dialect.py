"""The chat-completions dialect: where its text stands, and what its errors look like.

Source: OpenAI API reference, read 2026-11-21. Knows no HTTP.
"""

import re
import time
from collections.abc import Iterable, Iterator
from typing import Any

from gateway.domain import Event, Json, TextSlot, TextUnit
from gateway.errors import GatewayError
from gateway.wire import sse
from gateway.wire.chat.answer import new_id
from gateway.wire.cut_blocked import withhold
from gateway.wire.openai_error import error_object

_CHOICE = re.compile(r"choices\[(\d+)\]")


class ChatDialect:
    """Implements `wire.dialect.Dialect`; stateless."""

    @property
    def name(self) -> str:
        return "chat"

    @property
    def is_one_question(self) -> bool:
        return True

    def request_units(self, body: Json) -> Iterable[TextUnit]:
        for index, message in enumerate(body["messages"]):
            slots = list(message_slots(message, f"messages[{index}]"))
            if slots:
                yield TextUnit(slots)

    def refuse_request(self, body: Json, unit: TextUnit, error: GatewayError) -> None:
        raise error

    def reply_units(self, data: Json) -> list[TextUnit]:
        units = []
        for index, choice in enumerate(data.get("choices") or ()):
            slots = list(message_slots(choice["message"], f"choices[{index}].message"))
            if slots:
                units.append(TextUnit(slots, owner=choice))
        return units

    def refuse_reply(self, data: Json, unit: TextUnit, error: GatewayError) -> None:
        choice: Json = unit.owner
        withhold(unit, error.param)
        text = "".join(slot.text for slot in unit.slots if slot.key in ("content", "text"))
        message: Json = {"role": "assistant", "content": text, "refusal": None}
        choice.update(message=message, finish_reason="content_filter")

    def note_findings(self, unit: TextUnit, told: dict[str, int | str]) -> None:
        choice: Json = unit.owner
        choice.setdefault("provider_specific_fields", {})["sanitization"] = told

    def event_slots(self, data: Json) -> Iterable[TextSlot]:
        choices: list[Json] = data.get("choices") or []
        if len(choices) == 1:  # nearly every chunk is one piece of text
            choice = choices[0]
            delta = choice.get("delta")
            if delta and len(delta) == 1 and choice.get("finish_reason") is None and type(delta.get("content")) is str:
                index = choice["index"]
                where = "choices[0].delta.content" if index == 0 else f"choices[{index}].delta.content"
                return (TextSlot(delta, "content", where, "text", (index, "content")),)
        return self._event_slots(choices)

    def _event_slots(self, choices: Iterable[Json]) -> Iterator[TextSlot]:
        for choice in choices:
            delta, index = choice.get("delta") or {}, choice["index"]
            last = choice.get("finish_reason") is not None
            for name in ("content", "refusal", "reasoning_content"):
                if isinstance(delta.get(name), str):
                    yield TextSlot(delta, name, f"choices[{index}].delta.{name}", channel=(index, name), last=last)
            yield from _call_delta_slots(delta, index)
            if last:
                yield from _endings(index)

    def refused_events(self, error: GatewayError, last: Json | None, usage: Json | None = None) -> list[Event]:
        """The last chunk of the refused choice, in the stream's own envelope, then `[DONE]`.

        Chunks have a `usage` where the caller asked for it: null in all but one of its own, before `[DONE]`.
        """
        found = _CHOICE.match(error.param or "")
        ending = {"index": int(found[1]) if found else 0, "delta": {}, "logprobs": None}
        envelope = {
            "id": new_id("chatcmpl-"),
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": "",
        }
        envelope |= {name: None if name == "usage" else value for name, value in (last or {}).items()}
        events = [Event.from_data({**envelope, "choices": [{**ending, "finish_reason": "content_filter"}]})]
        if usage is not None and "usage" in envelope:
            events.append(Event.from_data({**envelope, "choices": [], "usage": usage}))
        return [*events, Event.from_bytes(sse.DONE)]

    def error_body(self, error: GatewayError, body: Any) -> Json:
        return {"error": error_object(error)}

    def error_events(self, error: GatewayError) -> list[Event]:
        return [Event.from_data({"error": error_object(error)})]


def message_slots(message: Json, where: str) -> Iterator[TextSlot]:
    """Every text of one message, asked or answered: content, parts, reasoning, refusal, call arguments."""
    for name in ("content", "reasoning_content", "refusal"):
        if isinstance(message.get(name), str):
            yield TextSlot(message, name, f"{where}.{name}")
    if isinstance(message.get("content"), list):
        yield from part_slots(message["content"], f"{where}.content")
    for number, call in enumerate(message.get("tool_calls") or ()):
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict) and isinstance(function.get("arguments"), str):
            yield TextSlot(function, "arguments", f"{where}.tool_calls[{number}].function.arguments", form="json")
    function = message.get("function_call")
    if isinstance(function, dict) and isinstance(function.get("arguments"), str):
        yield TextSlot(function, "arguments", f"{where}.function_call.arguments", form="json")


def part_slots(parts: list[Any], where: str) -> Iterator[TextSlot]:
    for number, part in enumerate(parts):
        if isinstance(part, dict):
            for name in ("text", "refusal"):
                if isinstance(part.get(name), str):
                    yield TextSlot(part, name, f"{where}[{number}].{name}")
            image = part.get("image_url")
            holder, key = (image, "url") if isinstance(image, dict) else (part, "image_url")
            if isinstance(holder.get(key), str) and not holder[key].startswith("data:"):
                yield TextSlot(holder, key, f"{where}[{number}].image_url", form="url")


def _call_delta_slots(delta: Json, index: int) -> Iterator[TextSlot]:
    for call in delta.get("tool_calls") or ():
        function, number = call.get("function") or {}, call.get("index", 0)
        if isinstance(function.get("arguments"), str):
            where = f"choices[{index}].delta.tool_calls[{number}]"
            yield TextSlot(function, "arguments", where, form="json", channel=(index, "call", number))
    function = delta.get("function_call")
    if isinstance(function, dict) and isinstance(function.get("arguments"), str):
        where = f"choices[{index}].delta.function_call"
        yield TextSlot(function, "arguments", where, form="json", channel=(index, "call", 0))


def _endings(index: int) -> Iterator[TextSlot]:
    """Empty last pieces: the finish chunk ends every channel of its choice, though it holds no text of them."""
    for name in ("content", "refusal", "reasoning_content"):
        yield TextSlot({"": ""}, "", f"choices[{index}].delta.{name}", channel=(index, name), last=True)
