"""The tools of a responses request and its `tool_choice` in chat's form.

Every kind that the caller runs becomes a function (`CallKind`); a namespace is a container of such. The server's own
kinds are either run by the gateway (`hosted`) or left out. Source: OpenAI API reference (Responses), read 2026-11-22.
"""

import hashlib
import itertools
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import orjson

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.wire.responses.object import call_item, new_id
from gateway.wire.untrusted_json import table_in

# --- tool names ---
# The names under which a chat model sees the caller's tools, and the way back.
#
# Chat has plain functions only, with names of at most 64 characters. The responses route has functions, custom tools
# and built-in tools, some of them in namespaces. Source: OpenAI API reference (Responses, Chat Completions) and the
# requests of Codex CLI 0.169, read 2026-11-22.

MAX_NAME_CHARS = 64
"""Longest name of a function on the chat route, from OpenAI's API reference."""

_DIGEST_CHARS = 8
"""Hexadecimal digits at the end of a shortened name: two of 256 tools share 32 bits once in 130,000 requests."""

_NOT_TAKEN = re.compile(r"[^A-Za-z0-9_-]")
"""Characters that names of functions may not have, from the same reference."""


class ToolRef(NamedTuple):
    """A tool as its caller names it. `kind` is the tool's type (`function`, `custom`, `shell` …)."""

    kind: str
    name: str
    namespace: str = ""


class ToolNames:
    """The names of one request's tools. `reserved` are names that no tool of the caller may get.

    A function outside of a namespace keeps its name, unless it is reserved or too long. Any other tool is called
    `NAMESPACE__NAME`. What is too long, or taken, is shortened and gets a digest.
    """

    def __init__(self, refs: Iterable[ToolRef] = (), reserved: Collection[str] = ()) -> None:
        self._names: dict[ToolRef, str] = {}
        self._refs: dict[str, ToolRef] = {}
        self._reserved = frozenset(reserved)
        for ref in sorted(dict.fromkeys(refs), key=lambda ref: not _is_plain(ref)):
            name = self._free_name(ref)
            self._names[ref] = name
            self._refs[name] = ref

    def name_of(self, ref: ToolRef) -> str:
        """The name for the model. A tool that was not declared (the history has calls of such) gets a free one."""
        return self._names.get(ref) or self._free_name(ref)

    def ref_of(self, name: str) -> ToolRef:
        """The tool that the model means. A name that it has invented is a function's, which the caller will refuse."""
        return self._refs.get(name) or ToolRef("function", name)

    def _free_name(self, ref: ToolRef) -> str:
        wanted = f"{ref.namespace}__{ref.name}" if ref.namespace else ref.name
        if not _is_plain(ref):
            wanted = _NOT_TAKEN.sub("_", wanted)
        if len(wanted) <= MAX_NAME_CHARS and self._is_free(wanted):
            return wanted
        digest = hashlib.sha256("\0".join(ref).encode()).hexdigest()[:_DIGEST_CHARS]
        for number in itertools.count():
            end = f"_{digest}" + (f"_{number}" if number else "")
            name = wanted[: MAX_NAME_CHARS - len(end)] + end
            if self._is_free(name):
                return name
        raise AssertionError("numbers do not end")

    def _is_free(self, name: str) -> bool:
        return name not in self._refs and name not in self._reserved


def _is_plain(ref: ToolRef) -> bool:
    return ref.kind == "function" and not ref.namespace


# --- call kinds ---
# The kinds of tools that the caller runs itself: their call and output items, and the function that represents each.
#
# The one table of these kinds; all that translates them reads it. Built-in tools have no schema in a request, so theirs
# are here. Source: OpenAI API reference (Responses) and openai-python 3.52, read 2026-11-22.


@dataclass(frozen=True, slots=True)
class CallKind:
    """One kind of tool.

    `call`, `output`: the types of its items. `argument`: the field of the call item that holds the arguments.
    `id_prefix`: of the ids of its items. `parameters`: the JSON Schema of a built-in tool, and `description` for the
    model. `fixed`: what the argument holds besides the model's arguments; `extra`: further fields of the call item.
    """

    call: str
    output: str
    argument: str
    id_prefix: str
    description: str = ""
    parameters: Json | None = None
    fixed: Json = field(default_factory=dict)
    extra: Json = field(default_factory=dict)


_LOCAL_SHELL: Json = {
    "type": "object",
    "properties": {
        "command": {"type": "array", "items": {"type": "string"}, "description": "The program and its arguments."},
        "working_directory": {"type": "string"},
        "timeout_ms": {"type": "integer"},
    },
    "required": ["command"],
}
_SHELL: Json = {
    "type": "object",
    "properties": {
        "commands": {"type": "array", "items": {"type": "string"}, "description": "Shell commands, run in order."},
        "timeout_ms": {"type": "integer"},
        "max_output_length": {"type": "integer"},
    },
    "required": ["commands"],
}
_APPLY_PATCH: Json = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": ["create_file", "update_file", "delete_file"]},
        "path": {"type": "string"},
        "diff": {"type": "string", "description": "The change in the V4A diff format; not for delete_file."},
    },
    "required": ["type", "path"],
}
_SEARCH: Json = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}

CALL_KINDS: Mapping[str, CallKind] = {
    "function": CallKind("function_call", "function_call_output", "arguments", "fc"),
    "custom": CallKind("custom_tool_call", "custom_tool_call_output", "input", "ctc"),
    "local_shell": CallKind(
        "local_shell_call", "local_shell_call_output", "action", "lsh", "Runs a program on the user's machine.",
        _LOCAL_SHELL, {"type": "exec", "env": {}}),
    "shell": CallKind(
        "shell_call", "shell_call_output", "action", "sh", "Runs shell commands on the user's machine.", _SHELL),
    "apply_patch": CallKind(
        "apply_patch_call", "apply_patch_call_output", "operation", "apc", "Creates, changes or deletes a file.",
        _APPLY_PATCH),
    "tool_search": CallKind(
        "tool_search_call", "tool_search_output", "arguments", "tsc", "Finds further tools, which can then be called.",
        _SEARCH, {}, {"execution": "client"}),
    "computer": CallKind("computer_call", "computer_call_output", "action", "cu"),
}  # fmt: skip
"""{type of the tool: its calls}. `computer` is read in histories only: a model must be trained for it."""

KIND_OF_CALL: Mapping[str, str] = {kind.call: name for name, kind in CALL_KINDS.items()} | {"tool_call": "function"}
KIND_OF_OUTPUT: Mapping[str, str] = {kind.output: name for name, kind in CALL_KINDS.items()} | {
    "tool_call_output": "function"
}
"""The kind of an item's type. `tool_call` and `tool_call_output` are the names of this service's specification."""


def arguments_of(item: Json, kind: str) -> str:
    """The arguments of a call item as the JSON text that chat has."""
    value: Any = item.get(CALL_KINDS[kind].argument)
    if kind == "custom":
        return orjson.dumps({"input": value or ""}).decode()
    if kind == "computer":
        value = value or {"actions": item.get("actions")}
    if isinstance(value, str):
        return value or "{}"
    return orjson.dumps(value or {}).decode()


def built_in_argument(kind: str, arguments: str) -> Json | None:
    """The object for a built-in call's `argument` field; None where the model's arguments lack what the tool needs."""
    try:
        decoded = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return None
    table = CALL_KINDS[kind]
    required = (table.parameters or {}).get("required", ()) if kind != "tool_search" else ()
    if not isinstance(decoded, dict) or any(decoded.get(name) is None for name in required):
        return None
    return {**table.fixed, **decoded}


def ref_of_call(item: Json, kind: str) -> ToolRef:
    """The tool that a call item names; a built-in tool's name is its type."""
    if kind in ("function", "custom"):
        return ToolRef(kind, str(item.get("name") or ""), str(item.get("namespace") or ""))
    return ToolRef(kind, kind)


# --- hosted request ---
# What a responses request asks of the gateway's hosted tools: the names of web search, and the choices that mean it.
#
# Source: OpenAI API reference (Responses), read 2026-11-22.

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


def loop_body(chat: Json, wish: SearchWish) -> Json:
    """The translated chat body with a tool choice that counts our tools too: they are no function of the caller's."""
    return {**chat, "tool_choice": "required"} if wish.choice == "required" else chat


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


# --- calls ---
# The model's tool calls as items of a response and as events: the way back of `CallKind`.
#
# Source: OpenAI API reference (Responses streaming) and openai-python 3.52, read 2026-11-22.
#
# Theory of operation. A model calls functions, with arguments that are JSON text. `function_call` and
# `custom_tool_call` items are opened at once; the text of a custom call comes in one delta when its JSON is whole. The
# other kinds have no deltas and may not be half made, so they are `held` and opened when they are whole; one whose
# arguments do not fit its tool becomes a `function_call`, which the caller refuses as it refuses any wrong call.


class StreamedCall:
    """One call. `item` is its item so far; `take` and `end` return events as `(type, fields)` without their position.

    Call `take` for every piece of arguments, then `end` once.
    """

    def __init__(self, ref: ToolRef, call_id: str | None) -> None:
        self._ref = ref
        self._call_id = call_id or new_id("call")
        self._arguments: list[str] = []
        self.held = ref.kind not in ("function", "custom")
        self.item = self._function_item("") if ref.kind != "custom" else self._custom_item()

    def take(self, arguments: str) -> list[tuple[str, Json]]:
        """The events of a piece of arguments."""
        self._arguments.append(arguments)
        if self._ref.kind == "function":
            return [("response.function_call_arguments.delta", {"delta": arguments})]
        return []

    def end(self) -> list[tuple[str, Json]]:
        """Completes the item; the events that end its argument."""
        arguments = "".join(self._arguments) or "{}"
        if self._ref.kind == "custom":
            return self._end_custom(arguments)
        argument = built_in_argument(self._ref.kind, arguments) if self.held else None
        if argument is not None:
            self.item = self._built_in_item(argument)
            return []
        self.item["arguments"] = arguments
        done = {"name": self.item["name"], "arguments": arguments}
        return [("response.function_call_arguments.done", done)]

    def _end_custom(self, arguments: str) -> list[tuple[str, Json]]:
        text = self.item["input"] = _custom_input(arguments)
        deltas = [("response.custom_tool_call_input.delta", {"delta": text})] if text else []
        return [*deltas, ("response.custom_tool_call_input.done", {"input": text})]

    def _function_item(self, arguments: str) -> Json:
        fields = {"call_id": self._call_id, "name": self._ref.name, "arguments": arguments}
        if self._ref.namespace:
            fields["namespace"] = self._ref.namespace
        return call_item(new_id("fc"), "in_progress", fields)

    def _custom_item(self) -> Json:
        item = {"id": new_id("ctc"), "type": "custom_tool_call", "status": "in_progress", "call_id": self._call_id}
        item |= {"name": self._ref.name, "input": ""}
        return {**item, "namespace": self._ref.namespace} if self._ref.namespace else item

    def _built_in_item(self, argument: Json) -> Json:
        kind = CALL_KINDS[self._ref.kind]
        item = {"id": new_id(kind.id_prefix), "type": kind.call, "status": "in_progress", "call_id": self._call_id}
        return {**item, **kind.extra, kind.argument: argument}


def _custom_input(arguments: str) -> str:
    """The free text of a custom call: the string `input`, else the only string, else the text as it is."""
    try:
        decoded = _lenient(arguments)
    except (ValueError, RecursionError):
        return arguments
    if isinstance(decoded, dict):
        values = [decoded["input"]] if "input" in decoded else list(decoded.values())
        decoded = values[0] if len(values) == 1 else (None if values else "")
    return _whole_characters(decoded) if isinstance(decoded, str) else arguments


def _lenient(text: str) -> Any:
    """Decoded JSON whose strings may hold line feeds as they are. Raises ValueError, RecursionError."""
    return json.loads(text, strict=False)


def _whole_characters(text: str) -> str:
    """The text with U+FFFD for each surrogate without its other half, which no encoder takes."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
