"""A responses request as an upstream takes it that speaks /responses itself.

Our own state (`previous_response_id`, `item_reference`, `store`) never goes there: earlier items are put in. Source:
OpenAI API reference (Responses), read 2026-11-21.
"""

from collections.abc import Sequence
from typing import Any

from gateway.domain import Json
from gateway.wire.chat.request import UpstreamOptions, without_hosts

_NOT_TAKEN = ("stop", "presence_penalty", "frequency_penalty", "n", "logit_bias", "seed")
_SYNONYMS = {"tool_call": "function_call", "tool_call_output": "function_call_output"}


def takes(body: Json) -> bool:
    """Whether /responses has all the fields of this request; else it is translated through chat."""
    return all(body.get(name) is None for name in _NOT_TAKEN) and not any(
        item.get("role") == "tool" for item in body["input"] if isinstance(item, dict)
    )


def to_native(body: Json, earlier: Sequence[Json], options: UpstreamOptions, user: str | None) -> Json:
    """The body to send; `body["input"]` is a list of items. The given body is not changed."""
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
        sent["tools"] = [_flat(tool) for tool in sent["tools"]]
    if isinstance(sent.get("tool_choice"), dict):
        sent["tool_choice"] = _flat(sent["tool_choice"])
    sent["input"] = [_item(item) for item in (*earlier, *body["input"])]
    for name in [name for name, value in sent.items() if value is None]:
        del sent[name]
    return {**sent, **options.extra_body}


def image_parts(items: Sequence[Any]) -> list[tuple[str, Json]]:
    """Parts whose `image_url` is an address, to be replaced in place, each after the name of that field."""
    return [
        (f"input[{index}].{name}[{place}].image_url", part)
        for index, item in enumerate(items)
        if isinstance(item, dict)
        for name in ("content", "output")
        for place, part in enumerate(_listed(item.get(name)))
        if isinstance(part, dict) and isinstance(part.get("image_url"), str)
    ]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _flat(tool: Json) -> Json:
    inner = tool.get("function")
    return {"type": tool["type"], **inner} if isinstance(inner, dict) else tool


def _item(item: Json) -> Json:
    """An item without what the gateway added to it; text parts under the name that the role takes."""
    kind = _SYNONYMS.get(item.get("type") or "message", item.get("type") or "message")
    sent = {name: value for name, value in item.items() if name not in ("id", "status", "provider_specific_fields")}
    sent["type"] = kind
    if kind == "function_call":
        sent.pop("role", None)
        sent.pop("content", None)
    elif kind == "message" and isinstance(item.get("content"), list):
        text = "output_text" if item.get("role") == "assistant" else "input_text"
        texts = ("text", "input_text", "output_text")
        sent["content"] = [_part(part, text) if part.get("type") in texts else dict(part) for part in item["content"]]
    return sent


def _part(part: Json, kind: str) -> Json:
    sent = {"type": kind, "text": part.get("text") or ""}
    return {**sent, "annotations": []} if kind == "output_text" else sent
