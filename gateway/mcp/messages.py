"""JSON-RPC 2.0 messages of MCP: read from bytes, and the shapes that the dispatcher and the middlewares share.

A checked request body (`RpcBatch`), the answer to a tool call before it is rendered, and protocol errors. Source:
modelcontextprotocol.io, revisions 2024-11-05 to 2026-07-28, and jsonrpc.org/specification, read 2026-11-21.

`Envelope` turns bytes into messages, or into a fault that says what is wrong with them. A fault carries the id when one
could be read. Source: jsonrpc.org/specification and the MCP revisions' "Overview: Messages", read 2026-11-21. Of
duplicate keys the last counts. Numbers outside 64 bits reach us as floats, so such ids are refused, not changed.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import orjson

from gateway import schemas
from gateway.domain import Json
from gateway.errors import GatewayError, InvalidRequest
from gateway.services.websearch.tool_calls import ToolCall
from gateway.wire.json_body import BadJson, JsonBody

RequestId: TypeAlias = str | int | None
"""A request's id; None for a notification, and where no id could be read."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
"""JSON-RPC 2.0, section 5.1."""


class RpcFault(InvalidRequest):
    """A JSON-RPC error: the message is malformed or breaks the protocol.

    `rpc_code` and `data` go into the error object; `status` is the HTTP status where the fault answers a whole body.
    """

    def __init__(
        self, rpc_code: int, message: str, *, status: int = 400, call_id: RequestId = None, data: Json | None = None
    ) -> None:
        super().__init__(message)
        self.rpc_code = rpc_code
        self.status = status
        self.call_id = call_id
        self.data = data


@dataclass(slots=True)
class Message:
    """One JSON-RPC message of the body. A notification has `is_request` False.

    A request is answered by its `fault` if set, else by the outcome of its `call`, else by its `result`.
    """

    method: str
    call_id: RequestId = None
    params: Json = field(default_factory=dict)
    is_request: bool = True
    fault: RpcFault | None = None
    call: ToolCall | None = None
    result: Json | None = None


@dataclass(slots=True)
class RpcBatch:
    """A checked body: its messages, and the revision of its answer. A single message is a batch with `is_batch` False.

    `answered`: the messages that get an answer, which are requests and malformed members of a batch. `wants_events`:
    the client takes event streams only, or takes both and gave a call a progress token.
    """

    messages: list[Message]
    answered: list[Message]
    revision: str
    is_batch: bool = False
    wants_events: bool = False


class ResultForm(NamedTuple):
    """How a revision writes a tool's result: with `structuredContent` or not, and its `extra` members."""

    structured: bool
    extra: Json


class ToolOutcome(dict[str, Any]):
    """`{"success": bool, "data": {…}}`: the outcome of a tool call; middlewares may change it until `render`.

    `call_id` is the request's id. `from_web`: it holds text from the web, so it is sanitized.
    """

    __slots__ = ("call_id", "form", "from_web")

    def __init__(self, outcome: Json, call_id: RequestId, form: ResultForm, from_web: bool) -> None:
        super().__init__(outcome)
        self.call_id = call_id
        self.form = form
        self.from_web = from_web


def response(call_id: RequestId, result: Json) -> Json:
    """`{jsonrpc, id, result}`."""
    return {"jsonrpc": "2.0", "id": call_id, "result": result}


def error_response(error: GatewayError, call_id: RequestId = None) -> Json:
    """`{jsonrpc, id, error: {code, message, data?}}`.

    Errors of other layers become -32600 (status below 500), -32603, or -32700 for what is not JSON, with `data`
    `{type, code, retryable, param?, retry_after_s?}`.
    """
    if isinstance(error, RpcFault):
        body: Json = {"code": error.rpc_code, "message": error.message}
        if error.data is not None:
            body["data"] = error.data
        return {"jsonrpc": "2.0", "id": error.call_id if call_id is None else call_id, "error": body}
    data: Json = {"type": error.type, "code": error.code, "retryable": error.retryable}
    if error.param is not None:
        data["param"] = error.param
    if error.retry_after_s is not None:
        data["retry_after_s"] = round(error.retry_after_s, 3)
    code = INVALID_REQUEST if error.status < 500 else INTERNAL_ERROR
    if error.code == "invalid_json":  # found before the body was decoded
        code = PARSE_ERROR
    return {"jsonrpc": "2.0", "id": call_id, "error": {"code": code, "message": error.message, "data": data}}


def render(data: Json) -> Json:
    """The JSON-RPC message of one answer. The result of a ToolOutcome is `{content: [{type, text}], isError,
    structuredContent?, …}`; other messages stay as they are.

    Its JSON is made once and used as text and as `structuredContent`. Call it after the outcome was sanitized.
    """
    if not isinstance(data, ToolOutcome):
        return data
    try:
        encoded = orjson.dumps(data)
    except TypeError:  # half a surrogate pair from a web page, or a number outside 64 bits
        repaired = _repaired(data)
        data.clear()
        data.update(repaired)
        encoded = orjson.dumps(data)
    structured, extra = data.form
    text = encoded.decode()
    result: Json = {"content": [{"type": "text", "text": text}], "isError": not data["success"], **extra}
    if structured:
        result["structuredContent"] = orjson.Fragment(encoded)
    return response(data.call_id, result)


def render_all(data: list[Json]) -> list[Json]:
    """The answer to a batch: `render` of each member."""
    return [render(item) for item in data]


def _repaired(value: Any) -> Any:
    """A copy that orjson can dump: lone surrogates become `?`, numbers outside 64 bits floats, other types strings."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {str(_repaired(name)): _repaired(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_repaired(item) for item in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return float(value) if abs(value) < 2**1023 else str(value)
    return value if value is None or isinstance(value, int | float) else _repaired(str(value))


MAX_MEMBERS = 50
"""Messages of one batch."""

MAX_BODY_BYTES = 4 << 20
"""Bytes of one body."""


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
