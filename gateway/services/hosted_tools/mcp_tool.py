"""Hosted MCP: the tools of one server that a request names, run by the gateway for a model.

`McpTool` is a `HostedTool` over a `ports.ToolServer`. What a server says is foreign text: descriptions, schemas and
results are bounded, without invisible characters, and masked as the web tools' are.

Theory of operation. `opening` lists the tools, then runs the calls that the caller has approved, and adds them to the
conversation; a call that was refused is in it already (`wire.responses.mcp`). A call that needs approval is not
run: it becomes an `mcp_approval_request`, which ends the answer.

| `HostedCall.kind`      | `name`, `arguments` | `results`                  | `action`                                |
|------------------------|---------------------|----------------------------|-----------------------------------------|
| `mcp_list_tools`       | empty               | the tools                  | `{server_label}`                        |
| `mcp_call`             | as the model called | empty                      | `{server_label, approval_request_id?}`  |
| `mcp_approval_request` | as the model called | empty                      | `{server_label}`                        |
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

import orjson

from gateway.domain import Json
from gateway.engines.words.text import strip_invisible, strip_steps
from gateway.errors import GatewayError
from gateway.ports import ToolServer
from gateway.random_ids import random_hex
from gateway.resilience.slices import in_slices
from gateway.services.hosted_tools.loop import OUT_OF_TIME, HostedTool, run_all
from gateway.services.hosted_tools.web_calls import WebCalls
from gateway.services.websearch.tool_runner import ToolCaller
from gateway.services.websearch.tools import Tool
from gateway.texts import TextSlot, TextUnit
from gateway.wire.hosted_answer import CallPhase, HostedCall, HostedEvent
from gateway.wire.responses.mcp import ApprovalRule, ApprovedCall
from gateway.wire.responses.tool_names import ToolNames, ToolRef
from gateway.wire.responses.tools import DeferredTool
from gateway.wire.text_walk import answer_slots, text_slots
from gateway.wire.untrusted_json import object_in, table_in, words_of


class OwnTools:
    """Implements ports.ToolServer. Calls are charged, checked and masked by `calls`."""

    def __init__(self, tools: Mapping[str, Tool], calls: WebCalls) -> None:
        self._tools = tools
        self._calls = calls

    async def tools(self) -> list[Json]:
        """See ports.ToolServer."""
        return [tool.descriptor for tool in self._tools.values()]

    async def call(self, name: str, arguments: Json) -> tuple[str, bool]:
        """See ports.ToolServer. A tool's failure is a result, which the model may act on."""
        try:
            return orjson.dumps(await self._calls.call(name, arguments)).decode(), False
        except GatewayError as error:
            return error.message, True

    async def close(self) -> None:
        """Nothing is kept."""


_MAX_DESCRIPTION_CHARS = 4_000
_MAX_SCHEMA_BYTES = 32_768
"""Most bytes of one tool's schema; a tool with a larger one is left out."""
_MAX_NAME_CHARS = 128
"""From the MCP specification of 2025-11-25; a tool with a longer name is left out."""
_MAX_TITLE_CHARS = 200
"""A title is a few words."""
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_MAX_ARGUMENTS_CHARS = 200_000
"""A document of a hundred pages fits; more is no sensible call, and is masked before it is sent."""


@dataclass(frozen=True, slots=True)
class McpGrant:
    """What one request may do with a server. `allowed`: names of tools, None for all. `forced`: the tool that the model
    must call first, empty for any. `found`: the tools that earlier searches have found, where others wait for one; None
    where none waits. `is_listed`: the caller knows the list from an earlier answer. `approved`: calls to
    run first. `messages`: the conversation, to which these are added. `cleans`: results are masked here; the gateway's
    own tools do that themselves."""

    label: str
    allowed: frozenset[str] | None = None
    approval: ApprovalRule = field(default_factory=ApprovalRule)
    forced: str = ""
    found: Collection[str] | None = None
    is_listed: bool = False
    approved: Sequence[ApprovedCall] = ()
    messages: list[Json] = field(default_factory=list)
    max_result_chars: int = 80_000
    cleans: bool = True


class McpTool(HostedTool):
    """One server in one request."""

    phases = ("in_progress", "arguments")

    def __init__(self, server: ToolServer, grant: McpGrant, caller: ToolCaller) -> None:
        self._server = server
        self._grant = grant
        self._caller = caller
        self._tools: dict[str, Json] = {}
        self._refs: dict[str, str] = {}
        self.kind = f"mcp:{grant.label}"
        self.waiting: list[DeferredTool] = []
        """Tools that a search may find; set by `functions`."""

    async def opening(self, limit_s: float) -> AsyncGenerator[list[HostedEvent], None]:
        """See HostedTool. A list that fails is reported, and the answer goes on without the server's tools."""
        ends_s = time.monotonic() + limit_s
        listing = self._call("mcpl", "mcp_list_tools")
        if not self._grant.is_listed:
            yield [CallPhase(listing, "in_progress")]
        try:
            async with asyncio.timeout(limit_s):
                self._tools = await self._listed()
            listing.status, listing.results = "completed", list(self._tools.values())
        except GatewayError as error:
            listing.status, listing.error = "failed", error.message
        except TimeoutError:
            listing.status, listing.error = "failed", OUT_OF_TIME
        if not self._grant.is_listed:
            yield [CallPhase(listing, listing.status)]
        calls = [self._approved_call(approved) for approved in self._grant.approved]
        async with aclosing(run_all([(self, call) for call in calls], ends_s - time.monotonic())) as phases:
            async for batch in phases:
                yield batch
        for call in calls:
            _add_pair(self._grant.messages, call, ToolNames().name_of(self._ref(call.name)))

    def functions(self, taken: Collection[str]) -> list[Json]:
        """See HostedTool: `LABEL__NAME`, the forced one first."""
        names = ToolNames([self._ref(name) for name in self._tools], taken)
        self._refs = {names.name_of(self._ref(name)): name for name in self._tools}
        ordered = sorted(self._refs.items(), key=lambda each: each[1] != self._grant.forced)
        offered = [(_function(name, self._tools[tool]), tool) for name, tool in ordered]
        found = self._grant.found
        if found is None:
            return [function for function, _ in offered]
        self.waiting = [self._deferred(function, tool) for function, tool in offered if tool not in found]
        return [function for function, tool in offered if tool in found]

    def _deferred(self, function: Json, tool: str) -> DeferredTool:
        shown = {"type": "mcp", "server_label": self._grant.label, "allowed_tools": [tool]}
        return DeferredTool(function["function"]["name"], self._tools[tool]["description"], function, shown)

    def serves(self, name: str) -> bool:
        """See HostedTool."""
        return name in self._refs

    def start(self, name: str, arguments: str) -> HostedCall:
        """See HostedTool: a call, or the request to approve it."""
        tool = self._tools[self._refs[name]]
        if self._grant.approval.is_needed(tool):
            request = self._call("mcpr", "mcp_approval_request", tool["name"], arguments or "{}")
            request.ends_turn = True
            return request
        return self._call("mcp", "mcp_call", tool["name"], arguments or "{}")

    async def close(self) -> None:
        """See HostedTool."""
        await self._server.close()

    async def run(self, call: HostedCall) -> None:
        """See HostedTool."""
        if call.kind == "mcp_approval_request":
            call.status, call.output = "completed", "The user is asked for approval."
            return
        try:
            text, is_error = await self._result(call)
        except GatewayError as error:
            text, is_error = f"the call failed: {error.message}", True
        call.status, call.output = ("failed" if is_error else "completed"), text
        call.error = text if is_error else ""

    def _call(self, prefix: str, kind: str, name: str = "", arguments: str = "") -> HostedCall:
        action = {"server_label": self._grant.label}
        return HostedCall(f"{prefix}_{random_hex(24)}", kind, name, arguments, action=action)

    def _approved_call(self, approved: ApprovedCall) -> HostedCall:
        call = self._call("mcp", "mcp_call", approved.name, approved.arguments)
        call.action["approval_request_id"] = approved.request_id
        return call

    def _ref(self, name: str) -> ToolRef:
        return ToolRef("function", name, self._grant.label)

    async def _listed(self) -> dict[str, Json]:
        """The tools that may be called, by name, in the form that callers and the model see."""
        tools: dict[str, Json] = {}
        for tool in await self._server.tools():
            name, schema = tool["name"], table_in(tool, "inputSchema")
            is_allowed = self._grant.allowed is None or name in self._grant.allowed
            is_small = len(name) <= _MAX_NAME_CHARS and len(orjson.dumps(schema)) <= _MAX_SCHEMA_BYTES
            if is_allowed and is_small:
                text = words_of(tool.get("description") or "")[:_MAX_DESCRIPTION_CHARS]
                shown = {"name": name, "description": text, "input_schema": schema, "annotations": _hints(tool)}
                for slot in text_slots(shown, skip=frozenset(("name",))):
                    slot.text = strip_invisible(slot.text)[0]
                tools[name] = shown
        if self._grant.cleans:
            slots = [slot for tool in tools.values() for slot in answer_slots(tool, "tools", frozenset(("name",)))]
            await self._caller.clean(TextUnit(slots), "responses")
        return tools

    async def _result(self, call: HostedCall) -> tuple[str, bool]:
        """The masked and bounded text of a call's result, and whether it is an error. Raises GatewayError."""
        if call.name not in self._tools:
            return f"there is no tool '{call.name[:80]}'; call another", True
        sent = {"arguments": call.arguments}
        if self._grant.cleans:
            await self._caller.charge(self.kind)
            if len(call.arguments) <= _MAX_ARGUMENTS_CHARS:
                await self._caller.clean(TextUnit([TextSlot(sent, "arguments", "arguments", "json")]), "requests")
        arguments = object_in(sent["arguments"])
        if arguments is None or len(call.arguments) > _MAX_ARGUMENTS_CHARS:
            return f"the arguments must be a JSON object of at most {_MAX_ARGUMENTS_CHARS:,} characters", True
        text, is_error = await self._server.call(call.name, arguments)
        result = {"output": (await in_slices(strip_steps(text)))[0]}
        if self._grant.cleans:
            await self._caller.clean(TextUnit([TextSlot(result, "output", "output")]), "responses")
        most = self._grant.max_result_chars
        if len(result["output"]) > most:
            return f"{result['output'][:most]}\n[cut after {most:,} characters]", is_error
        return result["output"], is_error


def _add_pair(messages: list[Json], call: HostedCall, name: str) -> None:
    """Add a call and its output as chat messages; a text before the call is of the same message."""
    asked = {"id": call.item_id, "type": "function", "function": {"name": name, "arguments": call.arguments}}
    message: Json = {"role": "assistant", "content": None}
    if messages and messages[-1]["role"] == "assistant" and not messages[-1].get("tool_calls"):
        message = messages.pop()
    messages.append({**message, "tool_calls": [asked]})
    messages.append({"role": "tool", "tool_call_id": call.item_id, "content": call.output})


def _hints(tool: Json) -> Json | None:
    """The known annotations of a tool, `{title?, readOnlyHint?, …}`; None where it has none."""
    given = table_in(tool, "annotations")
    hints: Json = {name: given[name] for name in _HINTS if isinstance(given.get(name), bool)}
    if isinstance(given.get("title"), str):
        hints["title"] = given["title"][:_MAX_TITLE_CHARS]
    return hints or None


def _function(name: str, tool: Json) -> Json:
    parameters = tool["input_schema"] or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {"name": name, "description": tool["description"], "parameters": parameters},
    }
