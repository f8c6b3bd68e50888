"""The web tools' `Dialect` (see `wire.dialect`): where bodies and answers hold text, and what errors look like.

Works on the shapes of `messages`.
"""

from collections.abc import Hashable, Iterable
from typing import Any, ClassVar

from gateway.domain import Event, Json
from gateway.errors import GatewayError
from gateway.mcp.messages import RequestId, RpcBatch, ToolOutcome, error_response
from gateway.services.websearch.tool_calls import ToolCall, failed
from gateway.texts import TextSlot, TextUnit
from gateway.wire.preencoded import PackedJson
from gateway.wire.sanitizer_report import merged_reports
from gateway.wire.text_walk import text_slot_steps

_OWN_FIELDS = frozenset({"provider", "request_id", "published_date", "ignored_parameters", "sanitization"})
"""Fields of an answer that the gateway writes itself: ids and names that a detector might take for something else. A
`note` is not among them: it quotes addresses that pages link to."""


class WebSearchDialect:
    """The Dialect of the web-tools path. A request body is an RpcBatch; an answer is one message or a list of them."""

    name: ClassVar[str] = "websearch"
    is_one_question: ClassVar[bool] = False

    def request_units(self, body: Any) -> Iterable[TextUnit]:
        """One unit for each tool call that can run and has arguments; its owner is the ToolCall."""
        return [
            TextUnit(call.texts, call, call.scan_token)
            for message in body.answered
            if (call := message.call) is not None and call.error is None and call.arguments
        ]

    def refuse_request(self, body: Any, unit: TextUnit, error: GatewayError) -> None:
        """Make the call a failure; other members of a batch go on."""
        unit.owner.error = error

    def reply_units(self, data: Any) -> list[TextUnit]:
        """One unit for each outcome that holds text from the web: all its strings. Its owner is the ToolOutcome."""
        outcomes = data if isinstance(data, list) else (data,)
        return [_answer_unit(item) for item in outcomes if isinstance(item, ToolOutcome) and item.from_web]

    def refuse_reply(self, data: Any, unit: TextUnit, error: GatewayError) -> None:
        """Replace the outcome by a failure."""
        unit.owner.update(failed(error))

    def note_findings(self, unit: TextUnit, report: Json) -> None:
        """Record a report on a call, whose outcome will carry it, or add it to an outcome's `data.sanitization`."""
        owner = unit.owner
        if isinstance(owner, ToolCall):
            owner.findings = report
            return
        earlier = owner["data"].get("sanitization")
        owner["data"]["sanitization"] = merged_reports([earlier, report]) if earlier else report

    def event_slots(self, data: Json) -> Iterable[TextSlot]:
        """The texts of one event. Every event is a whole message, so they have no channel."""
        for unit in self.reply_units(data):
            yield from unit.slots

    def event_notes(self, data: Json) -> Iterable[tuple[Hashable, Json]]:
        """None: its texts have no places."""
        return ()

    def answer_of(self, data: Json) -> None:
        """None: there is one."""

    def refused_events(self, error: GatewayError, last: Json | None) -> list[Event]:
        """The same as `error_events`."""
        return self.error_events(error)

    def error_body(self, error: GatewayError, body: Any) -> Json:
        """A JSON-RPC error response; with the request's id when the body was read and holds one request."""
        return error_response(error, _only_id(body) if isinstance(body, RpcBatch) else None)

    def error_events(self, error: GatewayError) -> list[Event]:
        """One `message` event with a JSON-RPC error response without an id."""
        return [Event.from_data(error_response(error), name="message")]


def failure_events(batch: RpcBatch, error: GatewayError) -> list[Event]:
    """The event that ends a failed stream. Its error carries the request's id, so that the client stops waiting."""
    return [Event.from_data(error_response(error, _only_id(batch)), name="message")]


def _only_id(batch: RpcBatch) -> RequestId:
    return batch.messages[0].call_id if batch.messages and not batch.is_batch else None


def _answer_unit(outcome: ToolOutcome) -> TextUnit:
    data = outcome["data"]
    if isinstance(data, PackedJson):
        return TextUnit(lambda: text_slot_steps(data.unpack(), _OWN_FIELDS), outcome, data.scan_token)
    return TextUnit(lambda: text_slot_steps(data, _OWN_FIELDS), outcome)
