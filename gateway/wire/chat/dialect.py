"""The chat-completions dialect: where the text is in its bodies, and the form of its refusals and errors.

Source: OpenAI API reference, read 2026-11-21.
"""

import re
import time
from collections.abc import Hashable, Iterable, Iterator
from itertools import chain

from gateway.domain import Event, Json
from gateway.errors import GatewayError
from gateway.texts import Form, TextSlot, TextUnit
from gateway.wire import sse
from gateway.wire.chat.answer import new_id
from gateway.wire.dialect import MessageUnits, OneQuestion, withhold
from gateway.wire.field_rules import is_plain_word
from gateway.wire.ocr import REPORT, UNCERTAIN
from gateway.wire.text_walk import Root, answer_slots, answer_unit
from gateway.wire.untrusted_json import table_in, tables_in

_CHOICE = re.compile(r"choices\[(\d+)\]")
_OWN_IN_REQUESTS = frozenset(("messages", "model", "user"))
"""Members of a request that are no text of this walk: messages are units of their own, `model` is replaced by a name of
ours, `user` by a keyed hash."""
_OWN_IN_ANSWERS = frozenset(("choices", "model", "object"))
_OWN_IN_CHOICES = frozenset(("provider_specific_fields",))
"""Members of an answer and a choice that the gateway writes itself, and the choices, which are walked on their own."""
_CALL_TEXTS: tuple[tuple[str, str, Form], ...] = (("function", "arguments", "json"), ("custom", "input", "text"))
"""The texts of a tool call's delta: (its object, the field, its form)."""


class ChatDialect(OneQuestion):
    """Implements `wire.dialect.Dialect`, which documents the methods; stateless.

    A unit is one message of a request, one choice of an answer, which is then the unit's `owner`, or all the rest.
    """

    name = "chat"

    def request_units(self, body: Json) -> Iterable[TextUnit]:
        """One unit for each message, and one for all else. `body`: a checked request, `{messages: [{role, …}], …}`."""
        return MessageUnits(body, "messages", _OWN_IN_REQUESTS)

    def reply_units(self, data: Json) -> Iterator[TextUnit]:
        """One unit for each choice; the first has the strings outside the choices too. `data`: `{choices, …}`."""
        outside: list[Root] = [(data, "", _OWN_IN_ANSWERS)]
        for index, choice in enumerate(data.get("choices") or ()):
            yield answer_unit(*_choice_roots(choice, f"choices[{index}]"), *outside, owner=choice)
            outside = []

    def refuse_reply(self, data: Json, unit: TextUnit, error: GatewayError) -> None:
        """Ends the choice with `content_filter`; its message keeps the text before the finding, and nothing else."""
        choice: Json = unit.owner
        withhold(unit, error.param)
        content = choice["message"].get("content")
        message: Json = {"role": "assistant", "content": content or "", "refusal": None}
        for name in choice.keys() - _OWN_IN_CHOICES - {"index"}:
            del choice[name]
        choice.update(message=message, finish_reason="content_filter", logprobs=None)
        for name in (REPORT, UNCERTAIN):
            table_in(choice, "provider_specific_fields").pop(name, None)

    def note_findings(self, unit: TextUnit, report: Json) -> None:
        """Sets the choice's `provider_specific_fields.sanitization`."""
        choice: Json = unit.owner
        choice.setdefault("provider_specific_fields", {})["sanitization"] = report

    def event_slots(self, data: Json) -> Iterator[TextSlot]:
        """The strings of one chunk, `{choices: [{index, delta, finish_reason}], …}`. Channels: `(index, field)` for
        the texts of a delta, `(index, "call", number)` for arguments. A chunk with a finish reason ends the text
        channels of its choice.
        """
        choices: list[Json] = data.get("choices") or []
        for choice in choices:
            index, last = choice["index"], choice.get("finish_reason") is not None
            pieces = list(_delta_slots(choice, index, last=last))
            taken = {(id(piece.holder), piece.key) for piece in pieces}
            for slot in chain.from_iterable(answer_slots(*root) for root in _choice_roots(choice, f"choices[{index}]")):
                if (id(slot.holder), slot.key) not in taken:
                    yield slot
            yield from pieces
            if last:
                yield from _endings(index)
        yield from answer_slots(data, skip=_OWN_IN_ANSWERS)

    def event_notes(self, data: Json) -> Iterable[tuple[Hashable, Json]]:
        """Those in the deltas of its choices."""
        for choice in tables_in(data, "choices"):
            for note in tables_in(table_in(choice, "delta"), "annotations"):
                yield (choice.get("index"), "content"), note

    def answer_of(self, data: Json) -> Hashable:
        """The index of a chunk's only choice."""
        choices: list[Json] = data.get("choices") or []
        return choices[0]["index"] if len(choices) == 1 else None

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


def _choice_roots(choice: Json, where: str) -> list[Root]:
    """A choice but for what the gateway writes itself; the lines of an image are a part of it."""
    roots: list[Root] = [(choice, where, _OWN_IN_CHOICES)]
    fields = table_in(choice, "provider_specific_fields")
    report = table_in(fields, REPORT)
    if report.get("lines"):
        lines = {"lines": report["lines"]}
        roots.append((lines, f"{where}.provider_specific_fields.{REPORT}", frozenset()))
    if fields.get(UNCERTAIN):
        words = {UNCERTAIN: fields[UNCERTAIN]}
        roots.append((words, f"{where}.provider_specific_fields", frozenset()))
    return roots


def _delta_slots(choice: Json, index: int, *, last: bool) -> Iterator[TextSlot]:
    """The texts of a choice's delta that later chunks continue: every string field but the role, and arguments."""
    delta = choice.get("delta") or {}
    copies = choice if choice.get("logprobs") else None
    where = f"choices[{index}].delta"
    for name, value in delta.items():
        if type(value) is str and name != "role" and is_plain_word(name):
            yield TextSlot(delta, name, f"{where}.{name}", channel=(index, name), last=last, copies=copies)
    calls = delta.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            number = call.get("index", 0)
            for kind, field, form in _CALL_TEXTS:
                inner = call.get(kind)
                if isinstance(inner, dict) and isinstance(inner.get(field), str):
                    yield TextSlot(inner, field, f"{where}.tool_calls[{number}]", form, (index, "call", number))
    function = delta.get("function_call")
    if isinstance(function, dict) and isinstance(function.get("arguments"), str):
        yield TextSlot(function, "arguments", f"{where}.function_call", "json", (index, "call", 0))


def _endings(index: int) -> Iterator[TextSlot]:
    """Empty last pieces that end the text channels of a choice: its finish chunk has no text of its own."""
    for name in ("content", "refusal", "reasoning_content"):
        yield TextSlot({"": ""}, "", f"choices[{index}].delta.{name}", channel=(index, name), last=True)
