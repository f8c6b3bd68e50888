"""Tools and tool choice of a messages request in chat's form. Pure functions.

Source: Anthropic API reference (Messages, tool search, web search tool), read 2026-11-22.
"""

import hashlib
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.wire.chat.request import CACHE
from gateway.wire.hosted_answer import HostedCall, Source
from gateway.wire.untrusted_json import table_in

# --- client tools ---
# The tools of this API that the caller runs and whose input the API itself defines, as functions for a chat model.
#
# A caller sends only `{type: "bash_20250124", name: "bash"}`: Anthropic's models were trained on these tools. Any other
# model is told here what they do and take; its calls go back under the same name with the same input, so that the
# caller's program does not see a difference. Sources: Anthropic API reference (bash, text editor and memory tools), SDK
# anthropic 2.12, read 2026-11-22.


class _Kind(NamedTuple):
    """What the model is told of a tool. `required`: fields that every command has."""

    description: str
    properties: Mapping[str, Json]
    required: Sequence[str] = ()


_PATH: Json = {"type": "string", "description": "The file or folder."}
_LINES: Json = {
    "type": "array",
    "items": {"type": "integer"},
    "minItems": 2,
    "maxItems": 2,
    "description": "For view of a file: first and last line, from 1 on; -1 is the end.",
}


def _string(description: str) -> Json:
    return {"type": "string", "description": description}


def _editor(commands: Sequence[str], inserted: str, subject: str, more: Mapping[str, Json]) -> _Kind:
    """A tool whose `command` says which of the other fields count. `inserted`: the field with the text of `insert`."""
    fields: dict[str, Json] = {
        "command": {"type": "string", "enum": list(commands)},
        "path": _PATH,
        "view_range": _LINES,
        "file_text": _string("For create: the content of the new file."),
        "old_str": _string("For str_replace: the text to replace, exactly as it is and found once only."),
        "new_str": _string("For str_replace: the text that takes its place."),
        "insert_line": {"type": "integer", "description": "For insert: the line after which; 0 is the beginning."},
    }
    if inserted == "new_str":
        fields["new_str"] = _string("For str_replace: the text that takes its place. For insert: the text to insert.")
    else:
        fields[inserted] = _string("For insert: the text to insert.")
    return _Kind(f"{subject} Commands: {', '.join(commands)}.", {**fields, **more}, ("command",))


_EDITS = "Shows, creates and changes text files on the user's machine. Every command needs path."
_COMMANDS = ("view", "create", "str_replace", "insert")
_RENAMED = {
    "old_path": _string("For rename: the file or folder."),
    "new_path": _string("For rename: its new path."),
}
_BASH = _Kind(
    "Runs a command in a shell on the user's machine, which keeps its folder and variables between calls.",
    {
        "command": _string("The command; needed unless the shell is restarted."),
        "restart": {"type": "boolean", "description": "true starts a new shell instead of running a command."},
    },
)
_OLD_EDITOR = _editor((*_COMMANDS, "undo_edit"), "new_str", _EDITS, {})
_EDITOR = _editor(_COMMANDS, "insert_text", _EDITS, {})
_MEMORY = _editor(
    (*_COMMANDS, "delete", "rename"),
    "insert_text",
    "Notes in files below /memories that are kept from one conversation to the next. Look there before you begin, and "
    "write down what a later conversation needs. Every command but rename needs path.",
    _RENAMED,
)
_SCREEN = _Kind(
    "Works with the user's screen: one action a call, then look at the screenshot that comes back.",
    {
        "action": _string("screenshot, left_click, right_click, double_click, mouse_move, type, key, scroll, wait …"),
        "coordinate": {"type": "array", "items": {"type": "integer"}, "description": "x and y in pixels."},
        "text": _string("For type: the text; for key: the keys, such as ctrl+s."),
        "url": _string("For navigate: the address."),
        "scroll_direction": _string("For scroll: up, down, left or right."),
        "scroll_amount": {"type": "integer"},
        "duration": {"type": "number", "description": "For wait: seconds."},
    },
    ("action",),
)
_KINDS: Mapping[str, _Kind] = {
    "bash_": _BASH,
    "text_editor_20241022": _OLD_EDITOR,
    "text_editor_20250124": _OLD_EDITOR,
    "text_editor_": _EDITOR,
    "memory_": _MEMORY,
    "computer_": _SCREEN,
    "browser_": _SCREEN,
}
"""Keys are beginnings of a tool's type, before its date; the first that fits counts."""
_TOOLSETS: Mapping[str, frozenset[str]] = {
    "computer": frozenset((
        "cursor_position", "double_click", "hold_key", "key", "left_click", "left_click_drag", "left_mouse_down",
        "left_mouse_up", "middle_click", "mouse_move", "right_click", "screenshot", "scroll", "triple_click", "type",
        "wait", "zoom",
    )),
    "browser": frozenset((
        "close_tab", "double_click", "file_upload", "find", "form_input", "get_page_text", "hover", "hold_key",
        "javascript_exec", "key", "left_click", "left_click_drag", "left_mouse_down", "left_mouse_up", "list_tabs",
        "middle_click", "mouse_move", "navigate", "new_tab", "read_console", "read_network", "read_page",
        "right_click", "screenshot", "scroll", "scroll_to", "switch_tab", "triple_click", "type", "wait", "zoom",
    )),
}  # fmt: skip
"""Members of the toolsets `computer_toolset_…` and `browser_toolset_…`, which have no name of their own."""
_OFF = frozenset(("file_upload", "javascript_exec", "read_console", "read_network"))
"""Members that are offered only where the request enables them."""


def _members(tool: Json, toolset: str) -> Iterable[Json]:
    """The functions of a toolset: `computer__left_click`, the names by which its calls come back."""
    configs = table_in(tool, "configs")
    for name in sorted(_TOOLSETS[toolset]):
        if table_in(configs, name).get("enabled", name not in _OFF):
            words = name.replace("_", " ")
            schema = {"type": "object", "properties": {}, "additionalProperties": True}
            yield {"name": f"{toolset}__{name}", "description": f"{toolset}: {words}", "input_schema": schema}


def call_name(block: Json) -> str:
    """The function's name of a call's block: `{name: "left_click", toolset_name: "computer"}` is
    `computer__left_click`."""
    toolset = block.get("toolset_name")
    return short_name(f"{toolset}__{block['name']}" if isinstance(toolset, str) and toolset else str(block["name"]))


def short_name(name: str) -> str:
    """A tool's name as chat takes it: at most 64 letters, digits, `_` and `-` (OpenAI API reference). One that is
    longer, or has others, is cut and ends in a digest: `mcp__a_very_long_server__…_1f0c2d3e`."""
    if len(name) <= _MAX_NAME_CHARS and _NOT_TAKEN.search(name) is None:
        return name
    digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:8]
    return f"{_NOT_TAKEN.sub('_', name)[: _MAX_NAME_CHARS - 9]}_{digest}"


def long_names(body: Json) -> dict[str, str]:
    """The names of a request's tools by those that chat has for them, where they differ."""
    names = [str(tool["name"]) for tool in body.get("tools") or () if isinstance(tool, dict) and tool.get("name")]
    return {short: name for name in names if (short := short_name(name)) != name}


def named_block(name: str) -> Json:
    """The other way: `{name, toolset_name?}` of a call's block."""
    toolset, mark, member = name.partition("__")
    if mark and member in _TOOLSETS.get(toolset, ()):
        return {"name": member, "toolset_name": toolset}
    return {"name": name}


def described(tool: Json) -> Json | None:
    """The tool of a request with `description` and `input_schema`; None for one that is not of these kinds."""
    named = str(tool.get("type"))
    kind = next((kind for beginning, kind in _KINDS.items() if named.startswith(beginning)), None)
    if kind is None:
        return None
    schema: Json = {"type": "object", "properties": dict(kind.properties), "required": list(kind.required)}
    return {**tool, "description": kind.description, "input_schema": schema}


_MAX_NAME_CHARS, _NOT_TAKEN = 64, re.compile(r"[^A-Za-z0-9_-]")
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
        where = f"{field}[{index}]"
        kind = tool.get("type") or "custom"
        if hosted_kind(tool) or _is_tool_search(tool):
            continue
        if toolset := _toolset_of(tool):
            yield from _members(tool, toolset)
            continue
        known = tool if kind == "custom" else described(tool)
        if known is None:
            continue  # one that its maker's server runs: `left_out` tells the caller
        if not isinstance(tool.get("name"), str) or not tool["name"]:
            raise InvalidRequest(f"{where}.name: is required", param=f"{where}.name")
        yield known


def _toolset_of(tool: Json) -> str:
    kind = str(tool.get("type") or "")
    return next((name for name in _TOOLSETS if kind.startswith(f"{name}_toolset_")), "")


def left_out(body: Json) -> list[str]:
    """A warning for tools of a request that neither its caller nor the gateway runs: they are not offered."""
    tools: list[Json] = body.get("tools") or []
    kinds = [
        str(tool["type"])[:40]
        for tool in tools
        if (tool.get("type") or "custom") != "custom"
        and not (hosted_kind(tool) or _is_tool_search(tool) or _toolset_of(tool) or described(tool))
    ]
    return [f"tools that nobody runs for this model were left out: {', '.join(kinds)}"] if kinds else []


def chat_tool(tool: Json) -> Json:
    """`{type: "function", function: {name, description?, parameters, strict?}}`."""
    function: Json = {"name": short_name(tool["name"])}
    if isinstance(tool.get("description"), str):
        function["description"] = tool["description"]
    schema = tool.get("input_schema")
    function["parameters"] = schema if isinstance(schema, dict) else {"type": "object", "properties": {}}
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


# --- search ---
# Hosted web search and web fetch in a messages request and answer: the tools, and the blocks of a call.
#
# A search is a `server_tool_use` block and a `web_search_tool_result`; a page that was opened or searched is shown as
# `web_fetch`. Source: Anthropic API reference (web search tool, web fetch tool), SDK anthropic 2.12, read 2026-11-22.
# `encrypted_content` and `encrypted_index` are empty: what a search found is stored here, not in the client.

_OURS, _ITEM = "srvtoolu_", "ws_"
_CITED_CHARS = 150
"""Characters of `cited_text`, as in the API reference."""


class WebWish(NamedTuple):
    """The hosted web tools of a request. `search`, `fetch`: the tool and its path, None where it is not there.
    `forced`: which of them must be called first, empty for none."""

    search: tuple[Json, str] | None
    fetch: tuple[Json, str] | None
    forced: str

    @property
    def tools(self) -> list[tuple[Json, str]]:
        """Those that are there, with their paths."""
        return [each for each in (self.search, self.fetch) if each is not None]

    @property
    def max_uses(self) -> int | None:
        """Calls of both together; None where one of them has no limit."""
        limits = [tool["max_uses"] for tool, _ in self.tools if tool.get("max_uses") is not None]
        return sum(limits) if len(limits) == len(self.tools) else None


def web_wish(body: Json) -> WebWish | None:
    """The hosted web search and web fetch of a request; None where it has neither. Raises InvalidRequest for two of a
    kind."""
    found: dict[str, tuple[Json, str]] = {}
    for at, tool in enumerate(body.get("tools") or ()):
        if kind := hosted_kind(tool):
            where = f"tools[{at}]"
            if kind in found:
                raise InvalidRequest(f"{where}: {kind} is there already; leave one out", param=where)
            found[kind] = (tool, where)
    return WebWish(found.get("web_search"), found.get("web_fetch"), forced_kind(body)) if found else None


def open_calls(messages: Sequence[Json]) -> list[str]:
    """Ids of the server's calls in the turn that is not over: behind the last message in which a user says anything."""
    ids: list[str] = []
    for message in reversed(messages):
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text"}]
        if message["role"] == "user" and any(block["type"] != "tool_result" for block in blocks):
            break
        if message["role"] == "assistant":
            ids += [str(block.get("id")) for block in blocks if block["type"] == "server_tool_use"]
    return ids


def block_id(item_id: str) -> str:
    """The id of the `server_tool_use` block of a call."""
    return _OURS + item_id.removeprefix(_ITEM)


def item_id(block: str) -> str:
    """The id of the call of a block."""
    return _ITEM + block.removeprefix(_OURS)


def call_blocks(call: HostedCall) -> Iterator[Json]:
    """The two blocks of a call that has ended."""
    made, kind = block_id(call.item_id), str(call.action.get("type") or "search")
    name = "web_search" if kind == "search" else "web_fetch"
    given = {key: value for key, value in call.action.items() if key in ("query", "url", "pattern")}
    yield {"type": "server_tool_use", "id": made, "name": name, "input": given}
    content: Json | list[Json]
    if call.status == "failed":
        content = {"type": f"{name}_tool_result_error", "error_code": "unavailable"}
    elif kind == "search":
        content = [_result(each) for each in call.results]
    else:
        text = {"type": "text", "media_type": "text/plain", "data": call.output}
        document = {"type": "document", "source": text, "title": None, "citations": None}
        content = {"type": "web_fetch_result", "url": call.action.get("url") or "", "content": document}
    yield {"type": f"{name}_tool_result", "tool_use_id": made, "content": content}


def citations_of(sources: Sequence[Source], contents: dict[str, str]) -> tuple[Json, ...]:
    """The citations of a text. `contents`: what was shown of each page, by its URL."""
    return tuple(
        {
            "type": "web_search_result_location",
            "url": source.url,
            "title": source.title,
            "cited_text": contents.get(source.url, "")[:_CITED_CHARS],
            "encrypted_index": "",
        }
        for source in sources
    )


def _result(result: Json) -> Json:
    date = result.get("published_date")
    return {
        "type": "web_search_result",
        "url": str(result.get("url") or ""),
        "title": str(result.get("title") or ""),
        "encrypted_content": "",
        "page_age": date if isinstance(date, str) else None,
    }
