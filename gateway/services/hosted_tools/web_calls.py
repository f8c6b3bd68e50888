"""Calls of the gateway's own web tools from inside, under the rules of a call over MCP: charged, checked, sanitized.

The same steps as `mcp.dispatcher` in the same order, without JSON-RPC.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from gateway.domain import Json, WebCall
from gateway.errors import GatewayError, InvalidRequest
from gateway.mcp.dialect import WebSearchDialect
from gateway.mcp.messages import ResultForm, ToolOutcome
from gateway.services.websearch.tool_calls import ToolCall, failed, succeeded
from gateway.services.websearch.tools import Tool
from gateway.texts import TextUnit
from gateway.wire.preencoded import PackedJson

Clean = Callable[[TextUnit, Literal["requests", "responses"]], Awaitable[None]]
"""Masks the texts of a unit in place as those of the web tools are. Raises ContentBlocked and SanitizerFailed."""

_NO_FORM = ResultForm(structured=False, extra={})


@dataclass(frozen=True, slots=True)
class ToolCaller:
    """The caller for whom tools are called. `owner`: the key's id. `charge(tool)` takes one call from the key's calls
    a minute and from its budgets, and raises RateLimited. `clean`: see there."""

    owner: str
    request_id: str
    charge: Callable[[str], Awaitable[None]]
    clean: Clean


class WebCalls:
    """Calls for one caller. `tools`: the table of `websearch.tools.tool_table`."""

    def __init__(self, tools: Mapping[str, Tool], caller: ToolCaller) -> None:
        self._tools = tools
        self._caller = caller
        self._dialect = WebSearchDialect()

    async def call(self, name: str, arguments: Json) -> Json:
        """The `data` of a tool's answer (schemas/tools/*.json), masked. Raises GatewayError, its message masked too."""
        tool = self._tools[name]
        call = tool.prepare(arguments)
        if call.error is not None:
            raise call.error
        await self._caller.charge(tool.name)
        await self._clean_arguments(tool, call)
        try:
            outcome = succeeded(await tool.run(call.request, WebCall(self._caller.owner, self._caller.request_id)))
        except GatewayError as error:
            if error.partial is None:
                raise  # our own words alone: what an upstream said is quoted apart from them
            outcome = failed(error)
        await self._clean_outcome(outcome)
        if not outcome["success"]:
            raise InvalidRequest(outcome["data"]["error"]["message"])
        data: Json = outcome["data"]
        return data.unpack() if isinstance(data, PackedJson) else data

    async def _clean_arguments(self, tool: Tool, call: ToolCall) -> None:
        """Raises InvalidRequest for arguments that masking made wrong."""
        await self._caller.clean(TextUnit(call.texts, call, call.scan_token), "requests")
        if call.slots and call.masked():
            error = tool.arguments.check(call.arguments, masked=True)
            if error is not None:
                raise InvalidRequest(f"{error.message}; sensitive values were masked in it", code="content_filter")
            call.request = tool.as_request(call.arguments)
        elif not call.is_shared:
            tool.remember(call)

    async def _clean_outcome(self, outcome: Json) -> None:
        for unit in self._dialect.reply_units(ToolOutcome(outcome, None, _NO_FORM, from_web=True)):
            await self._caller.clean(unit, "responses")
