"""The tools of a responses request and its `tool_choice` in chat's form.

Every kind that the caller runs becomes a function (`CallKind`); a namespace is a container of such. The server's own
kinds are either run by the gateway (`hosted`) or left out. Source: OpenAI API reference (Responses), read 2026-11-22.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.wire.responses.call_kinds import CALL_KINDS
from gateway.wire.responses.hosted_request import is_server_search, is_web_search
from gateway.wire.responses.tool_names import ToolNames, ToolRef
from gateway.wire.untrusted_json import table_in

_SHOWN_CHARS = 40
"""A tool's type in a header or error text is cut here: it comes from the caller."""

_UNMET = "tool_choice demands a call of a tool that is not offered to this model; name a tool of tools, or send auto"


@dataclass(frozen=True, slots=True)
class DeferredTool:
    """A tool that is offered once it was searched for: its name and description for the model, its chat function, and
    its definition as the caller gave it, within its namespace."""

    name: str
    description: str
    function: Json
    definition: Json


@dataclass(slots=True)
class OfferedTools:
    """`functions`: what each tool becomes for the model. `dropped`: types of tools that nobody runs here. `hosted`:
    types of those that the gateway runs itself, of `hosted_kinds`. `deferred`: tools that a search may find."""

    names: ToolNames
    functions: dict[ToolRef, Json] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    hosted: set[str] = field(default_factory=set)
    hosted_kinds: Collection[str] = ()
    deferred: list[DeferredTool] = field(default_factory=list)


def declared_tools(body: Json, items: Iterable[Json]) -> Iterator[tuple[Json, str]]:
    """`(tool, path)` of every tool of a request, and of those that items of the conversation have added."""
    for index, tool in enumerate(body.get("tools") or ()):
        yield tool, f"tools[{index}]"
    for item in items:
        if item.get("type") in ("additional_tools", "tool_search_output") and isinstance(item.get("tools"), list):
            for index, tool in enumerate(item["tools"]):
                if not isinstance(tool, dict) or not isinstance(tool.get("type"), str):
                    raise InvalidRequest("a tool must be an object with a type", param=f"input.tools[{index}]")
                yield tool, f"input.tools[{index}]"


def offered_tools(declared: Iterable[tuple[Json, str]], hosted: Collection[str] = ()) -> OfferedTools:
    """What the model is offered. The last of two tools with one name counts. Raises InvalidRequest naming the tool."""
    offered = OfferedTools(ToolNames(), hosted_kinds=hosted)
    found: dict[ToolRef, Json] = {}
    waiting: dict[ToolRef, Json] = {}
    tools = list(declared)
    if not tools:
        return offered
    is_deferred = _are_deferred(tools, hosted)
    for tool, where in tools:
        kind = tool["type"]
        if is_server_search(tool):
            if is_deferred and kind in hosted:
                offered.hosted.add(kind)
        elif kind in hosted and kind != "tool_search":
            offered.hosted.add(kind)
        elif kind == "namespace":
            found |= _members(tool, where)
            _defer(waiting, tool["tools"], tool, where if is_deferred else "")
        elif (function := _function(tool, where)) is not None:
            found[_ref(tool)] = function
            _defer(waiting, [tool], None, where if is_deferred else "")
        else:
            offered.dropped.append(kind[:_SHOWN_CHARS])
    offered.names = ToolNames(found)
    for ref, function in found.items():
        named: Json = {"type": "function", "function": {**function, "name": offered.names.name_of(ref)}}
        if ref in waiting:
            description = str(function.get("description") or "")
            offered.deferred.append(DeferredTool(named["function"]["name"], description, named, waiting[ref]))
        else:
            offered.functions[ref] = named
    return offered


def _are_deferred(tools: Sequence[tuple[Json, str]], hosted: Collection[str]) -> bool:
    """Whether somebody searches for the tools with `defer_loading`: the caller, or the gateway. Else they are offered
    at once."""
    searches = [tool.get("execution") == "client" for tool, _ in tools if tool["type"] == "tool_search"]
    return any(searches) or (bool(searches) and "tool_search" in hosted)


def _defer(waiting: dict[ToolRef, Json], tools: Sequence[Json], namespace: Json | None, where: str) -> None:
    """Note the definitions of those tools that wait to be found. `where`: empty where none waits. Tools that items of
    the conversation bring were found already."""
    for tool in tools:
        ref = _ref(tool, namespace["name"] if namespace is not None else "")
        if where.startswith("tools[") and tool.get("defer_loading"):
            waiting[ref] = {**namespace, "tools": [tool]} if namespace is not None else tool
        else:
            waiting.pop(ref, None)


def set_tools(chat: Json, offered: OfferedTools, choice: Any) -> None:
    """Sets `tools` and `tool_choice` of a chat body.

    One rule for every choice: one that demands a call needs an offered tool that it allows, else InvalidRequest is
    raised; a list of allowed tools narrows the tools, and entries of it that are not offered count for nothing. A
    choice that only a hosted tool meets is left to the caller of this function.
    """
    functions, has_hosted = offered.functions, bool(offered.hosted)
    if isinstance(choice, dict):
        is_list = choice.get("type") == "allowed_tools"
        entries = [entry for entry in choice.get("tools") or () if isinstance(entry, dict)] if is_list else [choice]
        has_hosted = has_hosted and any(_is_hosted(entry.get("type"), offered.hosted_kinds) for entry in entries)
        allowed = {ref: tool for ref, tool in functions.items() if any(_names(entry, ref) for entry in entries)}
        mode = (choice.get("mode") or "auto") if is_list else "required"
        if mode == "required" and not allowed and not has_hosted:
            raise InvalidRequest(_UNMET, param="tool_choice")
        if not is_list and len(allowed) == 1:
            mode = {"type": "function", "function": {"name": offered.names.name_of(next(iter(allowed)))}}
        elif allowed or is_list:
            functions = allowed
        else:
            mode = None
        choice = mode
    elif choice == "required" and not functions and not has_hosted:
        raise InvalidRequest(_UNMET, param="tool_choice")
    if functions:
        chat["tools"] = list(functions.values())
        if choice is not None:
            chat["tool_choice"] = choice


def _is_hosted(kind: Any, hosted: Collection[str]) -> bool:
    """Whether an entry of a tool_choice means a hosted tool; web search under any of its names."""
    return kind in hosted or (is_web_search(kind) and any(map(is_web_search, hosted)))


def _members(namespace: Json, where: str) -> dict[ToolRef, Json]:
    """The functions of a namespace's tools, each with the namespace's description before its own."""
    members: dict[ToolRef, Json] = {}
    tools = namespace.get("tools")
    if not isinstance(namespace.get("name"), str) or not isinstance(tools, list):
        raise InvalidRequest("a namespace needs a name and a list of tools", param=where)
    for index, tool in enumerate(tools):
        place = f"{where}.tools[{index}]"
        if not isinstance(tool, dict) or tool.get("type") not in ("function", "custom"):
            raise InvalidRequest("a tool of a namespace must have the type function or custom", param=place)
        function = _function(tool, place) or {}
        texts = (namespace.get("description"), function.get("description"))
        if any(texts):
            function["description"] = "\n\n".join(str(text) for text in texts if text)
        members[_ref(tool, namespace["name"])] = function
    return members


def _function(tool: Json, where: str) -> Json | None:
    """`{name, description?, parameters?, strict?}` for a tool; None for a kind that the caller does not run."""
    kind = tool["type"]
    if kind in ("function", "custom"):
        own = table_in(tool, kind) or tool  # chat's form is taken, too
        if not isinstance(own.get("name"), str) or not own["name"]:
            raise InvalidRequest("a tool needs a name", param=f"{where}.name")
        if kind == "custom":
            return _custom_function(own)
        return {
            name: own[name] for name in ("name", "description", "parameters", "strict") if own.get(name) is not None
        }
    table = CALL_KINDS.get(kind)
    if table is None or table.parameters is None:
        return None
    if kind == "shell" and table_in(tool, "environment").get("type", "local") != "local":
        return None  # a container of the service
    return {
        "name": kind,
        "description": tool.get("description") or table.description,
        "parameters": tool.get("parameters") or table.parameters,
    }


def _custom_function(tool: Json) -> Json:
    """A custom tool takes free text: a function with one string."""
    form = table_in(tool, "format")
    grammar = table_in(form, "grammar") or form
    description = str(tool.get("description") or "")
    if form.get("type") == "grammar":
        description += f"\n\nThe input must match this {grammar.get('syntax')} grammar:\n{grammar.get('definition')}"
    field_schema = {"type": "string", "description": "The tool's input, as it is."}
    parameters = {"type": "object", "properties": {"input": field_schema}, "required": ["input"]}
    return {"name": tool["name"], "description": description.strip(), "parameters": parameters}


def _ref(tool: Json, namespace: str = "") -> ToolRef:
    kind = tool["type"]
    own = table_in(tool, kind) or tool
    return ToolRef(kind, own["name"] if kind in ("function", "custom") else kind, namespace)


def _names(entry: Json, ref: ToolRef) -> bool:
    """Whether an entry of a tool_choice names a tool. A namespace names all its tools."""
    if entry.get("type") == "namespace":
        return bool(ref.namespace) and entry.get("name") == ref.namespace
    if entry.get("type") != ref.kind:
        return False
    named = table_in(entry, ref.kind) or entry
    is_built_in = ref.kind not in ("function", "custom")
    return is_built_in or (named.get("name") == ref.name and (entry.get("namespace") or "") == ref.namespace)
