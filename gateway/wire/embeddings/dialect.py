"""The embeddings dialect: the texts of a request; an answer holds numbers and what the gateway writes itself.

Source: OpenAI API reference (Embeddings), read 2026-11-22.
"""

from collections.abc import Iterable
from typing import Any

from gateway.domain import Event, Json
from gateway.errors import GatewayError
from gateway.texts import TextSlot, TextUnit
from gateway.wire.one_question import OneQuestion, whole_unit
from gateway.wire.openai_error import error_object
from gateway.wire.text_walk import answer_slots

_OWN_IN_REQUESTS = frozenset(("model", "user"))
"""Members of a request that never leave as they are: a name of ours and a keyed hash go instead."""


class EmbeddingsDialect(OneQuestion):
    """Implements `wire.dialect.Dialect`, which documents the methods; stateless. There are no streams."""

    @property
    def name(self) -> str:
        """`embeddings`."""
        return "embeddings"

    def request_units(self, body: Any) -> Iterable[TextUnit]:
        """One unit: every string of the request."""
        return whole_unit(body, _OWN_IN_REQUESTS)

    def reply_units(self, data: Any) -> list[TextUnit]:
        """One unit without texts, to which findings in the request are noted: `wire.embeddings.answer` makes the answer
        of numbers, base64 and values of its own, so that no word of an upstream is in it."""
        return [TextUnit([], owner=data)]

    def refuse_reply(self, data: Any, unit: TextUnit, error: GatewayError) -> None:
        """Raises `error`: half an answer would have embeddings without their inputs."""
        raise error

    def note_findings(self, unit: TextUnit, report: Json) -> None:
        """Sets the answer's `provider_specific_fields.sanitization`."""
        unit.owner["provider_specific_fields"]["sanitization"] = report

    def event_slots(self, data: Json) -> Iterable[TextSlot]:
        """Every string of an event, each a whole text."""
        return answer_slots(data)

    def refused_events(self, error: GatewayError, last: Json | None) -> list[Event]:
        """As `error_events`."""
        return self.error_events(error)

    def error_body(self, error: GatewayError, body: Any) -> Json:
        """`{"error": {message, type, param, code}}`."""
        return {"error": error_object(error)}

    def error_events(self, error: GatewayError) -> list[Event]:
        """One event with the same object."""
        return [Event.from_data({"error": error_object(error)})]
