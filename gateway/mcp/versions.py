"""Finds the revision of MCP that a request uses, and checks the HTTP headers that come with it.

Four revisions begin with `initialize`; 2026-07-28 repeats version and method in every request, in headers and in
`params._meta`, and the two must agree. No session is stored, so the header alone decides; a request without one is read
as 2025-03-26, as that revision says. Source: modelcontextprotocol.io, "Transports" and "Versioning" of all five
revisions, read 2026-11-21.
"""

import base64
import binascii
from dataclasses import dataclass

from multidict import MultiMapping, istr

from gateway.domain import Json
from gateway.mcp.messages import INVALID_PARAMS, INVALID_REQUEST, Message, RequestId, RpcFault

HANDSHAKE: tuple[str, ...] = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN: tuple[str, ...] = ("2026-07-28",)
"""Revisions that begin with `initialize`, and those that do not, oldest first."""

WITHOUT_HEADER = "2025-03-26"
"""The revision of a request without a version header."""

WITH_BATCHES = frozenset({"2024-11-05", "2025-03-26"})
STRUCTURED_SINCE = "2025-06-18"
PROGRESS_MESSAGES_SINCE = "2025-03-26"
"""Where the revisions differ: JSON-RPC batches, `structuredContent` with `outputSchema`, `message` in progress."""

HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022
"""Error codes of revision 2026-07-28."""

META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_CLIENT = "io.modelcontextprotocol/clientInfo"

VERSION_HEADER, METHOD_HEADER, NAME_HEADER = istr("MCP-Protocol-Version"), istr("Mcp-Method"), istr("Mcp-Name")
MIRRORED = (VERSION_HEADER, METHOD_HEADER, NAME_HEADER)

_MAX_SHOWN_CHARS = 64
"""Characters of a client's version that an error repeats: a version has ten; more would repeat arbitrary input."""


@dataclass(slots=True)
class RpcHeaders:
    """A request's headers, found by names in any case. `takes_json`, `takes_events`: what Accept allows."""

    values: MultiMapping[str]
    takes_json: bool = True
    takes_events: bool = False

    def get(self, name: str) -> str | None:
        """The first value of a header without blanks around it; None where it is absent."""
        value = self.values.get(name)
        return None if value is None else value.strip(" \t")


def negotiated(requested: str) -> str:
    """The revision that `initialize` agrees on: the requested one, else the newest that has a handshake."""
    return requested if requested in HANDSHAKE else HANDSHAKE[-1]


def choose(headers: RpcHeaders, messages: list[Message], is_batch: bool) -> str:
    """The revision to answer by. Raises RpcFault (HTTP 400): a version that is not supported, headers that are missing
    or differ from the body, a batch in a revision without batches."""
    version = headers.get(VERSION_HEADER)
    if version in HANDSHAKE and not is_batch:
        return version  # what most requests are
    message = messages[0] if messages and not is_batch else None
    meta = _meta(message)
    if version in HANDSHAKE or version is None:
        if version is None and message is not None and META_VERSION in meta:
            raise RpcFault(HEADER_MISMATCH, f"the header {VERSION_HEADER} is missing", call_id=message.call_id)
        revision = version or WITHOUT_HEADER
        if is_batch and revision not in WITH_BATCHES:
            raise RpcFault(INVALID_REQUEST, f"revision {revision} has no batches; send one message a request")
        return revision
    if message is not None and message.method == "initialize" and META_VERSION not in meta:
        return HANDSHAKE[-1]  # a handshake needs no header, so an unknown one is ignored
    call_id = message.call_id if message is not None else None
    if message is None or not message.is_request or not (version in MODERN or META_VERSION in meta):
        _require_supported(version, call_id)
    if is_batch:
        raise RpcFault(INVALID_REQUEST, f"revision {version} has no batches; send one message a request")
    if message is not None and message.is_request:
        _require_meta(meta, call_id)
        _require_agreement(headers, message, meta)
        _require_supported(version, call_id)
    return version


def _meta(message: Message | None) -> Json:
    meta = message.params.get("_meta") if message is not None else None
    return meta if isinstance(meta, dict) else {}


def _require_supported(version: str, call_id: RequestId) -> None:
    if version not in MODERN:
        data = {"supported": list(MODERN), "requested": _printable(version)}
        message = (
            f"unsupported protocol version; supported: {', '.join(MODERN)}, and by initialize {', '.join(HANDSHAKE)}"
        )
        raise RpcFault(UNSUPPORTED_VERSION, message, call_id=call_id, data=data)


def _require_meta(meta: Json, call_id: RequestId) -> None:
    if not isinstance(meta.get(META_VERSION), str):
        raise RpcFault(INVALID_PARAMS, f'params._meta["{META_VERSION}"]: must be a string', call_id=call_id)
    for key, value in ((META_CAPABILITIES, meta.get(META_CAPABILITIES)), (META_CLIENT, meta.get(META_CLIENT, meta))):
        if not isinstance(value, dict):
            raise RpcFault(INVALID_PARAMS, f'params._meta["{key}"]: must be an object', call_id=call_id)


def _require_agreement(headers: RpcHeaders, message: Message, meta: Json) -> None:
    """Raises RpcFault unless every mirrored header is there once and equals the body. Proxies route by these headers.

    The naive form is the loop alone; the comparison before it answers the usual request.
    """
    version, method, called = meta[META_VERSION], message.method, message.params.get("name")
    is_call, all_of = method == "tools/call", headers.values.getall
    if (
        is_call
        and all_of(METHOD_HEADER, None) == [method]
        and all_of(NAME_HEADER, None) == [called]
        and all_of(VERSION_HEADER, None) == [version]
    ):
        return
    for name, expected in zip(MIRRORED, (version, method, called), strict=True):
        values = all_of(name, [])
        if len(values) > 1:
            raise _mismatch(name, "is given more than once", message)
        if name is NAME_HEADER and not is_call:
            return
        if not values:
            raise _mismatch(name, "is missing", message)
        value = values[0].strip(" \t")
        if (_decode_name(value) if name is NAME_HEADER else value) != expected:
            raise _mismatch(name, "differs from the body", message)


def _mismatch(name: str, what: str, message: Message) -> RpcFault:
    return RpcFault(HEADER_MISMATCH, f"the header {name} {what}", call_id=message.call_id)


def _decode_name(value: str) -> str | None:
    """The text of `=?base64?…?=`, the form for names that a header cannot hold; None when it is not valid."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def _printable(text: str) -> str:
    return text[:_MAX_SHOWN_CHARS].encode("ascii", "backslashreplace").decode()
