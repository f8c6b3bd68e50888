"""The gateway's own web tools as a server of tools, in process: MCP label `gateway`. Knows no model and no HTTP."""

from collections.abc import Mapping

import orjson

from gateway.domain import Json
from gateway.errors import GatewayError
from gateway.mcp.tools import Tool
from gateway.services.hosted_tools.web_calls import WebCalls


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
