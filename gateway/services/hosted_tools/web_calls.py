"""Calls of the gateway's own web tools for a model, under the rules of a call over MCP."""

from collections.abc import Mapping

from gateway.domain import Json, WebCall
from gateway.errors import GatewayError, InvalidRequest
from gateway.mcp.dialect import WebSearchDialect
from gateway.mcp.messages import ResultForm, ToolOutcome
from gateway.services.websearch.tool_calls import failed, succeeded
from gateway.services.websearch.tool_runner import ToolCaller, ToolRunner
from gateway.services.websearch.tools import Tool
from gateway.wire.preencoded import PackedJson

_NO_FORM = ResultForm(structured=False, extra={})


class WebCalls:
    """Calls for one caller. `tools`: the table of `websearch.tools.tool_table`."""

    def __init__(self, tools: Mapping[str, Tool], caller: ToolCaller) -> None:
        self._tools, self._runner = tools, ToolRunner(tools)
        self._caller = caller
        self._dialect = WebSearchDialect()

    async def call(self, name: str, arguments: Json) -> Json:
        """The `data` of a tool's answer (schemas/tools/*.json), masked. Raises GatewayError, its message masked too."""
        call, caller = self._tools[name].prepare(arguments), self._caller
        how = WebCall(caller.owner, caller.request_id)
        try:
            outcome = succeeded(await self._runner.run(call, caller.charge, how, caller.clean))
        except GatewayError as error:
            if error.partial is None:
                raise  # our own words alone: what an upstream said is quoted apart from them
            outcome = failed(error)
        await self._clean_outcome(outcome)
        if not outcome["success"]:
            raise InvalidRequest(outcome["data"]["error"]["message"])
        data: Json = outcome["data"]
        return data.unpack() if isinstance(data, PackedJson) else data

    async def _clean_outcome(self, outcome: Json) -> None:
        for unit in self._dialect.reply_units(ToolOutcome(outcome, None, _NO_FORM, from_web=True)):
            await self._caller.clean(unit, "responses")
