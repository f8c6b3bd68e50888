"""The chat-completions dialect: where the text is in its bodies, and the form of its refusals and errors.

Source: OpenAI API reference, read 2026-11-21. Knows no HTTP and no sanitizing rules.
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
    """Implements `wire.dialect.Dialect`, which documents the methods; stateless.

    A unit is one message of a request, or one choice of an answer, which is then the unit's `owner`.
    """

    @property
    def name(self) -> str:
        """`chat`."""
        return "chat"

    @property
    def is_one_question(self) -> bool:
        """True: all units of a request lead to one answer."""
        return True

    def request_units(self, body: Json) -> Iterable[TextUnit]:
        """One unit for each message that has text. `body`: a checked request, `{messages: [{role, content, …}], …}`."""
        for index, message in enumerate(body["messages"]):
            slots = list(message_slots(message, f"messages[{index}]"))
            if slots:
                yield TextUnit(slots)

    def refuse_request(self, body: Json, unit: TextUnit, error: GatewayError) -> None:
        """Raises `error`: one refused message refuses the request."""
        raise error

    def reply_units(self, data: Json) -> list[TextUnit]:
        """One unit for each choice that has text. `data`: `{choices: [{message}], …}`."""
        units = []
        for index, choice in enumerate(data.get("choices") or ()):
            slots = list(message_slots(choice["message"], f"choices[{index}].message"))
            if slots:
                units.append(TextUnit(slots, owner=choice))
        return units

    def refuse_reply(self, data: Json, unit: TextUnit, error: GatewayError) -> None:
        """Ends the choice with `content_filter`; its message keeps the text before the finding, and nothing else."""
        choice: Json = unit.owner
        withhold(unit, error.param)
        text = "".join(slot.text for slot in unit.slots if slot.key in ("content", "text"))
        message: Json = {"role": "assistant", "content": text, "refusal": None}
        choice.update(message=message, finish_reason="content_filter")

    def note_findings(self, unit: TextUnit, counts: dict[str, int | str]) -> None:
        """Sets the choice's `provider_specific_fields.sanitization`."""
        choice: Json = unit.owner
        choice.setdefault("provider_specific_fields", {})["sanitization"] = counts

    def event_slots(self, data: Json) -> Iterable[TextSlot]:
        """Text of one chunk, `{choices: [{index, delta, finish_reason}], …}`. Channels: `(index, field)` for text,
        `(index, "call", number)` for arguments. A chunk with a finish reason ends the text channels of its choice.
        """
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
        """The last chunk of the refused choice, with the ids of the chunk `last`, then `[DONE]`.

        The choice is the one named by `error.param`. If the caller requested usage (`last` has the key), a chunk with
        `usage` precedes `[DONE]`.
        """
        choice = _CHOICE.match(error.param or "")
        ending = {"index": int(choice[1]) if choice else 0, "delta": {}, "logprobs": None}
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
        """`{"error": {message, type, param, code}}`."""
        return {"error": error_object(error)}

    def error_events(self, error: GatewayError) -> list[Event]:
        """One event with the same object, without `[DONE]`."""
        return [Event.from_data({"error": error_object(error)})]


def message_slots(message: Json, where: str) -> Iterator[TextSlot]:
    """Every text of one message of a request or an answer: content, parts, reasoning, refusal, call arguments.

    `where` is the message's path, such as `messages[0]`.
    """
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
    """The texts and image URLs of content parts; data URLs hold no text and are left out."""
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
    """Empty last pieces that end the text channels of a choice: its finish chunk has no text of its own."""
    for name in ("content", "refusal", "reasoning_content"):
        yield TextSlot({"": ""}, "", f"choices[{index}].delta.{name}", channel=(index, name), last=True)
