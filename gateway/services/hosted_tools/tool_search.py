"""Tool search run by the gateway: the model finds deferred tools by words, and can call them in the same answer.

    tool_search {"query": "open orders"}  ->  crm__list_open_orders, which is offered from the next round on

The function's description names what can be found: models search for what they know of.
Source: OpenAI's guide "Tool search", read 2026-11-27.
"""

import re
from collections.abc import Collection, Sequence

from gateway.domain import Json
from gateway.services.hosted_tools.loop import HostedTool
from gateway.services.hosted_tools.mcp_tool import McpTool
from gateway.wire.hosted_answer import HostedCall
from gateway.wire.responses.object import new_id
from gateway.wire.responses.tools import DeferredTool
from gateway.wire.untrusted_json import object_in

_MOST_FOUND = 8
_LISTED_CHARS = 8_000
"""Most characters of the tools' names and the beginnings of their descriptions."""
_DESCRIBED_CHARS = 120
_WORD = re.compile(r"[^\W_]+")


class ToolSearch(HostedTool):
    """The search among the deferred tools of one request, and of servers whose tools all wait to be found."""

    kind = "tool_search"

    def __init__(self, deferred: Sequence[DeferredTool], servers: Sequence[McpTool] = ()) -> None:
        self._deferred = {tool.name: tool for tool in deferred}
        self._servers = servers
        self._name = self.kind
        self.loaded: list[Json] = []

    def functions(self, taken: Collection[str]) -> list[Json]:
        """One function, `tool_search {query}`; none where nothing waits. Call it after `functions` of the servers."""
        self._deferred |= {tool.name: tool for server in self._servers for tool in server.waiting}
        if not self._deferred:
            return []
        while self._name in taken or self._name in self._deferred:
            self._name += "_"
        query = {"type": "string", "description": "Words of what the tool does, or its name."}
        function = {
            "name": self._name,
            "description": f"Finds further tools, which can be called then. There are:\n{self._listing()}",
            "parameters": {"type": "object", "properties": {"query": query}, "required": ["query"]},
        }
        return [{"type": "function", "function": function}]

    def serves(self, name: str) -> bool:
        return name == self._name

    def start(self, name: str, arguments: str) -> HostedCall:
        decoded = object_in(arguments)
        action = decoded if decoded is not None else {"query": arguments}
        return HostedCall(new_id("tsc"), self.kind, name, arguments, action=action)

    async def run(self, call: HostedCall) -> None:
        """Load what fits the call's words."""
        found = self._found(" ".join(str(value) for value in call.action.values()))
        self.loaded += [tool.function for tool in found if tool.function not in self.loaded]
        call.results = [tool.definition for tool in found]
        names = ", ".join(tool.name for tool in found)
        call.output = f"These tools can be called now: {names}." if found else "No tool fits these words."
        call.status = "completed"

    def _found(self, query: str) -> list[DeferredTool]:
        """The tools whose name or description have most of the words; a tool that is named comes first."""
        words = set(_words(query))
        scores = {name: _score(tool, words, query) for name, tool in self._deferred.items()}
        best = sorted((name for name in scores if scores[name] > 0), key=lambda name: -scores[name])
        return [self._deferred[name] for name in best[:_MOST_FOUND]]

    def _listing(self) -> str:
        text = "\n".join(f"- {tool.name}: {tool.description[:_DESCRIBED_CHARS]}" for tool in self._deferred.values())
        return text if len(text) <= _LISTED_CHARS else "\n".join(f"- {name}" for name in self._deferred)[:_LISTED_CHARS]


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _score(tool: DeferredTool, words: set[str], query: str) -> float:
    """Words of the name count three times; the whole name more than all words."""
    name, described = set(_words(tool.name)), set(_words(tool.description))
    return 100.0 * (tool.name in query) + 3 * len(words & name) + len(words & described)
