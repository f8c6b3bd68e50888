"""Rewrites a responses request for an upstream that speaks /responses itself.

The gateway's own state (`previous_response_id`, `item_reference`, `store`) is never sent there: the earlier items are
sent instead. Knows no HTTP. Source: OpenAI API reference (Responses), read 2026-11-21.
"""

from collections.abc import Sequence
from typing import Any

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.wire.chat.request import UpstreamOptions, without_hosts

_NOT_TAKEN = ("stop", "presence_penalty", "frequency_penalty", "n", "logit_bias", "seed")
"""Fields of chat that our responses route accepts and /responses has not."""
_SYNONYMS = {"tool_call": "function_call", "tool_call_output": "function_call_output"}
"""Item types of this service's specification, and OpenAI's names for them."""
_WITHOUT_ID = frozenset({
    "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
})  # fmt: skip
"""Items that need no id: theirs is known to the gateway's store alone. Items of other kinds keep what they have."""


def takes(body: Json) -> bool:
    """True when /responses has all the fields of this request; any other is translated to chat."""
    return all(body.get(name) is None for name in _NOT_TAKEN) and not any(
        item.get("role") == "tool" for item in body["input"] if isinstance(item, dict)
    )


def to_native(body: Json, earlier: Sequence[Json], options: UpstreamOptions, user: str | None) -> Json:
    """The responses body to send. `body` is a checked request whose `input` is a list of items; it is not changed.

    `earlier` are the items of the conversation before it; `user` is the hash to send instead of the caller's `user`.
    """
    sent = without_hosts(body)
    sent |= {"model": options.model, "store": False}
    sent.pop("previous_response_id", None)
    sent.pop("user", None)
    if user is not None:
        sent["user"] = user
    form = sent.pop("response_format", None)
    if form is not None and not (sent.get("text") or {}).get("format"):
        inner = form.get("json_schema")
        flat = {"type": form["type"], **inner} if isinstance(inner, dict) else form
        sent["text"] = {**(sent.get("text") or {}), "format": flat}
    if sent.get("tools"):
        sent["tools"] = [_flat_tool(tool) for tool in sent["tools"]]
    if isinstance(sent.get("tool_choice"), dict):
        sent["tool_choice"] = _flat_tool(sent["tool_choice"])
    sent["input"] = [_upstream_item(item) for item in (*earlier, *body["input"])]
    if not sent["input"]:
        del sent["input"]  # the stored prompt has it all
    for name in [name for name, value in sent.items() if value is None]:
        del sent[name]
    return {**sent, **options.extra_body}


def image_parts(items: Sequence[Any]) -> list[tuple[str, Json]]:
    """`(path, part)` of every part with an `image_url`, which is a string then; set it to replace the image in place.

    Parts are in the content or output of an item; the output may be one part (the screenshot of a computer call).
    Raises InvalidRequest for an image that is no address.
    """
    found = []
    for index, item in enumerate(items):
        for name in ("content", "output") if isinstance(item, dict) else ():
            value = item.get(name)
            places = enumerate(value) if isinstance(value, list) else [(None, value)]
            for place, part in places:
                if isinstance(part, dict) and part.get("image_url") is not None:
                    where = f"input[{index}].{name}" + (f"[{place}]" if place is not None else "") + ".image_url"
                    part["image_url"] = _address(part["image_url"], where)
                    found.append((where, part))
    return found


def _address(image: Any, where: str) -> str:
    """The address of an image that is written as /responses has it, or as chat has it."""
    url = image.get("url") if isinstance(image, dict) else image
    if not isinstance(url, str):
        raise InvalidRequest(f"{where}: must be a URL", param=where)
    return url


def _flat_tool(tool: Json) -> Json:
    inner = tool.get("function")
    return {"type": tool["type"], **inner} if isinstance(inner, dict) else tool


def _upstream_item(item: Json) -> Json:
    """An item without the gateway's additions; its text parts have the type that belongs to its role."""
    kind = _SYNONYMS.get(item.get("type") or "message", item.get("type") or "message")
    ours = ("id", "status", "provider_specific_fields") if kind in _WITHOUT_ID else ("provider_specific_fields",)
    sent = {name: value for name, value in item.items() if name not in ours}
    sent["type"] = kind
    if kind == "function_call":
        sent.pop("role", None)
        sent.pop("content", None)
    elif kind == "message" and isinstance(item.get("content"), list):
        text = "output_text" if item.get("role") == "assistant" else "input_text"
        texts = ("text", "input_text", "output_text")
        parts = item["content"]
        sent["content"] = [_text_part(part, text) if part.get("type") in texts else dict(part) for part in parts]
    return sent


def _text_part(part: Json, kind: str) -> Json:
    sent = {"type": kind, "text": part.get("text") or ""}
    return {**sent, "annotations": []} if kind == "output_text" else sent
