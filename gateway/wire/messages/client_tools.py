"""The tools of this API that the caller runs and whose input the API itself defines, as functions for a chat model.

A caller sends only `{type: "bash_20250124", name: "bash"}`: Anthropic's models were trained on these tools. Any other
model is told here what they do and take; its calls go back under the same name with the same input, so that the
caller's program does not see a difference. Sources: Anthropic API reference (bash, text editor and memory tools), SDK
anthropic 2.12, read 2026-11-22. Knows no request.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gateway.domain import Json


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
_KINDS: Mapping[str, _Kind] = {
    "bash_20241022": _BASH,
    "bash_20250124": _BASH,
    "text_editor_20241022": _OLD_EDITOR,
    "text_editor_20250124": _OLD_EDITOR,
    "text_editor_20250429": _EDITOR,
    "text_editor_20250728": _EDITOR,
    "memory_20250818": _MEMORY,
}
"""By the type of the tool. Computer use is not among them: to work from screenshots, a model must be trained for it."""

CLIENT_TOOLS = tuple(_KINDS)
"""The types of these tools."""


def described(tool: Json) -> Json | None:
    """The tool of a request with `description` and `input_schema`; None for one that is not of these kinds."""
    kind = _KINDS.get(str(tool.get("type")))
    if kind is None:
        return None
    schema: Json = {"type": "object", "properties": dict(kind.properties), "required": list(kind.required)}
    return {**tool, "description": kind.description, "input_schema": schema}
