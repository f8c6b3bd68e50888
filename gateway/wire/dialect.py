"""The Dialect port: what the middlewares must know about the wire format of an interface.

The sanitize middleware asks where the text is; the errors and deliver middlewares ask for the form of an error, whole
or inside a stream. Implementations, one for each interface: `wire.chat.dialect`, `wire.responses.dialect`,
`wire.messages.dialect`, `wire.embeddings`, `mcp.dialect`. `withhold` cuts a blocked answer.
"""

from collections.abc import Hashable, Iterable, Iterator
from functools import partial
from typing import Any, Protocol

from gateway.domain import Event, Json
from gateway.errors import GatewayError
from gateway.texts import TextSlot, TextUnit
from gateway.wire.openai_error import error_object
from gateway.wire.text_walk import request_steps


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
        """Record what was found in the unit's answer: `{redacted, flagged, guardrail?}` (`wire.dialect`).

        `unit` is one of a whole answer, or of a request whose units are calls of their own.
        """
        ...

    def event_slots(self, data: Json) -> Iterable[TextSlot]:
        """Every string in the data of one stream event; pieces of a text have the channel that they continue."""
        ...

    def event_notes(self, data: Json) -> Iterable[tuple[Hashable, Json]]:
        """The citations that a stream event adds to a text, with the channel of the text."""
        ...

    def answer_of(self, data: Json) -> Hashable:
        """Which of the answers that a stream hands out side by side (`n`) an event belongs to; None where there is one,
        and for an event of none or several."""
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


_PLAIN_MESSAGE = frozenset(("role", "content"))
"""Members of most messages; the schemas allow six words as roles."""


class OneQuestion:
    """What the dialects have in common whose requests are one question with one answer. `Dialect` documents the
    methods."""

    is_one_question = True

    def refuse_request(self, body: Any, unit: TextUnit, error: GatewayError) -> None:
        """Raises `error`: one refused text refuses the request."""
        raise error

    def event_notes(self, data: Json) -> Iterable[tuple[Hashable, Json]]:
        """None: its texts have no places."""
        return ()

    def answer_of(self, data: Json) -> Hashable:
        """None: there is one."""
        return None

    def refused_events(self, error: GatewayError, last: Json | None) -> list[Event]:
        """As `error_events`: a stream that knows its ids makes its own refusal."""
        return self.error_events(error)

    def error_body(self, error: GatewayError, body: Any) -> Json:
        """`{"error": {message, type, param, code}}`."""
        return {"error": error_object(error)}

    def error_events(self, error: GatewayError) -> list[Event]:
        """One event with the same object, without `[DONE]`."""
        return [Event.from_data(self.error_body(error, None))]


_ALL = 1 << 20
"""More messages than a body may have."""


class MessageUnits:
    """The units of a conversation: one for each message, or item, of the list at `name` in a checked request, and one
    for all else but the members in `skip`. They are made when they are asked for: most messages of a history are known
    in blocks."""

    def __init__(self, body: Json, name: str, skip: frozenset[str]) -> None:
        self._body, self._name = body, name
        self._skip = skip | {name} if isinstance(body.get(name), list) else skip

    def __iter__(self) -> Iterator[TextUnit]:
        return (unit for _, units in self.blocks(_ALL) for unit in units)

    def blocks(self, size: int, *, rest_first: bool = False) -> list[tuple[list[Json], Iterable[TextUnit]]]:
        """The messages in blocks of `size`, the last may have fewer, with their units; and, with no messages, the unit
        of all else, before or behind them."""
        messages: list[Json] = self._body[self._name] if self._name in self._skip else []
        starts = range(0, len(messages), size)
        cut = ((messages[start : start + size], start) for start in starts) if len(starts) > 1 else [(messages, 0)]
        made: list[tuple[list[Json], Iterable[TextUnit]]] = [(block, self._units(block, start)) for block, start in cut]
        rest = {name: value for name, value in self._body.items() if name not in self._skip}
        if rest:
            unit = TextUnit(lambda: request_steps(self._body, skip=self._skip), whole=rest)
            made.insert(0 if rest_first else len(made), ([], [unit]))
        return made

    def _units(self, messages: list[Json], start: int) -> Iterator[TextUnit]:
        for index, message in enumerate(messages, start):
            where = f"{self._name}[{index}]"
            if message.keys() == _PLAIN_MESSAGE and type(message["content"]) is str:  # what the walk finds in it
                if message["content"]:
                    yield TextUnit([TextSlot(message, "content", f"{where}.content", name="content")])
            else:
                yield TextUnit(partial(request_steps, message, where), whole=message)


def withhold(unit: TextUnit, where: str | None) -> None:
    """Empties the texts of a blocked unit that come after the one with the finding, in place.

    The sanitizer has cut that one at the finding; a JSON document or URL is emptied whole. `where` is the `param` of
    the refusal: the path of a slot, or a path inside the slot's document; for any other, all texts are emptied.
    Ids, names and property names stay.
    """
    is_behind = not any(_holds(slot.where, where) for slot in unit.slots)
    for slot in unit.slots:
        if slot.form in ("name", "label", "group"):
            is_behind = is_behind or _holds(slot.where, where)
        elif not slot.is_there:
            continue
        elif is_behind:
            slot.text = ""
        elif _holds(slot.where, where):
            is_behind = True
            if slot.form != "text":
                slot.text = ""


def _holds(slot: str, where: str | None) -> bool:
    return where is not None and where.startswith(slot)
