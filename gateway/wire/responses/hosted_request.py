"""What a responses request asks of the gateway's hosted tools: the names of web search, and the choices that mean it.

Source: OpenAI API reference (Responses), read 2026-11-22.
"""

import re
from typing import Any, Literal, NamedTuple

from gateway.domain import Json
from gateway.errors import InvalidRequest

WEB_SEARCH = "web_search"
"""The kind of hosted tool, whatever name the request has for it."""
_WEB_SEARCH = re.compile(r"web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?")


class SearchWish(NamedTuple):
    """A request's web search tool at the path `where`.

    `choice`: the model may call it (`auto`), must call it first (`forced`), must call any tool first (`required`), or
    must not (`none`).
    """

    tool: Json
    where: str
    choice: Literal["auto", "forced", "required", "none"]


def is_web_search(kind: Any) -> bool:
    """Whether a tool's `type` is a name of web search: `web_search`, `web_search_preview`, with or without a date."""
    return isinstance(kind, str) and _WEB_SEARCH.fullmatch(kind) is not None


def is_server_search(tool: Json) -> bool:
    """Whether a tool asks the service to search for deferred tools."""
    return tool.get("type") == "tool_search" and tool.get("execution") != "client"


def finds_tools(body: Json) -> bool:
    """Whether a request has deferred tools, and asks the service to search for them."""
    tools = [tool for tool in body.get("tools") or () if isinstance(tool, dict)]
    listed = [member for tool in tools for member in (tool, *(tool.get("tools") or ()))]
    has_deferred = any(isinstance(member, dict) and member.get("defer_loading") for member in listed)
    return has_deferred and any(map(is_server_search, tools))


def search_wish(body: Json) -> SearchWish | None:
    """The web search of a checked request, None where it has none. Raises InvalidRequest for more than one."""
    places = [index for index, tool in enumerate(body.get("tools") or ()) if is_web_search(tool.get("type"))]
    if not places:
        return None
    if len(places) > 1:
        at = f"tools[{places[1]}]"
        raise InvalidRequest(f"{at}: a request may have one web search tool", param=at)
    return SearchWish(body["tools"][places[0]], f"tools[{places[0]}]", _choice(body.get("tool_choice")))


def _choice(choice: Any) -> Literal["auto", "forced", "required", "none"]:
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        allowed = [tool for tool in choice.get("tools") or () if isinstance(tool, dict)]
        if not any(is_web_search(tool.get("type")) for tool in allowed):
            return "none"
        choice = choice.get("mode")
    if isinstance(choice, dict):
        return "forced" if is_web_search(choice.get("type")) else "auto"
    if choice == "none":
        return "none"
    return "required" if choice == "required" else "auto"
