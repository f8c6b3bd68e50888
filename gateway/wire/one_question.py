"""What the dialects have in common whose requests are one question with one answer. Knows no format but `messages`."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from gateway.domain import Json
from gateway.errors import GatewayError
from gateway.texts import TextSlot, TextUnit
from gateway.wire.text_walk import request_steps

_PLAIN_MESSAGE = frozenset(("role", "content"))
"""Members of most messages; the schemas allow six words as roles."""


class OneQuestion:
    """A base of `wire.dialect.Dialect`s, which documents the methods."""

    @property
    def is_one_question(self) -> bool:
        """True: all units of a request lead to one answer."""
        return True

    def refuse_request(self, body: Any, unit: TextUnit, error: GatewayError) -> None:
        """Raises `error`: one refused text refuses the request."""
        raise error


def message_units(body: Json, skip: frozenset[str]) -> Iterator[TextUnit]:
    """One unit for each message of a checked request, `{messages: [{role, content, …}], …}`, and one for all else but
    the members in `skip`."""
    for index, message in enumerate(body["messages"]):
        where = f"messages[{index}]"
        if message.keys() == _PLAIN_MESSAGE and type(message["content"]) is str:  # what the walk finds in it
            if message["content"]:
                yield TextUnit([TextSlot(message, "content", f"{where}.content", name="content")])
        else:
            yield TextUnit(partial(request_steps, message, where), whole=message)
    rest = {name: value for name, value in body.items() if name not in skip}
    if rest:
        yield TextUnit(lambda: request_steps(body, skip=skip), whole=rest)


def whole_unit(body: Json, skip: frozenset[str]) -> Iterator[TextUnit]:
    """One unit: every string of a request but those of the members in `skip`."""
    yield TextUnit(lambda: request_steps(body, skip=skip), owner=body)
