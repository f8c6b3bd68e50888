"""The JSON-RPC 2.0 envelope: turns bytes into messages, or into a fault that says what is wrong with them.

Decides whether a value is a message and of which kind; knows no method. A fault carries the id when one could be read.
Source: jsonrpc.org/specification and the MCP revisions' "Overview: Messages", read 2026-11-21. Of duplicate keys the
last counts. Numbers outside 64 bits reach us as floats, so such ids are refused, not changed.
"""

from typing import Any

from gateway import schemas
from gateway.mcp.messages import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, Message, RequestId, RpcFault
from gateway.wire.json_body import BadJson, JsonBody

MAX_MEMBERS = 50
"""Messages of one batch. Chosen: SDKs send fewer than ten. Half would still do; double would let one request of a key
hold twice the calls, which only the minute's limit bounds."""

MAX_BODY_BYTES = 4 << 20
"""Bytes of one body. Chosen: arguments are addresses and questions of kilobytes, and a batch has 50 calls; at half a
batch of long questions would be near it, at double each such body costs twice the checks and scans."""


class Envelope:
    """Reads decoded bodies; holds the compiled schema of a message (schemas/jsonrpc.json)."""

    def __init__(self) -> None:
        self._checker = schemas.Checker(schemas.load("jsonrpc"))

    def messages(self, value: Any) -> tuple[list[Message], bool]:
        """The messages of a decoded body, and whether it is a batch. Posted responses are left out.

        Raises RpcFault when a single message is malformed or a batch is empty or too long; a malformed member of a
        batch becomes a message with a fault.
        """
        if not isinstance(value, list):
            message = self._message(value)
            return ([] if message is None else [message]), False
        if not value:
            raise RpcFault(INVALID_REQUEST, "a batch must not be empty; send at least one message")
        if len(value) > MAX_MEMBERS:
            raise RpcFault(INVALID_REQUEST, f"this batch has {len(value)} messages; the limit is {MAX_MEMBERS}")
        members = (self._member(item) for item in value)
        return [member for member in members if member is not None], True

    def _member(self, value: Any) -> Message | None:
        try:
            return self._message(value)
        except RpcFault as fault:
            return Message(method="", call_id=fault.call_id, fault=fault)

    def _message(self, value: Any) -> Message | None:
        if type(value) is not dict:
            raise RpcFault(INVALID_REQUEST, "a JSON-RPC message must be an object")
        sent_id = value.get("id")
        call_id: RequestId = sent_id if type(sent_id) is int or type(sent_id) is str else None
        if problems := self._checker.check(value):
            raise RpcFault(INVALID_REQUEST, "; ".join(map(str, problems)), call_id=call_id)
        if type(sent_id) is float:
            raise RpcFault(INVALID_REQUEST, "id: must be a string or an integer of at most 64 bits")
        method, params = value.get("method"), value.get("params")
        if method is None:
            if "id" in value and ("result" in value) != ("error" in value):
                return None
            raise RpcFault(INVALID_REQUEST, "method: is required", call_id=call_id)
        if "id" not in value:  # a notification: it gets no answer, not even when it is wrong
            return Message(method, params=params if type(params) is dict else {}, is_request=False)
        if type(params) is list:
            fault = RpcFault(INVALID_PARAMS, "params: must be an object", status=200, call_id=call_id)
            return Message(method, call_id, fault=fault)
        return Message(method, call_id, params or {})


def value_of(body: JsonBody) -> Any:
    """The JSON value of a body. Raises RpcFault -32700: not UTF-8, not JSON, NaN, or nested too deeply."""
    try:
        return body.value()
    except BadJson as problem:
        raise RpcFault(PARSE_ERROR, f"the body {problem}") from None
