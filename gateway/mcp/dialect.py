"""The web-tools interface as the middlewares see it: where text stands in a body and in an answer, and its errors.

One `Dialect` (see `wire.dialect`) over the shapes of `messages`.
"""

from collections.abc import Iterable
from typing import Any, ClassVar

from gateway.domain import Event, Json, TextSlot, TextUnit
from gateway.errors import GatewayError
from gateway.mcp.messages import RequestId, RpcBatch, ToolCall, ToolOutcome, error_response, failed
from gateway.wire.preencoded import PackedJson
from gateway.wire.text_slots import text_slots

# Strings of an answer that are ours, not the web's: ids and names that a detector might take for something else.
_OWN_WORDS = frozenset({"provider", "request_id", "published_date", "ignored_parameters", "note", "sanitization"})


class WebSearchDialect:
    """The Dialect of the web-tools path. A request body is an Exchange; an answer is a message or a list of them."""

    name: ClassVar[str] = "websearch"
    is_one_question: ClassVar[bool] = False

    def request_units(self, body: Any) -> Iterable[TextUnit]:
        """One unit a tool call that is still to be made."""
        return [
            TextUnit(call.texts, call, call.scan_token)
            for message in body.answered
            if (call := message.call) is not None and call.error is None and call.arguments
        ]

    def refuse_request(self, body: Any, unit: TextUnit, error: GatewayError) -> None:
        """The call is answered as a failure; other members of a batch go on."""
        unit.owner.error = error

    def reply_units(self, data: Any) -> list[TextUnit]:
        """One unit a tool call whose answer, or whose failure, holds text of others: every string of it."""
        outcomes = data if isinstance(data, list) else (data,)
        return [_answer_unit(item) for item in outcomes if isinstance(item, ToolOutcome) and item.from_web]

    def refuse_reply(self, data: Any, unit: TextUnit, error: GatewayError) -> None:
        unit.owner.update(failed(error))

    def note_findings(self, unit: TextUnit, told: dict[str, int | str]) -> None:
        """Of a call before it is made, or of its outcome. What was found in a call is told with its outcome."""
        owner = unit.owner
        if isinstance(owner, ToolCall):
            owner.findings = told
            return
        known = owner["data"].get("sanitization", {})
        counts = {kind: known.get(kind, 0) + number for kind, number in told.items() if isinstance(number, int)}
        owner["data"]["sanitization"] = {**known, **told, **counts}

    def event_slots(self, data: Json) -> Iterable[TextSlot]:
        """Every event is a whole message: its texts have no channel."""
        for unit in self.reply_units(data):
            yield from unit.slots

    def refused_events(self, error: GatewayError, last: Json | None) -> list[Event]:
        return self.error_events(error)

    def error_body(self, error: GatewayError, body: Any) -> Json:
        """A JSON-RPC error; it carries the request's id when the body was read and held one request."""
        return error_response(error, _only_id(body) if isinstance(body, RpcBatch) else None)

    def error_events(self, error: GatewayError) -> list[Event]:
        return [Event.from_data(error_response(error), name="message")]


def failure_events(exchange: RpcBatch, error: GatewayError) -> list[Event]:
    """What ends a stream that answers this body: the error names the request, so that its client need not wait."""
    return [Event.from_data(error_response(error, _only_id(exchange)), name="message")]


def _only_id(exchange: RpcBatch) -> RequestId:
    return exchange.messages[0].call_id if exchange.messages and not exchange.is_batch else None


def _answer_unit(outcome: ToolOutcome) -> TextUnit:
    data = outcome["data"]
    if isinstance(data, PackedJson):
        return TextUnit(lambda: text_slots(data.unpack(), _OWN_WORDS), outcome, data.scan_token)
    return TextUnit(lambda: text_slots(data, _OWN_WORDS), outcome)
