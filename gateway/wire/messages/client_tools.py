"""The tools of this API that the caller runs and whose input the API itself defines, as functions for a chat model.

A caller sends only `{type: "bash_20250124", name: "bash"}`: Anthropic's models were trained on these tools. For any
other model schemas/client_tools.json describes what they do and take; its calls go back under the same name with the
same input, so that the caller's program does not see a difference. Sources: Anthropic API reference (bash, text editor
and memory tools), SDK anthropic 2.12, read 2026-11-22.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping

from gateway.domain import Json
from gateway.schemas import load
from gateway.wire.untrusted_json import table_in

_DATA = load("client_tools")
TOOLSETS: Mapping[str, Collection[str]] = _DATA["x-toolsets"]


def toolset_members(tool: Json, toolset: str) -> Iterable[Json]:
    """The functions of a toolset: `computer__left_click`, the names by which its calls come back."""
    configs = table_in(tool, "configs")
    for name in TOOLSETS[toolset]:
        if table_in(configs, name).get("enabled", name not in _DATA["x-off"]):
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
    kind = str(tool.get("type"))
    name = next((name for beginning, name in _DATA["x-types"].items() if kind.startswith(beginning)), None)
    return None if name is None else {**tool, **_DATA["x-tools"][name]}


_MAX_NAME_CHARS, _NOT_TAKEN = 64, re.compile(r"[^A-Za-z0-9_-]")
