"""JSON-RPC 2.0 messages of MCP: the shapes that the dispatcher and the middlewares share.

A checked request body (`RpcBatch`), the outcome of a tool call before it is rendered, and protocol errors. Knows no
method, no tool and no revision: `methods`, `tools` and `versions` decide, this module puts into form.
Source: modelcontextprotocol.io, revisions 2024-11-05 to 2026-07-28, and jsonrpc.org/specification, read 2026-11-21.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import orjson

from gateway.domain import Json, ScanToken, TextSlot
from gateway.errors import GatewayError, InvalidRequest
from gateway.wire.text_slots import text_slots

RequestId: TypeAlias = str | int | None

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class RpcFault(InvalidRequest):
    """A JSON-RPC error: the message is malformed or the protocol was not kept. `status` is the HTTP status."""

    def __init__(
        self, rpc_code: int, message: str, *, status: int = 400, call_id: RequestId = None, data: Json | None = None
    ) -> None:
        super().__init__(message)
        self.rpc_code = rpc_code
        self.status = status
        self.call_id = call_id
        self.data = data


@dataclass(slots=True)
class ToolCall:
    """A `tools/call` from its check to its outcome.

    `request` is what `Tool.run` takes, made from `arguments`. Calls with equal arguments share one `scan_token`.
    `cache_key`: the arguments as JSON bytes, as they came. `is_shared`: arguments and request belong to other calls
    too, so they must not be changed. `error`, once set, is the outcome. `slots` and `originals`: the texts after and
    before sanitizing, empty where nothing was scanned. `findings`: `{entity: count}` of the arguments.
    """

    tool: str
    arguments: Json
    scan_token: ScanToken
    request: Any
    cache_key: bytes
    is_shared: bool = False
    progress_token: str | int | None = None
    error: GatewayError | None = None
    slots: Sequence[TextSlot] = ()
    originals: Sequence[str] = ()
    findings: dict[str, int | str] | None = None

    def texts(self) -> list[TextSlot]:
        """Every string of the arguments, at any depth. The arguments are this call's own from here on."""
        if self.is_shared:
            self.arguments = copy.deepcopy(self.arguments)
        self.slots = slots = text_slots(self.arguments)
        self.originals = [slot.text for slot in slots]
        return slots

    def masked(self) -> list[str]:
        """Paths of the strings that the sanitizer changed (`include_domains[0]`)."""
        pairs = zip(self.slots, self.originals, strict=True)
        return [slot.where for slot, original in pairs if slot.text != original]


@dataclass(slots=True)
class Message:
    """One JSON-RPC message of the body. A notification has `is_request` False.

    A request is answered by its `fault`, else by what its `call` comes to, else by its `result`.
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
    """A checked body: its messages, and the revision it is answered by.

    `answered` are the messages that get an answer: requests, and malformed members of a batch. `wants_events`: a stream
    is for those who take nothing else, or have work to do whose progress they want to see.
    """

    messages: list[Message]
    answered: list[Message]
    revision: str
    is_batch: bool = False
    wants_events: bool = False


class ResultForm(NamedTuple):
    """`structured` adds `structuredContent` to a result; `extra` are its other members."""

    structured: bool
    extra: Json


class ToolOutcome(dict[str, Any]):
    """`{"success": bool, "data": {…}}`: what a tool call came to, still open to change until `render`.

    `call_id` is the id it answers; `from_web` is False when every word of it is the gateway's own.
    """

    __slots__ = ("call_id", "form", "from_web")

    def __init__(self, outcome: Json, call_id: RequestId, form: ResultForm, from_web: bool) -> None:
        super().__init__(outcome)
        self.call_id = call_id
        self.form = form
        self.from_web = from_web


def succeeded(data: Json) -> Json:
    return {"success": True, "data": data}


def failed(error: GatewayError) -> Json:
    """The outcome of a tool call that failed: what went wrong and what to correct, and what an upstream said of it."""
    said = error.message if error.quoted is None else f"{error.message} It says: {error.quoted}"
    body: Json = {"type": error.type, "message": said, "retryable": error.retryable}
    if error.param is not None:
        body["param"] = error.param
    if error.retry_after_s is not None:
        body["retry_after_s"] = round(error.retry_after_s, 3)
    return {"success": False, "data": {"error": body}}


def response(call_id: RequestId, result: Json) -> Json:
    return {"jsonrpc": "2.0", "id": call_id, "result": result}


def error_response(error: GatewayError, call_id: RequestId = None) -> Json:
    """`{"jsonrpc", "id", "error": {code, message, data?}}`. Errors of other layers become -32600 or -32603."""
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
    return {"jsonrpc": "2.0", "id": call_id, "error": {"code": code, "message": error.message, "data": data}}


def render(data: Json) -> Json:
    """The JSON-RPC message of one answer; a ToolOutcome gets its text made here, once, from what it has become."""
    if not isinstance(data, ToolOutcome):
        return data
    try:
        packed = orjson.dumps(data)
    except TypeError:  # half a surrogate pair from a web page, or a number JSON has no room for
        mended = _mended(data)
        data.clear()
        data.update(mended)
        packed = orjson.dumps(data)
    structured, extra = data.form
    result: Json = {
        "content": [{"type": "text", "text": packed.decode()}],
        "isError": not data["success"],
        **extra,
    }
    if structured:
        result["structuredContent"] = orjson.Fragment(packed)  # the same object, made once
    return response(data.call_id, result)


def render_all(data: list[Json]) -> list[Json]:
    """The answer to a batch."""
    return [render(item) for item in data]


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {str(_mended(name)): _mended(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mended(item) for item in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return float(value) if abs(value) < 2**1023 else str(value)
    return value if value is None or isinstance(value, int | float) else _mended(str(value))
