"""The tools of this API that the caller runs and whose input the API itself defines, as functions for a chat model.

A caller sends only `{type: "bash_20250124", name: "bash"}`: Anthropic's models were trained on these tools. For any
other model this module describes what they do and take; its calls go back under the same name with the same input, so
that the caller's program does not see a difference. Sources: Anthropic API reference (bash, text editor and memory
tools), SDK anthropic 2.12, read 2026-11-22.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gateway.domain import Json
from gateway.wire.untrusted_json import table_in


class _Kind(NamedTuple):
    """The description of a tool for the model. `required`: fields that every command has."""

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
TOOLSETS: Mapping[str, frozenset[str]] = {
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


def toolset_members(tool: Json, toolset: str) -> Iterable[Json]:
    """The functions of a toolset: `computer__left_click`, the names by which its calls come back."""
    configs = table_in(tool, "configs")
    for name in sorted(TOOLSETS[toolset]):
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
    if mark and member in TOOLSETS.get(toolset, ()):
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
