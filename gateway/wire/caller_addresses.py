"""Refuses addresses of a caller that an upstream may fetch: the gateway alone fetches for a caller, and images only.

Upstreams fetch addresses in members of many names (`video_url`, Qwen's `image` and `video`, DashScope's
`input_audio.data`, Ollama's `images`, OpenAI's `input_image_mask` and variables of prompts). So in a part that is no
text, in a tool and in a variable no member is looked up by name: a string is an address if it begins like one and has
no blank inside. Under a name that ends in `url` everything but a data URL is one. A `network_policy` that opens
hosts to a tool's container is refused with them (OpenAI API reference, containers, read 2026-11-29).
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gateway.errors import InvalidRequest
from gateway.wire.untrusted_json import table_in

_ADDRESS = re.compile(r"(?i)(?:[a-z][a-z0-9+.-]{0,20}:[/\\]|[/\\]{2}[^\s/\\]{0,253}[.:\[])\S*")
"""With a scheme, or with a host that has a sign: base64 of sound may begin with `//`."""
_HEAD_CHARS = 4_096
_CONTROLS = re.compile(r"[\x00-\x20]+\Z|\A[\x00-\x20]+|[\t\r\n]+")
"""What readers of addresses drop (URL Standard, 4.4)."""
_WORDS = frozenset((
    "text", "thinking", "refusal", "title", "filename", "name", "description", "annotations", "citations", "metadata",
    "input_schema", "parameters",
))  # fmt: skip
"""Members that hold words, schemas or sources: an address in them is something to read."""
_TEXTS = frozenset(("text", "input_text", "output_text", "refusal", "thinking", "reasoning_text", "summary_text"))
_MEDIA = frozenset(
    ("image", "images", "video", "videos", "audio", "audios", "file", "files", "documents", "attachments")
)
"""Members beside a message's content, or a body's messages, that some upstreams fetch."""
_OWN_TOOLS = (None, "function", "custom")
"""Types of tools that the caller runs; those that the gateway runs have become functions."""


def refuse_addresses(value: Any, where: str, skipped: Collection[str] = ()) -> None:
    """Raises InvalidRequest for an address anywhere in a part, tool or variable. `skipped`: members of `value` itself
    that the gateway resolves. Of a part that is text only members named as addresses are looked at. Without recursion.

        refuse_addresses({"type": "video", "video": "https://a.org/v"}, "messages[0].content[0]")
        # InvalidRequest: messages[0].content[0].video: only images are fetched here; send a data: URL
    """
    is_text = isinstance(value, dict) and value.get("type") in _TEXTS
    waiting: list[tuple[Any, str, bool]] = [(value, where, False)]
    while waiting:
        each, at, is_url = waiting.pop()
        if isinstance(each, str):
            plain = _CONTROLS.sub("", each[:_HEAD_CHARS])
            if not plain.startswith("data:") and (is_url or (not is_text and _ADDRESS.fullmatch(plain))):
                raise InvalidRequest(f"{at}: only images are fetched here; send a data: URL", param=at)
        elif isinstance(each, dict):
            free = _WORDS if each is not value else {*_WORDS, *skipped}
            for name, inner in each.items():
                if name == "network_policy" and inner and table_in(each, name).get("type") != "disabled":
                    text = f'{at}.{name}: only {{"type": "disabled"}} is allowed; nobody\'s code gets a network here'
                    raise InvalidRequest(text, param=f"{at}.{name}")
                names_url = name.endswith("_url") or (is_url and name == "url")
                if name not in free and not (is_url and not names_url and isinstance(inner, str)):
                    waiting.append((inner, f"{at}.{name}", names_url))
        elif isinstance(each, list):
            waiting += [(inner, f"{at}[{index}]", is_url) for index, inner in enumerate(each)]


def refuse_media(holder: Mapping[str, Any], where: str) -> None:
    """The same for media beside a message's content, or beside the messages of a body."""
    for name in holder.keys() & _MEDIA:
        refuse_addresses(holder[name], f"{where}.{name}" if where else name)


def refuse_in_items(items: Sequence[Any], where: str) -> None:
    """The same for the parts of responses items, whose images are resolved."""
    for index, item in enumerate(items):
        for name in ("content", "output") if isinstance(item, dict) else ():
            parts = item.get(name)
            for place, part in enumerate(parts if isinstance(parts, list) else ()):
                refuse_addresses(part, f"{where}[{index}].{name}[{place}]", ("image_url",))


def refuse_in_tools(tools: Any) -> None:
    """The same for tools that an upstream would run."""
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        if isinstance(tool, dict) and tool.get("type") not in _OWN_TOOLS:
            refuse_addresses(tool, f"tools[{index}]")
