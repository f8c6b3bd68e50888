"""Refuses addresses of a caller that an upstream may fetch: the gateway alone fetches for a caller, and images only.

Upstreams fetch addresses in members of many names (`video_url`, Qwen's `image` and `video`, DashScope's
`input_audio.data`, Ollama's `images`, OpenAI's `input_image_mask` and variables of prompts), so none is looked up by
name: a string that is an http(s) address as a whole is one, unless it stands where words or sources do.
"""

import re
from collections.abc import Collection
from typing import Any

from gateway.domain import Json
from gateway.errors import InvalidRequest

_ADDRESS = re.compile(r"(?i)(?:https?|ftp)://\S{1,4000}")
_WORDS = frozenset((
    "text", "thinking", "refusal", "transcript", "title", "filename", "name", "description", "context", "annotations",
    "citations", "input_schema", "parameters", "format",
))  # fmt: skip
"""Members that hold words, schemas or sources: an address in them is something to read."""
_OF_MESSAGE = frozenset(
    ("role", "content", "name", "tool_call_id", "tool_calls", "type", "id", "status", "call_id", "output")
)
_OWN_TOOLS = (None, "function", "custom")
"""Types of tools that the caller runs; those that the gateway runs have become functions."""


def refuse_addresses(value: Any, where: str, skipped: Collection[str] = ()) -> None:
    """Raises InvalidRequest for an address anywhere in a part, tool or variable. `skipped`: members of `value` itself
    that the gateway resolves. Without recursion.

        refuse_addresses({"type": "video", "video": "https://a.org/v"}, "messages[0].content[0]")
        # InvalidRequest: messages[0].content[0].video: only images are fetched here; send a data: URL
    """
    waiting = [(value, where, "")]
    while waiting:
        each, at, name = waiting.pop()
        if isinstance(each, str):
            if _ADDRESS.fullmatch(each):
                raise InvalidRequest(f"{at}: only images are fetched here; send a data: URL", param=at)
        elif isinstance(each, dict):
            free = _WORDS if each is not value else {*_WORDS, *skipped}
            waiting += [(inner, f"{at}.{key}", key) for key, inner in each.items() if key not in free]
        elif isinstance(each, list):
            waiting += [(inner, f"{at}[{index}]", name) for index, inner in enumerate(each)]


def refuse_in_message(message: Json, where: str) -> None:
    """The same for unusual members of a message; what an earlier answer held is nobody's to fetch."""
    if message.get("role") != "assistant" and not message.keys() <= _OF_MESSAGE:
        refuse_addresses(message, where, _OF_MESSAGE)


def refuse_in_tools(tools: Any) -> None:
    """The same for tools that an upstream would run."""
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        if isinstance(tool, dict) and tool.get("type") not in _OWN_TOOLS:
            refuse_addresses(tool, f"tools[{index}]")
