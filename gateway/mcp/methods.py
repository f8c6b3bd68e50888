"""The methods of MCP for a server that has only tools: one table for the handshake revisions, one for the modern ones.

`prepare` answers `initialize`, `ping`, `tools/list` and `server/discover` itself and turns `tools/call` into a
ToolCall, which the dispatcher runs. Stateless: no session is ever issued. Source: modelcontextprotocol.io, revisions
2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28, read 2026-11-21.
"""

import importlib
from collections.abc import Callable, Mapping

import orjson

import gateway
from gateway import trace
from gateway.domain import Json
from gateway.key_scrubber import scrub_keys
from gateway.mcp import versions
from gateway.mcp.messages import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Message, ResultForm, RpcFault
from gateway.services.websearch.tools import Tool

SERVER_INFO = {"name": "gateway", "title": "Web tools", "version": gateway.__version__}
INSTRUCTIONS = (
    "Web tools. Begin with websearch-search when you do not know the page; read pages you know with "
    "websearch-extract; list a site's pages with websearch-map; read a whole section of a site with websearch-crawl; "
    "check the service with websearch-search_status when a call fails. Every answer is JSON: success and data; when "
    "success is false, data.error says what to correct and whether to retry. Sensitive values are masked as "
    "[REDACTED:KIND]."
)
_CAPABILITIES: Json = {"tools": {}}
_CACHE = {"ttlMs": 300_000, "cacheScope": "public"}
"""How long clients of 2026-07-28 may cache lists."""
_MODERN_RESULT: Json = {
    "resultType": "complete",
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "gateway", "version": gateway.__version__}},
}
_SHOWN_CHARS = 64
"""Longest name of an unknown tool that an error repeats: clients allow no longer names."""
_MODERN_ONLY = frozenset(versions.MODERN)

Method = Callable[[Message, str], None]
"""Gives a message its result or call, by the rules of a revision. Raises RpcFault."""


class McpMethods:
    """Prepares messages by the tables of methods; holds the tools, and the lists made from them once.

    `forms`: the ResultForm of each revision's tool results.
    """

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self._tools = tools
        full = [tool.descriptor for tool in tools.values()]
        plain = [{key: value for key, value in each.items() if key not in ("title", "outputSchema")} for each in full]
        # as JSON: some 500 values, which would be written anew, and looked through for long texts, in each answer
        self._lists: Mapping[bool, Json] = {
            True: {"tools": orjson.Fragment(orjson.dumps(full))},
            False: {"tools": orjson.Fragment(orjson.dumps(plain))},
        }
        shared: dict[str, Method] = {"tools/list": self._list, "tools/call": self._call}
        self.forms: Mapping[str, ResultForm] = {
            **{revision: ResultForm(is_structured(revision), {}) for revision in versions.HANDSHAKE},
            **{revision: ResultForm(is_structured(revision), _MODERN_RESULT) for revision in versions.MODERN},
        }
        self._handshake: Mapping[str, Method] = {"initialize": self._initialize, "ping": self._ping, **shared}
        self._modern: Mapping[str, Method] = {"server/discover": self._discover, **shared}

    def prepare(self, message: Message, revision: str, *, is_batch: bool = False) -> None:
        """Give a message its `result`, its `call` or its `fault`. Notifications are left as they are."""
        methods = self._modern if revision in _MODERN_ONLY else self._handshake
        method = methods.get(message.method)
        try:
            if message.fault is not None:
                raise message.fault
            if not message.is_request:
                return
            if method is None:
                raise RpcFault(METHOD_NOT_FOUND, _unknown(methods), status=dispatched_status(revision, 404))
            if is_batch and message.method == "initialize":
                raise RpcFault(INVALID_REQUEST, "initialize must not be a member of a batch; send it alone")
            method(message, revision)
        except RpcFault as fault:
            fault.call_id = message.call_id
            fault.status = dispatched_status(revision, 400) if fault.status == 200 else fault.status
            message.fault = fault
        if message.result is not None and revision in _MODERN_ONLY:
            message.result = {**_MODERN_RESULT, **message.result}

    def _initialize(self, message: Message, revision: str) -> None:
        requested = message.params.get("protocolVersion")
        if not isinstance(requested, str):
            raise _invalid_params("params.protocolVersion: must be a string, for example 2025-11-25", revision)
        message.result = {
            "protocolVersion": versions.negotiated(requested),
            "capabilities": _CAPABILITIES,
            "serverInfo": SERVER_INFO,
            "instructions": INSTRUCTIONS,
        }

    def _ping(self, message: Message, revision: str) -> None:
        message.result = {}

    def _discover(self, message: Message, revision: str) -> None:
        message.result = {
            "supportedVersions": list(versions.MODERN),
            "capabilities": _CAPABILITIES,
            "instructions": INSTRUCTIONS,
            **_CACHE,
        }

    def _list(self, message: Message, revision: str) -> None:
        if message.params.get("cursor") is not None:
            raise _invalid_params("params.cursor: is unknown; all tools are on one page", revision)
        listed = self._lists[is_structured(revision)]
        message.result = {**listed, **_CACHE} if revision in _MODERN_ONLY else listed

    def _call(self, message: Message, revision: str) -> None:
        name, arguments = message.params.get("name"), message.params.get("arguments")
        if not isinstance(name, str):
            raise _invalid_params("params.name: must be a string", revision)
        tool = self._tools.get(name)
        if tool is None:
            raise _invalid_params(f"params.name: {_no_such_tool(name, self._tools)}", revision)
        if arguments is not None and not isinstance(arguments, dict):
            raise _invalid_params("params.arguments: must be an object", revision)
        meta = message.params.get("_meta")
        if not isinstance(meta, dict):
            message.call = tool.prepare(arguments or {})
            return
        token = _progress_token(meta, revision) if "progressToken" in meta else None
        message.call = call = tool.prepare(arguments or {})
        call.progress_token = token
        if trace.HEADER in meta:
            call.trace_parent = trace.parent_of(meta[trace.HEADER])


def is_structured(revision: str) -> bool:
    """Whether the revision has `structuredContent` and `outputSchema`."""
    return revision >= versions.STRUCTURED_SINCE


def dispatched_status(revision: str, modern: int) -> int:
    """HTTP status of a fault in a well-formed message: `modern`, or 200 in revisions with a handshake.

    Their clients read 404 as a lost session.
    """
    return modern if revision in _MODERN_ONLY else 200


def _invalid_params(message: str, revision: str) -> RpcFault:
    return RpcFault(INVALID_PARAMS, message, status=dispatched_status(revision, 400))


def _no_such_tool(name: str, tools: Mapping[str, Tool]) -> str:
    """Names the tool that was asked for, if that may be a name, and the nearest one."""
    if not name.isprintable() or not 0 < len(name) <= _SHOWN_CHARS:
        return f"no such tool; there are {', '.join(tools)}"
    meant = {short: tool for tool in tools for short in (tool, tool.removeprefix("websearch-"))}
    near = importlib.import_module("difflib").get_close_matches(name.lower(), meant, n=1)
    hint = f"did you mean {meant[near[0]]}? There are" if near else "there are"
    return f"no such tool: {scrub_keys(name)!r}; {hint} {', '.join(tools)}"


def _progress_token(meta: Json, revision: str) -> str | int | None:
    token = meta.get("progressToken")
    if token is None or type(token) is str or type(token) is int:
        return token
    raise _invalid_params("params._meta.progressToken: must be a string or an integer", revision)


def _unknown(methods: Mapping[str, Method]) -> str:
    return f"no such method; there are {', '.join(methods)}"
