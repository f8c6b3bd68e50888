"""One call of a web tool, whoever asks for it: an MCP client, or the gateway for a model.

The steps: one call of the key's minute and of its budgets is taken; the arguments are masked, and checked again if
anything was; the tool runs; what it found is masked. An MCP client's texts are masked by its own door, with its body.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from gateway.domain import Json, WebCall
from gateway.errors import InvalidRequest
from gateway.services.websearch.tool_calls import ToolCall
from gateway.services.websearch.tools import Tool
from gateway.texts import TextUnit

Clean = Callable[[TextUnit, Literal["requests", "responses"]], Awaitable[None]]
"""Masks the texts of a unit in place as those of the web tools are. Raises ContentBlocked and SanitizerFailed."""

Charge = Callable[[str], Awaitable[None]]
"""Takes one call of a tool from its caller's key. Raises RateLimited, Unauthenticated, Forbidden."""

_SHOWN_PLACES = 8


@dataclass(frozen=True, slots=True)
class ToolCaller:
    """The caller for whom tools are called. `owner`: the key's id."""

    owner: str
    request_id: str
    charge: Charge
    clean: Clean


class ToolRunner:
    """Runs calls of one table (`websearch.tools.tool_table`)."""

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self._tools = tools

    async def run(self, call: ToolCall, charge: Charge, how: WebCall, clean: Clean | None = None) -> Json:
        """The tool's `data` (schemas/tools/*.json), not yet masked. `clean`: None where the arguments are masked
        already. Raises the call's own error, what `charge` and `clean` raise, InvalidRequest for arguments that masking
        made wrong, and what the tool raises."""
        tool = self._tools[call.tool]
        await charge(tool.name)
        if call.error is not None:
            raise call.error
        if clean is not None:
            await clean(TextUnit(call.texts, call, call.scan_token), "requests")
        if call.slots and (masked := call.masked()):
            _check_again(tool, call, masked)
        elif not call.is_shared:
            tool.remember(call)
        return await tool.run(call.request, how)


def _check_again(tool: Tool, call: ToolCall, masked: list[str]) -> None:
    """Check masked arguments: a date or a country may no longer be one. Raises InvalidRequest."""
    error = tool.arguments.check(call.arguments, masked=True)
    if error is not None:
        places = ", ".join(masked[:_SHOWN_PLACES])
        raise InvalidRequest(
            f"{error.message}; sensitive values were masked in: {places}", param=error.param, code="content_filter"
        )
    call.request = tool.as_request(call.arguments)
