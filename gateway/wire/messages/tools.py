"""Tools and tool choice of a messages request in chat's form. Pure functions.

Source: Anthropic API reference (Messages, tool search, web search tool), read 2026-11-22.
"""

from collections.abc import Container, Iterable
from typing import Any

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.wire.chat.request import CACHE
from gateway.wire.messages.client_tools import TOOLSETS, described, short_name, toolset_members

_HOSTED = ("web_search", "web_fetch")
"""The service's own tools that the gateway runs. Their types are these words and a date."""
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def hosted_kind(tool: Json) -> str:
    """`web_search` or `web_fetch` for a tool of a request that the gateway runs, of any date; else empty."""
    kind = str(tool.get("type") or "")
    return next((each for each in _HOSTED if kind.startswith(f"{each}_")), "")


def forced_kind(body: Json) -> str:
    """The kind of hosted tool that the model must call first: it is the tool that is chosen, or any is, and there is no
    other. Else empty."""
    tools, choice = body.get("tools") or (), body.get("tool_choice") or {}
    kinds = [hosted_kind(tool) for tool in tools]
    if choice.get("type") == "any":
        return min(kinds, key=_HOSTED.index) if kinds and all(kinds) else ""
    chosen = zip(tools, kinds, strict=True) if choice.get("type") == "tool" else ()
    return next((kind for tool, kind in chosen if kind and tool.get("name") == choice.get("name")), "")


def _is_tool_search(tool: Json) -> bool:
    """Whether a tool is the service's own search among deferred tools."""
    return str(tool.get("type") or "").startswith("tool_search_tool_")


def offered_tools(tools: Iterable[Json], referenced: set[str], changes: list[tuple[str, Any]]) -> list[Json]:
    """The caller's tools that the model may call now, as they are in the request or as a `tool_definition` gives them.

    Deferred tools are those that a search for tools has `referenced`; where the search would be the service's own
    (`tool_search_tool_…`), all are offered at once. `changes` are applied in order. Tools that neither
    the caller nor the gateway runs are left out. Raises InvalidRequest for a tool without a name.
    """
    tools = list(tools)
    finds_all = any(map(_is_tool_search, tools))
    known = {tool["name"]: tool for tool in _own_tools(tools)}
    offered = {name: finds_all or not tool.get("defer_loading") or name in referenced for name, tool in known.items()}
    for kind, tool in changes:
        if not isinstance(tool, dict):
            continue
        if tool.get("type") == "tool_definition" and isinstance(tool.get("definition"), dict):
            for defined in _own_tools([tool["definition"]], "messages"):
                known[defined["name"]] = defined
                offered[defined["name"]] = True
        elif tool.get("name") in known:
            offered[tool["name"]] = kind == "tool_addition"
    return [tool for name, tool in known.items() if offered[name]]


def _own_tools(tools: Iterable[Json], field: str = "tools") -> Iterable[Json]:
    """The tools that the caller runs, all with a schema; the service's own are left out."""
    for index, tool in enumerate(tools):
        for function in _functions_of(tool) or ():
            if not isinstance(function.get("name"), str) or not function["name"]:
                where = f"{field}[{index}].name"
                raise InvalidRequest(f"{where}: is required", param=where)
            yield function


def _functions_of(tool: Json) -> list[Json] | None:
    """What a tool is for the model: nothing for one that the gateway runs, None for one of its maker's server."""
    if hosted_kind(tool) or _is_tool_search(tool):
        return []
    if toolset := _toolset_of(tool):
        return list(toolset_members(tool, toolset))
    known = tool if (tool.get("type") or "custom") == "custom" else described(tool)
    return None if known is None else [known]


def _toolset_of(tool: Json) -> str:
    kind = str(tool.get("type") or "")
    return next((name for name in TOOLSETS if kind.startswith(f"{name}_toolset_")), "")


def left_out(body: Json) -> list[str]:
    """A warning for tools of a request that neither its caller nor the gateway runs: they are not offered."""
    kinds = [str(tool["type"])[:40] for tool in body.get("tools") or () if _functions_of(tool) is None]
    return [f"tools that nobody runs for this model were left out: {', '.join(kinds)}"] if kinds else []


def chat_tool(tool: Json) -> Json:
    """`{type: "function", function: {name, description?, parameters, strict?}}`."""
    function: Json = {"name": short_name(tool["name"])}
    if isinstance(tool.get("description"), str):
        function["description"] = tool["description"]
    function["parameters"] = tool.get("input_schema")
    if isinstance(tool.get("strict"), bool):
        function["strict"] = tool["strict"]
    mark = {CACHE: tool["cache_control"]} if isinstance(tool.get("cache_control"), dict) else {}
    return {"type": "function", "function": function, **mark}


def set_choice(chat: Json, choice: Any, names: Container[object]) -> None:
    """Set `tool_choice` and `parallel_tool_calls` of a chat body, from `{type, name?, …}`. `names`: of its tools.

    Raises InvalidRequest for a tool that is not there, and where a call is demanded without any tool.
    """
    if not isinstance(choice, dict):
        return
    kind = choice.get("type")
    if not chat.get("tools") and kind in ("auto", "none"):
        return
    if not chat.get("tools"):
        raise InvalidRequest("tool_choice: demands a call, and there are no tools", param="tool_choice")
    if kind == "tool":
        name = choice.get("name")
        if name not in names:
            raise InvalidRequest(
                "tool_choice.name: is not the name of a tool of this request", param="tool_choice.name"
            )
        chat["tool_choice"] = {"type": "function", "function": {"name": short_name(str(name))}}
    elif kind in _CHOICES:
        chat["tool_choice"] = _CHOICES[kind]
    else:
        raise InvalidRequest("tool_choice.type: must be auto, any, tool or none", param="tool_choice.type")
    if choice.get("disable_parallel_tool_use") is True:
        chat["parallel_tool_calls"] = False
